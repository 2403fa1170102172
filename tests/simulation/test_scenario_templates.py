import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import callmark
from callmark.errors import BadInput
from callmark.formats.scenarios import write
from callmark.simulation import scenario_templates
from callmark.simulation.scenario_templates import Tables, fill_templates
from callmark.types import Call, Case

TICKETS = [{"kind": "it" if at % 2 else "hr", "title": f"Ticket {at}", "level": at} for at in range(6)]
ITEMS = [{"ticket_kind": "it" if at % 2 else "hr", "title": f"Item {at}"} for at in range(8)]
TABLES: Tables = {"tickets": TICKETS, "action_items": ITEMS, "boxes": [{"a": "b"}], "categories": [{"name": "c"}], "empty": []}


def template(**more: Any) -> dict[str, Any]:
    return {"id": "t", "instructions": "x", "expected_function_calls": [], **more}


def scenarios(*templates: dict[str, Any], tables: Tables = TABLES, seed: int = 7, number: int | None = None) -> list[Case]:
    return fill_templates(list(templates), tables, seed=seed, number=number)


def lines(cases: list[Case]) -> bytes:
    return b"\n".join(map(write, cases))


def expected_of(value: Any, row: dict[str, Any]) -> Any:
    """Return the expected argument of a scenario that was filled from a row."""
    call = {"functionName": "f", "arguments": {"a": value}}
    (case,) = scenarios(template(expected_function_calls=[call]), tables={"rows": [row]})
    return case.expected[0].arguments["a"]


def test_all_fields_of_a_name_come_from_one_row() -> None:
    (case,) = scenarios(
        template(
            scenarioType="{ticket.kind}",
            group="g {ticket.title}",
            description="d {ticket.title}",
            instructions="i {ticket.title}, {ticket.title}",
            task_completion_condition="c {ticket.title}",
            expected_function_calls=[{"functionName": "f_{ticket.kind}", "arguments": {"a": {"b": ["{ticket.title}"]}}}],
            data={"tasks": [{"slots": {"title": "{ticket.title}", "level": "{ticket.level}"}, "goal": "level {ticket.level}"}]},
        )
    )
    row = next(row for row in TICKETS if f"d {row['title']}" == case.description)
    assert case.id == "t-01"
    assert (case.scenario_type, case.group, case.completion) == (row["kind"], f"g {row['title']}", f"c {row['title']}")
    assert case.instructions == f"i {row['title']}, {row['title']}"
    assert case.expected == (Call(f"f_{row['kind']}", {"a": {"b": [row["title"]]}}),)
    assert case.data["tasks"][0]["slots"] == {"title": row["title"], "level": row["level"]}  # a whole value keeps its type
    assert case.data["tasks"][0]["goal"] == f"level {row['level']}"


@pytest.mark.parametrize(
    "name, use, found",
    [("ticket", {}, "Ticket"), ("tickets", {}, "Ticket"), ("box", {}, "b"), ("category", {}, "c"), ("mine", {"mine": "tickets"}, "Ticket")],
)
def test_name_uses_the_table_of_its_plural_or_the_configured_one(name: str, use: dict[str, str], found: str) -> None:
    column = {"b": "a", "c": "name"}.get(found, "title")
    (case,) = scenarios(template(instructions=f"{{{name}.{column}}}", use=use))
    assert case.instructions.startswith(found)


@pytest.mark.parametrize("seed", [1, 7, "x"])
def test_same_seed_gives_same_scenarios(seed: Any) -> None:
    several = template(
        count=5, instructions="{ticket.title} {item.title} {word}", use={"item": "action_items"}, variants={"word": ["a", "b"]}
    )
    assert lines(scenarios(several, seed=seed)) == lines(scenarios(several, seed=seed))
    assert lines(scenarios(several, seed=seed)) != lines(scenarios(several, seed=1007))


def test_template_does_not_depend_on_others_or_on_the_number() -> None:
    one, other = template(id="a", count=4, instructions="{ticket.title}"), template(id="b", count=4, instructions="{ticket.title}")
    alone = scenarios(other)
    assert scenarios(one, other)[4:] == alone
    assert scenarios(one, other, number=4)[2:] == alone[:2]


@pytest.mark.parametrize(
    "counts, number, ids",
    [
        ((2, 1), None, "a-01 a-02 b-01"),
        ((2, 1), 3, "a-01 a-02 b-01"),
        ((2, 1), 6, "a-01 a-02 a-03 a-04 b-01 b-02"),
        ((1, 1), 1, "b-01"),
        ((3, 1), 2, "a-01 b-01"),
    ],
)
def test_number_is_distributed_in_proportion(counts: tuple[int, int], number: int | None, ids: str) -> None:
    cases = scenarios(template(id="a", count=counts[0]), template(id="b", count=counts[1]), number=number)
    assert " ".join(case.id for case in cases) == ids


def test_rows_repeat_only_when_all_are_used() -> None:
    titles = [case.instructions for case in scenarios(template(count=12, instructions="{ticket.title}"))]
    assert len(set(titles[:6])) == len(set(titles[6:])) == 6


def test_scenarios_differ_while_combinations_are_left() -> None:
    several = template(count=56, instructions="{item.title}, {other.title}", use={"item": "action_items", "other": "action_items"})
    pairs = [case.instructions for case in scenarios(several)]
    assert len(set(pairs)) == 8 * 7
    assert all(len(set(pair.split(", "))) == 2 for pair in pairs)  # two uses of a table get different rows


def test_rows_meet_the_conditions() -> None:
    several = template(
        count=20,
        use={"item": "action_items"},
        where={"item.ticket_kind": "{ticket.kind}", "ticket.level": [1, 2, "4"]},
        instructions="{item.ticket_kind} {ticket.kind} {ticket.level}",
    )
    found = [case.instructions.split() for case in scenarios(several)]
    assert all(one == other for one, other, _ in found)
    assert {level for _, _, level in found[:3]} == {level for _, _, level in found} == {"1", "2", "4"}


def test_each_variant_is_used_once_before_any_repeats() -> None:
    several = template(
        count=6, instructions="{hello}", variants={"hello": ["Hi {ticket.title}", "Hello {ticket.title}", "Hey {ticket.title}"]}
    )
    firsts = [case.instructions.split()[0] for case in scenarios(several)]
    assert sorted(firsts[:3]) == sorted(firsts[3:]) == ["Hello", "Hey", "Hi"]
    assert all("Ticket" in case.instructions for case in scenarios(several))


def test_variant_that_is_a_whole_value_keeps_its_type() -> None:
    (case,) = scenarios(
        template(data={"script": "{script}", "turns": "{turns}"}, variants={"script": [["a", "{ticket.title}"]], "turns": [3]})
    )
    assert case.data["turns"] == 3
    assert case.data["script"][1].startswith("Ticket")


@pytest.mark.parametrize(
    "text, filled",
    [
        ("{{ticket.title}}", "{ticket.title}"),
        ("{{{row.a}}}", "{A}"),
        ("}}{{", "}{"),
        ("{ row.a }", "A"),
        ("no field", "no field"),
        ("{row.a}{row.b}", "AB"),
        ("{row.a} and {row.column with spaces}", "A and C"),
    ],
)
def test_braces(text: str, filled: str) -> None:
    (case,) = scenarios(template(instructions=text), tables={"rows": [{"a": "A", "b": "B", "column with spaces": "C"}]})
    assert case.instructions == filled


TRICKY = [
    '"quoted", and more',
    "{row.b}",
    "{{",
    "}",
    "a\nb",
    "=1+1",
    "@SUM(A1)",
    "*.py",
    "TKT-*",
    "{}",
    "$regex",
    "\\",
    "é\u2028",
    "a?",
    "  ",
]


@pytest.mark.parametrize("text", TRICKY)
def test_values_of_rows_are_not_interpreted(text: str) -> None:
    row = {"a": text, "b": "WRONG"}
    (case,) = scenarios(template(instructions="i {row.a}", data={"closing": "{row.a}"}), tables={"rows": [row]})
    assert case.instructions == f"i {text}"
    assert case.data["closing"] == text
    for value, whole in (("{row.a}", text), ("x{row.a}", f"x{text}"), ({"$literal": "{row.a}"}, text), ({"$one_of": ["{row.a}"]}, text)):
        expected = expected_of(value, row)
        assert callmark.grade([Call("f", {"a": expected})], [Call("f", {"a": whole})]).metrics["call.score"] == 1.0
        assert (
            callmark.grade([Call("f", {"a": expected})], [Call("f", {"a": f"{whole.replace('*', 'setup')}!"})]).metrics["call.score"] == 0.5
        )
    pattern = expected_of({"$regex": "x{row.a}[0-9]"}, row)
    assert callmark.grade([Call("f", {"a": pattern})], [Call("f", {"a": f"x{text}7"})]).metrics["call.score"] == 1.0


@pytest.mark.laws
@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_any_text_of_a_row_is_expected_literally(one: str, other: str) -> None:
    expected = expected_of("{row.a}", {"a": one, "b": other})
    assert callmark.grade([Call("f", {"a": expected})], [Call("f", {"a": one})]).metrics["call.score"] == 1.0
    assert (callmark.grade([Call("f", {"a": expected})], [Call("f", {"a": other})]).metrics["call.score"] == 1.0) == (
        callmark.grade([Call("f", {"a": {"$literal": one}})], [Call("f", {"a": other})]).metrics["call.score"] == 1.0
    )


@pytest.mark.parametrize(
    "value, row, expected",
    [
        ("TKT-*", {}, {"$glob": "TKT-*", "$case": False}),
        ("{row.a}-*", {"a": "TKT"}, {"$glob": "TKT-*", "$case": False}),
        ("{row.a}-*", {"a": "Ann Lee"}, {"$glob": "Ann Lee-*", "$case": False}),
        ("buy * now {row.a}", {"a": "x"}, "buy * now x"),
        ({"$any": True}, {}, {"$any": True}),
        ("{row.a}", {"a": 5}, 5),
        ("{row.a}", {"a": None}, None),
        ("{row.a}", {"a": {"b": [1, True]}}, {"b": [1, True]}),
        ("{row.a}", {"a": {"$any": True}}, {"$literal": {"$any": True}}),
        ("{row.a}", {"a": ["*"]}, {"$literal": ["*"]}),
        ("n{row.a}", {"a": True}, "ntrue"),
        ("n{row.a}", {"a": None}, "n"),
    ],
)
def test_globs_and_matchers_of_the_template_are_kept(value: Any, row: dict[str, Any], expected: Any) -> None:
    assert expected_of(value, row or {"unused": ""}) == expected


@pytest.mark.parametrize("value", ["{row.a}-*", {"$glob": "{row.a}-*"}, {"$glob": "{row.a}"}], ids=str)
@pytest.mark.parametrize("text", ["a*", "a?"])
def test_wildcard_in_a_row_is_refused_in_a_glob(value: Any, text: str) -> None:
    with pytest.raises(BadInput, match=r"template 't', scenario t-01: 'a.' contains a wildcard"):
        expected_of(value, {"a": text})


@pytest.mark.parametrize(
    "more, sentence",
    [
        (
            {"instructions": "{ticket.titel}"},
            "template 't', instructions: table tickets has no column for {ticket.titel}. Did you mean title?",
        ),
        ({"instructions": "{tiket.title}"}, "template 't', instructions: no table for {tiket.title}. Did you mean tickets?"),
        ({"instructions": "{hello}", "variants": {"hallo": ["x"]}}, "instructions: no variants for {hello}. Did you mean hallo?"),
        ({"instructions": "{}"}, "instructions: no variants for {}"),
        ({"instructions": "a {ticket.title"}, "instructions: unmatched { in '{ticket.title'"),
        ({"instructions": "a {ticket {ticket.title}"}, "instructions: unmatched { in '{ticket {ticket.title}'"),
        ({"instructions": "a } b"}, "instructions: unmatched } in '} b'"),
        (
            {"expected_function_calls": [{"functionName": "f", "arguments": {"a": ["{x.y}"]}}]},
            "expected_function_calls[0].arguments.a[0]: no table for {x.y}",
        ),
        ({"data": {"tasks": [{"slots": {"a": "{ticket.b}"}}]}}, "data.tasks[0].slots.a: table tickets has no column for {ticket.b}"),
        ({"use": {"item": "action_item"}}, "use.item: unknown table 'action_item'. Did you mean action_items?"),
        ({"use": {"item": "empty"}}, "table empty has no rows"),
        ({"where": {"ticket": "x"}}, "where: expected a column such as ticket.kind, got 'ticket'"),
        ({"where": {"ticket.knd": "x"}}, "where: table tickets has no column for {ticket.knd}. Did you mean kind?"),
        ({"where": {"ticket.kind": "{ticket.x}"}}, "where.ticket.kind: table tickets has no column for {ticket.x}"),
        ({"where": {"ticket.kind": "zz"}}, "no rows of tickets meet the conditions in `where`"),
        (
            {"where": {"ticket.kind": "{a}"}, "variants": {"a": ["x"]}},
            "kind: expected a column such as {ticket.kind}, got {a}",
        ),
        ({"variants": {"a": ["{b}"], "b": ["x"]}}, "variants.a[0]: expected a column such as {ticket.kind}, got {b}"),
        ({"variants": {"a": []}}, "variants.a: expected at least one variant, got none"),
        ({"variants": {"a": "x"}}, "template 't': variants"),
        ({"instruction": "x"}, "unknown field 'instruction'. Did you mean instructions?"),
        ({"instructions": 5}, "template 't': instructions: expected a string, got a number"),
        ({"instructions": ""}, "scenario t-01: missing key 'instructions'"),
        ({"count": 0}, "count: expected an integer of at least 1, got 0"),
        ({"count": "3"}, 'count: expected an integer of at least 1, got "3"'),
        ({"id": ""}, "id is empty"),
        ({"data": {"stile": "x"}}, "scenario t-01: data: unknown field 'stile'. Did you mean style?"),
        ({"expected_function_calls": "x"}, "scenario t-01: expected_function_calls: expected a list, got a string"),
        (
            {"expected_function_calls": [{"functionName": "f", "arguments": {"a": {"$regex": "("}}}]},
            "scenario t-01: f: a: $regex: not a valid RE2 pattern",
        ),
    ],
    ids=str,
)
def test_error_names_template_and_field(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as raised:
        scenarios(template(**more))
    assert sentence in str(raised.value)
    assert "template" in str(raised.value)


@pytest.mark.parametrize(
    "templates, sentence",
    [
        (None, "no templates found"),
        ([], "no templates found"),
        ({"id": "t"}, "no templates found: expected a list of at least one template"),
        ([5], "template 1: expected an object, got 5"),
        ([{"id": "t", "instructions": "x"}], "template 't': missing key 'expected_function_calls'"),
        ([{"instructions": "x", "expected_function_calls": []}], "template 1: missing key 'id'"),
        ([template(), template()], "template 't': id is used by another template"),
        ([template(count=10**9)], "1,000,000,000 scenarios requested, but the maximum is 100,000"),
        ([template(data={"turns": float("nan")})], "the templates contain nan, which is not a JSON value"),
    ],
)
def test_value_that_is_not_a_list_of_templates_is_refused(templates: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as raised:
        fill_templates(templates, TABLES)
    assert sentence in str(raised.value)


def test_oversized_templates_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    bomb: list[Any] = ["ha"]
    deep: list[Any] = []
    for _ in range(30):
        bomb = [bomb, bomb]
    for _ in range(5000):
        deep = [deep]
    for value, sentence in (
        (endless, "more than 100,000 values"),
        (bomb, "more than 100,000 values"),
        (deep, "nested deeper than 200"),
    ):
        with pytest.raises(BadInput, match=sentence):
            scenarios(template(data={"tasks": value}))


def test_search_for_matching_rows_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenario_templates, "_MAX_TRIES", 1000)
    tables: Tables = {"rows": [{"a": str(at)} for at in range(100)]}
    one = template(
        instructions="{a.a} {b.a} {c.a} {d.a} {e.a}", use=dict.fromkeys("abcde", "rows"), where={"e.a": "not {a.a}"}
    )  # fmt: skip
    with pytest.raises(BadInput, match=r"no rows of rows meet the conditions in `where` \(1,000 combinations tried\)"):
        scenarios(one, tables=tables)


def test_written_scenarios_are_read_back_unchanged() -> None:
    (case,) = scenarios(template(expected_function_calls=[{"functionName": "f", "arguments": {"id": "TKT-*", "t": "{ticket.title}"}}]))
    assert json.loads(write(case))["expected_function_calls"][0]["arguments"]["id"] == "TKT-*"
