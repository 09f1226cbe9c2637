"""An indexer that rests when it finds no page: idle, away, or getting ready while pages wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sim import rules
from sim.batches import BatchBuffer
from sim.buffer import SERVICE
from sim.clock import Alarm
from sim.tally import RestsTally


@dataclass(frozen=True, slots=True)
class RestRules:
    """When the indexer comes back, as `scenarios.model.Rest` has it.

    `vacation` draws how long it is away, `set_up` says when a set-up ends that begins now; None
    where there is none.
    """

    resume_at: int
    vacation: Callable[[], float] | None
    set_up: Callable[[float], float] | None


class RestingBuffer(BatchBuffer):
    """The pages in the system, before one indexer that rests.

    Every page that enters waits, and what the indexer does is decided once all pages that were
    delivered together have entered: `rules.after_rest`. At time 0 it is idle.

    Parameters
    ----------
    rests : RestRules
    others
        As `BatchBuffer`.
    """

    def __init__(self, rests: RestRules, *others: Any) -> None:
        self._rests = rests
        self._doing = rules.IDLE
        self._doing_since = 0.0
        super().__init__(*others)

    def _take_batches(self, now: float) -> None:
        if not self._busy and self._doing in (rules.IDLE, rules.AT_WORK):
            self._go_on(now)

    def _complete_service(self, alarm: Alarm) -> None:
        if self._doing == rules.AT_WORK:
            super()._complete_service(alarm)
        else:
            self._go_on(alarm.time)

    def _go_on(self, now: float) -> None:
        """A service, a set-up or a vacation has ended, or pages came to an idle indexer."""
        away, set_up = self._rests.vacation, self._rests.set_up
        given = len(self._waiting), self._rests.resume_at, away is not None, set_up is not None
        doing = rules.after_rest(self._doing, *given)
        self._change_doing(now, doing)
        if doing == rules.AT_WORK:
            super()._take_batches(now)
        elif doing == rules.AWAY and away is not None:
            self._clock.at(now + away(), SERVICE, self._service_ends[0])
        elif doing == rules.SETTING_UP and set_up is not None:
            self._clock.at(set_up(now), SERVICE, self._service_ends[0])

    def _change_doing(self, now: float, doing: int) -> None:
        """Close the time of a set-up that goes on, then do something else."""
        if self._doing == rules.SETTING_UP:
            self._set_up_time += now - self._doing_since
        self._doing_since = now
        self._resumed += rules.resumes(self._doing, doing)
        self._doing = doing

    def _start_counting(self, now: float) -> None:
        super()._start_counting(now)
        self._resumed = 0
        self._set_up_time, self._doing_since = 0.0, now

    def rests(self, now: float) -> RestsTally:
        """What was counted of rests from the end of the warm-up to now."""
        self._change_doing(now, self._doing)
        return RestsTally(self._resumed, self._set_up_time)
