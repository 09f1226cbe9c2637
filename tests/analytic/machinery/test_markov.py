"""The machinery: stationary vectors, phase-type laws, Markovian arrival processes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.sparse import csr_array

from analytic import relaxation_time_of
from analytic.machinery.arrival_process import (
    access_rate,
    delivery_modes,
    gap_map,
    joint_order,
    mean_rate,
)
from analytic.machinery.markov import (
    birth_death,
    closed_classes,
    rate_matrix,
    relaxation_time,
    residual,
    stationary,
)
from analytic.machinery.phase_type import as_phase_type, exponential_rate, moment
from analytic.machinery.refusal import NoAnswerError
from papers import queue_by_events
from scenarios import load, scenario_from
from scenarios.laws import Distribution
from scenarios.model import Fleet, Gaps, fleet_under
from scenarios.sections import Buffer, Robots

# -- stationary vectors --------------------------------------------------------------------------


def random_rates(states: int, seed: int, density: float = 1.0) -> Any:
    rng = np.random.default_rng(seed)
    rates = rng.exponential(size=(states, states)) * (rng.random((states, states)) < density)
    rates[np.arange(states), (np.arange(states) + 1) % states] += 0.1  # a ring: irreducible
    np.fill_diagonal(rates, 0.0)
    return rates


def generator_of(rates: Any) -> Any:
    return rates - np.diag(rates.sum(axis=1))


@pytest.mark.parametrize("states", [1, 2, 7, 60])
@pytest.mark.parametrize("density", [0.05, 1.0])
def test_stationary_is_a_left_eigenvector(states: int, density: float) -> None:
    """QuantEcon's three checks: sum, sign, left eigenvector."""
    generator = generator_of(random_rates(states, states, density))
    law = stationary(generator)
    assert law.sum() == pytest.approx(1.0, rel=1e-14)
    assert np.all(law > 0)
    assert np.abs(law @ generator).max() <= 1e-13 * np.abs(generator).max()
    assert residual(generator, law) < 1e-14


@pytest.mark.parametrize("epsilon", [1e-14, 1e-100])
def test_nearly_decomposable_chains_keep_their_digits(epsilon: float) -> None:
    """QuantEcon's ill-conditioned case with a known answer: the law is (1/(2+e), (1+e)/(2+e))."""
    tiny = epsilon
    generator = np.array([[-(1 + tiny) * tiny, (1 + tiny) * tiny], [tiny, -tiny]])
    expected = np.array([1.0, 1.0 + tiny]) / (2 + tiny)
    assert stationary(generator) == pytest.approx(expected, rel=1e-15)


def test_two_loosely_coupled_blocks_have_exact_digits() -> None:
    """Blocks {0, 1} and {2, 3}, 1e-14 one way and 3e-14 back: in fractions 3 : 1."""
    tiny = 1e-14
    rates = np.zeros((4, 4))
    rates[0, 1] = rates[1, 0] = rates[2, 3] = rates[3, 2] = 1.0
    rates[1, 2] = tiny
    rates[2, 1] = 3 * tiny
    expected = np.array([3, 3, 1, 1]) / 8  # detailed balance along the line
    assert stationary(generator_of(rates)) == pytest.approx(expected, rel=1e-14)


def test_weights_that_leave_the_doubles_are_scaled() -> None:
    """Birth-death up at 1e60 and down at 1e-60: 1e-360 at the bottom, 1 at the top."""
    rates = np.diag([1e60] * 3, 1) + np.diag([1e-60] * 3, -1)
    assert stationary(rates) == pytest.approx([0.0, 1e-240, 1e-120, 1.0], rel=1e-14, abs=0)


def test_the_diagonal_is_not_used() -> None:
    rates = random_rates(5, 1)
    assert np.array_equal(stationary(rates), stationary(generator_of(rates)))


def test_the_argument_is_left_alone() -> None:
    rates = random_rates(5, 1)
    before = rates.copy()
    stationary(rates)
    assert np.array_equal(rates, before)


TWO_CLASSES = np.array(
    [
        [0.0, 1.0, 0.0, 2.0, 0.0],  # transient: to {1, 2} or to {3}
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.0, 3.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],  # absorbing
        [5.0, 0.0, 0.0, 0.0, 0.0],  # transient
    ]
)


def test_closed_classes_are_found() -> None:
    assert sorted(each.tolist() for each in closed_classes(TWO_CLASSES)) == [[1, 2], [3]]
    assert [each.tolist() for each in closed_classes(TWO_CLASSES, start=2)] == [[1, 2]]
    assert [each.tolist() for each in closed_classes(TWO_CLASSES, start=3)] == [[3]]
    assert len(closed_classes(TWO_CLASSES, start=4)) == 2


@given(st.integers(1, 9), st.floats(0.0, 0.5), st.integers(0, 2**32 - 1), st.booleans())
def test_closed_classes_of_few_states_are_those_of_scipy(
    states: int, density: float, seed: int, follows: bool
) -> None:
    rng = np.random.default_rng(seed)
    rates = rng.random((states, states)) * (rng.random((states, states)) < density)
    start = int(rng.integers(states)) if follows else None
    few, sparse = (
        sorted(each.tolist() for each in closed_classes(of, start))
        for of in (rates, csr_array(rates))
    )
    assert few == sparse


@pytest.mark.parametrize("states", [3, 401])
def test_rates_of_the_same_states_add_up(states: int) -> None:
    rows, columns = np.array([0, 2, 0, 1]), np.array([1, 0, 1, 1])
    made = rate_matrix(rows, columns, np.array([0.5, 3.0, 0.25, 4.0]), states)
    assert isinstance(made, np.ndarray) == (states == 3)
    assert made[:3, :3].sum(axis=1).tolist() == [0.75, 4.0, 3.0]
    assert (made[0, 1], made[2, 0], made[1, 1]) == (0.75, 3.0, 4.0)


@pytest.mark.parametrize("start", [None, 0, 4])
def test_several_closed_classes_are_refused(start: int | None) -> None:
    with pytest.raises(ValueError, match="2 closed classes"):
        stationary(TWO_CLASSES, start)


def test_the_start_decides_between_closed_classes() -> None:
    assert stationary(TWO_CLASSES, start=1) == pytest.approx([0.0, 0.75, 0.25, 0.0, 0.0])
    assert stationary(TWO_CLASSES, start=3) == pytest.approx([0.0, 0.0, 0.0, 1.0, 0.0])


def test_transient_states_have_no_probability() -> None:
    rates = TWO_CLASSES[:3, :3]
    law = stationary(rates)
    assert law[0] == 0.0
    assert law == pytest.approx([0.0, 0.75, 0.25])


def test_the_residual_sees_an_error() -> None:
    """Shifting 1e-6 of the law from one state to another is an imbalance of that order."""
    generator = generator_of(random_rates(6, 2))
    law = stationary(generator)
    law[0] += 1e-6
    law[1] -= 1e-6
    assert 1e-7 < residual(generator, law) < 1e-4
    assert residual(np.zeros((2, 2)), np.array([0.5, 0.5])) == 0.0


def test_birth_death_is_the_product_form() -> None:
    """Weights 1, 2/3, 2·5/(3·4), and nothing beyond a birth rate of 0."""
    expected = np.array([6, 4, 5]) / 15
    assert birth_death([2.0, 5.0], [3.0, 4.0]) == pytest.approx(expected, rel=1e-15)
    assert birth_death([2.0, 0.0, 7.0], [3.0, 1.0, 1.0]) == pytest.approx([0.6, 0.4, 0.0, 0.0])
    assert birth_death([], []).tolist() == [1.0]


@pytest.mark.parametrize("ratio", [1e-30, 1e30])
def test_birth_death_neither_over_nor_underflows(ratio: float) -> None:
    """100 levels at 1e30 each: 1e3000 apart."""
    law = birth_death([ratio] * 100, [1.0] * 100)
    top, next_to_top = (law[-1], law[-2]) if ratio > 1 else (law[0], law[1])
    assert top == 1.0
    assert next_to_top == pytest.approx(1e-30, rel=1e-13, abs=0)


def test_birth_death_agrees_with_the_chain() -> None:
    births = [3.0, 0.2, 1e-5, 7.0]
    deaths = [1.0, 2.0, 40.0, 1e-3]
    generator = np.diag(births, 1) + np.diag(deaths, -1)
    assert birth_death(births, deaths) == pytest.approx(stationary(generator), rel=1e-13, abs=0)


def test_a_ratio_of_rates_beyond_all_bounds_does_not_overflow() -> None:
    """Levels 0, 1, 2 with ratios 1e90 and 1e300: a product of both is not a number."""
    generator = np.array([[0.0, 1.0, 0.0], [1e-90, 0.0, 1.0], [0.0, 1e-300, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        found = stationary(generator)
    assert found.tolist() == [0.0, pytest.approx(1e-300), 1.0]


# -- relaxation time -----------------------------------------------------------------------------


def test_relaxation_time_published() -> None:
    """M/M/1/6, lambda = 1.2, obsolescence 0.5: 1.615 (docs/derivations.md, last section)."""
    found = relaxation_time_of(load("stale-in-the-buffer"))
    assert found == pytest.approx(1.615, abs=5e-4)


@pytest.mark.parametrize("rho", [0.3, 1.0, 2.0])
def test_relaxation_time_of_mm1k(rho: float) -> None:
    """Spectral gap of M/M/1/K: lambda + mu - 2 sqrt(lambda mu) cos(pi / (K + 1)).

    Takács (1962), Introduction to the Theory of Queues, section 1.4.
    """
    K = 6
    generator = generator_of(np.diag([rho] * K, 1) + np.diag([1.0] * K, -1))
    gap = rho + 1 - 2 * math.sqrt(rho) * math.cos(math.pi / (K + 1))
    assert relaxation_time(generator) == pytest.approx(1 / gap, rel=1e-12)


def test_relaxation_time_is_that_of_the_transient() -> None:
    """exp(Qt) approaches its limit as exp(-t / relaxation), from the start that is given."""
    generator = generator_of(random_rates(5, 8))
    law = stationary(generator)
    time = relaxation_time(generator)
    distances = [np.abs(expm(generator * t) - law).max() for t in (10 * time, 11 * time)]
    assert math.log(distances[0] / distances[1]) == pytest.approx(1.0, abs=0.05)
    padded = np.zeros((6, 6))
    padded[1:, 1:] = generator
    padded[0, 1] = 1e-3  # never entered again, but it takes long to leave it
    assert relaxation_time(padded, start=0) == pytest.approx(1e3, rel=1e-12)
    assert relaxation_time(padded, start=1) == pytest.approx(time, rel=1e-12)


def test_a_chain_of_one_state_relaxes_at_once() -> None:
    assert relaxation_time(np.zeros((1, 1))) == 0.0


# -- phase-type laws -----------------------------------------------------------------------------


def law(entries: dict[str, Any]) -> Distribution:
    buffer = Buffer.model_validate({"waiting_places": 0, "service": entries})
    return buffer.service


PHASES = {"phase-type": {"alpha": [0.4, 0.6], "T": [[-2.0, 1.0], [0.0, -1.5]]}}

MOMENTS: dict[str, tuple[dict[str, Any], list[float]]] = {
    "exponential-mean": ({"exponential": {"mean": 0.25}}, [1 / 4, 2 / 16, 6 / 64]),
    "exponential-rate": ({"exponential": {"rate": 4.0}}, [1 / 4, 2 / 16, 6 / 64]),
    # Erlang(k, rate): k(k + 1)…(k + n - 1) / rate^n with k = 3, rate = 2
    "erlang": ({"erlang": {"shape": 3, "mean": 1.5}}, [3 / 2, 12 / 4, 60 / 8]),
    # sum p n! / rate^n
    "hyperexponential": (
        {"hyperexponential": {"probabilities": [0.9, 0.1], "rates": [3.0, 0.5]}},
        [0.9 / 3 + 0.1 / 0.5, 2 * (0.9 / 9 + 0.1 / 0.25), 6 * (0.9 / 27 + 0.1 / 0.125)],
    ),
    # by first steps: m1 = (1/2 + 1/2 · 2/3, 2/3); m2_i = (2 m1_i + …) / rate
    "phase-type": (
        PHASES,
        [
            0.4 * (1 / 2 + 1 / 3) + 0.6 * (2 / 3),
            0.4 * ((2 * (5 / 6) + 8 / 9) / 2) + 0.6 * (8 / 9),
        ],
    ),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments_by_hand(name: str) -> None:
    entries, moments = MOMENTS[name]
    phases = as_phase_type(law(entries))
    assert phases is not None
    found = [moment(phases, order + 1) for order in range(len(moments))]
    assert found == pytest.approx(moments, rel=1e-14)


@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("s", [0.0, 0.7, 30.0])
def test_transforms_by_hand(name: str, s: float) -> None:
    """E exp(-sX) = start (sI - T)^-1 exits, against the textbook transform of each law."""
    entries, _ = MOMENTS[name]
    phases = as_phase_type(law(entries))
    assert phases is not None
    matrix = s * np.eye(len(phases.start)) - phases.generator
    found = phases.start @ np.linalg.solve(matrix, phases.exit_rates)
    second = 1.5 / (s + 1.5)
    expected = {
        "exponential-mean": 4 / (4 + s),
        "exponential-rate": 4 / (4 + s),
        "erlang": (2 / (2 + s)) ** 3,
        "hyperexponential": 0.9 * 3 / (3 + s) + 0.1 * 0.5 / (0.5 + s),
        "phase-type": 0.4 * (1 + second) / (s + 2) + 0.6 * second,
    }[name]
    assert found == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("entries", "rate"),
    [
        ({"exponential": {"mean": 4.0}}, 0.25),
        ({"exponential": {"rate": 3.0}}, 3.0),
        ({"erlang": {"shape": 1, "mean": 0.5}}, 2.0),
        ({"hyperexponential": {"probabilities": [0.2, 0.8], "rates": [3.0, 3.0]}}, 3.0),
        ({"phase-type": {"alpha": [0.3, 0.7], "T": [[-0.9, 0.5], [0.6, -1.0]]}}, 0.4),
        ({"erlang": {"shape": 2, "mean": 0.5}}, None),
        ({"hyperexponential": {"probabilities": [0.2, 0.8], "rates": [3.0, 3.0001]}}, None),
        (PHASES, None),
        ({"deterministic": {"value": 1.0}}, None),
        ({"gamma": {"shape": 1.0, "mean": 2.0}}, 0.5),
        ({"gamma": {"shape": 1.001, "mean": 2.0}}, None),
    ],
)
def test_exponential_laws_are_recognised(entries: dict[str, Any], rate: float | None) -> None:
    assert exponential_rate(law(entries)) == (None if rate is None else pytest.approx(rate))


@pytest.mark.parametrize(
    "entries",
    [
        {"deterministic": {"value": 1.0}},
        {"gamma": {"shape": 1.5, "mean": 1.0}},
        {"uniform": {"low": 0.0, "high": 1.0}},
        {"empirical": {"values": [1.0, 2.0]}},
    ],
)
def test_laws_without_phases_have_none(entries: dict[str, Any]) -> None:
    assert as_phase_type(law(entries)) is None


# -- arrival processes ---------------------------------------------------------------------------


def robots(entries: dict[str, Any]) -> Fleet:
    return fleet_under(Robots.model_validate(entries))


MAP = {"map": {"D0": [[-1.5, 0.1], [0.2, -0.6]], "D1": [[1.4, 0.0], [0.0, 0.4]]}}
MMPP = {"mmpp": {"Q": [[-0.1, 0.1], [0.3, -0.3]], "rates": [0.2, 2.0]}}
BATCHES = {"bmap": {"D": [[[-1.0]], [[0.0]], [[0.75]], [[0.25]]]}}


def access(entries: dict[str, Any]) -> Gaps:
    (found,) = robots({"available": 1, "access_time": entries}).classes
    return found.gaps


def test_mean_rate_published() -> None:
    """MAP/PH/1/6: lambda = 1.0666667 (docs/derivations.md, last section)."""
    matrices = gap_map(access(MAP))
    assert matrices is not None
    assert mean_rate(np.array(matrices)) == pytest.approx(1.0666667, abs=5e-8)


@pytest.mark.parametrize(
    ("entries", "rate"),
    [
        ({"poisson": {"rate": 0.3}}, Fraction(3, 10)),
        (MMPP, Fraction(3, 4) * Fraction(1, 5) + Fraction(1, 4) * 2),  # Q spends 3/4 in phase 0
        (BATCHES, Fraction(3, 4) * 2 + Fraction(1, 4) * 3),
    ],
)
def test_mean_rate_counts_pages(entries: dict[str, Any], rate: Fraction) -> None:
    modes = delivery_modes(robots({"available": 1, "deliveries": {"modes": [entries]}}), [1])
    assert mean_rate(modes[1]) == pytest.approx(float(rate), rel=1e-14)


@pytest.mark.parametrize("entries", [entries for entries, _ in MOMENTS.values()])
def test_a_renewal_process_has_one_access_per_mean_gap(entries: dict[str, Any]) -> None:
    phases = as_phase_type(law(entries))
    assert phases is not None
    for written in (entries, {"renewal": entries}):
        matrices = gap_map(access(written))
        assert matrices is not None
        assert mean_rate(np.array(matrices)) == pytest.approx(1 / moment(phases, 1), rel=1e-13)


def test_access_rates_are_those_of_exponential_times() -> None:
    assert access_rate(access({"poisson": {"rate": 0.3}})) == 0.3
    assert access_rate(access({"exponential": {"mean": 4.0}})) == 0.25
    assert access_rate(access({"renewal": {"exponential": {"rate": 2.0}}})) == 2.0
    assert access_rate(access(MAP)) is None
    assert access_rate(access({"renewal": {"erlang": {"shape": 2, "mean": 1.0}}})) is None
    assert gap_map(access({"renewal": {"uniform": {"low": 0.0, "high": 1.0}}})) is None


def test_exponential_trips_superpose_in_one_phase() -> None:
    modes = delivery_modes(
        robots({"available": 5, "access_time": {"poisson": {"rate": 0.5}}}), range(4)
    )
    assert modes[:, 1, 0, 0].tolist() == [0.0, 0.5, 1.0, 1.5]
    assert np.array_equal(modes[:, 0], -modes[:, 1])


FLEETS: dict[str, dict[str, Any]] = {
    "trips": {"available": 3, "access_time": MAP},
    "erlang": {"available": 3, "access_time": {"erlang": {"shape": 2, "mean": 1.0}}},
    "independent": {
        "available": 3,
        "deliveries": {"independent": [MAP, {"poisson": {"rate": 0.3}}, BATCHES]},
    },
    "thinned": {"available": 3, "deliveries": {"thinned": {"process": MAP, "keep": [0.2, 0, 1]}}},
    "marked": {
        "available": 2,
        "deliveries": {
            "marked": {
                "D0": [[-1.5, 0.1], [0.2, -0.6]],
                "robots": [[[[0.4, 0], [0, 0.1]]], [[[0.5, 0], [0, 0]], [[0, 0.5], [0.3, 0]]]],
            }
        },
    },
    "modes": {"available": 2, "deliveries": {"modes": [MAP, MMPP]}},
}


@pytest.mark.parametrize("name", FLEETS)
def test_modes_are_generators_with_silence_at_no_robot(name: str) -> None:
    entries = FLEETS[name]
    modes = delivery_modes(robots(entries), range(entries["available"] + 1))
    assert len(modes) == entries["available"] + 1
    assert np.abs(modes.sum(axis=(1, 3))).max() < 1e-15 * 10
    assert not modes[0, 1:].any()
    assert modes[0].any() == (name != "modes")  # free modes stand still, the others run on


@pytest.mark.parametrize("name", FLEETS)
def test_the_rate_of_each_mode_is_that_of_its_robots(name: str) -> None:
    """Pages per unit time of an infinite source: the oracle's, robot by robot, in one place."""
    entries = FLEETS[name]
    modes = delivery_modes(robots(entries), range(entries["available"] + 1))
    for active in range(1, entries["available"] + 1):
        scenario = scenario_from(
            {
                "name": "source",
                "robots": entries,
                "activation": {"static": active},
                "buffer": {"waiting_places": 0, "service": {"exponential": {"rate": 1.0}}},
            }
        )
        expected = queue_by_events.measures(scenario)["arrival_rate", None]
        assert mean_rate(modes[active]) == pytest.approx(expected, rel=1e-12)


def test_the_joint_order_is_known_without_building_it() -> None:
    trips = robots({"available": 1000, "access_time": MAP})
    assert [joint_order(trips, range(most + 1)) for most in (0, 1, 3, 10)] == [1, 2, 8, 1024]
    assert [joint_order(trips, numbers) for numbers in ([10], [20, 40], [1, 3])] == [11, 441, 6]
    for numbers, reason in ((range(1001), "more than 1024 joint"), ([1000], "too much memory")):
        with pytest.raises(NoAnswerError, match=reason):
            joint_order(trips, numbers)
    poisson = robots({"available": 9, "access_time": {"poisson": {"rate": 1.0}}})
    assert joint_order(poisson, [9]) == 1
    entries = FLEETS["trips"]
    assert delivery_modes(robots(entries), range(4)).shape == (4, 2, 8, 8)
    assert delivery_modes(robots(entries), [3]).shape == (4, 2, 4, 4)
