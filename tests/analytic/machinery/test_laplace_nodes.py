"""Laplace transforms at many rates from their values at few."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

from analytic.machinery.laplace_nodes import nodes_of, weights_of
from scenarios.arrays import Array

TRANSFORMS: dict[str, Callable[[Array], Array]] = {
    "constant": lambda rates: np.exp(-3.0 * rates),
    "exponential": lambda rates: 1.0 / (1.0 + 0.2 * rates),
    "uniform": lambda rates: -np.expm1(-rates) / rates,
    "mixed": lambda rates: 0.5 + 0.3 * np.exp(-100.0 * rates) + 0.2 / (1.0 + rates) ** 7,
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("decades", [1, 4, 9])
def test_few_values_say_what_the_others_are(name: str, decades: int) -> None:
    """Also at rates that are nodes, and at the ends."""
    rates = 1e-3 * np.append(np.geomspace(1.0, 10.0**decades, 2000), [1.7, 5.0])
    nodes = nodes_of(rates)
    assert len(nodes) < 60 + 40 * decades
    rates = np.append(rates, nodes)
    found = weights_of(rates, nodes) @ TRANSFORMS[name](nodes)
    assert_allclose(found, TRANSFORMS[name](rates), rtol=0, atol=2e-14)


def test_few_rates_stand_for_themselves() -> None:
    for rates in (np.array([0.3]), np.array([0.1, 0.2, 7.0])):
        assert nodes_of(rates).tolist() == rates.tolist()
        assert weights_of(rates, rates).tolist() == np.eye(len(rates)).tolist()
