"""Compiled: moves of probes in continuous time that lower the expected cost.

With its neighbours s and u fixed, the cost of a probe at t has the derivative
``a(t) Lambda(s, t) - lambda(t) A(t, u)``, which grows by ``2 a lambda`` inside of a cell and jumps
at its edges. Integrals are summed from cell to cell between the neighbours, so that nothing
cancels. `times` are p_0, …, p_n.

In a tight chain no probe can move alone, and which of its parts should move together is not known
beforehand. So `lattice_moves` moves all probes at once, by dynamic programming. With every minimum
spacing taken out, ``s_i = p_i - i delta`` needs to be monotone only: each s_i may stay, go to one
of the near points of a lattice that all share, or let its probe stand on a near edge; the best
combination is a shortest path. Since all share the lattice, probes that should keep together find
the same point.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analytic.probing.profile import Cells
from scenarios.kernels import compiled, part

Array = Any

_NEAR = 2
_CHOICES = 2 * _NEAR + 4
"""The present time, lattice points on both sides, an edge on both sides."""


@compiled
def cell_after(edges: Array, time: float) -> int:
    """The cell that begins at a time or holds it; the last one at the horizon."""
    last: Any = np.searchsorted(edges, time, "right") - 1
    return min(last, len(edges) - 2)


@compiled
def interval(cells: Cells, start: float, end: float) -> tuple[float, float, float]:
    """``Lambda(s, f)``, ``A(s, f)`` and ``C(s, f)`` (eckstein2005 (5) and Lemma 3)."""
    seen = waited = cost = 0.0
    cell = cell_after(cells.edges, start)
    while start < end:
        until = min(cells.edges[cell + 1], end)
        width = until - start
        more = cells.rates[cell] * width
        wait = cells.weights[cell] * width
        cost += seen * wait + more * wait / 2
        seen += more
        waited += wait
        start = until
        cell = cell + 1
    return seen, waited, cost


@compiled
def total(cells: Cells, times: Array) -> float:
    """Expected cost of a schedule."""
    cost = 0.0
    for i in range(1, len(times)):
        cost += interval(cells, times[i - 1], times[i])[2]
    return cost


@part
def _best_between(cells: Cells, times: Array, i: int, spacing: float) -> tuple[float, float]:
    """The best time of probe i between its neighbours, and what it saves.

    On a neighbour it would be of no use: what seems to be saved there is a rounding error.
    """
    s = times[i - 1]
    now = times[i]
    u = times[i + 1]
    low = min(s + spacing, now)
    high = max(u - spacing, now)
    seen = interval(cells, s, low)[0]
    left = interval(cells, low, u)[1]
    time = low
    cell = cell_after(cells.edges, low)
    value = least = present = 0.0
    best = low
    while time < high:
        end = min(cells.edges[cell + 1], high)
        slope = cells.weights[cell] * seen - cells.rates[cell] * left
        curve = cells.rates[cell] * cells.weights[cell]
        width = end - time
        if time <= now < end:
            present = value + (slope + curve * (now - time)) * (now - time)
        if slope < 0 and -slope < 2 * curve * width:
            turn = -slope / (2 * curve)
            if value + slope * turn / 2 < least:
                least = value + slope * turn / 2
                best = time + turn
        value += (slope + curve * width) * width
        seen += cells.rates[cell] * width
        left -= cells.weights[cell] * width
        time = end
        cell = cell + 1
        if value < least:
            least = value
            best = time
    if now == high:
        present = value
    if best <= s or best >= u:
        return now, 0.0
    return best, present - least


@compiled
def sweep(cells: Cells, times: Array, spacing: float, tiny: float) -> float:
    """Put each probe where it is best between its neighbours, to the end and back; what it saves.

    A probe stays unless more than `tiny` is saved.
    """
    saved = 0.0
    last = len(times) - 2
    for step in range(2 * last):
        i = step + 1 if step < last else 2 * last - step
        best, gain = _best_between(cells, times, i, spacing)
        if gain > tiny:
            times[i] = best
            saved += gain
    return saved


@compiled
def derivatives(cells: Cells, times: Array) -> tuple[Array, Array, Array, Array]:
    """Of the cost by each free probe: from the left, from the right, twice, and with the next one.

    ``a Lambda(p-, p) - lambda A(p, p+)`` with the values before and after p; ``2 a lambda`` and
    ``-lambda(p_i) a(p_{i+1})`` with those after it.
    """
    free = len(times) - 2
    before = np.zeros(free)
    after = np.zeros(free)
    own = np.zeros(free)
    cross = np.zeros(free)
    for k in range(free):
        p = times[k + 1]
        seen = interval(cells, times[k], p)[0]
        wait = interval(cells, p, times[k + 2])[1]
        right = cell_after(cells.edges, p)
        left = right - 1 if cells.edges[right] == p and right > 0 else right
        before[k] = cells.weights[left] * seen - cells.rates[left] * wait
        after[k] = cells.weights[right] * seen - cells.rates[right] * wait
        own[k] = 2 * cells.weights[right] * cells.rates[right]
        cross[k] = -cells.rates[right] * cells.weights[cell_after(cells.edges, times[k + 2])]
    return before, after, own, cross


@compiled
def move(cells: Cells, times: Array, block: tuple[int, int], room: float) -> float:
    """Shift the probes of a block together by at most `room` (< 0: to the left); what it saves.

    It goes down to the first minimum of the cost.
    """
    first, last = block
    saved = 0.0
    side = 1.0 if room > 0 else -1.0
    room = abs(room)
    while room > 0:
        slope = curve = 0.0
        step = room
        for i in range(first, last + 1):
            cell = cell_after(cells.edges, times[i])
            if side < 0 and cells.edges[cell] == times[i] and cell > 0:
                cell -= 1
            edge = cells.edges[cell + 1] if side > 0 else cells.edges[cell]
            step = min(step, abs(edge - times[i]))
            seen = interval(cells, times[i - 1], times[i])[0]
            wait = interval(cells, times[i], times[i + 1])[1]
            slope += side * (cells.weights[cell] * seen - cells.rates[cell] * wait)
            curve += cells.weights[cell] * cells.rates[cell]
            if i < last:
                following = cell_after(cells.edges, times[i + 1])
                if side < 0 and cells.edges[following] == times[i + 1]:
                    following -= 1
                curve -= cells.rates[cell] * cells.weights[following]
        if slope >= 0:
            return saved
        if -slope < 2 * curve * step:
            step = -slope / (2 * curve)
            room = 0.0
        if step <= 0:
            return saved
        times[first : last + 1] += side * step
        saved -= (slope + curve * step) * step
        room -= step
    return saved


@part
def _choices(cells: Cells, rests: Array, spacing: float, width: float) -> Array:
    """Where each probe may go, in increasing order; row i for probe i."""
    last = len(rests) - 1
    room = cells.edges[-1] - last * spacing
    choices = np.empty((last + 1, _CHOICES))
    for i in range(last + 1):
        now = rests[i]
        choices[i] = now
        if 0 < i < last:
            base = np.floor(now / width)
            for k in range(2 * _NEAR):
                choices[i, k + 1] = min(max((base + k + 1 - _NEAR) * width, 0.0), room)
            after: Any = np.searchsorted(cells.edges, now + i * spacing, "right")
            for k in range(2):
                edge = cells.edges[min(max(after - 1 + k, 0), len(cells.edges) - 1)]
                rest = edge - i * spacing
                if abs(rest - now) <= _NEAR * width and 0 <= rest <= room:
                    choices[i, 2 * _NEAR + 1 + k] = rest
            choices[i] = np.sort(choices[i])
    return choices


@compiled
def lattice_moves(cells: Cells, times: Array, spacing: float, width: float, least: float) -> float:
    """Move all probes at once to the best times nearby; what it saves, 0 if less than `least`.

    `times` are p_0, …, p_n; probes at different times stay so.
    """
    last = len(times) - 1
    rests = times - np.arange(last + 1) * spacing
    for i in range(1, last):
        rests[i] = max(rests[i], rests[i - 1])
    choices = _choices(cells, rests, spacing, width)
    hair = 0.0 if spacing > 0 else 16 * np.finfo(np.float64).eps * times[-1]
    best = np.full((last + 1, _CHOICES), np.inf)
    before = np.zeros((last + 1, _CHOICES), np.int64)
    best[0] = 0.0
    present = 0.0
    for i in range(1, last + 1):
        present += interval(cells, times[i - 1], times[i])[2]
        for k in range(_CHOICES):
            for j in range(_CHOICES):
                gap = choices[i, k] - choices[i - 1, j]
                if gap < hair or best[i - 1, j] == np.inf:
                    continue
                start = choices[i - 1, j] + (i - 1) * spacing
                cost = best[i - 1, j] + interval(cells, start, choices[i, k] + i * spacing)[2]
                if cost < best[i, k]:
                    best[i, k] = cost
                    before[i, k] = j
    k = int(np.argmin(best[last]))
    saved: float = present - best[last, k]
    if not saved > least:
        return 0.0
    for i in range(last, 0, -1):
        if i < last:
            times[i] = choices[i, k] + i * spacing
        k = before[i, k]
    return saved
