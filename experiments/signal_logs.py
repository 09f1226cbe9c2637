"""Made-up sites with signals of their changes, visits of them, and what a fit makes of both.

Run as ``python -m experiments.signal_logs`` for how often intervals hold the truth and what plans
keep of the exact saving (an hour), with ``--logs 20 --sites 1`` for a quick look; with
``--write FOLDER`` for the small data of docs/how-to/sitemaps-worth.md.
"""

from __future__ import annotations

import argparse
import gzip
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.signals.levels import best_levels
from crawlsim.api import schedule
from crawlsim.fitting import Options, Trace, fit
from crawlsim.logs.plan.signal_levels import Rates, cycles, deaf, replayed
from crawlsim.logs.read.log import VisitLog
from crawlsim.logs.read.signals import SignalLog, heard_in
from scenarios.arrays import Array
from scenarios.signals import SignalRates

DAY = 86400.0
MONTH = 30 * DAY
START = 1_700_000_000.0


class Site(NamedTuple):
    """A made-up site, what visits found, and what was heard.

    Attributes
    ----------
    log : VisitLog
    signals : SignalLog
    rates : SignalRates
        True ones, per second; false signals at random only.
    change_page, change_time : ndarray
        Every change, by page and time.
    """

    log: VisitLog
    signals: SignalLog
    rates: SignalRates
    change_page: NDArray[np.int64]
    change_time: Array


def made_site(
    pages: int,
    visits: int,
    changes_per_visit: float,
    precision: float,
    recall: float,
    rng: np.random.Generator,
    *,
    builds: int = 0,
    build_takes: float = 0.0,
    alike: float = np.inf,
    folders: int = 1,
    host: str = "https://example.org",
) -> Site:
    """A site of which each page is visited once a month.

    Parameters
    ----------
    pages, visits : int
        Visits of each page.
    changes_per_visit : float
        Mean number of changes between two visits; rates are exponential around it.
    precision, recall : float
    rng : Generator
    builds : int
        How often the site is built anew, at random times, which stamps the dates of all pages.
    build_takes : float
        Seconds of a build, within which each page has its stamp.
    alike : float
        Sum of the parameters of the beta law of the recall of a page; infinite where all are alike.
    folders : int
    host : str
    """
    rates = rng.gamma(1.0, changes_per_visit / MONTH, pages)
    own_recall = np.full(pages, recall)
    if np.isfinite(alike):
        own_recall = rng.beta(alike * recall, alike * (1 - recall), pages)
    true = own_recall * rates
    of = SignalRates(rates - true, true, recall * rates * (1 - precision) / precision)
    span = (visits - 1) * MONTH
    phase = rng.uniform(0.0, DAY, pages)
    moments = []
    for each in of:
        number = rng.poisson(each * (span + MONTH))
        page = np.repeat(np.arange(pages), number)
        moments.append((page, START + rng.uniform(0.0, span + MONTH, len(page))))
    build = START + rng.uniform(0.0, span, builds)
    stamps = np.repeat(build, pages) + build_takes * rng.random(pages * builds)
    stamped = (np.tile(np.arange(pages), builds), stamps)
    urls = np.array([f"{host}/{page % folders}/{page:05d}" for page in range(pages)], object)
    order = np.argsort(urls)
    rank = np.argsort(order)
    changes = [np.concatenate(each) for each in zip(moments[0], moments[1], strict=True)]
    heard = [np.concatenate(each) for each in zip(moments[1], moments[2], stamped, strict=True)]
    by_time = np.lexsort((changes[1], rank[changes[0]]))
    change_page = rank[changes[0]][by_time]
    change_time = changes[1][by_time]
    times = START + phase[:, None] + MONTH * np.arange(visits)
    page = np.repeat(np.arange(pages), visits)
    time = times[order].ravel()
    seen = _number_by(change_page, change_time, page, time)
    changed = np.diff(seen, prepend=0) > 0
    changed[::visits] = False
    log = VisitLog(urls[order], page.astype(np.int32), time, changed)
    by_time = np.lexsort((heard[1], rank[heard[0]]))
    heard_page = rank[heard[0]][by_time].astype(np.int32)
    signals = SignalLog(urls[order], heard_page, heard[1][by_time])
    return Site(log, signals, SignalRates(*(each[order] for each in of)), change_page, change_time)


def _number_by(
    event_page: NDArray[np.int64], event_time: Array, page: NDArray[np.int64], time: Array
) -> NDArray[np.int64]:
    """Events of all pages up to a page and a time, both ordered by page and time."""
    span = 1e10
    return np.searchsorted(event_page * span + event_time, page * span + time, "right")


def fitted(site: Site) -> tuple[Array, Array, Array]:
    """Precision and recall of the whole site, and the total change rates: estimate, low, high."""
    found = fit(Trace(site.log, "day"), Options(signals=site.signals))
    rows = {name: [] for name in ("precision", "recall", "total_change_rate")}
    for each in found.parameters:
        if each.name in rows:
            rows[each.name].append((each.estimate, each.low, each.high))
    precision, recall, total = (np.array(each) for each in rows.values())
    return precision[0], recall[0], total


class Coverage(NamedTuple):
    """How many of some logs have the truth in their intervals, and the mean estimates."""

    precision: float
    recall: float
    pages: float
    mean_precision: float
    mean_recall: float


def coverage(
    logs: int, pages: int, changes_per_visit: float, precision: float, recall: float, **how: float
) -> Coverage:
    """Intervals of the fits of some made-up logs against the truth.

    The true recall is that of the pages as they are: changes with a signal over all, in the mean.
    """
    rows = []
    for seed in range(logs):
        rng = np.random.default_rng([seed, pages])
        site = made_site(pages, 13, changes_per_visit, precision, recall, rng, **how)
        found = fitted(site)
        changes = site.rates.silent + site.rates.true
        truths = (
            site.rates.true.sum() / site.rates.heard.sum(),
            site.rates.true.sum() / changes.sum(),
        )
        held = [low <= truth <= high for (_, low, high), truth in zip(found, truths, strict=False)]
        total = found[2]
        of_pages = ((total[:, 1] <= changes * DAY) & (changes * DAY <= total[:, 2])).mean()
        rows.append([*held, of_pages, found[0][0], found[1][0]])
    return Coverage(*np.mean(np.array(rows, float), axis=0).tolist())


class Kept(NamedTuple):
    """What a plan pays, beside others; stale shares under the true rates, or of a replayed year.

    Attributes
    ----------
    uniform, deaf, exact : float
        Even visits; the best plan that knows the rates but hears nothing; the best that hears.
    without : float
        The plan that is made from the same visits and hears nothing.
    plan, promised : float
        The plan that was made from the log, and what it promised.
    spent : float
        Its visits, over the budget.
    promise_holds : bool
    """

    uniform: float
    deaf: float
    exact: float
    without: float
    plan: float
    promised: float
    spent: float
    promise_holds: bool

    @property
    def of_uniform(self) -> float:
        """Share of the exact saving over even visits that is kept."""
        return (self.uniform - self.plan) / (self.uniform - self.exact)

    @property
    def of_deaf(self) -> float:
        """The same over the best plan without signals."""
        return (self.deaf - self.plan) / (self.deaf - self.exact)

    @property
    def of_without(self) -> float:
        """What signals save over the plan without them, over what they save if rates are known."""
        return (self.without - self.plan) / (self.deaf - self.exact)


def kept(site: Site, even: float | None = None) -> Kept:
    """A plan from a log with a visit of each page a month, under the true rates."""
    pages = len(site.log.urls)
    rates = SignalRates(*(each * MONTH for each in site.rates))
    weights = np.ones(pages)
    exact = best_levels(rates, weights, float(pages))
    nothing = np.zeros(pages)
    changes = rates.silent + rates.true
    deaf = best_levels(SignalRates(changes, nothing, nothing), weights, float(pages))
    budget = f"{pages / 30}/day"
    without = MONTH / schedule(site.log, budget, even=even).intervals
    plan = schedule(site.log, budget, signals=site.signals, even=even)
    assert plan.by_signals is not None
    length, fresh = cycles(Rates(*site.rates), plan.by_signals.due)
    stale = float((1 - fresh / length).mean())
    promise = None if plan.expected is None else plan.expected["plan"]
    return Kept(
        uniform=float((1 + np.expm1(-changes) / changes).mean()),
        deaf=1 - float(deaf.fresh.mean()),
        exact=1 - float(exact.fresh.mean()),
        without=float((1 + without * np.expm1(-changes / without) / changes).mean()),
        plan=stale,
        promised=np.nan if promise is None else promise.mean,
        spent=float((1 / length).sum()) * MONTH / pages,
        promise_holds=promise is not None and promise.low <= stale <= promise.high,
    )


def replayed_year(site: Site) -> tuple[float, float, float]:
    """Stale shares of plan and even visits in the second of two years, and what the plan spent.

    The plan is made from the first year; even visits are as many as it then spent.
    """
    pages = len(site.log.urls)
    begin = START + 12 * MONTH
    log, _ = site.log.up_to(begin + DAY)
    signals, _ = site.signals.up_to(begin + DAY)
    plan = schedule(log, f"{pages / 30}/day", signals=signals)
    assert plan.by_signals is not None
    heard = heard_in(site.signals, site.log.urls, START, begin + 12 * MONTH)
    changes = (site.change_page, site.change_time)
    paid = replayed(changes, heard, plan.by_signals, begin, begin + 12 * MONTH)
    visits = np.full(pages, paid.visits.sum() / pages / (12 * MONTH))
    even = replayed(changes, heard, deaf(visits), begin, begin + 12 * MONTH)
    spent = float(paid.visits.sum()) / pages / 12
    return float(paid.stale.mean()), float(even.stale.mean()), spent


def write_site(site: Site, folder: Path, *, packed: bool = False) -> None:
    """Write ``visits.csv`` and ``signals.csv`` of a site, or the same for documents, packed."""
    log = site.log
    visits = zip(log.urls[log.page], _dates(log.time), log.changed.astype(int), strict=True)
    of_visits = "".join(f"{url},{date},{changed}\n" for url, date, changed in visits)
    signals = zip(site.signals.urls[site.signals.page], _dates(site.signals.time), strict=True)
    of_signals = "".join(f"{url},{date}\n" for url, date in signals)
    for name, text in (
        ("visits.csv", f"url,time,changed\n{of_visits}"),
        ("signals.csv", f"url,time\n{of_signals}"),
    ):
        if packed:
            (folder / f"site-{name}.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        else:
            (folder / name).write_text(text)


def _dates(seconds: Array) -> list[str]:
    return [f"{each}Z" for each in np.datetime_as_string(seconds.astype("datetime64[s]")).tolist()]


def example() -> Site:
    """The site of docs/how-to/sitemaps-worth.md: half of the dates are right, builds stamp all."""
    return made_site(60, 14, 1.0, 0.5, 0.6, np.random.default_rng(11), builds=8, folders=4)


def main() -> None:
    """Print the coverage of the intervals, and what plans keep of the exact saving."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--sites", type=int, default=6)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    if asked.write is not None:
        write_site(example(), asked.write, packed=True)
        return
    cases = list(product(((0.2, 0.5), (0.5, 0.5), (0.8, 0.8)), (0.3, 1.0, 3.0)))
    print("precision recall changes: covered precision, recall, rates; mean precision, recall")
    for (precision, recall), changes in cases:
        found = coverage(asked.logs, 100, changes, precision, recall)
        print(precision, recall, changes, *(f"{each:.3f}" for each in found), flush=True)
    print("even precision recall changes: stale uniform, deaf, exact, without, plan; kept of each")
    for even, ((precision, recall), changes) in product((None, 0.0), cases):
        rows = []
        for seed in range(asked.sites):
            rng = np.random.default_rng([seed, 3])
            rows.append(kept(made_site(300, 13, changes, precision, recall, rng), even))
        of = Kept(*np.mean(np.array(rows, float), axis=0).tolist())
        numbers = (*of[:5], of.of_uniform, of.of_deaf, of.of_without)
        holds = f"{of.promise_holds:.2f} of the promises hold, promised {of.promised:.4f}"
        words = " ".join(f"{each:.4f}" for each in numbers)
        print(even, precision, recall, changes, words, holds, flush=True)


if __name__ == "__main__":
    main()
