"""talim2001, computed anew."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, partial

import numpy as np

from analytic.indexing_queue import mm1k_levels
from analytic.robot_control import static_cost
from analytic.robot_control.switching import best_switching
from analytic.robot_control.target_rules import RuleMeasures, measures_of_targets
from analytic.targets import optimize
from papers import talim_process, talim_tables
from papers.best_load import critical_price, optimal_load
from papers.computed import Experiment, Figure, Number, agreed
from papers.printed_iteration import printed_value_iteration
from papers.talim_process import Process
from papers.talim_tables import PRINTED, Printed, Row
from scenarios import Scenario, load

_PLACES, _ROBOTS, _ACCESS = 5, 16, 0.1
"""The system of Figures 2 to 4."""

_COLUMNS = {
    1: ("C_s", "N_s", "C_d", "N_min", "N_mean", "N_iter", "gain"),
    2: ("C_s", "N_s", "C_d", "N_min", "N_mean", "N_max", "gain"),
}


# --- the tables ---------------------------------------------------------------------------------


@cache
def _row(table: int, row: Printed) -> Row:
    """A row at its printed price of starvation."""
    if table == 1:
        return talim_tables.table_1(row, row.price)
    robots, fixed = talim_tables.static(row)
    found = talim_tables.table_2(row, row.price)
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
    cost = talim_tables.optimum(talim_tables.queue(_ACCESS, _PLACES, robots), price).cost
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
    free = ~np.isnan(given.moves[:, :, 0])
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


def _measured() -> RuleMeasures:
    """What the best rule does in the long run, by its targets."""
    system = talim_tables.queue(_ACCESS, _PLACES, _ROBOTS)
    return measures_of_targets(system, talim_tables.optimum(system, 1.0).targets)


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
    queue = talim_tables.queue(_ACCESS, _PLACES, _ROBOTS)
    return float(printed_value_iteration(queue, price).iterations - 1)


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
    "(10)": lambda: float(talim_tables.static(PRINTED[0])[0]),
    "Lemma 1": lambda: float(len(talim_process.never_entered(_process()))),
    "Proposition 1": _from_every_state,
    "Proposition 2": _scheme_at_its_end,
    "Proposition 3": _outside_proposition_3,
    "Figure 1": partial(_least_cost, robots=2),
    **{f"Figure {n}": partial(_switched_on, price) for n, price in talim_tables.FIGURES.items()},
    **{
        f"Figure {n}, cost": partial(_least_cost, price)
        for n, price in talim_tables.FIGURES.items()
    },
    **{
        f"Figure {n}, iterations": partial(_iterations, price)
        for n, price in talim_tables.FIGURES.items()
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
    f"Figure {n}": partial(talim_tables.figure, price) for n, price in talim_tables.FIGURES.items()
}
