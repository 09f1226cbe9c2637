"""Paths that are split where the level is high, so that rare losses are seen: RESTART.

Whenever the level climbs to a threshold, the state is kept. A path that falls below it again is
taken back to that state, with fresh random numbers, until this many paths have started there; the
last one goes on below. What happens above d thresholds is thus seen by the product of their numbers
of paths, and counts so much less (Villén-Altamirano and Villén-Altamirano, 1991).

What a path can change lies in one block of memory, so that keeping and taking back is one copy. The
blocks of drawn times are not among it: a path that is taken back draws what no other has drawn.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from scenarios import Scenario
from scenarios.in_place import in_place
from sim import rules
from sim.compiled_engine.alarms import Alarms, Timers
from sim.compiled_engine.events import (
    begin_accesses,
    happen,
    has_numbers,
    next_event,
)
from sim.compiled_engine.jit import PAUSE, inner, kernel, loop
from sim.compiled_engine.records import record
from sim.compiled_engine.replication import Replication
from sim.compiled_engine.world import World

_WORD = 8  # bytes


class Paths(NamedTuple):
    """Which paths are still to be followed, and what has been seen of them.

    Attributes
    ----------
    state : record
        `depth`: thresholds that the level has climbed; `counting`: whether the warm-up is over;
        `events` so far.
    thresholds : ndarray of int, shape (depths,)
        Increasing levels.
    copies : ndarray of int, shape (depths,)
        How many paths go on from each climb.
    left : ndarray of int, shape (depths,)
        How many of the present climb are still to start.
    kept : ndarray of int, shape (depths, words)
        The memory of the world at the present climb.
    climbs, delivered, lost : ndarray of int, shape (depths + 1,)
        Since the warm-up, by the depth at which they were seen: climbs to each threshold (the first
        entry stays 0), pages delivered, and pages lost.
    """

    state: Any
    thresholds: Any
    copies: Any
    left: Any
    kept: Any
    climbs: Any
    delivered: Any
    lost: Any


def new_paths(thresholds: Any, copies: Any, words: int) -> Paths:
    """Nothing seen yet."""
    depths = len(thresholds)
    return Paths(
        state=record(depth=0, counting=False, events=0),
        thresholds=np.array(thresholds, dtype=np.int64),
        copies=np.array(copies, dtype=np.int64),
        left=np.zeros(depths, dtype=np.int64),
        kept=np.zeros((depths, words), dtype=np.int64),
        climbs=np.zeros(depths + 1, dtype=np.int64),
        delivered=np.zeros(depths + 1, dtype=np.int64),
        lost=np.zeros(depths + 1, dtype=np.int64),
    )


class SplitReplication(Replication):
    """One replication whose paths are split, of a scenario without pages.

    Parameters
    ----------
    scenario : Scenario
    replication, seed : int
        They select the random streams.
    thresholds, copies : sequence of int
        As in `Paths`.
    """

    def __init__(
        self, scenario: Scenario, replication: int, seed: int, thresholds: Any, copies: Any
    ) -> None:
        super().__init__(scenario, replication, seed)
        self._world, self._memory = _in_one_block(self._world)
        self._paths = new_paths(thresholds, copies, len(self._memory))

    def follow(self, most: float = math.inf) -> Paths:
        """Follow all paths from time 0 to the horizon, or some until there were so many events."""
        self._refill()
        streams = self._change, self._query, self._delivery, self._service
        while not advance_paths(self._world, self._memory, self._paths, *streams):
            if self._paths.state.events > most:
                break
            self._refill()
        return self._paths


def _in_one_block(world: World) -> tuple[World, Any]:
    """The world with all that its events change, but for what is only counted, in one block."""
    buffer = world.buffer
    robots = world.robots
    of_buffer = [buffer.state, buffer.items, *buffer.due]
    of_robots = [robots.state, robots.robot, *robots.ends, *robots.idle]
    of_service = [world.service.state, *world.service.ends]
    batches = buffer.batches
    of_batches = [] if batches is None else [batches.state, batches.size]
    of_batches += [] if batches is None or batches.rest is None else [batches.rest.state]
    memory = _Memory([*of_buffer, *of_robots, *of_service, *of_batches])
    placed = memory.placed
    due = Timers._make(map(placed, buffer.due))
    if batches is not None:
        batches = batches._replace(state=placed(batches.state), size=placed(batches.size))
        if batches.rest is not None:
            rest = batches.rest._replace(state=placed(batches.rest.state))
            batches = batches._replace(rest=rest)
    of_waiting = {"state": placed(buffer.state), "items": placed(buffer.items), "due": due}
    moved = world._replace(
        buffer=buffer._replace(**of_waiting, batches=batches),
        robots=robots._replace(
            state=placed(robots.state),
            robot=placed(robots.robot),
            ends=Alarms._make(map(placed, robots.ends)),
            idle=Alarms._make(map(placed, robots.idle)),
        ),
        service=world.service._replace(
            state=placed(world.service.state),
            ends=Alarms._make(map(placed, world.service.ends)),
        ),
    )
    return moved, memory.words


class _Memory:
    """One block for several arrays and records."""

    def __init__(self, parts: list[Any]) -> None:
        self.words = np.zeros(sum(-(-part.nbytes // _WORD) for part in parts), dtype=np.int64)
        self._used = 0

    def placed(self, part: Any) -> Any:
        """An array or a record as a view of the next words, with its content."""
        words: Any = self.words
        begin = self._used * _WORD
        self._used += -(-part.nbytes // _WORD)
        if isinstance(part, np.void):
            one: Any = np.ndarray(1, part.dtype, words, begin)
            one[0] = part
            return one[0]
        moved = np.ndarray(part.shape, part.dtype, words, begin).view(type(part))
        moved[...] = part
        return moved


@kernel
def advance_paths(
    world: World, memory: Any, paths: Paths, change: Any, query: Any, delivery: Any, service: Any
) -> bool:
    """Go on until no path is left (True), or until a block may be used up or for a pause."""
    world = in_place(world)
    if not world.run.begun:
        world.run.begun = True
        begin_accesses(world, world.frontier, delivery)
    return go_on(world, memory, paths, change, query, delivery, service)


@loop
def go_on(
    world: World, memory: Any, paths: Paths, change: Any, query: Any, delivery: Any, service: Any
) -> bool:
    """The loop of `advance_paths`."""
    state = paths.state
    buffer = world.buffer
    for _ in range(PAUSE):
        if not has_numbers(world):
            return False
        now, rank = next_event(world)
        if rank == rules.HORIZON:
            if not go_back_from_horizon(memory, paths):
                return True
            continue
        delivered = buffer.state.delivered
        lost = lost_so_far(world)
        happen(world, change, query, delivery, service, now, rank)
        state.events += 1
        if rank == rules.WARMUP:
            state.counting = True
        elif state.counting:
            paths.delivered[state.depth] += buffer.state.delivered - delivered
            paths.lost[state.depth] += lost_so_far(world) - lost
        if state.counting:
            follow_level(world, memory, paths)
    return False


@inner
def lost_so_far(world: World) -> int:
    """Pages refused or pushed out."""
    return world.buffer.state.refused + world.buffer.ended[rules.PUSHED_OUT]


@inner
def follow_level(world: World, memory: Any, paths: Paths) -> None:
    """The level may have climbed to thresholds, or fallen below some."""
    state = paths.state
    level = world.buffer.state.level
    while state.depth < len(paths.thresholds) and level >= paths.thresholds[state.depth]:
        keep(memory, paths, state.depth)
        state.depth += 1
        paths.climbs[state.depth] += 1
    while state.depth > 0 and level < paths.thresholds[state.depth - 1]:
        if paths.left[state.depth - 1] > 0:
            take_back(memory, paths, state.depth - 1)
            level = paths.thresholds[state.depth - 1]
        else:
            state.depth -= 1


@inner
def keep(memory: Any, paths: Paths, climb: int) -> None:
    """The state at a climb is kept, where more than one path is to start there."""
    paths.left[climb] = paths.copies[climb] - 1
    if paths.left[climb] > 0:
        for word in range(len(memory)):
            paths.kept[climb, word] = memory[word]


@inner
def take_back(memory: Any, paths: Paths, climb: int) -> None:
    """Another path starts at a climb."""
    paths.left[climb] -= 1
    for word in range(len(memory)):
        memory[word] = paths.kept[climb, word]


@inner
def go_back_from_horizon(memory: Any, paths: Paths) -> bool:
    """The path that starts at the last climb with paths left; False where there is none."""
    state = paths.state
    while state.depth > 0:
        if paths.left[state.depth - 1] > 0:
            take_back(memory, paths, state.depth - 1)
            return True
        state.depth -= 1
    return False
