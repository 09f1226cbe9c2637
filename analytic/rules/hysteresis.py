"""The best thresholds with a way back of their own, where switches have a price or take a time.

A rule gives each number of robots but the least a step: the highest level at which so many stay,
and the highest one at which they come back. Numbers that are larger have lower steps. The search
begins with what the decision process of the queue would do, which also sees the phases, and knows
how many robots are active: its bound holds for every rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby
from math import isnan, nan
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from analytic.index import conditions
from analytic.index.conditions import buffer_and_robots
from analytic.index.optimum import NoOptimumError, Optimum
from analytic.indexing_queue.chain import rate_entries
from analytic.indexing_queue.hysteresis import hysteresis_chain
from analytic.indexing_queue.measures import (
    queue_measures,
    service_and_patience,
    servers_measures,
    top_level,
)
from analytic.indexing_queue.policy_costs import level_rates
from analytic.indexing_queue.several_servers import ServersChain
from analytic.indexing_queue.solution import solve_chain
from analytic.machinery.arrival_process import delivery_modes
from analytic.machinery.decision_process import DecisionProcess, policy_iteration
from analytic.machinery.progress import Progress
from analytic.machinery.refusal import NoAnswerError
from analytic.rules.free_process import chains_of_numbers, said_more
from analytic.rules.searching import allowed_numbers, descended, require_covered
from scenarios import Scenario
from scenarios.activation import Threshold
from scenarios.arrays import Array
from scenarios.model import Hysteresis, fleet_under

Step = tuple[int, int]
"""Up to which level a number of robots stays, and at which it comes back; -1: it is never used."""

Rule = tuple[Step, ...]
"""The step of each number but the least, the larger numbers last."""

Cost = Callable[[Scenario], float]

MOST_LISTED = 400
"""Rules up to which all of them are tried."""

_MOST_TRIED = 20_000
"""Rules up to which a descent goes on."""

_ALIKE = 1e-9
"""Costs that differ by less, relatively, are the same."""

_RUNS = 3
"""Numbers beyond which only whole runs of equal steps, or parts of them, are moved."""


class HysteresisPolicy(NamedTuple):
    """Numbers of robots, thresholds, the levels where they go back, and the cost per unit time.

    `gain` is what it saves, in per cent of the cost of the best single number.
    """

    robots: tuple[int, ...]
    at: tuple[int, ...]
    back: tuple[int, ...]
    cost: float
    gain: float


@dataclass(frozen=True)
class HysteresisSearch:
    """What a search has found: the best single number, the best single thresholds, the best rule.

    Attributes
    ----------
    table : tuple of HysteresisPolicy
    tried : int
        Rules whose cost was computed.
    """

    table: tuple[HysteresisPolicy, ...]
    tried: int

    @property
    def optimum(self) -> HysteresisPolicy:
        """The cheapest of them."""
        return self.table[-1]


def steps_of(top: int, *, apart: bool) -> list[Step]:
    """All steps up to a level; `apart`: also those that come back lower than they went."""
    never, always = (-1, -1), (top, top)
    inside = [(at, back) for at in range(top) for back in range(at + 1) if apart or back == at]
    return [never, *inside, always]


def _follows(lower: Step, higher: Step) -> bool:
    """Whether a number may have the one step, and the next larger one the other."""
    return higher[0] <= lower[0] and higher[1] <= lower[1]


def count_rules(numbers: int, steps: Sequence[Step]) -> float:
    """How many rules there are of so many numbers."""
    allowed = np.array([[_follows(low, high) for high in steps] for low in steps], dtype=float)
    many = np.ones(len(steps)) if numbers > 1 else np.ones(1)
    for _ in range(numbers - 2):
        many = allowed @ many
    return float(many.sum())


def all_rules(numbers: int, steps: Sequence[Step]) -> Iterator[Rule]:
    """All of them."""

    def longer(rule: Rule) -> Iterator[Rule]:
        if len(rule) == numbers - 1:
            yield rule
            return
        for step in steps:
            if not rule or _follows(rule[-1], step):
                yield from longer((*rule, step))

    return longer(())


def as_thresholds(rule: Rule, numbers: Sequence[int], top: int) -> Hysteresis:
    """A rule as a file writes it; numbers that are never active are left out."""
    used = [index for index, (at, _) in enumerate(rule) if at >= 0]
    place = used[-1] + 1 if used else 0
    robots, at, back = [numbers[place]], [], []
    while place > 0 and rule[place - 1][0] < top:
        step = rule[place - 1]
        while place > 0 and rule[place - 1] == step:
            place -= 1
        robots.append(numbers[place])
        at.append(step[0])
        back.append(step[1])
    return Hysteresis(tuple(robots), tuple(at), tuple(back), None)


def between(lower: Sequence[int], upper: Sequence[int], numbers: Sequence[int]) -> Rule:
    """The rule that keeps robots between two numbers at each level, as well as one can.

    Neither increases then with the level, and an empty system has the upper one.
    """
    most = np.minimum.accumulate(upper)
    least = np.minimum(np.minimum.accumulate(lower), most)
    least[0] = most[0]
    return tuple(
        (int((most >= number).sum()) - 1, int((least >= number).sum()) - 1)
        for number in numbers[1:]
    )


def moved(rule: Rule, steps: Sequence[Step], *, both: bool) -> Iterator[Rule]:
    """Other steps for some numbers that follow one another.

    All of them, or, if not `both`, those that change one of the two levels, or have no gap.
    """
    starts = [0]
    for _, run in groupby(rule):
        starts.append(starts[-1] + len(list(run)))
    edges = range(len(rule) + 1) if len(rule) <= _RUNS else starts
    for first in edges:
        for last in edges:
            if first >= last:
                continue
            for step in steps:
                here = rule[first]
                near = step[0] in (here[0], step[1]) or step[1] == here[1]
                if not (both or near):
                    continue
                fits = first == 0 or _follows(rule[first - 1], step)
                if fits and (last == len(rule) or _follows(step, rule[last])):
                    yield (*rule[:first], *[step] * (last - first), *rule[last:])


class Found(NamedTuple):
    """The cheapest rule of a search, its cost, and whether all rules were tried."""

    rule: Rule
    cost: float
    proved: bool


def cheapest(
    numbers: int,
    steps: Sequence[Step],
    costs: Callable[[Sequence[Rule]], Array],
    starts: Iterable[Rule],
    most: int = MOST_LISTED,
) -> Found:
    """The cheapest rule: of all of them where they are few, else what descents find.

    Parameters
    ----------
    numbers : int
        How many numbers of robots there are.
    steps : sequence of Step
    costs : callable
        From rules to their costs; nan where there is none.
    starts : iterable of Rule
        Where descents begin, beside the best rule in which all numbers have one step.
    most : int
        Rules up to which all of them are tried.

    Raises
    ------
    NoOptimumError
        If no rule has a cost.
    """
    if count_rules(numbers, steps) <= most:
        rules = list(all_rules(numbers, steps))
        paid = costs(rules)
        if np.isnan(paid).all():
            raise NoOptimumError("no policy has a cost")
        least = float(np.nanmin(paid))
        index = int(np.argmax(paid <= least + _ALIKE * abs(least)))
        return Found(rules[index], float(paid[index]), True)
    alike = [(step,) * (numbers - 1) for step in steps]
    if len(alike) > most:
        alike = [rule for rule in alike if rule[0][0] == rule[0][1]]
    paid = costs(alike)
    if not np.isnan(paid).all():
        starts = [alike[int(np.nanargmin(paid))], *starts]
    both = len(steps) <= most
    moves = [partial(moved, steps=steps, both=both)]
    ends = [descended(start, moves, costs) for start in dict.fromkeys(starts)]
    known = [end for end in ends if not isnan(end[1])]
    if not known:
        raise NoOptimumError("no policy has a cost")
    rule, cost = min(known, key=lambda end: end[1])
    return Found(rule, cost, False)


# --- of a scenario ------------------------------------------------------------------------------


class _Bounded(NamedTuple):
    """What every rule costs at least, and rules to begin with."""

    lower: float
    starts: list[Rule]


def bounded(scenario: Scenario, numbers: Sequence[int], top: int) -> _Bounded:
    """By the decision process whose states are those of the queue and the active robots.

    Raises
    ------
    NoOptimumError
        If the queue has no such process, or too large a one.

    Notes
    -----
    After each event the number of robots is chosen anew, and paid for (Puterman, Markov Decision
    Processes, 1994, section 8.5). Robots that take a time to start cost no less than those that do
    not, so that the bound holds for them too.
    """
    free = scenario.with_({"activation": None, "costs.switch": None})
    chains = chains_of_numbers(free, numbers)
    price = scenario.prices.switch
    states = chains[0].states
    count = len(numbers)
    rewards = level_rates(chains, free.prices).rewards
    costs = np.concatenate([each[:, :, 1] for each in rewards], axis=1)
    rows, columns, rates = [], [], []
    for index, chain in enumerate(chains):
        entries = rate_entries(chain)
        moves = entries.rows != entries.columns
        rows.append(index * states + entries.rows[moves])
        columns.append(index * states + entries.columns[moves])
        rates.append(entries.rates[moves])
    shape = count * states, count * states
    events = csr_matrix(
        (np.concatenate(rates), (np.concatenate(rows), np.concatenate(columns))), shape
    )
    here = np.arange(count * states)
    options = (here % states)[:, None] + states * np.arange(count)
    more = np.maximum(np.subtract.outer(np.array(numbers), np.array(numbers)), 0).T
    process = DecisionProcess(
        costs=costs.ravel(),
        transitions=csr_matrix(shape),
        decisions=events,
        first=count * np.arange(count * states + 1),
        options=csr_matrix(
            (np.ones(options.size), (np.arange(options.size), options.ravel())),
            (options.size, count * states),
        ),
        option_costs=price * np.repeat(more, states, axis=0).ravel().astype(float),
    )
    try:
        solution = policy_iteration(process)
    except ValueError as failure:
        raise NoOptimumError(str(failure)) from None
    chosen = np.array(numbers)[(solution.policy - process.first[:-1]).reshape(count, states)]
    levels = np.split(chosen, chains[0].starts[1:-1], axis=1)
    middle = [np.sort(each, axis=1)[:, each.shape[1] // 2] for each in levels]
    lower, upper = [int(each[0]) for each in middle], [int(each[-1]) for each in middle]
    from_above = between(lower, upper, numbers)
    from_below = between(lower, [min(lower[0], each) for each in upper], numbers)
    return _Bounded(solution.lower, [from_above, from_below])


def by_chain(scenario: Scenario) -> Callable[[Hysteresis], float]:
    """The cost of a rule by its chain, whose parts are made once; start-ups are the scenario's."""
    buffer, robots = buffer_and_robots(scenario)
    modes = delivery_modes(fleet_under(robots), robots.available)
    laws = service_and_patience(scenario)
    rule = scenario.activation
    law = rule.start_up if isinstance(rule, Threshold) else None
    prices = scenario.prices
    ordered = conditions.first_come_first_served(scenario) is None and prices.response > 0

    def cost(rule: Hysteresis) -> float:
        given = replace(rule, start_up=law)
        chain = hysteresis_chain(modes, given, *laws, buffer.capacity, buffer.admission)
        if buffer.servers > 1:
            servers = ServersChain(chain, buffer.servers, conditions.timer_rate(scenario))
            rows = servers_measures(servers, prices, ordered=ordered)
        else:
            rows = queue_measures(chain, solve_chain(chain).stationary, prices, ordered=ordered)
        return next(value for name, _, value in rows if name == "control_cost")

    return cost


def with_rule(scenario: Scenario, rule: Hysteresis) -> Scenario:
    """The scenario under a rule; robots take as long to start as before."""
    return scenario.with_("activation", activation_of(scenario, rule))


def activation_of(scenario: Scenario, rule: Hysteresis) -> dict[str, object]:
    """The table of a rule; robots take as long to start as under the scenario's own."""
    table: dict[str, object] = {
        "threshold": {"robots": list(rule.robots), "at": list(rule.at), "back": list(rule.back)}
    }
    given = scenario.as_file().get("activation", {}).get("start_up")
    return table if given is None else table | {"start_up": given}


def counts_switches(scenario: Scenario) -> bool:
    """Whether switches have a price, or take a time."""
    rule = scenario.activation
    starts = isinstance(rule, Threshold) and rule.start_up is not None
    return scenario.prices.switch > 0 or starts


def best_hysteresis(
    scenario: Scenario, cost: Cost | None = None, *, with_none: bool = False
) -> Optimum:
    """The best thresholds with a way back of their own, and what they save.

    Parameters
    ----------
    scenario : Scenario
        Of its [activation] the time of a start-up counts, and whether 0 is among its numbers.
    cost : callable, optional
        Of a scenario under a rule; by the chain of the queue where it is left out.
    with_none : bool
        Whether no robot at all may be a number, whatever the file says.

    Raises
    ------
    NoOptimumError
        If the cost has no exact value, or no rule has one.
    """
    numbers = allowed_numbers(scenario)
    if with_none and numbers[0]:
        numbers = (0, *numbers)
    top = top_level(scenario)
    if cost is None:
        require_covered(scenario.with_("costs.switch", None))
        if (reason := conditions.known_start_up(scenario)) is not None:
            raise NoOptimumError(reason)
        value = by_chain(scenario)
    else:

        def value(rule: Hysteresis) -> float:
            return cost(with_rule(scenario, rule))

    progress = Progress(f"{scenario.name}: thresholds, policies tried")

    @cache
    def paid(rule: Rule) -> float:
        progress.step()
        if progress.done > _MOST_TRIED:
            raise NoOptimumError(f"more than {_MOST_TRIED} policies would have to be tried")
        try:
            return value(as_thresholds(rule, numbers, top))
        except ValueError:  # its steady state is not unique
            return nan

    def costs(rules: Sequence[Rule]) -> Array:
        return np.array([paid(rule) for rule in rules])

    bound: float | None = None
    starts: list[Rule] = []
    unknown = ""
    if cost is None:
        try:
            bound, starts = bounded(scenario, numbers, top)
        except NoAnswerError as reason:
            unknown = f"how far the best rule of all lies below is not known: {reason}"
    single = cheapest(len(numbers), steps_of(top, apart=False), costs, starts_of(starts))
    if bound is not None and starts:
        at_once = costs(starts)
        least = float(np.nanmin(at_once)) if not np.isnan(at_once).all() else nan
        if least - bound <= _ALIKE * abs(bound):
            found = Found(starts[int(np.nanargmin(at_once))], least, True)
        else:
            found = _apart(numbers, top, costs, [single.rule, *starts])
    else:
        found = _apart(numbers, top, costs, [single.rule])
    if single.cost - found.cost <= _ALIKE * abs(found.cost):
        found = Found(single.rule, single.cost, found.proved)
    return _optimum(scenario, numbers, (single, found), costs, (bound, unknown), progress.done)


def starts_of(starts: Sequence[Rule]) -> list[Rule]:
    """Rules to begin with whose thresholds have no gap: one for each end of those that have."""
    without = [tuple((each[end], each[end]) for each in rule) for rule in starts for end in (0, 1)]
    return list(dict.fromkeys(without))


def _apart(
    numbers: Sequence[int],
    top: int,
    costs: Callable[[Sequence[Rule]], Array],
    starts: Iterable[Rule],
) -> Found:
    return cheapest(len(numbers), steps_of(top, apart=True), costs, starts)


def _optimum(
    scenario: Scenario,
    numbers: Sequence[int],
    found: tuple[Found, Found],
    costs: Callable[[Sequence[Rule]], Array],
    bound: tuple[float | None, str],
    tried: int,
) -> Optimum:
    top = top_level(scenario)
    single, best = found
    lower, unknown = bound
    alone = [
        ((top, top),) * index + ((-1, -1),) * (len(numbers) - 1 - index)
        for index in range(len(numbers))
    ]
    fixed = costs(alone)
    number = int(np.nanargmin(np.append(fixed, np.inf)))
    base = float(fixed[number]) if number < len(numbers) else nan

    def row(rule: Rule, cost: float) -> HysteresisPolicy:
        given = as_thresholds(rule, numbers, top)
        gain = 100 * (base - cost) / base if base else nan
        return HysteresisPolicy(given.robots, given.at, given.back, cost, gain)

    rows = {} if number == len(numbers) else {alone[number]: base}
    rows |= {single.rule: single.cost}
    rows = {rule: cost for rule, cost in rows.items() if rule != best.rule} | {best.rule: best.cost}
    search = HysteresisSearch(tuple(row(*each) for each in rows.items()), tried)
    saved = single.cost - best.cost
    if saved > 0:
        given = as_thresholds(single.rule, numbers, top)
        what = f"robots = {list(given.robots)}, at = {list(given.at)}"
        notes = [
            f"hysteresis saves {100 * saved / single.cost:.2g} % of the cost of the best "
            f"thresholds without it, {what}: {single.cost:.6g}"
        ]
    else:
        notes = ["hysteresis saves nothing: the best thresholds go back where they went"]
    if lower is not None:
        lower = min(lower, best.cost)
        if best.cost - lower <= _ALIKE * abs(lower):
            notes.append("no rule costs less, of whatever it sees")
        else:
            notes.append(
                f"{said_more(best.cost, lower)} above a bound of all rules that know the active "
                "robots, the level and the phases"
            )
    notes += [unknown] * bool(unknown)
    if not best.proved:
        notes.append(f"best found: {tried} policies tried; not proved")
    notes.append("gain: per cent of the cost of the best single number")
    rule = as_thresholds(best.rule, numbers, top)
    decision = {"robots": list(rule.robots), "at": list(rule.at), "back": list(rule.back)}
    return Optimum(
        target="threshold",
        cost=best.cost,
        lower_bound=lower,
        decision=decision,
        changes={"activation": activation_of(scenario, rule)},
        table=[each._asdict() for each in search.table],
        notes=notes,
        search=search,
        proved=best.proved,
        gap=0.0 if best.proved else None,
    )
