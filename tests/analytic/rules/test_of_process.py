"""Policies of a decision process beside bounds: against the list of all of them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from analytic.machinery.decision_process import DecisionProcess, policy_iteration
from analytic.machinery.markov import stationary
from analytic.rules import of_process
from analytic.rules.bound import Bound, cheapest_within
from analytic.rules.of_process import BoundedProcess, Rate, _changes

OPTIONS = 3
DECISIONS = 3
EVERY = OPTIONS**DECISIONS


def _system(seed: int) -> tuple[BoundedProcess, list[tuple[float, float]]]:
    """Three decisions of three options each, and of every policy its cost and its measure."""
    rng = np.random.default_rng(seed)
    states = 4
    ring = np.roll(np.eye(states), 1, axis=1) * rng.uniform(0.1, 1.0, states)
    process = DecisionProcess(
        costs=rng.uniform(0.0, 3.0, states),
        transitions=csr_matrix(ring),
        decisions=csr_matrix(rng.uniform(0.0, 2.0, (states, DECISIONS))),
        first=np.arange(DECISIONS + 1) * OPTIONS,
        options=csr_matrix(rng.dirichlet(np.full(states, 0.5), DECISIONS * OPTIONS)),
        option_costs=rng.uniform(0.0, 1.0, DECISIONS * OPTIONS),
    )
    counted = Rate(rng.uniform(0.0, 1.0, states), rng.uniform(0.0, 1.0, DECISIONS * OPTIONS))
    every = []
    for policy in _policies():
        law = stationary(process.generator(policy).toarray())
        used = law @ process.decisions.toarray()
        cost = law @ process.costs + used @ process.option_costs[policy]
        every.append((float(cost), float(law @ counted.states + used @ counted.options[policy])))
    time = Rate(np.ones(states), np.zeros(DECISIONS * OPTIONS))
    free = policy_iteration(process)
    at_best = every[[policy.tolist() for policy in _policies()].index(free.policy.tolist())][1]
    most = 0.6 * min(measure for _, measure in every) + 0.4 * at_best
    return BoundedProcess(process, [Bound("throughput", False, most)], [counted], [time]), every


def _policies() -> list[Any]:
    each = np.arange(DECISIONS) * OPTIONS
    return [each + np.array(chosen) for chosen in product(range(OPTIONS), repeat=DECISIONS)]


def _least(process: BoundedProcess, every: list[tuple[float, float]]) -> float:
    most = process.bounds[0].value
    return min(cost for cost, measure in every if measure <= most)


@pytest.mark.parametrize("seed", range(5))
def test_of_few_policies_the_cheapest_that_keeps_a_bound_is_found(seed: int) -> None:
    process, every = _system(seed)
    found = cheapest_within(process, process.bounds, str)
    assert found.single.cost == pytest.approx(_least(process, every), rel=1e-12)
    assert found.proved is True
    assert found.free_cost == pytest.approx(min(cost for cost, _ in every), rel=1e-12)
    assert found.lower <= found.mixed_cost * (1 + 1e-9) <= found.single.cost * (1 + 2e-9)
    chosen = [policy.tolist() for policy in _policies()].index(found.single.rule.tolist())
    assert found.single.values == pytest.approx((every[chosen][1],))
    excess = every[chosen][1] - process.bounds[0].value
    assert found.single.excess == pytest.approx((excess,))


@pytest.mark.parametrize("seed", range(5))
def test_of_more_policies_those_near_the_mixture_are_tried(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but one may be tried: in these systems the cheapest one is among them."""
    monkeypatch.setattr(of_process, "_FEW", EVERY - 1)
    process, every = _system(seed)
    found = cheapest_within(process, process.bounds, str)
    assert found.is_mixed
    assert found.single.cost == pytest.approx(_least(process, every), rel=1e-12)
    assert found.proved is False
    assert len(process._tried) < EVERY


def test_no_more_policies_are_tried_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found then keeps the bound, and costs no less than the best of all."""
    tried = []
    for most in (1, 2, 5, 12):
        monkeypatch.setattr(of_process, "_FEW", most)
        process, every = _system(3)
        found = cheapest_within(process, process.bounds, str)
        assert found.single.keeps
        assert found.single.cost >= _least(process, every) * (1 - 1e-12)
        tried.append(len(process._tried))
    assert tried[:3] == [1, 2, 5]
    assert tried[3] <= 12


def test_the_search_near_a_mixture_ends_where_nothing_can_be_cheaper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a price of the excess, what waits costs no less than what was found."""
    monkeypatch.setattr(of_process, "_FEW", EVERY - 1)
    process, every = _system(3)
    points = [process._at(policy) for policy in _policies()]
    known = sorted((each for each in points if each is not None), key=lambda each: each.cost)
    keeping = [each for each in known if each.keeps]
    assert keeping[0].cost == pytest.approx(_least(process, every), rel=1e-12)
    found, proved = process.single([keeping[0], keeping[-1]], np.zeros(1))
    assert found is keeping[0]
    assert proved is False
    assert not process._tried
    breaking = next(each for each in known if not each.keeps)
    assert breaking.cost < keeping[0].cost
    found, _ = process.single([breaking, keeping[0]], np.zeros(1))
    assert found is keeping[0]
    around = {each.tobytes() for each in _changes(breaking.rule, process.process.first)}
    assert around <= set(process._tried)
    assert process.single([keeping[-1]], np.zeros(1)) == (keeping[-1], True)


@pytest.mark.parametrize(("seed", "starts"), [(1, (2, 3)), (3, (0, 3)), (10, (0, 3))])
def test_policies_that_cost_less_lead_on_to_one_that_keeps_the_bound(
    seed: int, starts: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It differs from where the search begins in two decisions or three."""
    monkeypatch.setattr(of_process, "_FEW", EVERY - 1)
    process, every = _system(seed)
    points = [process._at(policy) for policy in _policies()]
    known = sorted((each for each in points if each is not None), key=lambda each: each.cost)
    best = next(each for each in known if each.keeps)
    begun = [known[place] for place in starts]
    assert all((each.rule != best.rule).sum() >= 2 for each in begun)
    found, _ = process.single(begun, np.zeros(1))
    assert found is not None
    assert found.rule.tolist() == best.rule.tolist()
    assert found.cost == pytest.approx(_least(process, every), rel=1e-12)
    assert len(process._tried) < EVERY - 1


def test_a_change_takes_another_option_in_one_decision() -> None:
    first = np.array([0, 2, 5, 6])
    policy = np.array([1, 2, 5])
    found = [changed.tolist() for changed in _changes(policy, first)]
    assert found == [[0, 2, 5], [1, 3, 5], [1, 4, 5]]
    assert policy.tolist() == [1, 2, 5]


def test_a_policy_with_two_closed_classes_has_no_cost() -> None:
    """Each state may stay where it is, or go to the other one."""
    process = DecisionProcess(
        costs=np.array([1.0, 3.0]),
        transitions=csr_matrix((2, 2)),
        decisions=csr_matrix(np.eye(2)),
        first=np.array([0, 2, 4]),
        options=csr_matrix(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])),
        option_costs=np.array([0.0, 0.5, 0.0, 0.25]),
    )
    time = Rate(np.ones(2), np.zeros(4))
    high = Rate(np.array([0.0, 1.0]), np.zeros(4))
    bounded = BoundedProcess(process, [Bound("throughput", True, 0.5)], [high], [time])
    assert bounded._point(np.array([0, 2])) is None
    turns = bounded._point(np.array([1, 3]))
    assert turns is not None
    assert turns.keeps
    assert turns.cost == pytest.approx(0.5 * (1.0 + 0.5) + 0.5 * (3.0 + 0.25))
    found = cheapest_within(bounded, bounded.bounds, str)
    assert found.single.cost == pytest.approx(turns.cost)
