"""Pages, robots and queue of a scenario, decoded once, as both sides read them.

The file says some things in words, and leaves some out; here each is a small frozen class that says
what it means, so that whoever asks for it cannot forget a case. What follows from it, a draw or a
transform, is for each side to find.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar

from scenarios.accessing import Accessing
from scenarios.accessing.due import Due
from scenarios.accessing.policy import InSequence
from scenarios.activation import Activation, Threshold
from scenarios.deliveries import Deliveries
from scenarios.environment import Environment
from scenarios.fleet import access_times, order_of_activation
from scenarios.laws import Distribution
from scenarios.page_data import PageData
from scenarios.processes import Map, Mmpp, gap_law
from scenarios.rates import RateForm
from scenarios.sections import (
    AccessTime,
    Buffer,
    Failure,
    Index,
    PageSize,
    Probing,
    Robots,
    Servers,
    System,
    Times,
    Unchanged,
)
from scenarios.sections import Batch as BatchSection
from scenarios.sections import Vacation as VacationSection
from scenarios.timeline import Timeline

Part = TypeVar("Part")


def present(part: Part | None) -> Part:
    """A part that the caller knows to be there."""
    assert part is not None
    return part


@dataclass(frozen=True)
class Never:
    """A page waits until its service starts."""


@dataclass(frozen=True)
class OnChange:
    """All waiting copies of a page are dropped when the original changes.

    Asked for as `QueueDiscipline.drops_changed`.
    """


Patience: TypeAlias = Never | OnChange | Distribution
"""How long a page waits before it is obsolete; with a law, each draws its own time."""


class ServiceOrder(Enum):
    """Which waiting page is served next, by its word in the file.

    Whoever asks says what each member means to him, and refuses what he does not know. The engines
    refuse it in `sim/engine_inputs.py` (`_code_of`, by the table `_ORDER`), before they start;
    `next_in_line` of `sim/rules.py` then says what it means. The formulas refuse it in
    `analytic/index/conditions.py` (`_other_order`); what it means to them is in `next_in_line` of
    `analytic/indexing_queue/chain.py`. CONTRIBUTING.md says how a member is added.
    """

    OLDEST_FIRST = "fifo"
    NEWEST_FIRST = "lifo"
    BY_CLASS = "priority"


class ServerDiscipline(Enum):
    """What becomes of the packet in service when another one comes, by its word in the file."""

    PREEMPTIVE = "preemptive"
    NON_PREEMPTIVE = "non-preemptive"


@dataclass(frozen=True)
class QueueDiscipline:
    """Which waiting page is served next, and which leaves without service.

    Attributes
    ----------
    order : ServiceOrder
    pushes_out_oldest : bool
        A page that finds the buffer full pushes out the oldest waiting page, else it is lost.
    pushes_out_lowest : bool
        It pushes out the newest one of the lowest class that waits, if that is lower than its own.
    replaces : bool
        A delivered copy takes the place of a waiting older copy of its page.
    drops_changed : bool
        All waiting copies of a page are dropped when the original changes.
    """

    order: ServiceOrder = ServiceOrder.OLDEST_FIRST
    pushes_out_oldest: bool = False
    pushes_out_lowest: bool = False
    replaces: bool = False
    drops_changed: bool = False

    @property
    def is_ordered(self) -> bool:
        """First come first served, and whoever waits is not pushed out."""
        return self.order is ServiceOrder.OLDEST_FIRST and not self.pushes_out_oldest


@dataclass(frozen=True)
class Batch:
    """What a server takes at once.

    Attributes
    ----------
    most : int
        Pages that it takes at once; fewer where fewer wait.
    least : int
        It waits for so many.
    wait : float
        Or until the oldest page has waited so long; inf: as long as it takes.
    per_page : Distribution or None
        What each page adds to the service; None: nothing.
    """

    most: int
    least: int
    wait: float
    per_page: Distribution | None


@dataclass(frozen=True)
class Retrial:
    """Pages that find no room go into orbit, and come back.

    Attributes
    ----------
    rate : float
        At which each of them tries again.
    most : int or None
        Pages in orbit; None: any number.
    """

    rate: float
    most: int | None


@dataclass(frozen=True)
class Rest:
    """The indexer rests when it finds no page, though pages come meanwhile.

    Attributes
    ----------
    vacation : Distribution or None
        How long it is away, again and again until enough pages wait; None: it stays, idle.
    resume_at : int
        So many are enough.
    set_up : Distribution or None
        How long it then takes to get ready; None: no time.
    """

    vacation: Distribution | None
    resume_at: int
    set_up: Distribution | None


@dataclass(frozen=True)
class PageClasses:
    """Classes of pages that the queue tells apart, the first of which is served first.

    Attributes
    ----------
    count : int
    shares : tuple of float
        Of anonymous pages, whose class is drawn; empty where `PageData.classes` has those of pages.
    """

    count: int
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Queue:
    """What waits for the indexing engine, and how.

    Attributes
    ----------
    servers, waiting_places : int
    admission : {"partial", "reject", "complete"}
        What of a batch enters that is larger than the room there is.
    discipline : QueueDiscipline
    service : Distribution or PageSize
        A law, or the time that the page itself takes.
    patience : Never, OnChange or Distribution
    sojourn_quantiles : tuple of float
        The shares of pages that were asked for.
    servers_named : bool
        Whether the file speaks of its servers.
    batch : Batch or None
        None: a server takes one page at a time.
    classes : PageClasses or None
        None: pages of all classes are served alike.
    retrial : Retrial or None
        None: a page that finds no room is lost.
    rest : Rest or None
        None: a server without a page takes the next one that comes at once.
    """

    servers: int
    waiting_places: int
    admission: Literal["partial", "reject", "complete"]
    discipline: QueueDiscipline
    service: Distribution | PageSize
    patience: Patience
    sojourn_quantiles: tuple[float, ...] = ()
    servers_named: bool = False
    batch: Batch | None = None
    classes: PageClasses | None = None
    retrial: Retrial | None = None
    rest: Rest | None = None

    @property
    def gathers(self) -> Batch | None:
        """What a server takes that begins with no page as it comes; None: it does so if free."""
        return Batch(1, 1, math.inf, None) if self.rest is not None else self.batch

    @property
    def capacity(self) -> int:
        """Pages that there is room for, those in service included."""
        return self.waiting_places + self.servers * (self.batch.most if self.batch else 1)

    @property
    def timer(self) -> Distribution | None:
        """The law of the obsolescence timers; None where waiting pages have none."""
        return None if isinstance(self.patience, Never | OnChange) else self.patience


Gaps: TypeAlias = Distribution | Mmpp | Map
"""Times from one event to the next: independent ones of a law, or of a process with a phase."""


@dataclass(frozen=True)
class RobotClass:
    """Robots that are alike.

    Attributes
    ----------
    available : int
    gaps : Distribution, Mmpp or Map
        How long an access takes, which is followed by the next one.
    """

    available: int
    gaps: Gaps

    @property
    def law(self) -> Distribution | None:
        """The law of independent access times; None where they have a phase."""
        return None if isinstance(self.gaps, Mmpp | Map) else self.gaps


@dataclass(frozen=True)
class Backoff:
    """After how long a page is due again whose access failed.

    Attributes
    ----------
    first, factor, most : float
        ``first * factor ** (failures in a row - 1)``, at most `most`.
    """

    first: float
    factor: float
    most: float


@dataclass(frozen=True)
class Failing:
    """Accesses may fail, or bring nothing since an anonymous page is unchanged.

    Attributes
    ----------
    probability : float
        That an access delivers nothing.
    retries : int
        How often a robot tries the same page again before it gives it up.
    backoff : Backoff or None
        Of pages that fall due; None: they are due again after their interval.
    timeout : float
        When an access ends at the latest, failed; inf: never.
    share_of_time : float
        What an access that delivers nothing takes of its length; below 1 that is decided when it
        starts.
    """

    probability: float
    retries: int
    backoff: Backoff | None = None
    timeout: float = math.inf
    share_of_time: float = 1.0

    @property
    def shortens(self) -> bool:
        """Whether accesses that deliver nothing are shorter."""
        return self.share_of_time < 1 and self.probability > 0

    @property
    def given_up(self) -> float:
        """Probability that a robot gives up a page."""
        return self.probability ** (self.retries + 1)


@dataclass(frozen=True)
class Hysteresis:
    """Thresholds of which it is kept how many the level has passed, and not only its own number.

    Attributes
    ----------
    robots : tuple of int
        By the number of thresholds passed, strictly decreasing.
    at, back : tuple of int
        The level passes a threshold above the one, and goes back at the other or below.
    start_up : Distribution or None
        How long a robot that is switched on takes until it begins its access; None: no time.
    """

    robots: tuple[int, ...]
    at: tuple[int, ...]
    back: tuple[int, ...]
    start_up: Distribution | None

    @property
    def is_memoryless(self) -> bool:
        """Whether the level alone says what the robots do; their switches are counted."""
        return self.at == self.back and self.start_up is None


@dataclass(frozen=True)
class Fleet:
    """The robots.

    Attributes
    ----------
    available : int
    classes : tuple of RobotClass
        Of robots with accesses of their own.
    deliveries : Deliveries or None
        Of robots that deliver together, which have no classes.
    environment : Environment or None
        It changes the speed of all accesses.
    failing : Failing or None
        None: every access delivers.
    rule : Activation or None
        It says how many are active.
    order : sequence of int
        The numbers of the robots in the order in which they become active.
    """

    available: int
    classes: tuple[RobotClass, ...]
    deliveries: Deliveries | None
    environment: Environment | None
    failing: Failing | None
    rule: Activation | None
    order: Sequence[int]

    @cached_property
    def in_order(self) -> list[int]:
        """The class of each robot, by its index, in the order in which they become active."""
        of_robot = [index for index, each in enumerate(self.classes) for _ in range(each.available)]
        return [of_robot[robot] for robot in self.order] if of_robot else []

    def as_numbered(self) -> Fleet:
        """The same robots under no rule, active in the order of their numbers."""
        return replace(self, rule=None, order=range(self.available))

    @property
    def failure_probability(self) -> float:
        """Probability that an access delivers nothing."""
        return self.failing.probability if self.failing else 0.0

    @property
    def attempts(self) -> float:
        """Mean number of accesses for each that delivers, where no access times out."""
        return 1.0 / (1.0 - self.failure_probability)

    @property
    def mean_share(self) -> float:
        """What an access takes of its length on average: less where it may be a 304."""
        if self.failing is None:
            return 1.0
        return 1.0 - self.failing.probability * (1.0 - self.failing.share_of_time)

    @property
    def shortens(self) -> bool:
        """Whether accesses that deliver nothing are shorter."""
        return self.failing is not None and self.failing.shortens

    @property
    def law(self) -> Distribution | None:
        """The law of the access times of all robots; None where they differ, or have a phase."""
        laws = {each.law for each in self.classes}
        return laws.pop() if len(laws) == 1 else None


class FrontierOrder(Enum):
    """Which of the due pages a free robot takes, by its word in the file."""

    FIRST_DUE = "first-due"
    MOST_OVERDUE = "most-overdue"
    PRIORITY = "priority"


@dataclass(frozen=True)
class Frontier:
    """Pages fall due and wait for a free robot.

    Attributes
    ----------
    policy : Due
        With the intervals, as `scenarios.page_data.due_intervals` reads them.
    order : FrontierOrder
    is_spread : bool
        Whether pages are due for the first time after a random part of their interval, else at 0.
    from_start : bool
        Whether the interval counts from the start of an access, else from its delivery.
    """

    policy: Due
    order: FrontierOrder
    is_spread: bool
    from_start: bool


@dataclass(frozen=True)
class Commits:
    """What was indexed can be searched from the next commit on.

    Attributes
    ----------
    interval : float
        From one commit to the next.
    phase : float or None
        Time of the first one; None: drawn once, uniformly over an interval.
    """

    interval: float
    phase: float | None


class Listening(Enum):
    """What robots make of signals."""

    BY_VALUE = "crawl-value"
    BLINDLY = "on-signal"
    UP_TO_LEVEL = "due"


@dataclass(frozen=True)
class Hearing:
    """Robots hear signals of changes.

    Attributes
    ----------
    listening : Listening
    delay : Distribution or None
        From a change, or from a false cause, until its signal is heard; None: at once.
    """

    listening: Listening
    delay: Distribution | None


@dataclass(frozen=True)
class Traffic:
    """The packets that come to parallel servers.

    Attributes
    ----------
    gaps : Distribution, Mmpp or Map
        Times from one packet to the next.
    discipline : ServerDiscipline
    """

    gaps: Gaps
    discipline: ServerDiscipline

    @property
    def law(self) -> Distribution | None:
        """The law of independent gaps; None where they have a phase."""
        return None if isinstance(self.gaps, Mmpp | Map) else self.gaps


@dataclass(frozen=True)
class ProbedSource:
    """A source, and how it is probed.

    Attributes
    ----------
    number : int or None
        Its place among several that share their probes.
    updates, importance : RateForm
    horizon : float
        When the last probe is.
    spacing : float
        Least time between two probes.
    times : tuple of float or None
        When it is probed; None: that is still to be found from `Monitor.asked`.
    """

    number: int | None
    updates: RateForm
    importance: RateForm
    horizon: float
    spacing: float
    times: tuple[float, ...] | None


@dataclass(frozen=True)
class Monitor:
    """Who probes the sources.

    Attributes
    ----------
    sources : tuple of ProbedSource
    asked : Probing
        What is known of times that are not given, and of a search of the best ones.
    """

    sources: tuple[ProbedSource, ...]
    asked: Probing

    @property
    def is_shared(self) -> bool:
        """Whether several sources share the probes."""
        return self.sources[0].number is not None

    @property
    def is_settled(self) -> bool:
        """Whether all probe times are given."""
        return isinstance(self.asked.policy, Times)


@dataclass(frozen=True)
class Model:
    """What a system is; None: it has no such part.

    Attributes
    ----------
    pages : PageData or None
        Change rates, weights, hosts, sizes, names, signals: what the file says of each page.
    fleet : Fleet or None
    hysteresis : Hysteresis or None
        Where switches have a price or take a time, or more robots come back later than they went.
    accessing : Accessing or None
        Which page the robots access next.
    frontier : Frontier or None
        Where pages fall due; None: robots never rest.
    queue : Queue or None
        In front of the indexing engine.
    commits : Commits or None
        Of the index; None: what was indexed can be searched at once.
    hearing : Hearing or None
        Where what the robots do depends on signals; None: they do not listen.
    traffic : Traffic or None
        To parallel servers.
    query_rate : float or None
        Queries of the clients per unit time.
    monitor : Monitor or None
        Of sources that are probed.
    timeline : Timeline
        The run from its start to its horizon, in pieces of constant settings.
    """

    pages: PageData | None
    fleet: Fleet | None
    hysteresis: Hysteresis | None
    accessing: Accessing | None
    frontier: Frontier | None
    queue: Queue | None
    commits: Commits | None
    hearing: Hearing | None
    traffic: Traffic | None
    query_rate: float | None
    monitor: Monitor | None
    timeline: Timeline

    @property
    def sequence(self) -> InSequence | None:
        """The policy where it says which page each access fetches, whatever the time."""
        by_value = self.hearing is not None and self.hearing.listening is Listening.BY_VALUE
        policy = self.accessing
        return policy if isinstance(policy, InSequence) and not by_value else None

    @property
    def quantiles(self) -> dict[str, tuple[float, ...]]:
        """Measures that are quantiles, and the shares that are asked for."""
        queue, frontier, pages = self.queue, self.frontier, self.pages
        return {
            "sojourn_quantile": queue.sojourn_quantiles if queue else (),
            "frontier_delay_quantile": frontier.policy.delay_quantiles if frontier else (),
            "time_to_refresh_quantile": pages.refresh_quantiles if pages else (),
        }

    @property
    def unresolved(self) -> str | None:
        """The key of the accessing policy for which numbers are still to be found."""
        policy = self.accessing
        if policy is None or (self.sequence is None and isinstance(policy, InSequence)):
            return None
        return policy.unresolved


def model_of(system: System) -> Model:
    """The sections of a scenario, decoded; `Scenario.model` keeps it."""
    return Model(
        pages=None if system.pages is None else PageData(system.pages),
        fleet=None if system.robots is None else fleet_under(system.robots, system.activation),
        hysteresis=_hysteresis(system.activation, priced=system.costs.switch > 0),
        accessing=None if system.robots is None else system.robots.accessing,
        frontier=None if system.robots is None else _frontier(system.robots.accessing),
        queue=None if system.buffer is None else _queue(system.buffer, _page_classes(system)),
        commits=_commits(system.index),
        hearing=_hearing(system),
        traffic=None if system.servers is None else _traffic(system.servers),
        query_rate=None if system.clients is None else system.clients.query_rate,
        monitor=None if system.probing is None else _monitor(system.probing, system),
        timeline=_timeline(system),
    )


def _timeline(system: System) -> Timeline:
    indexers = system.buffer.servers if system.buffer else 1
    return Timeline(system.interventions, system.run.horizon, indexers)


def fleet_under(robots: Robots, rule: Activation | None = None) -> Fleet:
    """[robots] decoded, under a rule."""
    return Fleet(
        available=robots.available,
        classes=tuple(RobotClass(count, gaps_of(time)) for time, count in access_times(robots)),
        deliveries=robots.deliveries,
        environment=robots.environment,
        failing=_failing(robots.failure, robots.unchanged),
        rule=rule,
        order=order_of_activation(robots, rule),
    )


def _hysteresis(rule: Activation | None, *, priced: bool) -> Hysteresis | None:
    if not isinstance(rule, Threshold):
        return None
    found = Hysteresis(rule.robots, rule.at, rule.back, rule.start_up)
    return found if priced or rule.threshold.back is not None or rule.start_up else None


def _failing(failure: Failure | None, unchanged: Unchanged | None) -> Failing | None:
    if failure is None:
        if unchanged is None or unchanged.share is None:
            return None
        return Failing(unchanged.share, 0, share_of_time=unchanged.share_of_time)
    given = failure.backoff
    most = math.inf if given is None or given.most is None else given.most
    backoff = None if given is None else Backoff(given.first, given.factor, most)
    timeout = math.inf if failure.timeout is None else failure.timeout
    return Failing(failure.probability, failure.retries, backoff, timeout)


def _frontier(policy: Accessing | None) -> Frontier | None:
    if not isinstance(policy, Due):
        return None
    return Frontier(
        policy=policy,
        order=FrontierOrder(policy.order),
        is_spread={"spread": True, "at-once": False}[policy.first],
        from_start={"delivery": False, "start": True}[policy.counted_from],
    )


def _commits(index: Index | None) -> Commits | None:
    if index is None or index.commit_interval == 0:
        return None
    return Commits(index.commit_interval, index.phase)


def _hearing(system: System) -> Hearing | None:
    policy = system.robots.accessing if system.robots else None
    if system.pages is None or system.pages.signals is None or policy is None:
        return None
    listens = {each.value: each for each in Listening}.get(policy.policy)
    if listens is None or (isinstance(policy, Due) and policy.levels is None):
        return None
    return Hearing(listens, system.pages.signals.delay)


def _traffic(servers: Servers) -> Traffic:
    return Traffic(gaps_of(servers.arrivals), ServerDiscipline(servers.discipline))


def _monitor(probing: Probing, system: System) -> Monitor:
    policy = probing.policy
    times = policy.of_each or (policy.of_one,) if isinstance(policy, Times) else None
    sources = (
        ProbedSource(
            number=None if system.sources is None else number,
            updates=source.updates,
            importance=source.importance,
            horizon=probing.horizon,
            spacing=probing.spacing_of(number),
            times=times[number] if times else None,
        )
        for number, source in enumerate(system.sources or (present(system.source),))
    )
    return Monitor(tuple(sources), probing)


def gaps_of(process: AccessTime) -> Gaps:
    """The times between the events of a process: where it is a renewal process, their law."""
    return gap_law(process) or process  # type: ignore[return-value]  # what has no law has a phase


_KINDS: dict[str, Patience] = {"never": Never(), "page-change": OnChange()}


def _page_classes(system: System) -> PageClasses | None:
    if system.buffer is None or system.buffer.discipline != "priority":
        return None
    if system.pages is not None:
        return PageClasses(int(PageData(system.pages).classes.max()) + 1, ())
    deliveries = system.robots.deliveries if system.robots else None
    shares = present(present(deliveries).shares)
    return PageClasses(len(shares), shares)


def _queue(buffer: Buffer, classes: PageClasses | None) -> Queue:
    given = buffer.obsolescence
    patience = _KINDS[given] if isinstance(given, str) else given
    discipline = QueueDiscipline(
        order=ServiceOrder(buffer.discipline),
        pushes_out_oldest=buffer.when_full == "push-out",
        pushes_out_lowest=buffer.when_full == "push-out-lowest",
        replaces=buffer.replace_older_copy,
        drops_changed=isinstance(patience, OnChange),
    )
    return Queue(
        servers=buffer.servers,
        waiting_places=buffer.waiting_places,
        admission=buffer.admission,
        discipline=discipline,
        service=buffer.service,
        patience=patience,
        sojourn_quantiles=buffer.sojourn_quantiles,
        servers_named="servers" in buffer.model_fields_set,
        batch=None if buffer.batches is None else _batch(buffer.batches),
        classes=classes,
        retrial=None
        if buffer.retrial is None
        else Retrial(buffer.retrial.rate, buffer.retrial.most),
        rest=_rest(buffer),
    )


def _rest(buffer: Buffer) -> Rest | None:
    if buffer.resting is None:
        return None
    vacation = buffer.vacation or VacationSection(resume_at=1)
    return Rest(vacation.time, vacation.resume_at, buffer.set_up)


def _batch(given: BatchSection) -> Batch:
    wait = math.inf if given.wait is None else given.wait
    return Batch(given.most, given.least, wait, given.per_page)
