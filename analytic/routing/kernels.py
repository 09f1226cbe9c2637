"""Compiled: the ages of all servers as a graph, its cycle of least mean, and words made better.

A state is the ages of the servers just before a slot, each capped; `rise[m, age]` is what server m
pays while it ages from there (at the cap again and again), `first[m]` what a visit to it pays.
Imported where it is used only: numba takes its time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.indexing_queue.compiling import compiled

__all__ = [
    "closing_costs",
    "explored",
    "improved_word",
    "index_sequence",
    "least_mean_cycle",
    "word_cost",
]

Floats = NDArray[Any]
Integers = NDArray[Any]


@compiled
def explored(caps: Integers, most: int) -> tuple[Integers, Integers]:
    """Ages of all states, shape (states, servers), and where each visit leads to, alike.

    The states are those that come after server 0 was visited for ever. With more than `most` of
    them both are empty.
    """
    servers = len(caps)
    strides = np.ones(servers, np.int64)
    for m in range(1, servers):
        strides[m] = strides[m - 1] * caps[m - 1]
    number = np.full(strides[-1] * caps[-1], -1, np.int32)
    ages = np.empty((most, servers), np.int16)
    after = np.empty((most, servers), np.int32)
    code = 0
    for m in range(servers):
        ages[0, m] = 1 if m == 0 else caps[m]
        code += (ages[0, m] - 1) * strides[m]
    number[code] = 0
    states, current = 1, 0
    while current < states:
        older = 0
        for m in range(servers):
            older += (min(ages[current, m] + 1, caps[m]) - 1) * strides[m]
        for a in range(servers):
            code = older - (min(ages[current, a] + 1, caps[a]) - 1) * strides[a]
            if number[code] < 0:
                if states == most:
                    return ages[:0], after[:0]
                number[code] = states
                for m in range(servers):
                    ages[states, m] = min(ages[current, m] + 1, caps[m])
                ages[states, a] = 1
                states += 1
            after[current, a] = number[code]
        current += 1
    return ages[:states], after[:states]


@compiled
def least_mean_cycle(
    ages: Integers, after: Integers, rise: Floats, first: Floats, policy: Integers, values: Floats
) -> tuple[Integers, float, float, int]:
    """Visits along the cycle of least mean cost, that mean, a bound below every cycle, rounds.

    Howard's algorithm. `policy` is where to begin; it and `values` are changed. The bound is the
    least of ``cost + value after - value before`` over all visits: whatever the values are, no
    cycle's mean is below it.
    """
    states = len(ages)
    waiting = np.zeros(states)
    for u in range(states):
        for m in range(len(first)):
            waiting[u] += rise[m, ages[u, m]]
    paths = np.empty(states, np.int32)
    seen = np.empty(states, np.int32)
    mean, rounds, home = 0.0, 0, 0
    slack = 1e-13 * np.abs(first).max()  # gains below it may be rounding, and go round for ever
    better = True
    while better and rounds < 1000:
        rounds += 1
        mean, home = _cheapest_cycle(ages, after, rise, first, policy, waiting, seen)
        _value(home, mean, ages, after, rise, first, policy, waiting, values, paths, seen)
        better = _improve(mean, slack, ages, after, rise, first, policy, waiting, values)
    bound = np.inf
    for u in range(states):
        for a in range(len(first)):
            cost = waiting[u] - rise[a, ages[u, a]] + first[a]
            bound = min(bound, cost + values[after[u, a]] - values[u])
    visits, length, u = np.empty(states, np.int64), 0, home
    while length == 0 or u != home:
        visits[length] = policy[u]
        length += 1
        u = after[u, policy[u]]
    return visits[:length], mean, bound, rounds


@compiled
def _cheapest_cycle(
    ages: Integers,
    after: Integers,
    rise: Floats,
    first: Floats,
    policy: Integers,
    waiting: Floats,
    seen: Integers,
) -> tuple[float, int]:
    """Mean cost of the cheapest cycle of a policy, and a state on it."""
    best, home = np.inf, -1
    seen[:] = 0
    for start in range(len(ages)):
        if seen[start]:
            continue
        u = start
        while not seen[u]:
            seen[u] = start + 1
            u = after[u, policy[u]]
        if seen[u] == start + 1:
            total, length, v = 0.0, 0, u
            while length == 0 or v != u:
                a = policy[v]
                total += waiting[v] - rise[a, ages[v, a]] + first[a]
                length += 1
                v = after[v, a]
            # Of cycles with means that only rounding tells apart the first one stays.
            if home < 0 or total / length < best - 1e-15 * abs(best):
                best, home = total / length, u
    return best, home


@compiled
def _value(
    home: int,
    mean: float,
    ages: Integers,
    after: Integers,
    rise: Floats,
    first: Floats,
    policy: Integers,
    waiting: Floats,
    values: Floats,
    paths: Integers,
    seen: Integers,
) -> None:
    """Values of the states that the policy leads to `home`; the others keep theirs."""
    seen[:] = 0
    seen[home] = 1
    for start in range(len(ages)):
        length, u = 0, start
        while seen[u] == 0:
            seen[u] = 3  # on the way
            paths[length] = u
            length += 1
            u = after[u, policy[u]]
        known = seen[u] == 1
        for place in range(length - 1, -1, -1):
            v = paths[place]
            seen[v] = 1 if known else 2
            if known:
                a = policy[v]
                cost = waiting[v] - rise[a, ages[v, a]] + first[a]
                values[v] = values[after[v, a]] + cost - mean


@compiled
def _improve(
    mean: float,
    slack: float,
    ages: Integers,
    after: Integers,
    rise: Floats,
    first: Floats,
    policy: Integers,
    waiting: Floats,
    values: Floats,
) -> bool:
    """Take the best visit in every state; whether anything was gained."""
    better = False
    for u in range(len(ages)):
        best, chosen = values[u] - slack, -1
        for a in range(len(first)):
            value = waiting[u] - rise[a, ages[u, a]] + first[a] - mean + values[after[u, a]]
            if value < best:
                best, chosen = value, a
        if chosen >= 0:
            better = True
            policy[u], values[u] = chosen, best
    return better


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
                    best, length, better = cost, changed, True
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
    trial[slot], trial[following] = word[following], word[slot]
    return length
