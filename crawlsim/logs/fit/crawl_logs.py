"""Change rates from crawls that say only whether a page has changed since the last one.

Three estimators of the rate of a Poisson process of changes: the maximum likelihood for any gaps,
the bias-reduced one of Cho and Garcia-Molina (ACM Transactions on Internet Technology, 2003) for
equal gaps, and the naive one, which counts changes, however many there were between two crawls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crawlsim.logs.fit.intervals import CHI_SQUARE_95, parameters_of, shares_by_mid_p
from crawlsim.logs.fit.page_changes import (
    OF_NO_CHANGE,
    names_of,
    pages_around,
    repeated_note,
    unchanged_note,
)
from crawlsim.logs.fit.result import Fit, Options
from crawlsim.logs.fit.shared_prior import groups_of, shared_rates
from crawlsim.logs.fit.trace import UNITS, Trace
from crawlsim.logs.fit.with_signals import with_signals
from crawlsim.logs.read.doubt import doubt_of
from crawlsim.logs.read.gaps import Gaps, gaps_of_visits
from crawlsim.logs.read.log import VisitLog
from crawlsim.logs.read.signals import SignalLog
from scenarios.arrays import Array
from scenarios.text import counted

_MOST_STEPS = 200
_PRECISION = 1e-12
_EQUAL = 1e-3
_ALIKE = 0.05
_SHORTEST_SHARE = 0.1
_OF_A_PRIOR = (
    "The change rates are posterior means under a prior that the pages of a host and folder share, "
    "as in a schedule; the notes below are on the most likely rates."
)


@dataclass(frozen=True)
class CrawlRates:
    """Change rates of pages with at least one gap.

    Attributes
    ----------
    index : ndarray of int, shape (pages,)
        Which pages of the log.
    crawls, changes : ndarray of int
        Gaps, and those that ended with a change.
    rates : ndarray
        Maximum likelihood; of a page that never changed half a change in the time that it was
        watched, of one that always had, with one more gap of its mean length without a change.
    bias_reduced, bias_reduced_low, bias_reduced_high : ndarray
        Cho and Garcia-Molina's, as if all gaps had their mean length; 95 % intervals.
    naive : ndarray
        Changes per unit time.
    equal_gaps : ndarray of bool
        Whether all gaps of the page are equal to a thousandth.
    """

    index: NDArray[np.int64]
    crawls: NDArray[np.int64]
    changes: NDArray[np.int64]
    rates: Array
    bias_reduced: Array
    bias_reduced_low: Array
    bias_reduced_high: Array
    naive: Array
    equal_gaps: NDArray[np.bool_]

    @property
    def never(self) -> NDArray[np.bool_]:
        """Pages that were never seen to change."""
        return np.equal(self.changes, 0)

    @property
    def always(self) -> NDArray[np.bool_]:
        """Pages that had changed at every crawl."""
        return np.equal(self.changes, self.crawls)


class RateIntervals(NamedTuple):
    """How far from the most likely rates the true ones may be.

    Attributes
    ----------
    low, high : ndarray
        95 % intervals: `equal_gap_interval` where gaps are equal, else the likelihood ratio. `low`
        is 0 for a page that never changed, `high` infinite for one that always did; at the other
        end what was seen has the probability 0.05, as by the mid-P.
    standard_errors : ndarray
        From the expected Fisher information ``sum t^2 / (e^(mu t) - 1)`` at the rate.
    """

    low: Array
    high: Array
    standard_errors: Array


def cho_garcia_molina(changes: ArrayLike, crawls: ArrayLike, gap: ArrayLike) -> Array:
    """The bias-reduced rate ``-ln((n - X + 1/2) / (n + 1/2)) / gap`` for equal gaps.

    Parameters
    ----------
    changes, crawls : array_like
        X of n gaps ended with a change.
    gap : array_like
    """
    changes = np.asarray(changes, float)
    crawls = np.asarray(crawls, float)
    return -np.log((crawls - changes + 0.5) / (crawls + 0.5)) / np.asarray(gap, float)


def equal_gap_interval(
    changes: ArrayLike, crawls: ArrayLike, gap: ArrayLike
) -> tuple[Array, Array]:
    """The 95 % interval of the rate for equal gaps, from that of the share that changed.

    Notes
    -----
    By the mid-P (`shares_by_mid_p`). Exact sums over the binomial law: for 10 to 50 gaps and rate ×
    gap from 0.02 to 3 it covers at least 92.4 %. It covers more than 97 % where fewer than about
    five changes, or gaps without one, are expected: no interval can do else there.
    """
    low, high = shares_by_mid_p(changes, crawls)
    with np.errstate(divide="ignore"):
        lowest: Array = -np.log1p(-low) / np.asarray(gap, float)
        highest: Array = -np.log1p(-high) / np.asarray(gap, float)
    return lowest, highest


def likely_rates(gaps: Gaps) -> CrawlRates:
    """Change rates by censored maximum likelihood, with the other estimators beside them.

    Parameters
    ----------
    gaps : Gaps

    Raises
    ------
    ValueError
        If no page was crawled twice.

    Notes
    -----
    The rate solves ``sum_changed t / (e^(mu t) - 1) = sum_unchanged t`` (Cho and Garcia-Molina).

    A page that never changed has the likelihood of a Poisson process watched for the sum of its
    gaps, which is largest at 0. Its rate is Jeffreys', as in `counted_rates`. A page that had
    changed at every crawl gets one more gap, without a change.
    """
    counts = np.bincount(gaps.page, minlength=gaps.pages)
    index = np.flatnonzero(counts)
    if not len(index):
        raise ValueError("no page was crawled twice")
    log = gaps.of(index)
    number = counts[index]
    changes = log.sums(log.changed).astype(np.int64)
    total = log.sums(log.length)
    mean_gap = total / number
    always = np.flatnonzero(changes == number)
    closed = replace(
        log,
        page=np.concatenate([log.page, always.astype(np.int32)]),
        start=np.concatenate([log.start, np.full(len(always), np.nan)]),
        length=np.concatenate([log.length, mean_gap[always]]),
        changed=np.concatenate([log.changed, np.zeros(len(always), bool)]),
    )
    rates = _root(closed, changes)
    spread = log.sums((log.length - mean_gap[log.page]) ** 2) / number
    equal = np.sqrt(spread) <= _EQUAL * mean_gap
    exact = equal_gap_interval(changes, number, mean_gap)
    return CrawlRates(
        index=index,
        crawls=number,
        changes=changes,
        rates=rates,
        bias_reduced=cho_garcia_molina(changes, number, mean_gap),
        bias_reduced_low=exact[0],
        bias_reduced_high=exact[1],
        naive=changes / total,
        equal_gaps=equal,
    )


def likely_intervals(gaps: Gaps, found: CrawlRates) -> RateIntervals:
    """The intervals of most likely rates, from the gaps that they come from.

    Parameters
    ----------
    gaps : Gaps
    found : CrawlRates
        `likely_rates` of these gaps.
    """
    log = gaps.of(found.index)
    of_equal_gaps = (found.bias_reduced_low, found.bias_reduced_high)
    likely = _likelihood_interval(log, found)
    ends = zip(of_equal_gaps, likely, strict=True)
    low, high = (np.where(found.equal_gaps, *each) for each in ends)
    information = log.sums(_over_expm1(found.rates[log.page] * log.length) * log.length**2)
    return RateIntervals(low, high, 1.0 / np.sqrt(information))


def _over_expm1(x: Array) -> Array:
    """1 / (e^x - 1), which is 0 far out."""
    with np.errstate(over="ignore"):
        result: Array = 1.0 / np.expm1(x)
    return result


def _root(log: Gaps, changes: NDArray[np.int64]) -> Array:
    """The rates, by Newton's method from the naive ones; of pages without a change Jeffreys'.

    The score ``sum_changed t / (e^(mu t) - 1) - sum_unchanged t`` decreases and is convex, and at
    the naive rate it is not negative, since x / (e^x - 1) >= 1 - x: the iterates only increase.
    Without a change it is negative everywhere, and the first step is none.
    """
    rates: Array = np.where(changes > 0, changes, OF_NO_CHANGE) / log.sums(log.length)
    seen = log.rows(log.changed)
    unchanged = log.sums(np.where(log.changed, 0.0, log.length))
    for _ in range(_MOST_STEPS):
        inverse = _over_expm1(rates[seen.page] * seen.length)
        score = seen.sums(seen.length * inverse) - unchanged
        slope = seen.sums(seen.length**2 * inverse * (1.0 + inverse))
        with np.errstate(divide="ignore"):
            step = score / slope
        rates = rates + np.maximum(step, 0.0)
        if (step <= _PRECISION * rates).all():
            break
    return rates


class _Likelihood:
    """The log-likelihood of each page, of which only gaps with a change need an exponential."""

    def __init__(self, log: Gaps) -> None:
        self._seen = log.rows(log.changed)
        self._unchanged = log.sums(np.where(log.changed, 0.0, log.length))

    def at(self, rates: Array) -> tuple[Array, Array]:
        """Its value, and its derivative by the logarithm of the rate."""
        x = rates[self._seen.page] * self._seen.length
        with np.errstate(divide="ignore"):
            change = np.log(-np.expm1(-x))
        still = rates * self._unchanged
        return self._seen.sums(change) - still, self._seen.sums(x * _over_expm1(x)) - still

    def crossing(self, rates: Array, goal: Array) -> Array:
        """Rates at which it has a value, from a start on the wanted side of the maximum.

        It is concave in the logarithm of the rate, so Newton's method converges from one side.
        """
        logs = np.log(rates)
        for _ in range(_MOST_STEPS):
            value, slope = self.at(np.exp(logs))
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.clip(np.nan_to_num((goal - value) / slope), -2.0, 2.0)
            logs = logs + step
            if (np.abs(step) < 1e-9).all():
                break
        return np.exp(logs)


def _likelihood_interval(log: Gaps, found: CrawlRates) -> tuple[Array, Array]:
    """Where twice the log-likelihood is 3.84 below its maximum.

    Pages that never or always changed have none, and there the other end is where that has the
    probability 0.05: 3.00 over the time watched, for a page that never changed.
    """
    likelihood = _Likelihood(log)
    top = likelihood.at(found.rates)[0]
    one_sided = found.never | found.always
    goal = np.where(one_sided, np.log(_ALIKE), top - CHI_SQUARE_95 / 2)
    width = np.minimum(1.96 / np.sqrt(np.maximum(found.changes, 1)), 2.0)
    low = likelihood.crossing(found.rates * np.exp(-width), goal)
    high = likelihood.crossing(found.rates * np.exp(width), goal)
    return np.where(found.never, 0.0, low), np.where(found.always, np.inf, high)


def fit_crawls(trace: Trace, options: Options) -> Fit:
    """Change rates with the prior of schedules, or the most likely ones; other estimators beside.

    Raises
    ------
    ValueError
        If no page was crawled twice.
    """
    assert isinstance(trace.log, VisitLog)
    gaps = gaps_of_visits(trace.log)
    if trace.dated:
        gaps = gaps.in_units(UNITS[trace.time_unit])
    shared = options.rates != "likelihood"
    kept, brief = _watched_long(gaps, 0.0 if shared else None, options.shortest)
    watched = gaps.of(kept)
    rates = likely_rates(watched)
    index = kept[rates.index]
    names = names_of(trace, index)
    found: tuple[Array, ...]
    notes = _notes(rates, trace.repeated, len(trace.pages), brief)
    if shared:
        found = _with_shared_prior(gaps.of(index), names, UNITS.get(trace.time_unit, 1.0))
        notes = [_OF_A_PRIOR, *notes]
    else:
        found = (rates.rates, *likely_intervals(watched, rates))
    rates = replace(rates, index=index)
    reduced = (rates.bias_reduced, rates.bias_reduced_low, rates.bias_reduced_high)
    doubt = doubt_of(trace.log, gaps)
    if doubt.reason:
        unknown = np.zeros(len(index)), np.full(len(index), np.inf)
        found = found[0], *unknown
        reduced = reduced[0], *unknown
    notes = [*doubt.notes, *notes]
    values = found[0].tolist()
    fitted = Fit(
        kind="crawls",
        section="pages",
        trace=trace,
        parameters=(
            *parameters_of("change_rate", names, *found),
            *parameters_of("bias_reduced_rate", names, *reduced),
            *parameters_of("naive_rate", names, rates.naive),  # no interval would be right
        ),
        summary={
            "pages": len(index),
            "left_out": len(trace.pages) - len(index),
            "gaps": int(rates.crawls.sum()),
            "never_changed": int(rates.never.sum()),
            "always_changed": int(rates.always.sum()),
            "median_rate": float(np.median(found[0])),
            "largest_rate": float(found[0].max()),
            "naive_over_likely": float(np.median(rates.naive / rates.rates)),
        },
        notes=tuple(notes),
        changes={"pages.change_rates": values},
        system=pages_around(values),
        details=rates,
    )
    if options.signals is None:
        return fitted
    signals = options.signals if options.until is None else _up_to_the_end(options.signals, trace)
    unit = UNITS[trace.time_unit] if trace.dated else 1.0
    some = trace.log.of_pages(index)
    own = gaps_of_visits(some)
    return with_signals(fitted, some, own, signals, unit, is_believed=not doubt.reason)


def _up_to_the_end(signals: SignalLog, trace: Trace) -> SignalLog:
    """The signals up to the last visit of a window."""
    assert isinstance(trace.log, VisitLog)
    return signals.up_to(float(trace.log.time.max()))[0]


def _with_shared_prior(gaps: Gaps, names: Sequence[str], unit: float) -> tuple[Array, ...]:
    """Rates with the ends of their intervals, under the prior that schedules use."""
    found = shared_rates(gaps.in_units(1 / unit), groups_of(names))
    return found.rates * unit, found.low * unit, found.high * unit


def _watched_long(
    gaps: Gaps, shortest: float | None, asked: float | None
) -> tuple[NDArray[np.int64], int]:
    """The pages that were watched long enough, and how many of those seen twice were not.

    By default for a tenth of the median page's time: of a page that was watched for seconds a
    single change makes the largest rate of all.
    """
    watched = gaps.sums(gaps.length)
    seen = watched > 0
    least = shortest if asked is None else asked
    if least is None:
        least = _SHORTEST_SHARE * float(np.median(watched[seen])) if seen.any() else 0.0
    kept = watched >= least
    return np.flatnonzero(kept), int((seen & ~kept).sum())


def _notes(rates: CrawlRates, repeated: int, pages: int, brief: int) -> list[str]:
    notes = repeated_note(repeated)
    if brief:
        were = "was" if brief == 1 else "were"
        notes.append(
            f"{counted(brief, 'page')} {were} watched for too short a time (--shortest) and left "
            "out."
        )
    once = pages - len(rates.index) - brief
    if once:
        were = "was crawled once only and is" if once == 1 else "were crawled once only and are"
        notes.append(f"{counted(once, 'page')} {were} left out.")
    if rates.never.any():
        notes.append(unchanged_note(rates.never))
    always = int(rates.always.sum())
    if always:
        notes.append(
            f"{counted(always, 'page')} had changed at every crawl: the likelihood has no maximum. "
            "Their rate has one more gap, of their mean length, without a change; the interval has "
            "no upper end. Crawl them more often to learn more."
        )
    share = float(np.median(rates.naive / rates.rates))
    notes.append(
        f"Counting changes as seen would give {share:.0%} of the rate, by the median over pages: "
        "of several changes between two crawls only one is seen."
    )
    if not rates.equal_gaps.all():
        irregular = int((~rates.equal_gaps).sum())
        notes.append(
            f"The gaps between the crawls of {counted(irregular, 'page')} are irregular. The "
            "bias-reduced rate is for equal gaps: of irregular ones it takes the mean, and its "
            "interval does not hold; take change_rate, which uses each gap."
        )
    return notes
