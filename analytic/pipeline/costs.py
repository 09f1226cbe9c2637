"""The cost end to end, the papers' criteria beside it, and what optimising these alone costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from analytic.index import conditions
from analytic.index.accesses import accessed_pages
from analytic.index.conditions import buffer_of
from analytic.index.formula import dependent
from analytic.index.optimum import NoOptimumError, Optimum
from analytic.indexing_queue import FORMULAS as QUEUE_FORMULAS
from analytic.indexing_queue import control_cost
from analytic.machinery.refusal import NoAnswerError
from analytic.page_refresh.formulas import bytes_before_buffer
from analytic.pipeline import conditions as own
from analytic.pipeline.approximations import approximation_of, approximation_row, some_approximation
from analytic.pipeline.dropping_and_replacement import cost_with_labels
from analytic.pipeline.exact_methods import (
    LABELLED_COST,
    exact_method,
    exact_row,
    nearest_reason,
    no_exact_method,
    no_response_priced,
    some_exact_method,
)
from scenarios import Scenario
from scenarios.model import present

CostOf = Callable[[Scenario], float]
"""The cost of a scenario end to end: `cost_of` or `approximate_cost_of`."""

_ALIKE = 1e-11
"""Costs that differ by less, relatively, are the same: what is left is rounding."""
_STALE = "weighted_obsolescence"
_QUEUE_COSTS = [each for each in QUEUE_FORMULAS if each.function is control_cost]


def _of_queue_alone(scenario: Scenario) -> Scenario:
    """The scenario without the prices of what becomes of pages."""
    return scenario.with_({"costs.staleness": 0.0, "costs.byte": 0.0})


def _priced_names(scenario: Scenario) -> list[str]:
    """What has a price."""
    return [name for name, price in scenario.costs if price]


def _of_what_happens(scenario: Scenario) -> bool:
    """Whether something has a price that depends on what the queue does."""
    return not {*_priced_names(scenario)} <= {"indexer", "waiting_place"}


@dependent
def _queue_cost_known(scenario: Scenario) -> str | None:
    """The part of the cost that the queue makes is known."""
    reason = _against_queue_cost(scenario)
    if reason is None:
        return None
    dropped = _priced_names(_of_queue_alone(scenario))
    if _against_queue_cost(scenario.with_("costs.response", 0.0)) is None:
        dropped = ["response"]
    return f"{reason}; drop {' and '.join(f'costs.{name}' for name in dropped)}"


def _against_queue_cost(scenario: Scenario) -> str | None:
    others = _of_queue_alone(scenario)
    if not _of_what_happens(others):
        return None
    if own.copies_leave_together(scenario):
        return no_response_priced(others)
    reasons = [each.reason_against(others) for each in _QUEUE_COSTS]
    return None if None in reasons else reasons[0]


def queue_cost(scenario: Scenario) -> float:
    """The control cost without that of staleness and bytes, where the conditions of `COST` hold.

    It does not depend on which pages are delivered, unless the queue does.
    """
    others = _of_queue_alone(scenario)
    if not _of_what_happens(others):
        return others.prices.standing
    if own.copies_leave_together(scenario):
        return cost_with_labels(others)
    covering = next(each for each in _QUEUE_COSTS if each.reason_against(others) is None)
    return covering.predict(others)[0].value


def end_to_end_cost(scenario: Scenario) -> float:
    """The control cost with those of staleness and bytes, where the conditions of `COST` hold.

    ``staleness × weighted_obsolescence``, the price of the bytes, and the cost of the queue,
    avrachenkov2011 (2).
    """
    cost = queue_cost(scenario) + _cost_of_bytes(scenario)
    if scenario.prices.staleness:
        rates = present(exact_method(scenario)).rates(scenario)
        cost += scenario.prices.staleness * float(accessed_pages(scenario).weights @ rates)
    return cost


def _cost_of_bytes(scenario: Scenario) -> float:
    price = scenario.prices.delivered_byte
    return price * present(bytes_before_buffer(scenario)) if price else 0.0


@dependent
def _staleness_known(scenario: Scenario) -> str | None:
    """One of the exact methods covers it, where staleness has a price."""
    return some_exact_method(scenario) if scenario.prices.staleness else None


@dependent
def _bytes_known(scenario: Scenario) -> str | None:
    """What its accesses fetch is known, where bytes have a price."""
    known = not scenario.prices.byte or bytes_before_buffer(scenario) is not None
    return None if known else "[costs] prices bytes, and how many are fetched is not known"


COST = exact_row(
    number="end-to-end cost",
    quantity="control cost with the price of staleness, or of bytes",
    latex=r"J_{\mathrm{end}}=J+c_{\mathrm{stale}}\sum_ic_ir_i+c_{\mathrm{byte}}\,b",
    function=end_to_end_cost,
    conditions=(
        *own.PATH,
        conditions.pages_priced,
        _staleness_known,
        _bytes_known,
        _queue_cost_known,
    ),
    evaluate=lambda scenario: [("control_cost", None, end_to_end_cost(scenario))],
)
"""The row of the control cost end to end."""


def approximate_cost(scenario: Scenario) -> float:
    """The same with approximate obsolescence rates, where `APPROXIMATE_COST` covers a scenario."""
    row = present(approximation_of(scenario))
    stale = next(value for measure, _, value in row.evaluate(scenario) if measure == _STALE)
    cost = queue_cost(scenario) + _cost_of_bytes(scenario)
    return cost + scenario.prices.staleness * stale


APPROXIMATE_COST = approximation_row(
    number="end-to-end cost, approximately",
    quantity="control cost with the price of an approximate staleness",
    latex=r"J_{\mathrm{end}}\approx J+c_{\mathrm{stale}}\sum_ic_ir_i+c_{\mathrm{byte}}\,b",
    function=approximate_cost,
    conditions=(
        *own.PATH,
        conditions.staleness_priced,
        no_exact_method,
        some_approximation,
        _bytes_known,
        _queue_cost_known,
    ),
    evaluate=lambda scenario: [("control_cost", None, approximate_cost(scenario))],
)
"""The row of the control cost where the staleness has only an approximation."""


def prices_pages(scenario: Scenario) -> bool:
    """Whether the cost of a scenario goes end to end: staleness has a price, or bytes."""
    return scenario.buffer is not None and conditions.pages_priced(scenario) is None


def require_prices(scenario: Scenario) -> None:
    """Nothing, for a pipeline that prices something.

    Raises
    ------
    NoOptimumError
        If a scenario of pages and a buffer prices nothing: it says what to add.
    """
    if scenario.buffer and scenario.model.pages and not scenario.costs.model_fields_set:
        added = "for the freshness of the index add [costs] staleness = 1"
        raise NoOptimumError(f"there are no [costs]; {added} (--set costs.staleness=1)")


def own_criterion(scenario: Scenario) -> tuple[Scenario, str]:
    """The scenario with the papers' criterion alone, and that criterion in words.

    The file's prices without that of staleness; where there are none, loss and starvation with
    the gamma ``(K + 2) / K`` of talim2001, Table 1.
    """
    others = _of_queue_alone(scenario)
    names = _priced_names(others)
    if names:
        return others, f"{' and '.join(names)} alone"
    capacity = buffer_of(scenario).capacity
    gamma = (capacity + 2) / capacity
    prices = {"costs.loss": 1.0, "costs.starvation": gamma}
    return others.with_(prices), f"loss and {gamma:.4g} starvation alone (talim2001)"


def cost_of(scenario: Scenario) -> float:
    """The cost end to end, also of no robot at all; NaN where there is no response to price.

    Where staleness has no price, that of a queue whose copies of a page leave together.

    Raises
    ------
    NoOptimumError
        If it has no exact value.
    """
    if scenario.activation is not None and own.some_robot_delivers(scenario) is not None:
        return cost_of_no_robot(scenario)
    priced = prices_pages(scenario)
    reason = (COST if priced else LABELLED_COST).reason_against(scenario)
    if reason is None:
        return end_to_end_cost(scenario) if priced else queue_cost(scenario)
    if scenario.prices.staleness and exact_method(scenario) is None:
        reason = f"no exact method covers its obsolescence rates: {nearest_reason(scenario)}"
        others = _against_queue_cost(scenario) if priced else None
        said = [each for each in (others or "").split("; ") if each and each not in reason]
        reason = "; ".join([reason, *said])
    raise NoOptimumError(f"through the buffer: {reason}")


def approximate_cost_of(scenario: Scenario) -> float:
    """As `cost_of`, and approximate where the staleness has no exact value.

    Raises
    ------
    NoOptimumError
        If `solve` shows no approximation of it either.
    """
    try:
        return cost_of(scenario)
    except NoOptimumError:
        reason = APPROXIMATE_COST.reason_against(scenario)
        if reason is not None:
            raise NoOptimumError(reason) from None
    return approximate_cost(scenario)


def cost_of_no_robot(scenario: Scenario) -> float:
    """The cost while nothing is ever fetched: always empty, every page that changes is stale."""
    if scenario.prices.response:
        return math.nan
    pages = accessed_pages(scenario)
    stale = float(pages.weights @ (pages.change_rates > 0))
    prices = scenario.prices
    return prices.starvation + prices.standing + prices.staleness * stale


def more_than(cost: float | None, best: float | None) -> float | None:
    """Per cent of a cost above the best; 0 where only rounding sets them apart."""
    if cost is None or best is None or math.isnan(cost):
        return None
    if abs(cost - best) <= _ALIKE * abs(best):
        return 0.0
    return 100.0 * (cost / best - 1.0) if best else math.inf


def more_may_be_better(most: int, scenario: Scenario) -> list[str]:
    """What is said of a decision that uses all robots at some level; nothing of fewer."""
    if most < accessed_pages(scenario).robots.available:
        return []
    all_of_them = "1 robot is all that is" if most == 1 else f"{most} robots are all that are"
    return [f"{all_of_them} available; more may be better (robots.available)"]


def said_more(cost: float, best: float) -> str:
    """A cost, and how far it is above the best, in words."""
    more = more_than(cost, best)
    if more is None:
        return "no cost"
    if more == 0.0:
        return f"{cost:.6g}, the same"
    return f"{cost:.6g}, {more:.3g} % more" if math.isfinite(more) else f"{cost:.6g}, more"


class Alone(NamedTuple):
    """The decision that is best by the papers' criterion, and what it costs end to end.

    Attributes
    ----------
    criterion : str
        In words.
    decision : mapping
        As an optimiser hands it back.
    cost : float
        NaN where it has none.
    proved : bool
        Whether nothing is better by the papers' criterion.
    """

    criterion: str
    decision: Any
    cost: float
    proved: bool = True

    @property
    def words(self) -> str:
        """The decision and the criterion."""
        decided = ", ".join(f"{key} = {value}" for key, value in self.decision.items())
        best = "best by" if self.proved else "best found by"
        return f"{decided}, {best} {self.criterion}"

    @property
    def short(self) -> tuple[str, float]:
        """The criterion without its source, and the cost: for a figure."""
        return self.criterion.partition(" (")[0], self.cost

    def note(self, best: float) -> str:
        """In words, beside the best cost."""
        return f"{self.words}: {said_more(self.cost, best)}"


def price_of_alone(
    scenario: Scenario, optimise: Callable[[Scenario], Optimum], cost_of: CostOf
) -> tuple[Alone | None, str]:
    """The decision by the papers' criterion with its cost end to end, or why there is none."""
    plain, criterion = own_criterion(scenario)
    try:
        best = optimise(plain.with_("activation", None))
        cost = cost_of(scenario.with_(best.changes))
    except NoAnswerError as reason:
        return None, f"what is best by {criterion} is not known: {reason}"
    return Alone(criterion, best.decision, cost, best.proved is not False), ""
