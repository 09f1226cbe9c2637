"""What is known of the course of a queue: numbers at times, over intervals, over the window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from analytic.indexing_queue.sojourns import Row
from analytic.transient.queue import Segment, Sums
from scenarios.arrays import Array
from scenarios.measures import Subject

Columns = Mapping[tuple[str, Subject], Array]
"""By measure and subject, the value at each time; nan where there is none."""


class CoursePoint(NamedTuple):
    """One number of a course.

    Attributes
    ----------
    time : float
        When, or the end of the interval that it is about.
    measure : str
    subject : int, str or None
    value : float
    """

    time: float
    measure: str
    subject: Subject
    value: float


def course_points(times: Array, columns: Columns) -> Iterator[CoursePoint]:
    """The numbers of a course, time by time."""
    listed = [(*key, values.tolist()) for key, values in columns.items()]
    for place, time in enumerate(times.tolist()):
        for measure, subject, values in listed:
            yield CoursePoint(time, measure, subject, values[place])


def queue_columns(
    segments: Iterable[Segment], times: Array, observe: float, capacity: int
) -> dict[tuple[str, Subject], Array]:
    """The measures of the queue at times, and over the intervals of length `observe` up to them.

    Parameters
    ----------
    segments : iterable of Segment
        One after the other, each ending at or before the next of the times.
    times : ndarray
    observe : float
    capacity : int
        Pages that the buffer holds; then it is full.
    """
    rows: list[dict[tuple[str, Subject], float]] = []
    passed: Sums | None = None
    for segment in segments:
        if len(rows) == len(times):
            break
        passed = segment.during if passed is None else passed.plus(segment.during)
        if segment.end == times[len(rows)]:
            rows.append(_numbers(segment.at_end, passed, observe, capacity))
            passed = None
    if not rows:
        return {}
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def _numbers(
    at_end: Sums, passed: Sums, observe: float, capacity: int
) -> dict[tuple[str, Subject], float]:
    levels = at_end.levels
    numbers: dict[tuple[str, Subject], float] = {
        ("starvation_probability", None): float(levels[0]),
        ("full_probability", None): float(levels[capacity:].sum()),
        ("mean_in_system", None): at_end.in_system,
        ("mean_active_robots", None): at_end.robots,
        ("arrival_rate", None): passed.delivered / observe,
        ("loss_rate", None): passed.lost / observe,
        ("throughput", None): passed.served / observe,
        ("obsolete_rate", None): passed.obsolete / observe,
    }
    for level, probability in enumerate(levels.tolist()):
        numbers["level_probability", level] = probability
    return numbers


def window_rows(sums: Sums, window: float) -> Iterator[Row]:
    """The time averages over a window, and shares of the pages that are expected to end in it."""
    yield "arrival_rate", None, sums.delivered / window
    yield "loss_rate", None, sums.lost / window
    yield "throughput", None, sums.served / window
    yield "starvation_probability", None, float(sums.levels[0]) / window
    yield "mean_active_robots", None, sums.robots / window
    yield "mean_in_system", None, sums.in_system / window
    for level, time in enumerate(sums.levels.tolist()):
        yield "level_probability", level, time / window
    ended = sums.lost + sums.obsolete + sums.served
    if ended > 0:
        yield "loss_probability", None, sums.lost / ended
        yield "obsolescence_probability", None, sums.obsolete / ended
        yield "success_probability", None, sums.served / ended


def total(segments: Iterable[Segment], begin: float, end: float) -> Sums:
    """Integrals over a window, of the segments inside it."""
    inside = (each.during for each in segments if begin <= each.begin and each.end <= end)
    first = next(inside)
    for each in inside:
        first = first.plus(each)
    return first


def stops_of(times: Array, *others: float) -> Sequence[float]:
    """The times and other ones, increasing, each once."""
    return np.union1d(times, others).tolist()
