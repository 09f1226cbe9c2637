"""What is done with arrays of numbers on all sides."""

from __future__ import annotations

import numpy as np

from scenarios.arrays import but_for_rounding


def test_what_differs_by_rounding_is_tied_and_nothing_else() -> None:
    numbers = np.array([0.0, -np.inf, np.inf, 1e-300, 1.0, -3.7, 86400.0 / 7, 1e300])
    np.testing.assert_allclose(but_for_rounding(numbers), numbers, rtol=1e-10)
    with np.errstate(invalid="ignore"):
        for factor in (1 - 1e-14, 1 + 1e-14):
            assert (but_for_rounding(numbers * factor) == but_for_rounding(numbers)).all()
    apart = numbers[np.isfinite(numbers) & (numbers != 0.0)]
    assert (but_for_rounding(apart * (1 + 1e-9)) != but_for_rounding(apart)).all()


def test_of_tied_numbers_the_first_comes_first() -> None:
    order = np.argsort(but_for_rounding([0.3, 0.1 + 0.2, 0.3, 0.2]), kind="stable")
    assert order.tolist() == [3, 0, 1, 2]
