"""Accesses of each page where the buffer decides which of them are heard."""

from __future__ import annotations

from analytic.index import page_conditions
from analytic.index.accesses import accessed_pages
from analytic.index.formula import Formula, Values, dependent, is_covered
from analytic.index.page_rows import page_rows
from analytic.indexing_queue import FORMULAS as QUEUE_FORMULAS
from analytic.pipeline import conditions as own
from analytic.pipeline.exact_methods import EXACT, exact_row
from scenarios import Scenario
from scenarios.model import present
from scenarios.page_data import realised_shares

_WITH_ARRIVALS = tuple(
    each
    for each in (*QUEUE_FORMULAS, *EXACT)
    if each.number in ("Theorem 2", "one robot, queue", "dropping and replacement, queue")
)


def _row_of_arrivals(scenario: Scenario) -> Formula | None:
    """The exact row that says how many pages are delivered."""
    covering = (each for each in _WITH_ARRIVALS if is_covered(each.conditions, scenario))
    return next(covering, None)


def _deliveries_of_their_own(scenario: Scenario) -> str | None:
    """Deliveries depend on the level, or are a process of their own."""
    known = (page_conditions.robots_always_work, page_conditions.independent_accesses)
    return "the robots' pace is that of their access times" if is_covered(known, scenario) else None


@dependent
def _arrivals_known(scenario: Scenario) -> str | None:
    """The arrival rate is known exactly."""
    known = _row_of_arrivals(scenario) is not None
    return None if known else "no exact method covers its arrival rate"


def heard_accesses(scenario: Scenario) -> Values:
    """Deliveries of each page per unit time, and their shares.

    A robot that is switched off keeps its page, and which page it is does not matter to the
    queue: so each page has its share of the deliveries, whatever decides which of them are heard.
    """
    row = present(_row_of_arrivals(scenario))
    rate = next(each.value for each in row.predict(scenario) if each.measure == "arrival_rate")
    pages = accessed_pages(scenario)
    shares = realised_shares(pages.policy, pages.pages)
    yield from page_rows(scenario, "crawl_rate", rate * shares)
    if rate > 0:
        yield from page_rows(scenario, "crawl_frequency", shares)


CRAWLING = exact_row(
    number="heard accesses",
    quantity="accesses of each page per unit time, where deliveries depend on the level",
    latex=r"\lambda_i=f_i\,\lambda",
    function=heard_accesses,
    conditions=(
        *own.PATH,
        own.listed_or_random,
        _deliveries_of_their_own,
        _arrivals_known,
    ),
    evaluate=heard_accesses,
)
"""The row of the accesses of each page."""
