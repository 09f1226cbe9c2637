"""The best hysteresis, that is, thresholds for switching off and for switching on again.

A rule gives each number of robots but the least a step: the highest level at which so many stay,
and the highest one at which they come back. Numbers that are larger have lower steps. The search
begins with what the decision process of the queue would do, which also sees the phases, and knows
how many robots are active: its bound holds for every rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, groupby, starmap
from math import inf, isnan, nan
from typing import Any, NamedTuple

import numpy as np
import scipy

from analytic.index import conditions
from analytic.index.conditions import buffer_and_robots
from analytic.index.optimum import NoOptimumError, Optimum
from analytic.indexing_queue.chain import rate_entries
from analytic.indexing_queue.hysteresis import threshold_chain
from analytic.indexing_queue.measures import (
    queue_measures,
    servers_measures,
    service_and_patience,
    top_level,
)
from analytic.indexing_queue.policy_costs import LevelRates, level_rates
from analytic.indexing_queue.several_servers import ServersChain, server_entries
from analytic.indexing_queue.solution import solve_chain
from analytic.machinery.bounds import at_most
from analytic.machinery.decision_process import DecisionProcess, policy_iteration
from analytic.machinery.progress import Progress
from analytic.machinery.refusal import NoAnswerError
from analytic.rules.free_process import chains_of_numbers, said_more
from analytic.rules.searching import (
    allowed_numbers,
    cost_of_none,
    descended,
    modes_of_numbers,
    require_covered,
)
from scenarios import Scenario
from scenarios.activation import Threshold
from scenarios.arrays import Array, IntArray
from scenarios.model import Hysteresis, present

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

_LARGEST = 1e100
"""What probabilities of levels are scaled by, where they become larger."""

_MANY_MOVES = 100
"""Steps times numbers beyond which a descent tries near steps only."""

_FEW = 3
"""Numbers up to which any that follow one another are moved together."""


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
    top : int
        The highest level.
    """

    table: tuple[HysteresisPolicy, ...]
    tried: int
    top: int

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


def moved(rule: Rule, steps: Sequence[Step], *, near: bool) -> Iterator[Rule]:
    """Other steps for some numbers that follow one another; `near`: not too far from their own."""
    for first, last in _ranges(rule):
        for step in steps:
            if near and not _is_near(step, rule[first], steps):
                continue
            fits = first == 0 or _follows(rule[first - 1], step)
            if fits and (last == len(rule) or _follows(step, rule[last])):
                yield (*rule[:first], *[step] * (last - first), *rule[last:])


def _ranges(rule: Rule) -> Iterator[tuple[int, int]]:
    """Which numbers move together: any of few; of many those at an end of a run of one step."""
    if len(rule) <= _FEW:
        yield from combinations(range(len(rule) + 1), 2)
        return
    begin = 0
    for _, run in groupby(rule):
        end = begin + len(list(run))
        yield from ((begin, last) for last in range(begin + 1, end + 1))
        yield from ((first, end) for first in range(begin + 1, end))
        begin = end


def _is_near(step: Step, here: Step, steps: Sequence[Step]) -> bool:
    """Whether one level is another one, by a power of two, or both are; or there is no gap then."""
    if step in (steps[0], steps[-1]) or step == (here[0], here[0]):
        return True
    at, back = abs(step[0] - here[0]), abs(step[1] - here[1])
    if at and back and at != back and step[0] != step[1]:
        return False
    far = at or back
    return far > 0 and far & (far - 1) == 0


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
    moves = [partial(moved, steps=steps, near=len(steps) * (numbers - 1) > _MANY_MOVES)]
    ends = [descended(start, moves, costs) for start in dict.fromkeys(starts)]
    known = [end for end in ends if not isnan(end[1])]
    if not known:
        raise NoOptimumError("no policy has a cost")
    rule, cost = min(known, key=lambda end: end[1])
    return Found(rule, cost, False)


# --- of a scenario ------------------------------------------------------------------------------


class _Bounded(NamedTuple):
    """What every rule costs at least, if that is known, and rules to begin with."""

    lower: float | None
    starts: list[Rule]


def bounded(scenario: Scenario, numbers: Sequence[int]) -> _Bounded:
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
    starts = np.asarray(chains[0].starts)
    states = int(starts[-1])
    count = len(numbers)
    rewards = level_rates(chains, free.prices).rewards
    costs = np.concatenate([each[:, :, 1] for each in rewards], axis=1)
    rows, columns, rates = [], [], []
    for index, chain in enumerate(chains):
        entries = server_entries(chain) if isinstance(chain, ServersChain) else rate_entries(chain)
        moves = entries.rows != entries.columns
        rows.append(index * states + entries.rows[moves])
        columns.append(index * states + entries.columns[moves])
        rates.append(entries.rates[moves])
    here = np.arange(count * states)
    allowed = np.ones((count * states, count), dtype=bool)
    if numbers[0] == 0:  # with nobody active in an empty system nothing ever happens again
        stuck = np.arange(starts[1])
        allowed[here % states < starts[1], 0] = False
        rows.append(stuck)  # nobody goes there; from there on somebody is active, at once
        columns.append(stuck)
        rates.append(np.ones(len(stuck)))
    shape = count * states, count * states
    events = scipy.sparse.csr_matrix(
        (np.concatenate(rates), (np.concatenate(rows), np.concatenate(columns))), shape
    )
    of_state, number = np.nonzero(allowed)
    more = np.maximum(np.subtract.outer(np.array(numbers), np.array(numbers)), 0).T
    process = DecisionProcess(
        costs=costs.ravel(),
        transitions=scipy.sparse.csr_matrix(shape),
        decisions=events,
        first=np.concatenate([[0], np.cumsum(allowed.sum(axis=1))]),
        options=scipy.sparse.csr_matrix(
            (np.ones(len(number)), (np.arange(len(number)), of_state % states + states * number)),
            (len(number), count * states),
        ),
        option_costs=price * more[of_state // states, number].astype(float),
    )
    try:
        solution = policy_iteration(process)
    except ValueError as failure:
        raise NoOptimumError(str(failure)) from None
    chosen = np.array(numbers)[number[solution.policy]].reshape(count, states)
    levels = np.split(chosen, starts[1:-1], axis=1)
    middle = [np.sort(each, axis=1)[:, each.shape[1] // 2] for each in levels]
    lower, upper = [int(each[0]) for each in middle], [int(each[-1]) for each in middle]
    from_above = between(lower, upper, numbers)
    from_below = between(lower, [min(lower[0], each) for each in upper], numbers)
    bound = solution.lower
    if numbers[0] == 0:
        bound = min(bound, cost_of_none(free))
    return _Bounded(bound, [from_above, from_below])


def without_gap(
    scenario: Scenario, numbers: Sequence[int], costs: Callable[[Sequence[Rule]], Array]
) -> Found | None:
    """The cheapest rule that goes by the level alone, where that goes up and down by one page.

    None for other queues, and where robots take a time to start.

    Parameters
    ----------
    scenario : Scenario
    numbers : sequence of int
    costs : callable
        From rules to their costs.

    Notes
    -----
    A rule costs less than g per unit time if what it costs beyond g, times the probabilities of the
    levels, is negative; these are products of ratios of rates, so that the best numbers follow
    from the top level down (docs/theory/indexing-queue.md, "Hysteresis"). The cost of the
    rule that is found is the next g (W. Dinkelbach, Management Science 13, 1967): it falls until no
    rule costs less.
    """
    free = scenario.with_({"activation": None, "costs.switch": None})
    rule = scenario.activation
    if (isinstance(rule, Threshold) and rule.start_up is not None) or free.prices.response:
        return None
    try:
        rates = level_rates(chains_of_numbers(free, numbers), free.prices)
    except NoAnswerError:
        return None
    if any(len(up) > 2 or up[0].shape[1] > 1 for up in rates.up):
        return None
    top = rates.top
    alike = [
        ((top, top),) * used + ((-1, -1),) * (len(numbers) - 1 - used)
        for used in range(len(numbers))
    ]
    paid = costs(alike)
    if np.isnan(paid).all():
        return None
    best, cost = alike[int(np.nanargmin(paid))], float(np.nanmin(paid))
    while True:
        levels = _cheaper_than(cost, rates, np.array(numbers), scenario.prices.switch)
        found = between(levels, levels, numbers)
        if not (paid_then := float(costs([found])[0])) < cost:
            return Found(best, cost, True)
        best, cost = found, paid_then


def _cheaper_than(cost: float, rates: LevelRates, numbers: IntArray, switch: float) -> list[int]:
    """The number at each level of the rule that falls farthest below a cost, or exceeds it least.

    Numbers do not increase with the level.
    """
    beyond: Array = np.zeros(len(numbers))
    unit = 1.0
    followers = []
    for level in range(rates.top, -1, -1):
        here = (rates.rewards[level][:, 0, 1] - cost) / unit
        if level < rates.top:
            down = float(rates.down[level + 1][0, 0])
            after = beyond - down * switch * numbers / unit
            least = np.minimum.accumulate(after)
            followers.append(
                np.maximum.accumulate(np.where(after == least, np.arange(len(numbers)), 0))
            )
            up = rates.up[level][1][:, 0, 0]
            here = here + up / down * (least + down * switch * numbers / unit)
        beyond = here
        if (largest := float(np.abs(beyond).max())) > _LARGEST:
            beyond, unit = beyond / largest, unit * largest
    index = int(np.argmin(np.where(numbers > 0, beyond, np.inf)))
    chosen = [index]
    for follower in reversed(followers):
        chosen.append(int(follower[chosen[-1]]))
    return numbers[chosen].tolist()


def by_chain(scenario: Scenario) -> Callable[[Hysteresis], float]:
    """The cost of a rule by its chain, whose parts are made once; start-ups are the scenario's."""
    buffer, _ = buffer_and_robots(scenario)
    fleet = present(scenario.model.fleet).as_numbered()
    modes = modes_of_numbers(fleet, range(fleet.available + 1))
    laws = service_and_patience(scenario)
    rule = scenario.activation
    law = rule.start_up if isinstance(rule, Threshold) else None
    prices = scenario.prices
    ordered = conditions.first_come_first_served(scenario) is None and prices.response > 0

    def cost(rule: Hysteresis) -> float:
        given = replace(rule, start_up=law)
        chain = threshold_chain(modes, given, *laws, buffer.capacity, buffer.admission)
        if buffer.servers > 1:
            servers = ServersChain(chain, buffer.servers, conditions.timer_rate(scenario))
            rows = servers_measures(servers, prices, ordered=ordered)
        else:
            rows = queue_measures(chain, solve_chain(chain).stationary, prices, ordered=ordered)
        return next(value for name, _, value in rows if name == "control_cost")

    return cost


def activation_of(scenario: Scenario, rule: Hysteresis) -> dict[str, Any]:
    """The table of a rule; robots take as long to start as under the scenario's own."""
    table: dict[str, Any] = {
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
    """The best thresholds for switching off and on again, and what the hysteresis saves.

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
    tried = _Tried(_value_of(scenario, cost), numbers, top, scenario.name)
    bound, reason = _Bounded(None, []), ""
    if cost is None:
        try:
            bound = bounded(scenario, numbers)
        except NoAnswerError as failure:
            reason = f"how far the best rule of all lies below is not known: {failure}"
    single = None if cost else without_gap(scenario, numbers, tried.costs)
    if single is None:
        steps = steps_of(top, apart=False)
        single = cheapest(len(numbers), steps, tried.costs, starts_of(bound.starts))
    best = _at_the_bound(bound, tried.costs) or cheapest(
        len(numbers), steps_of(top, apart=True), tried.costs, [single.rule, *bound.starts]
    )
    if single.cost - best.cost <= _ALIKE * abs(best.cost):
        best = Found(single.rule, single.cost, best.proved)
    return _optimum(scenario, tried, single, best, bound.lower, reason)


def _value_of(scenario: Scenario, cost: Cost | None) -> Callable[[Hysteresis], float]:
    """What a rule costs: by the chain of the queue, or as the cost of a scenario."""
    if cost is not None:
        return lambda rule: cost(scenario.with_("activation", activation_of(scenario, rule)))
    require_covered(scenario.with_("costs.switch", None))
    if (reason := conditions.known_start_up(scenario)) is not None:
        raise NoOptimumError(reason)
    return by_chain(scenario)


class _Tried:
    """The costs of rules, each computed once.

    Parameters
    ----------
    value : callable
        What a rule costs, as a file writes it.
    numbers : sequence of int
    top : int
    name : str
        Of the scenario.
    """

    def __init__(
        self, value: Callable[[Hysteresis], float], numbers: Sequence[int], top: int, name: str
    ) -> None:
        self._value = value
        self.numbers = numbers
        self.top = top
        self.progress = Progress(f"{name}: thresholds, policies tried")
        self.too_large = 0
        self._known: dict[Rule, float] = {}

    def costs(self, rules: Sequence[Rule]) -> Array:
        """The costs of some rules; nan where there is none."""
        return np.array([self._paid(rule) for rule in rules])

    def as_written(self, rule: Rule) -> Hysteresis:
        """A rule as a file writes it."""
        return as_thresholds(rule, self.numbers, self.top)

    def _paid(self, rule: Rule) -> float:
        if rule not in self._known:
            self.progress.step()
            if self.progress.done > _MOST_TRIED:
                raise NoOptimumError(f"more than {_MOST_TRIED} policies would have to be tried")
            try:
                self._known[rule] = self._value(self.as_written(rule))
            except NoAnswerError:
                self._known[rule] = nan
                self.too_large += 1
            except ValueError:  # its steady state is not unique
                self._known[rule] = nan
        return self._known[rule]


def _at_the_bound(bound: _Bounded, costs: Callable[[Sequence[Rule]], Array]) -> Found | None:
    """A rule of the decision process whose cost is the bound of all rules, if there is one."""
    if bound.lower is None:
        return None
    paid = np.append(costs(bound.starts), np.inf)
    index = int(np.nanargmin(paid))
    if paid[index] - bound.lower > _ALIKE * abs(bound.lower):
        return None
    return Found(bound.starts[index], float(paid[index]), True)


def starts_of(starts: Sequence[Rule]) -> list[Rule]:
    """Rules to begin with whose thresholds have no gap: one for each end of those that have."""
    without = [tuple((each[end], each[end]) for each in rule) for rule in starts for end in (0, 1)]
    return list(dict.fromkeys(without))


def _optimum(
    scenario: Scenario,
    tried: _Tried,
    single: Found,
    best: Found,
    lower: float | None,
    reason: str,
) -> Optimum:
    """The best rule; its table has the best single number and the best thresholds beside it."""
    numbers, top = tried.numbers, tried.top
    count = len(numbers) - 1
    alone = [((top, top),) * used + ((-1, -1),) * (count - used) for used in range(count + 1)]
    fixed = np.append(tried.costs(alone), np.inf)
    number = int(np.nanargmin(fixed))
    rows = {} if number > count else {alone[number]: float(fixed[number])}
    rows[single.rule] = single.cost
    rows.pop(best.rule, None)
    rows[best.rule] = best.cost
    base = float(fixed[number])

    def row(rule: Rule, cost: float) -> HysteresisPolicy:
        given = tried.as_written(rule)
        gain = 100 * (base - cost) / base if 0 < base < inf else nan
        return HysteresisPolicy(given.robots, given.at, given.back, cost, gain)

    search = HysteresisSearch(tuple(starmap(row, rows.items())), tried.progress.done, top)
    rule = tried.as_written(best.rule)
    activation = activation_of(scenario, rule)
    bound = None if lower is None else at_most(best.cost, lower)
    notes = [_saving(tried.as_written(single.rule), single.cost, best.cost)]
    notes += [reason] * bool(reason)
    if tried.too_large:
        notes.append(f"{tried.too_large} policies left out, whose chains are too large")
    if bound is not None:
        notes.append(_above(best.cost, bound))
    proved = best.proved and not tried.too_large
    if not proved:
        notes.append(f"best found: {search.tried} policies tried; not proved")
    notes.append("gain: per cent of the cost of the best single number")
    return Optimum(
        target="threshold",
        cost=best.cost,
        lower_bound=bound,
        decision=activation["threshold"],
        changes={"activation": activation},
        table=[each._asdict() for each in search.table],
        notes=notes,
        search=search,
        proved=proved,
        gap=0.0 if proved else None,
    )


def _saving(single: Hysteresis, without: float, cost: float) -> str:
    """What hysteresis saves, in words."""
    if not without > cost:
        return "hysteresis saves nothing: the best thresholds go back where they went"
    rule = f"robots = {list(single.robots)}, at = {list(single.at)}"
    return (
        f"hysteresis saves {100 * (without - cost) / without:.2g} % of the cost of the best "
        f"thresholds without it, {rule}: {without:.6g}"
    )


def _above(cost: float, bound: float) -> str:
    """How far a cost lies above the bound of all rules, in words."""
    if cost - bound <= _ALIKE * abs(bound):
        return "no rule costs less, of whatever it sees"
    of_all = "a bound of all rules that know the active robots, the level and the phases"
    return f"{said_more(cost, bound)} above {of_all}"
