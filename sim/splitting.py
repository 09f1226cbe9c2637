"""Probabilities of losses too rare to be counted: paths split on the level, and honest intervals.

Plain simulation needs a hundred losses for an interval of 20 %, and at a probability of one in a
hundred million ten thousand million pages. Here a path that climbs to a high level is followed
several times from there (RESTART, Villén-Altamirano and Villén-Altamirano, 1991), so that every
level is climbed about equally often. Pilot runs on streams of their own say at which levels, and
how many times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from scenarios import Scenario, ScenarioError
from scenarios.arrays import Array, IntArray
from scenarios.errors import MISSING
from scenarios.files import System, scenario_of
from scenarios.model import Gaps, OnChange, present
from scenarios.sections import PageSize
from sim.estimates.jackknife import jackknife_error, t_quantile

FEWEST = 100
"""Replications at least: with 20 only 90 % of the intervals hold, with 100 they do (measured)."""

MOST = 20_000

_PILOT = 2**32
"""Replications of the pilot are numbered from here on, so that their streams are their own."""

_ROUNDS = 60
_ENOUGH = 100
"""Climbs to a level from which on the pilot knows how often it is climbed to."""

_MOST_EVENTS = 10**8
"""Events after which the pilot is given up: a minute with 500 places, ten seconds with 40."""

_MOST_COPIES = 64

_OF_PAGES = "depends on the pages; rare losses are found for pages without identity"


@dataclass(frozen=True)
class RareLosses:
    """The loss probability of a scenario by splitting.

    Parameters
    ----------
    scenario : str
    seed : int
    probability : float
        Pages lost of those delivered, after the warm-up.
    low, high : float
        95 % interval: Student's t on the logarithm, whose error is that of the jackknife.
    log_error : float
        Standard error of the logarithm.
    replications : int
    levels, copies : tuple of int
        Where paths are split, and how many go on from each climb.
    events : int
        Simulated in all, those of the pilot included.
    plain_events : float
        What counting would need for an interval of this width, if losses came one by one; they come
        in bursts, so that it is a lower bound.
    """

    scenario: str
    seed: int
    probability: float
    low: float
    high: float
    log_error: float
    replications: int
    levels: tuple[int, ...]
    copies: tuple[int, ...]
    events: int
    plain_events: float

    @property
    def saving(self) -> float:
        """How many times fewer events than counting."""
        return self.plain_events / self.events

    def record(self) -> dict[str, Any]:
        """The entries of a JSON document."""
        return asdict(self) | {"saving": self.saving}


@dataclass(frozen=True)
class _Splits:
    """Where paths are split, and what it cost to find that."""

    levels: IntArray
    copies: IntArray
    events: int
    events_per_page: float


def rare_losses(
    system: System,
    *,
    precision: float = 0.1,
    seed: int | None = None,
    most: int = MOST,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
    pilot: Callable[[int, int, int], None] | None = None,
) -> RareLosses:
    """The loss probability, however small, with a 95 % interval.

    Replications are added, the scenario's own number of them first, until the half-width of the
    interval is below the precision. Pages and clients of the scenario are left out: losses do not
    depend on them, where it is covered.

    Parameters
    ----------
    system : Scenario, str, Path or mapping
        As of `sim.run`.
    precision : float
        Half-width of the interval relative to the estimate, on the logarithmic scale.
    seed : int, optional
        Default: that of the scenario.
    most : int
        Replications after which it is given up to be more precise.
    executor : concurrent.futures.Executor, optional
        Where the replications run; the results are the same anywhere.
    progress : callable, optional
        Called with the replications that are done, and with how many there are to be.
    pilot : callable, optional
        Called before them, after each run of the pilot: with the levels that it has climbed, with
        how many there are, and with the events so far.

    Raises
    ------
    ScenarioError
        If paths of the scenario cannot be split, or the pilot sees no page lost in `_MOST_EVENTS`.
    """
    scenario = _without_pages(scenario_of(system))
    seed = scenario.run.seed if seed is None else seed
    splits = _pilot(scenario, seed, pilot)
    work = partial(_followed, scenario, seed, splits)
    rows: list[tuple[float, float, int]] = []
    count = needed = min(max(FEWEST, scenario.run.replications), most)
    while True:
        which = range(len(rows), count)
        for row in executor.map(work, which) if executor else map(work, which):
            rows.append(row)
            if progress:
                progress(len(rows), max(count, needed))
        found = _estimated(scenario.name, seed, np.array(rows), splits)
        needed = min(_needed(found, precision), most)
        count = max(len(rows), min(needed, 2 * len(rows)))
        if count == len(rows):
            return found


def _needed(found: RareLosses, precision: float) -> int:
    """Replications that the precision takes, as far as those that are done can say."""
    half = math.log(found.high / found.probability)
    return math.ceil(found.replications * max(half / precision, 1.0) ** 2)


def _estimated(name: str, seed: int, rows: Array, splits: _Splits) -> RareLosses:
    """From lost and delivered pages of each replication, and their events."""
    lost, delivered, events = rows.T
    probability = lost.sum() / delivered.sum()
    left_out = (lost.sum() - lost) / (delivered.sum() - delivered)
    if not np.all(left_out > 0):
        raise ScenarioError(
            "run.replications", len(rows), "saw almost no page lost; a longer run.horizon sees more"
        )
    error = float(jackknife_error(np.log(left_out)))
    half = t_quantile(len(rows) - 1) * error
    pages = (1.0 - probability) / (probability * error**2)
    return RareLosses(
        scenario=name,
        seed=seed,
        probability=float(probability),
        low=float(probability * math.exp(-half)),
        high=float(probability * math.exp(half)),
        log_error=error,
        replications=len(rows),
        levels=tuple(splits.levels[splits.copies > 1].tolist()),
        copies=tuple(splits.copies[splits.copies > 1].tolist()),
        events=int(events.sum()) + splits.events,
        plain_events=float(pages * splits.events_per_page),
    )


def _followed(
    system: Scenario, seed: int, splits: _Splits, replication: int
) -> tuple[float, float, int]:
    """Pages lost and delivered in one replication, by their weights, and its events."""
    paths = _paths(system, replication, seed, splits.levels, splits.copies)
    weights = _weights(splits.copies)
    return float(paths.lost @ weights), float(paths.delivered @ weights), int(paths.state.events)


def _paths(
    system: Scenario,
    replication: int,
    seed: int,
    levels: IntArray,
    copies: IntArray,
    most: float = math.inf,
) -> Any:
    from scenarios.interrupts import interrupts_watched
    from sim.compiled_engine.splitting import SplitReplication

    with interrupts_watched():
        return SplitReplication(system, replication, seed, levels, copies).follow(most)


def _weights(copies: IntArray) -> Array:
    return 1.0 / np.cumprod(np.concatenate([[1.0], copies]))


def _pilot(system: Scenario, seed: int, tell: Callable[[int, int, int], None] | None) -> _Splits:
    """Where to split so that each level is climbed about as often as the first.

    Each round splits as the last one says, and so sees levels that it did not reach; the one after
    the last that is known is taken to be as much rarer as that was than the one before.
    """
    levels = np.arange(1, present(system.model.queue).capacity + 1)
    copies: IntArray = np.ones(len(levels), dtype=np.int64)
    events = 0
    events_per_page = math.nan
    before = highest = known = 0
    for number in range(_ROUNDS):
        paths = _paths(system, _PILOT + number, seed, levels, copies, _MOST_EVENTS - events)
        events += int(paths.state.events)
        highest = max(highest, int(np.count_nonzero(paths.climbs)))
        if tell:
            tell(highest, len(levels), events)
        if events > _MOST_EVENTS:
            break
        if number == 0:
            events_per_page = events / max(paths.delivered.sum(), 1)
            if not paths.delivered.any():
                allowed = "is too short for the pilot to see a page delivered"
                raise ScenarioError("run.horizon", system.run.horizon, allowed)
        climbs = paths.climbs[1:]
        known = int(np.argmin(np.append(climbs, 0) >= _ENOUGH))
        # Where losses are not rare, the lowest levels may be: there is no more to be known then.
        if known in (before, len(levels)) and paths.lost.sum() >= _ENOUGH:
            return _Splits(levels, copies, events, events_per_page)
        if known == 0:
            break
        before = known
        copies = _balanced(climbs[:known] * _weights(copies)[:known], len(levels))
    if known == 0:
        allowed = "is too short for the pilot to see a page lost"
        raise ScenarioError("run.horizon", system.run.horizon, allowed)
    places = present(system.model.queue).waiting_places
    allowed = f"is too many: in {events:.2g} events the pilot climbed to {highest} of {len(levels)}"
    allowed += " levels, and saw too few pages lost; fewer places, or a longer run.horizon, may do"
    raise ScenarioError("buffer.waiting_places", places, allowed)


def _balanced(climbs: Array, depths: int) -> IntArray:
    """How many paths go on from each climb, so that each level is climbed about equally often.

    Parameters
    ----------
    climbs : ndarray, shape (known levels,)
        How often each is climbed to without splitting.
    depths : int
        Levels in all.
    """
    rarer = climbs[-1] ** 2 / climbs[-2] if len(climbs) > 1 else climbs[-1]
    expected = np.append(climbs, rarer)
    copies = np.ones(depths, dtype=np.int64)
    paths = 1
    for level in range(min(len(expected) - 1, depths)):
        wanted = expected[0] / (expected[level + 1] * paths)
        copies[level] = min(max(round(wanted), 1), _MOST_COPIES)
        paths *= int(copies[level])
    return copies


def _without_pages(scenario: Scenario) -> Scenario:
    """The scenario without its pages and clients, on which losses do not depend.

    Raises
    ------
    ScenarioError
        If they do, or a path that is taken back would not go on independently.
    """
    for key, value, reason in _refusals(scenario):
        raise ScenarioError(key, value, reason)
    left_out = ("pages", "index", "clients", "robots.accessing", "run.observe", "judged")
    present = dict.fromkeys(key for key in left_out if _has(scenario, key))
    return scenario.with_(present) if present else scenario


def _has(scenario: Scenario, key: str) -> bool:
    part: Any = scenario
    for name in key.split("."):
        part = getattr(part, name)
        if part is None:
            return False
    return True


def _refusals(scenario: Scenario) -> Iterator[tuple[str, Any, str]]:
    """The keys of what cannot be split, their values, and why."""
    queue = scenario.model.queue
    robots = scenario.robots
    if queue is None or robots is None:
        yield "buffer", MISSING, "is needed: without a buffer that robots fill no page is lost"
        return
    if queue.discipline.replaces:
        yield "buffer.replace_older_copy", True, _OF_PAGES
    if isinstance(queue.patience, OnChange):
        yield "buffer.obsolescence", "page-change", _OF_PAGES
    if queue.classes is not None:
        yield "buffer.discipline", "priority", "tells pages apart; as many are lost with fifo"
    if isinstance(queue.service, PageSize):
        yield "buffer.service.page-size", scenario.name, _OF_PAGES
    if robots.host_spacing is not None:
        yield "robots.host_spacing", robots.host_spacing, _OF_PAGES
    for section, key, part in (
        ("robots", "environment", robots.environment),
        ("robots", "access_time", _with_phase(scenario)),
        ("buffer", "retrial", queue.retrial),
    ):
        if part is not None:
            yield f"{section}.{key}", MISSING, "goes on where it was when a path is taken back"
    if scenario.interventions:
        yield (
            "interventions",
            MISSING,
            "change the system over time; rare losses are found where it stays as it is",
        )


def _with_phase(scenario: Scenario) -> Gaps | None:
    """An access time whose successive gaps depend on each other."""
    fleet = scenario.model.fleet
    classes = fleet.classes if fleet else ()
    return next((each.gaps for each in classes if each.law is None), None)
