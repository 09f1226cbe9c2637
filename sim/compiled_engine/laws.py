"""The laws of times as compiled code draws from them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from scenarios.processes import Map, Mmpp
from sim.compiled_engine.jit import inner, kernel, let_kernels_call
from sim.draws import how_to_draw


class Law(NamedTuple):
    """A law as compiled code knows it.

    Attributes
    ----------
    fill : function
        Fills a block of times, from the parameters and a stream; one is compiled for each law.
    parameters : tuple of float and ndarray
        As the draw function of the law in `sim.laws` wants them.
    """

    fill: Callable[..., None]
    parameters: tuple[Any, ...]


def law_of(process: Any, stream: Any) -> Law:
    """The law of the successive gaps of a process, or of a distribution."""
    draw, parameters = how_to_draw(process, stream)
    return Law(
        _filler(draw), tuple(each if np.isscalar(each) else np.array(each) for each in parameters)
    )


def laws_of(process: Any, streams: list[Any]) -> list[Law]:
    """The same law for each of several streams; only what has a phase has one for each."""
    if isinstance(process, Mmpp | Map):
        return [law_of(process, stream) for stream in streams]
    return [law_of(process, None)] * len(streams) if streams else []


def fill(times: Any, law: Law, stream: Any) -> None:
    """Draw a block of times."""
    law.fill(times, law.parameters, stream)


@cache
def _filler(draw: Any) -> Callable[..., None]:
    let_kernels_call(sys.modules[draw.__module__])
    draw = inner(draw)

    @kernel
    def filled(times: Any, parameters: Any, stream: Any) -> None:
        for index in range(len(times)):
            times[index] = draw(stream, *parameters)

    return filled
