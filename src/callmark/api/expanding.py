"""Write the decision points of a dataset, inline or by reference. The size of the output is known before anything is written.

Inline, every record repeats the conversation up to its call: the output grows with the square of the length of a conversation. By
reference, each conversation is written once. `inline_sizes` reads the dataset once more for this; a pipe is copied to a file first.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from tempfile import TemporaryDirectory
from typing import Literal

from msgspec import Struct, structs

from callmark.calls.history import Histories
from callmark.data.expand import Parallel, cut, with_unique_ids
from callmark.errors import BadInput
from callmark.formats import Dataset, Output, ReadContext
from callmark.formats.by_reference import inline_size, read_record
from callmark.formats.rows import Rows
from callmark.runs.patch import corrected, left_over, no_correction, read_patch
from callmark.types import Case, Place

_HINT = "Pass --by-reference to write each conversation once, which every command reads, or --yes to write them anyway."
_YES_HINT = "Every command reads the file as it is. Pass --yes to write them anyway."
MAX_GROWTH = 20  # an output that is so many times larger than its input has to be confirmed


class InlineSizes(Struct, frozen=True):
    """The bytes of the rows of a dataset and of its decision points, both without compression."""

    input: int
    output: int

    @property
    def growth(self) -> float:
        """How many times larger the output is."""
        return self.output / max(self.input, 1)


def points(dataset: Dataset, *, parallel: Parallel = "separate", abstain: bool = False) -> Iterator[tuple[Case, Histories]]:
    """Yield the decision points of a dataset without their messages, each with the histories of its conversation, which have them.

    The dataset has conversations, which are cut, or decision points by reference, which are as they are.
    """
    if dataset.format.define is None:
        for row, name in with_unique_ids(dataset):
            histories = Histories(row)
            for point in cut(histories, parallel=parallel, abstain=abstain, name=name):
                yield point, histories
        return
    found: list[Histories] = []

    def read(row: bytes, place: Place, context: ReadContext) -> Case:
        point, histories = read_record(row, place, context)
        found[:] = [histories]
        return point

    whole = dataset.format
    dataset.format = structs.replace(whole, read=read)
    try:
        for row in dataset:
            assert isinstance(row, Case)
            yield row, found[0]
    finally:
        dataset.format = whole


class PatchedPoints:
    """Decision points with the corrections of a patch file. `count` is the number of those that were corrected."""

    def __init__(self, patch: str, *, by_reference: bool = False, warn: Callable[[str], None] = lambda sentence: None) -> None:
        self._name = patch
        self._patch = read_patch(patch)
        self._by_reference = by_reference
        self._warn = warn
        self._applied: set[str] = set()

    @property
    def count(self) -> int:
        return len(self._applied)

    def apply(self, found: Iterable[tuple[Case, Callable[[Case], Case]]]) -> Iterator[Case]:
        """Yield the decision points, given with what adds their messages; without their messages if they are by reference.

        If no correction applies, `BadInput` is raised at the end.
        """
        for point, complete in found:
            is_named = point.id in self._patch.corrections
            whole = complete(point) if is_named or not self._by_reference else point
            correction = self._patch.find(whole) if is_named else None
            shown = point if self._by_reference else whole
            if correction is not None:
                self._applied.add(point.id)
                shown = corrected(shown, correction.expected_output)
            yield shown
        if not self._applied:
            raise no_correction(self._name)
        unused = [given[-1] for case, given in self._patch.corrections.items() if case not in self._applied]
        if sentence := left_over(unused, self._name):
            self._warn(f"{sentence}.")


def inline_sizes(
    dataset: Dataset, *, parallel: Parallel = "separate", abstain: bool = False, wrap: Literal["item"] | None = None
) -> InlineSizes:
    """Return the size of the dataset and of its decision points. Nothing is written, and bad rows are not reported."""
    on_bad = dataset.on_bad
    dataset.on_bad = on_bad and (lambda bad: None)
    total = 0
    try:
        for histories, group in groupby(points(dataset, parallel=parallel, abstain=abstain), key=itemgetter(1)):
            cases = [point for point, _ in group]
            total += inline_size(histories, cases) + (len(b'{"":}' + wrap.encode()) * len(cases) if wrap else 0)
    except UnicodeEncodeError:
        pass  # writing raises it again, with the row
    finally:
        dataset.on_bad = on_bad
    return InlineSizes(dataset.row_bytes, total)


def refuse_growth(sizes: InlineSizes, name: str, *, by_reference: bool = False, hint: str = "") -> None:
    """Raise `BadInput` for an output that is more than `MAX_GROWTH` times larger than its input, which may already be by reference."""
    if sizes.output > MAX_GROWTH * sizes.input:
        raise BadInput(
            f"{name}: the decision points take {_bytes(sizes.output)}, {sizes.growth:,.0f} times the {_bytes(sizes.input)} of the input: "
            f"each repeats its conversation up to its call",
            hint or (_YES_HINT if by_reference else _HINT),
        )


def refuse_inlining(dataset: Dataset) -> None:
    """Raise `BadInput` for decision points by reference that are more than `MAX_GROWTH` times larger inline. A pipe is not checked."""
    if dataset.rows is None or dataset.rows.rereadable:
        hint = f"To write them anyway: callmark expand {dataset.name} --inline --yes -o FILE"
        refuse_growth(inline_sizes(dataset), dataset.name, hint=hint)


@contextmanager
def readable_twice(path: str) -> Iterator[str]:
    """Yield the path of a file that can be read several times: the path itself, or that of a temporary copy if it is a pipe."""
    if path != "-" and (os.path.isfile(path) or not os.path.exists(path) or os.path.isdir(path)):
        yield path
        return
    rows = Rows(path)
    with TemporaryDirectory(prefix="callmark-") as folder:
        copy = os.path.join(folder, "input.jsonl")
        with Output(copy) as output:
            for piece in rows.pieces():
                output.piece(piece)
        yield copy


def _bytes(size: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size} bytes"
