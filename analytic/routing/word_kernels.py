"""Compiled: words made by the index policy, what they cost, and words made better.

``table[m, n - 1]`` is what a visit to server m costs n slots after the last one; its last column
stands for all that are longer. Imported where it is used only: numba takes its time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.compiling import compiled

Floats = NDArray[Any]
Integers = NDArray[Any]


@compiled
def index_sequence(index: Floats, slots: int) -> Integers:
    """The server with the least `index[m, age - 1]` in each slot; all begin as long not visited."""
    servers, longest = index.shape
    ages = np.full(servers, longest)
    visits = np.empty(slots, np.int64)
    for slot in range(slots):
        chosen = 0
        for m in range(1, servers):
            if index[m, ages[m] - 1] < index[chosen, ages[chosen] - 1]:
                chosen = m
        visits[slot] = chosen
        for m in range(servers):
            ages[m] = min(ages[m] + 1, longest)
        ages[chosen] = 1
    return visits


@compiled
def closing_costs(table: Floats, sequence: Integers) -> Floats:
    """Cost per slot of the first 1, 2, … visits, each as a period of its own."""
    servers, longest = table.shape
    last = np.full(servers, -1)
    first = np.full(servers, -1)
    costs = np.empty(len(sequence))
    inside = 0.0
    for slot in range(len(sequence)):
        m = sequence[slot]
        if last[m] < 0:
            first[m] = slot
        else:
            inside += table[m, min(slot - last[m], longest) - 1]
        last[m] = slot
        total = inside
        for m in range(servers):
            if last[m] >= 0:
                total += table[m, min(first[m] + slot + 1 - last[m], longest) - 1]
        costs[slot] = total / (slot + 1)
    return costs


@compiled
def word_cost(table: Floats, word: Integers, length: int) -> float:
    """Cost per slot of the first `length` visits, again and again."""
    last = np.full(len(table), -1)
    first = np.full(len(table), -1)
    total = 0.0
    for slot in range(length):
        m = word[slot]
        if last[m] < 0:
            first[m] = slot
        else:
            total += table[m, min(slot - last[m], table.shape[1]) - 1]
        last[m] = slot
    for m in range(len(table)):
        if last[m] >= 0:
            total += table[m, min(first[m] + length - last[m], table.shape[1]) - 1]
    return total / length


@compiled
def improved_word(table: Floats, start: Integers, longest: int) -> Integers:
    """A word that no single change makes cheaper: another letter, one more, one less, a swap."""
    length = len(start)
    word = np.empty(longest + 1, np.int64)
    word[:length] = start
    trial = np.empty(longest + 1, np.int64)
    best = word_cost(table, word, length)
    better = True
    while better:
        better = False
        for slot in range(longest):
            for move in range(2 * len(table) + 2):
                changed = _moved(word, length, slot, move, len(table), trial)
                if changed < 1 or changed > longest:
                    continue
                cost = word_cost(table, trial, changed)
                if cost < best - 1e-15 * abs(best):
                    best = cost
                    length = changed
                    better = True
                    word[:length] = trial[:length]
    return word[:length].copy()


@compiled
def _moved(word: Integers, length: int, slot: int, move: int, servers: int, trial: Integers) -> int:
    """Write the word after one change at a slot; its length, 0 where there is no such change."""
    if slot >= length:
        return 0
    trial[:length] = word[:length]
    if move < servers:
        trial[slot] = move
        return length
    if move < 2 * servers:
        if length + 1 > len(trial):
            return 0
        trial[slot] = move - servers
        trial[slot + 1 : length + 1] = word[slot:length]
        return length + 1
    if move == 2 * servers:
        trial[slot : length - 1] = word[slot + 1 : length]
        return length - 1
    following = (slot + 1) % length
    trial[slot] = word[following]
    trial[following] = word[slot]
    return length
