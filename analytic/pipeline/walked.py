"""The chains that are walked through, read off a scenario: old and new pages, labels."""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np

from analytic.active_robots import most_active, robots_at
from analytic.arrival_process import delivery_modes
from analytic.formula import dependent
from analytic.indexing_queue import QueueChain, chain_of, solve_chain
from analytic.indexing_queue.chain import UNLIMITED_PATIENCE, controlled_chain
from analytic.indexing_queue.measures import size_of
from analytic.phase_type import as_phase_type
from analytic.pipeline.exploring import MOST_STATES, TooManyStatesError
from analytic.pipeline.label_states import LabelledRules, PageClass
from analytic.pipeline.labels import MOST_LABELLED, LabelledPage, labelled_page
from analytic.pipeline.old_and_new import (
    Handling,
    counted_ages,
    counted_rates,
    counted_slopes,
    old_and_new,
)
from analytic.pipeline.reading import (
    MOST_SOLUTIONS,
    kinds_of_pages,
    page_changes,
    page_shares,
)
from analytic.pipeline.separable import SlopesOf
from analytic.pipeline.timer_phases import timed_pages
from analytic.progress import followed
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.sections import Costs


def handling_of(scenario: Scenario) -> Handling:
    """What the buffer of a scenario does with waiting pages."""
    assert scenario.buffer is not None
    assert scenario.robots is not None
    lost = None
    if scenario.buffer.when_full == "push-out" and scenario.buffer.waiting_places:
        robots = robots_at(scenario)(scenario.buffer.waiting_places + 1)
        active = max(most_active(scenario), 1)
        lost = delivery_modes(scenario.robots, active, scenario.activation)[robots, 1]
    return Handling(scenario.buffer.discipline == "lifo", lost)


@dependent
def counts_fit(scenario: Scenario) -> str | None:
    """The chain of old and new pages is small enough."""
    order, phases, timers, top = size_of(scenario)
    levels = range(1, top + 1)
    states = order * (1 + phases * sum(2 * n * min(timers ** (n - 1), 10**9) for n in levels))
    if states > MOST_STATES:
        return f"its old and new pages have up to {states} states; they may have {MOST_STATES}"
    if states * kinds_of_pages(scenario) > MOST_SOLUTIONS:
        return (
            f"{states} states for each of {kinds_of_pages(scenario)} kinds of pages take too long"
        )
    return None


def slopes_by_counts(scenario: Scenario) -> SlopesOf:
    """Obsolescence rates and derivatives by old and new pages, for any shares of the deliveries."""
    chain, law = _chain_and_law(scenario)
    return partial(counted_slopes, old_and_new(chain, handling_of(scenario)), law)


def slopes_by_timers(scenario: Scenario) -> SlopesOf:
    """The same by old and new pages and all timers."""
    chain, law = _chain_and_law(scenario)
    return partial(counted_slopes, timed_pages(chain), law)


def rates_by_counts(scenario: Scenario) -> Array:
    """Obsolescence rate of each page, by old and new pages."""
    chain, law = _chain_and_law(scenario)
    walked = old_and_new(chain, handling_of(scenario))
    return counted_rates(walked, law, page_changes(scenario), page_shares(scenario))


def ages_by_counts(scenario: Scenario) -> Array:
    """Mean age of each page's copy in the index, by old and new pages."""
    chain, law = _chain_and_law(scenario)
    return counted_ages(old_and_new(chain, handling_of(scenario)), law, page_shares(scenario))


def rates_by_timers(scenario: Scenario) -> Array:
    """Obsolescence rate of each page, by old and new pages and all timers."""
    chain, law = _chain_and_law(scenario)
    return counted_rates(timed_pages(chain), law, page_changes(scenario), page_shares(scenario))


def ages_by_timers(scenario: Scenario) -> Array:
    """Mean age of each page's copy in the index, by the same."""
    chain, law = _chain_and_law(scenario)
    return counted_ages(timed_pages(chain), law, page_shares(scenario))


@lru_cache(maxsize=4)
def _chain_and_law(scenario: Scenario) -> tuple[QueueChain, Array]:
    chain = chain_of(scenario)
    return chain, solve_chain(chain).stationary


# --- (4) labels -------------------------------------------------------------------------------


def labelled(scenario: Scenario) -> tuple[LabelledPage, ...] | str:
    """What labels say of each page, or why they are not found; whatever the prices."""
    return _labelled(scenario.model_copy(update={"costs": Costs()}))


@lru_cache(maxsize=1024)
def _labelled(scenario: Scenario) -> tuple[LabelledPage, ...] | str:
    assert scenario.buffer is not None
    assert scenario.robots is not None
    top = scenario.buffer.waiting_places + 1
    at = robots_at(scenario)
    pages = np.stack([page_changes(scenario), page_shares(scenario)], axis=1)
    kinds, which, counts = np.unique(pages, axis=0, return_inverse=True, return_counts=True)
    if max(top - 2, 0) * math.log(len(kinds)) > math.log(MOST_LABELLED):
        return f"its {len(kinds)} kinds of pages have too many orders in the buffer"
    service = as_phase_type(scenario.buffer.service)
    assert service is not None
    modes = delivery_modes(scenario.robots, max(most_active(scenario), 1), scenario.activation)
    chain = controlled_chain(modes, at, service, UNLIMITED_PATIENCE, top, "partial")
    deliveries = tuple(modes[at(level), 1] for level in range(top + 1))
    classes = tuple(
        PageClass(count, *kind) for count, kind in zip(counts.tolist(), kinds.tolist(), strict=True)
    )
    rules = _rules(scenario)
    try:
        doing = f"{scenario.name}: orders of the waiting pages, kinds of pages"
        found = [
            labelled_page(chain, deliveries, classes, kind, rules)
            for kind in followed(range(len(classes)), doing, len(classes))
        ]
    except TooManyStatesError as failure:
        return str(failure)
    return tuple(found[kind] for kind in which.ravel().tolist())


def _rules(scenario: Scenario) -> LabelledRules:
    assert scenario.buffer is not None
    buffer = scenario.buffer
    return LabelledRules(
        drops_changed=buffer.obsolescence == "page-change",
        replaces=buffer.replace_older_copy,
        last_first=buffer.discipline == "lifo",
        pushes_out=buffer.when_full == "push-out",
    )


@dependent
def labels_fit(scenario: Scenario) -> str | None:
    """The chain of the labels of waiting pages has at most 20 000 states."""
    found = labelled(scenario)
    return found if isinstance(found, str) else None


def rates_by_labels(scenario: Scenario) -> Array:
    """Obsolescence rate of each page, by labels."""
    found = labelled(scenario)
    assert not isinstance(found, str)
    return np.array([page.rate for page in found])


def ages_by_labels(scenario: Scenario) -> Array:
    """Mean age of each page's copy in the index, by labels; nan where changes drop copies."""
    found = labelled(scenario)
    assert not isinstance(found, str)
    return np.array([page.age for page in found])
