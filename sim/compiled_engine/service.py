"""Times taken from their blocks, and the services that go on, as compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim import indexings, rules
from sim.compiled_engine.alarms import set_alarm
from sim.compiled_engine.jit import inner, let_kernels_call, loop
from sim.compiled_engine.speeds import end_of_service
from sim.compiled_engine.times import take
from sim.compiled_engine.world import Buffer, Course, Service, World
from sim.indexings import AS_IT_WAS, Indexings
from sim.speeds import NEVER

let_kernels_call(indexings)
begin_indexing = inner(indexings.begin_indexing)
end_indexing = inner(indexings.end_indexing)
end_from_now = inner(indexings.end_from_now)
let_work = inner(indexings.let_work)

SERVICE, TIMER, PER_PAGE = range(3)
"""Rows of the times that the indexing engine takes."""


@inner
def free_server(service: Service) -> int:
    """The first server without a page; there must be one."""
    server = 0
    while service.ends.time[server] < np.inf:
        server += 1
    return server


@inner
def slot_of_server(buffer: Buffer, server: int) -> int:
    """Where the page is that a server serves: after all that wait."""
    return len(buffer.items) - buffer.fixed.servers + server


@inner
def start_service(world: World, stream: Any, now: float, server: int) -> None:
    """A service starts; `stream` is drawn from only where its phase is asked for."""
    service = world.service
    state = service.state
    if len(service.time_of_page) > 0:
        page = world.buffer.items[slot_of_server(world.buffer, server)].page
        go_through(world, world.course, now, server, service.time_of_page[page])
        return
    if not service.tracked:
        go_through(world, world.course, now, server, take(world.indexing, SERVICE))
        return
    state.begin = now
    state.elapsed = 0.0
    state.last = False
    state.phase = rules.pick(service.start, stream.random())
    stay(world, stream)
    current_phase(world, stream, now)  # one that takes no time is over


@inner
def go_through(world: World, course: Course | None, now: float, server: int, time: float) -> None:
    """A service of this length starts, which may have to wait until its indexer may work."""
    set_alarm(world.service.ends, server, end_of_service(course, now, time))
    if course is None:
        return
    wait_for_turn(world, course, course.indexings, now, server, time)


# numba leaves out what follows a return for None: where all indexers may always work, it takes no
# time, not even to compile.


@inner
def wait_for_turn(
    world: World,
    course: Course,
    indexings: Indexings | None,
    now: float,
    server: int,
    time: float,
) -> None:
    """The same where some may not work."""
    if indexings is None:
        return
    begin_indexing(indexings, server, time)
    set_alarm(world.service.ends, server, NEVER)
    go_on_or_stop(world, course, indexings, now)


@inner
def let_others_go_on(world: World, course: Course | None, now: float, server: int) -> None:
    """A page is indexed: another indexer may work, where some had to stop."""
    if course is None:
        return
    end_turn(world, course, course.indexings, now, server)


@inner
def end_turn(
    world: World, course: Course, indexings: Indexings | None, now: float, server: int
) -> None:
    """The same where some may not work."""
    if indexings is None:
        return
    end_indexing(indexings, server)
    go_on_or_stop(world, course, indexings, now)


@inner
def limit_indexers(world: World, course: Course, indexings: Indexings | None, now: float) -> None:
    """From now on another number of indexers may work."""
    if indexings is None:
        return
    let_work(indexings, course.indexers[course.state.changed])
    go_on_or_stop(world, course, indexings, now)


@loop
def go_on_or_stop(world: World, course: Course, indexings: Indexings, now: float) -> None:
    """Some services go on from now, others stop."""
    for server in range(len(indexings.begun)):
        end = end_from_now(indexings, course.service, now, server)
        if end != AS_IT_WAS:
            set_alarm(world.service.ends, server, end)


@inner
def stay(world: World, stream: Any) -> None:
    """Draw how long the present phase lasts."""
    service = world.service
    state = service.state
    state.elapsed += rules.draw_exponential(stream, service.means[state.phase])
    set_alarm(service.ends, 0, end_of_service(world.course, state.begin, state.elapsed))


@inner
def is_over(world: World, stream: Any) -> bool:
    """Whether the end of the present phase is the end of the service; if not, the next begins."""
    service = world.service
    state = service.state
    if not state.last:
        following = rules.pick(service.jumps[state.phase], stream.random())
        if following < len(service.means):
            state.phase = following
            stay(world, stream)
        else:
            state.last = True
    return state.last


@inner
def current_phase(world: World, stream: Any, now: float) -> int:
    """The phase of the service at this moment; one that ends now is over."""
    state = world.service.state
    while not state.last and world.service.ends.time[0] <= now:
        is_over(world, stream)
    return state.phase
