"""Draw dataset statistics as charts: SVG and PNG for viewing, Vega-Lite for editing.

Charts of one file show counts. Charts of several files show shares side by side, so that files of different sizes can be compared. Names
from a file are data of a chart, never part of its specification. A chart without data is left out. Requires the extra `[charts]`; without
it, `BadInput` says what to install.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from callmark.data.stats import Stats
from callmark.errors import BadInput
from callmark.formats.output import make_folder
from callmark.reporting.safety import short_names

if TYPE_CHECKING:
    import altair as alt

NamedStats = Sequence[tuple[str, Stats]]
Rows = list[dict[str, Any]]

FORMATS: dict[str, Literal["svg", "png", "json"]] = {"svg": "svg", "png": "png", "vl.json": "json"}
_MAX_BARS = 30
_MAX_NAME = 40  # characters; names that would look alike get more
_MAX_LABEL = 56
_MAX_COMBINATION = 110
_NO_LIMIT = 0  # pixels; the names are short enough, and Vega would cut off the ends that tell them apart
_COLORS = ["#2f5fd0", "#e08a1e", "#2a9d6f", "#b04a8f", "#7a7f87", "#c0392b"]
_WIDTH, _HEIGHT = 460, 240
_CELL = 34  # pixels, the width of a cell of a heat map
_HEADER_CHARACTER = 7.2  # pixels, the mean width of a bold character in the header of a facet
_CONFIG: dict[str, Any] = {
    "font": "Inter, Helvetica Neue, Arial, sans-serif",
    "background": "white",
    "padding": 16,
    "title": {"anchor": "start", "fontSize": 15, "fontWeight": 600, "offset": 12, "subtitleColor": "#5f6670", "subtitleFontSize": 12},
    "axis": {"labelColor": "#3c424a", "titleColor": "#5f6670", "titleFontWeight": "normal", "gridColor": "#eceef1", "labelLimit": _NO_LIMIT,
             "domainColor": "#c9ced6", "tickColor": "#c9ced6", "labelFontSize": 11, "titleFontSize": 11},
    "view": {"stroke": None},
    "legend": {"title": None, "orient": "top", "labelFontSize": 12, "labelLimit": _NO_LIMIT},
    "header": {"title": None, "labelFontSize": 12, "labelFontWeight": 600, "labelAnchor": "start", "labelLimit": _NO_LIMIT},
    "range": {"category": _COLORS, "heatmap": ["#eef3fc", "#2f5fd0"]},
}  # fmt: skip


def require_altair() -> None:
    """Raise `BadInput` with the install command if Altair or vl-convert is missing."""
    if not all(map(find_spec, ("altair", "vl_convert"))):
        raise BadInput("charts require Altair and vl-convert", "Install both with: pip install 'callmark[charts]'")


def charts(files: NamedStats) -> "dict[str, alt.TopLevelMixin]":
    """Return the charts by name, of one dataset or of several side by side."""
    require_altair()
    import altair as alt

    names = short_names([name for name, _ in files], _MAX_NAME)
    builder = _ChartBuilder(alt, [(name, stats) for name, (_, stats) in zip(names, files, strict=True)])
    builders: dict[str, Callable[[], Any]] = {
        "turns": lambda: builder.lengths("Messages per conversation", "messages", lambda stats: stats.turns_counts),
        "calls": lambda: builder.lengths("Tool calls per conversation", "tool calls", lambda stats: stats.calls_counts),
        "turns-calls": builder.turns_and_calls,
        "tools": lambda: builder.ranking("Calls by tool", "tool calls", lambda stats: stats.tools),
        "transitions": builder.transitions,
        "roles": lambda: builder.ranking("Messages by role", "messages", lambda stats: stats.roles),
        "combinations": lambda: builder.ranking("Tool combinations", "conversations", _tool_set_counts, max_label=_MAX_COMBINATION),
        "lengths": builder.text_lengths,
    }
    found = {name: build() for name, build in builders.items()}
    return {name: chart.configure(**_CONFIG) for name, chart in found.items() if chart is not None}


def write_charts(files: NamedStats, folder: str) -> list[Path]:
    """Write each chart in every format to a folder, and return the files in order. A folder that cannot be written raises `BadInput`."""
    if not folder:
        raise BadInput("the chart folder is empty; expected a folder name")
    all_charts = charts(files)
    written: list[Path] = []
    try:
        make_folder(Path(folder))
        for name, chart in all_charts.items():
            for extension, kind in FORMATS.items():
                path = Path(folder, f"{name}.{extension}")
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
    """Return the names of files for charts: without folder and extension, or the full paths if two would be equal."""
    short = [os.path.basename(path).partition(".")[0] or path for path in paths]
    return short if len(set(short)) == len(short) else list(paths)


class _ChartBuilder:
    """Builds the charts of these files. `alt` is Altair, which is imported on demand."""

    def __init__(self, alt: Any, files: NamedStats) -> None:
        self._alt = alt
        self._files = files
        self._several = len(files) > 1

    def lengths(self, title: str, unit: str, counts: Callable[[Stats], Mapping[int, int]]) -> Any:
        """Return a histogram, with a bar for each value, or for each range if there are many values."""
        highest = max(max(counts(stats)) for _, stats in self._files)
        lowest = min(min(counts(stats)) for _, stats in self._files)
        if not highest:
            return None
        step = max(1, -(-(highest - lowest + 1) // _MAX_BARS))
        rows: Rows = []
        for name, stats in self._files:
            found = counts(stats)
            for at in range(lowest, highest + 1, step):
                total = sum(found.get(length, 0) for length in range(at, min(at + step, highest + 1)))
                rows.append(self._row(name, total, stats.conversations, at=at, label=str(at) if step == 1 else f"{at}–{at + step - 1}"))
        alt = self._alt
        x = alt.X("label:N", sort=_ordered_labels(rows), title=unit, axis=alt.Axis(labelAngle=0 if step == 1 else -45, labelOverlap=True))
        return self._bars(title, rows, x, self._count_channel(alt.Y, "conversations"), "xOffset")

    def ranking(self, title: str, unit: str, counts: Callable[[Stats], Mapping[str, int]], *, max_label: int = _MAX_LABEL) -> Any:
        """Return horizontal bars, longest first."""
        total: dict[str, float] = {}
        for _, stats in self._files:
            of_file = sum(counts(stats).values()) or 1
            for name, count in counts(stats).items():
                total[name] = total.get(name, 0) + count / of_file
        ranked = sorted(total, key=lambda name: (-total[name], name))
        top = ranked[:_MAX_BARS]
        rows = [
            self._row(file, counts(stats).get(name, 0), sum(counts(stats).values()), at=at, label=label)
            for at, (name, label) in enumerate(zip(top, short_names(top, max_label), strict=True))
            for file, stats in self._files
        ]
        if not rows:
            return None
        alt = self._alt
        y = alt.Y("label:N", sort=_ordered_labels(rows), title=None, axis=alt.Axis(labelFontSize=11))
        return self._bars(_cut_title(title, len(ranked)), rows, y, self._count_channel(alt.X, unit), "yOffset")

    def turns_and_calls(self) -> Any:
        """Return a bubble chart: the size of a bubble is the number of conversations with that many messages and calls."""
        rows = [
            self._row(name, both.count, stats.conversations, turns=both.turns, calls=both.calls)
            for name, stats in self._files
            for both in stats.turns_and_calls
        ]
        if not any(row["calls"] for row in rows):
            return None
        alt = self._alt
        chart = alt.Chart(alt.Data(values=rows), width=_WIDTH, height=_HEIGHT)
        chart = chart.mark_circle(opacity=0.75, color=_COLORS[0]).encode(
            x=alt.X("turns:Q", title="messages", axis=_integer_axis(alt), scale=alt.Scale(zero=False)),
            y=alt.Y("calls:Q", title="tool calls", axis=_integer_axis(alt)),
            size=alt.Size(
                self._field(),
                scale=alt.Scale(range=[20, 420]),
                legend=alt.Legend(title=self._unit("conversations"), format="%" if self._several else ",d"),
            ),
        )
        return self._faceted("Messages and tool calls per conversation", chart)

    def transitions(self) -> Any:
        """Return a heat map of consecutive calls: rows are a call, columns the next call."""
        pairs = [(name, before, after, count, stats) for name, stats in self._files for before, after, count in _call_pairs(stats)]
        if not pairs:
            return None
        frequency: dict[str, int] = {}
        for _, before, after, count, _ in pairs:
            frequency[before] = frequency.get(before, 0) + count
            frequency[after] = frequency.get(after, 0) + count
        ranked = sorted(frequency, key=lambda name: (-frequency[name], name))
        top = ranked[:_MAX_BARS]
        labels = dict(zip(top, short_names(top, _MAX_NAME), strict=True))
        rows = [
            self._row(name, count, sum(many for *_, many in _call_pairs(stats)), before=labels[before], after=labels[after])
            for name, before, after, count, stats in pairs
            if before in labels and after in labels
        ]
        alt = self._alt
        order = list(labels.values())
        grid = alt.Chart(alt.Data(values=rows)).encode(
            x=alt.X("after:N", sort=order, title=None, axis=alt.Axis(labelAngle=-45)),
            y=alt.Y("before:N", sort=order, title=None),
        )
        squares = grid.mark_rect(cornerRadius=2).encode(color=alt.Color(self._field(), legend=None))
        field = self._field().partition(":")[0]
        dark = alt.datum[field] > max(row[field] for row in rows) / 2
        numbers = grid.mark_text(fontSize=10).encode(
            text=alt.Text(self._field(), format=".0%" if self._several else ","),
            color=alt.condition(dark, alt.value("white"), alt.value("#1d2127")),
        )
        grid = (squares + numbers).properties(width=alt.Step(_CELL), height=alt.Step(22))
        title = _cut_title("Transitions between tool calls", len(ranked), "row: call · column: next call")
        return self._faceted(title, grid, width=_CELL * len({row["after"] for row in rows}))

    def text_lengths(self) -> Any:
        """Return a histogram of message lengths for each role; each range is twice as wide as the one before."""
        roles = list(dict.fromkeys(role for _, stats in self._files for role in stats.text_lengths))
        labels = dict(zip(roles, short_names(roles, _MAX_NAME), strict=True))
        rows: Rows = []
        for name, stats in self._files:
            for role, lengths in stats.text_lengths.items():
                for characters, count in lengths.items():
                    row = self._row(name, count, sum(lengths.values()), at=characters, label=f"{characters:,}", role=labels[role])
                    rows.append(row)
        if not rows:
            return None
        alt = self._alt
        x = alt.X("label:N", sort=_ordered_labels(rows), title="characters (start of range)", axis=alt.Axis(labelAngle=-45))
        bars = self._bars(None, rows, x, self._count_channel(alt.Y, "messages"), "xOffset", height=90)
        facets = alt.Row("role:N", header=alt.Header(labelAngle=0, labelAlign="left"), sort=list(labels.values()))
        return bars.facet(row=facets).properties(title="Message length by role")

    def _bars(self, title: Any, rows: Rows, along: Any, amount: Any, offset: str, *, height: int = _HEIGHT) -> Any:
        alt = self._alt
        channel = "x" if offset == "xOffset" else "y"
        encoded = {channel: along, "y" if channel == "x" else "x": amount}
        if self._several:
            names = [name for name, _ in self._files]
            encoded["color"] = alt.Color("file:N", sort=names, legend=alt.Legend(symbolType="square"))
            encoded[offset] = (alt.XOffset if channel == "x" else alt.YOffset)("file:N", sort=names)
        size = {"width": _WIDTH, "height": height} if channel == "x" else {"width": _WIDTH, "height": alt.Step(11 if self._several else 20)}
        chart = alt.Chart(alt.Data(values=rows), **size).mark_bar(color=_COLORS[0]).encode(**encoded)
        return chart.properties(title=title) if title else chart

    def _faceted(self, title: Any, chart: Any, *, width: int = _WIDTH) -> Any:
        alt = self._alt
        if self._several:
            names = [name for name, _ in self._files]
            header = round(max(map(len, names)) * _HEADER_CHARACTER)
            chart = chart.facet(column=alt.Column("file:N", sort=names))
            chart = chart.properties(spacing=max(20, header + 20 - width))  # so that headers do not overlap
        return chart.properties(title=title)

    def _row(self, file: str, count: int, of: int, **more: Any) -> dict[str, Any]:
        return {"file": file, "count": count, "share": round(count / of, 6) if of else 0.0, **more}

    def _field(self) -> str:
        return "share:Q" if self._several else "count:Q"

    def _unit(self, unit: str) -> str:
        return f"share of {unit}" if self._several else unit

    def _count_channel(self, channel: Any, unit: str) -> Any:
        axis = self._alt.Axis(format="%") if self._several else _integer_axis(self._alt)
        return channel(self._field(), title=self._unit(unit), axis=axis)


def _ordered_labels(rows: Rows) -> list[str]:
    return [row["label"] for row in sorted(rows, key=lambda row: row["at"])]


def _integer_axis(alt: Any) -> Any:
    """Return an axis with integer ticks."""
    return alt.Axis(format=",d", tickMinStep=1)


def _call_pairs(stats: Stats) -> Iterator[tuple[str, str, int]]:
    for before, after in stats.follows.items():
        for name, count in after.items():
            yield before, name, count


def _tool_set_counts(stats: Stats) -> dict[str, int]:
    return {", ".join(tool_set.tools): tool_set.count for tool_set in stats.tool_sets}


def _cut_title(title: str, count: int, subtitle: str = "") -> Any:
    parts = [*([subtitle] if subtitle else []), *([f"top {_MAX_BARS} of {count:,}"] if count > _MAX_BARS else [])]
    return {"text": title, "subtitle": " · ".join(parts)} if parts else title
