"""The figures of docs/how-to/scheduling.md: savings, what the back-test says, coverages.

    python -m experiments.schedule_claims [HISTORY.csv.gz ...]

A history is ``page,time`` of changes, as for `experiments.schedule_peers`; without one only made-up
sites are used. With the three of the document it takes about five minutes of one core.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from crawlsim.logs.plan.replay import Changes, Window, stale_times
from crawlsim.logs.read.gaps import YEAR
from crawlsim.scheduling import ChangeLog, LogRequest, VisitLog, schedule_of
from experiments.change_histories import RESTLESS, STEADY, made_up, read_history
from scenarios.arrays import Array

DAY = 86400.0
INTERVALS = (1, 7, 30, 90, 365)
"""Days between two visits of a page, on average."""

SHAPES = (0.3, 0.5, 1.0, 2.0, 5.0)
PAGES = (300, 3000)
VISITS = 10
_SHORTEST_HISTORY = 1.0


def visits_of(history: ChangeLog, every: float) -> VisitLog:
    """Visits at equal gaps from the creation of each page on, and what they would have found."""
    opening = np.flatnonzero(np.diff(history.page, prepend=-1))
    created = history.time[opening]
    number = np.floor((history.time.max() - created) / every).astype(np.int64) + 1
    page = np.repeat(np.arange(len(created)), number)
    turn = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    time = created[page] + turn * every
    span = history.time.max() - history.time.min() + every
    changes_until = np.searchsorted(
        history.page * span + history.time - history.time.min(),
        page * span + time - history.time.min(),
        side="right",
    )
    changed = (np.diff(changes_until, prepend=-1) > 0) & (turn > 0)
    return VisitLog(history.urls, page.astype(np.int32), time, changed)


def savings(history: ChangeLog, every: float) -> Array:
    """Share of stale time over uniform visits that plans save in the year after each cut."""
    created = history.time[np.flatnonzero(np.diff(history.page, prepend=-1))]
    changes = Changes(history.page.astype(np.int64), history.time)
    years = int((history.time.max() - history.time.min()) / YEAR - _SHORTEST_HISTORY)
    saved = []
    for back in range(years, 0, -1):
        cut = float(history.time.max()) - back * YEAR
        known = np.flatnonzero(created < cut)
        rows = np.isin(history.page, known) & (history.time < cut)
        page = np.searchsorted(known, history.page[rows]).astype(np.int32)
        log = ChangeLog(history.urls[known], page, history.time[rows])
        plan = schedule_of(log, LogRequest(len(known) / every, until=cut))
        visits = np.full(len(created), 1 / every)
        even = stale_times(changes, visits, cut, cut + YEAR)[known].sum()
        visits[known] = 1 / plan.intervals
        saved.append(1 - stale_times(changes, visits, cut, cut + YEAR)[known].sum() / even)
    return np.array(saved)


def paid_and_true(history: ChangeLog, every: float) -> tuple[list[Window], list[Window]]:
    """Windows of the back-test from visits, and of the same plans with the true change times.

    A log of change times is read as those very visits, so that the plans are the same.
    """
    asked = LogRequest(len(history.urls) / every, backtest=True)
    log = visits_of(history, every)
    from_visits = schedule_of(log, asked).windows
    from_changes = schedule_of(history, replace(asked, until=float(log.time.max()))).windows
    assert from_visits is not None
    assert from_changes is not None
    return from_visits, from_changes


def coverage(shape: float, pages: int, seed: int = 1) -> float:
    """Share of gamma rates within their 95 % intervals, after ten irregular visits of each page."""
    rng = np.random.default_rng(seed)
    rates = rng.gamma(shape, 1 / shape, pages) / (20 * DAY)
    gaps = rng.exponential(15 * DAY, (pages, VISITS - 1))
    changed = rng.random(gaps.shape) < -np.expm1(-gaps * rates[:, None])
    time = np.cumsum(np.concatenate([np.zeros((pages, 1)), gaps], axis=1), axis=1)
    log = VisitLog(
        np.array([f"https://h{page % 7}.example/{page:06d}" for page in range(pages)], object),
        np.repeat(np.arange(pages, dtype=np.int32), VISITS),
        time.ravel(),
        np.concatenate([np.zeros((pages, 1), bool), changed], axis=1).ravel(),
    )
    found = schedule_of(log, LogRequest(pages / (30 * DAY))).estimates
    return float(((found.low <= rates) & (rates <= found.high)).mean())


def _print_savings(histories: Mapping[str, ChangeLog]) -> None:
    print("| history | cuts |", " | ".join(f"every {days} d" for days in INTERVALS), "|")
    for name, history in histories.items():
        cells = [100 * savings(history, days * DAY) for days in INTERVALS]
        words = [f"{each.mean():.1f} % ({each.min():.1f})" for each in cells]
        print(f"| {name} | {len(cells[0])} |", " | ".join(words), "|", flush=True)


def _print_back_tests(histories: Mapping[str, ChangeLog]) -> None:
    print("| history | promised | said to have paid | paid |")
    for name, history in histories.items():
        said, true = paid_and_true(history, 30 * DAY)
        promised = [each.promised for each in said if each.promised is not None]
        numbers = [promised] + [
            [each.paid for each in windows if each.paid is not None] for windows in (said, true)
        ]
        words = [f"{100 * np.mean(each):.1f} %" for each in numbers]
        print(f"| {name} |", " | ".join(words), "|", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the three tables."""
    paths = map(Path, sys.argv[1:] if arguments is None else arguments)
    real = {path.name.split(".")[0]: read_history(path) for path in paths}
    sites = {
        f"{kind}, made up, {seed}": made_up(site, seed)
        for kind, site in (("steady", STEADY), ("restless", RESTLESS))
        for seed in (1, 2, 3)
    }
    _print_savings(real)
    _print_back_tests({**sites, **real})
    print("| shape |", " | ".join(f"{pages} pages" for pages in PAGES), "|")
    for shape in SHAPES:
        words = [f"{100 * coverage(shape, pages):.1f} %" for pages in PAGES]
        print(f"| {shape} |", " | ".join(words), "|")


if __name__ == "__main__":
    main()
