"""Grades of whole conversations: values come from messages before their call."""

from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.types import Call, Case, Message, Prediction, Tool

PARAMETERS = {"type": "object", "properties": {"title": {"type": "string"}, "code": {"type": "string"}}}
TOOLS = (Tool("create", "", PARAMETERS), Tool("look", "", PARAMETERS))


def graded(expected: Call, *messages: Message, ignore: tuple[str, ...] = ()) -> GradeRecord:
    calls = tuple(call for message in messages for call in message.calls)
    case = Case("c", (), TOOLS, expected=(expected,), instructions="You want a ticket.")
    grader = Grader(GradingSettings(evaluators=("process",), options={"process": {"ignore": ignore}}))
    return grader.record(case, [Prediction("c", 0, calls, transcript=messages, ending="goodbye")])[0]


def made(code: str) -> Message:
    return Message("assistant", "", (Call("create", {"title": "Mouse", "code": code}, "1"),))


def test_wrong_value_that_appears_only_in_its_own_result_is_hallucinated() -> None:
    grade = graded(
        Call("create", {"title": "Mouse", "code": "A17"}),
        Message("user", "A ticket for the Mouse, code A17"),
        made("B99"),
        Message("tool", '{"code": "B99"}', (), "1"),
    )
    (fault,) = grade.faults
    assert (fault.kind, fault.argument, fault.origin, fault.origin_message) == ("wrong_value", "code", "hallucinated", None)


def test_wrong_value_from_an_earlier_message_has_its_origin() -> None:
    grade = graded(
        Call("create", {"title": "Mouse", "code": "A17"}),
        Message("user", "A ticket for the Mouse"),
        Message("assistant", "Which code?"),
        Message("user", "Not B99, but A17"),
        made("B99"),
    )
    assert (grade.faults[0].origin, grade.faults[0].origin_message) == ("elsewhere", 2)


def test_correct_value_without_a_source_is_noted() -> None:
    grade = graded(Call("create", {"title": "Mouse", "code": "A17"}), Message("user", "A ticket for the Mouse"), made("A17"), made("A17"))
    assert [(note.kind, note.argument) for note in grade.notes] == [("hallucinated_value", "code")]


def test_grade_has_ending_and_user_turns() -> None:
    grade = graded(Call("create", {"title": "Mouse"}), Message("user", "Hello"), Message("assistant", "Yes?"), Message("user", "Bye"))
    assert (grade.ending, grade.turns) == ("goodbye", 2)


def test_faults_in_arguments_of_ignored_functions_are_not_recorded() -> None:
    grade = graded(
        Call("look", {"code": "A17"}),
        Message("user", "A17"),
        Message("assistant", "", (Call("look", {"code": "B99"}, "1"),)),
        ignore=("look",),
    )
    assert grade.faults == ()
    assert grade.metrics["process.reliability"] == 1
