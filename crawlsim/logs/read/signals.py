"""Signals that pages may have changed: rows of URL and time, or the ``lastmod`` of sitemaps.

A row says when a signal of a page was heard; so kept pings (IndexNow, WebSub) and feeds are rows
of ``url,time``. A sitemap says of each page when it claims to have changed last; kept sitemaps say
it again and again, and each time counts once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.read.columns import DATE_FORM
from crawlsim.logs.read.csv_lines import blocks, from_first_line
from crawlsim.logs.read.forms import form_of
from crawlsim.logs.read.history import History
from crawlsim.logs.read.log import Log
from crawlsim.logs.read.named import read_csv, read_json
from crawlsim.logs.read.page_names import site_key
from crawlsim.logs.read.read import PAGES, files_of
from crawlsim.logs.read.rows import Rows
from crawlsim.logs.read.sitemaps import Lastmods, lastmods_of
from scenarios.arrays import Array
from scenarios.base import one_of
from scenarios.errors import MISSING, ScenarioError
from scenarios.text import counted

_OPTION = "--signals"
_TABLES = {"csv": read_csv, "cdx-server": read_json}
_DAY, _MINUTE = 86400.0, 60.0
_FEWEST_SHARED, _SHARED_PART, _UNUSUAL = 5, 0.1, 5.0


@dataclass(frozen=True)
class SignalLog(Log):
    """Signals, each with its page and time; those of a page at one time are one.

    Attributes
    ----------
    urls, page, time
        As those of `Log`.
    sitemap_days : int
        On how many days sitemaps were kept, where nothing else says it; else 0.
    pages : {"exact", "site-key"}
        As of `read_signals`.
    """

    sitemap_days: int = field(default=0, kw_only=True)
    pages: str = field(default="exact", kw_only=True)


@dataclass(frozen=True)
class Heard:
    """The signals of the pages of a log of visits.

    Attributes
    ----------
    page : ndarray of int, shape (signals,)
        Index into the URLs of that log, not decreasing.
    time : ndarray, shape (signals,)
        Increasing within a page.
    begin, end : float
        From when to when signals were listened to.
    notes : tuple of str
    """

    page: NDArray[np.int64]
    time: Array
    begin: float
    end: float
    notes: tuple[str, ...] = ()


def read_signals(paths: Sequence[str | Path], *, pages: str = "exact") -> SignalLog:
    """The signals in some files.

    Parameters
    ----------
    paths : sequence of str or Path
        CSV or JSON Lines with the columns url and time, or sitemaps, plain or packed; folders stand
        for the files in them.
    pages : {"exact", "site-key"}
        As of `read_logs`.

    Raises
    ------
    ScenarioError
        If a file cannot be read, or holds no signals.
    """
    if pages not in PAGES:
        raise ScenarioError("--pages", pages, f"must be {one_of(pages, PAGES)}")
    history = History(PAGES[pages])
    good = 0
    without_lastmod = 0
    broken: list[str] = []
    days: set[int] = set()
    others = 0
    for path in (file for each in paths for file in files_of(Path(each))):
        rows, sitemap = _rows_in(path)
        if sitemap is not None:
            without_lastmod += sitemap.without_date
            days.add(int(sitemap.time // _DAY))
        else:
            others += 1
        for part in rows:
            good += len(part.time)
            broken += [f"; line {line} {why}" for line, why in part.broken.lines[:1]]
            history.add(part, path)
    if not good:
        why = broken[0] if broken else ""
        if without_lastmod:
            why += f"; {counted(without_lastmod, 'URL')} without lastmod"
        raise ScenarioError(_OPTION, MISSING, f"no signal can be read{why}", str(paths[0]))
    log = history.change_log()
    notes = log.left_out
    if without_lastmod:
        urls = counted(without_lastmod, "URL")
        notes = (*notes, f"Without lastmod, which would be a signal: {urls} of sitemaps.")
    return _not_yet_to_come(
        SignalLog(
            log.urls,
            log.page,
            log.time,
            broken=log.broken,
            left_out=notes,
            repeated=log.repeated,
            dated=log.dated,
            sitemap_days=0 if others else len(days),
            pages=pages,
        )
    )


def _rows_in(path: Path) -> tuple[Iterator[Rows], Lastmods | None]:
    """The rows of one file, and what else there is of a sitemap.

    Raises
    ------
    ScenarioError
        If it holds no signals.
    """
    parts = from_first_line(blocks(path, json=True))
    first = next(parts, None)
    if first is None:
        return iter(()), None
    form = form_of(first, path)
    parts = chain([first], parts)
    if form == "sitemaps":
        sitemap = lastmods_of(parts, path)
        return iter([sitemap.rows]), sitemap
    if form in _TABLES:
        kind, found = _TABLES[form](parts, path, "changes")
        if kind == "changes":
            return found, None
    allowed = "must hold signals: CSV with the columns url,time, or sitemaps; this holds visits"
    raise ScenarioError(_OPTION, MISSING, allowed, str(path))


def _not_yet_to_come(log: SignalLog) -> SignalLog:
    """The signals without those of the future, which somebody's clock or hand got wrong."""
    late = log.time > time.time() if log.dated else np.zeros(len(log.time), bool)
    if not late.any():
        return log
    are = "is" if late.sum() == 1 else "are"
    note = f"{counted(int(late.sum()), 'signal')} {are} of a time to come and left out."
    return replace(log.where(~late), left_out=(*log.left_out, note))


def heard_in(
    signals: SignalLog, urls: NDArray[np.object_], begin: float, end: float, *, dated: bool = True
) -> Heard:
    """The signals of the pages of a log, without those that say nothing of a page.

    Parameters
    ----------
    signals : SignalLog
    urls : ndarray of str, shape (pages,)
        Of the log, spelled as those of the signals.
    begin, end : float
        First and last time of the log.
    dated : bool
        Whether its times are dates.

    Raises
    ------
    ScenarioError
        If the one has dates and the other numbers, or there are sitemaps of one day only.

    Notes
    -----
    When a whole site is built anew its dates jump together, and none of them says anything of its
    page: signals of a tenth of the pages of a host within a minute, and of five or more, are left
    out, unless as many are usual there.
    """
    if signals.dated != dated:
        allowed = f"must have dates as the visits have, such as {DATE_FORM}"
        if signals.dated:
            allowed = "must have numbers as times, as the visits have, not dates"
        raise ScenarioError(_OPTION, MISSING, allowed)
    if signals.sitemap_days == 1:
        allowed = (
            "the sitemaps are of one day and show only the last date of each page; keep those of "
            "many days, each with its date in its name: sitemap-2025-01-06.xml"
        )
        raise ScenarioError(_OPTION, MISSING, allowed)
    notes = list(signals.notes)
    key = PAGES[signals.pages] or str
    places = {key(url): place for place, url in enumerate(urls.tolist())}
    index = np.array([places.get(key(url), -1) for url in signals.urls.tolist()], np.int64)
    page = index[signals.page]
    known = page >= 0
    if not known.all():
        strangers, spelled = _strangers(signals, urls, ~known)
        if spelled > len(np.unique(page[known])):
            raise ScenarioError(
                _OPTION, counted(strangers, "URL"), _of_spellings(spelled, strangers)
            )
        notes.append(_of_strangers(int((~known).sum()), strangers, spelled))
    if known.any() and len(np.unique(signals.time)) < _FEWEST_TIMES:
        allowed = f"must come at {_FEWEST_TIMES} times or more, which say how long anybody listened"
        raise ScenarioError(_OPTION, counted(len(signals.time), "signal"), allowed)
    shared, moments = _shared(signals, urls) if signals.dated else (~known & known, 0)
    if shared.any():
        how = "at one moment" if moments == 1 else f"at {moments} moments"
        notes.append(
            f"{counted(int(shared.sum()), 'signal')} {how}, shared by a tenth of the pages of a "
            "site or more, as when all is built anew, say nothing of a page and are left out."
        )
    kept = known & ~shared
    since, until = _listened(signals.time, begin, end)
    notes += _of_silence(since > begin, until < end)
    order = np.lexsort((signals.time[kept], page[kept]))
    return Heard(page[kept][order], signals.time[kept][order], since, until, tuple(notes))


def _strangers(
    signals: SignalLog, urls: NDArray[np.object_], strange: NDArray[np.bool_]
) -> tuple[int, int]:
    """How many URLs of signals were never visited, and how many are spellings of some that were."""
    strangers = signals.urls[np.unique(signals.page[strange])].tolist()
    if signals.pages != "exact":
        return len(strangers), 0
    keys = set(map(site_key, urls.tolist()))
    return len(strangers), sum(site_key(url) in keys for url in strangers)


def _of_strangers(number: int, strangers: int, spelled: int) -> str:
    """How many signals are of URLs that were never visited, and whether these are spellings."""
    are = "is of a URL that was" if number == 1 else "are of URLs that were"
    note = f"{counted(number, 'signal')} {are} never visited"
    return f"{note}; {_of_spellings(spelled, strangers)}." if spelled else f"{note}."


def _of_spellings(spelled: int, strangers: int) -> str:
    are = "is a spelling of a page" if spelled == 1 else "are spellings of pages"
    return (
        f"{spelled} of {strangers} URLs {are} that visits know (http and https, www.): "
        "with --pages site-key their signals count"
    )


def _shared(signals: SignalLog, urls: NDArray[np.object_]) -> tuple[NDArray[np.bool_], int]:
    """Which signals very many pages of a host share within a minute, and how many minutes."""
    host, _ = hosts_of(np.concatenate([signals.urls, urls]))
    pages = np.bincount(host[: len(signals.urls)], minlength=int(host.max()) + 1)
    visited = np.bincount(host[len(signals.urls) :], minlength=len(pages))
    minute = np.floor(signals.time / _MINUTE).astype(np.int64)
    of_host = host[signals.page]
    moments, back = np.unique(np.stack([of_host, minute]), axis=1, return_inverse=True)
    seen = np.unique(np.stack([back, signals.page.astype(np.int64)]), axis=1)
    number = np.bincount(seen[0], minlength=moments.shape[1])
    own = moments[0]
    many = number >= np.maximum(_FEWEST_SHARED, _SHARED_PART * np.maximum(pages, visited)[own])
    for each in np.unique(own[many]).tolist():
        here = own == each
        many[here] &= number[here] >= _UNUSUAL * np.median(number[here])
    return many[back], int(many.sum())


def hosts_of(urls: NDArray[np.object_]) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """The host of each URL, without www., and their names; empty of what has none."""
    import pandas as pd

    keys = pd.Series(urls, dtype="object").map(site_key).astype("str")
    host, names = pd.factorize(keys.str.extract(r"^//([^/?#]*)")[0].fillna("").to_numpy(object))
    return host.astype(np.int64), np.asarray(names, object)


_FEWEST_TIMES = 3
"""Times of signals below which nothing says how long anybody listened."""

_LONG_SILENCE = 10.0
"""Mean times between two signals after which nobody is taken to listen; of chance e^-10."""


def _listened(times: Array, begin: float, end: float) -> tuple[float, float]:
    """When listening began and ended: with the visits, unless there is a long silence."""
    first = float(times.min())
    last = float(times.max())
    silence = _LONG_SILENCE * (last - first) / max(len(np.unique(times)) - 1, 1)
    since = first if first > begin + silence else begin
    return since, last if last < end - silence else max(end, last)


def _of_silence(before: bool, after: bool) -> list[str]:
    """Whether visits of a time without signals are left out."""
    parts = ["before the first signal"] * before + ["after the last one"] * after
    if not parts:
        return []
    return [f"Visits long {' and '.join(parts)} say nothing of signals: nobody seems to listen."]
