"""Descent over policies that give a number of robots for each level, not increasing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from scenarios.arrays import Array

Policy = tuple[int, ...]

_GAINED = 1e-12


def descended(
    policy: Policy, available: int, costs: Callable[[Sequence[Policy]], Array]
) -> tuple[Policy, float]:
    """A policy that no change of a level, or of one end of a run of levels, makes cheaper.

    Parameters
    ----------
    policy : tuple of int
        Robots at levels 0, 1, …, not increasing, to begin with.
    available : int
    costs : callable
        From policies to their costs.

    Returns
    -------
    tuple of int
    float
        Its cost.
    """
    best = float(costs([policy])[0])
    level = 0
    unchanged = 0
    while unchanged < len(policy):
        around = list(dict.fromkeys(_around(policy, level, available)))
        found = costs(around) if around else np.array([])
        if len(found) and not np.isnan(found).all():
            place = int(np.nanargmin(found))
            if found[place] < best * (1.0 - _GAINED):
                policy = around[place]
                best = float(found[place])
                unchanged = -1
        unchanged += 1
        level = (level + 1) % len(policy)
    return policy, best


def _around(policy: Policy, level: int, available: int) -> Iterator[Policy]:
    """Other numbers at a level: there alone, up to it from below, or from it on in its run."""
    now = policy[level]
    first = policy.index(now)
    last = len(policy) - 1 - policy[::-1].index(now)
    most = policy[first - 1] if first else available
    least = policy[last + 1] if last + 1 < len(policy) else 0
    for number in range(now + 1, most + 1):
        yield (*policy[:first], *[number] * (level + 1 - first), *policy[level + 1 :])
    for number in range(least, now):
        changed = (*policy[:level], *[number] * (last + 1 - level), *policy[last + 1 :])
        if changed[0]:
            yield changed
