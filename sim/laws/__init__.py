"""Draws of times: one file per law, of the name that it has in `scenarios.laws`.

Such a file holds three functions; both engines call the same ones.

parameters(law)
    What the law is drawn with: numbers, sequences of numbers, and sequences of those.
draw(stream, *parameters)
    The next time, from a Generator. It compiles: plain arithmetic, `math`, and `sim.rules`.
draws_and_mean(law)
    Numbers drawn for one time on average, and the mean of that time.

Where the draw itself depends on the law, `draw_of(law)` stands in place of `draw`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from scenarios.laws import Distribution
from scenarios.laws.law import home_of

__all__ = ["draws_and_mean", "how_to_draw"]


def how_to_draw(law: Distribution) -> tuple[Callable[..., float], tuple[Any, ...]]:
    """The draw function of a law, and its parameters after the stream."""
    file = _file_of(type(law))
    draw = file.draw_of(law) if hasattr(file, "draw_of") else file.draw
    return draw, file.parameters(law)


def draws_and_mean(law: Distribution) -> tuple[float, float]:
    """Numbers drawn for one time on average, and the mean of that time."""
    draws, mean = _file_of(type(law)).draws_and_mean(law)
    return draws, mean


@cache
def _file_of(law: type[Distribution]) -> ModuleType:
    return import_module(home_of(law, "sim"))
