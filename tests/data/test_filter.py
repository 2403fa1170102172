from typing import Any

import pytest

from callmark.data import filter as rules
from callmark.types import Call, Case, Conversation, Message
from tests.rows import tool_call

FIND = Message("assistant", "", (tool_call("find_user", email="a@b.c"),))
FOUND = Message("tool", '{"user_id": "u1"}')
GET = Message("assistant", "", (tool_call("get_user", user_id="u1"),))
ASKED = Message("user", "I am a@b.c")


def talk(*messages: Message) -> Conversation:
    return Conversation("t", messages)


@pytest.mark.parametrize(
    "rule, row, kept",
    [
        (rules.require("find_* > get_user(user_id=$result)"), talk(ASKED, FIND, FOUND, GET), True),
        (rules.require("find_* > get_user(user_id=$result)"), talk(ASKED, GET, FIND, FOUND), False),
        (rules.forbid("get_user >> find_*"), talk(ASKED, GET, FIND), False),
        (rules.forbid("get_user >> find_*"), talk(ASKED, FIND, FOUND, GET), True),
        (rules.consistent("user_id"), talk(GET, GET), True),
        (rules.consistent("user_id"), talk(GET, Message("assistant", "", (tool_call("f", user_id="u2"),))), False),
        (rules.consistent("user_id"), talk(GET, Message("assistant", "", (tool_call("f", user_id=" u1 "),))), True),
        (rules.consistent("user_id"), talk(), True),
        (rules.grounded(), talk(ASKED, FIND, FOUND, GET), True),
        (rules.grounded(), talk(ASKED, GET), False),
        (rules.grounded(), talk(), True),
        (rules.clean(), talk(ASKED, FIND, FOUND), True),
        (rules.clean(), talk(ASKED, FIND, GET, FOUND), False),
        (rules.calls_between(1, None)[0], talk(GET), True),
        (rules.calls_between(2, None)[0], talk(GET), False),
        (rules.calls_between(None, 0)[0], talk(GET), False),
        (rules.messages_between(1, None)[0], talk(), False),
        (rules.messages_between(None, 1)[0], talk(GET), True),
        (rules.uses_tool("find_*"), talk(FIND), True),
        (rules.uses_tool("find_*"), talk(GET), False),
        (rules.avoids_tool("find_*"), talk(FIND), False),
        (rules.avoids_tool("find_*"), talk(GET), True),
        (rules.uses_tool("get_*"), Case("c", (ASKED,), expected=(Call("get_user"),)), True),
    ],
)
def test_rules(rule: rules.FilterRule, row: Conversation, kept: Any) -> None:
    assert rule.keeps(row) == kept


def test_rows_kept_by_each_rule_and_by_all_are_counted() -> None:
    judged = list(
        rules.apply_rules([talk(FIND, FOUND, GET), talk(GET), talk(ASKED, FIND)], [rules.uses_tool("get_*"), rules.uses_tool("find_*")])
    )
    assert [failed for _, failed, _ in judged] == [[], ["tool find_*"], ["tool get_*"]]
    assert judged[-1][2] == rules.FilterCounts(3, {"tool get_*": 2, "tool find_*": 2}, 1)
