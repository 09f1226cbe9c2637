"""The index of formulas for pages that go through the buffer, and what they say of a scenario."""

from __future__ import annotations

from analytic import conditions, page_conditions
from analytic.active_robots import robots_at
from analytic.formula import Formula, Values, dependent
from analytic.indexing_queue import FORMULAS as QUEUE_FORMULAS
from analytic.indexing_queue.measures import control_cost
from analytic.pipeline import conditions as own
from analytic.pipeline.approximations import APPROXIMATIONS
from analytic.pipeline.closed_forms import single_place_rates
from analytic.pipeline.labelled_queue import labelled_cost, labelled_queue
from analytic.pipeline.listed import chain_fits, rows_of_one_robot
from analytic.pipeline.methods import METHODS, Method, exact_method
from analytic.pipeline.one_robot import stationary_queue
from analytic.pipeline.reading import PAPER, freshness_rows, page_shares
from scenarios import Scenario
from scenarios.page_data import change_rates, page_weights


def _row(method: Method) -> Formula:
    return Formula(
        paper=PAPER,
        number=method.number,
        quantity=method.quantity,
        function=method.function,
        kind="exact",
        origin="own",
        conditions=method.conditions,
        evaluate=lambda scenario: freshness_rows(
            scenario, method.rates(scenario), method.ages and method.ages(scenario)
        ),
    )


def _single_place(scenario: Scenario) -> Values:
    assert scenario.pages is not None
    access, service, _ = conditions.poisson_parameters(scenario)
    deliveries = access * robots_at(scenario)(0)
    mu = change_rates(scenario.pages)
    shares = page_shares(scenario)
    return freshness_rows(scenario, single_place_rates(mu, shares, deliveries, service))


@dependent
def _some_method(scenario: Scenario) -> str | None:
    """One of the exact methods covers it."""
    return None if exact_method(scenario) else "no exact method covers its obsolescence rates"


def _staleness_priced(scenario: Scenario) -> str | None:
    """[costs] prices staleness."""
    return None if scenario.costs.staleness else "[costs] does not price staleness"


@dependent
def _queue_cost_known(scenario: Scenario) -> str | None:
    """The part of the cost that the queue makes is known."""
    reason = _against_queue_cost(scenario)
    if reason is None:
        return None
    others = [name for name in _priced_names(scenario) if name != "staleness"]
    answered = _against_queue_cost(scenario.with_("costs.response", 0.0)) is None
    dropped = ["response"] if answered else others
    return f"{reason}; drop {' and '.join(f'costs.{name}' for name in dropped)}"


def _against_queue_cost(scenario: Scenario) -> str | None:
    others = scenario.with_("costs.staleness", 0.0)
    if not _priced_names(others):
        return None
    if own.changes_matter_to_the_queue(scenario) is None:
        return _no_response_priced(others)
    return _queue_formula().reason_against(others)


def _no_response_priced(scenario: Scenario) -> str | None:
    """[costs] does not price the response time."""
    priced = scenario.costs.response
    return "[costs] prices the response time of pages that wait for others" if priced else None


def _priced_names(scenario: Scenario) -> list[str]:
    """What has a price."""
    names = type(scenario.costs).model_fields
    return [name for name in names if getattr(scenario.costs, name)]


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
    if not _priced_names(others):
        return 0.0
    if own.changes_matter_to_the_queue(scenario) is None:
        return labelled_cost(others)
    return _queue_formula().predict(others)[0].value


def _cost(scenario: Scenario) -> Values:
    yield "control_cost", None, end_to_end_cost(scenario)


_LABELS = next(each for each in METHODS if each.number == "(4)")

COST = Formula(
    paper=PAPER,
    number="(8)",
    quantity="control cost with the price of staleness",
    function=end_to_end_cost,
    kind="exact",
    origin="own",
    conditions=(
        *own.PATH,
        _staleness_priced,
        _some_method,
        _queue_cost_known,
    ),
    evaluate=_cost,
)
"""The row of the control cost end to end."""

LABELLED_COST = Formula(
    paper=PAPER,
    number="(4), cost",
    quantity="control cost of such a queue",
    function=control_cost,
    kind="exact",
    origin="own",
    conditions=(*_LABELS.conditions, conditions.priced, _no_response_priced),
    evaluate=lambda scenario: [("control_cost", None, labelled_cost(scenario))],
)
"""The row of the control cost where copies of a page leave together and staleness has no price."""

FORMULAS: tuple[Formula, ...] = (
    *(_row(method) for method in METHODS),
    Formula(
        paper=PAPER,
        number="(4), queue",
        quantity="levels, rates, shares of the fates with page-change dropping or replacement",
        function=_LABELS.function,
        kind="exact",
        origin="own",
        conditions=_LABELS.conditions,
        evaluate=labelled_queue,
    ),
    LABELLED_COST,
    Formula(
        paper=PAPER,
        number="(6), queue",
        quantity="levels, rates, losses with one robot and access times without phases",
        function=stationary_queue,
        kind="exact",
        origin="own",
        conditions=(
            conditions.has_buffer,
            conditions.resolved_activation,
            conditions.no_host_spacing,
            conditions.pages_leave_the_queue_alone,
            page_conditions.robots_always_work,
            page_conditions.independent_accesses,
            page_conditions.one_robot,
            own.no_markovian_accesses,
            conditions.no_timers,
            conditions.phase_type_service,
            chain_fits,
        ),
        evaluate=rows_of_one_robot,
    ),
    Formula(
        paper=PAPER,
        number="(7)",
        quantity="obsolescence rates without waiting places, in closed form",
        function=single_place_rates,
        kind="exact",
        origin="own",
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
