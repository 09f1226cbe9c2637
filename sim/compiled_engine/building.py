"""From a scenario to the arrays of one replication, as they are at time 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from scenarios import Scenario
from scenarios.activation import Free, Switching
from scenarios.choices import choices_of, class_sizes, steps_of
from scenarios.deliveries import joint_size, modes_of
from scenarios.fleet import class_of_each
from scenarios.law_points import LawPoints
from scenarios.laws import Distribution, Exponential, Uniform
from scenarios.model import Batch, Hysteresis, Never, Queue, QueueDiscipline, present
from scenarios.model import Rest as RestOfModel
from scenarios.page_data import host_spacings, page_service_times
from scenarios.page_groups import only_sums
from scenarios.sections import PageSize
from scenarios.sections import Robots as RobotsSection
from sim import rules
from sim.compiled_engine.alarms import new_alarms, new_timers
from sim.compiled_engine.frontier import Frontier, new_frontier
from sim.compiled_engine.host_spacing import Hosts, new_hosts
from sim.compiled_engine.kept_times import new_kept_times
from sim.compiled_engine.orbit import new_orbit
from sim.compiled_engine.records import record, record_type, records
from sim.compiled_engine.service import PER_PAGE
from sim.compiled_engine.world import (
    DUE,
    FREE,
    JOINT,
    NONE,
    POLITE,
    STARTED,
    SWITCHED,
    Batches,
    Buffer,
    Clients,
    Course,
    Laws,
    Orbit,
    PageClasses,
    Pages,
    Rest,
    Robots,
    Service,
    Thresholds,
)
from sim.draws import stationary_phases
from sim.engine_inputs import (
    buffer_flags,
    counts_found,
    due_after,
    due_rules,
    end_of_run,
    fates_that_occur,
    horizon_octave,
    joint_events,
    keeps_delays,
    keeps_refresh_times,
    limits_over_time,
    mean_times,
    modes_in_use,
    over_time,
    pages_followed,
    pages_of_frontier,
    query_sums,
    robots_at_levels,
    robots_may_wait,
    robots_when_empty,
    service_by_phase,
    share_of_time,
    silent_rates,
    some_indexers_stop,
    times_to_observe,
    told_apart,
    top_level,
)
from sim.indexings import Indexings, no_indexings
from sim.law_counter import table_of
from sim.laws.phase_type import parameters
from sim.speeds import Speed, speed_over_time

_REFRESHED = [
    ("stale_from", np.float64),
    ("mean_change", np.float64),
    ("stale_time", np.float64),
    ("deliveries", np.int64),
    ("refreshes", np.int64),
]
_REFRESHED_PAGE = record_type(_REFRESHED)
"""A page whose copies go straight to the index, one after the other."""

_PAGE = record_type([*_REFRESHED, ("next_change", np.float64), ("newest", np.int64)])

_UNSEEN = record_type([("since", np.float64), ("time", np.float64)])

_UNCOMMITTED = record_type(
    [("until", np.float64), ("stale_from", np.float64), ("delivered", np.float64)]
)

_FETCHED = record_type([("stale_from", np.float64), ("found", np.int64)])

_AGE = record_type([("delivered", np.float64), ("since", np.float64), ("time", np.float64)])

_ROBOT = record_type(
    [
        ("carried", np.int64),
        ("failures", np.int64),
        ("place", np.int64),
        ("group", np.int64),
        ("starting", np.bool_),
    ],
    align=True,
)

_ITEM = record_type(
    [
        ("entered", np.float64),
        ("delivered", np.float64),
        ("stale_from", np.float64),
        ("page", np.int64),
        ("number", np.int64),
        ("sequence", np.int64),
        ("older", np.int64),
        ("newer", np.int64),
    ]
)


_UNIFORM = Uniform(low=0.0, high=1.0)

_NO_QUEUE = Queue(1, 0, "partial", QueueDiscipline(), Exponential(mean=1.0), Never())
"""Whose rules nobody asks for."""


def largest_batch(robots: RobotsSection | None) -> int:
    """The most pages that are delivered at once."""
    if robots is None or robots.deliveries is None:
        return 1
    return joint_size(robots.deliveries)[1]


class Parts(NamedTuple):
    """What the worlds of all replications of a scenario begin with; attributes as in `World`."""

    run: Any
    service: Service
    buffer: Buffer
    robots: Robots
    hosts: Hosts
    clients: Clients
    course: Course | None
    frontier: Frontier | None


def new_parts(scenario: Scenario, heard: Mapping[int, int], points: LawPoints | None) -> Parts:
    """All of them at time 0.

    Parameters
    ----------
    scenario : Scenario
    heard : mapping of int to int
        Robots that are ever heard, with their places in the order of activation.
    points : LawPoints or None
        Where distributions are to be compared.
    """
    run = scenario.run
    return Parts(
        run=record(warmup=run.warmup, horizon=end_of_run(scenario), begun=False, age_at_end=0.0),
        service=_service(scenario),
        buffer=_buffer(scenario, points),
        robots=_robots(scenario, heard),
        hosts=_hosts(scenario),
        clients=_clients(scenario),
        course=_course(scenario),
        frontier=_frontier(scenario, len(heard)),
    )


def copied(parts: Any) -> Any:
    """A copy of nested named tuples down to their arrays and records."""
    if isinstance(parts, tuple):
        return type(parts)._make(map(copied, parts))  # type: ignore[attr-defined]  # all of them have names
    return parts.copy() if isinstance(parts, np.ndarray | np.void) else parts


def _frontier(scenario: Scenario, robots: int) -> Frontier | None:
    """Before any page is due; None where pages do not fall due."""
    if scenario.model.frontier is None or scenario.model.pages is None:
        return None
    return new_frontier(
        due_rules(scenario),
        due_after(scenario.model.frontier.policy, scenario.model.pages),
        scenario.model.pages.priorities,
        pages_of_frontier(scenario),
        robots,
        keeps_delays(scenario),
    )


def _service(scenario: Scenario) -> Service:
    servers = scenario.model.queue.servers if scenario.model.queue else 1
    state = record(begin=0.0, elapsed=0.0, phase=0, last=False)
    start, means, jumps = np.zeros(0), np.zeros(0), np.zeros((0, 0))
    phases = service_by_phase(scenario)
    if phases is not None:
        start, means, jumps = map(np.array, parameters(phases))
    of_pages = _service_times_of_pages(scenario)
    tracked = phases is not None
    return Service(new_alarms(servers), state, tracked, start, means, jumps, of_pages)


def _service_times_of_pages(scenario: Scenario) -> Any:
    """How long the indexing of each page takes; no entries where the time is drawn."""
    service = scenario.model.queue.service if scenario.model.queue else None
    if not isinstance(service, PageSize) or scenario.model.pages is None:
        return np.zeros(0)
    return np.array(page_service_times(service, scenario.model.pages))


def _buffer(scenario: Scenario, points: LawPoints | None) -> Buffer:
    queue = scenario.model.queue
    top = top_level(scenario) if queue else 0
    servers = queue.servers if queue else 1
    batch = queue.gathers if queue else None
    places = max(top - servers, 1)
    if batch is not None:
        servers, places = servers * batch.most, top
    items = records(places + servers, _ITEM)
    items.newer = np.arange(1, places + servers + 1)
    items.newer[places - 1 :] = NONE
    replaces = queue is not None and queue.discipline.replaces
    pages = scenario.model.pages.count if replaces and scenario.model.pages else 0
    return Buffer(
        fixed=_buffer_rules(scenario),
        state=_empty_buffer(),
        items=items,
        due=new_timers(places),
        slot_of=np.full(pages, NONE),
        load=records(largest_batch(scenario.robots), _ITEM),
        level_time=np.zeros(top + 1),
        ended=np.zeros(4, dtype=np.int64),
        sojourn=np.zeros(4),
        square=np.zeros(4),
        times=np.zeros((fates_that_occur(queue) if queue else 0, rules.TIME_BINS), dtype=np.int64),
        laws=None if points is None else _laws(points, top),
        batches=None if queue is None or batch is None else _batches(queue, batch),
        classes=_classes(scenario, places + servers),
        orbit=None if queue is None or queue.retrial is None else _orbit(scenario, queue),
    )


def _orbit(scenario: Scenario, queue: Queue) -> Orbit:
    given = present(queue.retrial)
    return new_orbit(row_of(queue, "retrial"), given.most, largest_batch(scenario.robots), _ITEM)


def _classes(scenario: Scenario, slots: int) -> PageClasses | None:
    queue, pages = scenario.model.queue, scenario.model.pages
    if queue is None or queue.classes is None:
        return None
    given = queue.classes
    return PageClasses(
        numbers=row_of(queue, "class"),
        of_page=np.array(pages.classes if pages else (), dtype=np.int64),
        cumulative=np.array(rules.cumulative(given.shares) if given.shares else ()),
        of_slot=np.zeros(slots, dtype=np.int64),
        last=np.full(given.count, NONE),
        refused=np.zeros(given.count, dtype=np.int64),
        ended=np.zeros((given.count, 4), dtype=np.int64),
        sojourn=np.zeros((given.count, 4)),
        square=np.zeros((given.count, 4)),
    )


def other_laws(queue: Queue) -> dict[str, Distribution | None]:
    """What is drawn for the queue beside services and timers, by its source; None: nothing."""
    rest, retrial = queue.rest, queue.retrial
    return {
        "page of a batch": queue.batch.per_page if queue.batch else None,
        "class": _UNIFORM if queue.classes and queue.classes.shares else None,
        "vacation": rest.vacation if rest else None,
        "set-up": rest.set_up if rest else None,
        "retrial": Exponential(rate=retrial.rate) if retrial else None,
    }


def row_of(queue: Queue, source: str) -> int:
    """The row of the indexing times where those of a source lie; any where nothing is drawn."""
    drawn = [name for name, law in other_laws(queue).items() if law is not None]
    return PER_PAGE + (drawn.index(source) if source in drawn else 0)


def _rest(queue: Queue, rest: RestOfModel) -> Rest:
    fixed = record(
        resume_at=rest.resume_at,
        goes_away=rest.vacation is not None,
        sets_up=rest.set_up is not None,
        vacation=row_of(queue, "vacation"),
        set_up=row_of(queue, "set-up"),
    )
    return Rest(fixed, record(doing=rules.IDLE, since=0.0, resumed=0, set_up_time=0.0))


def _batches(queue: Queue, batch: Batch) -> Batches:
    return Batches(
        fixed=record(
            most=batch.most,
            least=batch.least,
            wait=batch.wait,
            per_page=batch.per_page is not None,
        ),
        state=record(busy=0, busy_time=0.0, busy_since=0.0, serving=0, ended=0, watching=NONE),
        size=np.zeros(queue.servers, dtype=np.int64),
        rest=None if queue.rest is None else _rest(queue, queue.rest),
    )


def _laws(points: LawPoints, top: int) -> Laws:
    table = table_of(points)
    return Laws(
        state=record(cycle_start=-1.0),
        points=table,
        counts=np.zeros(table.shape, dtype=np.int64),
        levels=np.zeros(top + 1, dtype=np.int64),
    )


def _empty_buffer() -> Any:
    return record(
        level=0,
        since=0.0,
        entered=0,
        oldest=NONE,
        newest=NONE,
        free=0,
        delivered=0,
        refused=0,
        inside_at_start=0,
        age_at_start=0.0,
    )


def _buffer_rules(scenario: Scenario) -> Any:
    queue = scenario.model.queue
    return record(
        exists=queue is not None,
        timers=queue is not None and queue.timer is not None,
        known_pages=queue is None or scenario.model.pages is not None,
        octave=horizon_octave(scenario),
        **buffer_flags(queue or _NO_QUEUE),
    )


def new_pages(scenario: Scenario, refreshed: bool) -> Pages:
    """The pages at time 0; `refreshed` if each copy is in the index before the next is fetched.

    There may be millions: no second copy is kept.
    """
    section = scenario.model.pages
    rates = silent_rates(scenario) if section else np.zeros(0)
    page = records(len(rates), _REFRESHED_PAGE if refreshed else _PAGE)
    page.mean_change = np.inf
    np.divide(1.0, rates, out=page.mean_change, where=rates > 0)
    if not refreshed:
        page.newest = NONE
    age = records(len(rates) if scenario.buffer else 0, _AGE)
    state = record(known=section is not None, copies=0, used=0, window_start=0.0)
    most = 2 * len(rates) + largest_batch(scenario.robots)  # with a commit, all of them
    times = new_kept_times(keeps_refresh_times(scenario), most, not only_sums(scenario))
    counted = len(rates) if section and counts_found(scenario) else 0
    fetched = records(counted, _FETCHED)
    sequence = np.zeros(0, dtype=np.int64)
    unseen = records(0 if refreshed else len(rates), _UNSEEN)
    waited = np.zeros(len(rates))
    return Pages(state, page, age, sequence, *_commits(scenario), fetched, unseen, waited, times)


def _commits(scenario: Scenario) -> tuple[Any, Any]:
    """Before the phase of the commits is drawn and any copy is indexed."""
    commits, section = scenario.model.commits, scenario.model.pages
    uncommitted = records(section.count if commits and section else 0, _UNCOMMITTED)
    uncommitted.until = np.inf
    return record(interval=commits.interval if commits else 0.0, phase=0.0), uncommitted


def _robots(scenario: Scenario, heard: Mapping[int, int]) -> Robots:
    rule = scenario.activation
    switched = isinstance(rule, Switching)
    limit = over_time(scenario, "robots")[1][0]
    fleet = len(heard)
    active_at = [0] if switched else robots_at_levels(scenario, limit)
    means = np.zeros((0, 0))
    following = np.zeros((0, 0, 0))
    joint = scenario.robots.deliveries if scenario.robots else None
    failing = scenario.model.fleet.failing if scenario.model.fleet else None
    hysteresis = scenario.model.hysteresis
    if joint is not None:
        modes = modes_of(joint, rule)
        used = [*range(len(modes))] if modes_by_number(scenario) else modes_in_use(scenario)
        means, following = _joint_tables(modes[used])
        active_at = [used.index(robots) for robots in active_at]
    table = _table(rule) if isinstance(rule, Free) else np.zeros((0, 0, 0), dtype=np.int64)
    first = int(table[0, 0, 0]) if isinstance(rule, Free) else active_at[0]
    return Robots(
        state=record(
            kind=_kind(scenario),
            active=first if modes_by_number(scenario) else fleet if switched else 0,
            passed=0,
            switched_on=0,
            failed=0,
            is_kept=modes_by_number(scenario),
            states_seen=told_apart(scenario)[0],
            phases_seen=told_apart(scenario)[1],
            active_since=0.0,
            robots_time=0.0,
            mode=first,
            phase=0,
            next_event=np.inf,
            failing=failing is not None,
            failure_probability=failing.probability if failing else 0.0,
            retries=failing.retries if failing else 0,
            drawn_at_start=failing is not None and failing.share_of_time < 1,
            share_of_time=share_of_time(scenario),
        ),
        ends=new_alarms(fleet),
        idle=new_alarms(fleet),
        robot=_each_robot(scenario, heard),
        same=np.zeros(fleet if share_of_time(scenario) < 1 else 0, dtype=np.bool_),
        active_at=np.array(active_at),
        table=table,
        **_rule_of_switching(scenario),
        means=means,
        following=following,
        thresholds=_thresholds(hysteresis, fleet * (1 + int(failing is not None))),
    )


def modes_by_number(scenario: Scenario) -> bool:
    """Whether the active robots are counted where the level alone does not say who they are.

    Joint deliveries have a mode for every number then.
    """
    return isinstance(scenario.activation, Free) or scenario.model.hysteresis is not None


def _thresholds(given: Hysteresis | None, start_up: int) -> Thresholds | None:
    if given is None:
        return None
    at, back = (np.array(each, dtype=np.int64) for each in (given.at, given.back))
    return Thresholds(at, back, start_up)


def law_of_first_phase(scenario: Scenario) -> Any:
    """That of the phase in which joint deliveries begin; None where there is nothing to draw."""
    joint = scenario.robots.deliveries if scenario.robots else None
    if joint is None:
        return None
    generator = modes_of(joint, scenario.activation)[robots_when_empty(scenario)].sum(axis=0)
    return stationary_phases(generator) if len(generator) > 1 else None


def begin_in_phase(robots: Robots, phase: int) -> None:
    """Joint deliveries begin in a phase, on which it may depend who is active."""
    robots.state.phase = phase
    if len(robots.table):
        robots.state.mode = robots.state.active = robots.table[0, phase, 0]


def _rule_of_switching(scenario: Scenario) -> dict[str, Any]:
    """What robots that are switched one at a time need; no entries for others."""
    rule = scenario.activation
    robots = scenario.robots
    targets = np.zeros((0, 0), dtype=np.int64)
    choices = np.zeros((0, 0, 0), dtype=np.int64)
    sizes: tuple[int, ...] = ()
    if isinstance(rule, Switching) and robots is not None:
        if robots.classes is not None:
            sizes = class_sizes(robots)
        if rule.choices is None:
            targets = np.array(rule.targets)
        else:
            choices = np.ascontiguousarray(choices_of(robots, rule))
    return {
        "targets": targets,
        "choices": choices,
        "active_of": np.array(sizes, dtype=np.int64),
        "time_of": np.zeros(len(sizes)),
        "first": np.cumsum([0, *sizes])[:-1].astype(np.int64),
        "steps": steps_of(sizes).astype(np.int64),
    }


def _each_robot(scenario: Scenario, heard: Mapping[int, int]) -> Any:
    robot = records(len(heard), _ROBOT)
    group = class_of_each(scenario.robots) if scenario.robots else []
    robot.group = [group[each] if group else 0 for each in heard]
    robot.carried = NONE
    robot.place = [*heard.values()]
    return robot


def _table(rule: Free) -> Any:
    """Robots by level, arrival phase and service phase; those of level 0 repeated."""
    phases = max(len(row) for level in rule.root for row in level)
    shape = (len(rule.root[0]), phases)
    return np.stack([np.broadcast_to(np.array(level), shape) for level in rule.root])


def _course(scenario: Scenario) -> Course | None:
    """What changes over time and what is observed; None where nothing does or is.

    Due pages and signals, which take longest to compile, always have one: with interventions and
    without, their code is the same.
    """
    times = times_to_observe(scenario)
    model = scenario.model
    robots = scenario.robots
    changes = scenario.interventions or (robots is not None and robots.environment is not None)
    is_plain = scenario.run.observe is None and model.frontier is None and model.hearing is None
    if is_plain and not changes:
        return None
    begins, limits, indexers = limits_over_time(scenario)
    observe = float(times[0]) if len(times) else np.inf
    change = begins[1] if len(begins) > 1 else np.inf
    rows = sorted(set(limits), key=limits.index)
    robots_at = np.array([robots_at_levels(scenario, limit) for limit in rows])
    modes = modes_in_use(scenario)
    joint = scenario.robots is not None and scenario.robots.deliveries is not None
    by_row = joint and not modes_by_number(scenario)
    switched = isinstance(scenario.activation, Switching)
    pages = pages_followed(scenario, times)
    observed = len(times) if scenario.model.frontier else 0
    return Course(
        **{part: _speed(scenario, effect) for part, effect in _SPEEDS.items()},
        states=np.zeros(0, dtype=np.int64),
        indexers=np.array(indexers),
        indexings=_indexings(scenario, indexers[0]),
        state=record(
            next=min(observe, change),
            observe=observe,
            observed=0,
            change=change,
            changed=0,
            row=0,
            robots_time=0.0,
            since=0.0,
        ),
        times=times,
        begins=np.array(begins),
        row=np.array([rows.index(limit) for limit in limits]),
        active_at=np.searchsorted(modes, robots_at) if by_row else robots_at * (not switched),
        robots_at=robots_at,
        level_time=np.zeros(robots_at.shape[1]),
        weights=scenario.model.pages.weights if scenario.model.pages else np.zeros(0),
        seen=np.zeros(rules.COUNTED, dtype=np.int64),
        seen_deliveries=np.zeros(pages, dtype=np.int64),
        level=np.zeros(len(times), dtype=np.int64),
        active=np.zeros(len(times), dtype=np.int64),
        waiting=np.zeros(observed, dtype=np.int64),
        busy=np.zeros(observed, dtype=np.int64),
        stale_weight=np.zeros(len(times)),
        counts=np.zeros((len(times), rules.COUNTED), dtype=np.int64),
        stale=np.zeros((len(times), pages), dtype=np.bool_),
        deliveries=np.zeros((len(times), pages), dtype=np.int32),
    )


def _indexings(scenario: Scenario, working: int) -> Indexings | None:
    """Those of an indexing engine at time 0; None where all indexers may always work."""
    queue = scenario.model.queue
    if queue is None or not some_indexers_stop(scenario):
        return None
    return Indexings(*map(np.array, no_indexings(queue.servers, working)))


_SPEEDS = {
    "access": "robot_speed",
    "service": "service_speed",
    "change": "change_factor",
    "query": "query_factor",
}
"""The parts of a course that are speeds, and the effects of interventions that give them."""


def _speed(scenario: Scenario, effect: str) -> Speed:
    ends, values, sums, at = speed_over_time(*over_time(scenario, effect))
    return Speed(np.array(ends), np.array(values), np.array(sums), np.array(at))


def _kind(scenario: Scenario) -> int:
    """Which kind of fleet it is."""
    if scenario.model.frontier is not None:
        return DUE
    if robots_may_wait(scenario):
        return POLITE
    if isinstance(scenario.activation, Switching):
        return SWITCHED
    hysteresis = scenario.model.hysteresis
    if hysteresis is not None and hysteresis.start_up is not None:
        return STARTED
    joint = scenario.robots is not None and scenario.robots.deliveries is not None
    return JOINT if joint else FREE


def _hosts(scenario: Scenario) -> Hosts:
    robots = scenario.robots
    pages = scenario.model.pages
    if robots is None or pages is None or robots.host_spacing is None:
        one = int(scenario.model.frontier is not None)
        return new_hosts(np.zeros(one * (pages.count if pages else 0)), np.zeros(one))
    return new_hosts(pages.hosts, host_spacings(robots, pages))


def _joint_tables(modes: Any) -> tuple[Any, Any]:
    """Mean times (nan: no event) and what follows, of all modes in use."""
    means = np.array([[np.nan if m is None else m for m in mean_times(mode)] for mode in modes])
    following = np.ones((*means.shape, modes.shape[1] * modes.shape[2]))
    for mode, matrices in enumerate(modes):
        for phase, sums in enumerate(joint_events(matrices)):
            if sums:
                following[mode, phase] = sums
    return means, following


def _clients(scenario: Scenario) -> Clients:
    rate = scenario.model.query_rate
    pages = scenario.model.pages
    mean = np.inf
    sums = np.zeros(0)
    if rate is not None and pages is not None:
        mean = 1.0 / rate
        sums = np.array(query_sums(pages))
    return Clients(record(mean_gap=mean, next=np.inf, queries=0, stale=0), sums)
