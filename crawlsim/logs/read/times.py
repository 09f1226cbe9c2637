"""Times as logs of crawlers write them, in seconds since 1970-01-01 UTC.

ISO 8601 with or without a zone (UTC); 14 digits of web archives, or 8, 12 and 17 of them; Java's
``Mon Nov 22 20:16:45 UTC 2026``, HTTP's and web servers' dates; Unix seconds, milliseconds or
microseconds, recognised by their size. Each value is read on its own, so that neither the order of
the rows nor their split into files matters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.read.columns import (
    DATE_FORM,
    MONDAY,
    instants,
    numbers,
    since_epoch,
    why_no_number,
)
from scenarios.arrays import Array

_SECONDS = (1e8, 1e11)
_MILLISECONDS = (1e12, 1e13)  # 2e13 would be the 14 digits of a date
_MICROSECONDS = (1e15, 1e16)
_PARTS_OF_A_SECOND = 1e6
_DIGITS = re.compile(r"(?:19|20|21)\d{2,15}", re.ASCII).fullmatch
_LENGTHS = (8, 12, 14, 17)
_LENGTHS_IN_CDX = (4, 6, 8, 10, 12, 14, 17)
_NO_DATE = "00000000000000000"
_FROM_THE_START = "00000101000000000"  # what the digits of a short time are completed by
_MONTH, _DAY, _YEAR = r"(?P<month>[A-Z][a-z]{2})", r"(?P<day>\d{1,2})", r"(?P<year>\d{4})"
_CLOCK, _ZONE = r"(?P<clock>\d\d:\d\d:\d\d)", r"(?P<zone>\S+)"
_WITH_NAMES = [
    re.compile(form, re.ASCII).fullmatch
    for form in (
        rf"[A-Z][a-z]{{2}} {_MONTH} +{_DAY} {_CLOCK} {_ZONE} {_YEAR}",  # Java
        rf"[A-Z][a-z]{{2}}, {_DAY}[ -]{_MONTH}[ -]{_YEAR} {_CLOCK} {_ZONE}",  # HTTP
        rf"\[?{_DAY}/{_MONTH}/{_YEAR}:{_CLOCK} (?P<zone>[+-]\d{{4}})\]?",  # the common log format
    )
]
_COMPACT = re.compile(r"((?:19|20|21)\d{6})T(\d{6})Z?", re.ASCII).fullmatch
_UTC = " UTC"
_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])(\d{1,2}):?(\d\d)?", re.ASCII).fullmatch
_MONTHS = {
    name: month
    for month, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
        start=1,
    )
}
_ZONES: Mapping[str, float] = {
    **dict.fromkeys(("UTC", "GMT", "Z", "UCT", "WET"), 0.0),
    **dict.fromkeys(("BST", "CET", "WEST", "MET", "WAT"), 1.0),
    **dict.fromkeys(("CEST", "EET", "MEST", "SAST", "CAT"), 2.0),
    **dict.fromkeys(("EEST", "MSK", "TRT", "EAT"), 3.0),
    **dict.fromkeys(("GST", "SAMT"), 4.0),
    **dict.fromkeys(("PKT", "UZT", "YEKT"), 5.0),
    "IST": 5.5,
    **dict.fromkeys(("ICT", "WIB"), 7.0),
    **dict.fromkeys(("HKT", "SGT", "AWST", "PHT", "MYT"), 8.0),
    **dict.fromkeys(("JST", "KST"), 9.0),
    "ACST": 9.5,
    "AEST": 10.0,
    "ACDT": 10.5,
    "AEDT": 11.0,
    "NZST": 12.0,
    "NZDT": 13.0,
    **dict.fromkeys(("BRT", "ART", "ADT", "UYT"), -3.0),
    "NST": -3.5,
    "NDT": -2.5,
    **dict.fromkeys(("AST", "EDT", "CLT"), -4.0),
    **dict.fromkeys(("EST", "CDT", "COT", "PET"), -5.0),
    **dict.fromkeys(("CST", "MDT"), -6.0),
    **dict.fromkeys(("MST", "PDT"), -7.0),
    **dict.fromkeys(("PST", "AKDT"), -8.0),
    "AKST": -9.0,
    "HST": -10.0,
}
"""Hours by which the clocks of a zone, as Java abbreviates it, are ahead of UTC."""

DOUBTFUL_ZONES: Mapping[str, str] = {
    "AST": "Atlantic Standard Time",
    "BST": "British Summer Time",
    "CST": "Central Standard Time of North America",
    "IST": "India Standard Time",
}
"""Abbreviations that other parts of the world use too, and what they are taken for."""


NO_TIME = f"is not a time; write {DATE_FORM}"
"""What is wrong with an entry that `seconds_of` does not know."""


class Times:
    """The times of one file: dates, or plain numbers that no date can be.

    The first time that can be read decides which, but a number among times that are mostly dates
    is a mistake.

    Attributes
    ----------
    dated : bool or None
        None until a time was read.
    """

    def __init__(self) -> None:
        self.dated: bool | None = None

    def __call__(self, column: Any) -> Array:
        """Seconds since 1970-01-01 UTC, or the numbers; NaN for what is neither."""
        if self.dated is False:
            return numbers(column)
        seconds = seconds_of(column)
        if self.dated is None:
            counts = numbers(column) if np.isnan(seconds).any() else seconds
            either = np.flatnonzero(np.isfinite(seconds) | np.isfinite(counts))
            if len(either):
                dates = np.isfinite(seconds)
                self.dated = bool(dates[either[0]]) or 2 * int(dates.sum()) > len(either)
            if self.dated is False:
                return counts
        return seconds

    def why_not(self, text: str) -> str:
        """What is wrong with an entry that is NaN."""
        return why_no_number(text) if self.dated is False else NO_TIME


def seconds_of(column: Any, in_cdx: bool = False) -> Array:
    """Seconds since 1970-01-01 UTC, NaN for what is not a time.

    Parameters
    ----------
    column : pandas.Series
        Texts, numbers or dates.
    in_cdx : bool
        Whether a few digits are the beginning of a date (``2026``) and never Unix seconds.
    """
    if column.dtype.kind == "M":
        return _rounded(since_epoch(column))
    if column.dtype.kind in "iuf":
        column = column.map(in_digits).astype("str")
    seconds = np.full(len(column), np.nan)
    if len(column) and _DIGITS(column.iloc[0]):
        seconds = _of_digits(column, in_cdx)
    rest = np.flatnonzero(np.isnan(seconds))
    if len(rest):
        seconds[rest] = instants(column.iloc[rest]) - MONDAY
    rest = np.flatnonzero(np.isnan(seconds))
    if len(rest):
        texts = column.iloc[rest].str.strip()
        seconds[rest] = _of_digits(texts, in_cdx)
        more = [_of_names(texts.to_numpy(object)), _of_data_bases(texts)]
        more.append(_of_digits(_compact(texts), in_cdx))
        if not in_cdx:
            more.append(_of_unix(texts))
        for values in more:
            seconds[rest] = np.where(np.isnan(seconds[rest]), values, seconds[rest])
    return _rounded(seconds)


def in_digits(number: float) -> str:
    """A number as text, a whole one without a point, and nothing for NaN."""
    if np.isnan(number):
        return ""
    return f"{number:.0f}" if float(number).is_integer() else repr(float(number))


def _rounded(seconds: Array) -> Array:
    """To whole microseconds, so that a time is the same number in whatever form it was written."""
    return np.round(seconds * _PARTS_OF_A_SECOND) / _PARTS_OF_A_SECOND


def _of_digits(column: Any, in_cdx: bool) -> Array:
    """Dates written as nothing but digits, from the year on."""
    lengths = _LENGTHS_IN_CDX if in_cdx else _LENGTHS
    complete = [
        f"{text}{_FROM_THE_START[len(text) :]}"
        if len(text) in lengths and _DIGITS(text) is not None
        else _NO_DATE
        for text in column.to_numpy(object)
    ]
    digits = np.array(complete, dtype=f"S{len(_NO_DATE)}").view(np.uint8)
    digits = digits.reshape(len(complete), len(_NO_DATE)) - ord("0")

    def number(begin: int, end: int) -> NDArray[np.int64]:
        value = np.zeros(len(digits), np.int64)
        for place in range(begin, end):
            value = 10 * value + digits[:, place]
        return value

    month = 12 * (number(0, 4) - 1970) + number(4, 6) - 1  # since January 1970
    day = number(6, 8) - 1
    hour = number(8, 10)
    minute = number(10, 12)
    second = number(12, 14)
    days = month.astype("datetime64[M]").astype("datetime64[D]") + day
    is_in_month = (number(4, 6) >= 1) & (number(4, 6) <= 12)
    is_in_month &= days.astype("datetime64[M]").astype(np.int64) == month
    is_time = is_in_month & (hour < 24) & (minute < 60) & (second < 60)
    seconds = 86400 * days.astype(np.int64) + 3600 * hour + 60 * minute + second
    return np.where(is_time, seconds + number(14, 17) / 1000.0, np.nan)


def _compact(texts: Any) -> Any:
    """Dates such as ``20260521T081433Z`` as digits; empty where there is none."""
    found = [_COMPACT(text) for text in texts.to_numpy(object)]
    return texts.__class__(["" if each is None else "".join(each.groups()) for each in found])


def _of_names(texts: Sequence[str]) -> Array:
    """Dates with the name of the month, as Java, HTTP and web servers write them."""
    import pandas as pd

    plain = [""] * len(texts)
    ahead = np.zeros(len(texts))
    for place, text in enumerate(texts):
        found = next((each for form in _WITH_NAMES if (each := form(text))), None)
        if found is None:
            continue
        part = found.groupdict()
        hours = _hours_ahead(part["zone"])
        if part["month"] in _MONTHS and hours is not None:
            month = _MONTHS[part["month"]]
            plain[place] = f"{part['year']}-{month:02d}-{int(part['day']):02d}T{part['clock']}"
            ahead[place] = hours
    return instants(pd.Series(plain, dtype="str")) - MONDAY - 3600.0 * ahead


def _of_data_bases(texts: Any) -> Array:
    """Dates as SQL engines print them: ``2026-11-22 20:16:45.000 UTC``."""
    seconds: Array = np.full(len(texts), np.nan)
    named = np.flatnonzero(texts.str.endswith(_UTC).to_numpy(bool))
    if len(named):
        seconds[named] = instants(texts.iloc[named].str.removesuffix(_UTC)) - MONDAY
    return seconds


def _hours_ahead(zone: str) -> float | None:
    if zone in _ZONES:
        return _ZONES[zone]
    found = _OFFSET(zone)
    if found is None:
        return None
    sign, hours, minutes = found.groups()
    ahead = int(hours) + int(minutes or 0) / 60.0
    return -ahead if sign == "-" else ahead


def _of_unix(texts: Any) -> Array:
    """Unix seconds, milliseconds or microseconds, with or without decimals."""
    import pandas as pd

    values: Array = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float)
    seconds = np.full(len(values), np.nan)
    units = ((_SECONDS, 1.0), (_MILLISECONDS, 1e-3), (_MICROSECONDS, 1e-6))
    for (low, high), unit in units:
        inside = (values >= low) & (values < high)
        seconds[inside] = values[inside] * unit
    return seconds


def doubtful_zones(column: Any) -> set[str]:
    """Abbreviations of zones in Java's dates that do not say for sure which zone is meant."""
    words: NDArray[Any] = column.to_numpy(object)
    last = {text[-9:-5].strip() for text in words if text[-5:-4] == " "}
    return last & set(DOUBTFUL_ZONES)
