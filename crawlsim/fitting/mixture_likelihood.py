"""Mixtures of Erlang laws by maximum likelihood: the EM algorithm and the information matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import NamedTuple

import numpy as np
from scipy import special

from crawlsim.fitting.hyper_erlang import HyperErlang
from scenarios.arrays import Array

_FEW = 5000
_LOG_GRID = 400.0
_ROUGH_PASSES = 40
_MOST_PASSES = 1500


@dataclass(frozen=True)
class Sample:
    """Positive observations, equal or nearly equal ones together.

    Attributes
    ----------
    values, weights : ndarray
        Weights are numbers of observations.
    moments : tuple of float
        Means of x, x^2 and x^3 of the observations themselves.
    observations : ndarray
        All of them, one by one.
    """

    values: Array
    weights: Array
    moments: tuple[float, float, float]
    observations: Array = field(repr=False)

    @property
    def count(self) -> float:
        """Number of observations."""
        return float(self.weights.sum())

    @property
    def variation(self) -> float:
        """Squared coefficient of variation."""
        return self.moments[1] / self.moments[0] ** 2 - 1.0


def sample_of(values: Array) -> Sample:
    """The observations; of more than 5000, means over cells at most 1/400 wide in ln x.

    A cell's mean stands for its observations up to the curvature of the log-density, a millionth
    per observation, while a pass costs the same for any number of them. There are at least 5000
    cells, so that observations that are nearly equal still differ.
    """
    mean, second, third = (float((values**order).mean()) for order in (1, 2, 3))
    if len(values) <= _FEW:
        return Sample(values, np.ones(len(values)), (mean, second, third), values)
    above = np.log(values / values.min())
    cells = np.floor(above * max(_LOG_GRID, _FEW / above.max())).astype(np.int64)
    counts = np.bincount(cells)
    sums = np.bincount(cells, values)
    held = counts > 0
    centres = sums[held] / counts[held]
    return Sample(centres, counts[held].astype(float), (mean, second, third), values)


def expectation_maximisation(
    sample: Sample,
    shapes: Sequence[int],
    precision: float = 1e-9,
    start: HyperErlang | None = None,
) -> tuple[HyperErlang, float]:
    """The mixture of Erlang laws of given shapes by maximum likelihood, and its log-likelihood.

    Parameters
    ----------
    sample : Sample
    shapes : sequence of int
        Phases of each branch; their order does not matter without a start.
    precision : float
        The passes stop when the log-likelihood per observation gains less.
    start : HyperErlang, optional
        Whose probabilities and means the passes begin with, branch by branch.

    Returns
    -------
    law : HyperErlang
        The branch of the largest mean last.
    log_likelihood : float

    Notes
    -----
    Thümmler, Buchholz and Telek (IEEE Transactions on Dependable and Secure Computing, 2006). The
    likelihood never decreases, but it has several maxima. Without a start the branches begin on
    equal stretches of ln x and on equally many observations, the shapes in every order, and the
    passes go on from where a few of them have come farthest.
    """
    if start is not None:
        begun = [_State.of(shapes, np.array(start.probabilities), start.means)]
    else:
        begun = [
            _State.of(order, *stretches)
            for order in sorted(set(permutations(shapes)))
            for stretches in _stretches(sample, len(shapes))
        ]
    logs = np.log(sample.values)
    if len(begun) > 1:
        rough = [_climbed(sample, logs, each, precision, _ROUGH_PASSES) for each in begun]
        begun = [max(rough, key=lambda each: each.value)]
    law = _climbed(sample, logs, begun[0], precision, _MOST_PASSES).law
    return law, log_likelihood(sample, law)


class _State(NamedTuple):
    """Where the passes have come to; log-likelihood of the state before the last pass."""

    shape: Array
    share: Array
    rate: Array
    value: float

    @classmethod
    def of(cls, shapes: Sequence[int], shares: Array, means: Array) -> _State:
        """Before the first pass."""
        shape = np.array(shapes, float)
        return cls(shape, shares, shape / means, -np.inf)

    @property
    def law(self) -> HyperErlang:
        """The branch of the largest mean last."""
        order = np.argsort(self.shape / self.rate, kind="stable")
        return HyperErlang(
            tuple(self.share[order].tolist()),
            tuple(self.shape[order].astype(int).tolist()),
            tuple(self.rate[order].tolist()),
        )


def _climbed(sample: Sample, logs: Array, state: _State, precision: float, most: int) -> _State:
    """After some passes."""
    for _ in range(most):
        belonging, value = _belonging(sample, logs, *state[:3])
        weights = belonging * sample.weights[:, None]
        counts = weights.sum(axis=0) + 1e-300
        rate = state.shape * counts / (sample.values @ weights + 1e-300)
        gain = value - state.value
        state = _State(state.shape, counts / counts.sum(), rate, value)
        if gain < precision * sample.count:
            break
    return state


def _stretches(sample: Sample, branches: int) -> list[tuple[Array, Array]]:
    """Shares and means of equal stretches of ln x, and of equally many observations."""
    if branches == 1:
        return [(np.ones(1), np.array([sample.moments[0]]))]
    logs = np.log(sample.values)
    order = np.argsort(logs)
    places = np.empty(len(order))
    places[order] = np.cumsum(sample.weights[order]) / sample.count
    return [_start(sample, values, branches) for values in (logs, places)]


def _start(sample: Sample, values: Array, branches: int) -> tuple[Array, Array]:
    """Shares and means of the observations on equal stretches of some values that increase."""
    edges = np.linspace(values.min(), values.max() + 1e-9, branches + 1)
    piece = np.clip(np.searchsorted(edges, values, "right") - 1, 0, branches - 1)
    counts = np.bincount(piece, sample.weights, branches) + 1e-3 * sample.count
    sums = np.bincount(piece, sample.weights * sample.values, branches)
    spread = np.geomspace(sample.values.min(), sample.values.max(), 2 * branches + 1)[1::2]
    return counts / counts.sum(), (sums + 1e-3 * sample.count * spread) / counts


def _belonging(
    sample: Sample, logs: Array, shape: Array, share: Array, rate: Array
) -> tuple[Array, float]:
    """Probability of each branch given each value, shape (values, branches); log-likelihood."""
    with np.errstate(divide="ignore"):
        constant = np.log(share) + shape * np.log(rate) - special.gammaln(shape)
    joint = constant + (shape - 1.0) * logs[:, None] - rate * sample.values[:, None]
    top = joint.max(axis=1, keepdims=True)
    joint = np.exp(joint - top)
    total = joint.sum(axis=1, keepdims=True)
    value = float(sample.weights @ (np.log(total) + top)[:, 0])
    return joint / total, value


def log_likelihood(sample: Sample, law: HyperErlang) -> float:
    """Log-likelihood of the sample under a law."""
    parts = (np.array(each, float) for each in (law.shapes, law.probabilities, law.rates))
    return _belonging(sample, np.log(sample.values), *parts)[1]


def information(sample: Sample, law: HyperErlang) -> Array:
    """Fisher information of the sample, as the sum of squared scores.

    Returns
    -------
    ndarray, shape (2 branches - 1, 2 branches - 1)
        For the logarithms of the rates, then those of p_j / p_last, j before the last.
    """
    shape, share, rate = (
        np.array(each, float) for each in (law.shapes, law.probabilities, law.rates)
    )
    belonging, _ = _belonging(sample, np.log(sample.values), shape, share, rate)
    of_rates = belonging * (shape - rate * sample.values[:, None])
    scores = np.hstack([of_rates, (belonging - share)[:, :-1]])
    result: Array = scores.T @ (scores * sample.weights[:, None])
    return result
