"""The store's data: consistent from the start, the same for the same seed, and cheap to copy and serialize."""

import re
import subprocess
import sys
from hashlib import sha256
from statistics import median
from time import process_time
from typing import Any

import pytest

from callmark.worlds.retail import tools
from callmark.worlds.retail.store import store as store_module
from callmark.worlds.retail.store.catalog import MAX_VARIANTS
from callmark.worlds.retail.store.store import TABLES, Store
from tests.worlds.retail.store_calls import ADDRESS, call_tool, find_order, net_amount

# the leading digits of each state's zip codes, from the postal service's own division; not taken from the data
ZIPS = {
    "AZ": "85 86", "CA": "90 91 92 93 94 95 96", "CO": "80 81", "DC": "20", "FL": "32 33 34", "GA": "30 31", "ID": "83", "IL": "60 61 62",
    "IN": "46 47", "KY": "40 41 42", "LA": "70 71", "MA": "01 02", "MD": "20 21", "MI": "48 49", "MN": "55 56", "MO": "63 64 65",
    "NC": "27 28", "NE": "68 69", "NM": "87 88", "NV": "88 89", "NY": "10 11 12 13 14", "OH": "43 44 45", "OR": "97",
    "PA": "15 16 17 18 19", "RI": "02", "TN": "37 38", "TX": "75 76 77 78 79", "UT": "84", "VA": "20 22 23 24", "WA": "98 99",
    "WI": "53 54",
}  # fmt: skip


@pytest.fixture(scope="module", params=[7, 8])
def store(request: pytest.FixtureRequest) -> Store:
    return Store(request.param)


def test_tables_have_the_documented_number_of_rows(store: Store) -> None:
    state = store.state()
    assert {table: len(rows) for table, rows in state.items()} == {"users": 500, "orders": 1000, "products": 50}
    assert list(state) == list(TABLES)
    counts = {status: [row["status"] for row in state["orders"].values()].count(status) for status in ("pending", "processed", "delivered")}
    assert counts == {"pending": 450, "processed": 100, "delivered": 400}
    assert all(list(rows) == sorted(rows) for rows in state.values())


def test_ids_are_unique_and_well_formed(store: Store) -> None:
    state = store.state()
    methods = [one["payment_method_id"] for user in state["users"].values() for one in user["payment_methods"]]
    items = [one["item_id"] for product in state["products"].values() for one in product["variants"]]
    for ids, shape in (
        (list(state["users"]), r"[a-z]+_[a-z]+_[0-9]{3}"),
        (list(state["orders"]), r"#W[0-9]{7}"),
        ([*state["products"], *items], r"[1-9][0-9]{9}"),
        (methods, r"(credit_card|paypal|gift_card)_[0-9]{7}"),
        ([user["email"] for user in state["users"].values()], r"[a-z]+\.[a-z]+[0-9]{2}@example\.(com|net|org)"),
    ):
        assert len(set(ids)) == len(ids)
        assert all(re.fullmatch(shape, one) for one in ids)
    names = [(*user["name"].values(), user["address"]["zip"]) for user in state["users"].values()]
    assert len(set(names)) == len(names)


def test_zip_codes_belong_to_their_state_and_city(store: Store) -> None:
    state = store.state()
    addresses = [row["address"] for table in ("users", "orders") for row in state[table].values()]
    assert all(address["zip"][:2] in ZIPS[address["state"]].split() for address in addresses)
    cities = {address["zip"]: (address["city"], address["state"]) for address in addresses}
    assert all(cities[address["zip"]] == (address["city"], address["state"]) for address in addresses)
    assert {len(address["zip"]) for address in addresses} == {5}
    assert all(value for address in addresses for part, value in address.items() if part != "address2")
    assert len(set(cities.values())) == 50


def test_products_have_distinct_variants_and_some_are_available(store: Store) -> None:
    for product in store.state()["products"].values():
        variants = product["variants"]
        assert 5 <= len(variants) <= MAX_VARIANTS == 15
        assert len({tuple(one["options"].items()) for one in variants}) == len(variants)
        assert {tuple(one["options"]) for one in variants} == {tuple(variants[0]["options"])}
        assert 2 <= len(variants[0]["options"]) <= 4
        assert sum(one["available"] for one in variants) >= 4
        assert not all(one["available"] for one in variants)
        assert all(0 < one["price"] == round(one["price"], 2) for one in variants)


def test_orders_belong_to_customers_and_payments_equal_item_prices(store: Store) -> None:
    state = store.state()
    prices = {one["item_id"]: one["price"] for product in state["products"].values() for one in product["variants"]}
    assert {order["user_id"] for order in state["orders"].values()} == set(state["users"])
    for order in state["orders"].values():
        assert 1 <= len(order["items"]) <= 5
        assert all(prices[item["item_id"]] == item["price"] for item in order["items"])
        theirs = [one["payment_method_id"] for one in state["users"][order["user_id"]]["payment_methods"]]
        assert {entry["payment_method_id"] for entry in order["payment_history"]} <= set(theirs)
        cost = round(sum(item["price"] for item in order["items"]), 2)
        assert net_amount(order) == (0 if order["status"] == "cancelled" else cost)
        assert (order["status"] == "cancelled") == ("cancel_reason" in order)


def test_every_customer_can_pay_and_gift_card_balances_are_in_range(store: Store) -> None:
    users = store.state()["users"].values()
    cards = [one for user in users for one in user["payment_methods"] if one["source"] == "gift_card"]
    assert all(0 <= one["balance"] <= 500 and one["balance"] == round(one["balance"], 2) for one in cards)
    assert 200 < len(cards) < 400
    assert all(any(one["source"] != "gift_card" for one in user["payment_methods"]) for user in users)
    shapes = {
        "credit_card": {"payment_method_id", "source", "brand", "last_four"},
        "paypal": {"payment_method_id", "source"},
        "gift_card": {"payment_method_id", "source", "balance"},
    }
    assert all(set(one) == shapes[one["source"]] for user in users for one in user["payment_methods"])


def test_same_seed_gives_the_same_bytes_in_another_process() -> None:
    program = (
        "import hashlib; from callmark.worlds.retail.store.store import Store; "
        "print(hashlib.sha256(Store(7).state_text().encode()).hexdigest(), end='')"
    )
    for hash_seed in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": hash_seed}
        )
        assert told.stdout == sha256(Store(7).state_text().encode()).hexdigest()
    assert Store(8).state_text() != Store(7).state_text()


def test_only_changed_rows_are_serialized_after_a_write(seeded: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[object] = []

    def counted(row: dict[str, Any]) -> str:
        written.append(row)
        return row_text(row)

    row_text = store_module._row_text
    monkeypatch.setattr(store_module, "_row_text", counted)
    store = seeded.copy()
    text = store.state_text()
    assert store.state_text() is text is store.copy().state_text() is seeded.state_text()
    assert written == []
    order = find_order(store, "pending")
    call_tool(store, tools.MODIFY_ORDER_ADDRESS, {"order_id": order["order_id"], **ADDRESS})
    assert store.state()["orders"][order["order_id"]]["address"] == ADDRESS
    assert len(written) == 1


def test_copies_and_states_are_cheap(seeded: Store) -> None:
    """The limits are ten times the cost on an idle machine: a millisecond for a copy, two for the state after a write."""

    def measure() -> tuple[float, float]:
        begin = process_time()
        copy = seeded.copy()
        copied = process_time()
        call_tool(copy, tools.MODIFY_USER_ADDRESS, {"user_id": next(iter(users)), **ADDRESS})
        copy.state_text()
        return copied - begin, process_time() - copied

    users = seeded.state()["users"]
    copy_times, state_times = zip(*(measure() for _ in range(9)), strict=True)
    assert median(copy_times) < 0.01
    assert median(state_times) < 0.02
