"""The index of formulas for pages that go through the buffer, and what they say of a scenario."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic import conditions, page_conditions
from analytic.active_robots import robots_at
from analytic.formula import Formula, Values
from analytic.indexing_queue import FORMULAS as QUEUE_FORMULAS
from analytic.indexing_queue import chain_of, sojourn_transform, solve_chain
from analytic.indexing_queue.marginals import marginals_of
from analytic.indexing_queue.measures import fate_rates
from analytic.indexing_queue.solved import converged, fits_in_memory, one_closed_class
from analytic.page_refresh import stale_answers
from analytic.pipeline import conditions as own
from analytic.pipeline.closed_forms import (
    decomposed,
    page_change_rates,
    single_place_rates,
    thinned_cyclic,
    thinned_randomized,
)
from analytic.pipeline.methods import METHODS, Method, exact_method
from analytic.pipeline.reading import page_shares
from analytic.pipeline.walked import labelled
from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.page_data import change_rates, page_weights

__all__ = ["COST", "FORMULAS", "end_to_end_cost"]

Array = NDArray[np.floating[Any]]

PAPER = "pipeline"


def _freshness(scenario: Scenario, rates: Array, ages: Array | None = None) -> Values:
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


def _row(method: Method) -> Formula:
    return Formula(
        paper=PAPER,
        number=method.number,
        quantity=method.quantity,
        function=method.function,
        kind="exact",
        conditions=method.conditions,
        evaluate=lambda scenario: _freshness(
            scenario, method.rates(scenario), method.ages and method.ages(scenario)
        ),
    )


def _labelled_levels(scenario: Scenario) -> Values:
    found = labelled(scenario)
    assert not isinstance(found, str)
    levels = found[0].levels
    yield "starvation_probability", None, float(levels[0])
    yield "mean_in_system", None, float(levels @ np.arange(len(levels)))
    for level, probability in enumerate(levels.tolist()):
        yield "level_probability", level, probability


def _single_place(scenario: Scenario) -> Values:
    assert scenario.pages is not None
    access, service, _ = conditions.poisson_parameters(scenario)
    deliveries = access * robots_at(scenario)(0)
    mu, shares = change_rates(scenario.pages), page_shares(scenario)
    return _freshness(scenario, single_place_rates(mu, shares, deliveries, service))


def _some_method(scenario: Scenario) -> str | None:
    """One of the exact methods covers it."""
    return None if exact_method(scenario) else "no exact method covers its obsolescence rates"


def _no_method(scenario: Scenario) -> str | None:
    """No exact method covers it."""
    method = exact_method(scenario)
    return f"{method.number} is exact" if method else None


def _staleness_priced(scenario: Scenario) -> str | None:
    """[costs] prices staleness."""
    return None if scenario.costs.staleness else "[costs] does not price staleness"


def _queue_cost_known(scenario: Scenario) -> str | None:
    """The part of the cost that the queue makes is known."""
    others = scenario.with_("costs.staleness", 0.0)
    if not _prices(others):
        return None
    return _queue_formula().reason_against(others)


def _prices(scenario: Scenario) -> bool:
    """Whether anything but staleness has a price."""
    return any(getattr(scenario.costs, name) for name in type(scenario.costs).model_fields)


def _queue_formula() -> Formula:
    return next(each for each in QUEUE_FORMULAS if each.quantity == "control cost")


def end_to_end_cost(scenario: Scenario) -> float:
    """The control cost with its staleness, of a scenario that meets the conditions of (8).

    ``staleness × weighted_obsolescence`` and the cost of the queue, avrachenkov2011 (2).
    """
    assert scenario.pages is not None
    method = exact_method(scenario)
    assert method is not None
    others = scenario.with_("costs.staleness", 0.0)
    queue = _queue_formula().predict(others)[0].value if _prices(others) else 0.0
    stale = float(page_weights(scenario.pages) @ method.rates(scenario))
    return queue + scenario.costs.staleness * stale


def _cost(scenario: Scenario) -> Values:
    yield "control_cost", None, end_to_end_cost(scenario)


def _decomposed(scenario: Scenario) -> Values:
    assert scenario.pages is not None
    mu = change_rates(scenario.pages)
    chain = chain_of(scenario)
    law = solve_chain(chain).law
    rates = fate_rates(chain, marginals_of(chain, law))
    discount = sojourn_transform(chain, law, mu)["served"]
    lost = 1.0 - rates["served"] / rates["delivered"]
    return _freshness(scenario, decomposed(_thinned(scenario, mu, lost), discount))


def _thinned(scenario: Scenario, mu: Array, lost: float) -> Array:
    assert scenario.robots is not None
    between = own.law_without_buffer(scenario)
    assert between is not None
    policy, shares = scenario.robots.accessing, page_shares(scenario)
    if isinstance(policy, Periodic):
        return thinned_cyclic(mu, policy.cycle_of(shares), between, lost)
    return thinned_randomized(mu, shares, between, lost)


def _pace_known(scenario: Scenario) -> str | None:
    """The mean time between accesses is known."""
    known = own.law_without_buffer(scenario) is not None
    return None if known else "the mean time between accesses is not known"


def _dropped(scenario: Scenario) -> Values:
    assert scenario.pages is not None
    access, service, places = conditions.poisson_parameters(scenario)
    at = robots_at(scenario)
    deliveries = [access * at(level) for level in range(places + 1)]
    mu, shares = change_rates(scenario.pages), page_shares(scenario)
    return _freshness(scenario, page_change_rates(mu, shares, deliveries, service))


def _only_drops_changed(scenario: Scenario) -> str | None:
    """Waiting copies are dropped when their pages change, first come first served."""
    assert scenario.buffer is not None
    if scenario.buffer.obsolescence != "page-change":
        return "waiting copies are not dropped when their pages change"
    if scenario.buffer.replace_older_copy:
        return "newer copies replace older ones"
    return conditions.first_come_first_served(scenario)


_LABELS = next(each for each in METHODS if each.number == "(4)")

COST = Formula(
    paper=PAPER,
    number="(8)",
    quantity="control cost with the price of staleness",
    function=end_to_end_cost,
    kind="exact",
    conditions=(
        *own.PATH,
        _staleness_priced,
        _some_method,
        _queue_cost_known,
    ),
    evaluate=_cost,
)
"""The row of the control cost end to end."""

FORMULAS: tuple[Formula, ...] = (
    *(_row(method) for method in METHODS),
    Formula(
        paper=PAPER,
        number="(4), levels",
        quantity="levels with page-change dropping or replacement of older copies",
        function=_LABELS.function,
        kind="exact",
        conditions=_LABELS.conditions,
        evaluate=_labelled_levels,
    ),
    Formula(
        paper=PAPER,
        number="(7)",
        quantity="obsolescence rates without waiting places, in closed form",
        function=single_place_rates,
        kind="exact",
        conditions=(
            *own.PATH,
            conditions.pages_leave_the_queue_alone,
            page_conditions.randomized_policy,
            own.no_room_to_wait,
            page_conditions.robots_always_work,
            conditions.poisson_accesses,
            conditions.exponential_service,
        ),
        evaluate=_single_place,
    ),
    COST,
    Formula(
        paper=PAPER,
        number="(9), decomposition",
        quantity="obsolescence rates, losses and delays taken to be independent",
        function=decomposed,
        kind="approximation",
        conditions=(
            *own.PATH,
            conditions.pages_leave_the_queue_alone,
            own.listed_or_random,
            page_conditions.robots_always_work,
            _pace_known,
            *own.MARKOVIAN,
            conditions.phase_type_timers,
            conditions.first_come_first_served,
            fits_in_memory,
            one_closed_class,
            converged,
            _no_method,
        ),
        evaluate=_decomposed,
    ),
    Formula(
        paper=PAPER,
        number="(10), copies dropped independently",
        quantity="obsolescence rates with page-change dropping, many pages",
        function=page_change_rates,
        kind="approximation",
        conditions=(
            *own.PATH,
            page_conditions.randomized_policy,
            _only_drops_changed,
            conditions.not_switching,
            conditions.poisson_accesses,
            conditions.exponential_service,
            _no_method,
        ),
        evaluate=_dropped,
    ),
)
"""The index: paper, number, quantity, function, kind, conditions."""
