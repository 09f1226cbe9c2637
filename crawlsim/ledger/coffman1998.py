"""coffman1998, computed anew."""

from __future__ import annotations

from collections.abc import Mapping

from analytic.page_refresh.golden import golden_guarantee
from analytic.page_refresh.obsolescence import cyclic_obsolescence
from crawlsim.ledger.computed import Experiment, Figure, Number
from scenarios.laws import Exponential


def _of_a_cycle() -> float:
    """Page 0 in the cycle 0 1 0 2, change rate 1/2, exponential accesses of mean 1."""
    return float(cyclic_obsolescence([0.5, 0.3, 0.1], [0, 1, 0, 2], Exponential(mean=1.0))[0])


def _golden_excess() -> float:
    """How far the golden ratio may be from the optimum where loads are low, in per cent."""
    return 100.0 * (golden_guarantee(1e-9) - 1.0)


NUMBERS: Mapping[str, Number] = {
    "(3)": _of_a_cycle,
    "abstract, within 5 %": _golden_excess,
}
EXPERIMENTS: Mapping[str, Experiment] = {}
FIGURES: Mapping[str, Figure] = {}
