"""talim2001, computed anew."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure as Drawing

from analytic.index.optimum import Best
from analytic.index.targets import optimize
from analytic.indexing_queue import mm1k_levels
from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.robot_modes import Modes
from analytic.robot_control import static_cost, switching_curves
from analytic.robot_control.optimal_targets import solved
from analytic.robot_control.switched_queue import Levels, Measures, SwitchedQueue
from analytic.robot_control.switching import best_switching
from analytic.robot_control.target_rules import measures_of_targets
from crawlsim.report import plot_switching_policy
from papers import talim_process
from papers.computed import Experiment, Figure, Number, agreed
from papers.talim_process import Process
from scenarios import Scenario, load
from scenarios.arrays import IntArray
from scenarios.sections import Costs

SERVICE = 1.0
MANY = 4
FIGURE_PRICES = {2: 1.0, 3: 1.4, 4: 2.0}
"""Price of starvation of each figure."""

Row = dict[str, Any]


class Printed(NamedTuple):
    """A row of both tables as it is printed; the last five columns are those of Table 2."""

    access: float
    capacity: int
    price: float
    C_s: str
    N_s: str
    C_d: str
    N_min: str
    mean: str
    N_iter: str
    gain: str
    C_d2: str
    N_min2: str
    mean2: str
    N_max2: str
    gain2: str


PRINTED = [
    Printed(float(each[0]), int(each[1]), float(each[2]), *each[3:])
    for each in map(
        str.split,
        """
0.01 5 0.4   0.17541 73   0.16804 57 70.3 1634 4     0.16595 58 74.8 82 6
0.01 5 1.4   0.40000 100  0.38336 86 95.1 1911 4     0.37886 88 99.9 115 6
0.01 5 2.4   0.53834 114  0.51746 101 108.4 2051 4   0.51179 103 113.0 133 5
0.01 10 0.4  0.10207 86   0.09062 60 82.6 1794 13    0.08124 62 89.3 105 27
0.01 10 1.2  0.20000 100  0.17534 77 94.1 1939 14    0.15876 78 99.6 123 26
0.01 10 2.4  0.28347 110  0.24798 88 102.3 2039 14   0.22777 89 107.1 137 24
0.01 15 0.4  0.07177 91   0.05891 58 87.7 1860 22    0.04236 59 94.9 118 69
0.01 15 1.13 0.13313 100  0.10720 70 94.5 1953 24    0.07812 71 99.8 131 70
0.01 15 2.4  0.19192 107  0.15342 78 99.7 2024 25    0.11493 79 103.6 143 67
0.05 5 0.4   0.17578 15   0.15127 7 13.8 338 16      0.13770 7 15.9 20 28
0.05 5 1.4   0.40000 20   0.34733 12 17.7 391 15     0.31712 13 19.8 27 26
0.05 5 2.4   0.53841 23   0.46583 15 20.2 422 16     0.43292 16 21.9 32 24
0.05 10 0.4  0.10220 17   0.08308 5 16.2 369 23      0.04128 5 19.0 29 148
0.05 10 1.2  0.20000 20   0.14955 8 18.2 402 34      0.12020 8 19.9 33 66
0.05 10 2.4  0.28347 22   0.20541 10 19.4 423 38     0.20541 10 20.6 36 38
0.05 15 0.4  0.07184 18   0.05514 4 17.4 401 30      0.00969 2 19.8 35 641
0.05 15 1.13 0.13313 20   0.09117 6 18.7 426 46      0.01818 4 20.0 38 632
0.05 15 2.4  0.19372 21   0.13895 8 19.3 438 39      0.02782 6 20.1 41 596
0.1 5 0.4    0.17600 7    0.15239 1 6.5 167 15       0.11097 2 8.2 12 59
0.1 5 1.4    0.40000 10   0.32198 4 8.6 200 24       0.25924 4 9.8 16 54
0.1 5 2.4    0.54067 11   0.44989 5 9.3 211 20       0.35805 6 10.7 18 51
0.1 10 0.4   0.10403 9    0.06838 0 8.4 204 52       0.01937 0 9.7 18 437
0.1 10 1.2   0.20000 10   0.13854 2 9.0 218 44       0.03887 1 9.9 20 415
0.1 10 2.4   0.28347 11   0.18585 3 9.6 227 53       0.05894 2 10.1 22 381
0.1 15 0.4   0.07184 9    0.05326 0 8.7 312 35       0.00188 0 10.0 24 3721
0.1 15 1.13  0.13313 10   0.08538 1 9.3 359 56       0.00368 0 10.0 25 3518
0.1 15 2.4   0.19458 11   0.09606 1 9.7 376 103      0.00585 0 10.0 27 3226
""".strip().splitlines(),
    )
]


_PLACES, _ROBOTS, _ACCESS = 5, 16, 0.1
"""The system of Figures 2 to 4."""

_COLUMNS = {
    1: ("C_s", "N_s", "C_d", "N_min", "N_mean", "N_iter", "gain"),
    2: ("C_s", "N_s", "C_d", "N_min", "N_mean", "N_max", "gain"),
}


# --- the tables -----------------------------------------------------------------------------------


def queue(access: float, capacity: int, available: int) -> SwitchedQueue:
    """The paper's queue, with mean service time 1."""
    service = PhaseLaw(np.ones(1), np.array([[-SERVICE]]))
    return SwitchedQueue(Levels(service, 0.0, capacity), Modes((access,), (available,)))


def optimum(system: SwitchedQueue, price: float) -> Best[IntArray]:
    """The optimal rule for a price of starvation."""
    return solved(system, system.costs(Costs(loss=1.0, starvation=price)))


def true_price(row: Printed) -> float:
    """The price behind the columns of the dynamic approach: 1.13 stands for 17/15."""
    return 17 / 15 if row.price == 1.13 else row.price


def static(row: Printed) -> tuple[int, float]:
    """N_s and C_s, at the price as printed."""
    robots = optimal_number(row.access, SERVICE, row.capacity, row.price, 10_000)
    busy = robots * row.access / SERVICE
    return robots, float(static_cost(busy, row.capacity, SERVICE, row.price))


def improvement(row: Printed, price: float, robots: int, cost: float) -> float:
    """Per cent that the static optimum costs more at a price."""
    busy = robots * row.access / SERVICE
    return 100 * (float(static_cost(busy, row.capacity, SERVICE, price)) / cost - 1)


def table_1(row: Printed, price: float, *, iterate: bool = True) -> Row:
    """A row of Table 1, at a price of starvation: as many robots as the static optimum has."""
    robots, fixed = static(row)
    system = queue(row.access, row.capacity, robots)
    found = optimum(system, price)
    measures = measures_of_targets(system, found.rule)
    result = {"C_s": fixed, "N_s": robots, "C_d": found.cost, "N_min": measures.fewest}
    result |= {"mean": measures.mean_active, "gain": improvement(row, price, robots, found.cost)}
    if iterate:
        given = talim_process.process(row.capacity, robots, row.access, price, SERVICE)
        cost, iterations = talim_process.printed_iteration(given)
        result |= {"N_iter": iterations, "stopped": cost}
    return result | {"lower": found.lower}


def table_2(row: Printed, price: float) -> Row:
    """A row of Table 2, at a price of starvation: so many robots that one more is of no use.

    N_max is the largest number with which a service may add one; the largest number that recurs is
    another.
    """
    robots, _ = static(row)
    available = robots
    while True:
        available *= MANY
        system = queue(row.access, row.capacity, available)
        found = optimum(system, price)
        if found.rule[0] < available:
            break
    measures = measures_of_targets(system, found.rule)
    adding = np.flatnonzero(switching_curves(found.rule, available).after_service >= 1)
    result = {"C_d2": found.cost, "N_min2": measures.fewest, "mean2": measures.mean_active}
    gain = improvement(row, price, robots, found.cost)
    return result | {"N_max2": int(adding[-1]), "gain2": gain, "lower2": found.lower}


def decimals(printed: str) -> int:
    """Digits behind the point."""
    return len(printed.partition(".")[2])


def agrees(value: float, printed: str) -> bool:
    """Whether a value rounds to the printed digits."""
    return abs(value - float(printed)) <= 0.5 * 10.0 ** -decimals(printed) * (1 + 1e-9)


def figure(price: float) -> Drawing:
    """A figure of the paper: where a robot is switched on at a service and at a delivery."""
    scenario = load("talim-switching").with_("costs.starvation", price)
    drawn = Drawing(figsize=(8.4, 3.0), layout="constrained")
    for ax, event in zip(drawn.subplots(1, 2), ("service", "delivery"), strict=True):
        plot_switching_policy(best_switching(scenario), event, ax)
    return drawn


def rows() -> Iterator[tuple[Printed, Row]]:
    """Every printed row with all that is recomputed for it, at the prices behind its columns."""
    for row in PRINTED:
        price = true_price(row)
        yield row, table_1(row, price) | table_2(row, price)


@cache
def _row(table: int, row: Printed) -> Row:
    """A row at its printed price of starvation."""
    if table == 1:
        return table_1(row, row.price)
    robots, fixed = static(row)
    found = table_2(row, row.price)
    return {name.removesuffix("2"): value for name, value in found.items()} | {
        "C_s": fixed,
        "N_s": robots,
    }


def _cell(table: int, row: Printed, column: str) -> float:
    return float(_row(table, row)["mean" if column == "N_mean" else column])


def cell_names() -> dict[str, tuple[int, Printed, str]]:
    """Where each cell stands: its table, row and column."""
    return {
        f"Table {table}, ({row.access:g}, {row.capacity}, {row.price:g}), {column}": (
            table,
            row,
            column,
        )
        for table, columns in _COLUMNS.items()
        for row in PRINTED
        for column in columns
    }


def _gains(table: int) -> list[float]:
    return [_cell(table, row, "gain") for row in PRINTED]


def _gain(access: float, places: int, price: float) -> float:
    row = next(row for row in PRINTED if row[:3] == (access, places, price))
    return _cell(1, row, "gain")


# --- the decision process -----------------------------------------------------------------------


@cache
def _process(price: float = 1.0, robots: int = _ROBOTS) -> Process:
    return talim_process.process(_PLACES, robots, _ACCESS, price)


@cache
def _solved(price: float = 1.0, robots: int = _ROBOTS) -> talim_process.Optimum:
    return talim_process.optimum(_process(price, robots))


def _least_cost(price: float = 1.0, robots: int = _ROBOTS) -> float:
    """By the process written out; it has to enclose the optimum of `analytic`."""
    found = _solved(price, robots)
    cost = optimum(queue(_ACCESS, _PLACES, robots), price).cost
    assert found.low - 1e-9 <= cost <= found.high + 1e-9
    return cost


def _policies_cheaper_than_the_optimum() -> float:
    """Of 200 random policies in a small system."""
    given = talim_process.process(3, 3, 0.4, 1.0)
    best = talim_process.optimum(given)
    bound = best_switching(_small()).lower_bound
    if not best.low - 1e-9 <= bound <= best.high + 1e-9:
        return math.nan
    random = np.random.default_rng(1)
    free = given.forbidden == 0
    count = 0
    for _ in range(200):
        actions = np.where(free.all(axis=0), random.integers(0, 2, free.shape[1]), free[1])
        costs = talim_process.average_cost(given, actions.astype(float))
        count += bool((costs < bound - 1e-9).any())
    return float(count)


def _small() -> Scenario:
    """Three robots, a queue of three pages, gamma = 1."""
    return load("talim-switching").with_(
        {
            "robots.available": 3,
            "robots.access_time.exponential.rate": 0.4,
            "activation.switching.targets": [3, 3, 3, 3],
            "buffer.waiting_places": 2,
            "costs.starvation": 1.0,
        }
    )


def _measured() -> Measures:
    """What the best rule does in the long run, by its targets."""
    system = queue(_ACCESS, _PLACES, _ROBOTS)
    return measures_of_targets(system, optimum(system, 1.0).rule)


def _from_every_state() -> float:
    """The largest long-run cost, over all first states, of the policy that attains (7)."""
    cost = float(talim_process.average_cost(_process(), _solved().actions).max())
    return agreed(cost, _measured().starvation + _measured().loss_rate)


def _loss_rate() -> float:
    """(8): the event rate times the share of the events that are deliveries to a full queue."""
    given = _process()
    lost = given._replace(costs=_process(0.0).costs)
    by_events = float(talim_process.average_cost(lost, _solved().actions).max())
    return agreed(by_events, _measured().loss_rate)


def _scheme_at_its_end() -> float:
    """T(h)(x), where the scheme stands still."""
    return (_solved().low + _solved().high) / 2.0


def _switched_on(price: float) -> float:
    """States in which a service or a delivery switches a robot on, in the figure's two parts."""
    found = _solved(price)
    kinds = np.array([state[2] for state in _process(price).states])
    return float(np.sum(found.actions[kinds != talim_process.FICTITIOUS]))


def _not_monotone() -> float:
    """Of 40 random systems, those in which more pages or more robots switch one on again."""
    random = np.random.default_rng(2)
    count = 0
    for _ in range(40):
        places, robots = (int(each) for each in random.integers(2, 6, 2))
        access, price = np.exp(random.uniform(-2, 1, 2)).tolist()
        given = talim_process.process(places, robots, access, price)
        found = talim_process.optimum(given)
        on = dict(zip(given.states, found.actions.tolist(), strict=True))
        for (q, r, s), action in on.items():
            if s == talim_process.FICTITIOUS or r == robots:
                continue
            fewer = [(q - 1, r, s), (q, r - 1, s)]
            count += any(action and each in on and not on[each] for each in fewer)
    return float(count)


# --- the static approach ------------------------------------------------------------------------


def critical_price(capacity: int, service: float) -> float:
    """The price of starvation at which load one is best: ``gamma(K) = mu (K + 2) / K``.

    Notes
    -----
    talim2001, Proposition 3, which compares gamma with it; the value follows from `optimal_load`'s
    condition at rho = 1, where ``m = K / 2``.
    """
    return service * (capacity + 2) / capacity


def _log_price(log_load: float, capacity: int) -> tuple[float, float]:
    """Logarithm of G at a load, and its slope by the logarithm of the load."""
    levels = np.arange(capacity + 1.0)
    probabilities = mm1k_levels(math.exp(log_load), capacity)
    # A mean near K is K less a small number: both distances are sums without cancellation.
    mean = float(probabilities @ levels)
    room = float(probabilities @ (capacity - levels)) + 1.0
    variance = float(probabilities @ (levels - mean) ** 2)
    value = (capacity + 1) * log_load + math.log(room) - math.log(mean)
    return value, (capacity + 1) * (1 - variance / (mean * room))


def optimal_load(price: float, capacity: int) -> float:
    """The load with the least static cost: the root of ``G(rho) = gamma / mu``.

    Parameters
    ----------
    price : float
        gamma / mu > 0, the price of starvation in pages lost per mean service time.
    capacity : int
        K, pages that the buffer holds, the one in service included.

    Notes
    -----
    The derivative of talim2001 (9) by rho is zero where ``gamma / mu = G(rho)``, with ``G(rho) =
    rho^(K+1) (K + 1 - m) / m`` and m the mean level of M/M/1/K. In logarithms the slope of G is
    ``(K + 1) (1 - v / (m (K + 1 - m)))`` with v the variance of the level, and ``v <= m (K - m)``:
    G increases from 0 to infinity, the root is unique, and the cost falls before it and rises
    after it. Newton steps, kept inside a bracket.
    """
    target = math.log(price)
    low = high = target / (capacity + 1)
    while _log_price(low, capacity)[0] > target:
        low -= 1.0
    while _log_price(high, capacity)[0] < target:
        high += 1.0
    at = (low + high) / 2
    for _ in range(200):
        value, slope = _log_price(at, capacity)
        low, high = (at, high) if value < target else (low, at)
        step = at + (target - value) / slope
        following = step if low < step < high else (low + high) / 2
        if abs(following - at) <= 1e-15 * max(abs(at), 1.0):
            break
        at = following
    return math.exp(at)


def optimal_number(
    access: float, service: float, capacity: int, starvation: float, available: int
) -> int:
    """The number of robots, 0 … available, with the least static cost; the smaller of two.

    Parameters
    ----------
    access, service : float
        lambda of one robot, and mu.
    capacity : int
        K, pages that the buffer holds, the one in service included.
    starvation : float
        gamma > 0, the price of starvation in units of a lost page.
    available : int
        Robots at most.

    Notes
    -----
    talim2001 (10): by `optimal_load` the cost falls up to the best load and rises after it, so that
    the best number is next to it on one side or the other.
    """
    load = optimal_load(starvation / service, capacity)
    below = math.floor(min(load * service / access, available))
    numbers = np.array([below, min(below + 1, available)])
    costs = static_cost(numbers * access / service, capacity, service, starvation)
    return int(numbers[int(np.argmin(costs))])


def _static_cost() -> float:
    """(9) for 73 robots of rate 0.01, K = 5, gamma = 0.4, against the levels of M/M/1/K."""
    cost = float(static_cost(0.73, 5, 1.0, 0.4))
    levels = mm1k_levels(0.73, 5)
    assert abs(cost - (0.4 * levels[0] + 0.73 * levels[-1])) < 1e-12
    return cost


def _outside_proposition_3(places: int | None = None) -> float:
    """Of 300 random systems, those whose best number breaks one of the proposition's bounds.

    A third of them have the price gamma(K).
    """
    random = np.random.default_rng(3)
    count = 0
    for n in range(300):
        access = float(np.exp(random.uniform(-4, 0)))
        capacity = int(random.integers(2, 20)) if places is None else places
        critical = critical_price(capacity, 1.0)
        price = critical if n % 3 == 0 else float(np.exp(random.uniform(-2, 2)))
        most = int(20 / access) + 2
        loads = np.arange(most) * access
        costs = [price, *static_cost(loads[1:], capacity, 1.0, price).tolist()]
        best = int(np.argmin(costs))
        load_ = optimal_load(price, capacity) / access
        near = {int(np.floor(load_)), int(np.ceil(load_))}
        fewest, largest = int(np.floor(1.0 / access)), int(np.ceil(1.0 / access))
        right = (price > critical or best <= largest) and (price < critical or best >= fewest)
        count += best not in near or not right
    return float(count)


def _full_load() -> float:
    """(9) at a load of one, K = 5 and gamma = 1.4, and (gamma + mu)/(K + 1)."""
    return agreed(float(static_cost(1.0, 5, 1.0, 1.4)), (1.4 + 1.0) / 6)


def _iterations(price: float) -> float:
    """Of the printed scheme until its stop; the figures do not count the one that finds it."""
    return float(talim_process.printed_iteration(_process(price))[1] - 1)


def _optimal(scenario: str, target: str, **changes: float) -> float:
    cost = optimize(
        load(scenario).with_({f"costs.{k}": v for k, v in changes.items()}), target
    ).cost
    assert cost is not None
    return cost


NUMBERS: Mapping[str, Number] = {
    "(1)": _least_cost,
    "(2)": _least_cost,
    "(3)": _least_cost,
    "(4)": _least_cost,
    "(5)": _from_every_state,
    "(6)": _policies_cheaper_than_the_optimum,
    "(7)": _scheme_at_its_end,
    "(8)": _loss_rate,
    "(9)": _static_cost,
    "(10)": lambda: float(static(PRINTED[0])[0]),
    "Lemma 1": lambda: float(len(talim_process.never_entered(_process()))),
    "Proposition 1": _from_every_state,
    "Proposition 2": _scheme_at_its_end,
    "Proposition 3": _outside_proposition_3,
    "Figure 1": partial(_least_cost, robots=2),
    **{f"Figure {n}": partial(_switched_on, price) for n, price in FIGURE_PRICES.items()},
    **{f"Figure {n}, cost": partial(_least_cost, price) for n, price in FIGURE_PRICES.items()},
    **{
        f"Figure {n}, iterations": partial(_iterations, price) for n, price in FIGURE_PRICES.items()
    },
    **{name: partial(_cell, *where) for name, where in cell_names().items()},
    "section 4, gain from 4 % to 103 %": lambda: max(_gains(1)),
    "section 4, gain from 6 % to 3226 %": lambda: max(_gains(2)),
    "section 4, gain rises with K and lambda": partial(_gain, 0.1, 15, 0.4),
    "section 3, monotone switching curves (conjecture)": _not_monotone,
    "section 5, Markov modulated input": partial(_optimal, "optimal-thresholds", "threshold"),
    "section 5, response times": partial(_optimal, "talim-switching", "switching", response=0.05),
    "section 2, fictitious event": _least_cost,
    "section 2, K > 2": partial(_outside_proposition_3, 2),
    "after (9), C(rho, gamma, K)": _full_load,
    "proof of Lemma 1": lambda: float(len(talim_process.never_entered(_process()))),
    "after (7), Proposition 5": _from_every_state,
    "Table 2, N_max": lambda: _cell(2, PRINTED[0], "N_max"),
}
EXPERIMENTS: Mapping[str, Experiment] = {}
FIGURES: Mapping[str, Figure] = {
    f"Figure {n}": partial(figure, price) for n, price in FIGURE_PRICES.items()
}
