"""What people say of cases in the viewer: labels with notes, and corrected expectations, written beside the runs.

Nothing in a run and no dataset is changed. Everything written is on disk before the request is answered. With `read_only` nothing is
written. Labels are those of the run's dataset, whichever run they were given in.
"""

import os
import shlex
from threading import Lock
from typing import Any

import msgspec
from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.openai import expected_output_text
from callmark.runs.labels import LABELS, MAX_AUTHOR, LabelFile, add_label, file_beside, labels_data, new_label, read_labels
from callmark.runs.patch import PATCH, add_correction, read_patch
from callmark.runs.store import RunFolder
from callmark.types import Case
from callmark.viewer.page_json import page_id

MAX_REQUEST = 1 << 20  # bytes
_MAX_PROBLEMS = 5


class LabelRequest(Struct, forbid_unknown_fields=True):
    """A label for a case of a run, named by its id on the page and its trial. Without a label only the note is kept."""

    run: str
    case: str
    trial: int = 0
    label: str = ""
    note: str = ""


class CorrectionRequest(Struct, forbid_unknown_fields=True):
    """Expected calls for a case, as JSON: instead of the present ones, or with `also` as an alternative."""

    run: str
    case: str
    calls: str
    trial: int = 0
    also: bool = False


class ReadOnly(BadInput):
    """The viewer does not write."""


class Triage:
    """The labels and corrections beside the runs of a folder."""

    def __init__(self, folder: str, *, author: str = "", read_only: bool = False) -> None:
        self.read_only = read_only
        self.author = scrub(author)[:MAX_AUTHOR]
        self.labels_path = file_beside(folder, LABELS)
        self.patch_path = file_beside(folder, PATCH)
        self._lock = Lock()
        self._read: tuple[tuple[int, int], LabelFile] = ((-1, -1), LabelFile([], []))

    def labels(self, digest: str, folder: RunFolder) -> dict[str, Any]:
        """Return the labels of a dataset by the id of the case on the page, and what is wrong with the file.

        The corrected cases are `pending` if the run in the folder is not graded with their last correction.
        """
        problems: list[str] = []
        cases: dict[str, list[dict[str, str]]] = {}
        try:
            found = self._labels()
            problems = found.problems
            cases = {page_id(case): labels for case, labels in labels_data(found.of_dataset(digest))}
        except BadInput as error:
            problems = [str(error)]
        more = f" and {len(problems) - _MAX_PROBLEMS:,} more" if len(problems) > _MAX_PROBLEMS else ""
        return {
            "labels": cases,
            "problem": f"{'; '.join(problems[:_MAX_PROBLEMS])}{more}. These lines are skipped." if problems else "",
            "author": self.author,
            "writable": not self.read_only,
            **self._corrected(digest, folder),
        }

    def add_label(self, request: LabelRequest, digest: str, case: str, folder: RunFolder) -> dict[str, Any]:
        """Write a label of a case, by its own id, and return the labels of the dataset."""
        self._refuse_writing(digest)
        add_label(self.labels_path, new_label(digest, case, request.label, request.note, self.author))
        return self.labels(digest, folder)

    def add_correction(self, request: CorrectionRequest, digest: str, case: Case, folder: RunFolder) -> dict[str, Any]:
        """Write the corrected expected calls of a case, and return the command that grades the run with them."""
        self._refuse_writing(digest)
        output = msgspec.json.decode(expected_output_text(case), type=dict[str, Any])
        if request.also:  # earlier corrections of the case stay
            patch = read_patch(self.patch_path, incomplete=True)
            correction = patch.find(case)
            output = correction.expected_output if correction else output
            output["alternatives"] = [*output.get("alternatives", []), _read_calls(request.calls)]
        else:
            output["tool_calls"] = _read_calls(request.calls)
        add_correction(self.patch_path, case, output, dataset=digest, author=self.author)
        return {
            "patch": os.path.basename(self.patch_path),
            "command": f"callmark grade {shlex.quote(str(folder))} --patch {shlex.quote(scrub(self.patch_path))}",
        }

    def _corrected(self, digest: str, folder: RunFolder) -> dict[str, list[str]]:
        cases: dict[str, list[str]] = {"corrected": [], "pending": []}
        try:
            written, applied = (read_patch(path, incomplete=True).corrections for path in (self.patch_path, folder.inside(PATCH)))
        except BadInput:
            return cases
        for case, given in written.items():
            found = [each for each in given if each.dataset == digest]
            if found:
                cases["corrected" if found[-1] in applied.get(case, ()) else "pending"].append(page_id(case))
        return cases

    def _refuse_writing(self, digest: str) -> None:
        if self.read_only:
            raise ReadOnly("the viewer was started with --read-only", "Start it without --read-only to label cases.")
        if not digest:
            raise BadInput("the digest of the dataset is not known yet", "Wait until the run is graded.")

    def _labels(self) -> LabelFile:
        """Return the labels, which are read again only if the file has changed."""
        try:
            found = os.stat(self.labels_path)
            stamp = found.st_mtime_ns, found.st_size
        except OSError:
            stamp = 0, 0
        with self._lock:
            if self._read[0] != stamp:
                self._read = stamp, read_labels(self.labels_path)
            return self._read[1]


def _read_calls(text: str) -> list[Any]:
    try:
        calls = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadInput(
            f"the calls are not valid JSON: {error}", 'Write a list: [{"name": "get_order", "arguments": {"order_id": "1"}}].'
        ) from None
    if not isinstance(calls, list):
        raise BadInput(
            "expected a list of calls", 'Write a list: [{"name": "get_order", "arguments": {"order_id": "1"}}]; [] expects no call.'
        )
    return calls
