"""Corrections to expected calls, in a patch file: the dataset itself is never changed.

A correction names the case, has its new `expected_output`, and the digest of the case as it was: prompt and expected calls. It applies only
to a case with that digest, whatever file it is in, so that one patch fits the conversations and the decision points that were cut from
them. Of several corrections of a case the last counts. A line that is not valid raises `BadInput`.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.formats.openai import read_expected_output
from callmark.runs.event_log import append_line, read_lines
from callmark.types import Call, Case, SourceRow
from callmark.wording import pluralize

PATCH = "patch.jsonl"
VERSION = 1
_MAX_NAMED = 3  # corrections that a message names


class Correction(Struct, frozen=True, omit_defaults=True):
    """The expected output that a case should have.

    Attributes:
        case: Id of the case.
        case_digest: Digest of the case that was corrected.
        expected_output: The new expected output, in the shape of a decision point.
        dataset: Digest of the dataset in which it was corrected.
        author: Who corrected it.
        time: When, in UTC.
        version: Version of the format.
    """

    case: str
    case_digest: str
    expected_output: dict[str, Any]
    dataset: str = ""
    author: str = ""
    time: str = ""
    version: int = VERSION


_decode = msgspec.json.Decoder(Correction).decode


class Patch(Struct, frozen=True):
    """Corrections by case, in the order of the file."""

    corrections: Mapping[str, Sequence[Correction]]

    def find(self, case: Case) -> Correction | None:
        """Return the correction of a case with its messages; None if there is none, or the case is not as it was."""
        given = self.corrections.get(case.id)
        if not given:
            return None
        digest = case_digest(case)
        return next((correction for correction in reversed(given) if correction.case_digest == digest), None)

    def apply(self, case: Case) -> Case:
        """Return a case with its corrected expected output, or as it is."""
        correction = self.find(case)
        return case if correction is None else corrected(case, correction.expected_output)

    def lines(self) -> list[bytes]:
        """Return the corrections as lines of a file."""
        return [msgspec.json.encode(each) + b"\n" for given in self.corrections.values() for each in given]

    @property
    def digest(self) -> str:
        """A digest of the corrections."""
        import xxhash

        return f"xxh3:{xxhash.xxh3_128(b''.join(self.lines())).hexdigest()}"

    def only(self, cases: Iterable[Case], name: str) -> tuple["Patch", list[Correction]]:
        """Return the corrections that apply to these cases, and those that do not. If none does, `BadInput` is raised."""
        applied = {case.id: [found] for case in cases if (found := self.find(case)) is not None}
        if not applied:
            raise no_correction(name)
        return Patch(applied), [given[-1] for case, given in self.corrections.items() if case not in applied]


def read_patch(path: str, *, incomplete: bool = False) -> Patch:
    """Return the corrections of a file. `incomplete`: what another process has not finished writing is skipped.

    A missing file and an invalid line raise `BadInput`.
    """
    name = scrub(path)
    corrections: dict[str, list[Correction]] = {}
    number = 0
    for number, line in read_lines(path):
        try:
            correction = _decode(line)
            if correction.version != VERSION:
                raise BadInput(f"unknown version {correction.version}: expected {VERSION}")
            read_output(correction.expected_output)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, BadInput) as error:
            if incomplete and not line.endswith(b"\n"):
                break
            raise BadInput(f"{name}, line {number}: not a valid correction: {error}") from None
        corrections.setdefault(correction.case, []).append(correction)
    if not number and not incomplete:
        raise BadInput(
            f"{name}: expected corrections, but the file is missing or empty", "callmark view writes patch.jsonl beside the runs."
        )
    return Patch(corrections)


def add_correction(path: str, case: Case, output: dict[str, Any], *, dataset: str, author: str) -> Correction:
    """Append a correction of a case to a file; it is on disk when this returns. An invalid expected output raises `BadInput`."""
    read_output(output)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    correction = Correction(case.id, case_digest(case), output, dataset, author, now)
    append_line(path, msgspec.json.encode(correction))
    return correction


def case_digest(case: Case) -> str:
    """Return a digest of what a case asks and expects: messages, scenario, expected calls and alternatives."""
    import xxhash

    messages = [[message.role, message.text, list(map(_plain, message.calls))] for message in case.messages]
    expected = [list(map(_plain, calls)) for calls in (case.expected, *case.alternatives)]
    text = dump([case.instructions, case.completion, messages, expected, case.behavior])
    return f"xxh3:{xxhash.xxh3_128(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def corrected(case: Case, output: dict[str, Any]) -> Case:
    """Return a case with another expected output."""
    found = read_output(output)
    return structs.replace(
        case,
        expected=found.calls,
        alternatives=found.alternatives,
        behavior=found.behavior,
        dependencies=found.dependencies,
        reply=found.reply,
        states_expectation=True,
        original=SourceRow(conversation=case.original.conversation),
    )


def read_output(output: dict[str, Any]) -> Any:
    """Return what an expected output holds. A malformed call, an invalid matcher, and not saying what is expected raise `BadInput`."""
    found = read_expected_output(Raw(dump(output).encode("utf-8", "surrogatepass")))
    for call in (*found.calls, *(call for calls in found.alternatives for call in calls)):
        if call.malformed:
            raise BadInput(f"expected_output: malformed call {call.name!r}: {call.malformed}")
    if not found.is_stated:
        raise BadInput("expected_output: expected tool_calls, which is empty if no call is expected")
    return found


def no_correction(name: str) -> BadInput:
    """Return the error for a patch of which nothing applies."""
    return BadInput(
        f"{scrub(name)}: none of its corrections applies to these cases",
        "A correction applies only if the case with its ID still has the messages and expected calls that it had when it was corrected.",
    )


def left_over(unused: Sequence[Correction], name: str) -> str:
    """Return a sentence about corrections that do not apply; empty if there are none."""
    if not unused:
        return ""
    names = ", ".join(repr(each.case[:80]) for each in unused[:_MAX_NAMED]) + (", …" if len(unused) > _MAX_NAMED else "")
    verb = "does" if len(unused) == 1 else "do"
    return f"{scrub(name)}: {pluralize(len(unused), 'correction')} {verb} not apply ({names}): there is no such case, or it has changed"


def _plain(call: Call) -> list[Any]:
    return [call.name, call.text if call.malformed else call.arguments]
