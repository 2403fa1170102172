"""Dates as people and machines write them: ISO 8601, `10 May 2025`, `May 10, 2025`.

`parse_date` reads a whole text, `find_dates` finds every date in a longer one. Days that do not exist are not dates.
"""

import re
from collections.abc import Hashable
from datetime import UTC, date, datetime

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_NUMBER = {name: index for index, name in enumerate(_MONTHS, 1)} | {name[:3]: index for index, name in enumerate(_MONTHS, 1)} | {"sept": 9}
_MONTH = "(" + "|".join(sorted(_NUMBER, key=len, reverse=True)) + r")\.?"
_DAY = r"([0-9]{1,2})(?:st|nd|rd|th)?"
_TIME = r"[t ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?\s?(?:z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_ISO = re.compile(rf"(?<![0-9a-z])([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})({_TIME})?(?![0-9])", re.IGNORECASE | re.ASCII)
_DAY_FIRST = re.compile(rf"(?<![0-9a-z]){_DAY}\s+(?:of\s+)?{_MONTH},?\s+([0-9]{{4}})(?![0-9a-z])", re.IGNORECASE | re.ASCII)
_MONTH_FIRST = re.compile(rf"(?<![0-9a-z]){_MONTH}\s+{_DAY},?\s+([0-9]{{4}})(?![0-9a-z])", re.IGNORECASE | re.ASCII)


def parse_date(text: str) -> date | datetime | None:
    """Return the date that the whole text is (a `datetime` if it has a time), or None."""
    text = text.strip()
    if not 8 <= len(text) <= 40:
        return None
    return next((written for written, start, end in _find_spans(text) if (start, end) == (0, len(text))), None)


def find_dates(text: str) -> list[date | datetime]:
    """Return every date in a text."""
    return [written for written, _, _ in _find_spans(text)]


def same_date(expected: date | datetime, actual: date | datetime) -> bool:
    """Return whether two dates are the same instant or, if `expected` has no time, the same day.

    Times without a zone are in UTC.
    """
    if not isinstance(expected, datetime):
        return (actual.date() if isinstance(actual, datetime) else actual) == expected
    return isinstance(actual, datetime) and _with_zone(expected) == _with_zone(actual)


def search_key(expected: date | datetime) -> Hashable:
    """Return a key of a date: `same_date(expected, actual)` if it is one of `written_keys(actual)`."""
    return _with_zone(expected) if isinstance(expected, datetime) else expected


def written_keys(actual: date | datetime) -> tuple[Hashable, ...]:
    """Return the keys of the dates that are the same as a written one: its day and, if it has a time, its instant."""
    return (actual.date(), _with_zone(actual)) if isinstance(actual, datetime) else (actual,)


def _find_spans(text: str) -> list[tuple[date | datetime, int, int]]:
    """Return every date with its start and end."""
    found: list[tuple[date | datetime, int, int]] = []
    for match in _ISO.finditer(text):
        written = _parse_iso(match[0])
        if written is not None:
            found.append((written, match.start(), match.end()))
    for pattern, day, month in ((_DAY_FIRST, 1, 2), (_MONTH_FIRST, 2, 1)):
        for match in pattern.finditer(text):
            try:
                found.append((date(int(match[3]), _NUMBER[match[month].lower()], int(match[day])), match.start(), match.end()))
            except ValueError:  # the 31st of February
                continue
    return found


def _parse_iso(text: str) -> date | datetime | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text.upper().replace(" Z", "Z").replace(",", "."))
    except ValueError:
        return None


def _with_zone(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
