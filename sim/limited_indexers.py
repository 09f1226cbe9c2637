"""The indexing engine where interventions let only some of its indexers work."""

from __future__ import annotations

from typing import Any

from sim.buffer import SERVICE, Buffer
from sim.clock import Alarm
from sim.indexings import (
    AS_IT_WAS,
    begin_indexing,
    end_from_now,
    end_indexing,
    let_work,
    no_indexings,
)
from sim.page_classes import Item
from sim.speeds import NEVER, Speed


class LimitedBuffer(Buffer):
    """The pages in the system; those in service go on as `sim.indexings` has it.

    Parameters
    ----------
    speed : Speed
        Of the services. `BufferRules.service` gives how long one takes at speed 1.
    working : int
        Indexers that may work at first.
    others
        As `Buffer`.
    """

    def __init__(self, speed: Speed, working: int, *others: Any) -> None:
        super().__init__(*others)
        self._speed = speed
        self._indexings = no_indexings(self._fixed.servers, working)

    def let_work(self, now: float, indexers: int) -> None:
        """From now on so many indexers may work."""
        let_work(self._indexings, indexers)
        self._go_on_or_stop(now)

    def _start_service(self, now: float, server: int, item: Item) -> None:
        self._in_service[server] = item
        self._service_ends[server].time = NEVER
        begin_indexing(self._indexings, server, self._service_end(now, item[2]))
        self._go_on_or_stop(now)

    def _complete_service(self, alarm: Alarm) -> None:
        if alarm is not self._service_ends[alarm.index]:
            return
        end_indexing(self._indexings, alarm.index)
        self._go_on_or_stop(alarm.time)
        super()._complete_service(alarm)

    def _go_on_or_stop(self, now: float) -> None:
        for server in range(self._fixed.servers):
            end = end_from_now(self._indexings, self._speed, now, server)
            if end != AS_IT_WAS:
                # The alarm of one that stopped still goes off, and nobody heeds it.
                alarm = Alarm(self._clock, self._complete_service, server)
                self._service_ends[server] = alarm
                self._clock.at(end, SERVICE + server, alarm)
