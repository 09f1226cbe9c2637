"""Average-cost Markov decision processes in continuous time, on the states after a decision.

Events happen at rates; some lead to a decision, which has one or more options, and an option leads
to a state by chance. With rates R of the events without a decision, F of those with one, and
options that cost k and lead on with probabilities P,

    (L V)(x) = c(x) + sum_y R(x, y) (V(y) - V(x))
                    + sum_d F(x, d) (min over options o of d [k(o) + sum_y P(o, y) V(y)] - V(x)).

For **any** V, ``min L V <= theta* <= max L V``, where theta* is the least cost per unit time that
any policy has from the best, and from the worst, start: no convergence and no structure is assumed.
What is returned carries these bounds.

A decision that several states share is made once. The usual form, in which each state chooses a row
of rates, is the case ``R = 0``, F diagonal with a common rate, and P the uniformised rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from analytic.machinery.markov import closed_classes
from scenarios.arrays import Array, IntArray

_TIE = 1e-13
"""Options whose values differ by less, relatively to the largest value, are equally good."""

_STEPS_TO_A_LIKELY_STATE = 2000


@dataclass(frozen=True)
class DecisionProcess:
    """Rates, options and costs.

    Attributes
    ----------
    costs : ndarray, shape (states,)
        c, per unit time.
    transitions : csr_matrix, shape (states, states)
        R, rates of the events without a decision; the diagonal is not used.
    decisions : csr_matrix, shape (states, decisions)
        F, rates of the events with one.
    first : ndarray of int, shape (decisions + 1,)
        The options of decision d are ``first[d], …, first[d + 1] - 1``, at least one.
    options : csr_matrix, shape (options, states)
        P, rows that sum to one.
    option_costs : ndarray, shape (options,)
        k, paid at once.

    Raises
    ------
    ValueError
        If a shape does not fit, a decision has no option, a rate is negative, or a row of P does
        not sum to one.
    """

    costs: Array
    transitions: scipy.sparse.csr_matrix
    decisions: scipy.sparse.csr_matrix
    first: IntArray
    options: scipy.sparse.csr_matrix
    option_costs: Array

    def __post_init__(self) -> None:
        """Refuse what is not a decision process."""
        states = len(self.costs)
        count = len(self.first) - 1
        shapes = {
            "transitions": (self.transitions.shape, (states, states)),
            "decisions": (self.decisions.shape, (states, count)),
            "options": (self.options.shape, (int(self.first[-1]), states)),
            "option_costs": (self.option_costs.shape, (int(self.first[-1]),)),
        }
        for name, (shape, needed) in shapes.items():
            if shape != needed:
                raise ValueError(f"{name} has shape {shape}; must be {needed}")
        if self.first[0] != 0 or np.any(np.diff(self.first) < 1):
            raise ValueError("first must begin with 0 and increase: a decision needs an option")
        parts = {"transitions": self.transitions, "decisions": self.decisions}
        for name, matrix in (parts | {"options": self.options}).items():
            if matrix.nnz and matrix.data.min() < 0:
                raise ValueError(f"{name} has a negative entry")
        sums = self.options.sum(axis=1)
        if np.any(np.abs(sums - 1) > 1e-9):
            row = int(np.argmax(np.abs(sums - 1)))
            raise ValueError(f"row {row} of options sums to {float(np.ravel(sums)[row]):.12g}")

    @property
    def outflow(self) -> Array:
        """Rate of all events in each state, shape (states,)."""
        flows = self.transitions.sum(axis=1) + self.decisions.sum(axis=1)
        return np.asarray(flows).ravel() - self.transitions.diagonal()

    def values_of_options(self, values: Array) -> Array:
        """``k + P V``, shape (options,)."""
        return self.option_costs + self.options @ values

    def drift(self, values: Array) -> Array:
        """``L V``, shape (states,); its least and largest entry are bounds of the optimum."""
        best = np.minimum.reduceat(self.values_of_options(values), self.first[:-1])
        onward = self.transitions @ values - self.transitions.diagonal() * values
        return self.costs + onward + self.decisions @ best - self.outflow * values

    def generator(self, policy: IntArray) -> scipy.sparse.csr_matrix:
        """Rates of the chain under a policy, the diagonal included."""
        rates = self.transitions + self.decisions @ self.options[policy]
        rates = rates - scipy.sparse.diags_array(rates.diagonal())
        return scipy.sparse.csr_matrix(
            rates - scipy.sparse.diags_array(np.asarray(rates.sum(axis=1)).ravel())
        )

    def cost_rates(self, policy: IntArray) -> Array:
        """Cost per unit time in each state under a policy, shape (states,)."""
        return self.costs + self.decisions @ self.option_costs[policy]


class Evaluation(NamedTuple):
    """What a policy costs: per unit time, and relatively in each state (0 in one of them)."""

    gain: float
    values: Array


class Solution(NamedTuple):
    """A policy, its cost, and the bounds of the optimum.

    Attributes
    ----------
    policy : ndarray of int, shape (decisions,)
        Index of the option taken by each decision.
    gain : float
        Cost per unit time of the policy.
    values : ndarray, shape (states,)
        Relative values.
    lower, upper : float
        ``lower <= theta* <= upper``.
    iterations : int
    """

    policy: IntArray
    gain: float
    values: Array
    lower: float
    upper: float
    iterations: int


def _solved(generator: scipy.sparse.csr_matrix, costs: Array, state: int) -> Evaluation:
    """Gain and values of a chain with one closed class that holds `state`.

    Raises
    ------
    ValueError
        If its equations are singular to rounding.
    """
    try:
        return _relative_to(generator, costs, state)
    except RuntimeError:  # the state is too rare to be a unit
        pass
    try:
        return _relative_to(generator, costs, _likely_state(generator, state))
    except RuntimeError:
        raise ValueError("the equations of a policy are singular to rounding") from None


def _likely_state(generator: scipy.sparse.csr_matrix, start: int) -> int:
    """The likeliest state after many steps of the uniformised chain."""
    steps = generator.T.tocsr() / float(-generator.diagonal().min())
    probabilities = np.zeros(generator.shape[0])
    probabilities[start] = 1.0
    for _ in range(_STEPS_TO_A_LIKELY_STATE):
        probabilities = probabilities + steps @ probabilities
    return int(np.argmax(probabilities))


def _relative_to(generator: scipy.sparse.csr_matrix, costs: Array, state: int) -> Evaluation:
    """Gain, and values relative to that of a state in the closed class."""
    keep = np.ones(len(costs))
    keep[state] = 0.0
    ones = scipy.sparse.csr_matrix(
        (np.ones(len(costs)), (np.arange(len(costs)), np.full(len(costs), state))),
        shape=generator.shape,
    )
    solver = scipy.sparse.linalg.splu((generator @ scipy.sparse.diags_array(keep) - ones).tocsc())
    values = solver.solve(-costs)
    values += solver.solve(-costs - (generator @ (values * keep) - values[state]))
    gain = float(values[state])
    values[state] = 0.0
    return Evaluation(gain, values)


def evaluate(process: DecisionProcess, policy: IntArray) -> Evaluation:
    """Cost per unit time and relative values of a policy with one closed class.

    Parameters
    ----------
    process : DecisionProcess
    policy : ndarray of int, shape (decisions,)
        Index of the option taken by each decision.

    Raises
    ------
    ValueError
        If the chain has several closed classes: its cost then depends on the start.
    """
    generator = process.generator(policy)
    classes = closed_classes(generator)
    if len(classes) != 1:
        raise ValueError(f"the policy has {len(classes)} closed classes; it must have one")
    return _solved(generator, process.cost_rates(policy), int(classes[0][0]))


def _made_unichain(process: DecisionProcess, policy: IntArray) -> IntArray:
    """The policy with every state led to the cheapest of its closed classes.

    A state from which that class cannot be reached feeds no decision that leads towards it, so
    that such decisions can be changed without cutting anybody's way.
    """
    generator = process.generator(policy)
    costs = process.cost_rates(policy)
    classes = closed_classes(generator)
    if len(classes) == 1:
        return policy
    gains = [_solved(generator[c][:, c], costs[c], 0).gain for c in classes]
    home = int(classes[int(np.argmin(gains))][0])
    policy = policy.copy()
    decision_of = np.repeat(np.arange(len(policy)), np.diff(process.first))
    while not (reached := _reaching(generator, home)).all():
        lost = np.asarray(process.decisions[~reached].sum(axis=0)).ravel() > 0
        leads = (process.options @ reached.astype(float)) > 0
        useful = np.flatnonzero(leads & lost[decision_of])
        if not len(useful):
            raise ValueError("the process is not communicating: its cost depends on the start")
        policy[decision_of[useful]] = useful
        generator = process.generator(policy)
    return policy


def _reaching(generator: scipy.sparse.csr_matrix, state: int) -> NDArray[np.bool_]:
    """Whether each state reaches the given one."""
    backwards = scipy.sparse.csr_matrix((generator > 0).astype(np.int8).T)
    reached = np.zeros(generator.shape[0], dtype=bool)
    reached[
        scipy.sparse.csgraph.breadth_first_order(backwards, state, return_predecessors=False)
    ] = True
    return reached


def improved(process: DecisionProcess, values: Array, policy: IntArray) -> IntArray:
    """The best options for the values; that of the policy where it is as good as the best."""
    worth = process.values_of_options(values)
    best = np.minimum.reduceat(worth, process.first[:-1])
    tie = _TIE * max(float(np.max(np.abs(worth))), 1e-300)
    keep = worth[policy] <= best + tie
    lengths = np.diff(process.first)
    position = np.where(worth == np.repeat(best, lengths), np.arange(len(worth)), len(worth))
    return np.where(keep, policy, np.minimum.reduceat(position, process.first[:-1]))


def policy_iteration(
    process: DecisionProcess,
    policy: IntArray | None = None,
    *,
    tolerance: float = 0.0,
    most: int = 1000,
) -> Solution:
    """The optimal policy of a communicating process, by policy iteration.

    Parameters
    ----------
    process : DecisionProcess
    policy : ndarray of int, shape (decisions,), optional
        Where to begin; the first option of each decision otherwise.
    tolerance : float
        Stop when the bounds are no farther apart; 0: when the policy is the best for its values.
    most : int
        Iterations at most.

    Returns
    -------
    Solution
        Its `upper` is the cost of the policy or the bound ``max L V``, whichever is less.

    Raises
    ------
    ValueError
        If the process is not communicating and a policy with several closed classes was met.

    Notes
    -----
    Puterman, Markov Decision Processes (1994), sections 8.6 and 9.5.1: an improved policy may have
    several closed classes although the optimum has one. The cheapest class is kept, all other
    states are led to it, and the iteration goes on with one closed class.
    """
    better = process.first[:-1].copy() if policy is None else policy
    iterations = 0
    while True:
        iterations += 1
        policy = _made_unichain(process, better)
        gain, values = evaluate(process, policy)
        drift = process.drift(values)
        lower = float(drift.min())
        upper = min(float(drift.max()), gain)
        better = improved(process, values, policy)
        is_best = upper - lower <= tolerance or np.array_equal(better, policy)
        if is_best or iterations == most:
            return Solution(policy, gain, values, lower, upper, iterations)
