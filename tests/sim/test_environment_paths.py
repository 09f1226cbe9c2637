"""The common environment of robots: one path for both engines, and the path itself."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles import examples
from random_systems import buffers, gaps, split_into_classes
from systems import queue

from scenarios import Scenario, ScenarioError, scenario_from
from scenarios.environment import Environment
from scenarios.service_phases import seen_phases
from sim import compiled_engine, simpy_engine
from sim.environment import draw_path
from sim.event_rate import require_progress
from sim.speeds import NEVER, end_of_work
from sim.streams import stream

ENVIRONMENTS = (
    {"Q": [[0.0]], "speeds": [1.7]},
    {"Q": [[-0.5, 0.5], [0.2, -0.2]], "speeds": [2.0, 0.0]},
    {"Q": [[-3.0, 2.0, 1.0], [0.0, -1.0, 1.0], [4.0, 0.0, -4.0]], "speeds": [0.0, 0.6, 3.0]},
)


def same(left: Any, right: Any) -> bool:
    """Whether two tallies are equal to the last bit."""
    if is_dataclass(left):
        names = [field.name for field in fields(left)]
        return all(same(getattr(left, name), getattr(right, name)) for name in names)
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, np.ndarray):
        return np.array_equal(left, right)
    return bool(left == right or (left != left and right != right))


def both(scenario: Scenario, replication: int = 0) -> list[Any]:
    """The tally of each engine."""
    return [
        engine.simulate(scenario, replication, seed=5) for engine in (simpy_engine, compiled_engine)
    ]


@st.composite
def systems(draw: Any) -> dict[str, Any]:
    """Robots in an environment with a buffer, under every kind of rule."""
    available = draw(st.integers(1, 4))
    buffer = draw(buffers(draw(st.integers(0, 4)), False, False))
    levels = buffer["waiting_places"] + buffer.get("servers", 1) + 1
    environment = draw(st.sampled_from(ENVIRONMENTS))
    numbers = st.lists(st.integers(0, available), min_size=levels, max_size=levels)
    targets = numbers.map(lambda row: [max(row[0], 1), *row[1:]])
    states = len(environment["speeds"])
    phases = phases_seen(buffer)
    by_phase = [st.lists(targets, min_size=phases, max_size=phases)] if phases else []
    fitting = [targets]
    if states > 1:  # the outer lists are for its states
        fitting += [
            st.lists(each, min_size=states, max_size=states) for each in (targets, *by_phase)
        ]
    else:
        fitting += by_phase
    rule = draw(
        st.one_of(
            st.just({"static": available}),
            numbers.map(lambda row: {"levels": row}),
            *[rows.map(lambda given: {"switching": {"targets": given}}) for rows in fitting],
        )
    )
    robots = {"available": available, "access_time": draw(gaps), "environment": environment}
    if draw(st.booleans()):
        robots["failure"] = {"probability": 0.3}
    observe = draw(st.sampled_from([{}, {"observe": 7.0}]))
    run = {"horizon": 60.0, "warmup": 7.0, "replications": 2, **observe}
    tables = {"name": "random", "robots": robots, "activation": rule, "buffer": buffer, "run": run}
    if draw(st.booleans()):
        split_into_classes(draw, tables)
    return tables


def phases_seen(buffer: dict[str, Any]) -> int:
    """Phases of its service that a rule may look at; 0 where there are several servers."""
    robots = {"available": 1, "access_time": {"exponential": {"mean": 1.0}}}
    known = scenario_from({"name": "phases", "robots": robots, "buffer": buffer}).buffer
    assert known is not None
    seen = seen_phases(known.service)
    return 0 if known.servers > 1 else 1 if seen is None else len(seen.alpha)


@pytest.mark.thorough
@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(systems())
def test_both_engines_give_the_same_path(tables: dict[str, Any]) -> None:
    readable, compiled = both(scenario_from(tables))
    assert same(readable, compiled)


@pytest.mark.parametrize("rule", [{"static": 3}, {"switching": {"targets": [3, 3, 2, 1, 0]}}])
def test_an_environment_that_never_changes_anything(rule: dict[str, Any]) -> None:
    plain = queue({"activation": rule})
    constant = plain.with_("robots.environment", {"Q": [[0.0]], "speeds": [1.0]})
    alike = plain.with_(
        "robots.environment", {"Q": [[-0.3, 0.3], [0.9, -0.9]], "speeds": [1.0, 1.0]}
    )
    before = simpy_engine.simulate(plain, 0, seed=5)
    assert all(same(before, each) for each in both(constant))
    # with pieces, sums of times are rounded otherwise
    after = simpy_engine.simulate(alike, 0, seed=5)
    assert before.buffer is not None
    assert after.buffer is not None
    assert after.buffer.delivered == before.buffer.delivered
    assert after.robots_time == pytest.approx(before.robots_time, rel=1e-12)


@pytest.mark.thorough
def test_the_path_is_that_of_the_chain() -> None:
    # Each mean and share within four standard errors of some hundred thousand sojourns: 0.7 % to
    # 1.2 %; a false alarm in 700 seeds. The shares of time by hand, from the balance of flows.
    Q = ((-3.0, 2.0, 1.0), (0.0, -1.0, 1.0), (4.0, 0.0, -4.0))
    environment = Environment(Q=Q, speeds=(0.0, 0.6, 3.0))
    speed, states = draw_path(environment, stream(3, 0, "environment"), 600_000.0)
    visits = np.array(states[:-1])
    lengths = np.diff([0.0, *speed.ends[:-1]])
    after = np.array(states[1:])
    generator = np.array(Q)
    for state in range(3):
        here = visits == state
        rate = -generator[state, state]
        slack = 4 / math.sqrt(here.sum())
        assert lengths[here].mean() == pytest.approx(1 / rate, rel=slack)
        for other in range(3):
            share = max(generator[state, other], 0.0) / rate
            assert (after[here] == other).mean() == pytest.approx(share, abs=2 * slack)
    time = np.bincount(visits, lengths) / lengths.sum()
    assert time == pytest.approx([4 / 15, 8 / 15, 3 / 15], abs=0.005)
    assert speed.values.tolist() == [environment.speeds[state] for state in states]


def test_the_first_state_is_stationary() -> None:
    environment = Environment(Q=((-0.02, 0.02), (0.06, -0.06)), speeds=(1.0, 0.0))
    first = [draw_path(environment, stream(1, n, "environment"), 1.0)[1][0] for n in range(4000)]
    assert np.mean(first) == pytest.approx(0.25, abs=4 * math.sqrt(0.1875 / 4000))


def test_an_access_waits_while_the_speed_is_0() -> None:
    environment = Environment(Q=((-1.0, 1.0), (1.0, -1.0)), speeds=(0.0, 2.0))
    speed, states = draw_path(environment, stream(2, 0, "environment"), 50.0)
    fast = states.tolist().index(1)
    begin = 0.0 if fast == 0 else speed.ends[fast - 1]
    work = (speed.ends[fast] - begin) * 2.0 / 3.0
    assert end_of_work(speed, 0.0, work) == pytest.approx(begin + work / 2.0)
    stopped = Environment(Q=((-1.0, 1.0), (1e-9, -1e-9)), speeds=(1.0, 0.0))
    speed, states = draw_path(stopped, stream(2, 0, "environment"), 1e6)
    assert end_of_work(speed, speed.ends[states.tolist().index(1)] - 1.0, 1e9) == NEVER


def test_an_environment_that_changes_too_often_is_refused() -> None:
    fast = queue({"robots.environment": {"Q": [[-1e5, 1e5], [1e5, -1e5]], "speeds": [1.0, 2.0]}})
    with pytest.raises(ScenarioError, match="changes about 4e"):
        require_progress(fast)
