"""The states of many streams in one array, from which compiled code draws.

numba hands a Generator to compiled code in several microseconds, which a thousand robots would pay
for one by one. So one Generator draws for all of them: its own memory takes the words of one
stream's state after the other's, and what it draws is what that stream would have drawn, whatever
the law.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any, NamedTuple

import numpy as np

_WORDS = 4


class Hand(NamedTuple):
    """A Generator that draws for others, and the words of its own state.

    Attributes
    ----------
    stream : Generator
    words : ndarray of uint64, shape (4,)
        A view of the Generator's memory.
    """

    stream: Any
    words: Any


class _OfThread(threading.local):
    hand: Hand | None = None


_here = _OfThread()


def hand() -> Hand:
    """The one of this thread."""
    if _here.hand is None:
        stream = np.random.Generator(np.random.PCG64(0))
        _here.hand = Hand(stream, words_of(stream))
    return _here.hand


def words_of(stream: Any) -> Any:
    """The words of a Generator's state, where they lie: its memory is that of the array.

    Parameters
    ----------
    stream : Generator
        Of PCG64. It lives as long as the array.
    """
    state = ctypes.c_void_p.from_address(stream.bit_generator.ctypes.state_address).value
    assert state is not None
    memory: Any = (ctypes.c_uint64 * _WORDS).from_address(state)
    memory.owner = stream
    return np.frombuffer(memory, dtype=np.uint64)


@cache
def places_of_words() -> list[int]:
    """Where a Generator keeps high and low word of the state, and those of the increment.

    That is a matter of the machine and of the compiler that numpy was built with.
    """
    generator = np.random.PCG64(0)
    known: Any = {"state": (1 << 64) + 2, "inc": (3 << 64) + 4}
    generator.state = {**generator.state, "state": known}
    found = words_of(np.random.Generator(generator)).tolist()
    if sorted(found) != [1, 2, 3, 4]:
        raise RuntimeError(f"numpy {np.__version__} keeps the state of PCG64 in an unknown way")
    return [found.index(word) for word in (1, 2, 3, 4)]
