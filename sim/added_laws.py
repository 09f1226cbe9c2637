"""Laws of plugins: what is drawn for them has to be times."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from pydantic import BaseModel

from scenarios import Scenario, ScenarioError
from scenarios.laws import ADDED, Law
from sim.laws import how_to_draw

_TRIED = 100
"""Times that are drawn of each before it is simulated."""


def laws_of_plugins(scenario: Scenario) -> list[Law]:
    """The laws of a scenario that plugins have added."""
    return [law for law in _laws_in(scenario) if type(law) in ADDED] if ADDED else []


def _laws_in(value: Any) -> Iterator[Law]:
    if isinstance(value, Law):
        yield value
    if isinstance(value, BaseModel):
        value = tuple(getattr(value, name) for name in type(value).model_fields)
    if isinstance(value, tuple):
        for each in value:
            yield from _laws_in(each)


def require_times(scenario: Scenario) -> None:
    """Refuse a law of a plugin whose draws are no times: negative ones would turn back the clock.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ScenarioError
        Naming the law and its module.
    """
    for law in laws_of_plugins(scenario):
        _require_times(law)


@cache
def _require_times(law: Law) -> None:
    draw, given = how_to_draw(law)
    stream = np.random.default_rng(1)
    for _ in range(_TRIED):
        time = draw(stream, *given)
        if not isinstance(time, float) or not 0 <= time < math.inf:
            allowed = (
                f"{draw.__module__} draws {time!r} for it; a time is a float, finite, and >= 0"
            )
            raise ScenarioError(law.key, law.model_dump(), allowed)
