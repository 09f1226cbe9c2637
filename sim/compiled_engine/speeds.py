"""When something ends whose speed may change, as compiled code: `sim.speeds`.

numba leaves out what follows a return for None: where nothing changes, all this takes no time, not
even to compile.
"""

from __future__ import annotations

from sim import speeds
from sim.compiled_engine.jit import inner, let_kernels_call
from sim.compiled_engine.world import Course

let_kernels_call(speeds)
end_of_work = inner(speeds.end_of_work)
piece_at = inner(speeds.piece_at)


@inner
def state_of_environment(course: Course | None, now: float) -> int:
    """The state of the environment; 0 where there is none."""
    if course is None or len(course.states) == 0:
        return 0
    return course.states[piece_at(course.access, now)]


@inner
def end_of_access(course: Course | None, now: float, time: float) -> float:
    """When an access that starts now ends, or what else the robots' speed stretches."""
    if course is None:
        return now + time
    return end_of_work(course.access, now, time)


@inner
def end_of_service(course: Course | None, now: float, time: float) -> float:
    """When a service that starts now ends."""
    if course is None:
        return now + time
    return end_of_work(course.service, now, time)


@inner
def next_change(course: Course | None, now: float, time: float) -> float:
    """When a page changes next."""
    if course is None:
        return now + time
    return end_of_work(course.change, now, time)


@inner
def next_query(course: Course | None, now: float, time: float) -> float:
    """When the next query comes."""
    if course is None:
        return now + time
    return end_of_work(course.query, now, time)
