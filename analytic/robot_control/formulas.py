"""The index of formulas of talim2001, and what they say of a scenario."""

from __future__ import annotations

from analytic import conditions
from analytic.active_robots import robots_at
from analytic.formula import Formula, Values
from analytic.robot_control.static import static_cost, static_loss_rate, static_starvation
from scenarios import Scenario

__all__ = ["FORMULAS"]


def _parameters(scenario: Scenario) -> tuple[float, int, float]:
    """Load, K and service rate."""
    access, service, capacity = conditions.poisson_parameters(scenario)
    return access * robots_at(scenario)(0) / service, capacity, service


def _static(scenario: Scenario) -> Values:
    load, capacity, service = _parameters(scenario)
    yield "starvation_probability", None, float(static_starvation(load, capacity))
    yield "loss_rate", None, float(static_loss_rate(load, capacity, service))


def _cost(scenario: Scenario) -> Values:
    load, capacity, service = _parameters(scenario)
    price, costs = scenario.costs.loss, scenario.costs
    if price > 0:
        cost = price * static_cost(load, capacity, service, costs.starvation / price)
    else:
        cost = costs.starvation * static_starvation(load, capacity)
    yield "control_cost", None, float(cost)


_STATIC = (
    conditions.has_buffer,
    conditions.resolved_activation,
    conditions.pages_leave_the_queue_alone,
    conditions.static_robots,
    conditions.poisson_accesses,
    conditions.exponential_service,
    conditions.no_timers,
)

FORMULAS: tuple[Formula, ...] = (
    Formula(
        paper="talim2001",
        number="section 4",
        quantity="starvation probability and loss rate of a fixed number of robots",
        function=static_starvation,
        kind="exact",
        conditions=_STATIC,
        evaluate=_static,
    ),
    Formula(
        paper="talim2001",
        number="(9)",
        quantity="cost of a fixed number of robots",
        function=static_cost,
        kind="exact",
        conditions=(*_STATIC, conditions.priced_by_loss_and_starvation),
        evaluate=_cost,
    ),
)
"""The index: paper, number, quantity, function, kind, conditions."""
