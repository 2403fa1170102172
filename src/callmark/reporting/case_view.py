"""Print one graded case: the conversation, the expected and the actual calls, each fault, and what people said of it."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from callmark.analysis.numbers import format_score
from callmark.analysis.outcomes import described_fault
from callmark.grading.record import GradeRecord
from callmark.reporting.conversation_view import FOLD, print_indented, show_messages
from callmark.reporting.safety import fold_text, one_line
from callmark.reporting.terminal import call_text, print_sentence
from callmark.runs.labels import Label
from callmark.types import Case, Message, Prediction

_MAX_LINE = 1000
_WORDS = {True: ("correct", "bold green"), False: ("wrong", "bold red"), None: ("no verdict", "dim")}


def show_case(
    console: Console,
    grade: GradeRecord,
    case: Case | None,
    prediction: Prediction | None,
    messages: Sequence[Message],
    labels: Sequence[Label],
    passed: bool | None,
    problem: str,
    *,
    fold: int | None = FOLD,
) -> None:
    """Print a graded case. Without its dataset, the expected calls are named, and `problem` says why. `fold` cuts long texts."""
    trial = f" · trial {grade.trial + 1}" if grade.trial else ""
    console.print(Text.assemble((one_line(grade.case, _MAX_LINE), "bold"), trial, " · ", *_outcome(grade, passed)), soft_wrap=True)
    console.print()
    show_messages(console, messages, fold=fold)
    if case is not None and case.instructions and not messages:
        print_indented(console, Text(fold_text(case.instructions, fold)))
    _show_calls(console, grade, case, prediction, fold)
    console.print()
    if grade.error:
        print_sentence(console, Text(f"Error, excluded from scores: {one_line(grade.error, _MAX_LINE)}", style="yellow"), indent=3)
    for fault in grade.faults:
        sentence = one_line(described_fault(fault, grade.actual), _MAX_LINE)
        where = f" (message {fault.origin_message})" if fault.origin_message is not None and "message" not in sentence else ""
        print_sentence(console, Text.assemble(("✗ ", "red"), sentence, where), indent=3)
    for metric, reason in grade.reasons.items():
        print_sentence(console, Text(f"{one_line(metric, 80)}: {one_line(reason, _MAX_LINE)}"), indent=3)
    for note in grade.notes:
        print_sentence(console, Text(f"Note: {one_line(note.sentence, _MAX_LINE)}", style="dim"), indent=3)
    for label in labels:
        kind, said = ("Label", f"{label.label}{f' ({label.note})' if label.note else ''}") if label.label else ("Note", label.note)
        line = one_line(f"{label.author or 'someone'}: {said}", _MAX_LINE)
        print_sentence(console, Text(f"{kind}: {line}", style="cyan"), indent=3)
    if problem:
        print_sentence(console, Text(one_line(problem, _MAX_LINE), style="yellow"), indent=3)


def _outcome(grade: GradeRecord, passed: bool | None) -> list[tuple[str, str]]:
    scores = " · ".join(f"{name} {format_score(value)}" for name, value in list(grade.metrics.items())[:6])
    word = ("error", "yellow") if grade.error else _WORDS[passed]
    return [word, (f" · {one_line(scores, _MAX_LINE)}" if scores else "", "dim")]


def _show_calls(console: Console, grade: GradeRecord, case: Case | None, prediction: Prediction | None, fold: int | None) -> None:
    expected = [call_text(call, fold, expected=True) for call in case.expected] if case else [Text(f"{name}(…)") for name in grade.expected]
    if case and 0 < grade.alternative <= len(case.alternatives):
        expected = [call_text(call, fold, expected=True) for call in case.alternatives[grade.alternative - 1]]
    actual = [call_text(call, fold) for call in prediction.calls] if prediction else [Text(f"{name}(…)") for name in grade.actual]
    for title, style, calls in (("EXPECTED", "bold magenta", expected), ("ACTUAL", "bold cyan", actual)):
        console.print(Text("   │", style="dim"))
        console.print(Text(f"   {title}", style=style))
        for call in calls or [Text("error" if grade.error and title == "ACTUAL" else "no call")]:
            print_indented(console, call)
    if prediction is not None and prediction.text and not prediction.transcript:
        print_indented(console, Text(fold_text(prediction.text, fold), style="dim"))
