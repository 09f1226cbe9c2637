"""The sections of a scenario file, each checked by itself."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from scenarios.accessing import Accessing
from scenarios.accessing.due import Due
from scenarios.activation import Activation
from scenarios.base import (
    ByType,
    Count,
    Keyed,
    NonNegative,
    Number,
    OneKey,
    Positive,
    Section,
    Shares,
)
from scenarios.columns import Column, TextColumn, given_entries
from scenarios.deliveries import Deliveries
from scenarios.environment import Environment
from scenarios.errors import refused
from scenarios.interventions import Intervention
from scenarios.laws import OTHER_NAMES, Distribution, Exponential
from scenarios.page_set import PageSet
from scenarios.processes import ArrivalProcess
from scenarios.rates import RateForm
from scenarios.signals import Signals
from scenarios.spacing_cost import SpacingCost
from scenarios.text import counted, visible
from scenarios.validity import check_length, check_probabilities

_LONGEST = 1000
"""Characters of a name or a label."""

LARGEST_SEED = 2**128 - 1
"""As much as `numpy.random.SeedSequence` draws by itself."""


class ZipfRates(Section):
    """Parameters of rates proportional to ``(i + 1) ** -exponent``, i = 0 … pages - 1."""

    pages: Annotated[int, Field(strict=True, ge=1, le=100_000_000)]
    exponent: Annotated[NonNegative, Field(le=100)]
    total: Positive


class Zipf(Keyed[ZipfRates]):
    """Change rates that follow a power law."""

    key = "zipf"


class HostSizes(Section):
    """Parameters of host sizes proportional to ``(h + 1) ** -exponent``, h = 0 … hosts - 1."""

    hosts: Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
    exponent: Annotated[NonNegative, Field(le=100)]


class ZipfHosts(Keyed[HostSizes]):
    """Hosts whose sizes follow a power law, whatever the change rates of their pages."""

    key = "zipf"


class SizesByRank(Section):
    """Parameters of page sizes proportional to ``(rank + 1) ** -exponent``."""

    exponent: Annotated[NonNegative, Field(le=100)]
    mean: Positive


class ZipfSizes(Keyed[SizesByRank]):
    """Sizes that follow a power law, whatever the change rates of the pages."""

    key = "zipf"


class Pages(Section):
    """The pages: change rates, weights in the cost, hosts, sizes, names, and who is first (0).

    Of changes there may be signals.
    """

    change_rates: Annotated[tuple[NonNegative, ...] | Annotated[Zipf | Column, OneKey()], ByType()]
    weights: Annotated[
        Literal["change-rate", "uniform"] | tuple[NonNegative, ...] | Annotated[Column, OneKey()],
        ByType(),
    ] = "change-rate"
    hosts: (
        Annotated[tuple[Count, ...] | Annotated[ZipfHosts | Column, OneKey()], ByType()] | None
    ) = None
    sizes: (
        Annotated[tuple[NonNegative, ...] | Annotated[ZipfSizes | Column, OneKey()], ByType()]
        | None
    ) = None
    names: (
        Annotated[
            tuple[Annotated[str, Field(strict=True)], ...] | Annotated[TextColumn, OneKey()],
            ByType(),
        ]
        | None
    ) = None
    priority: Annotated[tuple[NonNegative, ...] | Annotated[Column, OneKey()], ByType()] | None = (
        None
    )
    refresh_quantiles: Shares = ()
    signals: Signals | None = None

    @model_validator(mode="after")
    def _valid(self) -> Pages:
        if not self.count:
            raise refused("must not be empty", key="change_rates")
        if self.signals is not None:
            self.signals.check_lengths(self.count)
        for key in ("weights", "hosts", "sizes", "names", "priority"):
            given = given_entries(getattr(self, key))
            if isinstance(given, tuple):
                check_length(key, given, self.count, "page")
        if isinstance(self.hosts, Column):
            self._check_hosts(self.hosts.entries)
        return self

    def _check_hosts(self, numbers: tuple[float, ...]) -> None:
        for line, number in enumerate(numbers):
            if number != int(number) or number > 1_000_000:
                allowed = f"number {line}: must be whole, and at most 1000000"
                raise refused(allowed, key="hosts", value=number)

    @property
    def count(self) -> int:
        """Number of pages."""
        if isinstance(self.change_rates, Zipf):
            return self.change_rates.root.pages
        return len(given_entries(self.change_rates))

    @property
    def host_count(self) -> int:
        """Number of hosts, those without pages included; 0 where pages have none."""
        if self.hosts is None:
            return 0
        if isinstance(self.hosts, ZipfHosts):
            return self.hosts.root.hosts
        return int(max(given_entries(self.hosts))) + 1


AccessTime = Annotated[Distribution | ArrivalProcess, OneKey(OTHER_NAMES, "exponential")]
"""Time of one access: a distribution, or a process whose gaps are the successive times."""


class Backoff(Section):
    """After how long a page is due again whose access failed, longer with each failure in a row."""

    first: Positive
    factor: Annotated[Number, Field(ge=1)] = 2.0
    most: Positive | None = None

    @model_validator(mode="after")
    def _valid(self) -> Backoff:
        if self.most is not None and self.most < self.first:
            raise refused(f"must be at least first ({self.first!r})", key="most", value=self.most)
        return self


class Failure(Section):
    """How often an access fails, and what becomes of its page.

    The same page is tried again at once, so often at most; where pages fall due, after a back-off.
    """

    probability: Annotated[Number, Field(ge=0, lt=1)]
    retries: Count = 0
    backoff: Backoff | None = None
    timeout: Positive | None = None


class Unchanged(Section):
    """Accesses to pages that have not changed since the last one: how much shorter, how large.

    Of anonymous pages a share is unchanged, and none of them is delivered.
    """

    share: Annotated[Number, Field(ge=0, lt=1)] | None = None
    share_of_time: Annotated[Number, Field(gt=0, le=1)] = 1.0
    bytes: NonNegative = 300.0

    @property
    def shortens(self) -> bool:
        """Whether they are shorter, which is decided when they start."""
        return self.share_of_time < 1


Name = Annotated[
    str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9_-]+$", max_length=_LONGEST)
]

MOST_ROBOTS = 100_000

Available = Annotated[int, Field(strict=True, ge=1, le=MOST_ROBOTS)]


class RobotClass(Section):
    """Robots that are alike: how many, and how long an access takes."""

    name: Name | None = None
    available: Available
    access_time: AccessTime


def _of_all_classes(given: dict[str, Any]) -> int:
    """Robots of all classes; 0 where there are none."""
    return sum(each.available for each in given.get("classes") or ())


class Robots(Section):
    """The robots: how many, how long an access takes, which page they take next."""

    one_of: ClassVar[tuple[tuple[str, ...], ...]] = (("access_time", "deliveries", "classes"),)
    classes: tuple[RobotClass, ...] | None = None
    available: Available = Field(default_factory=_of_all_classes)
    access_time: AccessTime | None = None
    deliveries: Deliveries | None = None
    accessing: Accessing | None = None
    host_spacing: Annotated[NonNegative | tuple[NonNegative, ...], ByType()] | None = None
    failure: Failure | None = None
    unchanged: Unchanged | None = None
    environment: Environment | None = None

    @model_validator(mode="after")
    def _valid(self) -> Robots:
        if self.classes is not None:
            self._check_classes(self.classes)
        elif "available" not in self.model_fields_set:
            raise refused("is missing", key="available")
        laws = [self.access_time, self.deliveries, self.classes]
        if sum(each is not None for each in laws) != 1:
            raise refused("must have exactly one of the keys access_time, deliveries or classes")
        if self.deliveries is not None and self.deliveries.robots != self.available:
            has = counted(self.deliveries.robots, "entry")
            allowed = f"has {has}; must have one per available robot"
            raise refused(f"{allowed} ({self.available})", key="deliveries")
        if self.deliveries is not None and isinstance(self.accessing, Due):
            allowed = 'with policy = "due" must be access_time or classes'
            raise refused(allowed, key="deliveries")
        if self.failure is not None:
            self._check_failure()
        if self.environment is not None:
            self._check_environment()
        return self

    def _check_environment(self) -> None:
        if self.deliveries is not None:
            allowed = "goes with access_time or classes, not with deliveries"
            raise refused(allowed, key="environment")
        if self.host_spacing is not None:
            raise refused("does not go with host_spacing", key="environment")

    def _check_classes(self, classes: tuple[RobotClass, ...]) -> None:
        if not classes:
            raise refused("must not be empty", key="classes")
        if "available" in self.model_fields_set:
            allowed = "must be left out: each class has its own, such as robots.classes.0.available"
            raise refused(allowed, key="available", value=self.available)
        if self.available > MOST_ROBOTS:
            allowed = f"have {self.available} robots; at most {MOST_ROBOTS} together"
            raise refused(allowed, key="classes")
        names = [each.name for each in classes]
        for index, each in enumerate(classes):
            if each.name is not None and each.name in names[:index]:
                raise refused("is there twice", key=f"classes[{index}].name", value=each.name)
            if each.name == "nobody":
                allowed = "is what tables of choices call it when no robot is switched on"
                raise refused(allowed, key=f"classes[{index}].name", value=each.name)

    def _check_failure(self) -> None:
        if self.deliveries is not None:
            raise refused("goes with access_time or classes, not with deliveries", key="failure")
        failure = self.failure
        assert failure is not None
        if isinstance(self.accessing, Due):
            if failure.retries:
                allowed = (
                    'goes with other policies; with "due" a page is due again after failure.backoff'
                )
                raise refused(allowed, key="failure.retries", value=failure.retries)
            return
        for key in ("backoff", "timeout"):
            if getattr(failure, key) is not None:
                raise refused('goes with policy = "due"', key=f"failure.{key}")
        if self.host_spacing is not None:
            wait = "a second attempt would have to wait for its host"
            raise refused(f"does not go with host_spacing: {wait}", key="failure")


class PageSize(Section):
    """A service that takes a time given by the size of its page."""

    key: ClassVar[str] = "page-size"
    time_per_unit: NonNegative
    constant: NonNegative = 0.0


_LARGEST_BATCH = 1_000_000

PagesAtOnce = Annotated[int, Field(strict=True, ge=1, le=_LARGEST_BATCH)]


class Batch(Section):
    """How many waiting pages a free server takes at once, and what makes it wait for more."""

    most: PagesAtOnce
    least: PagesAtOnce = 1
    wait: Positive | None = None
    per_page: Annotated[Distribution, OneKey(OTHER_NAMES, "exponential")] | None = None

    @model_validator(mode="after")
    def _valid(self) -> Batch:
        if self.least > self.most:
            raise refused(f"must be at most most ({self.most})", key="least", value=self.least)
        return self


class Retrial(Section):
    """How often a page that found no room tries again, and how many may do so at a time."""

    rate: Positive
    most: PagesAtOnce | None = None


class Vacation(Section):
    """For how long an indexer is away that finds no page, and how many pages bring it back."""

    time: Annotated[Distribution, OneKey(OTHER_NAMES, "exponential")] | None = None
    resume_at: PagesAtOnce = 1

    @model_validator(mode="after")
    def _valid(self) -> Vacation:
        if not self.model_fields_set:
            raise refused("must have the key time, resume_at or both")
        return self


class Buffer(Section):
    """The indexing engine: its servers and the waiting places that they share."""

    waiting_places: Count
    servers: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 1
    service: Annotated[Distribution | PageSize, OneKey(OTHER_NAMES, "exponential")]
    admission: Literal["partial", "reject", "complete"] = "partial"
    obsolescence: Annotated[Literal["never", "page-change"] | Distribution, ByType()] = "never"
    discipline: Literal["fifo", "lifo", "priority"] = "fifo"
    when_full: Literal["lose-new", "push-out", "push-out-lowest"] = "lose-new"
    replace_older_copy: Annotated[bool, Field(strict=True)] = False
    sojourn_quantiles: Shares = ()
    batch: Annotated[PagesAtOnce | Batch, ByType()] | None = None
    retrial: Retrial | None = None
    vacation: Vacation | None = None
    set_up: Annotated[Distribution, OneKey(OTHER_NAMES, "exponential")] | None = None

    @property
    def resting(self) -> str | None:
        """The key by which the indexer may be idle, away or setting up while pages wait."""
        if self.vacation is not None:
            return "vacation"
        return None if self.set_up is None else "set_up"

    @property
    def batches(self) -> Batch | None:
        """What a server takes at once; None: one page, and the file says nothing of it."""
        return Batch(most=self.batch) if isinstance(self.batch, int) else self.batch

    @property
    def capacity(self) -> int:
        """Pages that the buffer holds, those in service included."""
        return self.waiting_places + self.servers * (self.batches.most if self.batches else 1)

    @property
    def capacity_in_words(self) -> str:
        """The same as a sum of keys."""
        each = "servers" if self.batches is None else "servers * batch.most"
        return f"waiting_places + {each}"

    def _check_batches(self, batch: Batch) -> None:
        in_service = self.servers * batch.most
        if in_service > _LARGEST_BATCH:
            allowed = f"must be at most {_LARGEST_BATCH} with all servers together"
            raise refused(f"{allowed}, not {in_service}", key="batch.most", value=batch.most)
        if batch.least > self.waiting_places + 1:
            allowed = f"must be at most waiting_places + 1 ({self.waiting_places + 1})"
            raise refused(allowed, key="batch.least", value=batch.least)
        if isinstance(self.service, PageSize):
            allowed = (
                "does not go with batch, whose services are of a whole batch; see batch.per_page"
            )
            raise refused(allowed, key="service.page-size")
        if batch.wait is not None and self.replace_older_copy:
            raise refused("does not go with replace_older_copy", key="batch.wait", value=batch.wait)
        if batch.wait is not None and self.discipline == "priority":
            allowed = 'does not go with discipline = "priority": the oldest page need not be next'
            raise refused(allowed, key="batch.wait", value=batch.wait)

    def _check_retrial(self) -> None:
        """Pages in orbit push nobody out and are alike: of no class, and never replaced."""
        allowed = "does not go with retrial"
        if self.when_full != "lose-new":
            raise refused('must be "lose-new" with retrial', key="when_full", value=self.when_full)
        if self.replace_older_copy:
            raise refused(allowed, key="replace_older_copy", value=True)
        if self.obsolescence == "page-change":
            raise refused(allowed, key="obsolescence", value="page-change")
        if self.discipline == "priority":
            raise refused(allowed, key="discipline", value="priority")

    def _check_rests(self, key: str) -> None:
        """One indexer that takes one page at a time, for a time of a law."""
        if self.servers > 1:
            raise refused(f"goes with one server, not with {self.servers}", key=key)
        if self.batches is not None:
            raise refused("goes with one page at a time, not with batch", key=key)
        if isinstance(self.service, PageSize):
            raise refused(f"does not go with {key}", key="service.page-size")
        resume_at = self.vacation.resume_at if self.vacation else 1
        if resume_at > self.capacity:
            allowed = f"must be at most waiting_places + 1 ({self.capacity})"
            raise refused(allowed, key="vacation.resume_at", value=resume_at)

    def _check_priority(self) -> None:
        by_class = self.discipline == "priority"
        if by_class and self.when_full == "push-out":
            allowed = 'must be "lose-new" or "push-out-lowest" with discipline = "priority"'
            raise refused(allowed, key="when_full", value="push-out")
        if self.when_full == "push-out-lowest" and not by_class:
            raise refused('needs discipline = "priority"', key="when_full", value=self.when_full)

    @model_validator(mode="after")
    def _valid(self) -> Buffer:
        if self.batches is not None:
            self._check_batches(self.batches)
        self._check_priority()
        if self.retrial is not None:
            self._check_retrial()
        if (resting := self.resting) is not None:
            self._check_rests(resting)
        if self.admission == "partial":
            return self
        if self.when_full != "lose-new":
            raise refused('needs admission = "partial"', key="when_full", value=self.when_full)
        if self.replace_older_copy:
            raise refused('needs admission = "partial"', key="replace_older_copy", value=True)
        return self


class Index(Section):
    """What clients search: it takes in what was indexed at regular times."""

    commit_interval: NonNegative
    phase: NonNegative | None = None

    @model_validator(mode="after")
    def _valid(self) -> Index:
        if self.phase is not None and self.phase >= self.commit_interval > 0:
            allowed = f"must be below commit_interval, {self.commit_interval:g}"
            raise refused(allowed, key="phase", value=self.phase)
        return self


class Clients(Section):
    """Users of the index, who query pages by weight."""

    query_rate: Positive


class Source(Section):
    """One information source: when it is updated, and how much an update matters."""

    updates: RateForm
    importance: RateForm


def slots_apart(spacing: float, horizon: float, slots: int) -> int:
    """Slots from one probe to the next, at least one; a whole number up to rounding is whole."""
    return max(1, math.ceil(spacing / horizon * slots * (1 - 1e-12) - 1e-9))


ProbeTime = Annotated[Positive | tuple[Positive, ...], ByType()]
"""A time, or where there are several sources the times of one."""


class Times(Keyed[Annotated[tuple[ProbeTime, ...], Field(min_length=1)]]):
    """Given probe times: of one source, or a list for each of several."""

    key = "times"

    @property
    def of_one(self) -> tuple[float, ...]:
        """Those of a scenario with one source, [source]."""
        return tuple(time for time in self.root if not isinstance(time, tuple))

    @property
    def of_each(self) -> tuple[tuple[float, ...], ...]:
        """Those of each source, of a scenario with `sources`."""
        return tuple(times for times in self.root if isinstance(times, tuple))


class AtCost(Keyed[Positive]):
    """A probe whenever the expected cost since the last one reaches this."""

    key = "threshold"


class AtProbability(Keyed[Annotated[Number, Field(gt=0, lt=1)]]):
    """A probe whenever an update has come since the last one with this probability."""

    key = "first-arrival"


class Apart(Keyed[Positive]):
    """A probe whenever this time has passed since the last one."""

    key = "uniform"


ByParameter = AtCost | AtProbability | Apart
"""Policies that say when to probe; how often follows."""


class Moves(Section):
    """Moves of one probe at a time, by a share of the way to its neighbour (eckstein2005,
    Algorithm 10).
    """

    largest_move: Annotated[float, Field(strict=True, gt=0, le=1)] = 0.5
    ratio: Annotated[float, Field(strict=True, gt=0, le=0.99)] = 0.5
    smallest_move: Annotated[float, Field(strict=True, ge=1e-9, le=1)] = 1 / 512
    least_saving: Positive = 1e-6

    @model_validator(mode="after")
    def _valid(self) -> Moves:
        if self.smallest_move > self.largest_move:
            allowed = f"must be at most largest_move ({self.largest_move!r})"
            raise refused(allowed, key="smallest_move", value=self.smallest_move)
        return self


class Probing(Section):
    """When the monitor probes its source or sources; a replication is a path of [0, horizon]."""

    horizon: Positive
    probes: Annotated[int, Field(strict=True, ge=1, le=10_000_000)] | None = None
    policy: Annotated[
        Literal["optimal", "uniform", "threshold", "first-arrival"]
        | Annotated[Times | AtCost | AtProbability | Apart, OneKey()],
        ByType(),
    ]
    minimum_spacing: Annotated[NonNegative | tuple[NonNegative, ...], ByType()] = 0.0
    slots: Annotated[int, Field(strict=True, ge=1, le=100_000_000)] | None = None
    refine: Annotated[Annotated[bool, Field(strict=True)] | Moves, ByType()] = False
    split: Annotated[
        Literal["optimal", "equal", "updates", "square-root"]
        | tuple[Annotated[int, Field(strict=True, ge=1, le=10_000_000)], ...],
        ByType(),
    ] = "optimal"
    at_once: Annotated[int, Field(strict=True, ge=1, le=10_000_000)] | None = None

    @model_validator(mode="after")
    def _valid(self) -> Probing:
        if self.probes is None and isinstance(self.policy, str):
            raise refused("is missing; how many probes?", key="probes")
        return self

    def spacing_of(self, source: int) -> float:
        """The minimum spacing of one of the sources."""
        spacing = self.minimum_spacing
        return spacing[source] if isinstance(spacing, tuple) else spacing


class Period(Keyed[Annotated[tuple[Count, ...], Field(min_length=1)]]):
    """Servers in turn, again and again."""

    key = "period"


class Random(Keyed[tuple[Annotated[Number, Field(ge=0, le=1)], ...]]):
    """Each packet to a server drawn with these probabilities."""

    key = "random"


class Servers(Section):
    """Parallel servers with few places or none to wait, fed by open-loop routing (altman2000)."""

    one_of: ClassVar[tuple[tuple[str, ...], ...]] = (("rates", "service"),)
    rates: tuple[Positive, ...] | None = None
    service: tuple[Distribution, ...] | None = None
    arrivals: ArrivalProcess
    routing: Annotated[Literal["optimal"] | Annotated[Period | Random, OneKey()], ByType()]
    discipline: Literal["preemptive", "non-preemptive"] = "preemptive"
    waiting_places: Annotated[Count | tuple[Count, ...], ByType()] = 0
    weights: tuple[NonNegative, ...] | None = None
    spacing_cost: Annotated[SpacingCost | tuple[SpacingCost, ...], ByType()] | None = None

    @model_validator(mode="after")
    def _valid(self) -> Servers:
        if (self.rates is None) == (self.service is None):
            raise refused("must have exactly one of the keys rates or service")
        if not self.count:
            raise refused("must not be empty", key="rates" if self.service is None else "service")
        if isinstance(self.routing, Period) and max(self.routing.root) >= self.count:
            numbered = f"servers are numbered 0 … {self.count - 1}"
            allowed = f'{numbered}; routing = "optimal" finds the best order of these'
            raise refused(allowed, key="routing.period", value=self.routing.root)
        if isinstance(self.routing, Random):
            self._check_random(self.routing.root)
        self._check_places()
        self._check_costs()
        return self

    def _check_random(self, probabilities: tuple[float, ...]) -> None:
        check_probabilities("routing.random", probabilities)
        check_length("routing.random", probabilities, self.count, "server")

    def _check_places(self) -> None:
        if isinstance(self.waiting_places, tuple):
            check_length("waiting_places", self.waiting_places, self.count, "server")
        if any(self.places) and self.discipline == "preemptive":
            allowed = 'packets wait only with discipline = "non-preemptive"'
            raise refused(allowed, key="waiting_places", value=self.waiting_places)

    def _check_costs(self) -> None:
        if self.weights is not None:
            check_length("weights", self.weights, self.count, "server")
            if not any(self.weights):
                raise refused("must have a positive entry", key="weights", value=self.weights)
        if isinstance(self.spacing_cost, tuple) and len(self.spacing_cost) != self.count:
            has = counted(len(self.spacing_cost), "entry")
            allowed = f"has {has}; must have {self.count}, one per server, or be one for all"
            raise refused(allowed, key="spacing_cost")
        if self.routing == "optimal":
            return
        for server in self.unused:
            if self.final_rises[server] == math.inf:
                allowed = (
                    f"never uses server {server}, whose spacing cost grows without bound; a "
                    "weight of 0 leaves it out of the cost"
                )
                key = f"routing.{self.routing.key}"
                raise refused(allowed, key=key, value=self.routing.root)

    @property
    def count(self) -> int:
        """Number of servers."""
        return len(self.rates or self.service or ())

    @property
    def laws(self) -> tuple[Distribution, ...]:
        """The service law of each server; exponential where only `rates` are given."""
        return self.service or tuple(Exponential(rate=rate) for rate in self.rates or ())

    @property
    def places(self) -> tuple[int, ...]:
        """Waiting places of each server."""
        if isinstance(self.waiting_places, tuple):
            return self.waiting_places
        return (self.waiting_places,) * self.count

    @property
    def unused(self) -> tuple[int, ...]:
        """Servers that the routing never sends a packet to."""
        if isinstance(self.routing, Period):
            used = set(self.routing.root)
            return tuple(server for server in range(self.count) if server not in used)
        if isinstance(self.routing, Random):
            return tuple(server for server, share in enumerate(self.routing.root) if not share)
        return ()

    @property
    def is_costed(self) -> bool:
        """Whether packets have costs of their own: weights, or costs by distance."""
        return self.weights is not None or self.spacing_cost is not None

    @property
    def weight_of_each(self) -> tuple[float, ...]:
        """The weight of each server; 1 where none are given."""
        return self.weights or (1.0,) * self.count

    @property
    def spacing_costs(self) -> tuple[SpacingCost, ...]:
        """The spacing cost of each server, without its weight; empty where there is none."""
        if self.spacing_cost is None or isinstance(self.spacing_cost, tuple):
            return self.spacing_cost or ()
        return (self.spacing_cost,) * self.count

    @property
    def final_rises(self) -> tuple[float, ...]:
        """What each server costs per packet, with its weight, while it is never used."""
        if not self.spacing_costs:
            return (0.0,) * self.count
        pairs = zip(self.weight_of_each, self.spacing_costs, strict=True)
        return tuple(weight * cost.final_rise if weight else 0.0 for weight, cost in pairs)


class _Prices(Section):
    """Prices of what goes wrong, and of what is fetched; see the measure control_cost."""

    loss: NonNegative = 0.0
    obsolescence: NonNegative = 0.0
    starvation: NonNegative = 0.0
    response: NonNegative = 0.0
    staleness: NonNegative = 0.0
    switch: NonNegative = 0.0
    access: NonNegative = 0.0
    byte: NonNegative = 0.0


class Costs(_Prices):
    """The prices, one of each: of an active robot that of a mean one.

    Where robots of several classes are switched and have prices of their own, the mean one changes
    with the state: `by_class` then has their prices, and `robots` is 0. `standing` is paid per unit
    time whatever happens, for indexers and waiting places; `attempts` accesses are made for each
    that delivers.
    """

    robots: NonNegative = 0.0
    by_class: tuple[NonNegative, ...] = ()
    standing: NonNegative = 0.0
    attempts: Number = 1.0

    @property
    def delivery(self) -> float:
        """Price of an access that delivers, with those that failed before it."""
        return self.access * self.attempts

    @property
    def delivered_byte(self) -> float:
        """Price of a byte of such an access; those that fail fetch as many on average."""
        return self.byte * self.attempts


class GivenCosts(_Prices):
    """The prices as the file gives them; see the measure control_cost."""

    robots: Annotated[NonNegative | tuple[NonNegative, ...], ByType()] = 0.0
    indexer: NonNegative = 0.0
    waiting_place: NonNegative = 0.0


class Check(Section):
    """What a comparison of simulation and formula may overlook."""

    negligible: Annotated[NonNegative, Field(le=0.1)] = 0.0


MOST_OBSERVATIONS = 100_000
"""Times at which the course of a system is observed."""


class Run(Section):
    """How long and how often to simulate."""

    horizon: Positive = 100_000.0
    warmup: NonNegative = 1000.0
    replications: Annotated[int, Field(strict=True, ge=1, le=10_000_000)] = 40
    seed: Annotated[int, Field(strict=True, ge=0, le=LARGEST_SEED)] = 1
    observe: Positive | None = None
    page_rows: Annotated[int, Field(strict=True, ge=0, le=100_000_000)] = 100_000

    @model_validator(mode="after")
    def _valid(self) -> Run:
        if self.warmup >= self.horizon:
            allowed = f"must be < horizon ({self.horizon!r})"
            raise refused(allowed, key="warmup", value=self.warmup)
        if self.observe is not None and self.horizon / self.observe > MOST_OBSERVATIONS:
            allowed = f"must be >= horizon / {MOST_OBSERVATIONS}"
            raise refused(allowed, key="observe", value=self.observe)
        return self

    @property
    def window(self) -> float:
        """How long is counted: from the end of the warm-up to the horizon."""
        return self.horizon - self.warmup


Text = Annotated[str, Field(strict=True)]


def _one_line(text: str) -> str:
    """Refuse what a page or a terminal cannot show as text on one line, and what nobody reads."""
    if len(text) > _LONGEST:
        raise refused(f"must have at most {_LONGEST} characters")
    if "\n" in text or "\t" in text or visible(text) != text:
        raise refused("must be one line without control characters")
    return text


Line = Annotated[Text, AfterValidator(_one_line)]


class System(Section):
    """The sections of a scenario file, which need not fit together yet."""

    name: Name
    title: Line = ""
    paper: Line = ""
    time_unit: Line = "time unit"
    judged: tuple[Text, ...] = ()
    pages: Pages | None = None
    page_set: PageSet | None = None
    robots: Robots | None = None
    activation: Activation | None = None
    buffer: Buffer | None = None
    index: Index | None = None
    clients: Clients | None = None
    source: Source | None = None
    sources: Annotated[tuple[Source, ...], Field(min_length=1)] | None = None
    probing: Probing | None = None
    servers: Servers | None = None
    interventions: tuple[Intervention, ...] = ()
    costs: GivenCosts = GivenCosts()
    check: Check = Check()
    run: Run = Run()
