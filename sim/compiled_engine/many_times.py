"""Times of one law, many at once: the numbers of `sim.laws`, in less time.

numba draws one number after the other, each by a call through a pointer, and each waits for the
state that the one before it left in memory. But any state of PCG64 follows from a known one by a
multiplication (`jumps`), so several words are computed side by side here, from a state in
registers. An exponential number is the first try of numpy's ziggurat, which fails once in a hundred
times; then the stream itself draws it. That takes a sixth less for exponential times, and nearly
half for phase-type times (measured).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.random.distributions import ke_double, we_double  # type: ignore[attr-defined]  # its tables of numpy's ziggurat are not declared

from sim import rules
from sim.compiled_engine.jit import IS_COMPILED, at, inner
from sim.compiled_engine.states import places_of_words
from sim.laws import exponential, phase_type
from sim.streams import PCG64_FACTOR

_WORD = np.uint64
_HIGH, _LOW, _INCREMENT_HIGH, _INCREMENT_LOW = places_of_words()
_NOTHING = _WORD(0), _WORD(0)

_PARTS = 2.0**53
"""Of which a uniform number between 0 and 1 has a whole number."""


def jumps(steps: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """What the state, and what the increment, is multiplied by when a number of steps is taken.

    State x becomes a x + c in a step, hence a**n x + (1 + a + … + a**(n - 1)) c in n (Brown, 1994).
    Each is given by its high and its low word.
    """
    state = pow(PCG64_FACTOR, steps, 2**128)
    increment = sum(pow(PCG64_FACTOR, each, 2**128) for each in range(steps)) % 2**128
    return _words(state), _words(increment)


def _words(number: int) -> tuple[Any, Any]:
    return _WORD(number >> 64), _WORD(number % 2**64)


_ONE_STEP, _TWO_STEPS, _THREE_STEPS = jumps(1), jumps(2), jumps(3)


def _product_and_sum(_: Any, number: Any, factor: Any, summand: Any) -> Any:
    """A number of 128 bits times another one plus a third, as far as 128 bits hold it.

    Each is given by its high and its low word. LLVM has such numbers, numba has none.
    """
    pair = types.UniTuple(types.uint64, 2)
    wide, word = ir.IntType(128), ir.IntType(64)
    shift = ir.Constant(wide, 64)

    def code(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        def joined(words: Any) -> Any:
            high, low = (builder.zext(builder.extract_value(words, n), wide) for n in (0, 1))
            return builder.or_(builder.shl(high, shift), low)

        first, second, third = map(joined, arguments)
        result = builder.add(builder.mul(first, second), third)
        parts = builder.trunc(builder.lshr(result, shift), word), builder.trunc(result, word)
        return context.make_tuple(builder, pair, parts)

    return pair(number, factor, summand), code


product_and_sum: Any = intrinsic(_product_and_sum)


@inner
def word_of(state: Any) -> Any:
    """The number of 64 bits that PCG64 gives in a state (XSL-RR; O'Neill, 2014)."""
    high, low = state
    folded = high ^ low
    turn = high >> _WORD(58)
    return (folded >> turn) | (folded << ((_WORD(64) - turn) & _WORD(63)))


@inner
def uniform_of(state: Any) -> Any:
    """The uniform number of a state, as a whole number of parts of 2**-53."""
    return word_of(state) >> _WORD(11)


@inner
def first_try(state: Any) -> tuple[float, bool]:
    """An exponential number of a state, and whether it is one (Marsaglia and Tsang, 2000)."""
    word = word_of(state) >> _WORD(3)
    layer = word & _WORD(255)
    word = word >> _WORD(8)
    return word * we_double[layer], word < ke_double[layer]


@inner
def drawn_by(stream: Any, words: Any, state: Any) -> tuple[float, Any]:
    """An exponential number that a stream draws when it is in a state, and its state then."""
    words[_HIGH], words[_LOW] = state
    number = stream.standard_exponential()
    return number, (words[_HIGH], words[_LOW])


@inner
def exponential_times(
    times: Any, begin: int, end: int, stream: Any, words: Any, parameters: Any
) -> None:
    """Fill the places from `begin` to `end` of an array; as `phase_type_times`, but for the law."""
    (mean,) = parameters
    state = words[_HIGH], words[_LOW]
    once = words[_INCREMENT_HIGH], words[_INCREMENT_LOW]
    twice = product_and_sum(once, _TWO_STEPS[1], _NOTHING)
    place = begin
    while place < end:
        of_next = product_and_sum(state, _ONE_STEP[0], once)
        of_second = product_and_sum(state, _TWO_STEPS[0], twice)
        number, taken = first_try(of_next)
        second, both = first_try(of_second)
        if taken & both & (place + 1 < end):
            times[place] = number * mean
            times[place + 1] = second * mean
            state = of_second
            place += 2
        else:
            number, state = drawn_by(stream, words, state)
            times[place] = number * mean
            place += 1
    words[_HIGH], words[_LOW] = state


@inner
def phase_type_times(
    times: Any, begin: int, end: int, stream: Any, words: Any, parameters: Any
) -> None:
    """Fill the places from `begin` to `end` of an array.

    Parameters
    ----------
    times : ndarray of float
    begin, end : int
    stream : Generator
        Of PCG64.
    words : ndarray of uint64, shape (4,)
        Its memory.
    parameters : tuple
        What `in_parts` makes of those of `sim.laws.phase_type.draw`.
    """
    start, means, following = parameters
    state = words[_HIGH], words[_LOW]
    once = words[_INCREMENT_HIGH], words[_INCREMENT_LOW]
    twice = product_and_sum(once, _TWO_STEPS[1], _NOTHING)
    thrice = product_and_sum(once, _THREE_STEPS[1], _NOTHING)
    for place in range(begin, end):
        before = product_and_sum(state, _ONE_STEP[0], once)
        of_time = product_and_sum(state, _TWO_STEPS[0], twice)
        of_move = product_and_sum(state, _THREE_STEPS[0], thrice)
        phase = rules.pick(start, uniform_of(before))
        total = 0.0
        while True:
            number, taken = first_try(of_time)
            if not taken:
                number, of_time = drawn_by(stream, words, before)
                of_move = product_and_sum(of_time, _ONE_STEP[0], once)
            total += number * means[at(phase)]
            phase = rules.pick(following[at(phase)], uniform_of(of_move))
            before = of_move
            if phase == len(means):
                break
            of_time = product_and_sum(before, _ONE_STEP[0], once)
            of_move = product_and_sum(before, _TWO_STEPS[0], twice)
        times[place] = total
        state = before
    words[_HIGH], words[_LOW] = state


def in_parts(parameters: phase_type.Tables) -> tuple[Any, Any, Any]:
    """Those of `sim.laws.phase_type.draw` with probabilities as whole numbers of 2**-53.

    A uniform number, which is one of them, lies below a probability if it lies below the next
    greater whole number.
    """
    start, means, following = parameters
    begins, moves = (np.ceil(np.array(each) * _PARTS).astype(_WORD) for each in (start, following))
    return begins, np.array(means), moves


class Filling(NamedTuple):
    """What fills an array with the numbers of a law faster than its draw function does.

    Attributes
    ----------
    fill : function
    parameters : function
        From the parameters of the draw function to those that `fill` takes.
    """

    fill: Callable[..., None]
    parameters: Callable[[Any], tuple[Any, ...]]


def filling_of(draw: Callable[..., float]) -> Filling | None:
    """That of a draw function; None where there is none, and where code is not compiled."""
    return _FILLINGS.get(draw) if IS_COMPILED else None


_FILLINGS: dict[Callable[..., float], Filling] = {
    exponential.draw: Filling(exponential_times, tuple),
    phase_type.draw: Filling(phase_type_times, in_parts),
}
