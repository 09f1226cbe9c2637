"""The laws of times as compiled code draws from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scenarios.processes import Map, Mmpp
from sim import rules
from sim.compiled_engine.jit import inner, kernel
from sim.draws import drawing, first_phase, gap_law, map_tables

_RULES = (
    rules.draw_exponential,
    rules.draw_constant,
    rules.draw_gamma,
    rules.draw_uniform,
    rules.draw_hyperexponential,
    rules.draw_phase_type,
    rules.draw_empirical,
    rules.draw_map_gap,
)
EXPONENTIAL, CONSTANT, GAMMA, UNIFORM, HYPEREXPONENTIAL, PHASE_TYPE, EMPIRICAL, MAP_GAP = range(8)


class Law(NamedTuple):
    """A law as compiled code knows it.

    Attributes
    ----------
    rule : int
        Which draw function of `sim.rules`.
    numbers, values, means : ndarray of float, shape (k,)
        Its parameters, in the order of that function: numbers first, then sequences of numbers.
    table : ndarray of float, shape (m, n)
        Its parameter that is a sequence of sequences.
    phase : ndarray of int, shape (1,)
        The phase now, of a Markovian process.
    """

    rule: int
    numbers: Any
    values: Any
    means: Any
    table: Any
    phase: Any


def law_of(process: Any, stream: Any) -> Law:
    """The law of the successive gaps of a process, or of a distribution."""
    if isinstance(process, Mmpp | Map):
        phase = first_phase(process, stream)
        return _law(rules.draw_map_gap, map_tables(process), phase)
    return _law(*drawing(gap_law(process)))


def laws_of(process: Any, streams: list[Any]) -> list[Law]:
    """The same law for each of several streams; only what has a phase has one for each."""
    if isinstance(process, Mmpp | Map):
        return [law_of(process, stream) for stream in streams]
    return [law_of(process, None)] * len(streams) if streams else []


def _law(rule: Any, parameters: Any, phase: int = 0) -> Law:
    arrays = [np.array(parameter, dtype=np.float64) for parameter in parameters]
    numbers = np.array([array for array in arrays if array.ndim == 0], dtype=np.float64)
    vectors = [array for array in arrays if array.ndim == 1] + [np.zeros(0), np.zeros(0)]
    tables = [array for array in arrays if array.ndim == 2] + [np.zeros((0, 0))]
    which = _RULES.index(rule)
    return Law(which, numbers, vectors[0], vectors[1], tables[0], np.array([phase]))


@inner
def draw(law: Law, stream: Any) -> float:
    """The next time of a law."""
    if law.rule == EXPONENTIAL:
        return rules.draw_exponential(stream, law.numbers[0])
    if law.rule == CONSTANT:
        return rules.draw_constant(stream, law.numbers[0])
    if law.rule == GAMMA:
        return rules.draw_gamma(stream, law.numbers[0], law.numbers[1])
    if law.rule == UNIFORM:
        return rules.draw_uniform(stream, law.numbers[0], law.numbers[1])
    if law.rule == HYPEREXPONENTIAL:
        return rules.draw_hyperexponential(stream, law.values, law.means)
    if law.rule == PHASE_TYPE:
        return rules.draw_phase_type(stream, law.values, law.means, law.table)
    if law.rule == EMPIRICAL:
        return rules.draw_empirical(stream, law.values)
    gap, law.phase[0] = rules.draw_map_gap(stream, law.phase[0], law.values, law.table)
    return gap


@kernel
def fill(times: Any, law: Law, stream: Any) -> None:
    """Draw a block of times."""
    for index in range(len(times)):
        times[index] = draw(law, stream)
