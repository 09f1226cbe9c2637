"""The indexing engine as compiled code: the events of `sim.buffer`, on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim import rules
from sim.compiled_engine.alarms import add_timer, drop_timer, set_alarm, soonest
from sim.compiled_engine.chain import (
    chain_of,
    keep_chain,
    with_newest,
    with_next_after,
    without,
)
from sim.compiled_engine.jit import at, inner
from sim.compiled_engine.orbit import end_warmup_of_orbit, free_slot, take_slot
from sim.compiled_engine.pages import index_copy
from sim.compiled_engine.service import (
    PER_PAGE,
    SERVICE,
    TIMER,
    free_server,
    let_others_go_on,
    slot_of_server,
    start_service,
)
from sim.compiled_engine.speeds import end_of_service
from sim.compiled_engine.times import take
from sim.compiled_engine.world import (
    NONE,
    Batches,
    Buffer,
    Laws,
    Orbit,
    PageClasses,
    Rest,
    Service,
    World,
)


@inner
def deliver(world: World, service: Any, now: float, pages: int) -> None:
    """The first `pages` of the load are delivered; they enter as far as the rules admit."""
    buffer = world.buffer
    buffer.state.delivered += pages
    if buffer.fixed.replace:
        for number in range(pages):
            if not replaces(world, now, number):
                admit(world, service, now, number, 1)
    else:
        admit(world, service, now, 0, pages)
    take_batches(world, buffer.batches, now)


@inner
def admit(world: World, service: Any, now: float, first: int, pages: int) -> None:
    """What becomes of a batch, or of one page of it."""
    state = world.buffer.state
    fixed = world.buffer.fixed
    taken = places_taken(world.buffer.batches, state.level)
    entering = rules.admitted(pages, taken, fixed.capacity, fixed.admission)
    count_arrivals(world.buffer.laws, state.level, pages, entering)
    if entering > 0:
        enter(world, service, now, first, entering)
    if entering < pages:
        take_batches(world, world.buffer.batches, now)
    for number in range(first + entering, first + pages):
        overflow(world, now, number)


@inner
def enter(world: World, service: Any, now: float, first: int, pages: int) -> None:
    """Pages that are admitted: some may find servers free, the others wait."""
    buffer = world.buffer
    if buffer.state.level == 0:
        count_cycle(buffer.laws, now)
    free = free_servers(buffer, buffer.batches)
    change_level(buffer, now, pages)
    for number in range(first, first + pages):
        group = class_of(world, buffer.classes, number)
        if number < first + free:
            server = free_server(world.service)
            buffer.state.entered += 1
            slot = slot_of_server(buffer, server)
            put(buffer, slot, number, now)
            keep_class(buffer.classes, slot, group)
            start_service(world, service, now, server)
        else:
            wait(world, now, number, group)


@inner
def overflow(world: World, now: float, number: int) -> None:
    """A page that finds no room: lost, or pushing out another one."""
    buffer = world.buffer
    group = class_of(world, buffer.classes, number)
    victim = pushed_out_by(buffer, buffer.classes, group)
    if victim == NONE and joins_orbit(world, buffer.orbit, now, number):
        return
    if victim == NONE:
        buffer.state.refused += 1
        count_refused(buffer.classes, group)
        return
    leave(buffer, victim)
    end_page(buffer, rules.PUSHED_OUT, now, victim)
    wait(world, now, number, group)


@inner
def joins_orbit(world: World, orbit: Orbit | None, now: float, number: int) -> bool:
    """Whether a page that finds no room is to try again."""
    if orbit is None:
        return False
    if orbit.state.inside >= orbit.most:
        return False
    slot = take_slot(orbit, now, now + take(world.indexing, orbit.row))
    if world.buffer.fixed.known_pages:
        copy_of(orbit.items[slot], world.buffer.load[number])
    return True


@inner
def comes_back(world: World, orbit: Orbit | None, service: Any, now: float) -> bool:
    """A page in orbit tries again; whether it has entered."""
    if orbit is None:
        return False
    buffer = world.buffer
    slot = soonest(orbit.alarms)
    taken = places_taken(buffer.batches, buffer.state.level)
    if rules.admitted(1, taken, buffer.fixed.capacity, buffer.fixed.admission) == 0:
        set_alarm(orbit.alarms, slot, now + take(world.indexing, orbit.row))
        return False
    if buffer.fixed.known_pages:
        copy_of(buffer.load[0], orbit.items[slot])
    free_slot(orbit, now, slot)
    enter(world, service, now, 0, 1)
    take_batches(world, buffer.batches, now)
    return True


@inner
def pushed_out_by(buffer: Buffer, classes: PageClasses | None, group: int) -> int:
    """Who makes room for a page of a class: the oldest, or the last in line; NONE: nobody."""
    if classes is None:
        return buffer.state.oldest if buffer.fixed.push_out else NONE
    last = buffer.state.newest
    if not buffer.fixed.push_out_last or last == NONE:
        return NONE
    return last if rules.pushes_out_by_class(group, classes.of_slot[last]) else NONE


@inner
def replaces(world: World, now: float, number: int) -> bool:
    """A newer copy takes the place of its own waiting older copy, if there is one."""
    buffer = world.buffer
    slot = buffer.slot_of[buffer.load[number].page]
    if slot == NONE:
        return False
    count_arrivals(buffer.laws, buffer.state.level, 1, 0)
    end_page(buffer, rules.REPLACED, now, slot)
    put(buffer, slot, number, now)
    stop_timer(buffer, slot)
    start_timer(world, slot, now)
    return True


@inner
def put(buffer: Buffer, slot: int, number: int, now: float) -> None:
    """Write a delivered copy into a slot."""
    item = buffer.items[slot]
    item.entered = now
    if buffer.fixed.known_pages:
        copy_of(item, buffer.load[number])


@inner
def copy_of(item: Any, load: Any) -> None:
    """The copy of a page, from one record to another."""
    item.page = load.page
    item.number = load.number
    item.delivered = load.delivered
    item.stale_from = load.stale_from


@inner
def wait(world: World, now: float, number: int, group: int) -> None:
    """A page takes the last place in the queue, or the last one of its class."""
    buffer = world.buffer
    state = buffer.state
    items = buffer.items
    slot = state.free
    line_up(buffer, buffer.classes, slot, group)
    put(buffer, slot, number, now)
    items[slot].sequence = state.entered
    state.entered += 1
    if buffer.fixed.replace:
        buffer.slot_of[items[slot].page] = slot
    start_timer(world, slot, now)


@inner
def start_timer(world: World, slot: int, now: float) -> None:
    """The obsolescence timer of a waiting page."""
    buffer = world.buffer
    sequence = buffer.items[slot].sequence
    if buffer.fixed.timers:
        add_timer(buffer.due, slot, sequence, now + take(world.indexing, TIMER))
    elif buffer.fixed.page_change:
        add_timer(buffer.due, slot, sequence, buffer.items[slot].stale_from)


@inner
def stop_timer(buffer: Buffer, slot: int) -> None:
    """The timer of a page that waits no longer means nothing."""
    if buffer.fixed.timers or buffer.fixed.page_change:
        drop_timer(buffer.due, slot)


@inner
def leave(buffer: Buffer, slot: int) -> None:
    """A page waits no longer; what its slot says stays to be read."""
    state = buffer.state
    items = buffer.items
    leave_class(items, buffer.classes, slot)
    keep_chain(state, without(items, chain_of(state), at(slot)))
    if buffer.fixed.replace:
        buffer.slot_of[items[slot].page] = NONE
    stop_timer(buffer, slot)


@inner
def expire(world: World, now: float, slot: int) -> None:
    """A waiting page becomes obsolete."""
    buffer = world.buffer
    leave(buffer, slot)
    end_page(buffer, rules.OBSOLETE, now, slot)
    change_level(buffer, now, -1)
    take_batches(world, buffer.batches, now)


@inner
def complete_service(world: World, batches: Batches | None, service: Any, now: float) -> bool:
    """A page is indexed, and the next one's service starts; False: it was no service that ended."""
    if batches is not None:
        return complete_batch(world, batches, now)
    buffer = world.buffer
    state = buffer.state
    items = buffer.items
    server = soonest(world.service.ends)
    own = slot_of_server(buffer, server)
    served = items[own]
    end_page(buffer, rules.SERVED, now, own)
    if world.pages.state.known:
        index_copy(world.pages, now, served)
    change_level(buffer, now, -1)
    let_others_go_on(world, world.course, now, server)
    if state.oldest == NONE:
        set_alarm(world.service.ends, server, np.inf)
    else:
        slot = rules.next_in_line(buffer.fixed.order, state.oldest, state.newest)
        leave(buffer, slot)
        following = items[slot]
        served.entered = following.entered
        move_class(buffer.classes, slot, own)
        if buffer.fixed.known_pages:
            copy_of(served, following)
        start_service(world, service, now, server)
    return True


# numba leaves out what follows a return for None: where servers take one page at a time, batches
# take no time, not even to compile.


@inner
def places_taken(batches: Batches | None, level: int) -> int:
    """Places, those of the servers included, that a new page cannot have."""
    if batches is None:
        return level
    state = batches.state
    return rules.places_taken(level - state.serving, state.busy, batches.fixed.most)


@inner
def free_servers(buffer: Buffer, batches: Batches | None) -> int:
    """Servers at which new pages start at once."""
    if batches is None:
        return buffer.fixed.servers - buffer.state.level
    return 0


@inner
def take_batches(world: World, batches: Batches | None, now: float) -> None:
    """Free servers take batches, unless they rest."""
    if batches is None:
        return
    perhaps_take(world, batches, batches.rest, now)


@inner
def perhaps_take(world: World, batches: Batches, rest: Rest | None, now: float) -> None:
    """The same; an indexer that rests looks at what waits where nothing holds it."""
    if rest is None:
        start_batches(world, batches, now)
        return
    is_there = rest.state.doing == rules.IDLE or rest.state.doing == rules.AT_WORK
    if batches.state.busy == 0 and is_there:
        go_on(world, batches, rest, now)


@inner
def go_on(world: World, batches: Batches, rest: Rest, now: float) -> None:
    """A service, a set-up or a vacation has ended, or pages came to an idle indexer."""
    fixed = rest.fixed
    waiting = world.buffer.state.level - batches.state.serving
    given = rest.state.doing, waiting, fixed.resume_at, fixed.goes_away, fixed.sets_up
    doing = rules.after_rest(*given)
    change_doing(rest, now, doing)
    if doing == rules.AT_WORK:
        start_batches(world, batches, now)
    elif doing == rules.AWAY:
        set_alarm(world.service.ends, 0, now + take(world.indexing, fixed.vacation))
    elif doing == rules.SETTING_UP:
        length = take(world.indexing, fixed.set_up)
        set_alarm(world.service.ends, 0, end_of_service(world.course, now, length))


@inner
def end_rest(world: World, batches: Batches, rest: Rest | None, now: float) -> None:
    """A vacation or a set-up has ended."""
    if rest is None:
        return
    set_alarm(world.service.ends, 0, np.inf)
    go_on(world, batches, rest, now)


@inner
def change_doing(rest: Rest, now: float, doing: int) -> None:
    """Close the time of a set-up that goes on, then do something else."""
    state = rest.state
    if state.doing == rules.SETTING_UP:
        state.set_up_time += now - state.since
    state.since = now
    state.resumed += rules.resumes(state.doing, doing)
    state.doing = doing


@inner
def close_rest(batches: Batches | None, now: float) -> None:
    """Close the time of a set-up that goes on."""
    if batches is None:
        return
    close_set_up(batches.rest, now)


@inner
def close_set_up(rest: Rest | None, now: float) -> None:
    """The same, where the indexer rests."""
    if rest is None:
        return
    change_doing(rest, now, rest.state.doing)


@inner
def start_batches(world: World, batches: Batches, now: float) -> None:
    """Free servers take batches; the first that is left goes by how long the oldest page waits."""
    buffer = world.buffer
    fixed = batches.fixed
    state = batches.state
    if state.watching != NONE:
        set_alarm(world.service.ends, state.watching, np.inf)
        state.watching = NONE
    while state.busy < buffer.fixed.servers and buffer.state.oldest != NONE:
        server = 0
        while batches.size[server] > 0:
            server += 1
        waiting = buffer.state.level - state.serving
        due = buffer.items[buffer.state.oldest].entered + fixed.wait
        size = rules.batch_size(waiting, fixed.most, fixed.least, now >= due)
        if size == 0:
            set_alarm(world.service.ends, server, due)
            state.watching = server
            return
        start_batch(world, batches, now, server, size)


@inner
def start_batch(world: World, batches: Batches, now: float, server: int, size: int) -> None:
    """The service of so many pages starts, those of the queue that are next."""
    buffer = world.buffer
    length = take(world.indexing, SERVICE)
    for number in range(size):
        slot = rules.next_in_line(buffer.fixed.order, buffer.state.oldest, buffer.state.newest)
        leave(buffer, slot)
        own = slot_of_batch(buffer, batches, server) + number
        item = buffer.items[own]
        item.entered = buffer.items[slot].entered
        move_class(buffer.classes, slot, own)
        if buffer.fixed.known_pages:
            copy_of(item, buffer.items[slot])
        if batches.fixed.per_page:
            length += take(world.indexing, PER_PAGE)
    batches.size[server] = size
    batches.state.serving += size
    change_busy(batches, now, 1)
    set_alarm(world.service.ends, server, end_of_service(world.course, now, length))


@inner
def slot_of_batch(buffer: Buffer, batches: Batches, server: int) -> int:
    """Where the pages begin that a server serves: after all that wait."""
    return len(buffer.items) - (buffer.fixed.servers - server) * batches.fixed.most


@inner
def complete_batch(world: World, batches: Batches, now: float) -> bool:
    """All pages of a batch are indexed, or the oldest waiting page has waited long enough."""
    buffer = world.buffer
    server = soonest(world.service.ends)
    size = batches.size[server]
    if size > 0:
        for number in range(size):
            own = slot_of_batch(buffer, batches, server) + number
            served = buffer.items[own]
            end_page(buffer, rules.SERVED, now, own)
            if world.pages.state.known:
                index_copy(world.pages, now, served)
        set_alarm(world.service.ends, server, np.inf)
        batches.size[server] = 0
        batches.state.serving -= size
        batches.state.ended += 1
        change_busy(batches, now, -1)
        change_level(buffer, now, -size)
    else:
        end_rest(world, batches, batches.rest, now)
    take_batches(world, batches, now)
    return size > 0


@inner
def change_busy(batches: Batches | None, now: float, step: int) -> None:
    """Close the time with the present number of busy servers, then change it."""
    if batches is None:
        return
    state = batches.state
    state.busy_time += state.busy * (now - state.busy_since)
    state.busy_since = now
    state.busy += step


@inner
def end_warmup_of_batches(batches: Batches | None, now: float) -> None:
    """Forget what was counted so far: the warm-up is over."""
    if batches is None:
        return
    batches.state.ended = 0
    batches.state.busy_time = 0.0
    batches.state.busy_since = now
    end_warmup_of_rest(batches.rest, now)


@inner
def end_warmup_of_rest(rest: Rest | None, now: float) -> None:
    """The same, where the indexer rests."""
    if rest is None:
        return
    rest.state.resumed = 0
    rest.state.set_up_time = 0.0
    rest.state.since = now


@inner
def change_level(buffer: Buffer, now: float, step: int) -> None:
    """Close the time at the present level, then change it."""
    state = buffer.state
    buffer.level_time[state.level] += now - state.since
    state.since = now
    state.level += step


@inner
def end_page(buffer: Buffer, fate: int, now: float, slot: int) -> None:
    """Count a page that ends, also among those of its class."""
    sojourn = now - buffer.items[slot].entered
    end(buffer, fate, sojourn)
    count_class(buffer.classes, slot, fate, sojourn)


@inner
def end(buffer: Buffer, fate: int, sojourn: float) -> None:
    """Count a page that ends."""
    buffer.ended[fate] += 1
    buffer.sojourn[fate] += sojourn
    buffer.square[fate] += sojourn * sojourn
    buffer.times[fate, at(rules.time_bin(sojourn, buffer.fixed.octave))] += 1
    count_time(buffer.laws, fate, sojourn)


# numba leaves out what follows a return for None: where nothing is counted, the counting takes no
# time, not even to compile.


@inner
def class_of(world: World, classes: PageClasses | None, number: int) -> int:
    """The class of a page of the load that is delivered."""
    if classes is None:
        return 0
    if len(classes.cumulative) > 0:
        return rules.pick(classes.cumulative, take(world.indexing, classes.numbers))
    return classes.of_page[world.buffer.load[number].page]


@inner
def keep_class(classes: PageClasses | None, slot: int, group: int) -> None:
    """The page in a slot is of a class."""
    if classes is None:
        return
    classes.of_slot[slot] = group


@inner
def move_class(classes: PageClasses | None, slot: int, other: int) -> None:
    """The page of a slot goes to another one."""
    if classes is None:
        return
    classes.of_slot[other] = classes.of_slot[slot]


@inner
def line_up(buffer: Buffer, classes: PageClasses | None, slot: int, group: int) -> None:
    """The first free slot takes the last place in the queue, or the last one of its class."""
    state = buffer.state
    if classes is None:
        keep_chain(state, with_newest(buffer.items, chain_of(state)))
        return
    ahead = NONE
    for other in range(group + 1):
        if classes.last[other] != NONE:
            ahead = classes.last[other]
    keep_chain(state, with_next_after(buffer.items, chain_of(state), at(ahead)))
    classes.of_slot[slot] = group
    classes.last[group] = slot


@inner
def leave_class(items: Any, classes: PageClasses | None, slot: int) -> None:
    """A page, which is still in the queue, waits no longer."""
    if classes is None:
        return
    group = classes.of_slot[slot]
    if classes.last[group] == slot:
        older = items[slot].older
        is_alike = older != NONE and classes.of_slot[older] == group
        classes.last[group] = older if is_alike else NONE


@inner
def count_refused(classes: PageClasses | None, group: int) -> None:
    """A page of a class does not enter."""
    if classes is None:
        return
    classes.refused[group] += 1


@inner
def count_class(classes: PageClasses | None, slot: int, fate: int, sojourn: float) -> None:
    """A page of the class of a slot has ended."""
    if classes is None:
        return
    group = classes.of_slot[slot]
    classes.ended[group, fate] += 1
    classes.sojourn[group, fate] += sojourn
    classes.square[group, fate] += sojourn * sojourn


@inner
def cut_classes(classes: PageClasses | None) -> None:
    """Forget what was counted so far: the warm-up is over."""
    if classes is None:
        return
    classes.refused[:] = 0
    classes.ended[:] = 0
    classes.sojourn[:] = 0.0
    classes.square[:] = 0.0


@inner
def count_time(laws: Laws | None, row: int, time: float) -> None:
    """A page has met a fate after some time, or a cycle has ended."""
    if laws is None:
        return
    laws.counts[row, rules.pick_of_many(laws.points[row], time)] += 1


@inner
def count_arrivals(laws: Laws | None, level: int, pages: int, entering: int) -> None:
    """Pages are delivered to a level, and the first of them enter."""
    if laws is None:
        return
    for number in range(pages):
        laws.levels[level + min(number, entering)] += 1


@inner
def count_cycle(laws: Laws | None, now: float) -> None:
    """The system ceases to be empty."""
    if laws is None:
        return
    if laws.state.cycle_start >= 0:
        count_time(laws, rules.CYCLE, now - laws.state.cycle_start)
    laws.state.cycle_start = now


@inner
def cut_laws(laws: Laws | None) -> None:
    """Forget what was counted so far, but not when the present cycle began."""
    if laws is None:
        return
    laws.counts[:] = 0
    laws.levels[:] = 0


@inner
def total_age(buffer: Buffer, service: Service, now: float) -> float:
    """Time since entry, summed over the pages in the system."""
    items = buffer.items
    total = 0.0
    for server in range(buffer.fixed.servers):
        total = age_in_service(buffer, buffer.batches, service, now, server, total)
    slot = buffer.state.oldest
    while slot != NONE:
        total += now - items[slot].entered
        slot = items[slot].newer
    return total


@inner
def age_in_service(
    buffer: Buffer,
    batches: Batches | None,
    service: Service,
    now: float,
    server: int,
    total: float,
) -> float:
    """A sum of ages with those of the pages of a server."""
    if batches is not None:
        for number in range(batches.size[server]):
            total += now - buffer.items[slot_of_batch(buffer, batches, server) + number].entered
    elif service.ends.time[server] < np.inf:
        total += now - buffer.items[slot_of_server(buffer, server)].entered
    return total


@inner
def end_warmup_of_buffer(buffer: Buffer, service: Service, now: float) -> None:
    """Forget what was counted so far: the warm-up is over."""
    state = buffer.state
    state.delivered = 0
    state.refused = 0
    buffer.ended[:] = 0
    buffer.sojourn[:] = 0.0
    buffer.square[:] = 0.0
    buffer.times[:] = 0
    buffer.level_time[:] = 0.0
    cut_laws(buffer.laws)
    cut_classes(buffer.classes)
    end_warmup_of_batches(buffer.batches, now)
    end_warmup_of_orbit(buffer.orbit, now)
    state.since = now
    state.inside_at_start = state.level
    state.age_at_start = total_age(buffer, service, now)
