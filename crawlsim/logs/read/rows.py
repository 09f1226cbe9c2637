"""Rows of a log in compact form: which page, when, and what the visit found.

Whatever the format, its columns of text come here: URL, time, and of status, media type, digest and
sign of a change those that the format has. Ten million rows are never ten million texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.read.columns import (
    NO_SIGN,
    UNSAID,
    broken_rows,
    changes_in,
    codes_of,
    numbers,
)
from crawlsim.logs.read.csv_lines import Broken
from crawlsim.logs.read.times import NO_TIME, Times, doubtful_zones, seconds_of
from scenarios.arrays import Array

NAMED, FAILED, MOVED, REFUSED, UNTOLD, OPENING, SAME, CHANGED, DIGEST, REVISIT, STAMPED = range(11)
"""What a row says of a page: only its name; that there was an error, a redirect, or a refusal for
now (429, 503); a content of which nothing more is known; that it was there, that it is as it was,
that it has changed, or a digest by which that can be seen; that it is again what had that digest;
a digest that may be the date of the file that says it, and not of the page.
"""

_BROKEN, _NO_ANSWER, _NO_STATUS = -1, -2, -3
_REFUSALS = (429, 503)
_NO_DIGEST = ("", "-", "null", "None", "nan")
_KINDS_OF_DIGESTS = ("sha1:", "md5:", "sha256:", "sha512:")
_REVISIT = "warc/revisit"
_WHY = {
    "url": "is not a name",
    "time": NO_TIME,
    "status": "is not a status",
    "changed": NO_SIGN,
}
_GETS = ("", "-", "get", "head")
"""Methods of requests whose answers are what a page holds."""

OF_POST = "__wb_method="
"""Stands in the key of an answer to a request that was no GET, before its parameters."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a log.

    Attributes
    ----------
    names : sequence of str
        The different URLs.
    page : ndarray of int, shape (rows,)
        Index into `names`.
    time : ndarray, shape (rows,)
        Seconds since 1970-01-01 UTC, or plain numbers where `dated` is False.
    state : ndarray of int, shape (rows,)
        `NAMED` to `STAMPED`.
    digest : ndarray of uint64, shape (rows,)
        Of the content; 0 where there is none.
    broken : Broken
        Rows that cannot be read.
    without_digest : int
        Successful visits without a digest.
    posted : int
        Rows left out, since they are answers to POST and the like.
    zones : frozenset of str
        Abbreviations of zones that are ambiguous.
    notes : tuple of str
        What else is to be said of the file.
    dated : bool
    signed : bool
        Whether the rows have a sign of a change of their own.
    size : ndarray, shape (rows,), optional
        Bytes of the content that a row brought; NaN where it brought none, or does not say.
    """

    names: Sequence[str]
    page: NDArray[np.int32]
    time: Array
    state: NDArray[np.int8]
    digest: NDArray[np.uint64]
    broken: Broken
    without_digest: int = 0
    posted: int = 0
    zones: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    dated: bool = True
    signed: bool = False
    size: Array | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of text of some rows.

    Attributes
    ----------
    lines : ndarray of int, shape (rows,)
        Number of each row in its file, from 1.
    url, time : pandas.Series
    status, mime, digest, changed, method : pandas.Series, optional
    key : pandas.Series, optional
        By which an index of an archive is sorted.
    size : pandas.Series, optional
        Bytes of the answer.
    broken : Broken
        Lines that have no such columns.
    names : mapping
        What the file calls the columns that it does not call so.
    """

    lines: NDArray[np.int64]
    url: Any
    time: Any
    status: Any = None
    mime: Any = None
    digest: Any = None
    changed: Any = None
    method: Any = None
    key: Any = None
    size: Any = None
    broken: Broken = field(default_factory=Broken)
    names: Mapping[str, str] = field(default_factory=dict)


def http_state(status: str) -> int:
    """What an HTTP status says: 2xx that there is a content, 304 that it is the same.

    Without one the digest decides; a hyphen says that there was no answer by HTTP. `states_of` in
    `states.py` says after which of the others a URL is gone.
    """
    if not status:
        return _NO_STATUS
    if status == "-":
        return _NO_ANSWER
    try:
        code = int(float(status))
    except (ValueError, OverflowError):
        return _BROKEN
    if code == 304:
        return SAME
    if code in _REFUSALS:
        return REFUSED
    if 200 <= code < 300:
        return DIGEST
    return MOVED if 300 <= code < 400 else FAILED


def rows_of(
    columns: Columns,
    *,
    states: Callable[[str], int] = http_state,
    seconds: Callable[[Any], Array] = seconds_of,
) -> Rows:
    """The rows in compact form, and which cannot be read.

    Parameters
    ----------
    columns : Columns
    states : callable, optional
        What a status says.
    seconds : callable, optional
        Times as seconds since 1970-01-01 UTC, or as the `Times` of the file read them.
    """
    codes, names = codes_of(columns.url)
    time = seconds(columns.time)
    state = _states(columns, states)
    says_nothing = np.isin(state, (NAMED, FAILED, MOVED, REFUSED, _NO_ANSWER))
    bad = {
        "url": np.array([not name for name in names], bool)[codes],
        "time": np.isnan(time) & ~says_nothing,
        "status": state == _BROKEN,
    }
    state[(state == _NO_ANSWER) | (np.isnan(time) & says_nothing)] = NAMED
    size = None
    if columns.size is not None:
        size = numbers(columns.size)
        size[(state != DIGEST) | ~(size > 0)] = np.nan  # 304s and errors are not the page
    digest: NDArray[np.uint64] = np.zeros(len(time), np.uint64)
    if columns.digest is not None:
        digest = hashes_of(columns.digest)
    if columns.changed is not None:
        signs = changes_in(columns.changed)
        bad["changed"] = signs == _BROKEN
        visited = state == DIGEST
        state[visited & (signs == 0)] = SAME
        state[visited & (signs == 1)] = CHANGED
        state[visited & (signs == UNSAID) & (digest == 0)] = OPENING
    undigested = (state == DIGEST) & (digest == 0)
    is_digested = columns.digest is not None or columns.changed is not None
    state[undigested] = UNTOLD if is_digested else OPENING
    state[(state == REVISIT) & (digest == 0)] = SAME
    called = {name: columns.names.get(name, name) for name in bad}
    times = seconds if isinstance(seconds, Times) else None

    def why(name: str, text: str) -> str:
        if times is not None and name == called["time"]:
            return times.why_not(text)
        return next(_WHY[what] for what in bad if called[what] == name)

    is_broken, broken = broken_rows(
        columns.lines,
        {called[name]: getattr(columns, name) for name in bad},
        {called[name]: places for name, places in bad.items()},
        why,
    )
    broken.add(columns.broken.count, columns.broken.lines)
    posted: NDArray[np.bool_] = np.zeros(len(time), bool)
    if columns.method is not None:
        posted = _looked_up(columns.method, lambda method: int(method.lower() not in _GETS)) == 1
    if columns.key is not None:
        posted |= columns.key.str.contains(OF_POST, case=False, regex=False).to_numpy(bool)
    good = ~is_broken & ~posted
    return Rows(
        names,
        codes[good].astype(np.int32),
        time[good],
        state[good],
        digest[good],
        broken,
        int((undigested & good).sum()) if is_digested else 0,
        int((posted & ~is_broken).sum()),
        frozenset(doubtful_zones(columns.time)) if _are_java(columns.time) else frozenset(),
        dated=times is None or times.dated is not False,
        signed=columns.changed is not None,
        size=None if size is None else size[good],
    )


def _are_java(column: Any) -> bool:
    """Whether the first time begins with a letter, as Java's dates do."""
    return len(column) > 0 and column.dtype.kind == "O" and column.iloc[0].strip()[:1].isalpha()


def _states(columns: Columns, states: Callable[[str], int]) -> NDArray[np.int8]:
    """What the status of each row says, and its media type, which marks a revisit."""
    if columns.status is None:
        state = np.full(len(columns.url), DIGEST, np.int8)
    else:
        state = _looked_up(columns.status, states)
    if columns.mime is not None:
        revisit = _looked_up(columns.mime, lambda mime: int(mime.lower() == _REVISIT)) == 1
        state[revisit & (state == DIGEST)] = SAME
        state[revisit & np.isin(state, (_NO_ANSWER, _NO_STATUS))] = REVISIT
    state[state == _NO_STATUS] = DIGEST
    return state


def _looked_up(column: Any, meaning: Callable[[str], int]) -> NDArray[np.int8]:
    codes, words = codes_of(column)
    return np.array([meaning(word) for word in words], np.int8)[codes]


def hashes_of(column: Any) -> NDArray[np.uint64]:
    """The digests of contents as numbers, 0 for none; the name of the algorithm does not matter."""
    import pandas as pd

    texts = column.str.strip()
    digests = texts.to_numpy(object)
    named = texts.str.startswith(_KINDS_OF_DIGESTS).to_numpy(bool)
    if named.any():
        digests = digests.copy()
        digests[named] = [text.partition(":")[2] for text in digests[named].tolist()]
    hashes: NDArray[np.uint64] = pd.util.hash_array(digests, categorize=False)
    np.maximum(hashes, np.uint64(1), out=hashes)
    hashes[texts.isin(_NO_DIGEST).to_numpy(bool)] = 0
    return hashes
