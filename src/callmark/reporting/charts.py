"""The statistics of a dataset as charts, in files: for a page or a paper (SVG, PNG) and for who wants to go on from there (Vega-Lite).

Of one file the charts show counts, of several they stand side by side as shares, so that files of different sizes can be compared. Names
that a file brings are data of a chart, never part of its description. A chart for which there is nothing to show (no call follows another)
is left out. Needs the extra `[charts]`; without it `BadInput` says what to install.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from callmark.data.stats import Stats
from callmark.errors import BadInput
from callmark.formats.output import make_folder
from callmark.reporting.safety import one_line
from callmark.wording import pluralize

if TYPE_CHECKING:
    import altair as alt

Named = Sequence[tuple[str, Stats]]
Rows = list[dict[str, Any]]

FORMATS: dict[str, Literal["svg", "png", "json"]] = {"svg": "svg", "png": "png", "vl.json": "json"}
_MOST = 30  # tools of a chart, or sets of tools
_NAME = 40  # characters of a name
_LABEL = 400  # of what is ranked; how much of it there is room for is the chart's to know, and no two are drawn as one
_COLOURS = ["#2f5fd0", "#e08a1e", "#2a9d6f", "#b04a8f", "#7a7f87", "#c0392b"]
_WIDTH, _HEIGHT = 460, 240
_CONFIG: dict[str, Any] = {
    "font": "Inter, Helvetica Neue, Arial, sans-serif",
    "background": "white",
    "padding": 16,
    "title": {"anchor": "start", "fontSize": 15, "fontWeight": 600, "offset": 12, "subtitleColor": "#5f6670", "subtitleFontSize": 12},
    "axis": {"labelColor": "#3c424a", "titleColor": "#5f6670", "titleFontWeight": "normal", "gridColor": "#eceef1", "labelLimit": 320,
             "domainColor": "#c9ced6", "tickColor": "#c9ced6", "labelFontSize": 11, "titleFontSize": 11},
    "view": {"stroke": None},
    "legend": {"title": None, "orient": "top", "labelFontSize": 12, "labelLimit": 320},
    "header": {"title": None, "labelFontSize": 12, "labelFontWeight": 600, "labelAnchor": "start"},
    "range": {"category": _COLOURS, "heatmap": ["#eef3fc", "#2f5fd0"]},
}  # fmt: skip


def refuse_without_altair() -> None:
    """Say what to install, before anything is read that takes long."""
    if not all(map(find_spec, ("altair", "vl_convert"))):
        raise BadInput("charts need Altair and vl-convert", "pip install 'callmark[charts]' brings both.")


def charts(files: Named) -> "dict[str, alt.TopLevelMixin]":
    """The charts by name, of one dataset or of several side by side."""
    refuse_without_altair()
    import altair as alt

    drawn = _Drawing(alt, [(one_line(name, _NAME), stats) for name, stats in files])
    made: dict[str, Callable[[], Any]] = {
        "turns": lambda: drawn.lengths("Turns in a conversation", "turns", lambda stats: stats.turns_counts),
        "calls": lambda: drawn.lengths("Calls in a conversation", "calls", lambda stats: stats.calls_counts),
        "turns-calls": drawn.turns_and_calls,
        "tools": lambda: drawn.ranking("Calls of each tool", "calls", lambda stats: stats.tools),
        "transitions": drawn.transitions,
        "roles": lambda: drawn.ranking("Who speaks", "messages", lambda stats: stats.roles),
        "combinations": lambda: drawn.ranking("Tools used together", "conversations", _sets, label_limit=640),
        "lengths": drawn.text_lengths,
    }
    found = {name: make() for name, make in made.items()}
    return {name: chart.configure(**_CONFIG) for name, chart in found.items() if chart is not None}


def write_charts(files: Named, folder: str) -> list[Path]:
    """Draw them into a folder, each in every format; gives the files, in order. A folder that cannot be written raises `BadInput`."""
    if not folder:
        raise BadInput("the name of the folder for charts is empty")
    drawn = charts(files)
    written: list[Path] = []
    try:
        make_folder(Path(folder))
        for name, chart in drawn.items():
            for ending, kind in FORMATS.items():
                path = Path(folder, f"{name}.{ending}")
                partial = path.with_name(f"{path.name}.partial-{os.getpid()}")
                try:
                    chart.save(str(partial), format=kind, scale_factor=2 if kind == "png" else 1)
                    partial.replace(path)
                finally:
                    partial.unlink(missing_ok=True)
                written.append(path)
    except OSError as error:
        raise BadInput(f"{folder} cannot be written: {error.strerror or error}") from None
    return written


def chart_names(paths: Sequence[str]) -> list[str]:
    """What the files are called in a chart: their names without the folder, or with it where two are alike."""
    short = [os.path.basename(path).partition(".")[0] or path for path in paths]
    return short if len(set(short)) == len(short) else list(paths)


class _Drawing:
    """The charts of these files. `alt` is Altair, which is imported when it is needed."""

    def __init__(self, alt: Any, files: Named) -> None:
        self._alt = alt
        self._files = files
        self._several = len(files) > 1

    def lengths(self, title: str, unit: str, counts: Callable[[Stats], Mapping[int, int]]) -> Any:
        """ProgressBars over a length, one for each that there is, or for ranges of it where there are many."""
        highest = max(max(counts(stats)) for _, stats in self._files)
        lowest = min(min(counts(stats)) for _, stats in self._files)
        if not highest:
            return None
        step = max(1, -(-(highest - lowest + 1) // _MOST))
        rows: Rows = []
        for name, stats in self._files:
            found = counts(stats)
            for at in range(lowest, highest + 1, step):
                many = sum(found.get(length, 0) for length in range(at, min(at + step, highest + 1)))
                rows.append(self._row(name, many, stats.conversations, at=at, label=str(at) if step == 1 else f"{at}–{at + step - 1}"))
        alt = self._alt
        x = alt.X("label:N", sort=_labels(rows), title=unit, axis=alt.Axis(labelAngle=0 if step == 1 else -45, labelOverlap=True))
        return self._bars(title, rows, x, self._amount(alt.Y, "conversations"), "xOffset")

    def ranking(self, title: str, unit: str, counts: Callable[[Stats], Mapping[str, int]], *, label_limit: int = 320) -> Any:
        """Horizontal bars, the longest first."""
        total: dict[str, float] = {}
        for _, stats in self._files:
            of_file = sum(counts(stats).values()) or 1
            for name, count in counts(stats).items():
                total[name] = total.get(name, 0) + count / of_file
        ranked = sorted(total, key=lambda name: (-total[name], name))
        rows = [
            self._row(file, counts(stats).get(name, 0), sum(counts(stats).values()), at=at, label=one_line(name, _LABEL))
            for at, name in enumerate(ranked[:_MOST])
            for file, stats in self._files
        ]
        if not rows:
            return None
        alt = self._alt
        y = alt.Y("label:N", sort=_labels(rows), title=None, axis=alt.Axis(labelLimit=label_limit, labelFontSize=11))
        return self._bars(_with_rest(title, len(ranked)), rows, y, self._amount(alt.X, unit), "yOffset")

    def turns_and_calls(self) -> Any:
        """A square for each pair of lengths, the darker the more conversations have them."""
        rows = [
            self._row(name, both.count, stats.conversations, turns=both.turns, calls=both.calls)
            for name, stats in self._files
            for both in stats.turns_and_calls
        ]
        if not any(row["calls"] for row in rows):
            return None
        alt = self._alt
        chart = alt.Chart(alt.Data(values=rows), width=_WIDTH, height=_HEIGHT)
        chart = chart.mark_circle(opacity=0.75, color=_COLOURS[0]).encode(
            x=alt.X("turns:Q", axis=_whole(alt), scale=alt.Scale(zero=False)),
            y=alt.Y("calls:Q", axis=_whole(alt)),
            size=alt.Size(
                self._field(),
                scale=alt.Scale(range=[20, 420]),
                legend=alt.Legend(title=self._unit("conversations"), format="%" if self._several else ",d"),
            ),
        )
        return self._faceted("Turns against calls", chart)

    def transitions(self) -> Any:
        """Which call follows which: a row for what came before, a column for what came next."""
        pairs = [(name, before, after, count, stats) for name, stats in self._files for before, after, count in _pairs(stats)]
        if not pairs:
            return None
        often: dict[str, int] = {}
        for _, before, after, count, _ in pairs:
            often[before] = often.get(before, 0) + count
            often[after] = often.get(after, 0) + count
        ranked = sorted(often, key=lambda name: (-often[name], name))
        order = ranked[:_MOST]
        rows = [
            self._row(
                name, count, sum(many for *_, many in _pairs(stats)),
                before=one_line(before, _NAME), after=one_line(after, _NAME),
            )
            for name, before, after, count, stats in pairs
            if before in order and after in order
        ]  # fmt: skip
        alt = self._alt
        shown = [one_line(name, _NAME) for name in order]
        grid = alt.Chart(alt.Data(values=rows)).encode(
            x=alt.X("after:N", sort=shown, title="then", axis=alt.Axis(labelAngle=-45)),
            y=alt.Y("before:N", sort=shown, title="first"),
        )
        squares = grid.mark_rect(cornerRadius=2).encode(color=alt.Color(self._field(), legend=None))
        field = self._field().partition(":")[0]
        dark = alt.datum[field] > max(row[field] for row in rows) / 2
        numbers = grid.mark_text(fontSize=10).encode(
            text=alt.Text(self._field(), format=".0%" if self._several else ","),
            color=alt.condition(dark, alt.value("white"), alt.value("#1d2127")),
        )
        grid = (squares + numbers).properties(width=alt.Step(34), height=alt.Step(22))
        return self._faceted(_with_rest("Which call follows which", len(ranked)), grid)

    def text_lengths(self) -> Any:
        """How long messages are, by role; each bar is twice as long as the one before it."""
        rows: Rows = []
        for name, stats in self._files:
            for role, lengths in stats.text_lengths.items():
                for characters, count in lengths.items():
                    row = self._row(name, count, sum(lengths.values()), at=characters, label=f"{characters:,}", role=one_line(role, _NAME))
                    rows.append(row)
        if not rows:
            return None
        alt = self._alt
        x = alt.X("label:N", sort=_labels(rows), title="characters, at least", axis=alt.Axis(labelAngle=-45))
        bars = self._bars(None, rows, x, self._amount(alt.Y, "messages"), "xOffset", height=90)
        roles = alt.Row("role:N", header=alt.Header(labelAngle=0, labelAlign="left"), sort=list(_roles(self._files)))
        return bars.facet(row=roles).properties(title="How long messages are")

    def _bars(self, title: Any, rows: Rows, along: Any, amount: Any, offset: str, *, height: int = _HEIGHT) -> Any:
        alt = self._alt
        channel = "x" if offset == "xOffset" else "y"
        encoded = {channel: along, "y" if channel == "x" else "x": amount}
        if self._several:
            names = [name for name, _ in self._files]
            encoded["color"] = alt.Color("file:N", sort=names, legend=alt.Legend(symbolType="square"))
            encoded[offset] = (alt.XOffset if channel == "x" else alt.YOffset)("file:N", sort=names)
        size = {"width": _WIDTH, "height": height} if channel == "x" else {"width": _WIDTH, "height": alt.Step(11 if self._several else 20)}
        chart = alt.Chart(alt.Data(values=rows), **size).mark_bar(color=_COLOURS[0]).encode(**encoded)
        return chart.properties(title=title) if title else chart

    def _faceted(self, title: Any, chart: Any) -> Any:
        alt = self._alt
        if self._several:
            chart = chart.facet(column=alt.Column("file:N", sort=[name for name, _ in self._files]))
        return chart.properties(title=title)

    def _row(self, file: str, count: int, of: int, **more: Any) -> dict[str, Any]:
        return {"file": file, "count": count, "share": round(count / of, 6) if of else 0.0, **more}

    def _field(self) -> str:
        return "share:Q" if self._several else "count:Q"

    def _unit(self, unit: str) -> str:
        return f"share of {unit}" if self._several else unit

    def _amount(self, channel: Any, unit: str) -> Any:
        axis = self._alt.Axis(format="%") if self._several else _whole(self._alt)
        return channel(self._field(), title=self._unit(unit), axis=axis)


def _labels(rows: Rows) -> list[str]:
    return [row["label"] for row in sorted(rows, key=lambda row: row["at"])]


def _whole(alt: Any) -> Any:
    """An axis without halves of things."""
    return alt.Axis(format=",d", tickMinStep=1)


def _pairs(stats: Stats) -> Iterator[tuple[str, str, int]]:
    for before, after in stats.follows.items():
        for name, count in after.items():
            yield before, name, count


def _sets(stats: Stats) -> dict[str, int]:
    return {", ".join(one.tools): one.count for one in stats.tool_sets}


def _roles(files: Named) -> dict[str, None]:
    return dict.fromkeys(one_line(role, _NAME) for _, stats in files for role in stats.text_lengths)


def _with_rest(title: str, there: int) -> Any:
    return {"text": title, "subtitle": f"the first {_MOST} of {pluralize(there, 'name')}"} if there > _MOST else title
