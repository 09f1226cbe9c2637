"""Compiled: the ages of all servers as a graph, and its cycle of least mean.

A state is the ages of the servers just before a slot, each capped; `visit[m, age]` is what a visit
to server m pays, `waiting` what all pay in a state for being at their caps (`certified.charges`).
Imported where it is used only: numba takes its time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.compiling import compiled
from analytic.routing.pairs import is_less, plus, ratio

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
    ages: Integers,
    after: Integers,
    visit: Floats,
    waiting: Floats,
    policy: Integers,
    values: Floats,
    most_rounds: int,
) -> tuple[Integers, float, int, bool]:
    """Visits along the cycle of least mean cost, a bound below every mean, rounds, whether all.

    Howard's algorithm. `policy` is where to begin; it and `values`, pairs in two columns, are
    changed. A visit to a costs ``waiting[u] + visit[a, ages[u, a]]`` in state u. The bound is the
    least of ``cost + value after - value before`` over all visits, less what rounding can have
    added to it: whatever the values are, no cycle's mean is below it. Rounds end when no visit
    gains more than `_SLACK`, or at the most.

    Notes
    -----
    Every state is valued along its way to one cycle, home. A new policy's other cycles have gains
    on them, so that their means are lower; without one home stays as it is, and values fall. That
    needs sums in which gains are seen and ties are ties: hence the pairs.
    """
    states = len(ages)
    paths = np.empty(states, np.int32)
    seen = np.empty(states, np.int32)
    followed = np.empty(states, np.int32)
    oldest = np.arange(states - 1, -1, -1).astype(np.int32)
    rounds = 0
    home = 0
    settled = False
    while rounds < most_rounds and not settled:
        rounds += 1
        mean, low, home = _cheapest_cycle(home, ages, after, visit, waiting, policy, seen)
        _value(home, mean, low, ages, after, visit, waiting, policy, values, paths, seen, followed)
        # States are numbered as they are met, younger ages first: against that order a gain at a
        # great age reaches all younger ones in one round. Then after the states that the policy
        # leads to: a gain on a long way reaches all of it.
        settled = not _improve(mean, low, oldest, ages, after, visit, waiting, policy, values)
        if not settled:
            _improve(mean, low, followed, ages, after, visit, waiting, policy, values)
    bound = _dual_bound(ages, after, visit, waiting, values[:, 0])
    _, _, home = _cheapest_cycle(home, ages, after, visit, waiting, policy, seen)
    return _cycle(home, after, policy), bound, rounds, settled


EPSILON = 2.0**-52

_SLACK = 1e-13
"""Gains per slot that are not worth a round, relatively to the mean."""

_PAIRED = 2.0**-76
"""More than the rounding of a pair that is summed along a million states, relatively."""


@compiled
def _dual_bound(
    ages: Integers, after: Integers, visit: Floats, waiting: Floats, values: Floats
) -> float:
    """The least of ``cost + value after - value before``, less its rounding, over all visits."""
    bound = np.inf
    for u in range(len(ages)):
        for a in range(len(visit)):
            later = values[after[u, a]]
            paid = visit[a, ages[u, a]]
            terms = abs(waiting[u]) + abs(paid) + abs(later) + abs(values[u])
            reduced = waiting[u] + paid + later - values[u]
            bound = min(bound, reduced - 4 * EPSILON * terms)
    return bound


@compiled
def _cheapest_cycle(
    home: int,
    ages: Integers,
    after: Integers,
    visit: Floats,
    waiting: Floats,
    policy: Integers,
    seen: Integers,
) -> tuple[float, float, int]:
    """Mean cost of the cheapest cycle of a policy, as a pair, and a state on it.

    Of cycles with equal means the one that `home` leads to, or else the first one.
    """
    best = np.inf
    best_low = 0.0
    found = -1
    seen[:] = 0
    for number in range(-1, len(ages)):
        start = home if number < 0 else number
        if seen[start]:
            continue
        u = start
        while not seen[u]:
            seen[u] = start + 1
            u = after[u, policy[u]]
        if seen[u] == start + 1:
            total = 0.0
            low = 0.0
            length = 0
            v = u
            while length == 0 or v != u:
                total, low = plus(total, low, waiting[v])
                total, low = plus(total, low, visit[policy[v], ages[v, policy[v]]])
                length += 1
                v = after[v, policy[v]]
            mean, low = ratio(total, low, length)
            if found < 0 or is_less(mean, low + _PAIRED * abs(mean), best, best_low):
                best = mean
                best_low = low
                found = u
    return best, best_low, found


@compiled
def _value(
    home: int,
    mean: float,
    mean_low: float,
    ages: Integers,
    after: Integers,
    visit: Floats,
    waiting: Floats,
    policy: Integers,
    values: Floats,
    paths: Integers,
    seen: Integers,
    order: Integers,
) -> None:
    """Values of all states as pairs, that of `home` 0, and the order in which they follow.

    Where the policy leads to another cycle it is changed: visits are those of the cycle through
    `home` from there on, which lead to that cycle as soon as all ages are what they make them.
    """
    word = _cycle(home, after, policy)
    touched = np.empty(len(ages), np.int32)
    seen[:] = 0
    seen[home] = 1
    values[home, :] = 0.0
    order[0] = home
    valued = 1
    for number in range(-1, len(ages)):
        # The cycle itself comes first: nothing may change the policy on it.
        count = 0
        u = after[home, policy[home]] if number < 0 else number
        while seen[u] == 0:
            seen[u] = 2  # on the way
            touched[count] = u
            count += 1
            u = after[u, policy[u]]
        place = 0
        while seen[u] != 1:  # of several visits from a state the last one stays: no way leads back
            if seen[u] == 0:
                seen[u] = 2
                touched[count] = u
                count += 1
            policy[u] = word[place % len(word)]
            place += 1
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
                high, low = _worth(v, a, mean, mean_low, ages, after, visit, waiting, values)
                values[v, 0] = high
                values[v, 1] = low
                order[valued] = v
                valued += 1


@compiled
def _cycle(home: int, after: Integers, policy: Integers) -> Integers:
    """The visits of a policy from a state until it comes back."""
    length = 0
    u = home
    while length == 0 or u != home:
        length += 1
        u = after[u, policy[u]]
    visits = np.empty(length, np.int64)
    for place in range(length):
        visits[place] = policy[u]
        u = after[u, policy[u]]
    return visits


@compiled
def _worth(
    u: int,
    a: int,
    mean: float,
    mean_low: float,
    ages: Integers,
    after: Integers,
    visit: Floats,
    waiting: Floats,
    values: Floats,
) -> tuple[float, float]:
    """What a visit to a in state u costs above the mean, and the value after it, as a pair."""
    next_state = after[u, a]
    high, low = plus(values[next_state, 0], values[next_state, 1], visit[a, ages[u, a]])
    high, low = plus(high, low, waiting[u])
    return plus(high, low - mean_low, -mean)


@compiled
def _improve(
    mean: float,
    mean_low: float,
    order: Integers,
    ages: Integers,
    after: Integers,
    visit: Floats,
    waiting: Floats,
    policy: Integers,
    values: Floats,
) -> bool:
    """Take the best visit in every state, in an order; whether anything was gained."""
    better = False
    for u in order:
        slack = _SLACK * abs(mean) + _PAIRED * (abs(waiting[u]) + abs(values[u, 0]))
        best, best_low = plus(values[u, 0], values[u, 1], -slack)
        chosen = -1
        for a in range(len(visit)):
            high, low = _worth(u, a, mean, mean_low, ages, after, visit, waiting, values)
            if is_less(high, low, best, best_low):
                best = high
                best_low = low
                chosen = a
        if chosen >= 0:
            better = True
            policy[u] = chosen
            values[u, 0] = best
            values[u, 1] = best_low
    return better
