from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from callmark.calls.dates import find_dates, parse_date, same_date

DAY = date(2025, 5, 10)


@pytest.mark.parametrize(
    "text",
    ["2025-05-10", " 2025-05-10 ", "10 May 2025", "May 10, 2025", "may 10 2025", "10th of May 2025", "10 MAY 2025", "May 10th, 2025"],
)
def test_a_day_is_read_in_every_form(text: str) -> None:
    assert parse_date(text) == DAY


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10.05.2025",
        "05/10/2025",
        "31 February 2025",
        "2025-13-01",
        "on 2025-05-10",
        "2025-05-10x",
        "May 2025",
        "10 May",
        "Mayor 10, 2025",
    ],
)
def test_other_texts_are_not_dates(text: str) -> None:
    assert parse_date(text) is None


def test_date_with_a_time_is_an_instant() -> None:
    assert parse_date("2025-05-10T12:30:00Z") == datetime(2025, 5, 10, 12, 30, tzinfo=UTC)
    assert parse_date("2025-05-10 12:30") == datetime(2025, 5, 10, 12, 30)


def test_a_day_matches_any_time_of_that_day() -> None:
    late = datetime(2025, 5, 10, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert same_date(DAY, late)
    assert not same_date(date(2025, 5, 11), late)


def test_an_instant_matches_only_the_same_instant_in_any_zone() -> None:
    noon = datetime(2025, 5, 10, 12, tzinfo=UTC)
    assert same_date(noon, datetime(2025, 5, 10, 14, tzinfo=timezone(timedelta(hours=2))))
    assert same_date(noon, datetime(2025, 5, 10, 12))
    assert not same_date(noon, DAY)


def test_every_date_in_a_text_is_found() -> None:
    assert find_dates("from May 10, 2025 to 12 June 2025, paid 2025-05-09T08:00Z") == [
        datetime(2025, 5, 9, 8, tzinfo=UTC),
        date(2025, 6, 12),
        date(2025, 5, 10),
    ]
