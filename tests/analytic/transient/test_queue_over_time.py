"""The course of the queue against the model's words, closed forms, and itself by another method."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from over_time import COUNTED, Stretch, stretches
from profiles import examples
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.sparse import csr_array

import crawlsim
from analytic import check_course, course_of, optimize, overall, predict, resolve
from analytic.transient.formulas import queue_of
from analytic.transient.periodic import periodic_start
from analytic.transient.recovery import settling_time
from analytic.transient.start_up import remembered_starts
from analytic.transient.transitions import ByDoubling, ByJumps, with_diagonal
from scenarios import Scenario, load, scenario_from
from scenarios.measures import PREDICTED_ONLY
from scenarios.timeline import Piece

SYSTEM: dict[str, Any] = {
    "name": "changing",
    "robots": {"available": 3, "access_time": {"erlang": {"shape": 2, "mean": 1.5}}},
    "activation": {"threshold": {"robots": [3, 1], "at": [2]}},
    "buffer": {
        "waiting_places": 3,
        "service": {"erlang": {"shape": 2, "mean": 0.7}},
        "obsolescence": {"exponential": {"mean": 3.0}},
    },
    "run": {"horizon": 12.0, "warmup": 1.5, "observe": 1.0},
}
OUTAGE = {"at": 2.5, "until": 4.25, "service_speed": 0.0}
FAILING = {"at": 3.0, "until": 3.001, "robots": 1}
SLOWER = {"at": 7.0, "robot_speed": 0.5}


def system(*interventions: dict[str, Any], **sections: Any) -> Scenario:
    return scenario_from({**SYSTEM, "interventions": interventions, **sections})


def values(scenario: Scenario) -> dict[tuple[str, Any], Any]:
    return dict(course_of(scenario).course.columns)


def assert_course(scenario: Scenario, cuts: list[Stretch], accuracy: float = 1e-11) -> None:
    """Every number of a course, at its time and over its interval."""
    found = course_of(scenario).course
    observe = scenario.run.observe
    assert observe is not None
    buffer: Any = scenario.buffer
    for place, time in enumerate(found.times):
        assert time == (place + 1) * observe
        (at,) = (each.at_end for each in cuts if each.end == time)
        over = [each.over for each in cuts if time - observe * 1.0001 < each.begin < time]
        expected = dict(at)
        for name in COUNTED:
            expected[name, None] = sum(each[name, None] for each in over) / observe
        expected["starvation_probability", None] = at["level_probability", 0]
        expected["full_probability", None] = sum(
            p
            for (name, level), p in at.items()
            if name == "level_probability" and (level or 0) >= buffer.capacity
        )
        never = {key: 0.0 for key in found.columns if key[0] == "level_probability"}
        expected = never | expected  # levels that are out of reach are no states of the words
        assert set(expected) == set(found.columns)
        for key, value in expected.items():
            assert found.columns[key][place] == pytest.approx(value, abs=accuracy), (time, key)


def stops(scenario: Scenario) -> list[float]:
    run = scenario.run
    assert run.observe is not None
    times = [j * run.observe for j in range(1, int(run.horizon / run.observe) + 1)]
    return sorted({*times, run.warmup, run.horizon} - {0.0})


def test_the_course_is_that_of_the_models_words() -> None:
    """Outage, limit below a threshold, an intervention of 0.001, a change for good; all at once."""
    scenario = system(OUTAGE, FAILING, SLOWER)
    assert_course(scenario, stretches(scenario, stops(scenario)))


MAP = {"map": {"D0": [[-3.0, 0.5], [0.2, -1.0]], "D1": [[0.5, 2.0], [0.6, 0.2]]}}
ACCESSES: list[Any] = [
    {"available": 2, "access_time": {"exponential": {"mean": 1.0}}},
    {"available": 2, "access_time": {"erlang": {"shape": 2, "mean": 1.2}}},
    {
        "available": 2,
        "access_time": {"map": {"D0": [[-3.0, 0.5], [0.2, -1.0]], "D1": [[0.5, 2.0], [0.6, 0.2]]}},
    },
    {
        "available": 2,
        "deliveries": {
            "modes": [
                {"map": {"D0": [[-1.0, 0.2], [0.1, -0.5]], "D1": [[0.8, 0.0], [0.0, 0.4]]}},
                {"map": {"D0": [[-2.0, 0.2], [0.3, -1.5]], "D1": [[1.8, 0.0], [0.2, 1.0]]}},
            ]
        },
    },
    {
        "available": 2,
        "deliveries": {
            "thinned": {
                "keep": [0.4, 1.0],
                "process": {
                    "bmap": {
                        "D": [
                            [[-1.4, 0.4], [0.3, -0.8]],
                            [[0.7, 0.0], [0.0, 0.2]],
                            [[0.2, 0.1], [0.0, 0.3]],
                        ]
                    }
                },
            }
        },
    },
    {
        "available": 2,
        "deliveries": {
            "marked": {
                "D0": [[-1.4, 0.4], [0.3, -0.8]],
                "robots": [[[[0.7, 0.0], [0.0, 0.2]]], [[[0.2, 0.1], [0.0, 0.3]]]],
            }
        },
    },
]
SERVICES: list[Any] = [
    {"exponential": {"mean": 0.8}},
    {"hyperexponential": {"probabilities": [0.3, 0.7], "rates": [0.5, 3.0]}},
]
TIMERS: list[Any] = [
    "never",
    {"exponential": {"mean": 2.0}},
    {"erlang": {"shape": 2, "mean": 2.0}},
]
TIMES = st.integers(0, 12).map(lambda n: n / 2)
SPEEDS = st.sampled_from([None, 0.0, 0.3, 1.0, 2.0])


@st.composite
def interventions(draw: st.DrawFn) -> dict[str, Any]:
    at = draw(TIMES)
    effects = {
        "robots": draw(st.sampled_from([None, 0, 1, 2])),
        "robot_speed": draw(SPEEDS),
        "service_speed": draw(SPEEDS),
    }
    known = {name: value for name, value in effects.items() if value is not None} or {"robots": 1}
    length = draw(st.sampled_from([None, 0.25, 1.0, 2.0]))
    if length is not None:
        known["until"] = at + length
        if draw(st.booleans()):
            known["every"] = draw(st.sampled_from([2.0, 2.5]))
    return {"at": at} | known


@settings(max_examples=examples(30))
@given(
    robots=st.sampled_from(ACCESSES),
    activation=st.sampled_from([{"static": 2}, {"threshold": {"robots": [2, 1], "at": [1]}}]),
    service=st.sampled_from(SERVICES),
    timer=st.sampled_from(TIMERS),
    admission=st.sampled_from(["partial", "reject", "complete"]),
    changed=st.lists(interventions(), min_size=0, max_size=3),
)
def test_any_course_is_that_of_the_models_words(
    robots: Any, activation: Any, service: Any, timer: Any, admission: str, changed: list[Any]
) -> None:
    buffer = {
        "waiting_places": 2,
        "service": service,
        "obsolescence": timer,
        "admission": admission,
    }
    run = {"horizon": 4.0, "warmup": 1.0, "observe": 0.8}
    scenario = system(*changed, robots=robots, activation=activation, buffer=buffer, run=run)
    assert_course(scenario, stretches(scenario, stops(scenario)))
    conserved(scenario)


def conserved(scenario: Scenario) -> None:
    columns = values(scenario)
    came, lost, served, obsolete = (columns[name, None] for name in COUNTED)
    steps = np.diff(columns["mean_in_system", None], prepend=0.0)
    balance = (came - lost - served - obsolete) * scenario.run.observe
    assert np.abs(balance - steps).max() <= 1e-12 * max(1.0, steps.max())


def test_a_switched_queue_changes_its_speeds_only() -> None:
    scenario = system(
        {"at": 1.0, "until": 3.0, "service_speed": 0.25},
        {"at": 2.0, "until": 2.5, "robot_speed": 0.0},
        robots={"available": 3, "access_time": {"exponential": {"mean": 2.0}}},
        activation={"switching": {"targets": [3, 3, 2, 1, 1]}},
    )
    assert_course(scenario, stretches(scenario, stops(scenario)))


@pytest.mark.parametrize("discipline", [{"discipline": "lifo"}, {"when_full": "push-out"}])
def test_the_order_of_pages_does_not_matter_to_levels(discipline: dict[str, str]) -> None:
    buffer = SYSTEM["buffer"] | discipline
    scenario = system(OUTAGE, SLOWER, buffer=buffer)
    assert_course(scenario, stretches(scenario, stops(scenario)))


def test_several_indexers_stand_and_go_on() -> None:
    """Two Erlang servers as the one server of a hand-made chain: phases (m, n), m + n <= 2."""
    scenario = system(
        {"at": 1.0, "until": 2.0, "service_speed": 0.0},
        robots={"available": 1, "access_time": {"exponential": {"mean": 0.5}}},
        activation={"static": 1},
        buffer={
            "waiting_places": 1,
            "servers": 2,
            "service": {"erlang": {"shape": 2, "mean": 1.0}},
            "obsolescence": {"exponential": {"mean": 4.0}},
        },
        run={"horizon": 3.0, "warmup": 0.0, "observe": 1.0},
    )
    states = [
        (a, b, w) for a in range(3) for b in range(3 - a) for w in range(2) if not w or a + b == 2
    ]
    number = {state: place for place, state in enumerate(states)}

    def generator(speed: float) -> Any:
        rates = np.zeros((len(states), len(states)))
        for (first, second, waiting), row in number.items():
            moves = []
            if first + second < 2:
                moves.append((2.0, (first + 1, second, waiting)))
            elif not waiting:
                moves.append((2.0, (first, second, 1)))
            moves.append((speed * 2.0 * first, (first - 1, second + 1, waiting)))
            moves.append((speed * 2.0 * second, (first + bool(waiting), second - 1, 0)))
            moves.append((waiting / 4.0, (first, second, 0)))
            for rate, after in moves:
                if rate > 0:
                    rates[row, number[after]] += rate
                    rates[row, row] -= rate
        return rates

    row = np.eye(len(states))[number[0, 0, 0]]
    levels = np.array([sum(state) for state in states])
    for place, speed in enumerate((1.0, 0.0, 1.0)):
        row = row @ expm(generator(speed))
        for level in range(4):
            found = values(scenario)["level_probability", level][place]
            assert found == pytest.approx(row[levels == level].sum(), abs=1e-13)


STOPPING: dict[str, Any] = {
    "robots": {"available": 2, "access_time": {"exponential": {"mean": 0.5}}},
    "activation": {"static": 2},
    "buffer": {
        "waiting_places": 2,
        "servers": 3,
        "service": {"exponential": {"mean": 0.8}},
        "obsolescence": {"exponential": {"mean": 2.5}},
    },
    "run": {"horizon": 5.0, "warmup": 0.0, "observe": 1.0},
}


def test_some_of_several_indexers_stop() -> None:
    """By level: of n pages min(n, 3) are in indexers, and of those at most so many go on."""
    scenario = system(
        {"at": 1.0, "until": 3.0, "indexers": 2},
        {"at": 2.0, "until": 4.0, "indexers": 1, "service_speed": 1.5},
        {"at": 0.0, "indexers": 3},
        **STOPPING,
    )
    levels = np.arange(6)
    row = np.eye(6)[0]
    for place, (most, speed) in enumerate(((3, 1.0), (2, 1.0), (1, 1.5), (1, 1.5), (3, 1.0))):
        served = speed / 0.8 * np.minimum(levels, most)
        rates = np.diag(served[1:] + np.maximum(levels[1:] - 3, 0) / 2.5, -1)
        rates += np.diag(np.full(5, 4.0), 1)
        generator = rates - np.diag(rates.sum(axis=1))
        whole = expm(np.block([[generator, np.eye(6)], [np.zeros((6, 12))]]))
        during = row @ whole[:6, 6:]
        row = row @ whole[:6, :6]
        columns = values(scenario)
        found = [columns["level_probability", level][place] for level in levels]
        assert found == pytest.approx(row, abs=1e-13)
        assert columns["throughput", None][place] == pytest.approx(during @ served, abs=1e-12)
    conserved(scenario)


def test_no_indexer_at_work_is_a_service_that_stands_still() -> None:
    """Whatever the services; and where all may work, nothing is changed."""
    erlang = STOPPING["buffer"] | {"service": {"erlang": {"shape": 2, "mean": 0.8}}}
    for tables in (STOPPING, STOPPING | {"buffer": erlang}):
        none = system({"at": 1.0, "until": 3.0, "indexers": 0}, **tables)
        still = system({"at": 1.0, "until": 3.0, "service_speed": 0.0}, **tables)
        assert_same_columns(none, still)
        every = system({"at": 1.0, "until": 3.0, "indexers": 3}, **tables)
        assert_same_columns(every, system({"at": 1.0, "service_speed": 1.0}, **tables))


def assert_same_columns(one: Scenario, other: Scenario) -> None:
    first, second = values(one), values(other)
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[key], second[key]) for key in first)


def test_stopped_indexings_with_phases_are_left_to_the_simulation() -> None:
    erlang = STOPPING["buffer"] | {"service": {"erlang": {"shape": 2, "mean": 0.8}}}
    scenario = system({"at": 1.0, "indexers": 2}, **STOPPING | {"buffer": erlang})
    reasons = {reason for each in predict(scenario)[1] for reason in each.reasons}
    assert "interventions stop some of the indexers, and services are not exponential" in reasons


def test_the_transient_mm1k_queue_is_that_of_the_textbook() -> None:
    """Morse, Queues, Inventories and Maintenance (1958), chapter 6: a sum of K exponentials."""
    arrivals, service, top = 2.0, 1.5, 4
    scenario = system(
        robots={"available": 1, "access_time": {"exponential": {"rate": arrivals}}},
        activation={"static": 1},
        buffer={"waiting_places": top - 1, "service": {"exponential": {"rate": service}}},
        run={"horizon": 2.0, "warmup": 0.0, "observe": 0.5},
    )
    root = math.sqrt(arrivals / service)
    angles = np.pi * np.arange(1, top + 1) / (top + 1)
    decay = 1.0 + root**2 - 2.0 * root * np.cos(angles)

    def shape(level: int) -> Any:
        return np.sin(level * angles) - root * np.sin((level + 1) * angles)

    for place, time in enumerate((0.5, 1.0, 1.5, 2.0)):
        for level in range(top + 1):
            parts = shape(0) * shape(level) * np.exp(-decay * service * time) / decay
            steady = (1 - root**2) * root ** (2 * level) / (1 - root ** (2 * top + 2))
            expected = steady + 2.0 / (top + 1) * root**level * parts.sum()
            assert values(scenario)["level_probability", level][place] == pytest.approx(
                expected, abs=1e-13
            )


def test_both_methods_agree_on_a_stiff_chain_and_a_long_time() -> None:
    rates = np.array([[0, 1e4, 1.0], [9e3, 0, 1e-3], [1e-3, 2.0, 0]])
    generator = with_diagonal(csr_array(rates))
    row = np.array([0.0, 0.0, 1.0])
    for time in (1e-5, 0.3, 40.0):
        jumps = ByJumps(generator).move(row, time)
        doubled = ByDoubling(generator.toarray()).move(row, time)
        reference = solve_ivp(
            lambda _, p: p @ generator.toarray(), (0, time), row, "Radau", rtol=1e-9, atol=1e-12
        )
        assert np.abs(doubled.after - jumps.after).max() < 1e-12
        assert np.abs(doubled.during - jumps.during).max() < 1e-12 * time
        assert np.abs(doubled.after - reference.y[:, -1]).max() < 1e-7
    long = ByDoubling(generator.toarray()).move(row, 1e6)
    exact = np.linalg.solve(np.vstack([generator.toarray().T[:2], np.ones(3)]), [0, 0, 1.0])
    assert long.after == pytest.approx(exact, abs=1e-13)
    assert long.during.sum() == pytest.approx(1e6, rel=1e-13)


@pytest.mark.parametrize("window", [(0.0, 12.0), (1.5, 7.25)])
def test_averages_over_the_window_are_integrals_of_the_course(window: tuple[float, float]) -> None:
    warmup, horizon = window
    scenario = system(
        OUTAGE,
        SLOWER,
        run={"horizon": horizon, "warmup": warmup},
        costs={"loss": 2.0, "obsolescence": 0.5, "starvation": 1.5, "robots": 0.1},
    )
    cuts = [each for each in stretches(scenario, [warmup or 1.0, horizon]) if each.begin >= warmup]
    sums = {key: sum(each.over[key] for each in cuts) for key in cuts[0].over}
    length = horizon - warmup
    ended = sum(sums[name, None] for name in COUNTED[1:])
    levels = [sums[key] / length for key in sums if key[0] == "level_probability"]
    expected = {(name, None): sums[name, None] / length for name in COUNTED[:3]}
    expected["mean_active_robots", None] = sums["mean_active_robots", None] / length
    expected["mean_in_system", None] = sum(n * p for n, p in enumerate(levels))
    expected["starvation_probability", None] = levels[0]
    expected |= {("level_probability", n): p for n, p in enumerate(levels)}
    expected["loss_probability", None] = sums["loss_rate", None] / ended
    expected["obsolescence_probability", None] = sums["obsolete_rate", None] / ended
    expected["success_probability", None] = sums["throughput", None] / ended
    expected["control_cost", None] = (
        2.0 * expected["loss_rate", None]
        + 0.5 * sums["obsolete_rate", None] / length
        + 1.5 * levels[0]
        + 0.1 * expected["mean_active_robots", None]
    )
    found = {(row.measure, row.subject): row for row in predict(scenario)[0]}
    assert set(found) == set(expected) | {(name, None) for name in PREDICTED_ONLY}
    for key, value in expected.items():
        assert found[key].value == pytest.approx(value, abs=1e-11), key
        assert (found[key].kind, found[key].source[:7]) == ("exact", "courses")


def test_no_stationary_prediction_is_given_for_a_system_that_changes() -> None:
    """However late the change is."""
    plain = system()
    changed = system({"at": 1e6, "service_speed": 0.5})
    priced = system(SLOWER, costs={"loss": 1.0, "response": 1.0})
    before = {row.source for row in predict(plain)[0]}
    for scenario in (changed, priced):
        rows, others = predict(scenario)
        assert not before & {row.source for row in rows}
        assert before <= {other.source for other in others}
        assert not {"sojourn_time", "control_cost"} & {row.measure for row in rows}
    assert "response time" in next(
        each.reason for each in others if each.source == "courses queue, cost"
    )


def test_observing_a_system_changes_no_prediction() -> None:
    observed = predict(system())
    alone = predict(system(run=SYSTEM["run"] | {"observe": 5.0}))
    assert observed[0] == alone[0]
    assert {row.source for row in alone[0]} & {"avrachenkov2011 Theorem 2"}


DAILY = [
    {"at": 7.0, "until": 9.5, "every": 8.0, "robots": 1},
    {"at": 1.0, "until": 1.5, "every": 2.0, "service_speed": 0.2},
]


@pytest.mark.parametrize("method", ["doubling", "jumps"])
def test_the_periodic_regime_is_what_the_course_becomes(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if method == "jumps":
        monkeypatch.setattr("analytic.transient.transitions.LARGEST_DENSE", 0)
        monkeypatch.setattr("analytic.transient.periodic.LARGEST_DENSE", 0)
    scenario = system(*DAILY, run={"horizon": 800.0, "warmup": 0.0, "observe": 0.75})
    found = course_of(scenario)
    assert found.periodic is not None
    assert found.periodic.times.tolist() == [0.75 * j for j in range(1, 11)]
    # the course at 0.75 × (96 × 8 / 0.75 + j)
    for key, column in found.periodic.columns.items():
        assert found.course.columns[key][1024:1034] == pytest.approx(column, abs=1e-12), key


def test_without_a_common_period_there_is_no_periodic_regime() -> None:
    for changes, words in (
        ([], "there are no"),
        ([OUTAGE], "does not repeat"),
        ([DAILY[0], DAILY[1] | {"every": 3.0}], "not a multiple"),
    ):
        found = course_of(system(*changes))
        assert found.periodic is None
        assert any(words in each.reason for each in found.not_applicable)


def recovery(scenario: Scenario, measure: str = "recovery_time") -> float:
    return next(row.value for row in predict(scenario)[0] if row.measure == measure)


def mean_after(scenario: Scenario, last: float, times: Any) -> tuple[Any, float]:
    """Mean in system on a fine grid after the last change, and in the long run."""
    queue = queue_of(scenario)
    *_, before = queue.follow(queue.start(), scenario.model.timeline.between(0.0, last), ())
    chain = queue.chain_in(scenario.model.timeline.between(last, last + 1.0)[-1])
    step = expm(chain.generator * times[1])
    row = before.after
    means = []
    for _ in times:
        means.append(row @ chain.levels)
        row = row @ step
    return np.array(means), float(row @ np.linalg.matrix_power(step, 2**20) @ chain.levels)


STEADY = {
    "robots": {"available": 1, "access_time": {"erlang": {"shape": 40, "mean": 1.0}}},
    "activation": {"static": 1},
    "buffer": {"waiting_places": 3, "service": {"exponential": {"mean": 0.4}}},
}


@pytest.mark.thorough
@pytest.mark.parametrize("sections", [{}, STEADY], ids=["decaying", "oscillating"])
def test_recovery_ends_with_the_last_crossing(sections: dict[str, Any]) -> None:
    scenario = system({"at": 2.5, "until": 4.25, "service_speed": 0.3}, **sections)
    times = np.arange(0, 60.0, 0.001)
    means, long_run = mean_after(scenario, 4.25, times)
    off = np.abs(means - long_run) > 0.05 * long_run
    last = np.flatnonzero(off)[-1]
    found = recovery(scenario)
    assert times[last] <= found <= times[last + 1]
    if sections:
        first = np.flatnonzero(~off)[0]
        assert times[first] < found - 0.5  # it leaves the band again and again
    assert recovery(scenario.with_("run.horizon", 3.0)) == found


def births_and_deaths(births: Any, deaths: Any) -> Any:
    rates = np.diag(births, 1) + np.diag(deaths, -1)
    return rates - np.diag(rates.sum(axis=1))


FULL = {
    "robots": {"available": 1, "access_time": {"exponential": {"mean": 0.5}}},
    "activation": {"static": 1},
    "buffer": {"waiting_places": 29, "service": {"exponential": {"mean": 1.5}}},
}


@pytest.mark.parametrize(
    ("sections", "changed", "arrivals", "rates"),
    [
        # All three of three indexers, then one of them, each at a rate of 1.25; timers of 0.4.
        (
            STOPPING,
            {"indexers": 1},
            4.0,
            ([1.25, 2.5, 3.75, 4.15, 4.55], [1.25] * 3 + [1.65, 2.05]),
        ),
        # A buffer that is nearly full before the outage and after it.
        (FULL, {"service_speed": 0.0}, 2.0, ([1 / 1.5] * 30, [0.0] * 30)),
    ],
    ids=["indexers", "full"],
)
def test_losses_recover_in_a_time_of_their_own(
    sections: dict[str, Any], changed: dict[str, Any], arrivals: float, rates: Any
) -> None:
    """Of M/M/c/K + M the rate of loss is that of the deliveries times the probability of K."""
    begin, until = 40.0, 43.0
    scenario = system({"at": begin, "until": until} | changed, **sections)
    usual, less = (births_and_deaths([arrivals] * len(each), each) for each in rates)
    row = np.eye(len(usual))[0] @ expm(usual * begin) @ expm(less * (until - begin))
    long_run = (row @ expm(usual * 1e4))[-1]
    step = 0.001
    move = expm(usual * step)
    off = []
    for _ in range(20_000):
        off.append(abs(row[-1] - long_run) > max(0.05 * long_run, 0.001))
        row = row @ move
    last = np.flatnonzero(off)[-1]
    found = recovery(scenario, "loss_recovery_time")
    assert step * last <= found <= step * (last + 1)
    if sections is FULL:
        assert recovery(scenario) == 0.0 < found


def test_no_losses_recover_where_nothing_is_delivered_any_more() -> None:
    """The indexer and the robots stand still for good: the buffer stays as it is."""
    scenario = system({"at": 5.0, "service_speed": 0.0, "robots": 0}, **FULL)
    assert {row.measure for row in predict(scenario)[0]} >= {"recovery_time"}
    assert "loss_recovery_time" not in {row.measure for row in predict(scenario)[0]}


def test_the_settling_of_rare_losses_takes_few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses of 8e-12: a bound by the second derivative alone looks a hundred thousand times."""
    scenario = load("pipeline-throwing-away")
    queue = queue_of(scenario.with_({"pages": None, "clients": None, "robots.accessing": None}))
    looks = []
    honest = ByDoubling.move
    monkeypatch.setattr(
        ByDoubling, "move", lambda self, row, time: looks.append(time) or honest(self, row, time)
    )
    found = settling_time(queue, 0.001)
    assert len(looks) < 2000
    chain = queue.chain_in(Piece(0.0, 1.0))
    times = np.arange(0, 40.0, 0.002)
    step = expm(chain.generator * times[1])
    rows = [queue.start()]
    for _ in times[1:]:
        rows.append(rows[-1] @ step)
    law = rows[-1] @ np.linalg.matrix_power(step, 2**16)
    last = []
    for reward in (chain.levels, chain.losses):
        band = max(0.001 * (law @ reward), 1e-10)
        off = np.abs(np.array(rows) @ reward - law @ reward) > band
        last.append(max(np.flatnonzero(off), default=-1))
    assert times[max(last)] <= found <= times[max(last) + 1]


def test_recovery_knows_the_new_system_and_an_undisturbed_one() -> None:
    empty = {"at": 0.0, "robots": 0}
    _, others = predict(system(empty))
    assert any("nothing is in the system" in each.reason for each in others)
    assert recovery(system({"at": 400.0, "until": 401.0, "robot_speed": 1.0})) == 0.0
    stands = system({"at": 5.0, "service_speed": 0.0})
    assert recovery(stands) > 0.0
    assert any("repeats" in each.reason for each in predict(system(*DAILY))[1])


def test_a_setting_is_built_once() -> None:
    queue = queue_of(system(OUTAGE))
    assert queue.chain_in(Piece(0.0, 1.0, robots=1)) is queue.chain_in(Piece(2.0, 9.0, robots=1))
    assert queue.chain_in(Piece(0.0, 1.0)) is not queue.chain_in(Piece(0.0, 1.0, robots=1))
    assert periodic_start(queue_of(system(*DAILY))).sum() == pytest.approx(1.0, abs=1e-14)


def test_decisions_are_made_without_interventions_and_say_so() -> None:
    costs = {"loss": 1.0, "starvation": 0.5}
    plain, changed = system(costs=costs), system(OUTAGE, costs=costs)
    for best_of in (optimize, crawlsim.optimize):
        best, same = best_of(plain, "static"), best_of(changed, "static")
        assert (same.cost, same.decision) == (best.cost, best.decision)
        assert "without its interventions" in same.notes[-1]
    decided = resolve(changed.with_("activation", {"optimal": "static"}))
    assert decided.interventions == changed.interventions


@pytest.mark.thorough
@pytest.mark.parametrize("shift", [0.0, 1.0], ids=["right", "off by one interval"])
def test_check_judges_every_number_of_the_course(shift: float) -> None:
    """Planted: numbers of an interval under the end of the next one. One false alarm in 1000."""
    scenario = system(OUTAGE, SLOWER, run={"horizon": 8.0, "warmup": 0.0, "observe": 1.0})
    results = crawlsim.run(scenario, replications=4000, seed=24)
    course = course_of(scenario).course
    if shift:
        columns = {key: np.roll(column, 1) for key, column in course.columns.items()}
        course = replace(course, columns=columns)
    rows = check_course(scenario, course, results)
    assert len(rows) == 8 * len(course.columns)
    assert {row.time for row in rows} == set(course.times.tolist())
    assert (overall(rows) == "disagrees") == bool(shift)


def test_a_system_that_changes_is_never_told_that_its_warmup_is_too_short() -> None:
    assert remembered_starts(system(run=SYSTEM["run"] | {"warmup": 0.0}))
    assert not remembered_starts(system(OUTAGE, run=SYSTEM["run"] | {"warmup": 0.0}))


# --- without interventions ----------------------------------------------------------------------


def test_a_window_from_empty_beside_the_long_run() -> None:
    """M/M/1/10 from 0 to 10, by a dense exponential; the mean is from outside."""
    scenario = scenario_from(
        {
            "name": "short",
            "robots": {"available": 1, "access_time": {"exponential": {"rate": 0.9}}},
            "buffer": {"waiting_places": 9, "service": {"exponential": {"rate": 1.0}}},
            "run": {"horizon": 10.0, "warmup": 0.0},
        }
    )
    generator = np.diag(np.full(10, 0.9), 1) + np.diag(np.ones(10), -1)
    generator -= np.diag(generator.sum(axis=1))
    both = np.block([[generator, np.eye(11)], [np.zeros((11, 22))]])
    levels = expm(10.0 * both)[0, 11:] / 10.0
    solved = crawlsim.solve(scenario)
    window = {(row.measure, row.subject): row.value for row in solved.window}
    found = [window["level_probability", level] for level in range(11)]
    assert found == pytest.approx(levels, abs=1e-12)
    assert window["mean_in_system", None] == pytest.approx(1.622172, abs=5e-7)
    assert solved.find("mean_in_system").value == pytest.approx(3.96944, abs=5e-6)
    changed = scenario.with_("interventions", [{"at": 5.0, "service_speed": 1.0}])
    same = {(row.measure, row.subject): row.value for row in predict(changed)[0]}
    assert {key: same[key] for key in window} == pytest.approx(window, rel=1e-12)
    assert not crawlsim.solve(changed).window
    assert not crawlsim.solve(scenario.with_("run.warmup", 1.0)).window
