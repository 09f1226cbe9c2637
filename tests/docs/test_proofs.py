"""The statements that docs/theory/ proves, evaluated as they stand there, against the package.

Nothing of `analytic` is used on the left: only the numbers of the statement, and dense matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm, null_space

from analytic import predict, resolve
from analytic.machinery.transforms import moments
from analytic.pipeline.approximations import moment_match
from analytic.pipeline.independence import thinned_cyclic
from analytic.pipeline.patience import drop_rates
from scenarios import scenario_from
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Erlang, Exponential, Gamma, Hyperexponential

CHANGES = (0.3, 0.05)
SHARES = (0.25, 0.75)
RATE, SERVICE, PLACES = 0.8, 1.0, 3
RANDOM = {"policy": "randomized", "frequencies": list(SHARES)}


def predicted(measure: str, **sections: Any) -> list[float]:
    """What the package says of both pages of a small pipeline."""
    system = {
        "name": "small",
        "pages": {"change_rates": list(CHANGES)},
        "robots": {
            "available": 1,
            "access_time": {"exponential": {"mean": 1.0 / RATE}},
            "accessing": RANDOM,
        },
        "buffer": {
            "waiting_places": PLACES - 1,
            "service": {"exponential": {"mean": 1.0 / SERVICE}},
        },
    }
    for section, values in sections.items():
        system[section] = {**system.get(section, {}), **values}
    rows, _ = predict(resolve(scenario_from(system)))
    return [row.value for row in rows if row.measure == measure and row.subject in (0, 1)]


def chain(moves: Callable[[Any], list[tuple[float, Any]]], start: Any) -> tuple[list[Any], Array]:
    """States that are reached, and the generator."""
    states = [start]
    for state in states:
        states += [each for _, each in moves(state) if each not in states]
    generator = np.zeros((len(states), len(states)))
    for row, state in enumerate(states):
        for rate, after in moves(state):
            generator[row, states.index(after)] += rate
            generator[row, row] -= rate
    return states, generator


def stationary(generator: Array) -> Array:
    """The row p with p Q = 0 and the sum 1."""
    row = null_space(generator.T)[:, 0]
    result: Array = row / row.sum()
    return result


def queue() -> tuple[Array, Array, Array]:
    """Q and A of M/M/1/K, and the levels."""
    enters = np.diag(np.full(PLACES, RATE), 1)
    moves = enters + np.diag(np.full(PLACES, SERVICE), -1)
    return moves - np.diag(moves.sum(axis=1)), enters, np.arange(PLACES + 1)


def test_random_pages() -> None:
    generator, enters, level = queue()
    p = stationary(generator)
    rates = []
    for mu, f in zip(CHANGES, SHARES, strict=True):
        y = (SERVICE / (SERVICE + mu)) ** (level + 1)  # g = s / (s + mu), beta = 1
        system = mu * np.eye(PLACES + 1) - generator + f * enters
        rates.append(p @ np.linalg.solve(system, mu + f * enters.sum(axis=1) * (1 - y)))
    assert predicted("obsolescence_rate") == pytest.approx(rates, rel=1e-12)


def test_no_waiting_place() -> None:
    mu, f = np.array(CHANGES), np.array(SHARES)
    y = SERVICE / (SERVICE + mu)
    x = RATE * f * y / (mu + RATE - RATE * (1 - f) * y)
    fresh = (SERVICE + RATE * y) / (SERVICE + RATE) * x
    found = predicted("obsolescence_rate", buffer={"waiting_places": 0})
    assert found == pytest.approx(2 * (1 - fresh).tolist(), rel=1e-12)  # by two formulas


@pytest.mark.parametrize("discipline", ["fifo", "lifo"])
def test_timers_and_newest_first(discipline: str) -> None:
    """States: old and new waiting pages; in service nothing, an old page or a new one."""
    theta = 0.4

    def moves(state: tuple[int, int, str]) -> list[tuple[float, tuple[int, int, str]]]:
        old, new, serving = state
        if not serving:
            return [(RATE, (0, 0, "new"))]
        found = [(theta * old, (old - 1, new, serving)), (theta * new, (old, new - 1, serving))]
        if old + new + 1 < PLACES:
            found.append((RATE, (old, new + 1, serving)))
        if old and (discipline == "fifo" or not new):
            found.append((SERVICE, (old - 1, new, "old")))
        elif new:
            found.append((SERVICE, (old, new - 1, "new")))
        else:
            found.append((SERVICE, (0, 0, "")))
        return [each for each in found if each[0] > 0]

    states, generator = chain(moves, (PLACES - 1, 0, "old"))
    ends = np.zeros_like(generator)
    for row, (old, new, serving) in enumerate(states):
        if serving == "new":
            (after,) = [
                each
                for rate, each in moves((old, new, serving))
                if rate == SERVICE and sum(each[:2]) + bool(each[2]) == old + new
            ]
            ends[row, states.index(after)] = SERVICE
    falls = SERVICE + theta * np.arange(PLACES)
    levels = np.cumprod([1.0, *(RATE / falls)])
    start = np.zeros(len(states))
    start[[states.index((max(n - 1, 0), 0, "old" if n else "")) for n in range(PLACES + 1)]] = (
        levels / levels.sum()
    )
    rates = [
        start @ np.linalg.solve(mu * np.eye(len(states)) - generator + f * ends, [mu] * len(states))
        for mu, f in zip(CHANGES, SHARES, strict=True)
    ]
    buffer = {"obsolescence": {"exponential": {"rate": theta}}, "discipline": discipline}
    assert predicted("obsolescence_rate", buffer=buffer) == pytest.approx(rates, rel=1e-12)


def test_a_list_that_robots_share() -> None:
    """Two robots, three slots; the phase is the next slot and who of them fetches page 0."""
    robots, nu, slots = 2, 0.4, [True, False, False]
    mu = CHANGES[0]

    def moves(state: tuple[int, int, int]) -> list[tuple[float, tuple[int, int, int]]]:
        level, slot, held = state
        after = (slot + 1) % len(slots), held + slots[slot]
        up = min(level + 1, PLACES)
        found = [(held * nu, (up, after[0], after[1] - 1))]
        found += [((robots - held) * nu, (up, *after))]
        found += [(SERVICE, (level - 1, slot, held))] if level else []
        return [each for each in found if each[0] > 0]

    states, generator = chain(moves, (0, 2, 1))  # the robots have taken slots 0 and 1
    p = stationary(generator)
    brought = np.zeros_like(generator)
    for row, (level, slot, held) in enumerate(states):
        if level < PLACES and held:
            after = level + 1, (slot + 1) % len(slots), held + slots[slot] - 1
            brought[row, states.index(after)] = held * nu
    y = (SERVICE / (SERVICE + mu)) ** (np.array([state[0] for state in states]) + 1)
    system = mu * np.eye(len(states)) - generator + brought
    rate = p @ np.linalg.solve(system, mu + brought.sum(axis=1) * (1 - y))
    pages = {
        "available": robots,
        "access_time": {"exponential": {"mean": 1.0 / nu}},
        "accessing": {"policy": "cyclic", "template": [0, 1, 1]},
    }
    assert predicted("obsolescence_rate", robots=pages)[0] == pytest.approx(rate, rel=1e-12)
    phases: dict[tuple[int, int], Array] = {}
    for probability, (level, *phase) in zip(p, states, strict=True):
        phases.setdefault((phase[0], phase[1]), np.zeros(PLACES + 1))[level] = probability
    laws = [row / row.sum() for row in phases.values()]
    assert all(np.allclose(one, other, atol=1e-14) for one, other in pairwise(laws))


def test_one_robot() -> None:
    """Accesses of a constant time x: E exp(G X) is a matrix exponential."""
    x, mu, slots = 1.3, CHANGES[0], [True, False, False]
    silent = np.diag(np.full(PLACES, SERVICE), -1)
    silent -= np.diag(silent.sum(axis=1))
    moved = np.diag(np.ones(PLACES), 1)
    moved[-1, -1] = 1.0
    apart = expm(silent * x)
    pi = stationary(apart @ moved - np.eye(PLACES + 1))
    kept = np.exp(-mu * x) * apart
    missed = 1 - np.exp(-mu * x)
    y = (SERVICE / (SERVICE + mu)) ** (np.arange(PLACES + 1) + 1.0)
    w = [np.ones(PLACES + 1)] * len(slots)
    for _ in range(500):
        for slot in reversed(range(len(slots))):
            following = w[(slot + 1) % len(slots)]
            entered = 1 - y if slots[slot] else missed + moved @ kept @ following
            lost = missed + kept @ following
            w[slot] = np.where(np.arange(PLACES + 1) < PLACES, entered, lost)
    rate = 1 - (missed - pi @ (apart - kept) @ np.mean(w, axis=0)) / (mu * x)
    robots = {
        "access_time": {"deterministic": {"value": x}},
        "accessing": {"policy": "cyclic", "template": [0, 1, 1]},
    }
    assert predicted("obsolescence_rate", robots=robots)[0] == pytest.approx(rate, rel=1e-11)
    during = quad_matrix(lambda t: expm(silent * t), x)
    p = pi @ during / x
    system = {**robots, "access_time": {"deterministic": {"value": x}}}
    lost = (pi @ apart)[-1]
    assert [*levels_of(system)] == pytest.approx([*p, lost], rel=1e-9)


def quad_matrix(function: Callable[[float], Array], end: float) -> Array:
    """The integral of a matrix from 0 on."""
    nodes, weights = np.polynomial.legendre.leggauss(30)
    parts = [w * function(end * (1 + t) / 2) for t, w in zip(nodes, weights, strict=True)]
    result: Array = end / 2 * np.sum(parts, axis=0)
    return result


def levels_of(robots: dict[str, Any]) -> list[float]:
    """Level probabilities and the loss probability that the package gives."""
    system = {
        "name": "queue",
        "robots": {"available": 1, "access_time": robots["access_time"]},
        "buffer": {
            "waiting_places": PLACES - 1,
            "service": {"exponential": {"mean": 1.0 / SERVICE}},
        },
    }
    rows, _ = predict(resolve(scenario_from(system)))
    found = {(row.measure, row.subject): row.value for row in rows}
    levels = [found["level_probability", level] for level in range(PLACES + 1)]
    return [*levels, found["loss_probability", None]]


@pytest.mark.parametrize(
    "law",
    [
        Exponential(mean=2.0),
        Erlang(shape=3, mean=1.5),
        Deterministic(value=1.0),
    ],
)
def test_timers_of_any_law(law: Any) -> None:
    """W_w by quadrature, and θ_w = w θ where timers are exponential."""

    def alive(x: float) -> float:
        if isinstance(law, Exponential):
            return float(np.exp(-x / 2.0))
        if isinstance(law, Deterministic):
            return float(x < 1.0)
        return float(np.exp(-2 * x) * (1 + 2 * x + (2 * x) ** 2 / 2))

    def below(x: float) -> float:
        return quad(alive, 0.0, x, points=[min(x, 1.0)])[0]

    def weight(w: int) -> float:
        factorial = float(np.prod(np.arange(1, w)))
        end = 1.0 if isinstance(law, Deterministic) else 40.0

        def density(x: float) -> float:
            return float(np.exp(-SERVICE * x)) * alive(x) * below(x) ** (w - 1) / factorial

        return quad(density, 0.0, end, limit=200)[0]

    weights = [1.0, *(weight(w) for w in (1, 2, 3))]
    expected = [before / here - SERVICE for before, here in pairwise(weights)]
    found = drop_rates(law, SERVICE, 3).total[1:]
    assert found == pytest.approx(expected, rel=1e-5)
    if isinstance(law, Exponential):
        assert found == pytest.approx([0.5, 1.0, 1.5], rel=1e-5)


@pytest.mark.parametrize(
    ("law", "phases", "variation"),
    [
        (Gamma(shape=0.4, mean=2.0), 16, 2.5),
        (Gamma(shape=2.6, mean=2.0), 16, 1 / 2.6),
        (Deterministic(value=2.0), 16, 1 / 16),
        (Hyperexponential(probabilities=(0.5, 0.5), rates=(1.0, 1.0 / 3.0)), 16, 1.5),
    ],
)
def test_moment_match(law: Any, phases: int, variation: float) -> None:
    mean, second = moments(moment_match(law, phases))
    assert mean == pytest.approx(2.0, rel=1e-12)
    assert second / mean**2 - 1 == pytest.approx(variation, rel=1e-9)


def test_the_decomposition_of_a_list() -> None:
    """Distances 1 and 2 of page 0, constant accesses of 1, half of them lost, by hand."""
    mu, q = 0.3, 0.5
    h = np.exp(-mu)
    # v_1 = 1/2 + 1/2 h v_2, v_2 = 1/2 + 1/2 h² v_1
    first = (0.5 + 0.25 * h) / (1 - 0.25 * h**3)
    second = 0.5 + 0.5 * h**2 * first
    rate = 1 - ((1 - h) * second + (1 - h**2) * first) / (3 * mu)
    found = thinned_cyclic([mu, 0.1], [0, 0, 1], Deterministic(value=1.0), q)
    assert found[0] == pytest.approx(rate, rel=1e-12)


def test_the_age_of_one_page() -> None:
    rho = 0.5
    age = 1 + 1 / rho + rho**2 / (1 - rho)
    found = predicted(
        "index_age",
        pages={"change_rates": [0.1]},
        robots={
            "access_time": {"exponential": {"mean": 1 / rho}},
            "accessing": {"policy": "randomized"},
        },
        buffer={"waiting_places": 80},
    )
    assert found == pytest.approx([age], rel=1e-12)
