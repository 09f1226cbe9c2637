"""The best of all rules that see the level, the arrival phase and the service phase.

avrachenkov2011 compares threshold rules and believes them to be the best; nothing there bounds what
another rule would save. Here every rule is admitted that switches robots freely and knows the state
of the queue: an average-cost Markov decision process whose states are the levels and phases. What
policy iteration finds carries bounds that hold whatever it found
(`analytic.machinery.decision_process`), and so bounds threshold rules, rules of the level and
every other one that looks at the same states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np
import scipy

from analytic.index.conditions import buffer_and_robots, fleet_of
from analytic.index.formula import Condition, dependent
from analytic.index.optimum import Best, NoOptimumError, Optimum, require
from analytic.indexing_queue.chain import QueueChain
from analytic.indexing_queue.measures import size_of, waiting_phases
from analytic.indexing_queue.policy_costs import LevelRates, level_rates
from analytic.indexing_queue.several_servers import ServersChain, count_phases
from analytic.machinery.bounds import at_most
from analytic.machinery.decision_process import DecisionProcess, evaluate, policy_iteration
from analytic.rules.searching import COVERED, chains_where_always, modes_of_numbers
from scenarios import Scenario
from scenarios.arrays import Array, IntArray

_MOST_ENTRIES = 20_000_000
"""Rates between the states under all numbers of robots that are held at a time."""

AS_GOOD = 1e-9
"""What is above the bound by less, relatively, is the best rule: what is left is rounding."""


_WHOLE_PER_CENT = 10.0
"""From here on without decimals."""

_RISING = "may use more robots at a higher level"
"""What no threshold rule does."""


def _response_free(scenario: Scenario) -> str | None:
    """The response time has no price: it is a ratio, not a cost per unit time."""
    return "the response time has a price" if scenario.prices.response else None


@dependent
def _one_phase_of_patience(scenario: Scenario) -> str | None:
    """The phases of waiting pages' patience are not part of what a rule sees."""
    if waiting_phases(scenario) == 1:
        return None
    return "the patience of waiting pages has phases, which are part of the state"


_SOLVED: tuple[Condition, ...] = (
    *COVERED,
    _response_free,
    _one_phase_of_patience,
)
"""Conditions under which the best rule of level and phases is computed."""


FreeRule = tuple[Array, ...]
"""Active robots at each level, shape (arrival phases, service phases); at level 0 one of these."""


def best_free_rule(scenario: Scenario, numbers: Sequence[int]) -> Best[FreeRule]:
    """The best rule of level, arrival phase and service phase.

    Parameters
    ----------
    scenario : Scenario
        Its [activation] is ignored.
    numbers : sequence of int
        Numbers of robots that may be active, increasing.

    Raises
    ------
    NoOptimumError
        If the cost is not that of a chain of these states, or the chain is too large.

    Notes
    -----
    avrachenkov2011, cost (2), with the rule that section 7 believes to be of threshold type left
    open. Policy iteration, the bounds by the optimality equation: Puterman, Markov Decision
    Processes (1994), section 8.5 and 11.5.
    """
    queue = queue_process(scenario, numbers)
    try:
        solution = policy_iteration(queue.process)
    except ValueError as failure:
        raise NoOptimumError(str(failure)) from None
    return Best(queue.rule(solution.policy), solution.upper, solution.lower)


def said_more(cost: float, least: float) -> str:
    """How far a cost is above the least, in words: in per cent, where that has a meaning."""
    if least <= 0:
        return f"{cost - least:.6g}"
    more = 100.0 * (cost / least - 1.0)
    return f"{more:.0f} %" if more >= _WHOLE_PER_CENT else f"{more:.2g} %"


@dataclass(frozen=True)
class QueueProcess:
    """The queue as a decision process, in which each state chooses a number of robots.

    Attributes
    ----------
    process : DecisionProcess
        The options of each state are the numbers, in their order.
    numbers : tuple of int
    order : int
        Arrival phases.
    sizes : list of int
        States of each level: arrival phases × service phases, of all busy servers together.
    """

    process: DecisionProcess
    numbers: tuple[int, ...]
    order: int
    sizes: list[int]

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.sizes) - 1

    def rule(self, policy: IntArray) -> FreeRule:
        """Robots by level, shape (arrival phases, service phases); at level 0 one service phase."""
        count = len(self.numbers)
        chosen = np.array(self.numbers)[policy - count * np.arange(len(policy))]
        levels = np.split(chosen, np.cumsum(self.sizes)[:-1])
        return tuple(each.reshape(self.order, -1) for each in levels)

    def cost_of_levels(self, robots: Sequence[int]) -> float:
        """Cost per unit time of numbers of robots by level; NaN where it depends on the start."""
        place = {number: index for index, number in enumerate(self.numbers)}
        chosen = np.repeat([place[number] for number in robots], self.sizes)
        try:
            return evaluate(self.process, self.process.first[:-1] + chosen).gain
        except ValueError:
            return nan


def queue_process(scenario: Scenario, numbers: Sequence[int]) -> QueueProcess:
    """The decision process of a queue.

    Parameters
    ----------
    scenario : Scenario
        Its [activation] is ignored.
    numbers : sequence of int
        Numbers of robots that may be active, increasing.

    Raises
    ------
    NoOptimumError
        If the cost is not that of a chain of levels and phases, or the chain is too large.
    """
    free = scenario.with_("activation", None)
    rates = level_rates(chains_of_numbers(free, numbers), free.prices)
    sizes = [len(each) for each in rates.down]
    return QueueProcess(decision_process(rates), tuple(numbers), sizes[0], sizes)


def chains_of_numbers(
    free: Scenario, numbers: Sequence[int]
) -> Sequence[QueueChain | ServersChain]:
    """The chain of a queue under each number of robots, whatever the level.

    Parameters
    ----------
    free : Scenario
        Without an [activation].
    numbers : sequence of int

    Raises
    ------
    NoOptimumError
        If the cost is not that of a chain of levels and phases, or the chain is too large.
    """
    require(_SOLVED, free)
    _, phases, _, top = size_of(free)
    buffer, _ = buffer_and_robots(free)
    modes = modes_of_numbers(fleet_of(free), numbers)
    order = modes.shape[2]
    steps = min(modes.shape[1], top + 1)
    entries = len(numbers) * top * steps * (order * count_phases(buffer.servers, phases)) ** 2
    if entries > _MOST_ENTRIES:
        raise NoOptimumError(f"its chain has {entries:.1g} rates, limit {_MOST_ENTRIES:.0e}")
    return chains_where_always(free, modes, numbers)


def runner_up(optimum: Optimum, scenario: Scenario, numbers: Sequence[int]) -> Optimum:
    """An optimum of rules that see less, with the bound of all rules and what it is above it.

    Parameters
    ----------
    optimum : Optimum
        The cheapest of some rules that switch robots freely.
    scenario : Scenario
    numbers : sequence of int
        Numbers of robots that may be active, increasing.
    """
    try:
        best = best_free_rule(scenario, numbers)
    except NoOptimumError as reason:
        unknown = f"how far the best rule of level and phases lies below is not known: {reason}"
        return replace(optimum, notes=(unknown, *optimum.notes))
    assert optimum.cost is not None
    lower = at_most(optimum.cost, best.lower)
    notes = (_above(optimum.cost, best), *optimum.notes)
    return replace(optimum, lower_bound=lower, notes=notes)


def _above(cost: float, best: Best[FreeRule]) -> str:
    """How far a cost is above that of the best rule, in words."""
    phased = any(each.size > 1 for each in best.rule)
    if cost - best.cost <= AS_GOOD * abs(best.cost):
        sees = "the level and the phases" if phased else "the level"
        return f"no rule costs less that switches robots freely by {sees}"
    own = "sees the phases of deliveries and services" if phased else _RISING
    return (
        f"{said_more(cost, best.cost)} above the best rule, which {own} and costs {best.cost:.6g}"
    )


def decision_process(rates: LevelRates) -> DecisionProcess:
    """The queue as a decision process in which each state chooses a number of robots.

    Parameters
    ----------
    rates : LevelRates
        Without a price of the response.

    Returns
    -------
    DecisionProcess
        States by level, and as the chain has them within a level; the options of each are the
        numbers, in their order.
    """
    sizes = [len(each) for each in rates.down]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    states = int(starts[-1])
    numbers = len(rates.rewards[0])
    costs = np.concatenate([each[:, :, 1].T for each in rates.rewards])
    steered = _entries(rates, starts, numbers)
    flows = np.asarray(steered.sum(axis=1)).reshape(states, numbers)
    fastest = np.where(flows.max(axis=1) > 0, flows.max(axis=1), 1.0)
    of_option = np.repeat(fastest, numbers)
    own = scipy.sparse.csr_matrix(
        (1.0 - flows.ravel() / of_option, (np.arange(states * numbers), _origins(states, numbers))),
        shape=steered.shape,
    )
    return DecisionProcess(
        costs=np.zeros(states),
        transitions=_falls(rates, starts),
        decisions=scipy.sparse.csr_matrix(scipy.sparse.diags_array(fastest)),
        first=numbers * np.arange(states + 1),
        options=scipy.sparse.csr_matrix(scipy.sparse.diags_array(1.0 / of_option) @ steered + own),
        option_costs=(costs / fastest[:, None]).ravel(),
    )


def _origins(states: int, numbers: int) -> Array:
    """The state of each option."""
    return np.repeat(np.arange(states), numbers)


def _entries(rates: LevelRates, starts: Array, numbers: int) -> scipy.sparse.csr_matrix:
    """Rates that depend on the robots, and changes of phase, shape (options, states)."""
    rows, columns, values = [], [], []
    for level, steps in enumerate(rates.up):
        for step, block in enumerate(steps):
            number, origin, target = block.nonzero()
            origins = starts[level] + origin
            targets = starts[level + step] + target
            moves = origins != targets
            rows.append((numbers * origins + number)[moves])
            columns.append(targets[moves])
            values.append(block[number, origin, target][moves])
    shape = numbers * starts[-1], starts[-1]
    where = np.concatenate(rows), np.concatenate(columns)
    return scipy.sparse.csr_matrix((np.concatenate(values), where), shape=shape)


def _falls(rates: LevelRates, starts: Array) -> scipy.sparse.csr_matrix:
    """Rates to the level below, shape (states, states)."""
    rows, columns, values = [], [], []
    for level, block in enumerate(rates.down[1:], start=1):
        origin, target = block.nonzero()
        rows.append(starts[level] + origin)
        columns.append(starts[level - 1] + target)
        values.append(block[origin, target])
    where = np.concatenate(rows), np.concatenate(columns)
    return scipy.sparse.csr_matrix((np.concatenate(values), where), shape=(starts[-1], starts[-1]))
