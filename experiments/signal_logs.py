"""Made-up sites with signals of their changes, visits of them, and what a fit makes of both.

Run as ``python -m experiments.signal_logs`` for how often intervals hold the truth and what plans
keep of the exact saving (half an hour), with ``--logs 20`` for a quick look; with
``--write FOLDER`` for the small data of docs/how-to/sitemaps-worth.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlsim.fitting import Options, Trace, fit
from crawlsim.logs.read.log import VisitLog
from crawlsim.logs.read.signals import SignalLog
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
    stamped = (np.tile(np.arange(pages), builds), np.repeat(build, pages))
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
