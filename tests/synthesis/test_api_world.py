"""Synthesis from an OpenAPI file: plans, conversations, and that all of them pass the quality filter."""

import json
import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from callmark.calls.confirmation import is_confirmation
from callmark.data.lint import lint_row
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.policy import PolicyEvaluator
from callmark.grading.evaluators.policy_rules import read_rules
from callmark.grading.evaluators.state import StateEvaluator
from callmark.simulation.endings import COMPLETED, TRANSFER
from callmark.simulation.mock_api.api import MockApi
from callmark.simulation.openapi import read_api
from callmark.simulation.users.rule_based.phrases import ASKS_ANYTHING_ELSE, ASKS_CONFIRMATION
from callmark.synthesis.api_expert import is_informed, read_plan
from callmark.synthesis.api_goals import InformAct
from callmark.synthesis.api_lookups import new_key_parameter
from callmark.synthesis.api_policy import plain_description
from callmark.synthesis.api_utterances import EXPERT, USER, UtteranceTemplates
from callmark.synthesis.api_world import openapi_world
from callmark.synthesis.world import World
from callmark.types import Case, Conversation, Message
from tests.synthesis.api_conversations import CLINIC, FOLDER, LIBRARY, RETAIL, simulate_plans

MANY = 40


@pytest.mark.parametrize("path", [RETAIL, LIBRARY, CLINIC])
@pytest.mark.parametrize("balance", [False, True])
def test_every_conversation_is_grounded_follows_the_rules_and_reaches_the_end_state(path: str, balance: bool) -> None:
    world, cases, predictions, tools = simulate_plans(path, MANY, balance=balance)
    rules = read_rules(world.rules)
    for case, prediction in zip(cases, predictions, strict=True):
        attempt = Attempt(case.expected, prediction.calls, prediction=prediction)
        assert prediction.ending in (COMPLETED, TRANSFER), case.id
        assert lint_row(Conversation(case.id, prediction.transcript, tools)) == []
        assert [(call.name, call.arguments) for call in prediction.calls] == [(call.name, call.arguments) for call in case.expected]
        assert StateEvaluator().evaluate(attempt).values == {"reached": 1.0, "precision": 1.0, "recall": 1.0}
        assert PolicyEvaluator(rules).evaluate(attempt).values == {"followed": 1.0, "rules": 1.0}
        assert set(_outcomes(case)) <= set(world.branches)


@pytest.mark.parametrize("path", [RETAIL, LIBRARY])
def test_seed_determines_the_words(path: str) -> None:
    simulate_plans.cache_clear()
    first = simulate_plans(path, 8, seed=7)[2]
    simulate_plans.cache_clear()
    again, other = (simulate_plans(path, 8, seed=seed)[2] for seed in (7, 8))
    assert [prediction.transcript for prediction in first] == [prediction.transcript for prediction in again]
    assert all(one.transcript != two.transcript for one, two in zip(first, other, strict=True))


@pytest.mark.parametrize("balance", [False, True])
def test_plan_does_not_depend_on_the_number(balance: bool) -> None:
    world = openapi_world(RETAIL)
    many = world.plans(9, seed=3, balance=balance)
    assert many[4:7] == openapi_world(RETAIL).plans(3, seed=3, start=4, balance=balance)
    assert [case.id.rpartition("-")[2] for case in many] == [f"{index:04d}" for index in range(9)]
    assert all(case.id == f"{case.scenario_type}-3-{index:04d}" for index, case in enumerate(many))


@pytest.mark.parametrize("path", [RETAIL, LIBRARY])
def test_another_seed_has_other_data(path: str) -> None:
    api = MockApi(read_api(path))

    def keys(seed: int) -> set[tuple[str, str]]:
        cases = openapi_world(path).plans(8, seed=seed, balance=True)
        return {(kind, key) for case in cases for kind, rows in api.start(case.id).state().items() for key in rows}

    first, other = keys(7), keys(8)
    assert len(first & other) < 0.1 * len(first), "more than by chance"


@pytest.mark.parametrize(("path", "tools"), [(RETAIL, 15), (LIBRARY, 9)])
def test_balance_covers_every_tool_and_every_kind_of_outcome(path: str, tools: int) -> None:
    cases = openapi_world(path).plans(90, seed=7, balance=True)
    called = {call.name for case in cases for call in case.expected}
    assert len(called) == tools
    outcomes = Counter(goal["outcome"] for case in cases for goal in case.data["plan"]["goals"])
    assert outcomes.keys() == {"done", "refused", "declined", "beyond"}


def test_most_plans_change_something() -> None:
    cases = openapi_world(RETAIL).plans(60, seed=7)
    assert sum(any(step.get("writes") for goal in _goals(case) for step in goal.get("steps", ())) for case in cases) > 30
    assert 3 < sum(case.scenario_type == "several" for case in cases) < 25


def test_refusal_has_a_reason_and_no_effect() -> None:
    _, cases, predictions, _ = simulate_plans(RETAIL, MANY)
    refused = [(case, prediction) for case, prediction in zip(cases, predictions, strict=True) if case.scenario_type == "refused"]
    assert len(refused) > 1
    for case, prediction in refused:
        reason = _goals(case)[0]["reason"]
        assert re.search(r"[Oo]nly .*(pending|delivered).* The status of this one is \w+", reason)
        assert any(reason in message.text for message in prediction.transcript if message.role == "assistant")
        assert prediction.states is not None
        assert prediction.states.reached == {}


def test_declined_write_changes_nothing() -> None:
    _, cases, predictions, _ = simulate_plans(LIBRARY, MANY)
    declined = [prediction for case, prediction in zip(cases, predictions, strict=True) if case.scenario_type == "declined"]
    assert declined
    for prediction in declined:
        assert prediction.states is not None
        assert prediction.states.reached == {}
        assert any(message.text.startswith("No,") for message in prediction.transcript if message.role == "user")


def test_customers_are_identified_first_if_the_policy_requires_it() -> None:
    for case in openapi_world(RETAIL).plans(40, seed=5):
        names = [call.name for call in case.expected]
        if names and names != ["transfer_to_human_agents"]:
            assert names[0].startswith("find_user_id_by_")
            assert names[1] == "get_user_details"
            assert case.expected[1].arguments["user_id"]


def test_users_see_their_own_orders_only() -> None:
    _, _, predictions, _ = simulate_plans(RETAIL, MANY)
    for prediction in predictions:
        answers = [json.loads(message.text) for message in prediction.transcript if message.role == "tool" and message.text.startswith("{")]
        assert len({answer["user_id"] for answer in answers if "user_id" in answer}) <= 1


@pytest.mark.parametrize("path", [RETAIL, LIBRARY, CLINIC])
def test_utterances_read_naturally(path: str) -> None:
    _, _, predictions, _ = simulate_plans(path, MANY)
    for prediction in predictions:
        said = [message.text for message in prediction.transcript if message.role == "user"]
        assert len(set(said)) == len(said), "users do not repeat themselves"
        for message in prediction.transcript[1:]:
            if message.role in ("user", "assistant") and message.text:
                assert not re.search(r"[{}]|\bNone\b|\bTrue\b|\ba a\b|\bthe the\b|  |_id\b|\ba [aeo]\w", message.text, re.IGNORECASE), (
                    message.text
                )
                assert message.text == message.text.strip()


def test_sparse_file_is_used_completely() -> None:
    cases = openapi_world(CLINIC).plans(120, seed=7, balance=True)
    assert {call.name for case in cases for call in case.expected} == {tool.name for tool in simulate_plans(CLINIC, MANY)[3]}


def test_person_among_several_is_said_not_guessed() -> None:
    """Before a call about a patient, the user says their name, or a detail that distinguishes them from others."""
    _, _, predictions, _ = simulate_plans(CLINIC, MANY, balance=True)
    checked = 0
    for prediction in predictions:
        said = "\n".join(message.text for message in prediction.transcript if message.role == "user")
        people = [row for text in _answers(prediction.transcript, "searchPatients") for row in json.loads(text)]
        for call in prediction.calls:
            mine = [row for row in people if row["mrn"] == call.arguments.get("mrn")]
            if mine and len(people) > 1:
                checked += 1
                assert any(row["name"] in said or row["phone"] in said for row in mine), prediction.case
    assert checked > 5


def test_transfer_of_money_does_not_end_the_conversation() -> None:
    predictions = simulate_plans(CLINIC, MANY, balance=True)[2]
    paid = [prediction for prediction in predictions if any(call.name == "make_transfer" for call in prediction.calls)]
    assert paid
    assert {prediction.ending for prediction in paid} == {COMPLETED}


def test_created_row_has_the_given_values_and_the_first_status() -> None:
    _, _, predictions, _ = simulate_plans(CLINIC, MANY, balance=True)
    booked = [
        (call.arguments["slot"], json.loads(text))
        for prediction in predictions
        for call, text in zip(
            [call for call in prediction.calls if call.name == "bookAppointment"],
            _answers(prediction.transcript, "bookAppointment"),
            strict=True,
        )
    ]
    assert booked
    for slot, created in booked:
        assert ({"day": created["day"], "hour": created["hour"]}, created["state"]) == (slot, "booked")


def _answers(transcript: tuple[Message, ...], tool: str) -> list[str]:
    return [message.text for message in transcript if message.role == "tool" and message.name == tool]


_PET = {"$ref": "#/components/schemas/Pet"}


def _pets(returns_pet: bool, number: bool) -> dict[str, Any]:
    """Return the pet shop's file; optionally, creating a pet returns it, and ids are numbers."""
    document: dict[str, Any] = yaml.safe_load((FOLDER / "pets_api.yaml").read_text(encoding="utf-8"))
    if returns_pet:
        document["paths"]["/pets"]["post"]["responses"]["201"]["content"] = {"application/json": {"schema": _PET}}
    if number:
        document["components"]["schemas"]["Pet"]["properties"]["id"] = {"type": "integer", "format": "int64"}
    return document


@pytest.mark.parametrize("returns_pet", [False, True])
@pytest.mark.parametrize("number", [False, True])
def test_new_key_is_unique(tmp_path: Path, returns_pet: bool, number: bool) -> None:
    path = tmp_path / "pets.json"
    path.write_text(json.dumps(_pets(returns_pet, number)), encoding="utf-8")
    api = MockApi(read_api(str(path)))
    _, cases, predictions, tools = simulate_plans(str(path), 60)
    created = 0
    for case, prediction in zip(cases, predictions, strict=True):
        assert prediction.ending == COMPLETED
        assert lint_row(Conversation(case.id, prediction.transcript, tools)) == []
        assert StateEvaluator().evaluate(Attempt(case.expected, prediction.calls, prediction=prediction)).values["reached"] == 1
        there = api.start(case.id).state()["pet"]
        for index, message in enumerate(prediction.transcript):
            for key in (str(call.arguments["id"]) for call in message.calls if call.name == "createPet"):
                created += 1
                before = prediction.transcript[:index]
                assert key not in there
                assert not any(re.search(rf"\b{key}\b", each.text) for each in before if each.role == "tool")
                assert any(re.search(rf"\b{key}\b", each.text) for each in before if each.role == "user")
                assert re.fullmatch(r"\d+" if number else r"PET-\d+", key)
    assert created > 15


@pytest.mark.parametrize(
    ("path", "name", "key", "expected"),
    [
        ("/pets", "createPet", "id", "id"),
        ("/pets", "pets_post", "petId", "petId"),
        ("/pets", "updatePet", "id", ""),
        ("/pets", "createPet", "mother_pet_id", ""),
        ("/pets", "createPet", "ownerId", ""),
        ("/register", "register_pet", "pet_id", "pet_id"),
        ("/groom", "groom_pet", "pet_id", ""),
        ("/basket/pets", "add_pet", "pet_id", ""),
        ("/owners/{ownerId}/pets", "createPetOfOwner", "petId", "petId"),
        ("/pets/{petId}", "registerPet", "id", ""),
    ],
)
def test_key_is_new_only_for_created_resources(tmp_path: Path, path: str, name: str, key: str, expected: str) -> None:
    document = _pets(False, False)
    fields = {key: {"type": "string"}, "name": {"type": "string"}}
    body = {"content": {"application/json": {"schema": {"type": "object", "required": list(fields), "properties": fields}}}}
    del document["paths"]["/pets"]["post"]
    inside = [{"name": each, "in": "path", "required": True, "schema": {"type": "string"}} for each in re.findall(r"{(\w+)}", path)]
    post = {"operationId": name, "parameters": inside, "requestBody": body, "responses": {"201": {"description": "Done"}}}
    document["paths"].setdefault(path, {})["post"] = post
    file = tmp_path / "pets.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    api = MockApi(read_api(str(file)))
    assert new_key_parameter(api, api.meanings[name]) == expected


def test_openings_differ() -> None:
    _, _, predictions, _ = simulate_plans(RETAIL, MANY)
    openings = [prediction.transcript[1].text for prediction in predictions]
    assert len(set(openings)) > 0.85 * len(openings)


def test_api_world_describes_itself() -> None:
    world: World = openapi_world(LIBRARY)
    assert (world.label, world.mocked, world.tools) == ("Riverside Public Library", True, (f"openapi:{LIBRARY}",))
    assert "Only active loans can be renewed." in world.policy
    assert "updateMember, renewLoan, placeHold, cancelHold" in world.policy
    assert [rule.kind for rule in read_rules(world.rules)] == ["confirmed", "once_per_confirmation"]
    assert {"renewLoan: refused", "listHolds: done", "placeHold: declined", "no operation for it"} <= set(world.branches)


def test_instructions_contain_everything_that_an_llm_user_needs_to_say() -> None:
    for case in openapi_world(RETAIL).plans(20, seed=2):
        for goal in _goals(case):
            assert goal["wish"] in case.instructions
            assert all(inform["text"] in case.instructions for inform in goal.get("informs", ()))


def test_confirmation_templates_are_recognized() -> None:
    assert [line for line in USER["yes"] if not is_confirmation(line)] == []
    assert [line for line in USER["no"] if is_confirmation(line)] == []
    assert [act for act, lines in (EXPERT | USER).items() if len({*lines}) < 2] == []


@pytest.mark.parametrize("act", EXPERT)
def test_user_recognizes_the_acts_of_the_expert(act: str) -> None:
    for line in EXPERT[act]:
        last = line.rpartition("\n")[2].lower()
        assert bool(ASKS_ANYTHING_ELSE.search(last)) is (act == "more"), line
        assert act != "confirm" or ASKS_CONFIRMATION.search(last), line


class Mute:
    """A user that only says hello."""

    label = "mute"

    def start_session(self, case: Case, trial: int) -> "Mute":
        return self

    async def next_turn(self, agent_text: Any) -> Any:
        from callmark.simulation.session import UserTurn

        return UserTurn("Hello?" if len(agent_text) < 16 else "Goodbye then.", len(agent_text) >= 16)

    async def __aenter__(self) -> "Mute":
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


def test_no_call_is_made_without_answers() -> None:
    _, cases, predictions, _ = simulate_plans(RETAIL, 10, user=Mute())
    for case, prediction in zip(cases, predictions, strict=True):
        assert prediction.calls == (), case.id


@pytest.mark.parametrize(
    ("tell", "said", "expected"),
    [
        (InformAct("amount", "25", ["25"]), ["It was in 2025."], False),
        (InformAct("amount", "25", ["25"]), ["It's 25."], True),
        (InformAct("date", "x", ["2025-06-02"]), ["on June 2, 2025 please"], True),
        (InformAct("name", "x", ["Mei", "Chen"]), ["I am Mei", "Chen is my last name"], True),
        (InformAct("name", "x", ["Mei", "Chen"]), ["I am Mei"], False),
        (InformAct("order", "x", ["#W123"]), ["it is #w123"], True),
        (InformAct("order", "x", ["#W123"]), ["it is #W1234"], False),
        (InformAct("text", "x", ["two  words"]), ["Two words."], True),
        (InformAct("nothing", "x", []), [], True),
    ],
)
def test_informed_values_are_recognized(tell: InformAct, said: list[str], expected: bool) -> None:
    assert is_informed(tell, said) is expected


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"openapi": "3.0.0", "paths": {}}, "no operations found"),
        ({"swagger": "2.0", "paths": {}}, "expected OpenAPI 3, got Swagger 2.0"),
        (
            {"openapi": "3.0.0", "paths": {"/x": {"get": {"responses": {"200": {"$ref": "#/no"}}}}}},
            "$ref '#/no' is not defined in the file",
        ),
        ({"openapi": "3.0.0", "paths": {"/x": {"get": {"responses": {"200": 5}}}}}, "responses.200: not an object"),
    ],
)
def test_invalid_file_is_refused(tmp_path: Path, document: dict[str, Any], expected: str) -> None:
    path = tmp_path / "api.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(BadInput, match=re.escape(expected)):
        openapi_world(str(path))


_TREE = {
    "type": "object",
    "properties": {
        "node_id": {"type": "string"},
        "parent": {"$ref": "#/s/Node"},
        "nodes": {"type": "array", "items": {"$ref": "#/s/Node"}},
    },
}


@pytest.mark.parametrize(
    "paths",
    [
        {"/ping": {"post": {}}},
        {"/things": {"get": {}, "post": {"requestBody": {"content": {"application/json": {}}}}}},
        {"/things/{id}": {"get": {"parameters": [{"name": "id", "in": "path", "required": True}]}, "delete": {}}},
        {"/nodes/{node_id}": {
            "parameters": [{"name": "node_id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {"responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/s/Node"}}}}}},
            "put": {
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/s/Node"}}}},
                "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/s/Node"}}}}},
            },
        }},
        {"/codes": {"post": {
            "requestBody": {"required": True, "content": {"application/json": {"schema": {
                "type": "object", "required": ["code"], "properties": {"code": {"enum": [f"c{number}" for number in range(5000)]}}}}}},
            "responses": {"201": {"content": {"application/json": {"schema": {"properties": {"id": {"type": "integer"}}}}}}},
        }}},
    ],
)  # fmt: skip
def test_sparse_and_unusual_files_work(tmp_path: Path, paths: dict[str, Any]) -> None:
    path = tmp_path / "api.json"
    path.write_text(json.dumps({"openapi": "3.1.0", "info": {"title": "Odd"}, "paths": paths, "s": {"Node": _TREE}}), encoding="utf-8")
    _, cases, predictions, tools = simulate_plans(str(path), 12)
    for case, prediction in zip(cases, predictions, strict=True):
        assert prediction.ending == COMPLETED
        assert lint_row(Conversation(case.id, prediction.transcript, tools)) == []
        assert StateEvaluator().evaluate(Attempt(case.expected, prediction.calls, prediction=prediction)).values["reached"] == 1


def test_scenario_without_a_plan_is_refused() -> None:
    with pytest.raises(BadInput, match="scenario 'strange' cannot be simulated because data.plan is not a plan for an API"):
        openapi_world(LIBRARY).user(7).start_session(Case("strange", instructions="…"), 0)


def _goals(case: Case) -> list[dict[str, Any]]:
    goals: list[dict[str, Any]] = case.data["plan"]["goals"]
    return goals


def _outcomes(case: Case) -> list[str]:
    return [branch for branch in case.data["plan"]["branches"] if branch.endswith((": done", ": refused", ": declined", "for it"))]


ALBUMS: dict[str, Any] = {
    "/albums/{id}": {
        "put": {
            "operationId": "update_album",
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}},
                {"name": "public", "in": "query", "required": True, "schema": {"type": "boolean"}},
                {"name": "limit", "in": "query", "schema": {"type": "integer"}},
                {"name": "near", "in": "query", "schema": {"type": "string"}, "example": "52.5200,13.4050"},
                {"name": "far", "in": "query", "schema": {"type": "integer"}, "example": "not a number"},
                {"name": "to", "in": "query", "schema": {"type": "string"}, "examples": {"a": {"value": "A1"}, "b": {"value": "B2"}}},
            ],
            "responses": {"200": {"description": "updated"}},
        }
    }
}


def test_examples_of_parameters_are_used_if_they_fit(tmp_path: Path) -> None:
    (tmp_path / "api.json").write_text(json.dumps({"openapi": "3.1.0", "info": {}, "paths": ALBUMS}), encoding="utf-8")
    (tool,) = openapi_world(str(tmp_path / "api.json")).tool_definitions
    fields = tool.parameters["properties"]
    assert {name: schema.get("examples") for name, schema in fields.items() if name not in ("id", "public", "limit")} == {
        "near": ["52.5200,13.4050"],
        "far": None,
        "to": ["A1", "B2"],
    }


def test_optional_values_are_said_without_a_question_and_flags_as_sentences(tmp_path: Path) -> None:
    (tmp_path / "api.json").write_text(json.dumps({"openapi": "3.1.0", "info": {}, "paths": ALBUMS}), encoding="utf-8")
    _, cases, predictions, _ = simulate_plans(str(tmp_path / "api.json"), 30)
    questions, optional = [], 0
    for case, prediction in zip(cases, predictions, strict=True):
        turns = [message for message in prediction.transcript if message.role in ("user", "assistant") and message.text]
        goals = read_plan(case).goals
        optional += sum(inform.text in turns[0].text for inform in goals[0].informs if inform.optional)
        assert all(inform.text in turns[0].text for inform in goals[0].informs if inform.optional)
        questions += [turn.text for turn in turns if turn.role == "assistant" and '"public" be?' in turn.text]
        assert not any("limit" in turn.text and turn.text.endswith("?") and "- " not in turn.text for turn in turns)
        assert all(
            '"public" should be yes' in turn.text or '"public" should be no' in turn.text for turn in turns if '"public" sh' in turn.text
        )
    assert optional > 5
    assert questions


def test_act_with_repeated_templates_never_runs_out() -> None:
    templates = UtteranceTemplates({"before": ("", "", "", "Sure. ")}, Random(7))
    assert {templates.say("before") for _ in range(50)} == {"", "Sure. "}


def test_description_is_a_policy_without_markup() -> None:
    text = "# Empty\n\n## Badge\n[![Run](https://a/b.svg)](https://a) See <a href='x'>our</a> [guide](https://b).\n\n## Last\n"
    assert plain_description(text) == "## Badge\n See our guide."
    assert plain_description("Only [a-z] (see below) <5 pets.") == "Only [a-z] (see below) <5 pets."
