"""The state of one replication as arrays: what the compiled events read and write."""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.compiled_engine.alarms import Alarms, Timers
from sim.compiled_engine.frontier import Frontier
from sim.compiled_engine.host_spacing import Hosts
from sim.compiled_engine.kept_times import KeptTimes
from sim.compiled_engine.signals import Signals
from sim.compiled_engine.times import Times
from sim.indexings import Indexings
from sim.speeds import Speed

NONE = -1
"""No slot, no page."""

FREE, SWITCHED, JOINT, POLITE, DUE, STARTED = range(6)
"""Kinds of fleets, as the classes of `sim.robots`."""


class Service(NamedTuple):
    """The services that go on.

    Attributes
    ----------
    ends : Alarms
        When the service of each server ends, inf if there is none; of one that waits for a batch,
        when the oldest page has waited long enough. Where switching asks for the
        phase, which takes a single server, this is the end of the present phase.
    state : record
        Of that service: its `phase`, when it began (`begin`), what its phases took so far
        (`elapsed`), and whether no phase follows (`last`).
    tracked : bool
        Whether the phase is asked for.
    start, means, jumps : ndarray
        As in `sim.laws.phase_type.draw`.
    time_of_page : ndarray of float, shape (pages,)
        How long the service of each page takes; no entries where that does not depend on the page.
    """

    ends: Alarms
    state: Any
    tracked: bool
    start: Any
    means: Any
    jumps: Any
    time_of_page: Any


class Laws(NamedTuple):
    """Counts for the comparison of distributions, as in `sim.law_counter`.

    Attributes
    ----------
    state : record
        `cycle_start`: when the present cycle began, -1 before the first one.
    points : ndarray of float, shape (rows, points + 1)
    counts : ndarray of int, shape (rows, points + 1)
    levels : ndarray of int, shape (top + 1,)
    """

    state: Any
    points: Any
    counts: Any
    levels: Any


class Rest(NamedTuple):
    """An indexer that rests when it finds no page, as in `sim.rests`.

    Attributes
    ----------
    fixed : record
        `resume_at`; whether it `goes_away` and `sets_up`, and the rows of the indexing times where
        these times lie (`vacation`, `set_up`).
    state : record
        What it is `doing` and `since` when, how often it `resumed`, and its `set_up_time`.
    """

    fixed: Any
    state: Any


class Batches(NamedTuple):
    """How servers take batches of pages, as in `sim.batches`.

    Attributes
    ----------
    fixed : record
        `most`, `least` and `wait` of `sim.batches.BatchRules`; `per_page`: pages add to the time.
    state : record
        `busy` servers, the time integral of them (`busy_time`), kept since `busy_since`, and their
        pages (`serving`); batches that `ended`; the free server whose alarm says that the oldest
        page has waited long enough (`watching`, or NONE).
    size : ndarray of int, shape (servers,)
        Pages that each server has taken.
    rest : Rest or None
        None where free servers take what waits; kernels are then compiled without it.
    """

    fixed: Any
    state: Any
    size: Any
    rest: Rest | None


class Orbit(NamedTuple):
    """Pages that found no room and try again, as in `sim.orbit`.

    Attributes
    ----------
    row : int
        Of the indexing times, where the times lie until a page tries again.
    most : int
    state : record
        Pages `inside`, the integral of their number (`time`, `since`), those that `joined` and
        `left`, and that were there when the warm-up ended (`inside_at_start`); the first slot that
        is `free` again, or NONE, and how many were ever `used`.
    items : record array, shape (slots,)
        The pages; free slots are chained by `newer`.
    alarms : Alarms
        When the page of each slot tries again.
    """

    row: int
    most: int
    state: Any
    items: Any
    alarms: Alarms


class PageClasses(NamedTuple):
    """Classes of pages that the buffer tells apart, as in `sim.page_classes`.

    Attributes
    ----------
    numbers : int
        The row of the indexing times where uniform numbers lie from which classes are drawn.
    of_page : ndarray of int, shape (pages,)
    cumulative : ndarray of float, shape (classes,)
        Of the shares of pages without identity; no entries where pages have one.
    of_slot : ndarray of int, shape (places + servers,)
        The class of the page in each slot of the buffer.
    last : ndarray of int, shape (classes,)
        The slot of the last waiting page of each class, or NONE.
    refused : ndarray of int, shape (classes,)
    ended, sojourn, square : ndarray, shape (classes, 4)
        By fate.
    """

    numbers: int
    of_page: Any
    cumulative: Any
    of_slot: Any
    last: Any
    refused: Any
    ended: Any
    sojourn: Any
    square: Any


class Buffer(NamedTuple):
    """The pages in the system, and what is counted about them.

    Attributes
    ----------
    fixed : record
        What does not change, as in `sim.buffer.BufferRules`; `timers`: obsolescence timers are
        drawn; `octave`: as in `sim.rules.time_bin`.
    state : record
        `since`: of the level; `entered`: number of pages that did; `oldest`, `newest`: ends of
        the chain of waiting pages; `free`: start of the chain of free slots.
    items : record array, shape (places + servers,)
        Slots of the pages in the system, the last ones of those in service (of `most` pages for
        each server that takes batches). Waiting pages are chained by `older` and `newer` in the
        order of the queue, free slots by `newer`.
    due : Timers
        When the waiting page of each slot becomes obsolete.
    slot_of : ndarray of int, shape (pages,)
        Slot in which a copy of the page waits, or NONE; kept where copies are replaced.
    load : record array, shape (largest batch,)
        The copies that are delivered now.
    level_time : ndarray of float, shape (top + 1,)
    ended, sojourn, square : ndarray, shape (4,)
        By fate.
    times : ndarray of int, shape (fates, bins)
        Sojourn times by fate, of those that occur, in the bins of `sim.rules.time_bin`.
    laws : Laws or None
        None where nothing is counted; kernels are then compiled without the counting.
    batches : Batches or None
        None where servers take one page at a time; kernels are then compiled without them.
    classes : PageClasses or None
        None where pages of all classes are served alike; kernels are then compiled without them.
    orbit : Orbit or None
        None where pages that find no room are lost; kernels are then compiled without it.
    """

    fixed: Any
    state: Any
    items: Any
    due: Timers
    slot_of: Any
    load: Any
    level_time: Any
    ended: Any
    sojourn: Any
    square: Any
    times: Any
    laws: Laws | None
    batches: Batches | None
    classes: PageClasses | None
    orbit: Orbit | None


class Pages(NamedTuple):
    """The pages and their copies in the index; no entries where there are no pages.

    Attributes
    ----------
    state : record
        `known`: whether pages have an identity; `copies`: deliveries so far; `used`: how much of
        the sequence has been taken.
    page : record array, shape (pages,)
        As the lists of `sim.pages.Pages`.
    age : record array, shape (pages,)
        Of the copies in the index; no entries without a buffer.
    sequence : ndarray of int, shape (block,)
        The pages to access next, in their order.
    commits : record
        `interval` from one commit of the index to the next, and the `phase` of the first.
    uncommitted : record array, shape (pages,)
        Of the newest copy that was indexed since the last commit, where there is one: `until` when
        it cannot be searched (inf: there is none), from when on it is out of date (`stale_from`),
        and when it was `delivered`. No entries where copies can be searched at once.
    fetched : record array, shape (pages,)
        Of the copy that was delivered last: from when on it is out of date (`stale_from`), and how
        many deliveries `found` a change since the one before (beside a page's `refreshes`, where
        every copy is searchable at once). No entries if not asked for.
    unseen : record array, shape (pages,)
        `since` when the index misses a change, and how long those that it no longer misses had to
        wait after the warm-up (`time`). No entries where every copy is searchable at once, so that
        a page is stale as long.
    waited : ndarray of float, shape (pages,)
        How long those changes had waited before the warm-up ended; at the horizon, how long in all.
    refresh_times : KeptTimes
        How long the last changes had to wait until they could be searched.
    """

    state: Any
    page: Any
    age: Any
    sequence: Any
    commits: Any
    uncommitted: Any
    fetched: Any
    unseen: Any
    waited: Any
    refresh_times: KeptTimes


class Thresholds(NamedTuple):
    """Of which it is kept how many the level has passed.

    Attributes
    ----------
    at, back : ndarray of int, shape (thresholds,)
        Above the one the level passes, at the other or below it goes back.
    start_up : int
        The row of the access times where those begin in which robots start.
    """

    at: Any
    back: Any
    start_up: int


class Robots(NamedTuple):
    """The fleet.

    Attributes
    ----------
    state : record
        `kind`: FREE, SWITCHED, JOINT, POLITE, DUE or STARTED; `active` and the integral of it, kept
        under switching and where the level alone does not say it (`is_kept`); thresholds `passed`
        and robots `switched_on`, where these are counted; `states_seen` of the
        environment and `phases_seen` of the service have a table each; `mode`, `phase` and time of
        the `next_event` of joint deliveries; `failing`: whether accesses may fail, with
        `failure_probability` and `retries`, whether that is `drawn_at_start`, and how many of
        active robots `failed`; the `share_of_time` that an access to an unchanged page takes.
    ends : Alarms
        When each robot delivers.
    idle : Alarms
        Set, at the robot's own number, for each robot that is switched off; where pages fall due,
        at its place in the order of activation, for each that rests.
    robot : record array, shape (robots,)
        Of each: the page of its access (`carried`; NONE where it waits for a host), how often it
        has failed with it (`failures`), its `place` in the order of activation, its class
        (`group`), and whether it is `starting`.
    same : ndarray of bool, shape (robots,)
        Whether the page of the access is unchanged, as was decided when it started; no entries
        where that is decided at its end.
    active_at : ndarray of int, shape (top + 1,)
        Robots that are heard at each level, or for each number of thresholds passed (joint
        deliveries: row of the mode).
    table : ndarray of int, shape (top + 1, order, service phases)
        Robots that are active in each state, under a rule of level and phases.
    targets : ndarray of int, shape (phases or states of the environment, top + 1)
    choices : ndarray of int, shape (phases, top + 1, combinations)
        The class that is switched on, or -1; no rows where there are targets.
    active_of, time_of, first, steps : ndarray, shape (classes,)
        Active robots of each class and the integral of them, kept under switching; the first
        robot of each, and what one more active robot of it adds to the place of a combination.
        No entries without classes or switching.
    means : ndarray of float, shape (modes, order)
        Mean time to the next joint event; nan where there is none.
    following : ndarray of float, shape (modes, order, batches * order)
        Cumulative probabilities of what comes next.
    thresholds : Thresholds or None
        None where the level alone says who is active; kernels are then compiled without them.
    """

    state: Any
    ends: Alarms
    idle: Alarms
    robot: Any
    same: Any
    active_at: Any
    table: Any
    targets: Any
    choices: Any
    active_of: Any
    time_of: Any
    first: Any
    steps: Any
    means: Any
    following: Any
    thresholds: Thresholds | None


class Clients(NamedTuple):
    """Those who query the index.

    Attributes
    ----------
    state : record
        `mean_gap` between queries, time of the `next` one (inf: there are none), and counts.
    cumulative : ndarray of float, shape (pages,)
    """

    state: Any
    cumulative: Any


class Course(NamedTuple):
    """What changes over time, and what is observed of it.

    Attributes
    ----------
    access, service, change, query : Speed
        The speeds of accesses, services, changes of pages and queries. An environment of the robots
        is that of the accesses.
    states : ndarray of int
        The state of the environment in each piece of `access`; no entries where there is none.
    indexers : ndarray of int, shape (limits,)
        So many may work from each time of `begins` on.
    indexings : Indexings or None
        None where all of them always may.
    state : record
        Times of the next observation `observe`, of the next change of limits `change` (inf: there
        is none) and of the `next` of both, how many of them there were (`observed`, `changed`),
        and the time integral of the active robots (`robots_time`, since the warm-up: `since`).
    times : ndarray of float, shape (times,)
        When the system is observed.
    begins : ndarray of float, row : ndarray of int, shape (limits,)
        When each limit begins, and the row of that of the robots in what follows.
    active_at, robots_at : ndarray of int, shape (rows, …)
        What `Robots` has of these names under each limit; active robots at each level.
    level_time : ndarray of float, shape (top + 1,)
        That of the buffer when the limit changed last.
    weights : ndarray of float, shape (pages,)
    seen, seen_deliveries : ndarray of int
        What had been counted since the warm-up when it was last looked at.
    level, active, waiting, busy, stale_weight, counts, stale, deliveries : ndarray
        As in `sim.tally.CourseTally`.
    """

    access: Speed
    service: Speed
    change: Speed
    query: Speed
    states: Any
    indexers: Any
    indexings: Indexings | None
    state: Any
    times: Any
    begins: Any
    row: Any
    active_at: Any
    robots_at: Any
    level_time: Any
    weights: Any
    seen: Any
    seen_deliveries: Any
    level: Any
    active: Any
    waiting: Any
    busy: Any
    stale_weight: Any
    counts: Any
    stale: Any
    deliveries: Any


class World(NamedTuple):
    """Everything about one replication.

    Attributes
    ----------
    run : record
        Times of the `warmup` (inf once it is over) and of the `horizon`; whether it has `begun`;
        the summed age of the pages in the system at its end (`age_at_end`).
    access : Times
        Access times, one row per robot; where accesses may fail, as many rows of uniform numbers
        between 0 and 1 after them; where robots have to start, as many of these times.
    indexing : Times
        Services and obsolescence timers; with `refresh` the times between changes, of mean 1.
    course : Course or None
        None where nothing changes or is observed; kernels are then compiled without it.
    frontier : Frontier or None
        None where pages do not fall due; kernels are then compiled without it.
    signals : Signals or None
        None where robots hear none; kernels are then compiled without them.
    """

    run: Any
    access: Times
    indexing: Times
    service: Service
    buffer: Buffer
    pages: Pages
    robots: Robots
    hosts: Hosts
    clients: Clients
    course: Course | None
    frontier: Frontier | None
    signals: Signals | None
