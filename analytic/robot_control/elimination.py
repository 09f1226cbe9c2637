"""Compiled: cost and values of a target rule, in time proportional to robots × levels².

With targets that do not increase with the level let ``g(r)`` be the highest level with a target of
r or more (-1: none). The number of active robots changes so: from r to r + 1 only by a service that
leads to a level up to g(r + 1), and from r to r - 1 only by a delivery that leads above g(r). So
with more than r robots the chain begins at a level up to g(r + 1) and comes back above it. Numbers
of robots are eliminated from the highest down. Kept of those above r are, from each level up to
g(r + 1), the probabilities of the level at which the chain comes back to r robots (`landing`), and
the rewards until then. With r robots,

- below `low` = g(r + 1) + 1 it only rises, until a service adds a robot (or, where g(r) = g(r + 1),
  a delivery at that level takes one away);
- from `low` to `end`, which is g(r), or `low` if that is higher, it goes both ways;
- above `end` it only falls, until a delivery takes a robot away.

Nothing is subtracted (Grassmann, Taksar and Heyman, 1985): rewards that are not negative keep their
relative digits at any load.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scenarios.kernels import compiled, part

Array = NDArray[Any]


class _Row(NamedTuple):
    """One number of robots. Rewards are arrays of shape (columns, levels), column 0 is time.

    A level's value is ``stay · V(low) + drop · U(end + 1) + reward``, where U is the value with a
    robot fewer and terms of U further up are left out; ``V(low) = back · U + first``. The last
    entry of `back`, and of a row of `landing`, is the probability of the reference state.
    """

    arrive: float
    serve: float
    visit: Array
    stay: Array
    drop: Array
    reward: Array
    back: Array
    first: Array


@part
def _highest(targets: Array, robots: int) -> int:
    """The highest level whose target is `robots` or more; -1: none."""
    level = len(targets) - 1
    while level >= 0 and targets[level] < robots:
        level -= 1
    return level


@part
def _row(rates: Array, robots: int, fixed: Array, per_robot: Array) -> _Row:
    """The row of a number of robots, with the reward per visit of each level."""
    columns, levels = fixed.shape
    arrive = rates[0] * robots
    serve = rates[1]
    out = np.full(levels, arrive + serve)
    out[0] = arrive if robots > 0 else np.inf
    visit = (fixed + robots * per_robot) / out
    level = np.zeros(levels)
    back = np.zeros(levels + 1)
    first = np.zeros(columns)
    arrive, serve = arrive / (arrive + serve), serve / (arrive + serve)
    return _Row(arrive, serve, visit, level, level.copy(), visit.copy(), back, first)


@part
def _solve_levels(row: _Row, low: int, end: int) -> None:
    """Fill `stay`, `drop` and `reward` of the levels from `low` upwards."""
    columns, levels = row.visit.shape
    if end > low:
        row.stay[end], row.drop[end] = row.serve, row.arrive
    for q in range(end - 1, low, -1):
        outward = row.serve + row.arrive * row.drop[q + 1]
        row.stay[q] = row.serve / outward
        row.drop[q] = row.arrive * row.drop[q + 1] / outward
        for j in range(columns):
            row.reward[j, q] = (row.reward[j, q] + row.arrive * row.reward[j, q + 1]) / outward
    row.stay[low] = 1.0
    row.drop[low] = 0.0
    row.reward[:, low] = 0.0
    for q in range(low + 1, levels):
        if q > end:
            row.stay[q] = row.serve
        row.drop[q] += row.stay[q] * row.drop[q - 1]
        for j in range(columns):
            row.reward[j, q] += row.stay[q] * row.reward[j, q - 1]
        row.stay[q] *= row.stay[q - 1]


@part
def _dot(one: Array, other: Array, start: int) -> float:
    total = 0.0
    for q in range(start, len(other)):
        total += one[q] * other[q]
    return total


@part
def _fall(row: _Row, begin: Array, low: int, end: int, lands: Array) -> None:
    """Where a chain that begins at levels with probabilities `begin` has a robot fewer.

    If that happens before it is at `low`; put into `lands`.
    """
    top = len(row.drop) - 1
    here = 0.0
    lands[:] = 0.0
    lands[-1] = begin[-1]
    for q in range(top, end, -1):
        here += begin[q]
        lands[min(q + 1, top)] += here * row.arrive
        here *= row.serve
    lands[min(end + 1, top)] += _dot(begin, row.drop, low)


@part
def _solve_lowest(row: _Row, low: int, end: int, landing: Array, until: Array) -> None:
    """Fill `back` and `first`: what comes of the level `low`."""
    arrive = row.arrive
    serve = row.serve
    columns = len(row.first)
    row.first[:] = row.visit[:, low]
    if low == 0:
        arrive = 1.0
        serve = 0.0
        row.back[:] = 0.0
    else:
        _fall(row, landing[low - 1], low, end, row.back)
        row.back[:] *= serve
        for j in range(columns):
            again = _dot(landing[low - 1], row.reward[j], low)
            row.first[j] += serve * (until[j, low - 1] + again)
    if end > low:
        row.back[end + 1] += arrive * row.drop[low + 1]
        row.first[:] += arrive * row.reward[:, low + 1]
    else:
        row.back[min(end + 1, len(row.drop) - 1)] += arrive
    row.first[:] /= row.back.sum()
    row.back[:] /= row.back.sum()


@part
def _keep_levels(row: _Row, low: int, g: int, landing: Array, until: Array) -> None:
    """`landing` and `until` of the levels from `low` to g, with this number of robots."""
    for q in range(low, g + 1):
        for k in range(g + 1, len(row.back)):
            landing[q, k] = row.stay[q] * row.back[k]
        landing[q, g + 1] += row.drop[q]
        for j in range(len(row.first)):
            until[j, q] = row.stay[q] * row.first[j] + row.reward[j, q]


@part
def _keep_lower(row: _Row, low: int, g: int, landing: Array, until: Array) -> None:
    """The same of the levels below `low`, from which a service adds a robot."""
    end = max(g, low)
    columns = len(row.first)
    levels = len(row.back)
    lands = np.zeros(levels)
    above = row.back.copy()
    reward = row.first.copy()
    if g < low and low > 0:  # a delivery at g takes a robot away
        above[:] = 0.0
        reward[:] = 0.0
        above[g + 1] = 1.0
    for q in range(low - 1, 0, -1):
        begin = landing[q - 1]
        _fall(row, begin, low, end, lands)
        again = _dot(begin, row.stay, low)
        for j in range(columns):
            added = until[j, q - 1] + again * row.first[j] + _dot(begin, row.reward[j], low)
            reward[j] = row.visit[j, q] + row.arrive * reward[j] + row.serve * added
            until[j, q] = reward[j]
        for k in range(g + 1, levels):
            added = lands[k] + again * row.back[k]
            above[k] = row.arrive * above[k] + row.serve * added
            landing[q, k] = above[k]
    if low > 0:
        landing[0, g + 1 :] = above[g + 1 :]
        until[:, 0] = row.visit[:, 0] + reward


@part
def _reference(targets: Array, rates: Array) -> int:
    """A number of robots for the reference state, which is at its level `low`.

    It should be active often, hence near load one. A target of a level above 0 is reached again and
    again, and so is its level `low`; a number between the targets of two levels need not be.
    """
    nearest = targets[1]
    for target in targets[1:]:
        if abs(target - rates[1] / rates[0]) < abs(nearest - rates[1] / rates[0]):
            nearest = target
    return nearest


@part
def _solved_row(targets: Array, rates: Array, robots: int, rewards: tuple[Array, Array]) -> Any:
    """The row of a number of robots with its levels, and g and `low` of that number."""
    g = _highest(targets, robots)
    low = _highest(targets, robots + 1) + 1
    row = _row(rates, robots, rewards[0], rewards[1])
    _solve_levels(row, low, max(g, low))
    return row, g, low


@part
def _down(targets: Array, top: int, rates: Array, rewards: tuple[Array, Array]) -> Any:
    """Eliminate all numbers of robots above the least that recurs, from the highest one down.

    That one is the target of the highest level: with it no delivery takes a robot away. For each
    number its `back` and `first` are returned too; the row after the last has those of the
    reference state, from one visit of it to the next.
    """
    columns, levels = rewards[0].shape
    landing = np.zeros((levels, levels + 1))
    until = np.zeros((columns, levels))
    backs = np.zeros((top + 2, levels + 1))
    firsts = np.zeros((top + 2, columns))
    for robots in range(top, targets[-1], -1):
        row, g, low = _solved_row(targets, rates, robots, rewards)
        _solve_lowest(row, low, max(g, low), landing, until)
        if robots == _reference(targets, rates):
            backs[-1] = row.back
            firsts[-1] = row.first
            row.back[:] = 0.0
            row.first[:] = 0.0
            row.back[-1] = 1.0
        _keep_levels(row, low, g, landing, until)
        _keep_lower(row, low, g, landing, until)
        backs[robots] = row.back
        firsts[robots] = row.first
    return landing, until, backs, firsts


@part
def _bottom(
    targets: Array, rates: Array, rewards: tuple[Array, Array], landing: Array, until: Array
) -> Any:
    """With the least number of robots: rewards from each level until `low`, and of a cycle there.

    A cycle ends at `low` or in the reference state. The last is the probability of the latter, and
    1 if `low` is that state itself: always so at loads above one, where a cycle takes very long
    and all rewards are scaled by a power of the load.
    """
    robots = targets[-1]
    (fixed, per_robot) = rewards
    columns, levels = fixed.shape
    low = _highest(targets, robots + 1) + 1
    ratio = rates[0] * robots / rates[1]
    reward = np.zeros((columns, levels))
    cycle = np.zeros(columns)
    up = min(ratio, 1.0)
    down = 1 / max(ratio, 1.0)
    scale = down ** (levels - 1 - low)
    for j in range(columns):
        rate = (fixed[j] + robots * per_robot[j]) / rates[1]
        here = 1.0
        further = 0.0
        for q in range(levels - 1, low, -1):
            further = rate[q] * here + up * further
            here *= down
            reward[j, q] = further
        cycle[j] = rate[low] * scale + up * further
        here = 1.0
        for q in range(low + 1, levels):
            here *= down
            reward[j, q] = reward[j, q - 1] + here * reward[j, q]
        if low > 0:
            cycle[j] += scale * until[j, low - 1] + _dot(landing[low - 1], reward[j], low)
    ends = robots == _reference(targets, rates)
    return reward, cycle, 1.0 if ends else landing[low - 1, -1]


@part
def _bottom_values(targets: Array, rates: Array, net: Array, landing: Array, until: float) -> Array:
    """Values with the least number of robots, that of `low` being 0, at loads above one.

    From `low` upwards, since from the top downwards errors would grow by the load at each level.
    `net` is the cost less the gain, `until` that of what follows a service at `low`.
    """
    levels = len(net)
    robots = targets[-1]
    low = _highest(targets, robots + 1) + 1
    arrive = rates[0] * robots
    serve = rates[1]
    known = np.zeros(levels)
    times = np.zeros(levels)
    step = 0.0
    factor = 1.0
    for q in range(low + 1, levels):
        known[q] = known[q - 1] + step
        times[q] = times[q - 1] + factor
        step = (serve * step - net[q]) / arrive
        factor = factor * serve / arrive
    first = -net[low]
    weight = arrive
    if low > 0:
        first -= serve * (until + _dot(landing[low - 1], known, low))
        weight += serve * _dot(landing[low - 1], times, low)
    return known + times * (first / weight)


@part
def _gains(targets: Array, rates: Array, rewards: tuple[Array, Array], solved: Any) -> Array:
    """Rewards per unit time, column by column: of a cycle from the reference state to itself."""
    landing, until, backs, firsts = solved
    reward, cycle, ends = _bottom(targets, rates, rewards, landing, until)
    least = targets[-1]
    reference = _reference(targets, rates)
    if reference == least:
        return cycle / cycle[0]
    for j in range(len(cycle)):
        reward[j] += cycle[j] / ends
    for robots in range(least + 1, reference):
        row, g, low = _solved_row(targets, rates, robots, rewards)
        for j in range(len(cycle)):
            start = firsts[robots, j] + _dot(backs[robots], reward[j], 0)
            reward[j] = _levels_above(row, j, (low, max(g, low)), start, reward[j])
    for j in range(len(cycle)):
        cycle[j] = firsts[-1, j] + _dot(backs[-1], reward[j], 0)
    return cycle / cycle[0]


@part
def _levels_above(row: _Row, j: int, bounds: tuple[int, int], start: float, fewer: Array) -> Array:
    """Values from `low` upwards, where the value is `start`, from those with a robot fewer."""
    low, end = bounds
    top = len(fewer) - 1
    value = np.zeros(top + 1)
    value[low] = start
    for q in range(low + 1, top + 1):
        if q <= end:
            inner = row.stay[q] * start + row.drop[q] * fewer[end + 1]
            value[q] = inner + row.reward[j, q]
        else:
            onward = row.serve * value[q - 1] + row.arrive * fewer[min(q + 1, top)]
            value[q] = onward + row.visit[j, q]
    return value


@compiled
def gains(targets: Array, rates: Array, fixed: Array, per_robot: Array) -> Array:
    """Rewards per unit time of a target rule.

    Parameters
    ----------
    targets : ndarray of int, shape (levels,)
        Not increasing, the first at least 1.
    rates : ndarray, shape (2,)
        Deliveries per unit time of one robot, services per unit time.
    fixed, per_robot : ndarray, shape (columns, levels)
        Rewards per unit time at a level, and there for each active robot; column 0 must be time: 1
        and 0.

    Returns
    -------
    ndarray, shape (columns,)
    """
    rewards = (fixed, per_robot)
    return _gains(targets, rates, rewards, _down(targets, targets[0], rates, rewards))


@part
def _levels_below(row: _Row, g: int, value: Array, fewer: Array, more: Array) -> None:
    """Values of the levels from which a service adds a robot: those of `more`, with one more."""
    top = len(value) - 1
    for q in range(len(more) - 1, -1, -1):
        delivered = value[q + 1] if q < g else fewer[min(q + 1, top)]
        if q == 0:
            value[q] = delivered + row.visit[0, 0]
        elif q == top:
            value[q] = more[q - 1] + row.visit[0, q] / row.serve
        else:
            value[q] = row.arrive * delivered + row.serve * more[q - 1] + row.visit[0, q]


@compiled
def values(targets: Array, top: int, rates: Array, fixed: Array, per_robot: Array) -> Any:
    """Cost per unit time of a target rule, and the relative values of all states.

    Parameters
    ----------
    targets, rates, fixed, per_robot : ndarray
        As for `gains`, with two columns: time and cost.
    top : int
        The highest number of robots, at least the first target.

    Returns
    -------
    gain : float
    values : ndarray, shape (top + 1, levels)
        By the number of active robots and the level. With no robot and an empty queue, where
        nothing can happen, the value of one robot there.

    The value 0 belongs to a state that is often visited: relatively to a rare one all others would
    be differences of two large numbers.
    """
    rewards = (fixed, per_robot)
    solved = _down(targets, top, rates, rewards)
    landing, until, backs, firsts = solved
    gain = _gains(targets, rates, rewards, solved)[1]
    least = targets[-1]
    net = fixed[1:] - gain
    each = per_robot[1:]
    values = np.zeros((top + 1, len(targets)))
    if rates[0] * least > rates[1]:
        low = _highest(targets, least + 1) + 1
        later = until[1, low - 1] - gain * until[0, low - 1] if low > 0 else 0.0
        values[least] = _bottom_values(targets, rates, net[0] + least * each[0], landing, later)
    else:
        reward, cycle, ends = _bottom(targets, rates, rewards, landing, until)
        values[least] = reward[1] - gain * reward[0] + (cycle[1] - gain * cycle[0]) / ends
    for robots in range(least + 1, top + 1):
        row, g, low = _solved_row(targets, rates, robots, (net, each))
        start = firsts[robots, 1] - gain * firsts[robots, 0]
        start += _dot(backs[robots], values[robots - 1], 0)
        values[robots] = _levels_above(row, 0, (low, max(g, low)), start, values[robots - 1])
    for robots in range(top - 1, -1, -1):
        g = _highest(targets, robots)
        low = _highest(targets, robots + 1) + 1
        row = _row(rates, robots, net, each)
        fewer = values[max(robots - 1, 0)]
        _levels_below(row, g, values[robots], fewer, values[robots + 1][:low])
    values[0, 0] = values[1, 0]
    return gain, values
