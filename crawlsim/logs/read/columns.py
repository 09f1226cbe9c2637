"""Columns of text as numbers, dates, names and signs; anything else is marked.

Times are dates (ISO 8601, without a zone UTC) or numbers. Dates become seconds since Monday, 29
December 1969, 0:00 UTC, so that whole weeks of them are calendar weeks. A date begins with four
digits of a year, a hyphen and two digits of a month, or is the fourteen digits of web archives:
20170730223850 is 22:38:50 UTC on 30 July 2017. Nothing else counts as one, whatever parsers accept:
20200101 is a number, and so is -300.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.read.csv_lines import MOST_SHOWN, Broken
from scenarios.arrays import Array
from scenarios.text import shortened

DIGESTS = ("digest", "content_digest", "signature", "hash", "sha1", "md5", "etag")
"""Names of columns, in small letters, whose entries are equal where the contents are."""

SMALLEST = 1e-50
LARGEST = 1e50
"""Sizes of numbers that are taken: the third powers and sums of all of them are finite."""

MONDAY = 3 * 86400.0
"""Seconds from Monday, 29 December 1969, to the epoch."""

UNSAID = -2
"""Of an empty entry of `changes_in`: the first crawl of a page has nothing to compare with."""

DATE_FORM = "2025-01-06T01:16"
"""A date as dates are to be written."""

NO_SIGN = "must be 0, 1, true or false"
"""What is wrong with an entry for which `changes_in` has -1."""

_LONGEST_SHOWN = 60
"""Characters of an entry that is quoted."""

_WORDS: Mapping[str, int] = {
    **dict.fromkeys(("1", "1.0", "true", "t", "yes", "y"), 1),
    **dict.fromkeys(("0", "0.0", "false", "f", "no", "n"), 0),
    "": UNSAID,
}
_BEGUN = re.compile(r"\d{4}-\d{2}", re.ASCII).match
_FOURTEEN = r"(?:19|20|21)[0-9]{12}"


def places_of(header: Sequence[str], names: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Where in a header the columns are that it has.

    Parameters
    ----------
    header : sequence of str
    names : mapping
        What a column holds -> the names by which it goes; the first one in the header counts.
    """
    return {
        what: header.index(known[0])
        for what, aliases in names.items()
        if (known := [alias for alias in aliases if alias in header])
    }


def broken_rows(
    lines: NDArray[np.int64],
    columns: Mapping[str, Any],
    bad: Mapping[str, NDArray[np.bool_]],
    why: Callable[[str, str], str],
) -> tuple[NDArray[np.bool_], Broken]:
    """Which rows cannot be read, and why the first of them cannot.

    Parameters
    ----------
    lines : ndarray of int, shape (rows,)
    columns : mapping
        Name -> entries, a pandas.Series.
    bad : mapping
        Name -> whether each entry cannot be read, shape (rows,); the first such name is blamed.
    why : callable
        From the name and the entry to what is wrong with it.
    """
    import pandas as pd

    is_broken = np.logical_or.reduce(list(bad.values()))
    broken = Broken(int(is_broken.sum()))
    for place in np.flatnonzero(is_broken)[:MOST_SHOWN]:
        name = next(name for name, places in bad.items() if places[place])
        entry = columns[name].iloc[place]
        text = "" if pd.isna(entry) else str(entry)
        shown = shortened(text, _LONGEST_SHOWN)
        broken.lines.append((int(lines[place]), f"{name} = {shown!r} {why(name, text)}"))
    return is_broken, broken


def numbers(column: Any) -> Array:
    """Numbers that are 0 or from `SMALLEST` to `LARGEST` either side of it; NaN for all else."""
    import pandas as pd

    values: Array = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    sizes = np.abs(values)
    return np.where((values == 0) | ((sizes >= SMALLEST) & (sizes <= LARGEST)), values, np.nan)


def why_no_number(text: str) -> str:
    """What is wrong with a text for which `numbers` has NaN."""
    try:
        value = float(text)
    except ValueError:
        return "is not a number"
    if np.isnan(value):
        return "is not a number"
    return f"must be 0 or of a size from {SMALLEST:g} to {LARGEST:g}; take another unit"


def instants(column: Any) -> Array:
    """Seconds since the Monday before the epoch, NaN for what is not a date."""
    seconds = _instants(column)
    missing = np.flatnonzero(np.isnan(seconds))
    if len(missing):
        rest = column.iloc[missing].str.strip()
        digits = rest.str.fullmatch(_FOURTEEN).to_numpy(bool)
        seconds[missing[~digits]] = _instants(rest[~digits])
        seconds[missing[digits]] = _seconds(rest[digits], "%Y%m%d%H%M%S")
    return seconds


def _instants(column: Any) -> Array:
    begun = np.fromiter(
        (_BEGUN(text) is not None for text in column.to_numpy(object)), bool, len(column)
    )
    return np.where(begun, _seconds(column, "ISO8601"), np.nan)  # "now" would be one


def _seconds(column: Any, form: str) -> Array:
    """Seconds since the Monday of the dates of one form, NaN for all else."""
    import pandas as pd

    dates = pd.to_datetime(column, format=form, errors="coerce", utc=True)
    return since_epoch(dates) + MONDAY


def since_epoch(dates: Any) -> Array:
    """Seconds since 1970-01-01 UTC of dates with or without a zone, NaN for a missing one."""
    if dates.dt.tz is not None:
        dates = dates.dt.tz_convert("UTC").dt.tz_localize(None)
    values = dates.to_numpy(dtype="datetime64[us]")
    return np.where(np.isnat(values), np.nan, values.astype(np.int64) / 1e6)


def codes_of(column: Any) -> tuple[NDArray[np.int64], list[str]]:
    """Each value as the index of a different one, and the different values without blanks."""
    import pandas as pd

    codes, values = pd.factorize(column)
    return codes, [value.strip() for value in values.to_numpy(object).tolist()]


def changes_in(column: Any) -> NDArray[np.int8]:
    """1 for a change, 0 for none, `UNSAID` for nothing, -1 for all else."""
    codes, words = codes_of(column)
    signs = np.array([_WORDS.get(word.lower(), -1) for word in words], np.int8)
    return signs[codes]


def starts_anew(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a row differs from the row before in one of the columns; the first one does."""
    new = np.ones(len(columns[0]), dtype=bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return new
