"""The sections of a notebook, text and code cells, and those that both notebooks begin with.

A code cell contains nothing of a run but its path, `{path}`: all data goes through `display_table`, tables that pandas escapes, and charts
that are pictures. Charts are PNG, as Jupyter shows no SVG in a notebook that is not trusted yet.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from callmark.analysis.details import Details
from callmark.analysis.summary import Summary
from callmark.runs.run import Run


class RunData(NamedTuple):
    """A run with its summary and details, which decide on the sections of its notebooks."""

    run: Run
    summary: Summary
    details: Details

    @property
    def has_headline(self) -> bool:
        return self.run.headline in self.summary.metrics


class Section(NamedTuple):
    """Text, its first line a heading, and code cells by id. Where a run has no data for it, the heading and `fallback` are shown; without a
    fallback the section is left out. Where nothing was scored it is left out too, unless it `applies_unscored`.
    """

    text: str
    cells: Mapping[str, str]
    applies: Callable[[RunData], bool] = lambda data: True
    fallback: str = ""
    applies_unscored: bool = False


_OPEN = """
import altair as alt
import pandas as pd
from msgspec import to_builtins

import callmark
from callmark.reporting.safety import one_line

run = callmark.Run({path})
summary = run.summary()
results = run.to_pandas().astype(dict.fromkeys(run.info.metrics, float))
scored = results[results["error"].isna()]
main = [name for name in run.info.metrics if name.partition(".")[0] == run.headline.partition(".")[0]]
"""

_STYLE = """
# PNG shows everywhere, offline; "default" draws interactive charts, with a script from the network
alt.renderers.enable("png", ppi=144)
pd.set_option("display.float_format", "{:.3f}".format, "display.max_columns", None, "display.max_colwidth", None)
pd.set_option("display.html.use_mathjax", False)


@alt.theme.register("callmark", enable=True)
def theme():
    accent, second, gray = "#3b5bdb", "#e8890c", "#d5d9e2"
    axis = {"labelLimit": 340, "gridColor": "#eceef2", "domainColor": gray, "tickColor": gray, "titleFontWeight": "normal"}
    return {
        "config": {
            "title": {"anchor": "start", "fontSize": 14, "offset": 12},
            "view": {"stroke": None, "continuousWidth": 420},
            "axis": axis,
            "axisQuantitative": {"tickCount": 6, "labelFlush": False},
            "mark": {"color": accent},
            "rule": {"color": accent},
            "range": {"category": [accent, second, "#2f9e6e", "#9c5fc4", "#868e96"], "heatmap": ["#eef1fd", "#8299f0"]},
        }
    }


count_axis = alt.Axis(labelExpr="datum.value % 1 ? '' : format(abs(datum.value), ',d')")  # integers only


def display_table(rows, max_length=60):
    # every text on one line, cut where it is long
    table = pd.DataFrame(rows)
    table.columns = [one_line(name, max_length) for name in table.columns]
    return table.map(lambda value: one_line(value, max_length) if isinstance(value, str) else value)
"""

_RUN_TABLE = """
about = {
    "run": run.label,
    "dataset": f"{run.info.dataset.name} ({run.info.dataset.kind})",
    "cases": f"{summary.cases:,}",
    "conversations": f"{summary.conversations:,}",
    "scored": f"{summary.scored:,} of {summary.graded:,}",
    "errors": f"{summary.errors:,}",
    "status": run.info.status,
}
display_table([{"": name, "this run": value} for name, value in about.items()], 120).set_index("")
"""

OPENING_CELLS = {"open": _OPEN, "style": _STYLE, "run-table": _RUN_TABLE}

NOTHING_SCORED = Section(
    "## Nothing was scored\n\nEvery case is an error, or there is none: there are no numbers to look at.",
    {},
    lambda data: not data.summary.scored,
    applies_unscored=True,
)
