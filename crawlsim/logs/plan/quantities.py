"""Numbers of visits per unit of time and lengths of time, as they are written on a command line."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from scenarios import ScenarioError
from scenarios.base import listed

SECONDS: Mapping[str, float] = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "week": 604800.0,
}
"""Units of a number of visits, in seconds."""

_LETTERS = {name[0]: seconds for name, seconds in SECONDS.items()}
_LARGEST = 1e18
_YEAR = 365.25 * 86400.0


def visits_per_second(text: str, option: str = "--visits") -> float:
    """A number of visits as ``NUMBER/UNIT``, per second.

    Raises
    ------
    ScenarioError
        If it is not a positive number, or the unit is none of `SECONDS`.
    """
    number, slash, unit = text.partition("/")
    value = _positive(number)
    if value is None or not slash or unit.strip() not in SECONDS:
        allowed = f"must be a positive number of visits per unit of time, such as 5000/day; the \
units are {listed(SECONDS)}"
        raise ScenarioError(option, text, allowed)
    return value / SECONDS[unit.strip()]


_BYTES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
_BYTES |= {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}


def bytes_per_second(text: str) -> float:
    """A number of bytes as ``40GB/day``, per second.

    Raises
    ------
    ScenarioError
        If it is not a positive number of bytes per unit of time.
    """
    number, slash, unit = text.partition("/")
    parts = re.fullmatch(r"(.*?)\s*([KkMGTP]?i?B)\s*", number)
    value = None if parts is None else _positive(parts[1])
    bytes_of = None if parts is None else _BYTES.get(parts[2].replace("KB", "kB"))
    if value is None or bytes_of is None or not slash or unit.strip() not in SECONDS:
        allowed = f"must be bytes per unit of time, such as 40GB/day; the units are \
{listed(_BYTES)} and {listed(SECONDS)}; a number of visits is --visits 5000/day"
        raise ScenarioError("--budget", text, allowed)
    return value * bytes_of / SECONDS[unit.strip()]


def bytes_in_words(number: float) -> str:
    """A number of bytes in the largest unit that it has one of, such as ``40 GB``."""
    name = next((each for each in ("PB", "TB", "GB", "MB", "kB") if number >= _BYTES[each]), "B")
    return f"{number / _BYTES[name]:.4g} {name}"


def duration(text: str, option: str) -> float:
    """A length of time such as ``90s``, ``1h`` or ``20d``, in seconds.

    Raises
    ------
    ScenarioError
        If it is not a positive number followed by s, m, h, d or w.
    """
    value = _positive(text[:-1])
    if value is None or text[-1:] not in _LETTERS:
        allowed = "must be a positive number and a unit, such as 90s, 30m, 1h, 20d or 2w"
        raise ScenarioError(option, text, allowed)
    return value * _LETTERS[text[-1]]


def instant(text: str, option: str) -> float:
    """A date as seconds since 1970 UTC.

    Raises
    ------
    ScenarioError
        If it is not a date such as 2025-01-06 or 2025-01-06T01:16Z.
    """
    try:
        date = datetime.fromisoformat(text.strip())
    except ValueError:
        allowed = "must be a date, such as 2025-01-06 or 2025-01-06T01:16Z"
        raise ScenarioError(option, text, allowed) from None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _positive(text: str) -> float | None:
    """A plain decimal number above 0, None for all else."""
    if not re.fullmatch(r"\s*[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?\s*|\s*[0-9]+\.\s*", text):
        return None
    value = float(text)
    return value if math.isfinite(value) and 1 / _LARGEST < value < _LARGEST else None


def in_words(seconds: float) -> str:
    """A length of time in the largest unit that it has two of, such as ``3.5 days``."""
    if seconds >= 2 * _YEAR:
        return f"{seconds / _YEAR:.3g} years"
    name = next(
        (each for each in ("day", "hour", "minute") if seconds >= 2 * SECONDS[each]), "second"
    )
    return f"{seconds / SECONDS[name]:.3g} {name}s"


def day_of(seconds: float) -> str:
    """The date of a time, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
