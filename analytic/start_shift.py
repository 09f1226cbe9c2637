"""By how much the start of a run can shift an estimate, where the warm-up was too short for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analytic.formula import Prediction
from analytic.start_up import Memory, remembered_starts
from scenarios import MEASURES, Scenario
from scenarios.activation import Switching
from scenarios.arrays import Array
from scenarios.measures import Subject
from scenarios.page_data import page_weights

_ONLY_LOWERED = (
    "loss_probability",
    "loss_rate",
    "obsolescence_probability",
    "throughput",
    "mean_in_system",
    "sojourn_time",
    "sojourn_time_second_moment",
    "obsolescence_rate",
    "weighted_obsolescence",
    "stale_answer_probability",
    "index_age",
)
"""An empty buffer and fresh copies lose nothing, keep nobody waiting, and are not out of date."""

_OF_A_PAGE = ("obsolescence_rate", "index_age")


class StartShifts:
    """How far the start can shift each estimate.

    Of a window of which the share e still remembers the start, the long run makes 1 - e and
    something else the rest: the estimate is ``(1 - e) p + e q``. Nothing that is measured is
    negative, so it is lowered by e p at most; a fraction is raised by e (1 - p) at most. What an
    empty buffer and fresh copies can only lower is not raised, unless robots are switched: then
    all of them are active at the start, and may be too many.

    Parameters
    ----------
    scenario : Scenario
    """

    def __init__(self, scenario: Scenario) -> None:
        run = scenario.run
        memories = remembered_starts(scenario)
        self._pages = 1 if scenario.pages is None else scenario.pages.count
        self._warmup = run.warmup
        self._window = run.horizon - run.warmup
        self._switched = isinstance(scenario.activation, Switching)
        self._together = [
            (each.measures, float(self._left(each.long_enough)))
            for each in memories
            if each.pages is None
        ]
        self._by_page = self._shares_of_pages(memories)
        weights = np.zeros(1) if scenario.pages is None else page_weights(scenario.pages)
        stale = float(weights @ self._by_page) if scenario.pages else 0.0
        self._sums = {
            "weighted_obsolescence": stale,
            "stale_answer_probability": stale / weights.sum() if weights.sum() > 0 else 0.0,
            "control_cost": scenario.costs.staleness * stale,
        }

    def of(self, prediction: Prediction, estimate: float) -> float:
        """The largest such shift in the direction in which the estimate lies.

        A sum over pages is shifted by those of the pages, each of which is stale with probability
        1 at most.
        """
        share = self.share_of(prediction.measure, prediction.subject)
        predicted = prediction.value
        pages = self._sums.get(prediction.measure, 0.0)
        if estimate <= predicted:
            return min(share * predicted + pages, max(predicted, 0.0))
        if prediction.measure in _ONLY_LOWERED and not self._switched:
            return 0.0
        if MEASURES[prediction.measure].is_fraction:
            return share * (1.0 - predicted) + pages
        return share * estimate + pages

    def share_of(self, measure: str, page: Subject = None) -> float:
        """The share of the window in which what is measured remembers the start."""
        follow = (left for names, left in self._together if not names or measure in names)
        share = max(follow, default=0.0)
        if measure in _OF_A_PAGE and isinstance(page, int):
            return max(share, float(self._by_page[page]))
        return share

    def _shares_of_pages(self, memories: Sequence[Memory]) -> Array:
        shares = [
            self._left(each.needed * each.pages) for each in memories if each.pages is not None
        ]
        found: Array = np.max(shares, axis=0) if shares else np.zeros(self._pages)
        return found

    def _left(self, needed: Any) -> Array:
        found: Array = np.clip((np.asarray(needed) - self._warmup) / self._window, 0.0, 1.0)
        return found
