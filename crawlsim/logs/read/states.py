"""What the URLs of a log are: pages, or URLs that no longer answer with a content."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.read.log import VisitLog
from crawlsim.logs.read.rows import MOVED, UNTOLD

PAGE, GONE, REDIRECT, NEVER_ANSWERED = range(4)
"""What a URL is: a page, also one that was never tried; one that no longer answers with a content;
one that leads elsewhere; one that never answered with a content."""

STATES = ("page", "gone", "redirect", "never-answered")
"""The same as words."""

GONE_AFTER = 3
"""Errors and redirects in a row after which a URL that had a content is gone; from the first to the
last of them there must be `_LEAST_SPAN` besides."""

_LEAST_SPAN = 86400.0
"""Seconds, a day: an hour's outage of its host is no reason to take a page for gone."""


def states_of(log: VisitLog, after: int = GONE_AFTER) -> NDArray[np.int8]:
    """What each URL of a log is, shape (pages,): `PAGE`, `GONE`, `REDIRECT` or `NEVER_ANSWERED`.

    Parameters
    ----------
    log : VisitLog
    after : int
        A URL that had a content is gone after this many errors and redirects in a row, if from the
        first to the last of them it is at least a day. One that never had any is after the first.
    """
    pages = len(log.urls)
    page, time, answer = log.silent
    last_content = np.full(pages, -np.inf)
    np.maximum.at(last_content, log.page, log.time)
    unknown = answer == UNTOLD
    np.maximum.at(last_content, page[unknown], time[unknown])
    since = ~unknown & (time > last_content[page])
    page = page[since]
    time = time[since]
    failures = np.bincount(page, minlength=pages)
    first = np.full(pages, np.inf)
    np.minimum.at(first, page, time)
    last = np.full(pages, -np.inf)
    np.maximum.at(last, page, time)
    moved = np.zeros(pages, bool)
    moved[page] = answer[since] == MOVED  # rows are in the order of time: the last one stays
    answered = np.isfinite(last_content)
    with np.errstate(invalid="ignore"):
        lasts = (failures >= after) & (last - first >= _LEAST_SPAN)
    is_gone = (failures > 0) & (lasts | ~answered)
    kinds = np.where(moved, REDIRECT, np.where(answered, GONE, NEVER_ANSWERED))
    return np.where(is_gone, kinds, PAGE).astype(np.int8)


def no_page_in(states: NDArray[np.int8]) -> str:
    """Why a log none of whose URLs is a page is refused; empty where there is one."""
    numbers = numbers_of(states)
    if sum(numbers.values()) < len(states):
        return ""
    found = ", ".join(f"{number} {name}" for name, number in numbers.items() if number)
    return f"show no page, only URLs that are none: {found}"


def numbers_of(states: NDArray[np.int8]) -> dict[str, int]:
    """How many URLs are of each state but that of a page."""
    counts = np.bincount(states, minlength=len(STATES)).tolist()
    return dict(zip(STATES[1:], counts[1:], strict=True))
