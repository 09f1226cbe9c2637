"""Estimates of the course: at each time the replications are an independent sample.

Beside the interval of each number at each time stands a simultaneous band: with probability 0.95 it
holds the whole curve of a measure. It is made as the intervals are, with a larger quantile: that of
the largest deviation of the curve, studentized, in a multiplier bootstrap of the replications (each
is weighted by a standard normal number; Chernozhukov, Chetverikov and Kato 2013). The share of
that quantile in the normal law is then looked up in Student's t, since of few replications the
standard errors are uncertain too. It is never wider than Bonferroni's, and with few replications it
is that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from scenarios import Scenario
from scenarios.activation import Free, Levels, Switching, Threshold
from scenarios.arrays import Array
from scenarios.course import CourseEstimates
from scenarios.measures import Subject
from scenarios.rare import CLUSTERING
from scenarios.timeline import observation_times
from sim import rules
from sim.engine_inputs import MOST_FOLLOWED, top_level
from sim.estimates.intervals import interval, is_regular
from sim.estimates.jackknife import t_quantile
from sim.tally import CourseTally

_MISSED = 0.05
"""Probability that a curve leaves its band somewhere."""

_DRAWS = 1000
_SEED = 24
_CELLS = 100_000
"""Of a measure with more numbers in all, pages times times, the band is Bonferroni's."""

_MANY = 30
"""With fewer replications the bootstrap finds too narrow a band (measured: docs/courses.md)."""

_ROUNDING = 1e-14
"""Errors below this share of the estimates are those of their last bits."""

_RATES = {
    "arrival_rate": rules.DELIVERED,
    "loss_rate": rules.LOST,
    "throughput": rules.INDEXED,
    "obsolete_rate": rules.DROPPED,
}


class _Sampled(NamedTuple):
    """One number at all times in each replication.

    Attributes
    ----------
    measure : str
    subject : int or None
    values : ndarray, shape (replications, times)
    sample : float or ndarray of shape (times,)
        As in `scenarios.Estimate`.
    per : float or ndarray of shape (replications, times)
        What it is divided by: queries, of what is a share of them.
    step : float
        Between values of what is counted, where all replications may happen to count the same:
        intervals are then as wide as if one of them had counted one more or less.
    bonferroni : bool
        Whether there are too many subjects for a bootstrap of each.
    """

    measure: str
    subject: Subject
    values: Array
    sample: float | Array
    per: float | Array = 1.0
    step: float = 0.0
    bonferroni: bool = False


def course_estimates(courses: Sequence[CourseTally], scenario: Scenario) -> CourseEstimates:
    """Estimates of the course with standard errors, intervals and bands.

    Parameters
    ----------
    courses : sequence of CourseTally
        One per replication.
    scenario : Scenario
        Whose course was observed.
    """
    count = len(courses)
    sampled = (*_of_queue(courses, scenario), *_of_pages(courses, scenario))
    columns = {(each.measure, each.subject): _estimates(each, count) for each in sampled}
    return CourseEstimates(observation_times(scenario.run), columns)


def _stacked(courses: Sequence[CourseTally], name: str) -> Any:
    return np.array([getattr(course, name) for course in courses])


def _of_queue(courses: Sequence[CourseTally], scenario: Scenario) -> Iterator[_Sampled]:
    """Robots, and what the buffer holds and lets through."""
    by_level = float(isinstance(scenario.activation, Threshold | Levels | Free | Switching))
    yield _Sampled("mean_active_robots", None, _stacked(courses, "active"), 0.0, step=by_level)
    if scenario.model.frontier is not None:
        yield _Sampled("frontier_length", None, _stacked(courses, "waiting"), 0.0, step=1.0)
        yield _Sampled("busy_robots", None, _stacked(courses, "busy"), 0.0, step=1.0)
    queue = scenario.model.queue
    if queue is None or scenario.run.observe is None:
        return
    shares = CLUSTERING * len(courses)  # replications do not come in bursts
    level = _stacked(courses, "level")
    yield _Sampled("starvation_probability", None, level == 0, shares)
    if queue.batch is None:  # else fewer pages may take all places
        yield _Sampled("full_probability", None, level >= queue.capacity, shares)
    yield _Sampled("mean_in_system", None, level, 0.0, step=1.0)
    counts = _stacked(courses, "counts")
    for measure, which in _RATES.items():
        time = len(courses) * scenario.run.observe
        by_the_clock = measure == "arrival_rate" and is_regular(scenario)
        rate = counts[:, :, which] / scenario.run.observe
        yield _Sampled(measure, None, rate, 0.0 if by_the_clock else time)
    levels = top_level(scenario) + 1
    cells = levels * level.shape[1]
    for each in range(levels if cells <= MOST_FOLLOWED else 0):
        yield _Sampled("level_probability", each, level == each, shares, bonferroni=cells > _CELLS)


def _of_pages(courses: Sequence[CourseTally], scenario: Scenario) -> Iterator[_Sampled]:
    """Copies that are out of date, deliveries of each page, and queries."""
    if scenario.model.pages is None or scenario.run.observe is None:
        return
    yield _Sampled("weighted_obsolescence", None, _stacked(courses, "stale_weight"), 0.0)
    stale = _stacked(courses, "stale")
    deliveries = _stacked(courses, "deliveries")
    shares = CLUSTERING * len(courses)
    time = 0.0 if is_regular(scenario) else len(courses) * scenario.run.observe
    many = stale[0].size > _CELLS
    for page in range(stale.shape[2]):
        yield _Sampled("obsolescence_rate", page, stale[:, :, page], shares, bonferroni=many)
        rate = deliveries[:, :, page] / scenario.run.observe
        yield _Sampled("crawl_rate", page, rate, time, bonferroni=many)
    if scenario.clients is not None:
        counts = _stacked(courses, "counts")
        asked = counts[:, :, rules.QUERIES]
        stale_answers = counts[:, :, rules.STALE_ANSWERS]
        yield _Sampled("stale_answer_probability", None, stale_answers, asked.sum(axis=0), asked)


def _estimates(sampled: _Sampled, count: int) -> Array:
    """What `CourseEstimates` has of one number, shape (7, times)."""
    per = np.broadcast_to(sampled.per, sampled.values.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = sampled.values.sum(axis=0) / per.sum(axis=0)
        deviations = (sampled.values - estimate * per) / per.sum(axis=0)
        spread = np.sqrt((deviations**2).sum(axis=0))
        error = spread * np.sqrt(count / (count - 1)) if count > 1 else spread * np.nan
    error = np.where(error < _ROUNDING * np.abs(estimate), 0.0, error)
    quantile = t_quantile(count - 1)
    moving = deviations[:, error > 0] / spread[error > 0]
    largest = _simultaneous(moving, sampled.bonferroni) if moving.size else quantile
    wary = np.maximum(error, sampled.step / count)
    ends = [
        *interval(sampled.measure, estimate, wary, sampled.sample, quantile),
        *interval(sampled.measure, estimate, wary, sampled.sample, largest),
    ]
    return np.stack([estimate, error, *ends, np.broadcast_to(sampled.sample, estimate.shape)])


def _simultaneous(deviations: Array, bonferroni: bool) -> float:
    """Standard errors to each side of a band, by Student's t.

    Parameters
    ----------
    deviations : ndarray, shape (replications, times)
        Of the replications, scaled to a sum of squares of 1 at each time.
    bonferroni : bool
        Without the bootstrap.
    """
    from scipy.special import ndtr, stdtrit

    count, times = deviations.shape
    missed = _MISSED / times
    if not bonferroni and times > 1 and count >= _MANY:
        in_rows = np.ascontiguousarray(deviations)  # of columns the product takes 200 times as long
        largest = np.abs(_multipliers(count) @ in_rows).max(axis=1)
        missed = max(missed, float(2 * ndtr(-np.quantile(largest, 1 - _MISSED))))
    return float(-stdtrit(count - 1, missed / 2))


@lru_cache(maxsize=1)
def _multipliers(count: int) -> Array:
    """Weights of the replications in each draw of the bootstrap."""
    return np.random.default_rng(_SEED).standard_normal((_DRAWS, count))
