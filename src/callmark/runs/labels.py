"""Labels that people give cases, in `labels.jsonl` beside the runs: `model` (is wrong), `expectation` (is wrong), `unclear`, or their own.

A label belongs to a case of a dataset, so it holds for the next run too. Each line is an event; of the events of one author on one case,
the last counts, and one without a label removes it. Lines that are not valid are reported and skipped.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.runs.event_log import append_line, read_lines
from callmark.runs.store import RunFolder, is_run

LABELS = "labels.jsonl"
VERSION = 1
USUAL_LABELS = ("model", "expectation", "unclear")
MAX_LABEL, MAX_NOTE, MAX_AUTHOR = 40, 4000, 80  # characters
_LABEL = re.compile(rf"[\w][\w .:/-]{{0,{MAX_LABEL - 1}}}")


class Label(Struct, frozen=True, omit_defaults=True):
    """What an author says of a case. `dataset` is the digest of the dataset; an empty `label` removes the label.

    Attributes:
        dataset: Digest of the dataset.
        case: Id of the case.
        label: `model`, `expectation`, `unclear`, or another word.
        note: Any text.
        author: Who says so.
        time: When, in UTC.
        version: Version of the format.
    """

    dataset: str
    case: str
    label: str = ""
    note: str = ""
    author: str = ""
    time: str = ""
    version: int = VERSION


CaseLabels = Mapping[str, Mapping[str, Label]]  # by case and author
_decode = msgspec.json.Decoder(Label).decode
_encode = msgspec.json.Encoder().encode


class LabelFile(Struct, frozen=True):
    """The valid events of a file, in order, and a sentence for each other line."""

    events: list[Label]
    problems: list[str]

    def of_dataset(self, digest: str) -> CaseLabels:
        """Return the labels of the cases of a dataset, by case and author, in the order in which they were given."""
        found: dict[str, dict[str, Label]] = {}
        for event in self.events:
            if event.dataset == digest:
                authors = found.setdefault(event.case, {})
                authors.pop(event.author, None)
                if event.label:
                    authors[event.author] = event
        return {case: authors for case, authors in found.items() if authors}


def file_beside(folder: str | os.PathLike[str], name: str) -> str:
    """Return the path of a file beside the runs, given the folder of the runs or of one run."""
    path = os.path.realpath(folder)
    return os.path.join(os.path.dirname(path) if is_run(path) else path, name)


def new_label(dataset: str, case: str, label: str, note: str, author: str) -> Label:
    """Return a label that was given just now. One that is too long, or has other characters, raises `BadInput`."""
    found = Label(dataset, case, label.strip(), note.strip(), author, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    if problem := _problem(found):
        raise BadInput(problem)
    return found


def add_label(path: str, label: Label) -> None:
    """Append a label to a file. It is on disk when this returns; `StorageError` if it cannot be written."""
    append_line(path, _encode(label))


def read_labels(path: str) -> LabelFile:
    """Return the labels of a file; none if there is no such file. One that is no regular file, or too large, raises `BadInput`."""
    events: list[Label] = []
    problems: list[str] = []
    for number, line in read_lines(path):
        try:
            label = _decode(line)
            problem = _problem(label)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            problem = f"not a valid label: {error}"
        if problem and not line.endswith(b"\n"):
            continue  # it is being written
        if problem:
            problems.append(f"{scrub(os.path.basename(path))}, line {number}: {problem}")
        else:
            events.append(label)
    return LabelFile(events, problems)


def labeled_cases(folder: RunFolder, wanted: str) -> set[str]:
    """Return the ids of the cases of a run that anyone gave this label. An invalid line, and a label that no case has, raise `BadInput`."""
    found = read_labels(file_beside(folder.path, LABELS))
    if found.problems:
        raise BadInput(found.problems[0], "Correct the line, or remove it.")
    labels = found.of_dataset(folder.read().dataset.digest)
    cases = {case for case, authors in labels.items() if any(label.label == wanted for label in authors.values())}
    if not cases:
        known = sorted({label.label for authors in labels.values() for label in authors.values()})
        raise BadInput(
            f"{folder}: no case has the label {wanted!r}",
            f"Its cases have: {', '.join(known)}." if known else "Label cases in callmark view first.",
        )
    return cases


def labels_data(labels: CaseLabels) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield each case with its labels as plain values: label, note, author and time."""
    for case, authors in labels.items():
        yield case, [{"label": each.label, "note": each.note, "author": each.author, "time": each.time} for each in authors.values()]


def _problem(label: Label) -> str:
    """Return what is wrong with a label; empty if it is valid."""
    if label.version != VERSION:
        return f"unknown version {label.version}: expected {VERSION}"
    if label.label and not _LABEL.fullmatch(label.label):
        return f"label: expected up to {MAX_LABEL} letters, digits, spaces and . : / - _, got {label.label[:MAX_LABEL]!r}"
    if len(label.note) > MAX_NOTE:
        return f"note: expected at most {MAX_NOTE:,} characters, got {len(label.note):,}"
    return f"author: expected at most {MAX_AUTHOR} characters" if len(label.author) > MAX_AUTHOR else ""
