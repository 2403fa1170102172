"""The simulated customers of the retail store beside the users of the real file."""

import pytest

import callmark
from tests.real.test_recorded import DATA, RETAIL
from tests.worlds.retail.test_simulated_user import NUMBER, REAL, conversations, four_grams_a_word, turns

pytestmark = pytest.mark.skipif(not RETAIL.exists(), reason=f"no real data in {DATA}: set CALLMARK_REAL_DATA")


def test_customers_repeat_themselves_and_each_other_less_than_the_real_users_do() -> None:
    rows = list(callmark.load(RETAIL))
    real = four_grams_a_word([[message.text for message in row.messages if message.role == "user"] for row in rows])
    assert round(real, 2) == REAL
    assert len(rows) == NUMBER
    assert four_grams_a_word(turns(conversations())) > real
