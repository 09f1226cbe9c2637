"""What the exact methods read off a scenario: its pages, and how much work they may be."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from analytic.formula import Values
from analytic.indexing_queue import chain_of
from analytic.page_refresh import stale_answers
from analytic.pipeline.queues import PageQueue, page_queue
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.page_data import access_shares, change_rates, page_weights

PAPER = "pipeline"
"""Key of these formulas in the index."""

MOST_WORK = 2 * 10**10
"""Products: those of about ten seconds."""
MOST_SOLUTIONS = 3 * 10**6
"""States times kinds of pages, where each takes a sparse elimination: those of about a minute."""


def page_shares(scenario: Scenario) -> Array:
    """Share of the accesses of each page, shape (pages,)."""
    assert scenario.pages is not None
    assert scenario.robots is not None
    assert scenario.robots.accessing is not None
    return access_shares(scenario.robots.accessing, scenario.pages)


def page_changes(scenario: Scenario) -> Array:
    """Change rate of each page, shape (pages,)."""
    assert scenario.pages is not None
    return change_rates(scenario.pages)


def kinds_of_pages(scenario: Scenario) -> int:
    """Pages that differ in change rate or share."""
    pages = np.stack([page_changes(scenario), page_shares(scenario)], axis=1)
    return len(np.unique(pages, axis=0))


@lru_cache(maxsize=4)
def queue_of_pages(scenario: Scenario) -> PageQueue:
    """The queue of a scenario without timers, as its pages see it."""
    return page_queue(chain_of(scenario))


def freshness_rows(scenario: Scenario, rates: Array, ages: Array | None = None) -> Values:
    """Rows of all pages, their sum, and what clients see; ages of the pages that are fetched."""
    assert scenario.pages is not None
    weights = page_weights(scenario.pages)
    yield "weighted_obsolescence", None, float(weights @ rates)
    for page, rate in enumerate(rates.tolist()):
        yield "obsolescence_rate", page, rate
    if ages is not None:
        for page in np.flatnonzero(np.isfinite(ages)).tolist():
            yield "index_age", page, float(ages[page])
    if scenario.clients is not None:
        yield "stale_answer_probability", None, stale_answers(rates, weights)
