"""The simulated customers of the retail store, compared with the users of the real file."""

import pytest

import callmark
from tests.real.test_recorded import DATA, RETAIL
from tests.worlds.retail.test_simulated_user import CONVERSATION_COUNT, REAL_4GRAM_RATIO, distinct_4grams_per_word, simulate, user_turns

pytestmark = pytest.mark.skipif(not RETAIL.exists(), reason=f"no real data in {DATA}: set CALLMARK_REAL_DATA")


def test_simulated_customers_repeat_less_than_real_users() -> None:
    rows = list(callmark.load(RETAIL))
    real = distinct_4grams_per_word([[message.text for message in row.messages if message.role == "user"] for row in rows])
    assert round(real, 2) == REAL_4GRAM_RATIO
    assert len(rows) == CONVERSATION_COUNT
    assert distinct_4grams_per_word(user_turns(simulate())) > real
