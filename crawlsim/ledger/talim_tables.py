"""Tables 1 and 2 of talim2001 as they are printed, and recomputed; Figures 2 to 4."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from analytic.phase_type import PhaseLaw
from analytic.robot_control import static_cost, switching_curves
from analytic.robot_control.optimal_targets import Solved, solved
from analytic.robot_control.switched_queue import Levels, SwitchedQueue
from analytic.robot_control.switching import best_switching
from analytic.robot_control.target_rules import measures_of_targets
from analytic.robot_modes import Modes
from crawlsim.ledger.best_load import optimal_number
from crawlsim.ledger.printed_iteration import printed_value_iteration
from crawlsim.report import plot_switching_policy
from scenarios import load
from scenarios.sections import Costs

SERVICE = 1.0
MANY = 4
FIGURES = {2: 1.0, 3: 1.4, 4: 2.0}
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


def queue(access: float, capacity: int, available: int) -> SwitchedQueue:
    """The paper's queue, with mean service time 1."""
    service = PhaseLaw(np.ones(1), np.array([[-SERVICE]]))
    return SwitchedQueue(Levels(service, 0.0, capacity), Modes((access,), (available,)))


def optimum(system: SwitchedQueue, price: float) -> Solved:
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
    measures = measures_of_targets(system, found.targets)
    result = {"C_s": fixed, "N_s": robots, "C_d": found.cost, "N_min": measures.fewest}
    result |= {"mean": measures.mean_active, "gain": improvement(row, price, robots, found.cost)}
    if iterate:
        stopped = printed_value_iteration(system, price)
        result |= {"N_iter": stopped.iterations, "stopped": stopped.cost}
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
        if found.targets[0] < available:
            break
    measures = measures_of_targets(system, found.targets)
    adding = np.flatnonzero(switching_curves(found.targets, available).after_service >= 1)
    result = {"C_d2": found.cost, "N_min2": measures.fewest, "mean2": measures.mean_active}
    gain = improvement(row, price, robots, found.cost)
    return result | {"N_max2": int(adding[-1]), "gain2": gain, "lower2": found.lower}


def decimals(printed: str) -> int:
    """Digits behind the point."""
    return len(printed.partition(".")[2])


def agrees(value: float, printed: str) -> bool:
    """Whether a value rounds to the printed digits."""
    return abs(value - float(printed)) <= 0.5 * 10.0 ** -decimals(printed) * (1 + 1e-9)


def figure(price: float) -> Figure:
    """A figure of the paper: where a robot is switched on at a service and at a delivery."""
    scenario = load("talim-switching").with_("costs.starvation", price)
    drawn = Figure(figsize=(8.4, 3.0), layout="constrained")
    for ax, event in zip(drawn.subplots(1, 2), ("service", "delivery"), strict=True):
        plot_switching_policy(best_switching(scenario), event, ax)
    return drawn


def rows() -> Iterator[tuple[Printed, Row]]:
    """Every printed row with all that is recomputed for it, at the prices behind its columns."""
    for row in PRINTED:
        price = true_price(row)
        yield row, table_1(row, price) | table_2(row, price)
