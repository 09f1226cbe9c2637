"""Pages without a buffer over time: how likely each copy is out of date, under changing settings.

Whether a page was just delivered is asked of all copies at once: with pages drawn at random a
delivery brings page i with its share f_i, whatever was delivered before, also where robots that are
switched off keep their page. Then the pair (phase of the deliveries, copy out of date) is a Markov
chain for each page; its parts out of date follow ``s' = s H + c mu p``, p the law of the phase.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import scipy

from analytic.index.accesses import accessed_pages
from analytic.index.conditions import fleet_of
from analytic.machinery.active_robots import most_active, numbers_in_use
from analytic.machinery.arrival_process import delivery_modes, start_phases
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.transforms import exc
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.measures import Subject
from scenarios.timeline import Piece

Row = tuple[str, Subject, float]

MOST_NUMBERS = 10**8
"""Entries of the matrices, or of the steps, that are computed for one stretch of time."""


class PageSegment(NamedTuple):
    """An interval without a change of settings.

    Attributes
    ----------
    begin, end : float
    stale : ndarray, shape (pages,)
        Probability that each copy is out of date at the end.
    stale_time : ndarray, shape (pages,)
        Expected time out of date in the interval.
    crawled : ndarray, shape (pages,)
        Expected deliveries in it.
    query_factor : float
    robots : float
        Active robots on average.
    """

    begin: float
    end: float
    stale: Array
    stale_time: Array
    crawled: Array
    query_factor: float
    robots: float


class PagesFollowed(NamedTuple):
    """What was seen of the pages.

    Attributes
    ----------
    columns : mapping (measure, subject) -> ndarray, shape (times,)
        At the times of observation, and over the intervals that end then.
    stale_time, crawled : ndarray, shape (pages,)
        Expected time out of date, and deliveries, over the window.
    stale_answers : float
        Share of the queries of the window that are answered with a copy out of date; nan where
        none can come.
    robots_time : float
        Integral of the number of active robots over it.
    """

    columns: dict[tuple[str, Subject], Array]
    stale_time: Array
    crawled: Array
    stale_answers: float
    robots_time: float


class _Passed:
    """Sums over segments.

    Parameters
    ----------
    weights : ndarray, shape (pages,)
        Of the pages among the queries.
    """

    def __init__(self, weights: Array) -> None:
        self._weights = weights
        self.stale_time = np.zeros(len(weights))
        self.crawled = np.zeros(len(weights))
        self.robots_time = 0.0
        self._queries = 0.0
        self._stale = 0.0

    def add(self, segment: PageSegment) -> None:
        """One more segment."""
        length = segment.end - segment.begin
        self.stale_time += segment.stale_time
        self.crawled += segment.crawled
        self.robots_time += segment.robots * length
        self._queries += segment.query_factor * length
        self._stale += segment.query_factor * float(self._weights @ segment.stale_time)

    @property
    def stale_answers(self) -> float:
        """Share of the queries that are answered with a copy out of date."""
        queries = self._queries * float(self._weights.sum())
        return self._stale / queries if queries > 0 else math.nan


class PagesOverTime(Protocol):
    """Pages that can be followed from their start, when all copies are up to date."""

    def follow(self, timeline: Sequence[Piece], stops: Sequence[float]) -> Iterator[PageSegment]:
        """The segments between all changes and stops, one after the other."""


class DrawnPages:
    """Pages drawn at random by robots whose deliveries are Markovian.

    Parameters
    ----------
    scenario : Scenario
        That meets the conditions of `analytic.transient.formulas`.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._most = most_active(scenario)
        fleet = fleet_of(scenario)
        numbers = numbers_in_use(scenario)
        self._modes = delivery_modes(fleet, numbers)
        start = start_phases(fleet, numbers, self._modes, self._most)
        self._rates, self._shares, _, self._pair = accessed_pages(scenario).kinds
        order = len(start)
        self._kinds = len(self._rates)
        if order > 1 and self._kinds * (2 * order + 2) ** 2 > MOST_NUMBERS:
            raise NoAnswerError(f"{self._kinds} kinds of pages times {order} phases are too many")
        self._start = np.concatenate([start, np.zeros(order)]) * np.ones((self._kinds, 1))
        self._moves: dict[tuple[Piece, float], Array] = {}

    def follow(
        self, timeline: Sequence[Piece], stops: Sequence[float], rows: Array | None = None
    ) -> Iterator[PageSegment]:
        """The segments between all changes and stops, one after the other.

        Parameters
        ----------
        timeline : sequence of Piece
        stops : sequence of float
            Increasing.
        rows : ndarray, shape (kinds of pages, 2 * order), optional
            Law of the phase, and its part with a copy out of date, where that is not the start.
        """
        rows = self._start if rows is None else rows
        order = rows.shape[1] // 2
        for piece in timeline:
            robots = active_robots(self._most, piece)
            for begin, end in between(piece, stops):
                rows, stale_time, crawled = self._move(piece, robots, rows, end - begin)
                yield PageSegment(
                    begin,
                    end,
                    rows[:, order:].sum(axis=1)[self._pair],
                    stale_time[self._pair],
                    (self._shares * crawled)[self._pair],
                    piece.query_factor,
                    robots,
                )

    def periodic_start(self, timeline: Sequence[Piece]) -> Array:
        """The rows at position 0 of the regime in which these pieces have been repeated forever.

        Raises
        ------
        NoAnswerError
            If the regime depends on the start.
        """
        order = self._start.shape[1] // 2
        period = np.broadcast_to(np.eye(2 * order), (self._kinds, 2 * order, 2 * order))
        for piece in timeline:
            step = self._matrices(piece, active_robots(self._most, piece), piece.end - piece.begin)
            period = period @ step[:, :-2, :-2]
        phases = _fixed_law(period[0, :order, :order])
        kept = np.eye(order) - period[:, order:, order:]
        gained = phases @ period[:, :order, order:]
        # A page that never changes is never out of date; where nobody accesses it, the equations
        # do not say so.
        changes = math.fsum(piece.change_factor * (piece.end - piece.begin) for piece in timeline)
        kept[self._rates * changes == 0] = np.eye(order)
        stale = np.linalg.solve(kept.transpose(0, 2, 1), gained[:, :, None])[:, :, 0]
        return np.hstack([np.broadcast_to(phases, stale.shape), stale])

    def _move(
        self, piece: Piece, robots: int, rows: Array, time: float
    ) -> tuple[Array, Array, Array]:
        """Rows after some time, and what came of it: time out of date, deliveries of all pages."""
        if rows.shape[1] == 2:
            return self._move_alone(piece, robots, rows[:, 1], time)
        moved = np.einsum(
            "ki,kij->kj", np.pad(rows, ((0, 0), (0, 2))), self._matrices(piece, robots, time)
        )
        return moved[:, :-2], moved[:, -2], moved[:, -1]

    def _move_alone(
        self, piece: Piece, robots: int, stale: Array, time: float
    ) -> tuple[Array, Array, Array]:
        """The same in closed form, for deliveries without phases: ``s' = c mu (1 - s) - r s``."""
        batches = piece.robot_speed * self._modes[robots, 1:, 0, 0]
        size = np.arange(1, len(batches) + 1)
        with np.errstate(divide="ignore"):  # a single page, which every delivery renews
            renewed = -np.expm1(size * np.log1p(-np.minimum(self._shares, 1.0))[:, None]) @ batches
        changed = piece.change_factor * self._rates
        forgotten = (changed + renewed) * time
        spent = time * _mean_of_exp(forgotten)
        after = stale * np.exp(-forgotten) + changed * spent
        grown = time**2 * _half_of_exc(forgotten) * changed
        pages = float(size @ batches) * time
        rows = np.column_stack([np.ones_like(after), after])
        return rows, stale * spent + grown, np.full(self._kinds, pages)

    def _matrices(self, piece: Piece, robots: int, time: float) -> Array:
        """Exponentials of the chains: phase, the same with a copy out of date, two integrals."""
        key = piece, time
        if key not in self._moves:
            if len(self._moves) > 8:
                self._moves.clear()
            self._moves[key] = scipy.linalg.expm(self._generators(piece, robots) * time)
        return self._moves[key]

    def _generators(self, piece: Piece, robots: int) -> Array:
        modes = piece.robot_speed * self._modes[robots]
        order = modes.shape[1]
        size = np.arange(len(modes))
        missed = (1.0 - self._shares[:, None]) ** size
        changed = piece.change_factor * self._rates[:, None, None] * np.eye(order)
        whole = np.zeros((self._kinds, 2 * order + 2, 2 * order + 2))
        whole[:, :order, :order] = modes.sum(axis=0)
        whole[:, :order, order:-2] = changed
        whole[:, order:-2, order:-2] = np.einsum("kb,bij->kij", missed, modes) - changed
        whole[:, order:-2, -2] = 1.0
        whole[:, :order, -1] = np.tensordot(size, modes, axes=1).sum(axis=1)
        return whole


def pages_followed(
    segments: Iterable[PageSegment], scenario: Scenario, times: Array, window: tuple[float, float]
) -> PagesFollowed:
    """What is told of pages at times, over the intervals up to them, and over a window.

    Parameters
    ----------
    segments : iterable of PageSegment
        One after the other, cut at the times and at both ends of the window.
    scenario : Scenario
    times : ndarray
        Equally spaced, from the distance between them on.
    window : tuple of float
        Its begin and end.
    """
    pages = accessed_pages(scenario)
    in_window = _Passed(pages.weights)
    passed = _Passed(pages.weights)
    stale: list[Array] = []
    crawled: list[Array] = []
    answers: list[float] = []
    for segment in segments:
        passed.add(segment)
        if window[0] <= segment.begin and segment.end <= window[1]:
            in_window.add(segment)
        if len(stale) < len(times) and segment.end == times[len(stale)]:
            stale.append(segment.stale)
            crawled.append(passed.crawled)
            answers.append(passed.stale_answers)
            passed = _Passed(pages.weights)
    columns: dict[tuple[str, Subject], Array] = {}
    if stale:
        at = np.array(stale)
        columns["weighted_obsolescence", None] = at @ pages.weights
        if scenario.clients is not None:
            columns["stale_answer_probability", None] = np.array(answers)
        rates = np.array(crawled) / times[0]
        columns |= {("obsolescence_rate", page): each for page, each in enumerate(at.T)}
        columns |= {("crawl_rate", page): each for page, each in enumerate(rates.T)}
    share = in_window.stale_answers if scenario.clients is not None else math.nan
    sums = in_window.stale_time, in_window.crawled, share, in_window.robots_time
    return PagesFollowed(columns, *sums)


def active_robots(most: int, piece: Piece) -> int:
    """Active robots, at most this many, under the limit of a piece."""
    return most if piece.robots is None else min(piece.robots, most)


def between(piece: Piece, stops: Sequence[float]) -> Iterator[tuple[float, float]]:
    """The parts into which stops cut a piece."""
    inside = [stop for stop in stops if piece.begin < stop < piece.end]
    return pairwise((piece.begin, *inside, piece.end))


def _fixed_law(matrix: Array) -> Array:
    """The law that a stochastic matrix leaves alone, shape (order,)."""
    order = len(matrix)
    equations = np.vstack([matrix.T - np.eye(order), np.ones(order)])
    if np.linalg.matrix_rank(equations[:-1], tol=1e-10) < order - 1:
        raise NoAnswerError("the phases of the deliveries remember their start")
    return np.linalg.lstsq(equations, np.append(np.zeros(order), 1.0), rcond=None)[0]


def _mean_of_exp(exponent: Array) -> Array:
    """``(1 - e^{-x}) / x``, 1 at 0."""
    with np.errstate(invalid="ignore"):
        return np.where(exponent > 0, -np.expm1(-exponent) / exponent, 1.0)


def _half_of_exc(exponent: Array) -> Array:
    """``(x - 1 + e^{-x}) / x²``, 1/2 at 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(exponent > 1e-8, exc(exponent) / exponent**2, 0.5 - exponent / 6)
