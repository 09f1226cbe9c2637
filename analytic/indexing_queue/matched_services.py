"""Several servers and services without phases: between and beyond Erlang laws of the same mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from analytic.index.conditions import buffer_of, service_law
from analytic.index.formula import Values, dependent
from analytic.indexing_queue.measures import size_of, solved_servers
from analytic.indexing_queue.several_servers import size_of_servers
from analytic.indexing_queue.sojourns import Row
from analytic.machinery.moment_match import two_moment_match
from analytic.machinery.refusal import NoAnswerError, Remembered
from analytic.machinery.transforms import moments
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.measures import Subject

_SHAPES = (1, 2, 3, 4, 6, 8, 10)
_LEAST = 4
"""Phases of the Erlang laws that are solved, as far as they fit; so many of them at least."""

_MOST_PRODUCTS = 4 * 10**8
_STEADY = 0.01
"""Largest share of a number by which the last law may change it; else it is left out."""


def between_erlang_laws(
    variation: float, shapes: Sequence[int], found: Sequence[dict[tuple[str, Subject], float]]
) -> dict[tuple[str, Subject], float]:
    """Measures at a squared coefficient of variation, from those of Erlang laws.

    Parameters
    ----------
    variation : float
        c² of the services, at most 1.
    shapes : sequence of int
        Phases k of the Erlang laws, ascending.
    found : sequence of dict
        The measures of each.

    Returns
    -------
    dict
        Without those that the last law changes by more than 1 %.

    Notes
    -----
    Lagrange's polynomial in c², 1/k of an Erlang law: docs/theory/buffer-approximations.md.
    """
    best, coarser = (_weights(variation, each) for each in (shapes, shapes[:-1]))
    rows = {}
    for key in found[0]:
        values = np.array([each[key] for each in found])
        value = float(best @ values)
        if abs(value - float(coarser @ values[:-1])) <= _STEADY * abs(value):
            rows[key] = value
    return rows


def _weights(variation: float, shapes: Sequence[int]) -> Array:
    points = 1.0 / np.array(shapes)
    return np.array(
        [
            np.prod([(variation - other) / (point - other) for other in points if other != point])
            for point in points
        ]
    )


@Remembered
def _rows_of(scenario: Scenario) -> tuple[Row, ...]:
    mean, second = moments(service_law(scenario))
    variation = second / mean**2 - 1.0
    if not math.isfinite(variation):
        raise NoAnswerError("service times have no variance")
    if variation > 1.0:
        probabilities, _, rates = two_moment_match(mean, variation, 2)
        law = {"hyperexponential": {"probabilities": probabilities, "rates": rates}}
        return solved_servers(scenario.with_("buffer.service", law))
    shapes = _fitting(scenario)
    found = [
        {
            (measure, subject): value
            for measure, subject, value in solved_servers(
                scenario.with_("buffer.service", {"erlang": {"shape": shape, "mean": mean}})
            )
            if math.isfinite(value)
        }
        for shape in shapes
    ]
    rows = between_erlang_laws(variation, shapes, found)
    return tuple((measure, subject, value) for (measure, subject), value in rows.items())


def _fitting(scenario: Scenario) -> list[int]:
    servers = buffer_of(scenario).servers
    order, _, _, top = size_of(scenario)
    fitting = []
    for shape in _SHAPES:
        states, width = size_of_servers(order, shape, servers, top)
        if states * width**2 > _MOST_PRODUCTS:
            break
        fitting.append(shape)
    if len(fitting) < _LEAST:
        raise NoAnswerError(f"services of {_SHAPES[_LEAST - 1]} phases are too many for its chain")
    return fitting


def rows_of_matched_services(scenario: Scenario) -> Values:
    """Every measure, approximately."""
    return _rows_of(scenario)


@dependent
def some_match(scenario: Scenario) -> str | None:
    """Service times have a variance, and the chain with four phases instead is small enough."""
    _rows_of(scenario)
    return None
