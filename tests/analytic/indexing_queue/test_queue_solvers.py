"""Solvers of the indexing queue for chains of any size, against elimination on the dense matrix.

The elimination subtracts nothing and is itself checked against an enumeration of the states in
`test_indexing_queue`. Errors are relative and of single probabilities, down to 1e-40.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles import examples
from scipy.linalg import expm
from test_indexing_queue import (
    BATCHES,
    ERLANG,
    H2,
    MAP,
    PHASES,
    STALE,
    SYSTEMS,
    THINNED,
    assert_as_enumerated,
    in_order,
    queue,
    stale,
    systems,
    threshold,
)

from analytic import compare, predict
from analytic.indexing_queue import (
    NotConvergedError,
    QueueChain,
    accuracy_of,
    chain_of,
    controlled_chain,
    fate_rates,
    large_buffers,
    sojourn_cdf,
    sojourn_moments,
    sojourn_transform,
    sojourns,
    solution,
    solve_chain,
)
from analytic.indexing_queue import (
    chain as chain_module,
)
from analytic.indexing_queue.chain import dense_generator
from analytic.indexing_queue.large_buffers import ClosureError, closure
from analytic.indexing_queue.levels_and_fates import marginals_of
from analytic.indexing_queue.measures import queue_measures
from analytic.indexing_queue.solution import closed_class_count, iterate, stationary_levels
from analytic.machinery.markov import closed_classes, residual, stationary
from analytic.machinery.phase_type import PhaseLaw
from papers import queue_by_events
from scenarios import Scenario
from scenarios.deliveries import Thinned, as_modes
from sim import run

CYCLE = {
    "phase-type": {
        "alpha": [1.0, 0.0, 0.0],
        "T": [[-2.0, 1.5, 0.0], [0.0, -1.0, 0.9], [0.3, 0.0, -0.9]],
    }
}
"""A timer whose phases go round, so that no order of them solves it in one pass."""

BY_PHASES = {
    **SYSTEMS,
    "cycle-three-modes": queue(threshold([3, 2, 1], [1, 2]) | stale(CYCLE)),
    "cycle-batches-complete": queue(
        {"robots.deliveries": THINNED, "buffer.admission": "complete", "buffer.waiting_places": 1}
        | threshold([3, 2, 1], [0, 2])
        | stale(CYCLE)
        | {"buffer.service": PHASES}
    ),
    "batches-larger-than-the-buffer": queue(
        {"robots.deliveries": THINNED, "buffer.waiting_places": 1, "buffer.admission": "reject"}
        | stale(CYCLE)
    ),
    "rho-one": queue({"robots.available": 1, "robots.access_time.exponential.rate": 1.0}),
    "rates-far-apart": queue(
        {"robots.access_time.exponential.rate": 1e6}
        | stale({"hyperexponential": {"probabilities": [0.5, 0.5], "rates": [1e-6, 1e3]}})
    ),
}

H2_TIMER = PhaseLaw(np.array([0.7, 0.3]), np.diag([-1.5, -0.2]))
SLOW_TIMER = PhaseLaw(np.array([0.5, 0.5]), np.diag([-1.0, -0.02]))
ERLANG_TIMER = PhaseLaw(np.array([1.0, 0.0]), np.array([[-1.0, 1.0], [0.0, -1.0]]))
CYCLE_TIMER = PhaseLaw(
    np.array(CYCLE["phase-type"]["alpha"]),  # type: ignore[index]
    np.array(CYCLE["phase-type"]["T"]),  # type: ignore[index]
)
FAR_APART = PhaseLaw(np.array([0.5, 0.5]), np.diag([-1e3, -1e-3]))
ONE = PhaseLaw(np.ones(1), np.array([[-0.4]]))
SERVICE = PhaseLaw(np.array([0.4, 0.6]), np.array([[-2.0, 1.0], [0.0, -1.5]]))


def chain(
    waiting: int,
    timer: PhaseLaw = H2_TIMER,
    load: float = 2.0,
    admission: str = "partial",
    scale: float = 1.0,
) -> QueueChain:
    """Batches of up to three pages, W = M = 2, three modes at 1 and 3."""
    modes = load * scale * as_modes(Thinned.model_validate(THINNED))

    def scaled(law: PhaseLaw) -> PhaseLaw:
        return PhaseLaw(law.start, scale * law.generator)

    def robots(level: int) -> int:
        return 3 if level <= 1 else 2 if level <= 3 else 1

    return controlled_chain(modes, robots, scaled(SERVICE), scaled(timer), waiting + 1, admission)


def largest_error(law: Any, exact: Any) -> float:
    """Largest relative error of a probability; those that are zero must be zero."""
    assert np.array_equal(law == 0, exact == 0)
    return float(np.max(np.abs(law / np.where(exact > 0, exact, 1.0) - (exact > 0))))


# -- each method against elimination -------------------------------------------------------------


@pytest.mark.by_day(
    besides=(
        "h2-1000.0",
        "h2-1000000.0",
        "slow-1000.0",
        "slow-1000000.0",
        "erlang-1000000.0",
        "cycle-1000.0",
        "cycle-1000000.0",
        "far-apart-1000000.0",
    )
)
@pytest.mark.parametrize("load", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize(
    ("waiting", "timer"),
    [(6, H2_TIMER), (6, SLOW_TIMER), (6, ERLANG_TIMER), (4, CYCLE_TIMER), (6, FAR_APART)],
    ids=["h2", "slow", "erlang", "cycle", "far-apart"],
)
def test_the_iteration_keeps_the_digits_of_every_probability(
    waiting: int, timer: PhaseLaw, load: float
) -> None:
    """Probabilities down to 1e-40 at load 1e6; and the error is about what it says."""
    built = chain(waiting, timer, load)
    found = iterate(built)
    error = largest_error(found.stationary, stationary(dense_generator(built)))
    assert error <= found.error <= 1e-12
    assert found.residual < 1e-12


@pytest.mark.parametrize("name", BY_PHASES)
def test_all_methods_give_the_law_of_the_dense_matrix(name: str) -> None:
    """On every part of the model: rules of admission, deliveries, activation, timers."""
    built = chain_of(BY_PHASES[name])
    exact = stationary(dense_generator(built), built.start)
    chosen = solve_chain(built)
    assert largest_error(chosen.stationary, exact) < 1e-13
    assert chosen.residual < 1e-13
    assert residual(dense_generator(built), chosen.stationary) < 1e-13
    assert largest_error(iterate(built).stationary, exact) < 5e-12


@pytest.mark.parametrize("name", BY_PHASES)
def test_levels_follow_from_the_phases_at_each_of_them(name: str) -> None:
    """Where the phases are too many, the small chain is that of the levels alone."""
    built = chain_of(BY_PHASES[name])
    exact = marginals_of(built, stationary(dense_generator(built), built.start))
    obsolete = np.divide(
        exact.obsolete, exact.phases, out=np.zeros_like(exact.phases), where=exact.phases > 0
    )
    scale = np.random.default_rng(1).uniform(0.5, 2.0, (built.top + 1, 1, 1))
    levels = stationary_levels(built, scale * exact.phases, obsolete)
    assert levels == pytest.approx(exact.levels, rel=1e-11)


@pytest.mark.parametrize("name", ["cycle-three-modes", "cycle-batches-complete"])
def test_the_iteration_needs_no_more_than_the_levels(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = chain_of(BY_PHASES[name])
    with_phases = iterate(built)
    monkeypatch.setattr(solution, "LARGEST_COARSE", 0)
    found = iterate(built)
    exact = stationary(dense_generator(built), built.start)
    assert largest_error(found.stationary, exact) < 5e-12
    assert found.passes >= with_phases.passes


def test_a_wrong_place_in_the_list_of_timers_would_be_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Negative control: a dense matrix that drops the newest timer when a page is picked up."""
    built = chain(3)
    right = stationary(dense_generator(built))
    found = iterate(built).stationary

    def newest(chain: QueueChain, level: int, identity: Any) -> Any:  # noqa: ARG001
        done = chain.service.exit_rates[:, None]
        if level == 1:
            return np.kron(chain.turnover[1][0], done)
        picked = np.kron(np.eye(2 ** (level - 2)), np.ones((2, 1)))
        return np.kron(chain.turnover[level][0], np.kron(done * chain.service.start, picked))

    monkeypatch.setattr(chain_module, "_service", newest)
    wrong = stationary(chain_module.dense_generator(built))
    assert largest_error(found, right) < 5e-12
    assert largest_error(found, wrong) > 1e-3


def test_refused_batches_that_change_no_phase_would_be_seen() -> None:
    """Negative control: a diagonal without the batches that are refused."""
    built = chain(3, admission="reject")
    modes = as_modes(Thinned.model_validate(THINNED))
    forgotten = tuple(
        moves | {0: 2.0 * modes[int(robots[0, 0])][:1] * (1 - np.eye(2))}
        for moves, robots in zip(built.arrivals, built.active, strict=True)
    )
    wrong = iterate(replace(built, arrivals=forgotten)).stationary
    exact = stationary(dense_generator(built))
    assert largest_error(iterate(built).stationary, exact) < 5e-12
    assert largest_error(wrong, exact) > 1e-3


@pytest.mark.parametrize("admission", ["partial", "reject", "complete"])
def test_large_chains_with_alike_phases_are_those_with_one(admission: str) -> None:
    """8190 states by iteration against 46 by elimination: every measure."""
    alike = PhaseLaw(np.array([0.3, 0.7]), np.array([[-0.6, 0.2], [0.1, -0.5]]))
    found = []
    for timer in (alike, ONE):
        built = chain(10, timer, admission=admission)
        law = solve_chain(built).stationary
        rows = queue_measures(built, law, queue().prices, ordered=True)
        found.append({(measure, subject): value for measure, subject, value in rows})
    assert found[0] == pytest.approx(found[1], rel=1e-11, nan_ok=True)


@pytest.mark.by_day(
    every=2,
    besides=(
        "switching-by-phase",
        "cycle-batches-complete",
        "ordered-h2-timers",
        "ordered-timers-of-three-phases",
    ),
)
@pytest.mark.parametrize("name", [n for n in BY_PHASES if "lifo" not in n and "push" not in n])
def test_large_chains_are_solved_as_small_ones(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The iteration and the tagged page without matrices, against the enumeration."""
    monkeypatch.setattr(solution, "LARGEST_DENSE", 0)
    monkeypatch.setattr(solution, "LARGEST_BANDED", 0)
    monkeypatch.setattr(sojourns, "LARGEST_DENSE", 0)
    scenario = BY_PHASES[name].with_("name", f"{name}-iterated".replace("/", "-"))
    assert_as_enumerated(scenario)
    accuracy = accuracy_of(scenario)
    assert accuracy is not None
    assert accuracy.method == "Gauss-Seidel with aggregation"


@pytest.mark.parametrize("kind", ["modes", "switching", "trips"])
@settings(
    derandomize=True,
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_random_chains_are_solved_alike(kind: str, data: st.DataObject) -> None:
    built = chain_of(data.draw(systems(kind)))
    classes = len(closed_classes(dense_generator(built), built.start))
    assert closed_class_count(built) == classes
    if classes == 1:
        exact = stationary(dense_generator(built), built.start)
        assert largest_error(iterate(built).stationary, exact) < 1e-10


@pytest.mark.parametrize("name", SYSTEMS)
def test_closed_classes_are_counted_without_the_matrix(name: str) -> None:
    built = chain_of(SYSTEMS[name])
    assert closed_class_count(built) == len(closed_classes(dense_generator(built), built.start))


def test_two_closed_classes_are_counted() -> None:
    modes = np.zeros((1, 2, 2, 2))
    modes[0, 1] = np.diag([0.5, 0.7])
    built = controlled_chain(modes, lambda _: 0, SERVICE, H2_TIMER, 3, "partial")
    assert closed_class_count(built) == 2 == len(closed_classes(dense_generator(built)))


def test_an_iteration_that_is_stopped_early_gives_nothing() -> None:
    with pytest.raises(NotConvergedError, match="left a relative error"):
        iterate(chain(5), tolerance=0.0)


# -- units, identities, closed forms -------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-9, 1e9])
@pytest.mark.parametrize(("waiting", "timer"), [(3, H2_TIMER), (9, H2_TIMER), (40, ONE)])
def test_the_unit_of_time_does_not_matter(waiting: int, timer: PhaseLaw, factor: float) -> None:
    """Elimination, iteration and elimination by level: all rates times 1e9, or 1e-9."""
    plain = chain(waiting, timer)
    scaled = chain(waiting, timer, scale=factor)
    law = solve_chain(plain).stationary
    other = solve_chain(scaled).stationary
    assert largest_error(other, law) < 1e-9
    moments = {row[:2]: row[2] for row in sojourn_moments(plain, law)}
    for name, subject, value in sojourn_moments(scaled, other):
        power = 1 if name == "sojourn_time" else 2
        assert value * factor**power == pytest.approx(moments[name, subject], rel=1e-9)


@pytest.mark.parametrize("load", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("timer", [H2_TIMER, ERLANG_TIMER, ONE])
def test_large_chains_conserve_pages(timer: PhaseLaw, load: float) -> None:
    """Fates sum to one, the server is busy with what it serves, Little: to 1e-12."""
    built = chain(10, timer, load)
    law = solve_chain(built).stationary
    marginals = marginals_of(built, law)
    rates = fate_rates(built, marginals)
    ended = rates["lost"] + rates["obsolete"] + rates["served"]
    assert ended == pytest.approx(rates["delivered"], rel=1e-12)
    service = float(SERVICE.start @ np.linalg.solve(-SERVICE.generator, np.ones(2)))
    busy = marginals.levels[1:].sum()
    assert rates["served"] * service == pytest.approx(busy, rel=1e-12)
    moments = {row[:2]: row[2] for row in sojourn_moments(built, law)}
    length = marginals.levels @ np.arange(built.top + 1)
    inside = rates["obsolete"] * moments["sojourn_time", "obsolete"]
    inside += rates["served"] * moments["sojourn_time", "served"]
    assert inside == pytest.approx(length, rel=1e-11)


def rational_law(rates: dict[tuple[Any, Any], Fraction], states: list[Any]) -> dict[Any, float]:
    """Stationary law by elimination in fractions: nothing is rounded."""
    left = dict(rates)
    chosen = list(states)
    shares: list[tuple[Any, dict[Any, Fraction], Fraction]] = []
    while len(chosen) > 1:
        last = chosen.pop()
        out = {to: left[last, to] for to in chosen if (last, to) in left}
        into = {of: left[of, last] for of in chosen if (of, last) in left}
        total = sum(out.values(), Fraction(0))
        shares.append((last, into, total))
        for of, inflow in into.items():
            for to, rate in out.items():
                if of != to:
                    left[of, to] = left.get((of, to), Fraction(0)) + inflow * rate / total
    law = {chosen[0]: Fraction(1)}
    for state, into, total in reversed(shares):
        law[state] = sum((law[of] * rate for of, rate in into.items()), Fraction(0)) / total
    whole = sum(law.values())
    return {state: float(share / whole) for state, share in law.items()}


MAP_MATRICES = ([["-1.5", ".1"], [".2", "-.6"]], [["1.2", ".2"], ["0", ".4"]])
PHASE_MATRICES = (["0.4", "0.6"], [["-2", "1"], ["0", "-1.5"]])


def exact_levels(places: int, D0: Any, D1: Any, alpha: Any, T: Any) -> list[float]:
    """MAP/PH/1/K written out state by state, in fractions."""
    D0, D1, T = ([[Fraction(x) for x in row] for row in matrix] for matrix in (D0, D1, T))
    alpha = [Fraction(x) for x in alpha]
    arrival = range(len(D0))
    service = range(len(T))
    rates: dict[tuple[Any, Any], Fraction] = {}

    def add(of: Any, to: Any, rate: Fraction) -> None:
        if of != to and rate:
            rates[of, to] = rates.get((of, to), Fraction(0)) + rate

    states = [(0, v, 0) for v in arrival]
    states += [(n, v, m) for n in range(1, places + 1) for v in arrival for m in service]
    for n, v, m in states:
        for w in arrival:
            add((n, v, m), (n, w, m), D0[v][w] if v != w else Fraction(0))
            for k in service if n == 0 else [m]:
                share = alpha[k] if n == 0 else Fraction(1)
                add((n, v, m), (min(n + 1, places), w, k), share * D1[v][w])
        if n > 0:
            for k in service:
                add((n, v, m), (n, v, k), T[m][k] if m != k else Fraction(0))
                into = (n - 1, v, k if n > 1 else 0)
                add((n, v, m), into, -sum(T[m]) * alpha[k])
    law = rational_law(rates, states)
    return [sum(p for (n, _, _), p in law.items() if n == level) for level in range(places + 1)]


@pytest.mark.parametrize("places", [1, 6])
@pytest.mark.parametrize("arrivals", ["map", "poisson"])
def test_map_ph_queues_have_exact_levels(arrivals: str, places: int) -> None:
    """MAP/PH/1/K and M/PH/1/K in fractions, against every method."""
    D0, D1 = MAP_MATRICES if arrivals == "map" else ([["-0.9"]], [["0.9"]])
    expected = exact_levels(places, D0, D1, *PHASE_MATRICES)
    modes = np.array([[D0, D1]], dtype=float)
    for timer in (PhaseLaw(np.ones(1), np.zeros((1, 1))),):
        built = controlled_chain(modes, lambda _: 0, SERVICE, timer, places, "partial")
        for law in (
            solve_chain(built).stationary,
            iterate(built).stationary,
            stationary(dense_generator(built)),
        ):
            assert marginals_of(built, law).levels == pytest.approx(expected, rel=1e-11, abs=0)


@pytest.mark.parametrize("admission", ["partial", "reject", "complete"])
def test_batch_queues_have_exact_levels(admission: str) -> None:
    """M^X/M/1/K, batches of 1, 2 and 9 pages, the last larger than the buffer."""
    shares = {1: Fraction("0.5"), 2: Fraction("0.3"), 9: Fraction("0.05")}
    K = 5
    top = K + 8 if admission == "complete" else K
    rates: dict[tuple[int, int], Fraction] = {}
    for level in range(top + 1):
        if level:
            rates[level, level - 1] = Fraction(1)
        for size, rate in shares.items():
            fits = level + size <= K if admission == "reject" else level < K
            target = min(level + size, K) if admission == "partial" else level + size
            if fits:
                rates[level, target] = rates.get((level, target), Fraction(0)) + rate
    expected = rational_law(rates, list(range(top + 1)))
    modes = np.zeros((1, 10, 1, 1))
    for size, rate in shares.items():
        modes[0, size] = float(rate)
    never = PhaseLaw(np.ones(1), np.zeros((1, 1)))
    built = controlled_chain(
        modes, lambda _: 0, PhaseLaw(np.ones(1), -np.ones((1, 1))), never, K, admission
    )
    for law in (solve_chain(built).stationary, iterate(built).stationary):
        levels = marginals_of(built, law).levels
        assert levels == pytest.approx([expected[n] for n in range(top + 1)], rel=1e-11, abs=0)


@pytest.mark.by_day("1.0")
@pytest.mark.parametrize("load", [0.999, 1.0, 1.5])
def test_thousands_of_places_are_solved_level_by_level(load: float) -> None:
    """M/M/1/4000 against the geometric law."""
    modes = np.array([[[[0.0]], [[load]]]])
    never = PhaseLaw(np.ones(1), np.zeros((1, 1)))
    K = 4000
    one = PhaseLaw(np.ones(1), -np.ones((1, 1)))
    found = solve_chain(controlled_chain(modes, lambda _: 0, one, never, K, "partial"))
    assert found.method == "elimination level by level"
    assert found.residual < 1e-14
    weights = [Fraction(load).limit_denominator(10**6) ** n for n in (K, K - 1, K - 400)]
    assert found.stationary[K - 1] / found.stationary[K] == pytest.approx(
        float(weights[1] / weights[0])
    )
    assert found.stationary[K - 400] / found.stationary[K] == pytest.approx(
        float(weights[2] / weights[0]), rel=1e-10
    )


# -- laws of the sojourn time --------------------------------------------------------------------

FOLLOWED = (
    "m/m/1/4",
    "ordered-h2-timers",
    "ordered-erlang-timers",
    "batches-partly",
    "batches-complete",
    "no-place",
    "switching-by-phase",
    "cycle-three-modes",
)


def solved(scenario: Scenario) -> tuple[QueueChain, Any]:
    built = chain_of(scenario)
    return built, solve_chain(built).stationary


@pytest.mark.by_day(besides=("ordered-h2-timers", "batches-complete", "switching-by-phase"))
@pytest.mark.parametrize("name", FOLLOWED)
def test_sojourn_laws_are_those_of_the_enumerated_chain(name: str) -> None:
    """Each page followed through the whole system, the matrix exponential of all its states."""
    assert in_order(BY_PHASES[name])
    built, law = solved(BY_PHASES[name])
    followed = queue_by_events.Followed(queue_by_events.Queue(BY_PHASES[name]))
    times = [0.0, 0.3, 2.0, 9.0]
    cdf = sojourn_cdf(built, law, times)
    expected = [followed.ended_by(expm(followed.generator * t)) for t in times]
    for subject, values_ in cdf.items():
        assert values_ == pytest.approx([each[subject] for each in expected], abs=1e-11)
    points = [0.0, 0.5, 20.0]
    transform = sojourn_transform(built, law, points)
    laplace = [followed.transform(s) for s in points]
    for subject, values_ in transform.items():
        assert values_ == pytest.approx([each[subject] for each in laplace], rel=1e-10)
    assert set(cdf) == set(transform) == {k for k, v in laplace[0].items() if v > 0}


@pytest.mark.parametrize("timer", [H2_TIMER, ERLANG_TIMER, CYCLE_TIMER, ONE])
def test_moments_transform_and_distribution_belong_together(timer: PhaseLaw) -> None:
    """E V = ∫ (1 - F) dt, -v'(0) = E V, v(s) = s ∫ exp(-st) F dt, v''(0) = E V^2."""
    built = chain(4, timer)
    law = solve_chain(built).stationary
    moments = {row[:2]: row[2] for row in sojourn_moments(built, law)}
    times, weights = np.polynomial.legendre.leggauss(400)
    times = 60.0 * (times + 1)
    weights = 60.0 * weights
    h = 1e-3
    v = sojourn_transform(built, law, [0.0, h, 2 * h, 3 * h, 4 * h, 1.0])
    F = sojourn_cdf(built, law, times)
    for subject in ("served", "obsolete", "accepted"):
        mean = moments["sojourn_time", subject]
        assert weights @ (1 - F[subject]) == pytest.approx(mean, rel=1e-8)
        square = moments["sojourn_time_second_moment", subject]
        assert 2 * weights @ (times * (1 - F[subject])) == pytest.approx(square, rel=1e-6)
        slope = np.array([-25 / 12, 4, -3, 4 / 3, -1 / 4]) @ v[subject][:5] / h
        assert -slope == pytest.approx(mean, rel=1e-7)
        curvature = np.array([35 / 12, -26 / 3, 19 / 2, -14 / 3, 11 / 12]) @ v[subject][:5]
        assert curvature / h**2 == pytest.approx(square, rel=1e-4)
        assert weights @ (np.exp(-times) * F[subject]) == pytest.approx(v[subject][5], rel=1e-9)
        assert np.all(np.diff(F[subject]) >= -1e-15)


def test_the_sojourn_of_all_pages_starts_with_the_lost_ones() -> None:
    built = chain(4)
    law = solve_chain(built).stationary
    rates = fate_rates(built, marginals_of(built, law))
    F = sojourn_cdf(built, law, [0.0, 500.0])
    assert F["all"] == pytest.approx([rates["lost"] / rates["delivered"], 1.0], rel=1e-12)


def test_sojourn_laws_of_a_chain_with_thousands_of_states() -> None:
    """M/M/1/K without timers in disguise: an Erlang mixture over the level seen on entry."""
    never = PhaseLaw(np.array([0.5, 0.5]), np.array([[-1e-12, 0.0], [0.0, -1e-12]]))
    modes = np.array([[[[0.0]], [[0.8]]]])
    one = PhaseLaw(np.ones(1), -np.ones((1, 1)))
    built = controlled_chain(modes, lambda _: 0, one, never, 12, "partial")
    law = solve_chain(built).stationary
    assert built.states == 4096
    p = marginals_of(built, law).levels
    seen = p[:-1] / p[:-1].sum()
    v = sojourn_transform(built, law, [0.5, 3.0])["served"]
    expected = [sum(q * (1 / (1 + s)) ** (n + 1) for n, q in enumerate(seen)) for s in (0.5, 3.0)]
    assert v == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("bad", [1j, [1.0, 2 + 1j], np.array([0j])])
def test_transforms_are_for_real_arguments(bad: Any) -> None:
    built = chain(2)
    with pytest.raises(ValueError, match=r"s = .* must be real"):
        sojourn_transform(built, solve_chain(built).stationary, bad)


@pytest.mark.parametrize("bad", [[-1.0], [math.inf], math.nan])
def test_times_and_arguments_must_not_be_negative(bad: Any) -> None:
    built = chain(2)
    law = solve_chain(built).stationary
    with pytest.raises(ValueError, match=r"times .* must be finite and >= 0"):
        sojourn_cdf(built, law, bad)
    with pytest.raises(ValueError, match=r"s = .* must be finite and >= 0"):
        sojourn_transform(built, law, bad)
    with pytest.raises(ValueError, match="jumps are expected"):
        sojourn_cdf(built, law, 1e9)


def test_the_accuracy_is_reported() -> None:
    small = accuracy_of(queue(STALE))
    assert small is not None
    assert (small.method, small.passes) == ("elimination level by level", 0)
    large = accuracy_of(
        queue({"robots.deliveries": {"modes": [BATCHES, BATCHES, BATCHES]}} | stale(H2))
        .with_("buffer.waiting_places", 10)
        .with_("robots.deliveries", {"modes": [MAP, MAP, MAP]})
    )
    assert large is not None
    assert large.method == "Gauss-Seidel with aggregation"
    assert large.passes > 5
    assert 0 < large.error <= 1e-12
    assert large.residual < 1e-12
    assert accuracy_of(queue({"buffer.service": {"gamma": {"shape": 2.5, "mean": 1.0}}})) is None


@pytest.mark.parametrize(
    ("waiting", "size"),
    [
        (25, "67108864 states and takes 3.0 GB"),
        (60, "more than 10^15 states"),
        (80, "more than 10^15 states"),
    ],
)
def test_a_chain_beyond_memory_is_refused_before_any_work(waiting: int, size: str) -> None:
    """Also where the chain was not made by `predict`, which has the same limit."""
    built = chain_of(queue(stale(H2) | {"buffer.waiting_places": waiting}))
    with pytest.raises(ValueError, match=re.escape(f"the chain has {size}; the solution may")):
        solve_chain(built)


def test_the_work_of_an_elimination_is_that_of_its_band() -> None:
    """One state a level and one entry beside it; and levels of two by two phases, with batches."""
    plain = chain_of(queue({"activation": {"static": 1}, "buffer.waiting_places": 4}))
    states = 1 + 5
    assert solution.elimination_work(plain) == states * 1 * 1
    phased = chain_of(
        queue(
            {
                "activation": {"static": 1},
                "robots.deliveries": {"modes": [BATCHES] * 3},
                "buffer.service": {"erlang": {"shape": 2, "mean": 1.0}},
                "buffer.waiting_places": 4,
            }
        )
    )
    (order,) = {
        len(each) for level in phased.arrivals for moves in level.values() for each in moves[0]
    }
    largest = max(max(level) for level in phased.arrivals)
    assert order > 1
    assert largest > 1
    states = order * (1 + 2 * 5)
    below, above = 2 * 2 * order - 1, (largest + 1) * 2 * order - 1
    assert solution.elimination_work(phased) == states * below * above


# -- the closure for large buffers ---------------------------------------------------------------

CLOSURE_ERRORS = {
    "h2": (H2_TIMER, 2.0, 0.002),
    "slow": (SLOW_TIMER, 2.0, 0.006),
    "erlang": (ERLANG_TIMER, 2.0, 0.002),
    "overloaded": (SLOW_TIMER, 20.0, 0.006),
    "far-apart": (FAR_APART, 2.0, 0.08),
}
"""Errors of the mean level and of absolute probabilities: what docs/queue-solvers.md promises."""


@pytest.mark.by_day(besides=("overloaded", "far-apart"))
@pytest.mark.parametrize("name", CLOSURE_ERRORS)
def test_the_closure_is_as_good_as_the_documentation_says(name: str) -> None:
    timer, load, error = CLOSURE_ERRORS[name]
    built = chain(10, timer, load)
    exact = marginals_of(built, solve_chain(built).stationary)
    found = closure(built).marginals
    levels = np.arange(built.top + 1)
    difference = (found.levels @ levels) / (exact.levels @ levels) - 1
    assert 1e-6 < abs(difference) < error, "an approximation, not the exact law"
    assert np.max(np.abs(found.levels - exact.levels)) < error
    rates = fate_rates(built, found)
    expected = fate_rates(built, exact)
    for fate in ("lost", "obsolete", "served"):
        share = rates[fate] / rates["delivered"]
        assert share == pytest.approx(expected[fate] / expected["delivered"], abs=error)
    ended = rates["lost"] + rates["obsolete"] + rates["served"]
    assert ended == pytest.approx(rates["delivered"], rel=1e-12)


@pytest.mark.parametrize(
    "name", [n for n, s in BY_PHASES.items() if n not in ("no-robot", "lifo", "push-out")]
)
def test_the_closure_is_exact_where_no_two_pages_with_phases_wait(name: str) -> None:
    """Timers of one phase, or buffers of at most one place, on every part of the model."""
    scenario = BY_PHASES[name]
    assert scenario.buffer is not None
    built = chain_of(scenario)
    if len(built.patience.start) > 1 and built.top > 2:
        built = replace(built, patience=PhaseLaw(np.ones(1), np.array([[-0.7]])))
    exact = marginals_of(built, stationary(dense_generator(built), built.start))
    found = closure(built).marginals
    assert found.phases == pytest.approx(exact.phases, rel=1e-9, abs=1e-15)
    assert found.obsolete == pytest.approx(exact.obsolete, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("places", [2, 3])
def test_few_states_with_many_inverses_are_refused_as_well(places: int) -> None:
    """Each way in which pages share the 31 phases of their timers has a block of its own."""
    rates = np.linspace(0.5, 3.0, 31).tolist()
    timers = {"hyperexponential": {"probabilities": [1 / 31] * 31, "rates": rates}}
    changes = {"buffer.waiting_places": places, "buffer.service": ERLANG}
    predictions, others = predict(queue({"buffer.obsolescence": timers} | changes))
    assert {each.kind for each in predictions} == {"approximation"}
    assert any("the solution may take at most 1 GB" in each.reason for each in others)


def test_a_buffer_beyond_memory_is_approximated_and_says_so() -> None:
    changes = {"buffer.waiting_places": 40, "buffer.service": ERLANG}
    scenario = queue(stale(H2) | changes | threshold([3, 1], [30]))
    predictions, others = predict(scenario)
    assert {each.kind for each in predictions} == {"approximation"}
    assert any("the solution may take at most 1 GB" in each.reason for each in others)
    found = {(each.measure, each.subject): each.value for each in predictions}
    levels = [value for (name, _), value in found.items() if name == "level_probability"]
    assert math.fsum(levels) == pytest.approx(1.0, rel=1e-12)
    fates = [found[f"{fate}_probability", None] for fate in ("obsolescence", "success")]
    assert math.fsum(fates) == pytest.approx(1.0, rel=1e-12), "next to nothing is lost"
    assert ("sojourn_time", "all") in found
    assert ("sojourn_time", "served") not in found
    results = run(scenario.with_({"run.horizon": 300.0, "run.warmup": 50.0}), replications=2)
    assert {row.verdict for row in compare(predictions, results)} == {"not judged"}


@pytest.mark.nightly
def test_an_approximate_loss_is_given_only_where_its_first_digit_is_right() -> None:
    """Light: 1e-20 of the pages. Heavy: one page in two, known from the pages that are served."""
    light = queue(stale(H2) | {"buffer.waiting_places": 40, "buffer.service": ERLANG})
    heavy = light.with_("robots.access_time.exponential.rate", 20.0)
    measures = {}
    reasons = {}
    for name, scenario in (("light", light), ("heavy", heavy)):
        predictions, others = predict(scenario)
        measures[name] = {each.measure: each.value for each in predictions}
        reasons[name] = [each.reason for each in others]
        assert isinstance(accuracy_of(scenario), ClosureError)
    too_small = [each for each in reasons["light"] if "loss probability is too small" in each]
    assert len(too_small) == 1
    assert "0.01" in too_small[0]
    assert not {"loss_rate", "loss_probability"} & set(measures["light"])
    assert not [each for each in reasons["heavy"] if "too small" in each]
    assert measures["heavy"]["loss_probability"] > 0.01
    delivered = measures["heavy"]["arrival_rate"]
    lost = measures["heavy"]["loss_rate"]
    assert measures["heavy"]["loss_probability"] == pytest.approx(lost / delivered, rel=1e-12)
    assert "0.005" in str(accuracy_of(light))
    assert "docs/queue-solvers.md" in str(accuracy_of(light))


def test_the_closure_gives_nothing_that_did_not_settle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_buffers, "MOST_ROUNDS", 2)
    scenario = queue(stale(H2) | {"buffer.waiting_places": 41, "buffer.service": ERLANG})
    predictions, others = predict(scenario)
    assert not predictions
    reason = "the closure of its chain does not converge: 2 rounds left a change of "
    assert any(each.reason.startswith(reason) for each in others)
