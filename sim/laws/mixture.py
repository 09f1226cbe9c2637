"""Mixtures of other laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import sim.laws
from scenarios.laws import Mixture
from sim import rules

Draw = Callable[..., float]


def parameters(law: Mixture) -> tuple[Any, ...]:
    """Cumulative probabilities, and the parameters of the laws, one after the other."""
    every = (sim.laws.how_to_draw(each)[1] for each in law.of)
    return rules.cumulative(law.probabilities), *(each for given in every for each in given)


def draw_of(law: Mixture) -> Draw:
    """The draw function: mixtures of the same kinds of laws share one."""
    every = (sim.laws.how_to_draw(each) for each in law.of)
    return _drawn_first(tuple((draw, len(given)) for draw, given in every))


def draws_and_mean(law: Mixture) -> tuple[float, float]:
    """Numbers drawn for one time on average, and the mean of that time."""
    every = [sim.laws.draws_and_mean(each) for each in law.of]
    draws, mean = (float(np.dot(law.probabilities, each)) for each in zip(*every, strict=True))
    return 1.0 + draws, mean


@cache
def _drawn_first(components: tuple[tuple[Draw, int], ...]) -> Draw:
    """A draw that asks which law it is to be, and then draws from that.

    Compiled code unrolls it: every law has as many parameters as its own draw takes.
    """
    *before, (last, _) = components

    def chosen(stream: Any, which: int, *parameters: Any) -> float:  # noqa: ARG001  # the only one left
        return last(stream, *parameters)

    for component, count in reversed(before):
        chosen = _either(component, count, chosen)

    def draw(stream: Any, cumulative: Sequence[float], *parameters: Any) -> float:
        return chosen(stream, rules.pick(cumulative, stream.random()), *parameters)

    return draw


def _either(first: Draw, count: int, others: Draw) -> Draw:
    """The first law, with its number of parameters, or one of the others."""

    def draw(stream: Any, which: int, *parameters: Any) -> float:
        if which == 0:
            return first(stream, *parameters[:count])
        return others(stream, which - 1, *parameters[count:])

    return draw
