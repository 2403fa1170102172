"""Date mentions in text: `2025-05-10`, `May 10`, `10.5.2025`, `next Friday`, `in two weeks`."""

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "ten": 10}
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year>[0-9]{4}))?(?![0-9])"


class DateMention(NamedTuple):
    """A date and its span in the text, including the words that belong to it (`by`, `due on`)."""

    iso: str
    start: int
    end: int


def find_date(text: str, today: str) -> DateMention | None:
    """Return the first date in a text; None for no date, an invalid date, or an ambiguous one such as 5/10/2025."""
    for pattern, read in _DATE_PATTERNS:
        for match in pattern.finditer(text):
            try:
                found_date = read(match, date.fromisoformat(today))
            except ValueError:  # the 31st of February
                continue
            if found_date is not None:
                return DateMention(found_date.isoformat(), match.start(), match.end())
    return None


def _read_iso(match: re.Match[str], today: date) -> date | None:
    return date.fromisoformat(match["date"])


def _read_year_first(match: re.Match[str], today: date) -> date:
    return date(int(match["year"]), int(match["month"]), int(match["day"]))


def _read_numeric(match: re.Match[str], today: date) -> date | None:
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    if match["mark"] == "." or first > 12:
        return date(year, second, first)
    return date(year, first, second) if second > 12 or first == second else None


def _read_month_and_day(match: re.Match[str], today: date) -> date:
    month, day = _MONTHS.index(match["month"].lower()) + 1, int(match["day"])
    if match["year"]:
        return date(int(match["year"]), month, day)
    this_year = date(today.year, month, day)
    return this_year if this_year >= today else date(today.year + 1, month, day)


def _read_relative_day(match: re.Match[str], today: date) -> date:
    words = match["near"].lower()
    return today + timedelta(days=2 if "after" in words else 1 if "tomorrow" in words else 0)


def _read_offset(match: re.Match[str], today: date) -> date:
    number = match["number"].lower()
    days = int(number) if number.isdigit() else _NUMBERS[number]
    return today + timedelta(days=days * (7 if match["unit"].lower().startswith("week") else 1))


def _read_weekday(match: re.Match[str], today: date) -> date:
    ahead = (_WEEKDAYS.index(match["weekday"].lower()) - today.weekday() - 1) % 7 + 1
    return today + timedelta(days=ahead)


def _read_end_of_month(match: re.Match[str], today: date) -> date:
    return date(today.year + today.month // 12, today.month % 12 + 1, 1) - timedelta(days=1)


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    before = (
        r"(?:\b(?:(?:it is |it's |and |is )?due(?: date)?(?: is| on| by)?|by|until|till|before|on|for|deadline(?: is)?)[:\s]+(?:the )?)?"
    )
    return re.compile(rf"{before}(?<![0-9a-z]){pattern}", re.IGNORECASE | re.ASCII)


_DATE_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], date | None]], ...] = (
    (_compile_pattern(r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:T[0-9:.]+Z?)?(?![0-9])"), _read_iso),
    (_compile_pattern(r"(?P<year>[0-9]{4})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})(?![0-9])"), _read_year_first),
    (_compile_pattern(r"(?P<first>[0-9]{1,2})(?P<mark>[-/.])(?P<second>[0-9]{1,2})(?P=mark)(?P<year>[0-9]{4})(?![0-9])"), _read_numeric),
    (_compile_pattern(rf"{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}"), _read_month_and_day),
    (_compile_pattern(rf"{_MONTH}\s+(?:the\s+)?{_DAY}{_YEAR}"), _read_month_and_day),
    (_compile_pattern(r"(?P<near>(?:the )?day after tomorrow|tomorrow|today)\b"), _read_relative_day),
    (_compile_pattern(rf"in (?P<number>[0-9]{{1,3}}|{'|'.join(_NUMBERS)})(?: more)? (?P<unit>days?|weeks?)\b"), _read_offset),
    (_compile_pattern(rf"(?:(?:next|this|coming|the coming) )?(?P<weekday>{'|'.join(_WEEKDAYS)})\b"), _read_weekday),
    (_compile_pattern(r"(?:the )?end of (?:the |this )?month\b"), _read_end_of_month),
)
