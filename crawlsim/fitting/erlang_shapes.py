"""Which mixtures of Erlang laws are tried for a sample: simple ones, and the best near them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crawlsim.fitting.hyper_erlang import HyperErlang
from crawlsim.fitting.mixture_likelihood import Sample, expectation_maximisation
from scenarios.arrays import Array

Shapes = tuple[int, ...]
Found = tuple[HyperErlang, float]

_ROUGH = 1e-6
_MOST_STEPS = 30


def numbers_in(law: HyperErlang) -> int:
    """How many were chosen to fit it, shapes included."""
    return 2 * len(law.shapes) - 1 + sum(shape > 1 for shape in law.shapes)


def criterion(sample: Sample, law: HyperErlang, value: float) -> float:
    """BIC of a law with a log-likelihood, ``numbers ln n - 2 log-likelihood``."""
    return float(numbers_in(law) * np.log(sample.count) - 2 * value)


def likely_laws(sample: Sample, most_phases: int) -> list[Found]:
    """Laws by maximum likelihood with their log-likelihoods, none of more than some phases.

    Notes
    -----
    Erlang laws near the variation seen, mixtures of two of them and three exponentials; among the
    mixtures those of the two groups into which the logarithms fall apart, each with its own
    variation (two narrow peaks). From the best mixture of two on, one shape after another is made
    one larger or smaller, doubled or halved, as long as the criterion gets less.
    """
    found = {
        shapes: expectation_maximisation(sample, shapes) for shapes in _shapes(sample, most_phases)
    }
    pairs = {shapes: law for shapes, law in found.items() if len(shapes) == 2}
    law, _ = min(pairs.values(), key=lambda each: criterion(sample, *each))
    law = _best_near(sample, law, most_phases)
    shapes = tuple(sorted(law.shapes))
    again = expectation_maximisation(sample, law.shapes, start=law)
    if shapes not in found or again[1] > found[shapes][1]:
        found[shapes] = again
    return list(found.values())


def _best_near(sample: Sample, law: HyperErlang, most_phases: int) -> HyperErlang:
    """The mixture that no neighbour is better than."""
    best = criterion(sample, *expectation_maximisation(sample, law.shapes, _ROUGH, law))
    for _ in range(_MOST_STEPS):
        tried = [
            expectation_maximisation(sample, shapes, _ROUGH, law)
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
    pairs.add(_two_groups(sample, most_phases))
    tried = sorted(single) + sorted({tuple(sorted(pair)) for pair in pairs}) + [(1, 1, 1)]
    return [shapes for shapes in tried if sum(shapes) <= most_phases]


def _order(variation: float, most_phases: int) -> int:
    """Phases of the Erlang law that is nearest to a squared coefficient of variation."""
    return int(min(max(1.0, np.round(1.0 / max(variation, 1e-9))), most_phases))


def _two_groups(sample: Sample, most_phases: int) -> tuple[int, int]:
    """Orders of the groups left and right of the cut that leaves the least variance of ln x."""
    order = np.argsort(sample.values)
    values = sample.values[order]
    weights = sample.weights[order]
    logs = np.log(values)
    below = np.cumsum(weights)[:-1]
    left = np.cumsum(weights * logs)[:-1]
    total = float(weights @ logs)
    apart = left / below - (total - left) / (sample.count - below)
    cut = int(np.argmax(below * (sample.count - below) * apart**2)) + 1
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
