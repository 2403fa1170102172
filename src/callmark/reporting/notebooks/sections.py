"""What a notebook is made of: sections of words and cells of code, and those that both notebooks begin with.

Of what came from a run nothing stands in a cell but its path, `{path}`: all of it goes through `shown`, tables that pandas escapes, and
charts that are pictures. Charts are PNG, as Jupyter shows no SVG in a notebook that it does not trust yet.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from callmark.analysis.details import Details
from callmark.analysis.summary import Summary
from callmark.runs.run import Run


class Facts(NamedTuple):
    """What is known of a run when its notebooks are put together."""

    run: Run
    summary: Summary
    details: Details

    @property
    def has_headline(self) -> bool:
        return self.run.headline in self.summary.metrics


class Section(NamedTuple):
    """Words, the first line a heading, and cells of code by their ids. Where a run has nothing for it, `otherwise` stands there instead of
    all but the heading; without one the section is left out. So it is where nothing was scored, unless it is `unscored`.
    """

    words: str
    cells: Mapping[str, str]
    when: Callable[[Facts], bool] = lambda facts: True
    otherwise: str = ""
    unscored: bool = False


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

_LOOKS = """
# pictures show everywhere, offline; "default" makes charts that answer to the mouse, by a script from the network
alt.renderers.enable("png", ppi=144)
pd.set_option("display.float_format", "{:.3f}".format, "display.max_columns", None, "display.max_colwidth", None)
pd.set_option("display.html.use_mathjax", False)


@alt.theme.register("callmark", enable=True)
def theme():
    accent, other, quiet = "#3b5bdb", "#e8890c", "#d5d9e2"
    axis = {"labelLimit": 340, "gridColor": "#eceef2", "domainColor": quiet, "tickColor": quiet, "titleFontWeight": "normal"}
    return {
        "config": {
            "title": {"anchor": "start", "fontSize": 14, "offset": 12},
            "view": {"stroke": None, "continuousWidth": 420},
            "axis": axis,
            "axisQuantitative": {"tickCount": 6, "labelFlush": False},
            "mark": {"color": accent},
            "rule": {"color": accent},
            "range": {"category": [accent, other, "#2f9e6e", "#9c5fc4", "#868e96"], "heatmap": ["#eef1fd", "#8299f0"]},
        }
    }


whole = alt.Axis(labelExpr="datum.value % 1 ? '' : format(abs(datum.value), ',d')")  # of counts: no half of a call


def shown(rows, longest=60):
    # a table to look at: every text on one line, cut where it is long
    table = pd.DataFrame(rows)
    table.columns = [one_line(name, longest) for name in table.columns]
    return table.map(lambda value: one_line(value, longest) if isinstance(value, str) else value)
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
shown([{"": name, "this run": value} for name, value in about.items()], 120).set_index("")
"""

OPENING = {"open": _OPEN, "looks": _LOOKS, "run-table": _RUN_TABLE}

NOTHING_SCORED = Section(
    "## Nothing was scored\n\nEvery case is an error, or there is none: there are no numbers to look at.",
    {},
    lambda facts: not facts.summary.scored,
    unscored=True,
)
