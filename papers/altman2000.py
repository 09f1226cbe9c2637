"""altman2000, computed anew. The paper counts servers and pages from 1, words here from 0."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.optimize import brentq

from analytic.machinery.arrival_process import interval_phases
from analytic.machinery.phase_type import PhaseLaw, as_phase_type
from analytic.machinery.transforms import transform
from analytic.routing import (
    SpacingCosts,
    access_costs,
    average_loss,
    best_word,
    cyclic_distances,
    loss_costs,
    map_loss,
    non_preemptive_loss,
    phase_type_loss,
    renewal_loss,
    two_servers,
)
from analytic.routing.accesses import dependent_obsolescence
from analytic.routing.losses import gap_matrices
from analytic.routing.multimodularity import (
    atoms_of_a_cube,
    base,
    horizon_cost,
    local_minimum,
    neighbours,
    periodic_cost,
    violations,
)
from analytic.routing.words import Loss, Word
from crawlsim.report.drawing import SIMULATED, logarithmic, panel
from papers.computed import Experiment, Figure, Number, agreed
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Erlang, Exponential
from scenarios.processes import Map, Mmpp, Poisson, Renewal

_MAP = Map(D0=((-3.0, 0.5), (0.2, -1.0)), D1=((0.5, 2.0), (0.6, 0.2)))
_MMPP = Mmpp(Q=((-0.2, 0.2), (0.3, -0.3)), rates=(0.5, 3.0))
_RATE = 0.8
"""Of the services in the examples of section 5."""

_LOSSES: tuple[Loss, ...] = (
    lambda m, n: (m + 2.0) ** -n,
    lambda m, n: (1.0 + m) / n,
    lambda m, n: (1.0 + m) * n**2,
    lambda m, n: math.exp((0.3 + 0.2 * m) * n),
)
"""Convex in n, decreasing and increasing."""


def _halves(_: int, distance: int) -> float:
    return 0.5**distance


def _words(length: int) -> Iterator[Word]:
    return itertools.product((0, 1), repeat=length)


# -- costs of a horizon and of a period ------------------------------------------------------------


def _convergent() -> float:
    """e(60) of a page with change rate 1/2 and a weight as large: nearly its limit."""
    costs = access_costs(Renewal(Exponential(mean=1.0)), (0.5, 2.0), (0.5, 2.0))
    return agreed(costs.entry(0, 60), costs.entry(1, 60))


def _growing() -> float:
    """The least cost per packet of a word of up to eight, f = n² and 2 n²."""
    cost = periodic_cost(lambda m, n: (m + 1.0) * n**2)
    return min(cost(word) for n in range(2, 9) for word in _words(n) if len(set(word)) == 2)


def _linear_costs(ages: tuple[int, int] = (3, 2), packets: int = 6) -> set[float]:
    """All costs of a horizon, f = n and 2.5 n."""
    cost = horizon_cost(lambda m, n: (1.0 + 1.5 * m) * n, ages)
    return {round(cost(word), 9) for word in _words(packets)}


def _broken_on_a_horizon() -> float:
    """Failures of (5) on finite horizons of two to six packets, from three initial ages."""
    costs = (horizon_cost(loss, a) for loss in _LOSSES for a in ((1, 1), (5, 1), (2, 7)))
    return float(sum(len(violations(c, n, tolerance=1e-9)) for c in costs for n in range(2, 7)))


def _slack(server: int | None, place: tuple[Word, int, int]) -> float:
    """Of (5) for the periodic cost of one server or of both, f = 2^-n, where it fails."""
    cost = periodic_cost(lambda m, n: _halves(m, n) * (server in (None, m)))
    return next(each.slack for each in violations(cost, 4) if each[:3] == place)


def _broken_alone() -> float:
    """Failures of (5) on words of four for one server's part of the periodic cost."""
    return float(len(violations(periodic_cost(lambda m, n: _halves(m, n) * (m == 1)), 4)))


def _of_poisson(rates: Sequence[float], word: Sequence[int]) -> float:
    """Packets lost under Poisson arrivals of rate 1."""
    missed = [1 / (1 + rate) for rate in rates]
    return average_loss(word, lambda m, n: float(renewal_loss(missed[m], n)))


def _first_example() -> float:
    return agreed(float(renewal_loss(1.5 / 2.3, 3)), float(map_loss([[-1.5]], [[1.5]], 0.8, 3)))


def _losses(rates: Sequence[float], arrivals: Any = None) -> SpacingCosts:
    laws = [PhaseLaw(np.ones(1), np.array([[-rate]])) for rate in rates]
    return loss_costs(arrivals or Poisson(rate=1.0), laws)


def _best_of_three() -> float:
    """The certified optimum of three servers; NaN if it leaves one out or is not proved."""
    found = best_word(_losses((1.0, 2.0, 3.0)))
    return found.cost if found.proved and len(set(found.word)) == 3 else math.nan


def _as_good_as_always_first() -> float:
    """Words of eight packets that cost no more than always server 1 in Example 3.2, b = .01."""
    cost = horizon_cost(lambda m, n: (m + 1) * n + 0.01 * math.exp(-n) + m)
    always = cost((0,) * 8)
    return float(sum(cost(word) <= always for word in _words(8)))


def _every_second() -> float:
    """Cost per packet of the word (1, 2) in Example 3.4 with a_1 = 1, d_2 = -1/2."""
    return periodic_cost(lambda m, n: math.exp(0.5 * n) if m else n)((0, 1))


def _without_terminal(ages: tuple[int, int]) -> float:
    """Least cost of ten packets without terminal costs, f = n² and 2 n²."""

    def loss(server: int, age: int) -> float:
        return (server + 1.0) * age**2

    def paid(word: Word) -> float:
        x = list(ages)
        for server in word:
            x = [1 if m == server else age + 1 for m, age in enumerate(x)]
        return horizon_cost(loss, ages)(word) - sum(loss(m, age) for m, age in enumerate(x))

    return min(map(paid, _words(10)))


# -- multimodularity -------------------------------------------------------------------------------


def _extension(values: Mapping[Word, float], x: float, y: float) -> float:
    """The value at a point of the plane, linear in each atom: an edge from (1, 0) to (0, 1)."""
    i, j = min(int(x), 1), min(int(y), 1)
    u, v = x - i, y - j
    if u + v <= 1:
        corner, across, up = (i, j), (i + 1, j), (i, j + 1)
    else:
        corner, across, up = (i + 1, j + 1), (i, j + 1), (i + 1, j)
        u, v = 1 - u, 1 - v
    return values[corner] * (1 - u - v) + values[across] * u + values[up] * v


def _is_convex(values: Mapping[Word, float]) -> bool:
    """Whether the extension is, by all points half-way in {0, 1/2, …, 2}²."""
    points = [(i / 2, j / 2) for i in range(5) for j in range(5)]
    return all(
        2 * _extension(values, (x + u) / 2, (y + v) / 2)
        <= _extension(values, x, y) + _extension(values, u, v) + 1e-9
        for (x, y), (u, v) in itertools.combinations(points, 2)
    )


def _random_tables(number: int = 400) -> Iterator[dict[Word, float]]:
    """Tables on {0, 1, 2}², bent along the edges of the atoms, and shaken."""
    rng = np.random.default_rng(0)
    for _ in range(number):
        bends = rng.integers(-1, 4, 3)
        table: dict[Word, float] = {}
        for i, j in itertools.product(range(3), repeat=2):
            bent = bends @ ((i - 1) ** 2, (j - 1) ** 2, (i + j - 2) ** 2)
            table[i, j] = float(bent + rng.integers(0, 2) / 2)
        yield table


def _is_multimodular(table: Mapping[Word, float]) -> bool:
    return not violations(table.__getitem__, 2, highest=2)


def _multimodular_but_not_convex() -> float:
    """Tables that are only one of both."""
    return float(sum(_is_multimodular(t) != _is_convex(t) for t in _random_tables()))


def _lost_walks() -> float:
    """Walks that end above the least cost of a horizon of six packets, from every start."""
    lost = 0
    for loss, ages in itertools.product(_LOSSES, ((1, 1), (4, 2))):
        cost = horizon_cost(loss, ages)
        least = min(map(cost, _words(6)))
        lost += sum(cost(local_minimum(cost, start)) > least * (1 + 1e-9) for start in _words(6))
    return float(lost)


def _lost_walks_of_periods() -> float:
    """The same for the periodic cost of seven packets, twenty random pairs of servers."""
    rng = np.random.default_rng(4)
    lost = 0
    for _ in range(20):
        h = rng.uniform(0.05, 0.95, 2)
        cost = periodic_cost(lambda m, n, h=h: float(h[m] ** n))  # type: ignore[misc]
        least = min(map(cost, _words(7)))
        starts = itertools.islice(_words(7), 0, None, 8)
        lost += sum(cost(local_minimum(cost, start)) > least * (1 + 1e-9) for start in starts)
    return float(lost)


_TABLE: dict[Word, float] = {
    (0, 2): -1.0, (1, 2): 2.0, (2, 2): 5.0,
    (0, 1): 2.0, (1, 1): 1.0, (2, 1): 0.0,
    (0, 0): 5.0, (1, 0): 4.0, (2, 0): 3.0,
}  # fmt: skip


def _left_side() -> float:
    """``g(x + b_0) + g(x + b_1)`` at (1, 2); NaN unless (2, 1) is a local minimum only."""
    steps = base(2)[:2]
    ends = [(1 + step[0], 2 + step[1]) for step in steps]
    is_local = local_minimum(_TABLE.__getitem__, (2, 1), highest=2) == (2, 1)
    return sum(_TABLE[end] for end in ends) if is_local else math.nan


# -- arrivals --------------------------------------------------------------------------------------


def _short_gaps(arrivals: Map | Mmpp) -> float:
    """Probability of a gap of at most 1: q F(1) e in closed form, and by the integral of F."""
    C, D = gap_matrices(arrivals)
    q = interval_phases(C, D)
    closed = (np.eye(len(C)) - expm(C)) @ np.linalg.solve(-C, D)

    def density(u: float) -> float:
        return float(q @ expm(C * u) @ D.sum(axis=1))

    return agreed(float(q @ closed.sum(axis=1)), quad(density, 0, 1, epsabs=1e-12)[0])


def _outlasts(arrivals: Map | Mmpp, gaps: int) -> float:
    """Probability that a service of rate .8 outlasts so many gaps: the formula, and a chain.

    The chain is that of arrivals counted and phases until the service ends.
    """
    C, D = gap_matrices(arrivals)
    order = len(C)
    leave = np.kron(np.eye(gaps), C - _RATE * np.eye(order)) + np.kron(np.eye(gaps, k=1), D)
    into = np.zeros(order * gaps)
    into[-order:] = D.sum(axis=1)
    start = np.zeros(order * gaps)
    start[:order] = interval_phases(C, D)
    return agreed(float(map_loss(C, D, _RATE, gaps)), float(start @ np.linalg.solve(-leave, into)))


def _row_sum() -> float:
    """The row sums of F(infinity) with the factor D."""
    C, D = gap_matrices(_MAP)
    sums: Array = np.linalg.solve(-C, D).sum(axis=1)
    return agreed(float(sums[0]), float(sums[1]))


def _discount() -> float:
    """``E e^(-mu tau)`` by its density, and as q (mu I - C)^-1 D e."""
    C, D = gap_matrices(_MAP)
    q = interval_phases(C, D)

    def density(t: float) -> float:
        return math.exp(-_RATE * t) * float(q @ expm(C * t) @ D.sum(axis=1))

    return agreed(float(map_loss(C, D, _RATE, 1)), quad(density, 0, np.inf, epsabs=1e-12)[0])


def _turned_away(shape: int, preemptive: bool) -> float:
    """Packets lost of the word (1, 2, 2), MAP arrivals, Erlang services of mean 1 and 1/2."""
    lost = 0.0
    for server, distances in cyclic_distances((0, 1, 1)).items():
        law = as_phase_type(Erlang(shape=shape, mean=1.0 - 0.5 * server))
        assert law is not None
        each = (
            phase_type_loss(_MAP, law, distances).mean()
            if preemptive
            else non_preemptive_loss(_MAP, law, distances)
        )
        lost += float(each) * len(distances) / 3
    return lost


def _second_difference() -> float:
    """``f(0) - 2 f(1) + f(2)``, mu = 1, of the gaps 0, 1, 0, 1, … that begin with either."""
    f = [(math.exp(-(n // 2)) + math.exp(-((n + 1) // 2))) / 2 for n in range(3)]
    return f[0] - 2 * f[1] + f[2]


def crossing(n: int, law: Any) -> float:
    """The service rate mu_2 at which a block of n + 1 becomes as good as one of n; mu_1 = 1.

    Parameters
    ----------
    n : int
        Of a block (1, 2, …, 2).
    law : Distribution
        Of the gaps.
    """
    return float(brentq(_difference, 0.5, 1e4, args=(n, law), xtol=1e-13, rtol=1e-14))


def _difference(rate: float, n: int, law: Any) -> float:
    missed = [float(transform(law, each)) for each in (1.0, rate)]
    shorter, longer = ([0] + [1] * (size - 1) for size in (n, n + 1))
    costs = [average_loss(word, lambda m, k: missed[m] ** k) for word in (shorter, longer)]
    # Far out both differ by rounding only; near the crossing the sign is that of the difference.
    return (costs[0] - costs[1]) * n * (n + 1)


def _slow_phases() -> float:
    """The best word of rates 1 and 4 under an MMPP that hardly ever changes; by all words too."""
    bursts = Mmpp(Q=((-0.01, 0.01), (0.01, -0.01)), rates=(2 / 101, 200 / 101))
    costs = _losses((1.0, 4.0), bursts)
    every = min(costs.of(word) for n in range(1, 11) for word in _words(n))
    return agreed(two_servers(costs).cost, every)


# -- pages -----------------------------------------------------------------------------------------


def _two_pages(weight: float) -> SpacingCosts:
    """Change rates 1, constant accesses of 1; the other weight is 1."""
    return access_costs(Renewal(Deterministic(value=1.0)), (1.0, 1.0), (weight, 1.0))


def _threshold_weight() -> float:
    """The weight from which on the first page is accessed."""
    low, high = 0.1, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        used = 0 in best_word(_two_pages(middle)).word
        low, high = (low, middle) if used else (middle, high)
    return high


def _never_accessed() -> float:
    """Obsolete time in ten gaps of a page that changes at rate 1 and is never accessed."""
    costs = _two_pages(1.0)
    return horizon_cost(lambda m, n: costs.between(m, n) * (m == 1))((0,) * 9)


def _printed_cost() -> float:
    """``c(x, a)`` of section 6: k = 1, mu = .5, x = 3, exponential accesses of mean 1."""
    costs = access_costs(Renewal(Exponential(mean=1.0)), (0.5,), (0.5,))
    return agreed(costs.between(0, 3), 0.5 * 3 + (1 / 1.5) ** 3 - 1)


def _dependent_accesses() -> float:
    """Obsolescence of page 1 in the word (1, 2, 2), accesses of a MAP, change rate .8.

    By the formula, and from the chain of arrivals counted until the page changes.
    """
    word = (0, 1, 1)
    C, D = gap_matrices(_MAP)
    gap = float(interval_phases(C, D) @ np.linalg.solve(-C, np.ones(len(C))))
    fresh = (1.0 - _outlasts(_MAP, 3)) / (3.0 * _RATE * gap)
    return agreed(float(dependent_obsolescence(_MAP, (_RATE, 1.0), word)[0]), 1.0 - fresh)


_POISSON = Exponential(mean=1.0)

NUMBERS: Mapping[str, Number] = {
    "(1)": lambda: horizon_cost(_halves)((0, 1, 1)),
    "(2)": _growing,
    "(3)": _convergent,
    "(4)": lambda: float(len(_linear_costs(packets=10))),
    "(5)": _broken_on_a_horizon,
    "(6)": lambda: _of_poisson((1.0, 2.0), (0, 1)),
    "(7)": lambda: periodic_cost(lambda m, n: _halves(m, n) * (m == 0))((0, 1, 1)),
    "Example 2.1": _first_example,
    "Theorem 3.1": _best_of_three,
    "Example 3.2": _as_good_as_always_first,
    "Remark 3.3": lambda: max(_linear_costs()) if len(_linear_costs()) == 1 else math.nan,
    "Example 3.4": _every_second,
    "Example 3.5": partial(_without_terminal, (5, 1)),
    "Theorem 4.1": _multimodular_but_not_convex,
    "Theorem 4.2": _lost_walks,
    "Lemma 4.3": lambda: _slack(1, ((0, 1, 0, 0), 1, 4)),
    "Theorem 4.4": lambda: _slack(None, ((1, 1, 0, 1), 0, 3)),
    "Theorem 5.1": lambda: _short_gaps(_MMPP),
    "Lemma 5.2": lambda: _outlasts(_MMPP, 3),
    "Remark 6.1": _threshold_weight,
    "Remark 6.2": _never_accessed,
    "Figure 1": lambda: crossing(3, _POISSON),
    "section 2, non-preemptive": lambda: agreed(_turned_away(1, True), _turned_away(1, False)),
    "section 2, only exponential services": lambda: _turned_away(2, False),
    "section 4, 1 + sqrt 2": lambda: crossing(2, _POISSON),
    "section 4, n! atoms": lambda: float(len({frozenset(a) for a in atoms_of_a_cube(4)})),
    "section 4, 2^(n+1) - 2 neighbours": lambda: float(len(list(neighbours((5,) * 4, 10)))),
    "section 4, counterexample to local search": _left_side,
    "section 4, parts of g not multimodular": _broken_alone,
    "section 4, local search as a heuristic": _lost_walks_of_periods,
    "section 5, strict convexity": _second_difference,
    "section 5, g(n, mu_2)": lambda: agreed(
        _of_poisson((1.0, 4.0), (0, 1, 1)), (0.5**3 + 0.2**2 + 0.2) / 3
    ),
    "section 5.1, slow phases": _slow_phases,
    "section 5.2, F(t)": _row_sum,
    "section 5.2, transform": _discount,
    "section 5.2, cost under a MAP": lambda: _outlasts(_MAP, 3),
    "section 6, cost c(x, a)": _printed_cost,
    "section 6, dependent accesses": _dependent_accesses,
}


def _relationship() -> Drawing:
    """Figure 1."""
    ax = panel(None, "service rate of server 2", "best period")
    lengths = range(2, 8)
    at = [1.0, *(crossing(n, _POISSON) for n in lengths)]
    ax.stairs(lengths, at, baseline=None, color=SIMULATED)
    logarithmic(ax, "x")
    figure = ax.figure
    assert isinstance(figure, Drawing)
    return figure


EXPERIMENTS: Mapping[str, Experiment] = {}
FIGURES: Mapping[str, Figure] = {"Figure 1": _relationship}
