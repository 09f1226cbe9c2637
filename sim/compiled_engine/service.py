"""Times taken from their blocks, and the services that go on, as compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim import rules
from sim.compiled_engine.alarms import set_alarm
from sim.compiled_engine.jit import inner
from sim.compiled_engine.speeds import end_of_service
from sim.compiled_engine.times import take
from sim.compiled_engine.world import Buffer, Service, World

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
        end = end_of_service(world.course, now, service.time_of_page[page])
        set_alarm(service.ends, server, end)
        return
    if not service.tracked:
        end = end_of_service(world.course, now, take(world.indexing, SERVICE))
        set_alarm(service.ends, server, end)
        return
    state.begin = now
    state.elapsed = 0.0
    state.last = False
    state.phase = rules.pick(service.start, stream.random())
    stay(world, stream)
    current_phase(world, stream, now)  # one that takes no time is over


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
