"""Average-cost decision processes: against enumeration, linear programming, and each other."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, eye_array, hstack, vstack

from analytic.machinery.decision_process import (
    DecisionProcess,
    evaluate,
    policy_iteration,
)
from analytic.machinery.markov import stationary, stationary_sparse
from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.robot_modes import Modes
from analytic.robot_control.switched_queue import Levels, SwitchedQueue
from papers.talim_process import Iterated, value_iteration
from scenarios.sections import Costs

SEEDS = range(25)


def random_process(seed: int, states: int = 4, decisions: int = 3) -> DecisionProcess:
    """Every state reaches every other by events without a decision."""
    rng = np.random.default_rng(seed)
    ring = np.roll(np.eye(states), 1, axis=1) * rng.uniform(0.1, 1, states)
    counts = rng.integers(1, 4, decisions)
    options = rng.dirichlet(np.full(states, 0.5), counts.sum())
    return DecisionProcess(
        costs=rng.uniform(0, 3, states),
        transitions=csr_matrix(ring),
        decisions=csr_matrix(rng.uniform(0, 2, (states, decisions))),
        first=np.concatenate([[0], np.cumsum(counts)]),
        options=csr_matrix(options),
        option_costs=rng.uniform(0, 1, counts.sum()),
    )


def talim(seed: int) -> DecisionProcess:
    """A queue of talim2001; its chains can have several closed classes."""
    rng = np.random.default_rng(seed)
    service = PhaseLaw(np.ones(1), np.array([[-1.0]]))
    modes = Modes((rng.uniform(0.1, 1.5),), (int(rng.integers(1, 4)),))
    queue = SwitchedQueue(Levels(service, 0.0, int(rng.integers(1, 4))), modes)
    return queue.process(queue.costs(Costs(loss=1, starvation=rng.uniform(0.1, 3))))


def iterated(process: DecisionProcess, width: float = 9e-9, most: int = 10**6) -> Iterated:
    """By value iteration on the uniformised chain, with a loop in every state; per unit time."""
    step = 0.99 / float(process.outflow.max())
    states = np.zeros(len(process.costs))
    found = value_iteration(lambda v: v + step * process.drift(v), states, step * width, most)
    return found._replace(low=found.low / step, high=found.high / step)


def gain(process: DecisionProcess, policy: np.ndarray) -> float:
    """Cost per unit time from the best start, from dense linear algebra on each closed class."""
    generator = process.generator(policy).toarray()
    costs = process.cost_rates(policy)
    size = len(generator)
    reach = np.linalg.matrix_power((generator > 0) + np.eye(size), size) > 0
    classes = {tuple(np.flatnonzero(row)) for row in reach if reach[np.ix_(row, row)].all()}
    found = []
    for each in classes:
        part = generator[np.ix_(each, each)]
        found.append(float(stationary(part) @ costs[list(each)]))
    return min(found)


def enumerated(process: DecisionProcess) -> float:
    """The least cost of any policy."""
    choices = [range(a, b) for a, b in zip(process.first, process.first[1:], strict=False)]
    return min(gain(process, np.array(policy)) for policy in product(*choices))


def by_linear_program(process: DecisionProcess) -> float:
    """Max theta: theta <= c + R V + F w - out V, and w_d <= k_o + P_o V for every option of d."""
    states, decisions = process.decisions.shape
    drift = process.transitions - eye_array(states).multiply(process.outflow[:, None])
    decision_of = np.repeat(np.arange(decisions), np.diff(process.first))
    picks = csr_matrix(
        (np.ones(len(decision_of)), (np.arange(len(decision_of)), decision_of)),
        shape=(len(decision_of), decisions),
    )
    one = csr_matrix(np.ones((states, 1)))
    none = csr_matrix((len(decision_of), 1))
    left = vstack(
        [hstack([one, -drift, -process.decisions]), hstack([none, -process.options, picks])]
    )
    right = np.concatenate([process.costs, process.option_costs])
    goal = np.zeros(left.shape[1])
    goal[0] = -1.0
    found = linprog(goal, A_ub=left, b_ub=right, bounds=(None, None), method="highs")
    assert found.status == 0
    return float(found.x[0])


@pytest.mark.by_day(
    every=3,
    besides=("1-talim", "7-talim", "12-talim", "13-talim", "15-talim", "4-talim", "16-talim"),
)
@pytest.mark.parametrize("build", [random_process, talim])
@pytest.mark.parametrize("seed", SEEDS)
def test_all_solvers_find_the_enumerated_optimum(build, seed: int) -> None:
    process = build(seed)
    best = enumerated(process)
    solution = policy_iteration(process)
    assert solution.gain == pytest.approx(best, rel=1e-10)
    assert solution.lower == pytest.approx(solution.upper, abs=1e-9)
    assert by_linear_program(process) == pytest.approx(best, rel=1e-7, abs=1e-9)
    by_values = iterated(process)
    assert by_values.low <= best + 1e-12
    assert by_values.high >= best - 1e-12
    assert by_values.high - by_values.low <= 1e-8


@settings(max_examples=examples(100))
@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e3))
def test_the_bounds_hold_for_any_values(seed: int, scale: float) -> None:
    process = random_process(seed)
    values = scale * np.random.default_rng(seed).normal(size=len(process.costs))
    drift = process.drift(values)
    best = policy_iteration(process).gain
    assert drift.min() <= best + 1e-9 * scale
    assert best <= drift.max() + 1e-9 * scale


def islands(bridge: bool = True) -> DecisionProcess:
    """Two states; each is kept or left by its own decision. With "stay" in both: two classes."""
    options = [[1, 0], [0, 1], [0, 1], [1, 0]] if bridge else [[1, 0], [1, 0], [0, 1], [0, 1]]
    return DecisionProcess(
        costs=np.array([1.0, 2.0]),
        transitions=csr_matrix((2, 2)),
        decisions=csr_matrix(np.eye(2)),
        first=np.array([0, 2, 4]),
        options=csr_matrix(np.array(options, dtype=float)),
        option_costs=np.zeros(4),
    )


def test_several_closed_classes_are_steered_to_the_cheapest() -> None:
    """Staying everywhere is two classes, of cost 1 and 2; the optimum stays in the first."""
    process = islands()
    stay = np.array([0, 2])
    with pytest.raises(ValueError, match="2 closed classes"):
        evaluate(process, stay)
    solution = policy_iteration(process, stay)
    assert solution.gain == 1.0
    assert solution.policy.tolist() == [0, 3]


def test_where_nothing_leads_across_the_cost_depends_on_the_start() -> None:
    with pytest.raises(ValueError, match="not communicating"):
        policy_iteration(islands(bridge=False))


def test_sparse_and_dense_stationary_distributions_agree() -> None:
    process = random_process(3, states=12)
    generator = process.generator(process.first[:-1])
    assert stationary_sparse(generator) == pytest.approx(stationary(generator.toarray()), rel=1e-12)


def test_the_cost_never_rises_from_one_iteration_to_the_next() -> None:
    most = policy_iteration(talim(4)).iterations
    costs = [policy_iteration(talim(4), most=count).gain for count in range(1, most + 1)]
    assert len(costs) > 1
    assert costs == sorted(costs, reverse=True)


def test_the_bounds_hold_when_it_stops_early() -> None:
    process = random_process(1)
    best = policy_iteration(process).gain
    for most in (1, 2):
        early = policy_iteration(process, most=most)
        assert early.lower - 1e-12 <= best <= early.upper + 1e-12
    rough = iterated(process, most=3)
    assert rough.iterations == 3
    assert rough.low <= best <= rough.high


@pytest.mark.parametrize(
    ("part", "value", "says"),
    [
        ("costs", np.ones(3), "transitions has shape"),
        ("first", np.array([0, 0, 4]), "needs an option"),
        ("first", np.array([1, 2, 4]), "begin with 0"),
        ("option_costs", np.ones(3), "option_costs has shape"),
        ("decisions", csr_matrix(-np.eye(2)), "decisions has a negative entry"),
        ("options", csr_matrix(np.full((4, 2), 0.4)), "row 0 of options sums to 0.8"),
    ],
)
def test_what_is_no_process_is_refused(part: str, value: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(islands(), **{part: value})
