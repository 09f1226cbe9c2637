"""What a schedule from a log saves in the year after, beside what others would have done.

``python -m experiments.schedule_peers [HISTORY.csv.gz ...]`` prints a table of Markdown for made-up
sites of two kinds and for the histories given (CSV with the columns page,time). Every page is
visited every 30 days until a cut; then each method shares out as many visits over the following
year, in which the true changes happen. The cuts are whole years before the end of a history, from
the first that has a year before it. Saved is a share of the time out of date under uniform visits.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analytic.page_refresh import best_shares
from crawlsim.logs.fit.crawl_logs import CrawlRates, likely_rates
from crawlsim.logs.plan import allocation
from crawlsim.logs.plan.allocation import DAY
from crawlsim.logs.plan.replay import Changes, stale_times
from crawlsim.logs.plan.schedule import LogRequest, schedule_of
from crawlsim.logs.read.gaps import YEAR, Gaps, gaps_of_visits
from crawlsim.logs.read.log import ChangeLog, VisitLog
from experiments.adaptive_visits import (
    NUTCH,
    NUTCH_AS_SHIPPED,
    STORM,
    within_budget,
)
from experiments.change_histories import RESTLESS, STEADY, made_up, read_history
from experiments.fit_coverage import gaps_of
from scenarios.arrays import Array
from scenarios.laws import Deterministic

INTERVAL = 30 * DAY
SEEDS = (1, 2, 3)
"""Of the made-up sites."""
UNIFORM = "uniform"
ADAPTIVE = {
    "Nutch, factors of the class": NUTCH,
    "Nutch, factors as shipped": NUTCH_AS_SHIPPED,
    "StormCrawler": STORM,
}
_NEVER = 1e-30
_STEP_EXPONENT = 0.75


@dataclass(frozen=True)
class Situation:
    """A history as it stands at a cut.

    Attributes
    ----------
    log : VisitLog
        Visits every 30 days up to the cut, of the pages that there are then.
    changes : Changes
        Of these pages, those before the cut and in the year after.
    created : ndarray, shape (pages,)
    cut : float
    """

    log: VisitLog
    changes: Changes
    created: Array
    cut: float

    @property
    def pages(self) -> int:
        """Their number."""
        return len(self.created)

    @property
    def budget(self) -> float:
        """Visits per second."""
        return self.pages / INTERVAL

    @property
    def ahead(self) -> Changes:
        """Changes in the year after the cut."""
        later = self.changes.time >= self.cut
        return Changes(self.changes.page[later], self.changes.time[later])


def cuts_of(history: ChangeLog) -> list[float]:
    """Whole years before the end of a history, the first with at least a year before it."""
    begin = float(history.time.min())
    end = float(history.time.max())
    years = int((end - begin) / YEAR) - 1
    return [end - year * YEAR for year in range(years, 0, -1)]


def situation_at(history: ChangeLog, cut: float) -> Situation:
    """What is known at a cut, and what then happens within a year."""
    opens = np.diff(history.page, prepend=-1) != 0
    created = history.time[opens]
    known = np.flatnonzero(created < cut)
    index = np.full(len(created), -1)
    index[known] = np.arange(len(known))
    page = index[history.page]
    kept = (page >= 0) & ~opens & (history.time < cut + YEAR)
    changes = Changes(page[kept], history.time[kept])
    created = created[known]
    number = np.floor((cut - created) / INTERVAL).astype(np.int64) + 1
    visited = np.repeat(np.arange(len(known)), number)
    before = np.repeat(np.cumsum(number), number) - np.arange(number.sum()) - 1
    time = cut - before * INTERVAL
    log = VisitLog(
        history.urls[known], visited.astype(np.int32), time, found_changed(changes, visited, time)
    )
    return Situation(log, changes, created, cut)


def found_changed(changes: Changes, page: np.ndarray, time: Array) -> np.ndarray:
    """Whether each visit finds a change since the visit before; the first of a page finds none.

    Parameters
    ----------
    changes : Changes
    page, time : ndarray, shape (visits,)
        Page by page in time.
    """
    if not len(changes.time):
        return np.zeros(len(page), bool)
    origin = min(changes.time.min(), time.min())
    span = max(changes.time.max(), time.max()) - origin + 1
    seen = np.searchsorted(
        changes.page * span + changes.time - origin, page * span + time - origin, "right"
    )
    first = np.diff(page, prepend=-1) != 0
    return (np.diff(seen, prepend=0) > 0) & ~first


def random_crawls(situation: Situation, seed: int = 1) -> Gaps:
    """As many visits before the cut as in the log, on average, but at the times of Poisson
    processes, as the estimators of Avrachenkov, Patil and Thoppe ask for.
    """
    rng = np.random.default_rng(seed)
    watched = situation.cut - situation.created
    number = rng.poisson(watched / INTERVAL) + 1
    page = np.repeat(np.arange(situation.pages), number)
    time = situation.created[page] + watched[page] * rng.random(len(page))
    time[np.cumsum(number) - number] = situation.created
    order = np.lexsort((time, page))
    time = time[order]
    changed = found_changed(situation.changes, page, time)
    return gaps_of(page.astype(np.int32), time, changed, situation.pages)


def by_large_numbers(crawls: Gaps, visits: float) -> Array:
    """Change rates by the estimator of the law of large numbers; 0 for a page without a change.

    Parameters
    ----------
    crawls : Gaps
        Of Poisson visits.
    visits : float
        Rate p of the visits of a page.

    Notes
    -----
    ``p S / (k + 1 - S)`` after k visits of which S found a change: Avrachenkov, Patil and Thoppe,
    Change rate estimation and optimal freshness in web page crawling (VALUETOOLS 2020,
    arXiv:2004.02167), with ``alpha_k = 1``. A visit finds a change with probability
    ``mu / (mu + p)``, since changes and visits are independent Poisson processes.
    """
    number = np.bincount(crawls.page, minlength=crawls.pages)
    found = crawls.sums(crawls.changed)
    rates: Array = visits * found / (number + 1 - found)
    return rates


def by_stochastic_approximation(crawls: Gaps, visits: float) -> Array:
    """Change rates by stochastic approximation, one step per visit.

    Parameters
    ----------
    crawls : Gaps
        Of Poisson visits, page by page in time.
    visits : float
        Rate p of the visits of a page; also where the rates begin.

    Notes
    -----
    ``y <- y + eta (I (y + p) - y)`` at each visit, I = 1 if it found a change: the second estimator
    of the same paper, with the steps ``eta = (k + 1)^-0.75`` after k visits.
    """
    number = np.bincount(crawls.page, minlength=crawls.pages)
    first = np.cumsum(number) - number
    rates = np.full(crawls.pages, visits)
    for visit in range(int(number.max(initial=0))):
        page = np.flatnonzero(number > visit)
        found = crawls.changed[first[page] + visit]
        step = (visit + 1.0) ** -_STEP_EXPONENT
        rates[page] += step * (found * (rates[page] + visits) - rates[page])
    return rates


def optimal(rates: Array, budget: float) -> Array:
    """Evenly spaced visits per second with the greatest freshness at these rates."""
    return budget * best_shares(rates, np.ones(len(rates)), Deterministic(value=1 / budget))


def plans(situation: Situation) -> dict[str, Array]:
    """Visits per second of each page after the cut, method by method."""
    pages = situation.pages
    budget = situation.budget
    log = situation.log
    crawls = gaps_of_visits(log)
    found = likely_rates(crawls)
    pooled = float(found.changes.sum() / crawls.length.sum())

    def of_all(rates: Array, estimates: CrawlRates) -> Array:
        every = np.full(pages, pooled)
        every[estimates.index] = rates
        return every

    naive = of_all(found.naive, found)
    strict = of_all(np.where(found.never, 0.0, found.rates), found)
    scattered = random_crawls(situation)
    unseen = np.bincount(scattered.page, minlength=pages) == 0
    large = np.where(unseen, pooled, by_large_numbers(scattered, 1 / INTERVAL))
    approximated = np.where(unseen, pooled, by_stochastic_approximation(scattered, 1 / INTERVAL))
    schedule = schedule_of(log, LogRequest(visits=budget))
    rates = schedule.estimates.rates
    even = np.full(pages, 1 / INTERVAL)
    proportional = budget * naive / naive.sum() if naive.any() else even
    ahead = np.bincount(situation.ahead.page, minlength=pages) / YEAR
    equal = np.ones(pages)
    return {
        UNIFORM: even,
        "proportional": proportional,
        "half and half": (even + proportional) / 2,
        "Cho and Garcia-Molina": optimal(of_all(found.bias_reduced, found), budget),
        "maximum likelihood": optimal(strict, budget),
        "the same, half a change for none": optimal(of_all(found.rates, found), budget),
        "Avrachenkov et al., large numbers": optimal(large, budget),
        "Avrachenkov et al., approximation": optimal(approximated, budget),
        "posterior means, LambdaCrawl": allocation.by_harmonic_cost(rates, equal, schedule.limits),
        "posterior means, Azar et al.": allocation.by_random_visits(rates, equal, schedule.limits),
        "posterior means, optimal": optimal(rates, budget),
        "crawlsim schedule": 1 / schedule.intervals,
        "true rates of the year, optimal": optimal(ahead, budget),
    }


def stale_shares(situation: Situation) -> dict[str, float]:
    """Share of the year after the cut for which a copy is out of date, method by method.

    Copies are fresh at the cut, when the last regular visits were made. The phases of the visits
    after it are averaged: exactly for evenly spaced ones, over a few for those that adapt.
    """
    since = situation.cut
    until = since + YEAR
    ahead = situation.ahead
    shares = {
        name: float(stale_times(ahead, np.maximum(visits, _NEVER), since, until).mean())
        for name, visits in plans(situation).items()
    }
    budget = situation.budget * YEAR
    for name, rule in ADAPTIVE.items():
        _, found = within_budget(rule, situation.changes, situation.created, since, until, budget)
        shares[name] = float(found.stale.mean() / YEAR)
    return shares


def savings(histories: Iterable[ChangeLog]) -> dict[str, Array]:
    """Share of the stale time of uniform visits that each method saves, shape (windows,).

    The windows of all histories, one after the other; those without a change are left out.
    """
    rows: dict[str, list[float]] = {}
    for history in histories:
        for cut in cuts_of(history):
            shares = stale_shares(situation_at(history, cut))
            uniform = shares[UNIFORM]
            if uniform > 0:
                for name, share in shares.items():
                    rows.setdefault(name, []).append(1 - share / uniform)
    return {name: np.array(each) for name, each in rows.items()}


def markdown(histories: Mapping[str, Sequence[ChangeLog]]) -> Iterator[str]:
    """Lines of the tables: the histories, then mean saving and worst window of each method."""
    found = {name: savings(some) for name, some in histories.items()}
    yield "| history | sites | pages | changes | years | windows |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, some in histories.items():
        pages = sum(len(each.urls) for each in some)
        changes = sum(len(each.page) for each in some) - pages
        years = sum(np.ptp(each.time) for each in some) / YEAR
        windows = len(found[name][UNIFORM])
        yield f"| {name} | {len(some)} | {pages} | {changes} | {years:.1f} | {windows} |"
    yield ""
    yield "| method | " + " | ".join(found) + " |"
    yield "|---|" + "--:|" * len(found)
    for method in next(iter(found.values())):
        savings_of_all = [each[method] for each in found.values()]
        cells = [f"{_per_cent(each.mean())} ({_per_cent(each.min())})" for each in savings_of_all]
        yield f"| {method} | " + " | ".join(cells) + " |"


def _per_cent(share: float) -> str:
    return f"{100 * share:+.0f}".replace("-0", "0").replace("+0", "0")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Schedules from logs, and their peers.")
    parser.add_argument("histories", nargs="*", type=Path, help="CSV files page,time, plain or gz")
    parsed = parser.parse_args(arguments)
    sites = {"steady, made up": STEADY, "restless, made up": RESTLESS}
    histories = {name: [made_up(site, seed) for seed in SEEDS] for name, site in sites.items()}
    for path in parsed.histories:
        histories[path.name.removesuffix(".gz").removesuffix(".csv")] = [read_history(path)]
    for line in markdown(histories):
        print(line)


if __name__ == "__main__":
    main()
