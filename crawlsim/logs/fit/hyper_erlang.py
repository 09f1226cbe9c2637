"""Mixtures of Erlang laws: by two or three moments, and by maximum likelihood.

All fitted laws of sizes and service times are of this family: exponential (one branch of one
phase), Erlang (one branch), hyperexponential (branches of one phase), and mixtures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from analytic.machinery.moment_match import two_moment_match
from scenarios.arrays import Array

Shapes = tuple[int, ...]

_MOST_PHASES = 1000
_FEW = 5000
_LOG_GRID = 400.0
_ROUGH_PASSES = 40
_MOST_PASSES = 1500
_ROUGH = 1e-6
_MOST_SHAPES = 30


@dataclass(frozen=True)
class HyperErlang:
    """A mixture of Erlang laws.

    Attributes
    ----------
    probabilities : tuple of float
        Of the branches.
    shapes : tuple of int
        Phases of each branch.
    rates : tuple of float
        Of each phase of a branch.
    """

    probabilities: tuple[float, ...]
    shapes: tuple[int, ...]
    rates: tuple[float, ...]

    @property
    def means(self) -> Array:
        """Mean of each branch."""
        shapes, _, rates = self.arrays
        return shapes / rates

    @property
    def name(self) -> str:
        """What such a law is called."""
        if len(self.shapes) == 1:
            return "exponential" if self.shapes[0] == 1 else f"Erlang({self.shapes[0]})"
        if set(self.shapes) == {1}:
            return f"hyperexponential({len(self.shapes)})"
        return f"mixture of Erlang({', '.join(map(str, self.shapes))})"

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Shapes, probabilities and rates."""
        return np.array(self.shapes, float), np.array(self.probabilities), np.array(self.rates)

    def moment(self, order: int) -> float:
        """E X^order."""
        shapes, probabilities, rates = self.arrays
        return float(probabilities @ (special.poch(shapes, order) / rates**order))

    @property
    def variation(self) -> float:
        """Squared coefficient of variation."""
        return self.moment(2) / self.moment(1) ** 2 - 1.0

    def survival(self, x: ArrayLike) -> Array:
        """P(X > x), of the shape of `x`."""
        shapes, probabilities, rates = self.arrays
        tails = special.gammaincc(shapes, rates * np.asarray(x, float)[..., None])
        return tails @ probabilities

    def quantile(self, share: float) -> float:
        """The size below which a share of all is."""
        low = high = self.moment(1)
        while self.survival(low) < 1 - share:
            low /= 2
        while self.survival(high) > 1 - share:
            high *= 2
        return float(optimize.brentq(lambda x: self.survival(x) - (1 - share), low, high))

    def scaled(self, factor: float) -> HyperErlang:
        """The law of `factor` times X."""
        return HyperErlang(
            self.probabilities, self.shapes, tuple(rate / factor for rate in self.rates)
        )

    def entry(self) -> dict[str, Any]:
        """The distribution as a scenario file has it."""
        if len(self.shapes) == 1:
            mean = float(self.means[0])
            if self.shapes[0] == 1:
                return {"exponential": {"mean": mean}}
            return {"erlang": {"shape": self.shapes[0], "mean": mean}}
        if set(self.shapes) == {1}:
            entries = {"probabilities": list(self.probabilities), "rates": list(self.rates)}
            return {"hyperexponential": entries}
        alpha, steps = self.phases()
        return {"phase-type": {"alpha": alpha.tolist(), "T": steps.tolist()}}

    def phases(self) -> tuple[Array, Array]:
        """Start vector and sub-generator: the branches one below the other."""
        starts = np.cumsum((0, *self.shapes[:-1]))
        alpha = np.zeros(sum(self.shapes))
        steps = np.zeros((sum(self.shapes),) * 2)
        alpha[starts] = self.probabilities
        rows = np.repeat(self.rates, self.shapes)
        steps[np.diag_indices(len(rows))] = -rows
        inner = np.ones(len(rows) - 1, dtype=bool)
        inner[starts[1:] - 1] = False
        above = np.flatnonzero(inner)
        steps[above, above + 1] = rows[above]
        return alpha, steps


def two_moments(mean: float, variation: float) -> HyperErlang:
    """The law of `analytic.machinery.moment_match` of a mean and a squared coefficient c.

    Raises
    ------
    ValueError
        If c is so small that more than a thousand phases were needed.
    """
    if variation * _MOST_PHASES < 1.0:
        raise ValueError(f"a variation of {variation:g} needs more than {_MOST_PHASES} phases")
    return HyperErlang(*two_moment_match(mean, variation, _MOST_PHASES))


def three_moments(first: float, second: float, third: float, most: int = 100) -> HyperErlang:
    """The mixture of two Erlang laws of one common order with three given moments.

    Parameters
    ----------
    first, second, third : float
        E X, E X^2, E X^3.
    most : int
        Largest number of phases of a branch.

    Raises
    ------
    ValueError
        If no law has these moments, or the order were above `most`.

    Notes
    -----
    avrachenkov2011, section 7, for order n = 1, and the same for any n (Johnson and Taaffe 1989;
    docs/derivations.md): with f_k = E X^k / (n (n+1) … (n+k-1)) the means x_1, x_2 of a phase are
    the roots of ``x^2 - a x + b``, ``a = (f3 - f1 f2) / (f2 - f1^2)``, ``b = (f1 f3 - f2^2) / (f2 -
    f1^2)``. The smallest n with f2 > f1^2 and f1 f3 > f2^2 is taken; there is one for all moments
    but those of a constant.
    """
    if not (first > 0 and second > first**2 and first * third > second**2):
        raise ValueError(f"no positive law has the moments {first:g}, {second:g}, {third:g}")
    for order in range(1, most + 1):
        f1 = first / order
        f2 = second / (order * (order + 1))
        f3 = third / (order * (order + 1) * (order + 2))
        if f2 > f1**2 and f1 * f3 > f2**2:
            return _two_points(f1, f2, f3, order)
    raise ValueError(f"the moments need branches of more than {most} phases")


def _two_points(f1: float, f2: float, f3: float, order: int) -> HyperErlang:
    """The mixture whose mean phase times have moments f1, f2, f3.

    Reckoned from the central moments: so the shares are between 0 and 1 whatever is rounded.
    """
    variance = f2 - f1**2
    skew = (f3 - 3 * f1 * f2 + 2 * f1**3) / variance
    root = np.sqrt(skew**2 + 4 * variance)
    above = (root + skew) / 2 if skew > 0 else 2 * variance / (root - skew)
    below = variance / above
    if not below < f1:
        raise ValueError("rounding leaves no mixture with these moments")
    share = float(below / (above + below))
    rates = (float(1.0 / (f1 + above)), float(1.0 / (f1 - below)))
    return HyperErlang((share, float(above / (above + below))), (order, order), rates)


# By maximum likelihood


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


def maximum_likelihood(
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
    equal blocks of ln x and on equally many observations, the shapes in every order, and the
    passes go on from where a few of them have come farthest.
    """
    if start is not None:
        begun = [_State.of(shapes, np.array(start.probabilities), start.means)]
    else:
        begun = [
            _State.of(order, *block)
            for order in sorted(set(permutations(shapes)))
            for block in _blocks(sample, len(shapes))
        ]
    logs = np.log(sample.values)
    if len(begun) > 1:
        rough = [_climbed(sample, logs, each, precision, _ROUGH_PASSES) for each in begun]
        begun = [max(rough, key=lambda each: each.value)]
    law = _climbed(sample, logs, begun[0], precision, _MOST_PASSES).law
    return law, log_likelihood(sample, law)


class _State(NamedTuple):
    """Where the passes have come to, and the log-likelihood before the last pass."""

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
        weights = belonging * sample.weights
        counts = weights.sum(axis=1) + 1e-300
        rate = state.shape * counts / (weights @ sample.values + 1e-300)
        gain = value - state.value
        state = _State(state.shape, counts / counts.sum(), rate, value)
        if gain < precision * sample.count:
            break
    return state


def _blocks(sample: Sample, branches: int) -> list[tuple[Array, Array]]:
    """Shares and means of equal blocks of ln x, and of equally many observations."""
    if branches == 1:
        return [(np.ones(1), np.array([sample.moments[0]]))]
    logs = np.log(sample.values)
    order = np.argsort(logs)
    places = np.empty(len(order))
    places[order] = np.cumsum(sample.weights[order]) / sample.count
    return [_start(sample, values, branches) for values in (logs, places)]


def _start(sample: Sample, values: Array, branches: int) -> tuple[Array, Array]:
    """Shares and means of the observations on equal blocks of some values that increase."""
    edges = np.linspace(values.min(), values.max() + 1e-9, branches + 1)
    piece = np.clip(np.searchsorted(edges, values, "right") - 1, 0, branches - 1)
    counts = np.bincount(piece, sample.weights, branches) + 1e-3 * sample.count
    sums = np.bincount(piece, sample.weights * sample.values, branches)
    spread = np.geomspace(sample.values.min(), sample.values.max(), 2 * branches + 1)[1::2]
    return counts / counts.sum(), (sums + 1e-3 * sample.count * spread) / counts


def _belonging(
    sample: Sample, logs: Array, shape: Array, share: Array, rate: Array
) -> tuple[Array, float]:
    """Probability of each branch given each value, shape (branches, values); log-likelihood."""
    with np.errstate(divide="ignore"):
        constant = np.log(share) + shape * np.log(rate) - special.gammaln(shape)
    joint = constant[:, None] + np.outer(shape - 1.0, logs) - np.outer(rate, sample.values)
    top = joint.max(axis=0)
    joint = np.exp(joint - top)
    total = joint.sum(axis=0)
    value = float(sample.weights @ (np.log(total) + top))
    return joint / total, value


def log_likelihood(sample: Sample, law: HyperErlang) -> float:
    """Log-likelihood of the sample under a law."""
    return _belonging(sample, np.log(sample.values), *law.arrays)[1]


def information(sample: Sample, law: HyperErlang) -> Array:
    """Fisher information of the sample, as the sum of squared scores.

    Returns
    -------
    ndarray, shape (2 branches - 1, 2 branches - 1)
        For the logarithms of the rates, then those of p_j / p_last, j before the last.
    """
    shape, share, rate = law.arrays
    belonging, _ = _belonging(sample, np.log(sample.values), shape, share, rate)
    of_rates = belonging * (shape[:, None] - np.outer(rate, sample.values))
    scores = np.vstack([of_rates, (belonging - share[:, None])[:-1]])
    return (scores * sample.weights) @ scores.T


# Which shapes are tried


def numbers_in(law: HyperErlang) -> int:
    """How many were chosen to fit it, shapes included."""
    return 2 * len(law.shapes) - 1 + sum(shape > 1 for shape in law.shapes)


def criterion(sample: Sample, law: HyperErlang, value: float) -> float:
    """BIC of a law with a log-likelihood, ``numbers ln n - 2 log-likelihood``."""
    return float(numbers_in(law) * np.log(sample.count) - 2 * value)


def likely_laws(sample: Sample, most_phases: int) -> list[tuple[HyperErlang, float]]:
    """Laws by maximum likelihood with their log-likelihoods, none of more than some phases.

    Notes
    -----
    Erlang laws near the variation seen, mixtures of two of them and three exponentials; among the
    mixtures those of the two groups into which the logarithms fall apart, each with its own
    variation (two narrow peaks). From the best mixture of two on, one shape after another is made
    one larger or smaller, doubled or halved, as long as the criterion gets less.
    """
    laws = {shapes: maximum_likelihood(sample, shapes) for shapes in _shapes(sample, most_phases)}
    pairs = {shapes: law for shapes, law in laws.items() if len(shapes) == 2}
    law, _ = min(pairs.values(), key=lambda each: criterion(sample, *each))
    law = _best_near(sample, law, most_phases)
    shapes = tuple(sorted(law.shapes))
    again = maximum_likelihood(sample, law.shapes, start=law)
    if shapes not in laws or again[1] > laws[shapes][1]:
        laws[shapes] = again
    return list(laws.values())


def _best_near(sample: Sample, law: HyperErlang, most_phases: int) -> HyperErlang:
    """The mixture that no neighbour is better than."""
    best = criterion(sample, *maximum_likelihood(sample, law.shapes, _ROUGH, law))
    for _ in range(_MOST_SHAPES):
        tried = [
            maximum_likelihood(sample, shapes, _ROUGH, law)
            for shapes in _neighbours(law.shapes)
            if sum(shapes) <= most_phases
        ]
        near = min(tried, key=lambda each: criterion(sample, *each))
        if criterion(sample, *near) >= best:
            break
        law = near[0]
        best = criterion(sample, *near)
    return law


def _neighbours(shapes: Shapes) -> Iterator[Shapes]:
    """One shape one larger or smaller, doubled or halved, or both in exchange."""
    for place, shape in enumerate(shapes):
        for other in sorted({shape + 1, 2 * shape, shape - 1, shape // 2} - {0, shape}):
            yield (*shapes[:place], other, *shapes[place + 1 :])
    yield shapes[::-1]


def _shapes(sample: Sample, most_phases: int) -> list[Shapes]:
    """Shapes to begin with, each in increasing order."""
    near = _order(sample.variation, most_phases)
    single = {(order,) for order in (1, near - 1, near, near + 1) if order >= 1}
    larger = {2 * near, near + 1, max(near, 2)}
    pairs = {(1, 1), *((near, order) for order in larger), *((1, order) for order in larger)}
    pairs |= {(order, order) for order in larger}
    pairs.add(_orders_of_groups(sample, most_phases))
    tried = sorted(single) + sorted({tuple(sorted(pair)) for pair in pairs}) + [(1, 1, 1)]
    return [shapes for shapes in tried if sum(shapes) <= most_phases]


def _order(variation: float, most_phases: int) -> int:
    """Phases of the Erlang law that is nearest to a squared coefficient of variation."""
    return int(min(max(1.0, np.round(1.0 / max(variation, 1e-9))), most_phases))


def two_groups(logs: Array, weights: Array) -> tuple[int, float, float]:
    """Two groups of increasing numbers, with the least variance within both (Otsu 1979).

    Returns
    -------
    cut : int
        How many numbers are in the lower group.
    apart : float
        Distance of the means of the groups.
    between : float
        Variance between the groups.
    """
    sums = np.cumsum(weights * logs)
    counts = np.cumsum(weights)
    below = counts[:-1]
    above = counts[-1] - below
    apart = (sums[-1] - sums[:-1]) / above - sums[:-1] / below
    between = below * above / counts[-1] ** 2 * apart**2
    cut = int(np.argmax(between))
    return cut + 1, float(apart[cut]), float(between[cut])


def _orders_of_groups(sample: Sample, most_phases: int) -> tuple[int, int]:
    """Orders of the groups left and right of the cut that leaves the least variance of ln x."""
    order = np.argsort(sample.values)
    values = sample.values[order]
    weights = sample.weights[order]
    cut, _, _ = two_groups(np.log(values), weights)
    orders = np.array(
        [
            _order(_variation(values[part], weights[part]), most_phases)
            for part in (slice(cut), slice(cut, None))
        ]
    )
    low, high = np.maximum(orders * min(1.0, most_phases / orders.sum()), 1).astype(int).tolist()
    return low, high


def _variation(values: Array, weights: Array) -> float:
    mean = np.average(values, weights=weights)
    return float(np.average((values / mean - 1.0) ** 2, weights=weights))
