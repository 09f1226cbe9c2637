"""A fit of a crawl log: change rates of pages that were only looked at now and then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crawlsim.fitting.crawl_logs import CrawlRates, crawls_of, likely_rates
from crawlsim.fitting.fit import Fit, Options
from crawlsim.fitting.intervals import Parameter, parameters_of
from crawlsim.fitting.of_pages import names_of, pages_around
from crawlsim.fitting.trace import Trace
from crawlsim.fitting.words import counted
from scenarios import ScenarioError


def fit_crawls(trace: Trace, options: Options) -> Fit:
    """Change rates by censored maximum likelihood, the other estimators beside them.

    Raises
    ------
    ScenarioError
        If no page was crawled twice.
    """
    del options  # none applies
    crawls = crawls_of(trace.page, trace.values, trace.changed, len(trace.pages))
    try:
        rates = likely_rates(crawls)
    except ValueError as error:
        raise ScenarioError("trace", counted(trace.rows, "crawl"), str(error)) from None
    values = rates.rates.tolist()
    return Fit(
        kind="crawls",
        section="pages",
        trace=trace,
        parameters=_parameters(names_of(trace, rates.index), rates),
        summary=_summary(rates, len(trace.pages)),
        notes=tuple(_notes(rates, crawls.repeated, len(trace.pages))),
        changes={"pages.change_rates": values},
        system=pages_around(values),
        details=rates,
    )


def _parameters(names: Sequence[str], rates: CrawlRates) -> tuple[Parameter, ...]:
    """The rates by three estimators; the naive one has no interval that would be right."""
    likely = (rates.rates, rates.low, rates.high, rates.standard_errors)
    reduced = (rates.bias_reduced, rates.bias_reduced_low, rates.bias_reduced_high)
    nothing = np.full(len(names), np.nan)
    return (
        *parameters_of("change_rate", names, *likely),
        *parameters_of("bias_reduced_rate", names, *reduced),
        *parameters_of("naive_rate", names, rates.naive, nothing, nothing),
    )


def _summary(rates: CrawlRates, pages: int) -> dict[str, Any]:
    return {
        "pages": len(rates.index),
        "left_out": pages - len(rates.index),
        "gaps": int(rates.crawls.sum()),
        "never_changed": int(rates.never.sum()),
        "always_changed": int(rates.always.sum()),
        "median_rate": float(np.median(rates.rates)),
        "largest_rate": float(rates.rates.max()),
        "naive_over_likely": float(np.median(rates.naive / rates.rates)),
    }


def _notes(rates: CrawlRates, repeated: int, pages: int) -> list[str]:
    notes = []
    if repeated:
        rows = "1 row says" if repeated == 1 else f"{repeated} rows say"
        notes.append(f"{rows} the same page and time again; it counts once.")
    if pages > len(rates.index):
        once = pages - len(rates.index)
        were = "was crawled once only and is" if once == 1 else "were crawled once only and are"
        notes.append(f"{counted(once, 'page')} {were} left out.")
    never = int(rates.never.sum())
    always = int(rates.always.sum())
    if never:
        notes.append(
            f"{counted(never, 'page')} did not change. The rate of such a page is half a change in "
            "the time that it was watched (Jeffreys), with an interval from 0: no log can prove "
            "that a page never changes, and with rate 0 it would never be visited again."
        )
    if always:
        notes.append(
            f"{counted(always, 'page')} had changed at every crawl: the likelihood has no maximum. "
            "Their rate has one more gap, of their mean length, without a change; the interval has "
            "no upper end. Crawl them more often to learn more."
        )
    share = float(np.median(rates.naive / rates.rates))
    notes.append(
        f"Counting changes as seen would give {share:.0%} of the rate, by the median over pages: "
        "of several changes between two crawls one is seen."
    )
    if not rates.equal_gaps.all():
        irregular = int((~rates.equal_gaps).sum())
        notes.append(
            f"The gaps between the crawls of {counted(irregular, 'page')} are irregular. The "
            "bias-reduced rate is for equal gaps: of irregular ones it takes the mean, and its "
            "interval does not hold; take change_rate, which knows each gap."
        )
    return notes
