"""The index of formulas for pages that go through the buffer, and what they say of a scenario."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic import conditions, page_conditions
from analytic.active_robots import robots_at
from analytic.formula import Formula, Values
from analytic.indexing_queue import FORMULAS as QUEUE_FORMULAS
from analytic.pipeline import conditions as own
from analytic.pipeline.approximations import APPROXIMATIONS
from analytic.pipeline.closed_forms import single_place_rates
from analytic.pipeline.methods import METHODS, Method, exact_method
from analytic.pipeline.reading import PAPER, freshness_rows, page_shares
from analytic.pipeline.walked import labelled
from scenarios import Scenario
from scenarios.page_data import change_rates, page_weights

__all__ = ["COST", "FORMULAS", "end_to_end_cost", "queue_cost"]

Array = NDArray[np.floating[Any]]


def _row(method: Method) -> Formula:
    return Formula(
        paper=PAPER,
        number=method.number,
        quantity=method.quantity,
        function=method.function,
        kind="exact",
        conditions=method.conditions,
        evaluate=lambda scenario: freshness_rows(
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
    return freshness_rows(scenario, single_place_rates(mu, shares, deliveries, service))


def _some_method(scenario: Scenario) -> str | None:
    """One of the exact methods covers it."""
    return None if exact_method(scenario) else "no exact method covers its obsolescence rates"


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
    stale = float(page_weights(scenario.pages) @ method.rates(scenario))
    return queue_cost(scenario) + scenario.costs.staleness * stale


def queue_cost(scenario: Scenario) -> float:
    """The control cost without that of staleness; of a scenario that meets the conditions of (8).

    It does not depend on which pages are delivered, unless the queue does.
    """
    others = scenario.with_("costs.staleness", 0.0)
    return _queue_formula().predict(others)[0].value if _prices(others) else 0.0


def _cost(scenario: Scenario) -> Values:
    yield "control_cost", None, end_to_end_cost(scenario)


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
    *APPROXIMATIONS,
)
"""The index: paper, number, quantity, function, kind, conditions."""
