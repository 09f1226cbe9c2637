"""The world of the live page: the events of one replication, in parts, as they are watched.

A replication is simulated as far as somebody has watched it, and no further: who watches an event
a second keeps nothing waiting but its next few hundred events.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from typing import Any

from scenarios import Scenario
from scenarios.activation import Switching
from scenarios.interventions import FACTORS
from scenarios.model import Never, Queue, present
from scenarios.page_data import PageData
from scenarios.sections import Robots
from scenarios.text import counted
from scenarios.timeline import Piece
from sim import simpy_engine
from sim.buffer import Buffer
from sim.engine_inputs import robots_may_wait
from sim.event_log import Row
from sim.page_classes import Item
from sim.probes import probed_sources
from sim.search_engine import SearchEngine

MOST_EVENTS = 4000
"""Events of a part."""

MOST_PAGES = 600
"""Pages of the web that are shown, and pages in the buffer."""

_MOST_PIECES = 200
"""Stretches of time with other settings, announced beforehand."""

_OPEN = 8
"""Replications that wait to be watched further."""

_WORDS = {
    "robot_speed": "robots",
    "service_speed": "indexing",
    "change_factor": "changes",
    "query_factor": "searchers",
}
"""What a factor of interventions makes faster or slower."""


class Worlds:
    """Replications that are watched; those that nobody has watched for longest are forgotten."""

    def __init__(self) -> None:
        self._under_way: OrderedDict[Any, _Replication] = OrderedDict()
        self._lock = threading.Lock()

    def part(self, scenario: Scenario, replication: int, begin: int, size: int) -> dict[str, Any]:
        """The events of a replication from a number on, for JSON.

        Parameters
        ----------
        scenario : Scenario
            With everything decided.
        replication, begin, size : int
            Which replication, its first event (from 0) and how many.
        """
        name = scenario.model_dump_json(), replication
        with self._lock:
            watched = self._under_way.pop((name, begin), None)
        if watched is None:
            watched = _Replication(scenario, replication)
            watched.skip(begin)
        events = watched.next(size)
        if not watched.has_ended:
            with self._lock:
                self._under_way[name, begin + len(events)] = watched
                while len(self._under_way) > _OPEN:
                    self._under_way.popitem(last=False)
        record = {
            "replication": replication,
            "from": begin,
            "events": events,
            "ended": watched.has_ended,
        }
        return record if begin else record | {"setup": setup(scenario)}


class _Replication:
    """One replication of the readable engine, event by event.

    Parameters
    ----------
    scenario : Scenario
    replication : int
    """

    def __init__(self, scenario: Scenario, replication: int) -> None:
        self.has_ended = False
        self._happened: list[dict[str, Any]] = []
        system = simpy_engine.put_together(scenario, replication, scenario.run.seed, self)
        buffer = system.buffer if isinstance(system, SearchEngine) else None
        self._inside = None if buffer is None else _Inside(buffer)
        system.start()
        self._events = self._all(system)

    def add(self, row: Row) -> None:
        """An event reported by the engine."""
        _, now, kind, robot, page, level, active = row
        if page is not None and page >= MOST_PAGES and kind == "change":
            return
        event = {
            "time": now,
            "kind": kind,
            "robot": robot,
            "page": page,
            "level": level,
            "active": active,
        }
        if self._inside and (moved := self._inside.moved()):
            event["inside"] = moved
        self._happened.append(event)

    def _all(self, system: simpy_engine.System) -> Iterator[dict[str, Any]]:
        for _ in system.clock.steps_to(system.end):
            yield from self._happened
            self._happened.clear()

    def next(self, count: int) -> list[dict[str, Any]]:
        """The next events, up to this many."""
        events = list(islice(self._events, count))
        self.has_ended = len(events) < count
        return events

    def skip(self, count: int) -> None:
        """Let this many events happen unwatched."""
        for _ in islice(self._events, count):
            pass


class _Inside:
    """What moved in a buffer since it was looked at.

    Parameters
    ----------
    buffer : Buffer
    """

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._until: dict[int, float] = {}
        self._places: dict[int, tuple[Item, int, float]] = {}
        buffer.timer_started = self._until.__setitem__

    def moved(self) -> list[list[Any]]:
        """Each page that came, moved or left: its number, its index, its place, until when.

        The place is -1 of a page that waits, the number of its server of one that is indexed, and
        None of one that has left.
        """
        before = self._places
        self._places = {}
        moved: list[list[Any]] = []
        for place, item, until in self._now():
            number = item[0]
            self._places[number] = item, place, until
            if number not in before or before[number] != (item, place, until):
                page = None if item[2] is None else item[2].page
                moved.append([number, page, place, until if until < math.inf else None])
        for number in before.keys() - self._places.keys():
            self._until.pop(number, None)
            moved.append([number, None, None, None])
        return moved

    def _now(self) -> Iterator[tuple[int, Item, float]]:
        yield from self._buffer.in_service
        for item in islice(self._buffer.waiting, MOST_PAGES):
            yield -1, item, self._until.get(item[0], math.inf)


def setup(scenario: Scenario) -> dict[str, Any]:
    """What is there to be seen, for JSON."""
    pages = scenario.model.pages
    return {
        "name": scenario.name,
        "time_unit": scenario.time_unit,
        "end": scenario.run.horizon if scenario.probing is None else scenario.probing.horizon,
        "frontier": scenario.model.frontier is not None,
        "robots": None if scenario.robots is None else _robots(scenario, scenario.robots),
        "buffer": None if scenario.model.queue is None else _queue(scenario.model.queue),
        "pages": None if pages is None else _pages(pages),
        "searchers": scenario.clients is not None,
        "servers": None if scenario.servers is None else len(scenario.servers.laws),
        "probes": None if scenario.probing is None else len(probed_sources(scenario)[0].times),
        "interventions": list(islice(_changes_of_settings(scenario), _MOST_PIECES)),
    }


def _pages(pages: PageData) -> dict[str, int]:
    return {"count": pages.count, "shown": min(pages.count, MOST_PAGES)}


def _robots(scenario: Scenario, robots: Robots) -> dict[str, Any]:
    order = present(scenario.model.fleet).order
    return {
        "count": robots.available,
        "order": list(islice(order, MOST_PAGES)),
        "joint": robots.deliveries is not None,
        "switched": isinstance(scenario.activation, Switching),
        "may_wait": robots_may_wait(scenario),
    }


def _queue(queue: Queue) -> dict[str, Any]:
    return {
        "places": queue.waiting_places,
        "indexers": queue.servers,
        "patience": not isinstance(queue.patience, Never),
    }


def _changes_of_settings(scenario: Scenario) -> Iterator[dict[str, Any]]:
    """When something is other than usual, and what."""
    for each in scenario.model.timeline.pieces:
        if text := ", ".join(_other_than_usual(each)):
            yield {"begin": each.begin, "end": each.end, "text": text}


def _other_than_usual(piece: Piece) -> Iterator[str]:
    if piece.robots is not None:
        work = "works" if piece.robots == 1 else "work"
        yield f"at most {counted(piece.robots, 'robot')} {work}"
    if piece.indexers is not None:
        work = "works" if piece.indexers == 1 else "work"
        yield f"at most {counted(piece.indexers, 'indexer')} {work}"
    for factor in FACTORS:
        value = getattr(piece, factor)
        if value == 0.0:
            yield f"{_WORDS[factor]} stopped"
        elif value != 1.0:
            yield f"{_WORDS[factor]} × {value:g}"
