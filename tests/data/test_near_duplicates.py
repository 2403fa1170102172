"""Near-duplicates: which differences count, which do not, and the error of the estimate."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.data.near_duplicates import MIN_SIMILARITY, NearDuplicate, NearDuplicateIndex, shingles, sketch
from callmark.types import Call, Case, Conversation, Message, Source, Tool

TALK = Conversation(
    "t",
    (
        Message("system", "You are the assistant of a shoe shop."),
        Message("user", "Hi, the running shoes that I ordered last week are too small. Can I exchange them for a bigger size?"),
        Message("assistant", "I am sorry to hear that. Could you please tell me your email address, so that I can look up your order?"),
        Message("user", "Sure, my email is emily.runner@example.com and the order number is #W4817420."),
        Message("assistant", "", (Call("find_user_id_by_email", {"email": "emily.runner@example.com"}, "c1"),)),
        Message("tool", '{"user_id": "emily_runner_42"}', (), "c1"),
        Message("assistant", "", (Call("get_order_details", {"order_id": "#W4817420", "full": True}, "c2"),)),
        Message("tool", '{"status": "delivered", "items": ["1656367028"]}', (), "c2"),
        Message(
            "assistant", "Thank you, Emily. Your order was delivered on Monday. Which size would you like to have instead of the nine?"
        ),
        Message("user", "A ten, please, in the same color, and charge any difference to the credit card that I paid with."),
        Message("assistant", "There is one in size ten in blue for the same price. Shall I go ahead with the exchange? Please say yes."),
        Message("user", "Yes, please do that."),
        Message("assistant", "", (Call("exchange_items", {"order_id": "#W4817420", "new": ["4107812777"], "old": ["1656367028"]}, "c3"),)),
        Message("tool", '{"status": "exchange requested"}', (), "c3"),
        Message("assistant", "Done. You will get an email with instructions for the return of the old pair. Is there anything else?"),
        Message("user", "No, that is all. Thank you very much!"),
    ),
)


def changed(change: Callable[[Message], Message]) -> Conversation:
    return Conversation("other", tuple(map(change, TALK.messages)))


def swapped(**words: str) -> Conversation:
    """The talk with words put in the place of others, wherever they stand."""

    def other(text: str) -> str:
        for old, new in words.items():
            text = text.replace(old, new)
        return text

    def call(one: Call) -> Call:
        return Call(one.name, {key: other(value) if isinstance(value, str) else value for key, value in one.arguments.items()}, one.id)

    return changed(lambda one: Message(one.role, other(one.text), tuple(map(call, one.calls)), one.tool_call_id))


def similarity(one: Conversation, other: Conversation) -> float | None:
    copies = NearDuplicateIndex()
    assert copies.add(sketch(one)) is None
    near = copies.add(sketch(other))
    return near.similarity if near is not None else None


NEAR = {
    "a word": swapped(bigger="larger"),
    "a name": swapped(Emily="Laura", emily="laura"),
    "an order id": swapped(W4817420="W9911034"),
    "a sentence more": swapped(**{"for a bigger size?": "for a bigger size? I would need them before the marathon on the weekend."}),
    "a goodbye more": Conversation("o", (*TALK.messages, Message("assistant", "You are welcome. Have a nice day and enjoy the run!"))),
}
SAME = {
    "case and spaces": changed(lambda one: Message(one.role, f"  {one.text.upper()} ".replace(" ", "\n "), one.calls, one.tool_call_id)),
    "punctuation": swapped(**{". ": " ", ",": " -", "!": "?"}),
    "the system prompt": swapped(**{"the assistant of a shoe shop": "a helpful and honest clerk who never lies to anybody"}),
    "tools": Conversation("o", TALK.messages, (Tool("f"),)),
    "ids and results": changed(lambda one: Message(one.role, one.text if one.role != "tool" else "{}", one.calls, "x")),
    "the order of arguments": changed(
        lambda one: Message(one.role, one.text, tuple(Call(call.name, dict(reversed(call.arguments.items()))) for call in one.calls))
    ),
}
OTHER = {
    "the same template, other values": swapped(
        Emily="Laura",
        emily="laura",
        runner="hill",
        W4817420="W9911034",
        shoes="jacket",
        nine="four",
        ten="six",
        blue="green",
        Monday="Friday",
    ),
    "the first half": Conversation("o", TALK.messages[:9]),
    "another talk": Conversation("o", (Message("user", "Where is my parcel?"), Message("assistant", "It is on its way to you."))),
    "the other speaker": changed(lambda one: Message({"user": "assistant", "assistant": "user"}.get(one.role, one.role), one.text[:20])),
    "nothing said": Conversation("o", TALK.messages[:1]),
}


@pytest.mark.parametrize("other", [pytest.param(row, id=name) for name, row in NEAR.items()])
def test_a_conversation_with_small_changes_is_a_near_duplicate(other: Conversation) -> None:
    for one, two in ((TALK, other), (other, TALK)):
        assert MIN_SIMILARITY <= (similarity(one, two) or 0) < 1


@pytest.mark.parametrize("other", [pytest.param(row, id=name) for name, row in SAME.items()])
def test_ignored_differences(other: Conversation) -> None:
    assert similarity(TALK, other) == 1


@pytest.mark.parametrize("other", [pytest.param(row, id=name) for name, row in OTHER.items()])
def test_a_conversation_that_shares_less_is_not_a_near_duplicate(other: Conversation) -> None:
    assert similarity(TALK, other) is None


@pytest.mark.parametrize("value", ["Bonn", "Rome", 5])
def test_a_changed_value_makes_a_short_question_different(value: str | int) -> None:
    def asked(city: object) -> Conversation:
        return Conversation(
            "q", (Message("user", f"What is the weather in {city}?"), Message("assistant", "", (Call("get", {"city": city}),)))
        )

    assert similarity(asked("Kyiv"), asked(value)) is None
    assert similarity(asked(value), asked(value)) == 1


def test_scripts_without_spaces_are_compared_by_character() -> None:
    text = "您好，我上周订购的跑鞋太小了，请问可以换大一号的吗？我的订单号是七八九，谢谢您的帮助，期待您的回复。"
    one, other = (Conversation("q", (Message("user", given),)) for given in (text, text.replace("跑", "球")))
    assert similarity(one, other) == pytest.approx(len(text) / (len(text) + 6), abs=0.08)


def test_the_first_near_duplicate_is_named_by_its_index() -> None:
    copies = NearDuplicateIndex()
    for row in (OTHER["another talk"], OTHER["nothing said"], TALK):
        assert copies.find(sketch(row)) is None
        assert copies.add(sketch(row)) is None
    assert copies.find(sketch(TALK)) == copies.add(sketch(TALK)) == NearDuplicate(2, 1.0)
    assert [near.index for near in copies.add_and_find_all(sketch(NEAR["a word"]))] == [2]
    assert [near.index for near in copies.add_and_find_all(sketch(NEAR["a goodbye more"]))] == [2, 4]


def test_a_row_without_words_has_no_near_duplicates() -> None:
    assert similarity(OTHER["nothing said"], OTHER["nothing said"]) is None
    assert similarity(Conversation("e"), Conversation("e")) is None


def test_decision_points_of_one_conversation_are_not_compared() -> None:
    def point(conversation: str, end: int) -> Case:
        return Case(f"{conversation}:{end}", TALK.messages[:end], expected=TALK.messages[end].calls, source=Source(conversation, end))

    assert similarity(point("a", 12), point("a", 12)) is None
    assert similarity(point("a", 12), point("b", 12)) == 1


def test_hostile_text_is_compared_like_any_other() -> None:
    row = Conversation(
        "h",
        (
            Message("us\ud800er", "a \udfff b\0c"),
            Message("user", "", (Call("f", {"a": {1, 2}}), Call("", {}, None, "x", "{"))),
        ),
    )
    assert similarity(row, row) == 1


@pytest.mark.parametrize("differing", [1, 4, 6, 8], ids=["near-duplicates", "just near-duplicates", "just none", "none"])
def test_thousands_of_rows_from_one_template_take_linear_time_and_hide_no_duplicate(differing: int) -> None:
    """In a row of 100 words that all share, so many are its own. A copy of any of them, one word changed, is found."""
    rng = random.Random(1)
    copies = NearDuplicateIndex()
    template = [f"w{number}" for number in range(100)]

    def said(words: list[str]) -> Conversation:
        return Conversation("c", (Message("user", " ".join(words)),))

    rows = []
    for _ in range(2000):
        words = list(template)
        for place in range(differing):
            words.insert(place * 100 // differing, f"own{rng.random()}"[:9])
        rows.append(words)
        copies.add(sketch(said(words)))
    assert max(map(len, copies._next.values())) < 16
    for words in rng.sample(rows, 60):
        changed = list(words)
        changed[rng.randrange(len(words))] = "other"
        assert copies.find(sketch(said(changed))) is not None


@pytest.mark.parametrize("true", [0.5, 0.7, 0.8, 0.9, 0.97])
def test_the_estimate_has_the_documented_error(true: float) -> None:
    """Against the sets themselves: found from .85 on, not found to .75, in between by an estimate without bias."""
    rng = random.Random(3)
    errors, hits = [], 0
    for _ in range(40):
        words = [f"w{rng.random()}" for _ in range(250)]
        other = words[: round(250 * 2 * true / (1 + true))]
        other += [f"w{rng.random()}" for _ in range(250 - len(other))]
        rows = [Conversation("c", (Message("user", " ".join(said)),)) for said in (words, other)]
        one, two = (shingles(["user:", *row.messages[0].text.replace(".", " ").split()]) for row in rows)
        exactly = len(one & two) / len(one | two)
        errors.append(sketch(rows[0]).signature.jaccard(sketch(rows[1]).signature) - exactly)
        hits += similarity(*rows) is not None
    assert abs(sum(errors) / len(errors)) < 0.01
    assert (sum(error**2 for error in errors) / len(errors)) ** 0.5 < 0.03
    if true != MIN_SIMILARITY:
        assert hits == (40 if true > MIN_SIMILARITY else 0)


words = st.lists(st.sampled_from("abcdef"), max_size=12)


@given(words, words)
@pytest.mark.laws
def test_similarity_is_symmetric_and_one_with_itself(one: list[str], other: list[str]) -> None:
    first, second = (Conversation("c", (Message("user", " ".join(said)),)) for said in (one, other))
    assert similarity(first, second) == similarity(second, first)
    assert similarity(first, first) == (1 if one else None)
