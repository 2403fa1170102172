"""Days as people say them: `2025-05-10`, `May 10`, `10.5.2025`, `next Friday`, `in two weeks`."""

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import NamedTuple

from callmark.calls.dates import dates_in

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "ten": 10}
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year>[0-9]{4}))?(?![0-9])"


class Day(NamedTuple):
    """A day, and where in the text it stands with the words that belong to it (`by`, `due on`)."""

    iso: str
    start: int
    end: int


def day_in(text: str, today: str) -> Day | None:
    """The first day that a text names; None for none, for days that do not exist, and for 5/10/2025, which may be either of two days."""
    for pattern, read in _FORMS:
        for match in pattern.finditer(text):
            try:
                found = read(match, date.fromisoformat(today))
            except ValueError:  # the 31st of February
                continue
            if found is not None:
                return Day(found.isoformat(), match.start(), match.end())
    return None


def _written(match: re.Match[str], today: date) -> date | None:
    found = dates_in(match["date"])
    return (found[0].date() if isinstance(found[0], datetime) else found[0]) if found else None


def _year_first(match: re.Match[str], today: date) -> date:
    return date(int(match["year"]), int(match["month"]), int(match["day"]))


def _numbers(match: re.Match[str], today: date) -> date | None:
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    if match["mark"] == "." or first > 12:
        return date(year, second, first)
    return date(year, first, second) if second > 12 or first == second else None


def _month_and_day(match: re.Match[str], today: date) -> date:
    month, day = _MONTHS.index(match["month"].lower()) + 1, int(match["day"])
    if match["year"]:
        return date(int(match["year"]), month, day)
    this_year = date(today.year, month, day)
    return this_year if this_year >= today else date(today.year + 1, month, day)


def _near(match: re.Match[str], today: date) -> date:
    words = match["near"].lower()
    return today + timedelta(days=2 if "after" in words else 1 if "tomorrow" in words else 0)


def _from_now(match: re.Match[str], today: date) -> date:
    number = match["number"].lower()
    days = int(number) if number.isdigit() else _NUMBERS[number]
    return today + timedelta(days=days * (7 if match["unit"].lower().startswith("week") else 1))


def _weekday(match: re.Match[str], today: date) -> date:
    ahead = (_WEEKDAYS.index(match["weekday"].lower()) - today.weekday() - 1) % 7 + 1
    return today + timedelta(days=ahead)


def _end_of_month(match: re.Match[str], today: date) -> date:
    return date(today.year + today.month // 12, today.month % 12 + 1, 1) - timedelta(days=1)


def _form(pattern: str) -> re.Pattern[str]:
    before = (
        r"(?:\b(?:(?:it is |it's |and |is )?due(?: date)?(?: is| on| by)?|by|until|till|before|on|for|deadline(?: is)?)[:\s]+(?:the )?)?"
    )
    return re.compile(rf"{before}(?<![0-9a-z]){pattern}", re.IGNORECASE | re.ASCII)


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], date | None]], ...] = (
    (_form(r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:T[0-9:.]+Z?)?(?![0-9])"), _written),
    (_form(r"(?P<year>[0-9]{4})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})(?![0-9])"), _year_first),
    (_form(r"(?P<first>[0-9]{1,2})(?P<mark>[-/.])(?P<second>[0-9]{1,2})(?P=mark)(?P<year>[0-9]{4})(?![0-9])"), _numbers),
    (_form(rf"{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}"), _month_and_day),
    (_form(rf"{_MONTH}\s+(?:the\s+)?{_DAY}{_YEAR}"), _month_and_day),
    (_form(r"(?P<near>(?:the )?day after tomorrow|tomorrow|today)\b"), _near),
    (_form(rf"in (?P<number>[0-9]{{1,3}}|{'|'.join(_NUMBERS)})(?: more)? (?P<unit>days?|weeks?)\b"), _from_now),
    (_form(rf"(?:(?:next|this|coming|the coming) )?(?P<weekday>{'|'.join(_WEEKDAYS)})\b"), _weekday),
    (_form(r"(?:the )?end of (?:the |this )?month\b"), _end_of_month),
)
