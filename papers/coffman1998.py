"""coffman1998, computed anew."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad
from scipy.stats import gamma as gamma_law

from analytic.machinery.transforms import exc, log_transform, mean_time, transform
from analytic.page_refresh import (
    best_random_shares,
    best_shares,
    cyclic_obsolescence,
    equal_spacing_bound,
    proportional_bound,
    randomized_obsolescence,
    schedule_bound,
    worst_golden_cost,
)
from analytic.page_refresh.golden import GOLDEN, golden_guarantee, many_pages_cost
from analytic.page_refresh.obsolescence import (
    crawl_rates,
    exponential_robots_obsolescence,
    interaccess_obsolescence,
)
from analytic.page_set import drawn_pages
from papers.computed import Experiment, Figure, Number, agreed
from scenarios.accessing.golden_ratio import largest_remainder
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Distribution, Exponential, Gamma, Hyperexponential
from scenarios.laws.law import Law

_RATES = np.array([0.5, 0.3, 0.1])
_CYCLE = [0, 1, 0, 2]
_LAW = Exponential(mean=1.0)
"""The example of most rows: nu = 1."""

_WEIGHTS = np.array([1.0, 3.0, 2.0])
_INSTANCES = 300
_SLACK = 1e-12


def _random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _law(random: np.random.Generator) -> Law:
    """A law of mean one: constant, exponential, or between or beyond them."""
    shape = float(np.exp(random.uniform(-1.5, 2.0)))
    return [Deterministic(value=1.0), _LAW, Gamma(shape=shape, mean=1.0)][random.integers(3)]


# --- sections 2 and 3 ---------------------------------------------------------------------------


def _never_accessed() -> float:
    """Share of the accesses of a page of small weight, under the best schedule."""
    return float(best_shares([1.0, 1.0, 1.0], [0.05, 1.0, 1.0], Deterministic(value=1.0))[0])


def _stale_by_quadrature() -> float:
    """(2): page 0 is accessed every second time; E Z over the density of the time between."""
    mean = quad(
        lambda x: (x - (1 - math.exp(-0.5 * x)) / 0.5) * gamma_law.pdf(x, 2.0), 0, 60, epsabs=1e-12
    )
    return float(mean[0] / 2.0)


def _cycle_rates() -> Array:
    return cyclic_obsolescence(_RATES, _CYCLE, _LAW)


def _mean_stale_time() -> float:
    """(5) and Lemma 3.1: mu E Z of distance 2, mu = 1/2; (X - R)^+ says the same."""
    value = float(interaccess_obsolescence([0.5], [2], _LAW)[0])
    assert abs(value / 0.5 / 2.0 - _stale_by_quadrature()) < 1e-9
    return value


def _lower_bound() -> float:
    return proportional_bound(_RATES, _LAW)


def _derivatives(shares: Array) -> Array:
    """(8) without its multiplier, for each page."""
    inverse = 1.0 / transform(_LAW, _RATES) ** (-1.0 / shares)
    factor = 1 - inverse + np.log(transform(_LAW, _RATES)) / shares * inverse
    return np.asarray(_WEIGHTS / _RATES * factor)


def _unequal_derivatives() -> float:
    found = _derivatives(best_shares(_RATES, _WEIGHTS, _LAW))
    return float(np.sum(np.abs(found / found[0] - 1.0) > 1e-9))


def _cost_of(shares: Array) -> float:
    """(7) at these shares."""
    missed = transform(_LAW, _RATES) ** (1.0 / shares)
    return float(_WEIGHTS @ (1 - shares / _RATES + shares / _RATES * missed))


def _least_cost() -> float:
    bound = schedule_bound(_RATES, _WEIGHTS, _LAW)
    assert abs(bound - _cost_of(best_shares(_RATES, _WEIGHTS, _LAW))) < 1e-12
    return bound


def _below(bound: Callable[[Array, Array, Law], float], seed: int) -> float:
    """Of random periodic schedules, those whose cost lies below a bound."""
    random = _random(seed)
    count = 0
    for _ in range(_INSTANCES):
        pages = int(random.integers(1, 5))
        cycle = [*range(pages), *random.integers(0, pages, int(random.integers(0, 8))).tolist()]
        rates = np.exp(random.uniform(-2, 1, pages))
        law = _law(random)
        stale = cyclic_obsolescence(rates, random.permutation(cycle), law)
        shares = np.bincount(cycle, minlength=pages) / len(cycle)
        count += float(rates @ stale) < bound(rates, shares, law) - 1e-9
    return float(count)


def _spaced(rates: Array, shares: Array, law: Law) -> float:
    return float(rates @ equal_spacing_bound(rates, shares, law))


def _proportional(rates: Array, shares: Array, law: Law) -> float:
    del shares
    return proportional_bound(rates, law)


def _not_schur_convex() -> float:
    """Of random distances, those that become fresher when a short one gives to a long one."""
    random = _random(5)
    count = 0
    for _ in range(_INSTANCES):
        distances = np.sort(random.integers(1, 12, 4))
        if distances[0] < 2:
            continue
        spread = distances + np.array([-1, 0, 0, 1])
        rate, law = float(np.exp(random.uniform(-2, 1))), _law(random)
        near, far = (
            interaccess_obsolescence([rate], each, law).sum() for each in (distances, spread)
        )
        count += bool(far < near * (1 - _SLACK))
    return float(count)


def _slow() -> Hyperexponential:
    return Hyperexponential(probabilities=(1 / 32, 31 / 32), rates=(1 / 32, 96.875))


def _one_later() -> float:
    """Obsolescence of a page of rate 1 accessed every time, each access taking X + 1."""
    mean = 1 / 32 * 32 + 31 / 32 / 96.875
    later = mean + 1.0
    missed = math.exp(-1.0) * float(transform(_slow(), 1.0))
    value = 1.0 - (1.0 - missed) / later
    before = float(cyclic_obsolescence([1.0], [0], _slow())[0])
    assert value < before
    return value


def _difference_of_a_rare_access() -> float:
    """Mu E X - ln(1 / h): X is 1, or 1000 with probability 1e-4."""
    rare = 1e-4
    mean = 1 - rare + rare * 1000.0
    return mean + math.log((1 - rare) * math.exp(-1.0) + rare * math.exp(-1000.0))


# --- section 4 ----------------------------------------------------------------------------------


def _series_of_choices() -> float:
    """Lemma 4.1 for rate 1/2 and share 1/2, summed over the accesses until the page's next one."""
    distances = np.arange(1, 200)
    often = 0.5 * 0.5 ** (distances - 1)
    stale = (often * interaccess_obsolescence(np.full(199, 0.5), distances, _LAW)).sum()
    value = float(stale / 0.5 / (often @ distances))
    formula = float(randomized_obsolescence([0.5], [0.5], _LAW)[0])
    assert abs(value - formula) < 1e-12
    return formula


def _gap(share: float) -> float:
    random = float(randomized_obsolescence([0.5], [share], _LAW)[0])
    return random - float(equal_spacing_bound([0.5], [share], _LAW)[0])


def _cheaper_choices() -> float:
    """Of random shares, those that cost less than the best independent choices."""
    random = _random(6)
    best = float(_RATES @ randomized_obsolescence(_RATES, _inverse_shares(), _LAW))
    costs = [
        float(_RATES @ randomized_obsolescence(_RATES, random.dirichlet(np.ones(3)), _LAW))
        for _ in range(_INSTANCES)
    ]
    return float(sum(cost < best - _SLACK for cost in costs))


def _inverse_shares() -> Array:
    """(16)."""
    inverse = 1 / transform(_LAW, _RATES) - 1
    return np.asarray(inverse / inverse.sum())


def _fresh_of_a_varying_set() -> float:
    """In the library's pages-come-and-go: one birth in two hours, 80 % of them ever known."""
    births, death = 0.5, 1 / 80
    return drawn_pages(0.8 * births, death, 0.01, 1.0).fresh / (births / death)


def _random_bound() -> float:
    """(11), against what its shares cost."""
    inverse = float((1 / transform(_LAW, _RATES) - 1).sum())
    value = float(_RATES.sum()) - inverse / (1 + inverse)
    cost = float(_RATES @ randomized_obsolescence(_RATES, _inverse_shares(), _LAW))
    assert abs(value - cost) < 1e-12
    return value


@cache
def _best_choices() -> Array:
    return best_random_shares(_RATES, _WEIGHTS, _LAW)


def _cost_of_choices() -> float:
    return float(_WEIGHTS @ randomized_obsolescence(_RATES, _best_choices(), _LAW))


def _unequal_choices() -> float:
    """(13): pages whose derivative is not that of the others, by differences of the cost."""
    step = 1e-6
    slopes = []
    for page in range(3):
        up, down = (_best_choices() + sign * step * np.eye(3)[page] for sign in (1, -1))
        costs = [_WEIGHTS[page] * _alone(page, shares[page]) for shares in (up, down)]
        slopes.append((costs[0] - costs[1]) / (2 * step))
    return float(np.sum(np.abs(np.array(slopes) / slopes[0] - 1) > 1e-6))


def _alone(page: int, share: float) -> float:
    return float(randomized_obsolescence([_RATES[page]], [share], _LAW)[0])


# --- section 5 ----------------------------------------------------------------------------------


def golden_distances(counts: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Interaccess distances of each page on a golden cycle, and how often each occurs.

    Parameters
    ----------
    counts : array_like of int, shape (pages,)
        Slots M of each page; they sum to a Fibonacci number F_k.

    Returns
    -------
    (distance, times) : ndarrays, shape (pages, 3)
        Of a page with ``F_m <= M < F_(m+1)``: distance F_(k-m) for M - F_m times, F_(k-m+1) for
        M - F_(m-1) times, F_(k-m+2) for F_(m+1) - M times. Pages without slots have zeros.

    Raises
    ------
    ValueError
        If a count is negative, or their sum is no Fibonacci number.

    Notes
    -----
    Without a list of the slots: the work is that of the pages, whatever the cycle.
    """
    given = np.asarray(counts, dtype=np.int64)
    fibonacci = [0, 1, 1]
    while fibonacci[-1] < given.sum():
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    if (given < 0).any() or fibonacci[-1] != given.sum():
        raise ValueError("counts must be >= 0 and sum to a Fibonacci number")
    k = len(fibonacci) - 1
    numbers = np.array([*fibonacci, fibonacci[-1] + fibonacci[-2]])
    accessed = given > 0
    m = np.maximum(np.searchsorted(numbers, given, side="right") - 1, 2)
    distance = np.stack([numbers[k - m], numbers[k - m + 1], numbers[k - m + 2]], axis=-1)
    times = np.stack([given - numbers[m], given - numbers[m - 1], numbers[m + 1] - given], axis=-1)
    return np.where(accessed[:, None], distance, 0), np.where(accessed[:, None], times, 0)


def golden_obsolescence(change_rates: ArrayLike, counts: ArrayLike, law: Distribution) -> Array:
    """Obsolescence rates on a golden cycle, shape (pages,): (3) from the exact distances.

    Parameters
    ----------
    change_rates : array_like, shape (pages,)
        Change rates mu.
    counts : array_like of int, shape (pages,)
        Slots of each page; they sum to a Fibonacci number.
    law : Distribution
        Law of one access time.

    Notes
    -----
    coffman1998 (3) at the distances of section 5 (`golden_distances`).
    """
    mu = np.asarray(change_rates, dtype=float)
    given = np.asarray(counts)
    distance, times = golden_distances(given)
    stale = (times * interaccess_obsolescence(mu[:, None], distance, law)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = stale / (given.sum() * mu * mean_time(law))
    return np.where(mu > 0, np.where(given > 0, rate, 1.0), 0.0)


def golden_limit(change_rates: ArrayLike, shares: ArrayLike, law: Distribution) -> Array:
    """Limit of the obsolescence rates as the golden cycle grows, shape (pages,).

    Parameters
    ----------
    change_rates, shares : array_like, shape (pages,)
        Change rates mu and access frequencies x, > 0.
    law : Distribution
        Law of one access time.

    Notes
    -----
    coffman1998, section 5: per slot, distance F_j occurs with frequency x - phi^-j, F_(j+1) with
    x - phi^(-j-1), F_(j+2) with phi^(1-j) - x. Printed is ``j = floor(ln_phi x)``; it must be
    ``j = -floor(log_phi x)`` (errata).
    """
    mu = np.asarray(change_rates, dtype=float)
    x = np.asarray(shares, dtype=float)
    j = -np.floor(np.log(x) / math.log(GOLDEN) + 1e-12).astype(int)
    fibonacci = np.array([0, 1])
    while len(fibonacci) < j.max(initial=0) + 3:
        fibonacci = np.append(fibonacci, fibonacci[-1] + fibonacci[-2])
    distance = np.stack([fibonacci[j], fibonacci[j + 1], fibonacci[j + 2]], axis=-1)
    often = np.stack([x - GOLDEN**-j, x - GOLDEN ** (-j - 1.0), GOLDEN ** (1.0 - j) - x], axis=-1)
    stale = (often * interaccess_obsolescence(mu[:, None], distance, law)).sum(axis=1)
    rate: Array = stale / (mu * mean_time(law))
    return rate


def _equal_pages() -> float:
    """Cost over optimum of 246 equal pages on 17711 slots, load 0.1, constant accesses."""
    law = Deterministic(value=1.0)
    rates = np.full(246, 0.1 / 246)
    counts = largest_remainder(np.full(246, 1 / 246), 17711)
    return float(rates @ golden_obsolescence(rates, counts, law)) / float(exc(0.1))


def _distances_beyond_three() -> float:
    """Of random cycles, pages with more than three distances, or others than are counted."""
    random = _random(7)
    count = 0
    for _ in range(50):
        counts = largest_remainder(random.dirichlet(np.ones(4)), 233)
        slots = np.arange(233) * 144 % 233
        pages = np.empty(233, dtype=int)
        pages[slots] = np.repeat(np.arange(4), counts)
        for page in range(4):
            places = np.flatnonzero(pages == page)
            gaps = np.diff(np.append(places, places[:1] + 233))
            distance, times = golden_distances(counts)
            told = np.bincount(distance[page], weights=times[page], minlength=234)
            seen = np.bincount(gaps, minlength=234)
            count += int((seen > 0).sum() > 3 or (told[1:] != seen[1:]).any())
    return float(count)


def _cost_on_a_cycle(slots: int) -> float:
    shares = np.array([0.6, 0.3, 0.1])
    counts = largest_remainder(shares, slots)
    return float(_RATES @ golden_obsolescence(_RATES, counts, _LAW))


def _limit_of_cycles() -> float:
    value = float(_RATES @ golden_limit(_RATES, [0.6, 0.3, 0.1], _LAW))
    assert abs(value - _cost_on_a_cycle(75025)) < 1e-4
    return value


def _slow_cycle_over_optimum() -> float:
    """A cycle 0 0 1 of equal pages, over the optimum 0 1, as the change rates go to 0."""
    law = Deterministic(value=1.0)
    rates = [1e-4, 1e-4]
    cycle, best = (cyclic_obsolescence(rates, slots, law).sum() for slots in ([0, 0, 1], [0, 1]))
    return float(cycle / best)


def _y(load: float) -> float:
    """Y of the proof of Corollary 5.1."""
    missed = (1 - 2 / math.sqrt(5)) * -math.expm1(-load) / load
    first = missed + (math.sqrt(5) - 1) / (2 * math.sqrt(5))
    return first * GOLDEN / math.sqrt(5) + (1 - first) * GOLDEN**2 / math.sqrt(5)


def _rising() -> float:
    """Loads of a grid at which the guarantee is more than at the load before."""
    values = [golden_guarantee(float(load)) for load in np.logspace(-3, 2, 200)]
    return float(sum(after > before * (1 + 1e-9) for before, after in itertools.pairwise(values)))


def _deliveries() -> float:
    """Of page 0 by two robots: formula, and its slots of a cycle over the time of the cycle."""
    shares = np.bincount(_CYCLE) / len(_CYCLE)
    value = float(crawl_rates(shares, Exponential(mean=0.8), 2)[0])
    return agreed(value, 2 * _CYCLE.count(0) / (len(_CYCLE) * 0.8))


NUMBERS: Mapping[str, Number] = {
    "(1)": _never_accessed,
    "(2)": _stale_by_quadrature,
    "section 2, access frequencies": _deliveries,
    "(3)": lambda: float(_cycle_rates()[0]),
    "(4)": lambda: float(_WEIGHTS @ _cycle_rates()),
    "(5)": _mean_stale_time,
    "(6)": _lower_bound,
    "(7)": _least_cost,
    "(8)": _unequal_derivatives,
    "(9)": lambda: float(best_shares(_RATES, _WEIGHTS, _LAW).sum()),
    "(10)": lambda: float(best_shares(_RATES, _RATES, _LAW)[0]),
    "(11)": _random_bound,
    "(12)": _cost_of_choices,
    "(13)": _unequal_choices,
    "(14)": lambda: float(_best_choices().sum()),
    "(15)": lambda: float(best_random_shares([1.0, 1.0], [0.05, 1.0], _LAW)[0]),
    "(16)": lambda: float(_inverse_shares()[0]),
    "(17)": lambda: float(many_pages_cost(1.0)),
    "(18)": lambda: worst_golden_cost(1.0)[0],
    "(19)": lambda: golden_guarantee(1e-9),
    "Theorem 3.1": _one_later,
    "Lemma 3.1": _mean_stale_time,
    "Theorem 3.2": _not_schur_convex,
    "Theorem 3.3": lambda: _below(_spaced, 3),
    "Theorem 3.4": lambda: _below(_proportional, 4),
    "Lemma 4.1": _series_of_choices,
    "Theorem 4.1": _cheaper_choices,
    "Theorem 5.1": _equal_pages,
    "Corollary 5.1": lambda: golden_guarantee(1e-9),
    "abstract, within 5 %": lambda: 100.0 * (golden_guarantee(1e-9) - 1.0),
    "after Lemma 3.1, Laplace-transform order": lambda: float(
        cyclic_obsolescence([1.0], [0], Deterministic(value=1.0))[0]
    ),
    "after Lemma 4.1, f to 0": lambda: _gap(1e-4) / 1e-8,
    "after Lemma 4.1, f to 1": lambda: _gap(1 - 1e-5) / 1e-5,
    "after Theorem 3.4, frequencies proportional to change rates": lambda: float(
        best_shares(np.full(3, 0.5), np.full(3, 0.5), _LAW)[0]
    ),
    "after Theorem 3.4, difference large if Var(X) is large": _difference_of_a_rare_access,
    "section 3, majorization and Schur convexity": _not_schur_convex,
    "section 5, j": lambda: float(-math.floor(math.log(0.17, GOLDEN))),
    "section 5, three distances": _distances_beyond_three,
    "section 5, C(gamma(k, N))": lambda: _cost_on_a_cycle(233),
    "section 5, limit of C(gamma(N))": _limit_of_cycles,
    "section 5, cyclic policies as mu to 0": _slow_cycle_over_optimum,
    "proof of Corollary 5.1, y < 1": lambda: _y(1.0),
    "proof of Corollary 5.1, H decreasing": _rising,
    "section 6, several robots": lambda: float(
        exponential_robots_obsolescence(_RATES, _CYCLE, 2.0, 2)[0]
    ),
    "section 6, varying set of pages": _fresh_of_a_varying_set,
    "end of section 3": _random_bound,
    "notation, ln(h)^-1": lambda: float(log_transform(_LAW, 0.5)),
}
EXPERIMENTS: Mapping[str, Experiment] = {}
FIGURES: Mapping[str, Figure] = {}
