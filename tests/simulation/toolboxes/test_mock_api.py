"""Results of a mock API: they fit their schemas and are consistent within a conversation."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from callmark.calls.schema import Schemas
from callmark.errors import BadInput
from callmark.simulation.openapi import read_api
from callmark.simulation.session import State, Toolbox
from callmark.simulation.states import changes, expected_changes
from callmark.simulation.toolboxes import open_tools
from callmark.simulation.toolboxes.mock_api import MockApiToolSource
from callmark.types import Call, Tool

APIS = Path(__file__).parents[2] / "synthesis"
RETAIL, LIBRARY = str(APIS / "retail_api.yaml"), str(APIS / "library_api.yaml")
Found = TypeVar("Found")


def within(path: str, converse: Callable[[Toolbox], Coroutine[Any, Any, Found]], conversation: str = "case-1/0/ab12cd34") -> Found:
    async def run() -> Found:
        async with MockApiToolSource("openapi:x", read_api(path)) as source, source.open_toolbox(conversation) as toolbox:
            return await converse(toolbox)

    return asyncio.run(run())


async def call_tool(toolbox: Toolbox, name: str, **arguments: Any) -> Any:
    result = await toolbox.call(Call(name, arguments))
    assert not result.is_error, result.text
    try:
        return json.loads(result.text)
    except ValueError:
        return result.text


async def state_of(toolbox: Toolbox) -> State:
    state = await toolbox.state()
    assert state is not None
    return state


async def all_responses(toolbox: Toolbox) -> list[str]:
    state = await state_of(toolbox)
    user = next(iter(state["user"].values()))
    found = await toolbox.call(Call("find_user_id_by_email", {"email": user["email"]}))
    details = await toolbox.call(Call("get_user_details", {"user_id": user["user_id"]}))
    orders = [await toolbox.call(Call("get_order_details", {"order_id": order})) for order in json.loads(details.text)["orders"]]
    return [result.text for result in (found, details, *orders)]


@pytest.mark.parametrize(
    ("conversation", "same"),
    [("case-1/0/ffffffff", True), ("case-1/7/ab12cd34", True), ("case-1/expected/1", True), ("case-2/0/ab12cd34", False)],
)
def test_case_always_starts_with_the_same_data(conversation: str, same: bool) -> None:
    assert (within(RETAIL, all_responses) == within(RETAIL, all_responses, conversation)) is same


def test_referenced_resources_exist() -> None:
    async def converse(toolbox: Toolbox) -> None:
        user = next(iter((await state_of(toolbox))["user"].values()))
        by_email = await call_tool(toolbox, "find_user_id_by_email", email=user["email"])
        by_name = await call_tool(
            toolbox,
            "find_user_id_by_name_zip",
            first_name=user["name"]["first_name"],
            last_name=user["name"]["last_name"],
            zip=user["address"]["zip"],
        )
        assert by_email == by_name == {"user_id": user["user_id"]}
        details = await call_tool(toolbox, "get_user_details", user_id=by_email["user_id"])
        assert details["email"] == user["email"]
        assert details["orders"]
        methods = [method["payment_method_id"] for method in details["payment_methods"]]
        for order_id in details["orders"]:
            order = await call_tool(toolbox, "get_order_details", order_id=order_id)
            assert (order["order_id"], order["user_id"]) == (order_id, user["user_id"])
            assert order["payment_method_id"] in methods
            assert order["total"] == pytest.approx(sum(item["price"] for item in order["items"]))
            for item in order["items"]:
                product = await call_tool(toolbox, "get_product_details", product_id=item["product_id"])
                assert product["name"] == item["name"]
                assert item["item_id"] in [variant["item_id"] for variant in product["variants"]]

    within(RETAIL, converse)


def test_reads_change_nothing() -> None:
    async def converse(toolbox: Toolbox) -> None:
        before = await state_of(toolbox)
        await all_responses(toolbox)
        await call_tool(toolbox, "get_order_details", order_id="#W0000001")
        await call_tool(toolbox, "find_user_id_by_email", email="nobody@example.com")
        assert changes(before, await state_of(toolbox)).rows == {}

    within(RETAIL, converse)


def test_created_rows_do_not_depend_on_earlier_reads() -> None:
    async def placed(toolbox: Toolbox, *unknown: str) -> Any:
        state = await state_of(toolbox)
        for card in unknown:
            assert await call_tool(toolbox, "getMember", cardNumber=card)
            holds = await call_tool(toolbox, "listHolds", cardNumber=card)
            assert len({hold["id"] for hold in holds}) == len(holds) > 1
        card, book = next(iter(state["member"])), next(iter(state["book"].values()))["id"]
        return await call_tool(toolbox, "placeHold", cardNumber=card, bookId=book, branch="Central")

    expected = within(LIBRARY, placed)
    assert within(LIBRARY, lambda toolbox: placed(toolbox, "RL000001", "RL000002")) == expected


def test_changes_persist() -> None:
    async def converse(toolbox: Toolbox) -> None:
        before = await state_of(toolbox)
        order = next(iter(before["order"].values()))
        key = order["order_id"]
        given = {"address1": "1 Elm Street", "city": "Boise", "state": "ID", "country": "USA", "zip": "83702"}
        now = await call_tool(toolbox, "modify_pending_order_address", order_id=key, **given)
        assert now["address"] == given
        cancelled = await call_tool(toolbox, "cancel_pending_order", order_id=key, reason="ordered by mistake")
        assert (cancelled["status"], cancelled["cancel_reason"]) == ("cancelled", "ordered by mistake")
        assert await call_tool(toolbox, "get_order_details", order_id=key) == cancelled
        assert list(changes(before, await state_of(toolbox)).rows) == ["order"]

    within(RETAIL, converse)


def test_created_resource_can_be_read_listed_and_deleted() -> None:
    async def converse(toolbox: Toolbox) -> None:
        before = await state_of(toolbox)
        card, book = next(iter(before["member"])), next(iter(before["book"].values()))["id"]
        hold = await call_tool(toolbox, "placeHold", cardNumber=card, bookId=book, branch="Central")
        assert (hold["cardNumber"], hold["bookId"], hold["branch"]) == (card, book, "Central")
        assert "neededBy" not in hold
        created = changes(before, await state_of(toolbox))
        assert created.new == (f"hold/{hold['id']}",)
        assert hold in await call_tool(toolbox, "listHolds", cardNumber=card)
        await call_tool(toolbox, "cancelHold", holdId=hold["id"])
        assert hold not in await call_tool(toolbox, "listHolds", cardNumber=card)
        assert changes(before, await state_of(toolbox)).rows == {}
        again = await toolbox.call(Call("cancelHold", {"holdId": hold["id"]}))
        assert (again.text, again.is_error) == (f"There is no hold {hold['id']}.", True)

    within(LIBRARY, converse)


@pytest.mark.parametrize("known", [True, False])
def test_deletion_shows_in_the_state(known: bool) -> None:
    async def converse(toolbox: Toolbox) -> None:
        before = await state_of(toolbox)
        key = int(next(iter(before["hold"]))) if known else 99_998
        await call_tool(toolbox, "cancelHold", holdId=key)
        found = changes(before, await state_of(toolbox)).rows
        assert found == {"hold": {str(key): None if known else {"deleted": True}}}

    within(LIBRARY, converse)


def test_list_has_the_matching_rows() -> None:
    async def converse(toolbox: Toolbox) -> None:
        state = await state_of(toolbox)
        card = next(iter(state["member"]))
        mine = [row for row in state["loan"].values() if row["cardNumber"] == card]
        answer = await call_tool(toolbox, "listLoans", cardNumber=card)
        assert (answer["loans"], answer["total"]) == (mine, len(mine))
        for status in ("active", "overdue", "returned"):
            loans = (await call_tool(toolbox, "listLoans", cardNumber=card, status=status))["loans"]
            assert loans == [row for row in mine if row["status"] == status]
        author = next(iter(state["book"].values()))["author"]
        assert {book["author"] for book in await call_tool(toolbox, "searchBooks", author=author)} == {author}
        unknown = await call_tool(toolbox, "searchBooks", author="Somebody Else")
        assert {book["author"] for book in unknown} == {"Somebody Else"}
        assert await call_tool(toolbox, "searchBooks", author="Somebody Else") == unknown
        assert await call_tool(toolbox, "getBook", bookId=unknown[0]["id"]) == unknown[0]
        assert len(await call_tool(toolbox, "searchBooks", author="Somebody Else", limit=1)) == 1

    within(LIBRARY, converse)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            Call("cancel_pending_order", {"order_id": "#W1", "reason": "bored"}),
            'Invalid arguments: reason: "bored" is not one of',
        ),
        (Call("cancel_pending_order", {"order_id": "#W1"}), 'Invalid arguments: "reason" is a required property.'),
        (Call("get_order_details", {"order_id": 5}), "Invalid arguments: order_id: 5 is not of type"),
        (Call("get_orders", {}), "Unknown tool 'get_orders'"),
        (Call("get_order_details", {}, malformed="no JSON", text="{"), "The call is malformed: no JSON."),
    ],
)
def test_invalid_call_returns_an_error_and_changes_nothing(call: Call, expected: str) -> None:
    async def converse(toolbox: Toolbox) -> None:
        before = await state_of(toolbox)
        result = await toolbox.call(call)
        assert result.is_error
        assert result.text.startswith(expected)
        assert await state_of(toolbox) == before

    within(RETAIL, converse)


def test_call_without_a_visible_change_is_recorded() -> None:
    async def converse(toolbox: Toolbox) -> None:
        before = await state_of(toolbox)
        message = await call_tool(toolbox, "transfer_to_human_agents", summary="wants a person")
        assert message == "The customer is being transferred."
        assert changes(before, await state_of(toolbox)).rows == {"transfer_to_human_agents": {"1": {"summary": "wants a person"}}}

    within(RETAIL, converse)


def test_expected_calls_make_the_same_changes_as_actual_calls() -> None:
    async def key_of(toolbox: Toolbox) -> str:
        return next(iter((await state_of(toolbox))["loan"]))

    call = Call("renewLoan", {"loanId": within(LIBRARY, key_of)})
    expected = within(LIBRARY, lambda toolbox: expected_changes([call], toolbox), "case-1/expected/x")

    async def converse(toolbox: Toolbox) -> Any:
        before = await state_of(toolbox)
        await toolbox.call(call)
        return changes(before, await state_of(toolbox)).rows

    assert not expected.unknown
    assert expected.expected == within(LIBRARY, converse)
    assert list(expected.expected) == ["loan"]


@pytest.mark.parametrize("path", [RETAIL, LIBRARY])
@pytest.mark.parametrize("case", range(5))
def test_responses_fit_their_schemas(path: str, case: int) -> None:
    schemas = {each.tool.name: each.response for each in read_api(path).operations}

    async def converse(toolbox: Toolbox) -> int:
        state = await state_of(toolbox)
        looked = 0
        for kind, name, argument in (
            ("user", "get_user_details", "user_id"),
            ("order", "get_order_details", "order_id"),
            ("product", "get_product_details", "product_id"),
            ("book", "getBook", "bookId"),
            ("member", "listLoans", "cardNumber"),
            ("member", "listHolds", "cardNumber"),
            ("loan", "renewLoan", "loanId"),
        ):
            for row in state.get(kind, {}).values():
                answer = await call_tool(toolbox, name, **{argument: row.get(argument, row.get("id"))})
                wanted = Tool("answer", "", {"type": "object", "properties": {"answer": schemas[name]}})
                assert Schemas([wanted]).violations(Call("answer", {"answer": answer})) == []
                looked += 1
        return looked

    assert within(path, converse, f"case-{case}/0/x") > 10


def test_openapi_spec_opens_a_mock_api(tmp_path: Path) -> None:
    source = open_tools([f"openapi:{LIBRARY}"])
    assert source.label == "openapi:library_api.yaml"
    assert [tool.name for tool in source.tools][:2] == ["searchBooks", "getBook"]
    with pytest.raises(BadInput, match="tools: expected a source such as openapi:api.yaml, got 'openapi:'"):
        open_tools(["openapi:"])
    other = tmp_path / "other.yaml"
    other.write_text("hello: there", encoding="utf-8")
    with pytest.raises(BadInput, match="not an OpenAPI file"):
        open_tools([f"openapi:{other}"])
