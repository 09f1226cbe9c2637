"""Relative value iteration with a stop that is a bound: the check of policy iteration."""

from __future__ import annotations

import numpy as np

from analytic.decision_process import DecisionProcess, Solution, improved
from scenarios.arrays import Array


def relative_value_iteration(
    process: DecisionProcess,
    values: Array | None = None,
    *,
    tolerance: float = 1e-9,
    most: int = 1_000_000,
) -> Solution:
    """The optimum by relative value iteration, with a stop that is a bound.

    Parameters
    ----------
    process : DecisionProcess
    values : ndarray, shape (states,), optional
        Where to begin; 0 otherwise.
    tolerance : float
        Stop when ``max L V - min L V`` is no larger.
    most : int
        Iterations at most; the bounds hold whenever it stops.

    Notes
    -----
    ``V <- V + 0.99 / Lambda (L V - (L V)(0))`` with Lambda the largest outflow: the uniformised
    chain with a self-loop in every state, hence aperiodic. talim2001, Proposition 2, on the states
    after a decision, and with a certified stop in place of the relative change of V.
    """
    values = np.zeros(len(process.costs)) if values is None else values.copy()
    step = 0.99 / max(float(process.outflow.max()), 1e-300)
    drift = process.drift(values)
    iteration = 1
    while iteration < most and drift.max() - drift.min() > tolerance:
        values = values + step * (drift - drift[0])
        drift = process.drift(values)
        iteration += 1
    lower = float(drift.min())
    upper = float(drift.max())
    policy = improved(process, values, process.first[:-1].copy())
    return Solution(policy, (lower + upper) / 2, values, lower, upper, iteration)
