"""Compiled: the graph of capped ages and its cycle of least mean, and single words made better.

In a word, ``table[m, n - 1]`` is what an access to server m costs n slots after the last one; the
last column stands for all longer distances. In the graph a state is the ages of the servers just
before a slot, each capped; `access[m, age]` is what an access to server m pays there, `waiting`
what all pay in a state for being at their caps (`certified.charges`). Imported only where it is
used: numba is slow to import.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.routing.pairs import is_less, plus, ratio
from scenarios.kernels import compiled, part

Floats = NDArray[Any]
Integers = NDArray[Any]


class Graph(NamedTuple):
    """The graph of capped ages: an access to a in state u leads to ``after[u, a]``.

    It costs ``waiting[u] + access[a, ages[u, a]]``.
    """

    ages: Integers
    after: Integers
    access: Floats
    waiting: Floats


# Words.


@compiled
def index_sequence(index: Floats, slots: int) -> Integers:
    """The server with the least `index[m, age - 1]` in each slot; all begin equally old."""
    servers, longest = index.shape
    ages = np.full(servers, longest)
    word = np.empty(slots, np.int64)
    for slot in range(slots):
        chosen = 0
        for m in range(1, servers):
            if index[m, ages[m] - 1] < index[chosen, ages[chosen] - 1]:
                chosen = m
        word[slot] = chosen
        for m in range(servers):
            ages[m] = min(ages[m] + 1, longest)
        ages[chosen] = 1
    return word


@compiled
def closing_costs(table: Floats, sequence: Integers) -> Floats:
    """Cost per slot of the first 1, 2, … accesses, each as a period of its own."""
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
    """Cost per slot of the first `length` accesses, again and again."""
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


@part
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


# The graph of capped ages.


@compiled
def explored(caps: Integers, most: int) -> tuple[Integers, Integers]:
    """Ages of all states, shape (states, servers), and where each access leads to, alike.

    The states are those that come after server 0 was accessed for ever. With more than `most` of
    them both are empty.
    """
    servers = len(caps)
    strides = np.ones(servers, np.int64)
    for m in range(1, servers):
        strides[m] = strides[m - 1] * caps[m - 1]
    number = np.full(strides[-1] * caps[-1], -1, np.int32)
    most = min(most, len(number))
    ages = np.empty((most, servers), np.int16)
    after = np.empty((most, servers), np.int32)
    code = 0
    for m in range(servers):
        ages[0, m] = 1 if m == 0 else caps[m]
        code += (ages[0, m] - 1) * strides[m]
    number[code] = 0
    states = 1
    current = 0
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
def waiting_costs(ages: Integers, caps: Integers, waits: Floats) -> Floats:
    """What the servers at their caps pay in every state, together."""
    waiting = np.zeros(len(ages))
    for u in range(len(ages)):
        for m in range(len(caps)):
            if ages[u, m] == caps[m]:
                waiting[u] += waits[m]
    return waiting


@compiled
def index_policy(ages: Integers, index: Floats) -> Integers:
    """The server with the least ``index[m, age]`` in every state."""
    policy = np.empty(len(ages), np.int16)
    for u in range(len(ages)):
        chosen = 0
        for m in range(1, len(index)):
            if index[m, ages[u, m]] < index[chosen, ages[u, chosen]]:
                chosen = m
        policy[u] = chosen
    return policy


@compiled
def least_mean_cycle(
    graph: Graph, policy: Integers, values: Floats, most_rounds: int
) -> tuple[Integers, float, int, bool]:
    """Accesses along the cycle of least mean cost, a bound below every mean, rounds, whether all.

    Howard's algorithm. `policy` is where to begin; it and `values`, pairs in two rows, are
    changed. The bound is the least of ``cost + value after - value before`` over all accesses, less
    what rounding can have added to it: whatever the values are, no cycle's mean is below it. Rounds
    end when no access gains more than `_SLACK`, or after `most_rounds`.

    Notes
    -----
    Every state is valued along its way to one cycle, home. A new policy's other cycles have gains
    on them, so that their means are lower; without one home stays as it is, and values fall. That
    needs sums in which gains are seen and ties are ties: hence the pairs.
    """
    states = len(graph.ages)
    paths = np.empty(states, np.int32)
    seen = np.empty(states, np.int32)
    followed = np.empty(states, np.int32)
    oldest = np.arange(states - 1, -1, -1).astype(np.int32)
    rounds = 0
    home = 0
    settled = False
    while rounds < most_rounds and not settled:
        rounds += 1
        mean, low, home = _cheapest_cycle(home, graph, policy, seen)
        _value(home, mean, low, graph, policy, values, paths, seen, followed)
        # States are numbered as they are met, younger ages first: against that order a gain at a
        # great age reaches all younger ones in one round. Then after the states that the policy
        # leads to: a gain on a long way reaches all of it.
        settled = not _improve(mean, low, oldest, graph, policy, values)
        if not settled:
            _improve(mean, low, followed, graph, policy, values)
    bound = _dual_bound(graph, values[0])
    _, _, home = _cheapest_cycle(home, graph, policy, seen)
    return _cycle(home, graph.after, policy), bound, rounds, settled


_EPSILON = 2.0**-52

_SLACK = 1e-13
"""Gains per slot that are not worth a round, relatively to the mean."""

_PAIRED = 2.0**-76
"""More than the rounding of a pair that is summed along a million states, relatively."""


@compiled
def _dual_bound(graph: Graph, values: Floats) -> float:
    """The least of ``cost + value after - value before``, less its rounding, over all accesses."""
    bound = np.inf
    for u in range(len(graph.ages)):
        for a in range(len(graph.access)):
            later = values[graph.after[u, a]]
            paid = graph.access[a, graph.ages[u, a]]
            terms = abs(graph.waiting[u]) + abs(paid) + abs(later) + abs(values[u])
            reduced = graph.waiting[u] + paid + later - values[u]
            bound = min(bound, reduced - 4 * _EPSILON * terms)
    return bound


@compiled
def _cheapest_cycle(
    home: int, graph: Graph, policy: Integers, seen: Integers
) -> tuple[float, float, int]:
    """Mean cost of the cheapest cycle of a policy, as a pair, and a state on it.

    Of cycles with equal means the one that `home` leads to, or else the first one.
    """
    best = np.inf
    best_low = 0.0
    state = -1
    seen[:] = 0
    for number in range(-1, len(graph.ages)):
        start = home if number < 0 else number
        if seen[start]:
            continue
        u = start
        while not seen[u]:
            seen[u] = start + 1
            u = graph.after[u, policy[u]]
        if seen[u] == start + 1:
            total = 0.0
            low = 0.0
            length = 0
            v = u
            while length == 0 or v != u:
                total, low = plus(total, low, graph.waiting[v])
                total, low = plus(total, low, graph.access[policy[v], graph.ages[v, policy[v]]])
                length += 1
                v = graph.after[v, policy[v]]
            mean, low = ratio(total, low, length)
            if state < 0 or is_less(mean, low + _PAIRED * abs(mean), best, best_low):
                best = mean
                best_low = low
                state = u
    return best, best_low, state


@part
def _value(
    home: int,
    mean: float,
    mean_low: float,
    graph: Graph,
    policy: Integers,
    values: Floats,
    paths: Integers,
    seen: Integers,
    order: Integers,
) -> None:
    """Values of all states as pairs, that of `home` 0, and the order in which they follow.

    Where the policy leads to another cycle it is changed: accesses are those of the cycle through
    `home` from there on, which lead to that cycle as soon as all ages are what they make them.
    """
    after = graph.after
    word = _cycle(home, after, policy)
    touched = np.empty(len(after), np.int32)
    seen[:] = 0
    seen[home] = 1
    values[:, home] = 0.0
    order[0] = home
    valued = 1
    for number in range(-1, len(after)):
        # The cycle itself comes first: nothing may change the policy on it.
        count = 0
        u = after[home, policy[home]] if number < 0 else number
        while seen[u] == 0:
            seen[u] = 2  # on the way
            touched[count] = u
            count += 1
            u = after[u, policy[u]]
        slot = 0
        while (
            seen[u] != 1
        ):  # of several accesses from a state the last one stays: no way leads back
            if seen[u] == 0:
                seen[u] = 2
                touched[count] = u
                count += 1
            policy[u] = word[slot % len(word)]
            slot += 1
            u = after[u, policy[u]]
        for each in range(count):
            length = 0
            u = touched[each]
            while seen[u] != 1:
                paths[length] = u
                length += 1
                u = after[u, policy[u]]
            for later in range(length - 1, -1, -1):
                v = paths[later]
                seen[v] = 1
                a = policy[v]
                high, low = _worth(v, a, mean, mean_low, graph, values)
                values[0, v] = high
                values[1, v] = low
                order[valued] = v
                valued += 1


@part
def _cycle(home: int, after: Integers, policy: Integers) -> Integers:
    """The accesses of a policy from a state until it comes back."""
    length = 0
    u = home
    while length == 0 or u != home:
        length += 1
        u = after[u, policy[u]]
    cycle = np.empty(length, np.int64)
    for slot in range(length):
        cycle[slot] = policy[u]
        u = after[u, policy[u]]
    return cycle


@compiled
def _worth(
    u: int, a: int, mean: float, mean_low: float, graph: Graph, values: Floats
) -> tuple[float, float]:
    """What an access to a in state u costs above the mean, and the value after it, as a pair."""
    later = graph.after[u, a]
    high, low = plus(values[0, later], values[1, later], graph.access[a, graph.ages[u, a]])
    high, low = plus(high, low, graph.waiting[u])
    return plus(high, low - mean_low, -mean)


@compiled
def _at_least(u: int, a: int, mean: float, graph: Graph, values: Floats) -> float:
    """A number below what `_worth` comes to, in a fraction of its time."""
    later: float = values[0, graph.after[u, a]]
    paid: float = graph.access[a, graph.ages[u, a]]
    waiting: float = graph.waiting[u]
    # Three roundings of at most half an epsilon of the terms, and the low parts of two pairs.
    terms = abs(later) + abs(paid) + abs(waiting) + abs(mean)
    return later + paid + waiting - mean - 4 * _EPSILON * terms


@part
def _improve(
    mean: float,
    mean_low: float,
    order: Integers,
    graph: Graph,
    policy: Integers,
    values: Floats,
) -> bool:
    """Take the best access in every state, in an order; whether anything was gained."""
    better = False
    for u in order:
        slack = _SLACK * abs(mean) + _PAIRED * (abs(graph.waiting[u]) + abs(values[0, u]))
        best, best_low = plus(values[0, u], values[1, u], -slack)
        chosen = -1
        for a in range(len(graph.access)):
            if _at_least(u, a, mean, graph, values) >= best:
                continue
            high, low = _worth(u, a, mean, mean_low, graph, values)
            if is_less(high, low, best, best_low):
                best = high
                best_low = low
                chosen = a
        if chosen >= 0:
            better = True
            policy[u] = chosen
            values[0, u] = best
            values[1, u] = best_low
    return better
