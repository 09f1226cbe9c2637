"""Urgencies of pages as compiled code, for the search among very many of them.

Imported where it is used only: numba takes its time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenarios.kernels import Function, compiled

Numbers = NDArray[Any]

WHITTLE, CRAWL_VALUE, DEFICIT = range(3)
"""Kinds of urgencies; `_urgency` says what their numbers are."""

_NEAR = 0.02
"""Below this, differences of exponentials are taken from their series."""


def _compiled(function: Function) -> Function:
    """Compiled in no time, and kept: nothing is said of it."""
    return compiled(function, None)


@_compiled
def _second_order(x: float) -> float:
    """``e^x - 1 - x`` for small x, to twelve digits."""
    return x * x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6))))


@_compiled
def _urgency(kind: int, numbers: Numbers, past: int, slot: int) -> float:
    """How urgent a page is in a slot.

    Its `numbers` are the columns of the index policy, and `past` the slot of its last access; or
    its share, and the number of its accesses so far (`deficit`).
    """
    if kind == DEFICIT:
        return float(numbers[0] * (slot + 1) - past)
    age = slot - past
    x = numbers[0] * age
    decay = math.exp(-x)
    if kind == CRAWL_VALUE:
        value = decay * _second_order(x) if x < _NEAR else 1.0 - (1.0 + x) * decay
    elif x < _NEAR:
        value = decay * (_second_order(x) + age * numbers[3])
    else:
        value = 1.0 - decay * (1.0 + age * numbers[2])
    return float(numbers[1] * value)


@_compiled
def urgencies(kind: int, numbers: Numbers, past: Numbers, pages: Numbers, slot: int) -> Numbers:
    """Urgencies of some pages in a slot.

    Parameters
    ----------
    kind : int
    numbers : ndarray of float, shape (all pages, columns)
    past : ndarray of int, shape (all pages,)
    pages : ndarray of int
    slot : int
    """
    values = np.empty(len(pages))
    for place in range(len(pages)):
        page = pages[place]
        values[place] = _urgency(kind, numbers[page], past[page], slot)
    return values


@_compiled
def choose(
    kind: int, numbers: Numbers, past: Numbers, pages: Numbers, first: int, chosen: Numbers
) -> None:
    """The most urgent of some pages in each of a few slots, and what is past then.

    Ties go to the page that stands first. Urgencies grow until their page is accessed: those at the
    end of the slots say who need not be looked at before.
    """
    ends = urgencies(kind, numbers, past, pages, first + len(chosen) - 1)
    order = np.argsort(-ends)
    for place in range(len(chosen)):
        best = -1
        most = -np.inf
        for rank in range(len(order)):
            which = order[rank]
            if ends[which] < most:
                break
            value = _urgency(kind, numbers[pages[which]], past[pages[which]], first + place)
            if value > most or (value == most and which < best):
                best = which
                most = value
        page = pages[best]
        chosen[place] = page
        past[page] = past[page] + 1 if kind == DEFICIT else first + place
        ends[best] = _urgency(kind, numbers[page], past[page], first + len(chosen) - 1)
        _sink(order, ends, best)


@_compiled
def _sink(order: Numbers, ends: Numbers, which: int) -> None:
    """Put one back in its place in the descending order of the ends, once its own has fallen."""
    place = 0
    while order[place] != which:
        place += 1
    while place + 1 < len(order) and ends[order[place + 1]] > ends[which]:
        order[place] = order[place + 1]
        place += 1
    order[place] = which


@_compiled
def _comes_first(keys: Numbers, one: int, other: int) -> bool:
    """Which of two pages has the smaller key; at equal keys the lower page."""
    return bool(keys[one] < keys[other] or (keys[one] == keys[other] and one < other))


@_compiled
def _push(heap: Numbers, size: int, keys: Numbers, page: int) -> int:
    """Put a page into a heap of pages, the one with the smallest key on top; its new size."""
    place = size
    while place > 0 and _comes_first(keys, page, heap[(place - 1) // 2]):
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = page
    return size + 1


@_compiled
def _pop(heap: Numbers, size: int, keys: Numbers) -> int:
    """Take the top off a heap that has `size` pages; its new size."""
    page = heap[size - 1]
    place = 0
    while 2 * place + 1 < size - 1:
        child = 2 * place + 1
        if child + 1 < size - 1 and _comes_first(keys, heap[child + 1], heap[child]):
            child += 1
        if not _comes_first(keys, heap[child], page):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = page
    return size - 1


@_compiled
def by_deadlines(
    shares: Numbers,
    accesses: Numbers,
    later: Numbers,
    ready: Numbers,
    state: Numbers,
    block: Numbers,
) -> None:
    """Fill a block by earliest deadlines.

    Parameters
    ----------
    shares : ndarray of float, shape (pages,)
        Positive, as are all below of this length.
    accesses : ndarray of int
        Accesses so far.
    later, ready : ndarray of int, shape (pages,)
        Heaps: pages that may not start yet, by their start, and the others, by their deadline.
    state : ndarray of int, shape (3,)
        Sizes of both, and the slots so far; at first 0, as are the accesses.
    block : ndarray of int
    """
    pages = len(shares)
    slack = 1.0 / (2 * pages - 2) if pages > 1 else 0.0
    keys = np.empty(pages)
    waiting, able, slot = state
    if slot == 0:
        for page in range(pages):
            keys[page] = slack / shares[page]
            waiting = _push(later, waiting, keys, page)
    else:
        for place in range(waiting):
            keys[later[place]] = (accesses[later[place]] + slack) / shares[later[place]]
        for place in range(able):
            keys[ready[place]] = (accesses[ready[place]] + 1 - slack) / shares[ready[place]]
    for place in range(len(block)):
        slot += 1
        while waiting > 0 and (keys[later[0]] <= slot or able == 0):
            page = later[0]
            waiting = _pop(later, waiting, keys)
            keys[page] = (accesses[page] + 1 - slack) / shares[page]
            able = _push(ready, able, keys, page)
        page = ready[0]
        able = _pop(ready, able, keys)
        accesses[page] += 1
        keys[page] = (accesses[page] + slack) / shares[page]
        waiting = _push(later, waiting, keys, page)
        block[place] = page
    state[0] = waiting
    state[1] = able
    state[2] = slot
