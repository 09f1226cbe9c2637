"""The course of a scenario: its numbers over time, its periodic regime, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analytic.index import conditions
from analytic.index.accesses import accessed_pages
from analytic.index.formula import Prediction, Reasons, dependent, obstacles, reason_against
from analytic.index.page_conditions import constant_accesses
from analytic.index.predictions import NotApplicable
from analytic.indexing_queue.chain import count_states
from analytic.indexing_queue.measures import size_of
from analytic.indexing_queue.several_servers import size_of_servers
from analytic.machinery.refusal import NoAnswerError
from analytic.transient.formulas import (
    CRAWLING,
    INDEXED,
    OF_THE_QUEUE,
    PAGES,
    QUEUE,
    followed,
    pages_seen,
    queue_of,
)
from analytic.transient.indexed import IndexedPages
from analytic.transient.measures import Columns, CoursePoint, course_points, queue_columns, stops_of
from analytic.transient.pages import DrawnPages, pages_followed
from analytic.transient.periodic import one_period, period_of, periodic_start
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.model import present
from scenarios.page_groups import only_sums
from scenarios.timeline import observation_times

if TYPE_CHECKING:
    import pandas as pd

_MOST_STATES = 5000


@dataclass(frozen=True)
class OverTime:
    """Numbers at some times, by measure and subject.

    Attributes
    ----------
    times : ndarray, shape (times,)
    columns : mapping (measure, subject) -> ndarray, shape (times,)
        Nan where a number is not defined.
    """

    times: Array
    columns: Columns

    def __iter__(self) -> Iterator[CoursePoint]:
        """The numbers time by time."""
        return course_points(self.times, self.columns)

    def to_frame(self) -> pd.DataFrame:
        """One row for each time, measure and subject."""
        import pandas as pd

        return pd.DataFrame(list(self), columns=list(CoursePoint._fields))


@dataclass(frozen=True)
class Course:
    """What the formulas say of a system over time.

    Parameters
    ----------
    course : OverTime
        At the times of observation, from the start on.
    periodic : OverTime or None
        One period of the periodic regime.
    not_applicable : list of NotApplicable
        What is not known, with the reasons.
    """

    course: OverTime
    periodic: OverTime | None
    not_applicable: list[NotApplicable]


NO_COURSE = Course(OverTime(np.empty(0), {}), None, [])
"""Of a scenario that asks for no course."""


def course_of(scenario: Scenario) -> Course:
    """The exact course of a scenario that asks for one, and its periodic regime.

    Parameters
    ----------
    scenario : Scenario
        With everything decided (`analytic.resolve`).
    """
    if scenario.run.observe is None:
        return NO_COURSE
    others = []
    columns: Columns = {}
    if scenario.buffer is not None:
        reason = reason_against(QUEUE, scenario)
        if reason is None:
            columns = followed(scenario).columns
        else:
            others.append(NotApplicable("courses queue", (reason,)))
    if scenario.model.pages is not None:
        reason = reason_against(PAGES if scenario.buffer is None else INDEXED, scenario)
        if reason is None:
            columns = {**columns, **pages_seen(scenario).columns}
        elif reason_against(CRAWLING, scenario) is None:
            of_pages = [] if only_sums(scenario) else accessed_pages(scenario).shares.tolist()
            shares = enumerate(of_pages)
            delivered = columns["arrival_rate", None]
            columns = {**columns, **{("crawl_rate", page): f * delivered for page, f in shares}}
            others.append(NotApplicable("courses pages", (reason,)))
        else:
            others.append(NotApplicable("courses pages", (reason,)))
    periodic = None
    try:
        periodic = _periodic(scenario)
    except NoAnswerError as refusal:
        others.append(NotApplicable("courses periodic regime", (str(refusal),)))
    return Course(OverTime(observation_times(scenario.run), columns), periodic, others)


def window_from_empty(scenario: Scenario) -> list[Prediction]:
    """What the window of a run without a warm-up is expected to show: it begins with nothing there.

    The predictions of `analytic.predict` hold in the long run. None where interventions change the
    system, for then they are of the window themselves, and of chains of more than 5000 states.

    Parameters
    ----------
    scenario : Scenario
        With everything decided (`analytic.resolve`).
    """
    if scenario.run.warmup > 0 or scenario.interventions or scenario.buffer is None:
        return []
    if reason_against((*QUEUE, _few_states), scenario) is not None:
        return []
    reasons_of = Reasons(scenario)
    return [
        row
        for formula in OF_THE_QUEUE
        if not any(obstacles(formula.conditions[1:], reasons_of))
        for row in formula.predict(scenario)
    ]


@dependent
def _few_states(scenario: Scenario) -> str | None:
    """At most 5000, so that the window is known in a moment."""
    order, phases, patience, top = size_of(scenario)
    servers = conditions.buffer_of(scenario).servers
    states = count_states(order, phases, patience, top)
    if servers > 1:
        states, _ = size_of_servers(order, phases, servers, top)
    return f"its chain has {states} states" if states > _MOST_STATES else None


def _periodic(scenario: Scenario) -> OverTime:
    """One period of the periodic regime."""
    observe = present(scenario.run.observe)
    period = period_of(scenario)
    times = np.arange(1, period / observe + 2) * observe
    times = times[times <= period]
    if scenario.buffer is None:
        return OverTime(times, _periodic_pages(scenario, times))
    if reason := reason_against(QUEUE, scenario):
        raise NoAnswerError(reason)
    queue = queue_of(scenario)
    segments = queue.follow(periodic_start(queue), one_period(scenario), stops_of(times))
    capacity = conditions.buffer_of(scenario).capacity
    columns: Columns = queue_columns(segments, times, observe, capacity)
    if scenario.model.pages is not None and reason_against(INDEXED, scenario) is None:
        columns = {**columns, **_repeated(IndexedPages(queue), scenario, times)}
    return OverTime(times, columns)


def _periodic_pages(scenario: Scenario, times: Array) -> Columns:
    """The same of pages without a buffer, drawn at random."""
    if reason := reason_against(PAGES, scenario):
        raise NoAnswerError(reason)
    if constant_accesses(scenario) is None:
        raise NoAnswerError(
            "access times are constant: what the pages are like depends on the start"
        )
    return _repeated(DrawnPages(scenario), scenario, times)


def _repeated(pages: DrawnPages | IndexedPages, scenario: Scenario, times: Array) -> Columns:
    timeline = one_period(scenario)
    segments = pages.follow(timeline, stops_of(times), pages.periodic_start(timeline))
    return pages_followed(segments, scenario, times, (0.0, timeline[-1].end)).columns
