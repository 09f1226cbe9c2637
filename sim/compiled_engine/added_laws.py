"""Laws of plugins: whether their draws compile."""

from __future__ import annotations

from functools import cache

import numpy as np

from scenarios import Scenario, ScenarioError
from scenarios.laws import Law
from scenarios.plugins import in_a_line
from sim.added_laws import laws_of_plugins


def require_compiled(scenario: Scenario) -> None:
    """Refuse a law of a plugin whose draw does not compile.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ScenarioError
        Naming the law, its module, and the reason.
    """
    for law in laws_of_plugins(scenario):
        if (reason := _why_not(law)) is not None:
            home = type(law).__module__
            allowed = f"the draw of the law {law.key} ({home}) does not compile: {reason}"
            raise ScenarioError("engine", "compiled", f"{allowed}; simpy does without")


@cache
def _why_not(law: Law) -> str | None:
    """Why the numbers of a law cannot be drawn by compiled code, by drawing some."""
    from sim.compiled_engine.random_numbers import RandomNumbers, rows_of  # numba takes its time

    try:
        RandomNumbers([rows_of(law, np.random.default_rng(1))], np.ones(1, dtype=int)).refill()
    except Exception as error:  # whatever numba says of code that it does not know
        return in_a_line(error)
    return None
