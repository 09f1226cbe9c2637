"""Speeds that change over time: when a piece of work ends; both engines call this.

Work of length X that starts at t ends at the first time t' for which the integral of the speed over
(t, t'] is X. Nothing is drawn again when the speed changes. Like `sim.rules`, this file knows no
engine and imports no mathematics, so that it compiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

NEVER = 1e300
"""Later than any horizon, but finite: a server whose work never ends is busy all the same."""


class Speed(NamedTuple):
    """A speed over time, piece by piece; lists in the one engine, arrays in the other.

    Attributes
    ----------
    ends : sequence of float
        Where the pieces end, the last one at `NEVER`.
    values : sequence of float
        The speed in each piece.
    sums : sequence of float
        Work done from 0 to the end of each piece.
    at : mutable sequence of int
        Its one entry is the piece of the last start of a work; starts come in their order.
    """

    ends: Any
    values: Any
    sums: Any
    at: Any


def speed_over_time(begins: Sequence[float], values: Sequence[float]) -> Speed:
    """The speed with pieces that begin at `begins`, the first at 0."""
    ends = [*begins[1:], NEVER]
    sums = []
    total = 0.0
    for begin, end, value in zip(begins, ends, values, strict=True):
        total += value * (end - begin)
        sums.append(total)
    return Speed(ends, list(values), sums, [0])


def piece_at(speed: Speed, now: float) -> int:
    """The piece in which work that starts now begins."""
    piece: int = speed.at[0]
    if speed.ends[piece] <= now:
        while speed.ends[piece] <= now:
            piece += 1
        speed.at[0] = piece
    return piece


def end_of_work(speed: Speed, now: float, work: float) -> float:
    """When work that starts now ends; `NEVER` if it does not."""
    end: float
    limit: float
    last = len(speed.ends) - 1
    piece = piece_at(speed, now)
    value = speed.values[piece]
    limit = speed.ends[piece]
    if value > 0.0:
        end = now + work / value
        if end <= limit:
            return end
    if work <= 0.0:
        return now
    if piece == last:
        return NEVER
    left = work - value * (limit - now)
    if left <= 0.0:  # by rounding
        return limit
    target = speed.sums[piece] + left
    low = piece + 1
    high = last
    while low < high:
        middle = (low + high) // 2
        if speed.sums[middle] < target:
            low = middle + 1
        else:
            high = middle
    if speed.values[low] <= 0.0:
        return NEVER
    end = speed.ends[low - 1] + (target - speed.sums[low - 1]) / speed.values[low]
    limit = speed.ends[low]
    return end if end <= limit else limit


def work_until(speed: Speed, now: float) -> float:
    """Work done from 0 to now."""
    piece = piece_at(speed, now)
    if piece == 0:
        first: float = speed.values[0] * now
        return first
    done: float = speed.sums[piece - 1] + speed.values[piece] * (now - speed.ends[piece - 1])
    return done


def end_at_full_speed(now: float, work: float) -> float:
    """When work that starts now ends, where the speed is always 1."""
    return now + work
