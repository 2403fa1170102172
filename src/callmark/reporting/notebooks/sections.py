"""Sections of a notebook (text and code cells), and the cells at the start of both notebooks.

The source of a code cell contains nothing from a run but its path, `{path}`. Data is shown only in tables, which `display_table` and pandas
escape, and in charts, which are images. Charts are PNG, because Jupyter does not show SVG in a notebook that is not trusted.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from callmark.analysis.details import Details
from callmark.analysis.summary import Summary
from callmark.runs.run import Run


class RunData(NamedTuple):
    """A run with its summary and details, which determine the sections of its notebooks."""

    run: Run
    summary: Summary
    details: Details

    @property
    def has_headline(self) -> bool:
        return self.run.headline in self.summary.metrics


class Section(NamedTuple):
    """Text with a heading, and code cells by id.

    If a run has no data for a section, only the heading and `fallback` are shown; without a fallback, the section is left out. If a run has
    no scored cases, a section is left out unless it `applies_unscored`.
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
from callmark.reporting.safety import one_line, short_names

run = callmark.Run({path})
summary = run.summary()
results = run.to_pandas().astype(dict.fromkeys(run.info.metrics, float))
scored = results[results["error"].isna()]
main = [name for name in run.info.metrics if name.partition(".")[0] == run.headline.partition(".")[0]]
"""

_STYLE = """
# PNG works offline. For interactive charts, which load a script from the network, use "default".
alt.renderers.enable("png", ppi=144)
pd.set_option("display.float_format", "{:.3f}".format, "display.max_columns", None, "display.max_colwidth", None)
pd.set_option("display.html.use_mathjax", False)


@alt.theme.register("callmark", enable=True)
def theme():
    accent, second, gray = "#3b5bdb", "#e8890c", "#d5d9e2"
    axis = {"labelLimit": 0, "gridColor": "#eceef2", "domainColor": gray, "tickColor": gray, "titleFontWeight": "normal"}
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


def display_table(rows, max_length=60, names=True):
    # each text on one line; names are shortened in the middle until they differ, sentences at the end
    table = pd.DataFrame(rows)
    table.columns = short_names(list(table.columns), max_length)
    for index in range(table.shape[1]):
        texts = list(dict.fromkeys(value for value in table.iloc[:, index] if isinstance(value, str)))
        short = dict(zip(texts, short_names(texts, max_length) if names else [one_line(text, max_length) for text in texts]))
        if texts:
            table.isetitem(index, [short[value] if isinstance(value, str) else value for value in table.iloc[:, index]])
    return table
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
    "## No scored cases\n\nThe run has no scored cases, so there are no metrics to show. Check the errors.",
    {},
    lambda data: not data.summary.scored,
    applies_unscored=True,
)
