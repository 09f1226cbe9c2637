"""The queue of switched robots entry by entry: the one mechanism against those it replaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

from analytic.decision_process import DecisionProcess
from analytic.phase_type import PhaseLaw
from analytic.robot_control.controlled_queue import ControlledQueue
from analytic.robot_control.environment import QueueInEnvironment
from analytic.robot_control.switched_queue import (
    Levels,
    SwitchedQueue,
    best_policy,
    measures_of_policy,
)
from analytic.robot_control.unlike_robots import UnlikeQueue
from analytic.robot_modes import Modes
from scenarios.sections import Costs


def drawn(rng: np.random.Generator) -> tuple[Levels, Costs]:
    """Any service of one to three phases, with and without obsolescence, and prices."""
    phases = int(rng.integers(1, 4))
    T = rng.exponential(size=(phases, phases)) * (rng.random((phases, phases)) < 0.7)
    np.fill_diagonal(T, 0.0)
    T -= np.diag(T.sum(axis=1) + rng.uniform(0.2, 3.0, size=phases))
    service = PhaseLaw(rng.dirichlet(np.ones(phases)), T)
    gone = float(rng.choice([0.0, rng.uniform(0.1, 1.0)]))
    names = ("loss", "obsolescence", "starvation", "robots")
    prices = Costs(**{name: float(rng.random()) for name in names})
    return Levels(service, gone, int(rng.integers(1, 6))), prices


def same(found: DecisionProcess, expected: DecisionProcess) -> None:
    """Every entry of two processes."""
    for name in ("transitions", "decisions", "options"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.shape == other.shape, name
        difference = abs(one - other)
        assert difference.nnz == 0 or difference.max() <= 1e-14 * abs(other).max(), name
    assert np.array_equal(found.first, expected.first)
    assert found.costs == pytest.approx(expected.costs, rel=1e-14, abs=1e-16)
    assert not found.option_costs.any()


def other_queue(levels: Levels, access: float, available: int) -> ControlledQueue:
    own = levels.service, levels.obsolescence, levels.capacity
    return ControlledQueue(access, available, *own)


@given(st.integers(0, 10**6))
@settings(max_examples=examples(60))
def test_robots_that_are_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels, prices = drawn(rng)
    access, available = float(rng.uniform(0.1, 2.0)), int(rng.integers(1, 6))
    old = other_queue(levels, access, available)
    new = SwitchedQueue(levels, Modes((access,), (available,)))
    assert new.states == old.states
    same(new.process(new.costs(prices)), old.process(old.rewards(prices)))
    targets = rng.integers(0, available + 1, size=levels.number)
    policy = new.towards(targets)
    assert np.array_equal(policy, old.options_of(targets))
    assert np.array_equal(new.switched(policy) >= 0, old.switches_on(policy))
    table = old.sojourn.over(np.arange(available + 1))
    assert new.earned(new.sojourn) == pytest.approx(table, rel=1e-14)
    assert np.array_equal(new.counted("served").level, old.served.fixed)


@given(st.integers(0, 10**6))
@settings(max_examples=examples(60))
def test_robots_of_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels, prices = drawn(rng)
    sizes = tuple(map(int, rng.integers(1, 4, size=int(rng.integers(1, 4)))))
    rates = rng.uniform(0.1, 2.0, size=len(sizes))
    if rng.integers(2):
        prices = prices.model_copy(
            update={"robots": 0.0, "by_class": tuple(rng.random(len(sizes)))}
        )
    old = UnlikeQueue(other_queue(levels, 1.0, sum(sizes)), rates, sizes)
    new = SwitchedQueue(levels, Modes(rates, sizes))
    assert (new.states, new.start, new.shape) == (old.states, old.start, old.shape)
    same(new.process(new.costs(prices)), old.process(old.costs_of(prices)))
    assert all(map(np.array_equal, new.options, old.options))
    wanted = rng.integers(-1, len(sizes), size=(levels.phases, levels.capacity + 1, new.shape[1]))
    possible = new.policy(levels.spread(wanted))  # what cannot be is nobody
    tables = old.choices_of(possible)
    assert np.array_equal(old.policy_of(tables), possible)
    assert np.array_equal(levels.by_phase(new.switched(possible)), tables)


@given(st.integers(0, 10**6))
@settings(max_examples=examples(60))
def test_robots_in_an_environment(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels, prices = drawn(rng)
    levels = Levels(PhaseLaw(np.ones(1), levels.service.generator[:1, :1]), levels.obsolescence, 3)
    states, available = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    Q = rng.exponential(size=(states, states)) * (1 - np.eye(states))
    Q -= np.diag(Q.sum(axis=1))
    speeds = np.append(rng.exponential(size=states - 1) * rng.integers(0, 2), 1.0)
    old = QueueInEnvironment(other_queue(levels, 0.7, available), Q, speeds)
    new = SwitchedQueue(levels, Modes((0.7,), (available,), Q, speeds))
    assert (new.states, new.start) == (old.states, old.start)
    assert np.array_equal(new.index, old.index.reshape(new.shape))
    same(new.process(new.costs(prices)), old.process(prices))
    targets = rng.integers(0, available + 1, size=(states, levels.number))
    policy = new.towards(targets)
    assert np.array_equal(policy, old.policy_of(targets))
    assert np.array_equal((new.switched(policy) >= 0).reshape(old.shape), old.switches_on(policy))
    targets[:, 0] = np.maximum(targets[:, 0], 1)
    law: Any = new.stationary(new.towards(targets))
    assert law == pytest.approx(old.stationary_of(targets), rel=1e-12, abs=1e-300)


def test_classes_in_an_environment_with_phases_of_service() -> None:
    # The figure of a prototype that was written apart from this one.
    service = PhaseLaw(np.array([0.6, 0.4]), np.array([[-3.0, 1.0], [0.5, -1.0]]))
    Q = np.array([[-0.2, 0.2, 0.0], [0.1, -0.3, 0.2], [0.5, 0.0, -0.5]])
    modes = Modes((0.4, 0.9), (2, 2), Q, np.array([1.6, 1.0, 0.4]))
    queue = SwitchedQueue(Levels(service, 0.3, 4), modes)
    prices = Costs(loss=1.3, obsolescence=0.7, starvation=0.9, robots=0.05)
    best = best_policy(queue, queue.costs(prices))
    assert queue.states == 240
    assert best.cost == pytest.approx(0.341003268602, abs=1e-12)
    assert best.cost - best.lower < 1e-13
    rule = measures_of_policy(queue, best.policy)
    delivered = queue.gain(best.policy, queue.rewards(delivery=1.0))
    ended = rule.throughput + rule.loss_rate + rule.obsolescence_rate
    assert delivered == pytest.approx(ended, rel=1e-12)
    assert rule.occasions.sum() == pytest.approx(delivered + rule.throughput, rel=1e-12)
