"""Every measure of a scenario as a function of totals: `scenarios.measures` says which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from scenarios import Scenario
from scenarios.activation import Free, Switching
from scenarios.arrays import Array
from scenarios.infinite import infinite_quantities, without_variance
from scenarios.measures import MEASURES, Subject
from scenarios.model import Never, Queue, present
from scenarios.page_groups import (
    QUANTILES,
    followed_pages,
    group_names,
    group_sizes,
)
from scenarios.plugins import owner_named
from scenarios.sections import Servers
from sim import rules
from sim.engine_inputs import due_rules, exponential_delivery, robots_at_levels
from sim.estimates.totals import Part, Totals, Values

_CLASSES: dict[str, tuple[int, ...]] = {
    "served": (rules.SERVED,),
    "obsolete": (rules.OBSOLETE,),
    "accepted": (rules.SERVED, rules.OBSOLETE, rules.PUSHED_OUT, rules.REPLACED),
}


_SUMMED = ("ended", "sojourn", "sojourn_square")


class _Class(NamedTuple):
    """Pages of a class, the sum of their times from entry to end, and of the squares."""

    pages: Array
    time: Array
    square: Array


def measures_of(totals: Totals, scenario: Scenario) -> Values:
    """Every measure of a scenario as a function of totals; nan where it is undefined.

    What is infinite in the long run is left out: what a run says of it means nothing.
    """
    values: Values = {}
    infinite = infinite_quantities(scenario)
    with np.errstate(divide="ignore", invalid="ignore"):
        run = _parts_of(totals, scenario)
        if scenario.costs.model_fields_set:
            run["costs"] = SimpleNamespace(paid=partial(_control_cost, values, totals, scenario))
        for measure in MEASURES.values():
            with owner_named(*measure.values.values()):
                found = [measure.values[part](run[part]) for part in measure.values if part in run]
                counted = [_by_subject(each) for each in found if each is not None]
                if any(len(columns) != totals.count for _, columns in counted):
                    raise ValueError(f"{measure.name} must have a row for each replication")
            if len(counted) == 1:
                values[measure.name] = counted[0]
            elif counted:
                subjects, columns = zip(*counted, strict=True)
                values[measure.name] = _joined(*subjects), np.hstack(columns)
        for name in infinite.keys() & values.keys():
            _leave_out(values, name, infinite[name].subjects)
        if "time_to_refresh" in values and scenario.model.pages is not None:
            never = np.flatnonzero(scenario.model.pages.change_rates == 0)
            if len(never):
                _leave_out(values, "time_to_refresh", never.tolist())
    return values


def left_out_of(totals: Totals, scenario: Scenario) -> Values:
    """The same with each replication left out; nan where estimates have no variance."""
    values = measures_of(totals.leave_one_out(), scenario)
    for name, without in without_variance(scenario).items():
        if name in values:
            subjects, columns = values[name]
            kept = [not without.covers(each) for each in subjects]
            values[name] = subjects, np.where(kept, columns, np.nan)
    return values


def _leave_out(values: Values, name: str, without: Sequence[Subject] | None) -> None:
    """Leave out some subjects of a measure; None: all of them."""
    subjects, columns = values[name]
    left_out = set(subjects if without is None else without)
    kept = [place for place, each in enumerate(subjects) if each not in left_out]
    if kept:
        # Sums over replications depend on the layout by a last bit.
        values[name] = [subjects[n] for n in kept], np.ascontiguousarray(columns[:, kept])
    else:
        del values[name]


class _WholeAndPages(Sequence[Subject]):
    """The whole system, then the pages by their numbers: a list of a million takes 40 MB."""

    def __init__(self, pages: range) -> None:
        self._pages = pages

    def __len__(self) -> int:
        return 1 + len(self._pages)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [*self][place]
        place = range(len(self))[place]
        return self._pages[place - 1] if place else None

    def __contains__(self, subject: object) -> bool:
        return subject is None or subject in self._pages

    def index(self, subject: Any, *ends: int) -> int:
        return 0 if subject is None else 1 + self._pages.index(subject, *ends)


def _joined(first: Sequence[Subject], second: Sequence[Subject]) -> Sequence[Subject]:
    if tuple(first) == (None,) and isinstance(second, range):
        return _WholeAndPages(second)
    return [*first, *second]


def _by_subject(values: Any) -> tuple[Sequence[Subject], Array]:
    """Subjects and values: by name, or numbered, or of the whole system, which has no subjects."""
    if isinstance(values, Mapping):
        return tuple(values), np.stack(list(values.values()), axis=1)
    if values.ndim == 1:
        return (None,), values[:, None]
    return range(values.shape[1]), values


def _parts_of(totals: Totals, scenario: Scenario) -> dict[str, SimpleNamespace]:
    """What each part of a run counted, as the rows of `scenarios.measures` read it."""
    window = totals.own["window"]
    run = {name: SimpleNamespace(**part, window=window) for name, part in totals.parts.items()}
    if scenario.robots is not None:
        run["robots"] = SimpleNamespace(
            robots_time=totals.own["robots_time"],
            class_time=totals.own.get("class_time", np.zeros((totals.count, 0))),
            switched_on=totals.own.get("switched_on"),
            unchanged=totals.own.get("unchanged"),
            window=window,
        )
    if "buffer" in run:
        run["buffer"] = _of_buffer(totals.parts["buffer"], window, scenario)
        if "batches" in run:
            _of_batches(run["buffer"], totals.parts["batches"], scenario)
        _of_orbit(run, totals.parts)
    if "page_classes" in run:
        run["page_classes"] = _of_page_classes(totals.parts["page_classes"])
    for part in run.keys() & {"pages", "ages"}:
        run[part] = single_pages(totals, part)
    if "frontier" in run:
        run["frontier"].catch_up = _catch_up(totals.parts["frontier"], window, scenario)
    if "page_sums" in run and scenario.model.pages is not None:
        run["page_sums"] = _of_page_sums(totals.parts["page_sums"], window, scenario)
    if "servers" in run and scenario.servers is not None:
        run["servers"].ended = packets_ended(totals.parts["servers"])
        run["servers"].routing_cost = _routing_cost(totals.parts["servers"], scenario.servers)
    if scenario.model.monitor is not None:
        probed = run["sources" if "sources" in run else "probing"]
        probed.paths = window / scenario.model.monitor.asked.horizon  # windows are as long as it
    return run


def single_pages(totals: Totals, part: str) -> SimpleNamespace:
    """What the rows of `scenarios.measures` read of single pages, of all of them or of some.

    Parameters
    ----------
    totals : Totals
        With the accesses of all pages.
    part : {"pages", "ages"}
    """
    window = totals.own["window"]
    counted = SimpleNamespace(**totals.parts[part], window=window)
    if part == "pages":
        counted.stale_shares = counted.stale_time / window[:, None]
        counted.accesses = totals.parts["page_sums"]["accesses"]
    return counted


_OF_SINGLE_PAGES = ("stale_shares", "crawl_rates", "crawl_frequencies", "ages")


def _of_page_sums(part: Part, window: Array, scenario: Scenario) -> SimpleNamespace:
    """Sums over all pages and, of many, those of each group, some single pages, and quantiles."""
    pages = present(scenario.model.pages)
    sums = SimpleNamespace(
        window=window,
        weighted_stale_time=part["weighted_stale_time"],
        **dict.fromkeys(_OF_SINGLE_PAGES),
        weighted_shares={},
        times_to_refresh={None: part["refresh_time"] / part["refreshes"]},
        unchanged_shares=None,
        bytes_rates=None,
    )
    unchanged = present(scenario.robots).unchanged
    if unchanged is not None:
        sums.unchanged_shares = {None: 1.0 - part["found"] / part["accesses"]}
    if unchanged is not None and pages.section.sizes is not None:
        sums.bytes_rates = {None: part["bytes"] / window}
    if not part["group_stale_time"].shape[1]:
        return sums
    names = group_names(pages)
    sizes = group_sizes(pages)
    single = followed_pages(pages)

    def by_subject(groups: Array, followed: Array, quantiles: Array | None = None) -> Any:
        columns = dict(zip((*names, *single), np.hstack([groups, followed]).T, strict=True))
        if quantiles is not None:
            columns |= dict(zip(QUANTILES, quantiles.T, strict=True))
        return columns

    time = window[:, None]
    accesses = part["accesses"][:, None]
    sums.weighted_shares = dict(zip(names, (part["group_weighted"] / time).T, strict=True))
    sums.stale_shares = by_subject(
        part["group_stale_time"] / sizes / time,
        part["followed_stale_time"] / time,
        part["stale_quantiles"] / time,
    )
    sums.crawl_rates = by_subject(
        part["group_deliveries"] / time,
        part["followed_deliveries"] / time,
        part["delivery_quantiles"] / time,
    )
    sums.crawl_frequencies = by_subject(
        part["group_deliveries"] / accesses, part["followed_deliveries"] / accesses
    )
    sums.times_to_refresh |= by_subject(
        part["group_refresh_time"] / part["group_refreshes"],
        part["followed_refresh_time"] / part["followed_refreshes"],
    )
    if sums.unchanged_shares is not None:
        sums.unchanged_shares |= by_subject(
            1.0 - part["group_found"] / part["group_deliveries"],
            1.0 - part["followed_found"] / part["followed_deliveries"],
        )
    if sums.bytes_rates is not None:
        sums.bytes_rates |= by_subject(part["group_bytes"] / time, part["followed_bytes"] / time)
    if part["group_age_time"].shape[1]:
        sums.ages = by_subject(
            part["group_age_time"] / sizes / time,
            part["followed_age_time"] / time,
            part["age_quantiles"] / time,
        )
    return sums


def _catch_up(part: Part, window: Array, scenario: Scenario) -> Array | None:
    """Mean time to catch up; nan if some replication had not by its end, None if not asked."""
    if due_rules(scenario).ended == np.inf:
        return None
    replications = np.round(window / scenario.run.window)
    return np.where(part["caught_up"] == replications, part["catch_up"] / replications, np.nan)


def _of_buffer(part: Part, window: Array, scenario: Scenario) -> SimpleNamespace:
    """Pages of each fate, time at each level, and sojourns by class."""
    queue = scenario.model.queue
    levels = np.arange(part["level_time"].shape[1], dtype=float)
    level_shares = part["level_time"] / window[:, None]
    deliveries = _delivery_rate_when_full(scenario)
    lost = part["refused"] + part["ended"][:, rules.PUSHED_OUT]
    pages = pages_ended(part)
    classes = {
        name: _Class(*(part[each][:, list(of)].sum(axis=1) for each in _SUMMED))
        for name, of in _CLASSES.items()
        if not (name == "obsolete" and queue is not None and isinstance(queue.patience, Never))
    }
    classes["all"] = _Class(pages, part["sojourn"].sum(axis=1), part["sojourn_square"].sum(axis=1))
    return SimpleNamespace(
        window=window,
        delivered=part["delivered"],
        pages=pages,
        lost=lost,
        expected_losses=lost if deliveries is None else deliveries * part["level_time"][:, -1],
        served=part["ended"][:, rules.SERVED],
        obsolete=part["ended"][:, rules.OBSOLETE],
        replaced=part["ended"][:, rules.REPLACED],
        replaces=queue is not None and queue.discipline.replaces,
        levels=levels,
        level_shares=level_shares,
        idle_shares=_idle_shares(levels, level_shares, queue),
        mean_batches=None,
        classes=classes,
    )


def _of_batches(buffer: SimpleNamespace, part: Part, scenario: Scenario) -> None:
    """What levels and pages do not say of a buffer whose servers take batches."""
    queue = present(scenario.model.queue)
    buffer.idle_shares = 1.0 - part["busy_time"] / (queue.servers * buffer.window)
    if queue.batch is not None:
        buffer.mean_batches = buffer.served / part["ended"]


def _of_orbit(run: dict[str, SimpleNamespace], parts: Mapping[str, Part]) -> None:
    """Which pages came back of those delivered, where some do."""
    if "orbit" in run:
        run["orbit"].delivered = parts["buffer"]["delivered"]
        run["orbit"].blocked = parts["orbit"]["joined"] + parts["buffer"]["refused"]


def _of_page_classes(part: Part) -> SimpleNamespace:
    """Pages of each class by fate, and their sojourns."""
    ended = part["ended"]
    classes = {
        f"{name} {group}": _Class(
            *(part[each][:, group, list(_CLASSES[name])].sum(axis=1) for each in _SUMMED)
        )
        for name in ("served", "accepted")
        for group in range(ended.shape[1])
    }
    return SimpleNamespace(
        pages=pages_of_classes(part),
        lost=part["refused"] + ended[:, :, rules.PUSHED_OUT],
        obsolete=ended[:, :, rules.OBSOLETE],
        classes=classes,
    )


def pages_of_classes(part: Part) -> Array:
    """Pages of each class whose fate was decided in the window."""
    return part["refused"] + part["ended"].sum(axis=2)


def _idle_shares(levels: Array, level_shares: Array, queue: Queue | None) -> Array | None:
    """Share of the servers without a page; None where the scenario does not speak of servers."""
    if queue is None or not queue.servers_named:
        return None
    return level_shares @ (np.maximum(queue.servers - levels, 0.0) / queue.servers)


def pages_ended(part: Part) -> Array:
    """Pages whose fate was decided in the window, those refused on arrival included."""
    return part["refused"] + part["ended"].sum(axis=1)


def _delivery_rate_when_full(scenario: Scenario) -> float | None:
    """Deliveries per unit time while no place is free, each of which loses a page.

    Known where access times are exponential, no robot waits for a host, and the level alone says
    how many are heard: the time with a full buffer then gives the loss rate with no bias and less
    variance than the losses themselves (measured: docs/measures.md).
    """
    queue = scenario.model.queue
    counted = queue is None or queue.discipline.replaces or queue.batch is not None
    counted = counted or present(queue).retrial is not None
    mean = exponential_delivery(scenario)
    if counted or mean is None or isinstance(scenario.activation, Free | Switching):
        return None
    if scenario.model.hysteresis is not None:
        return None
    if scenario.interventions:  # which change the rate
        return None
    return robots_at_levels(scenario)[-1] / mean


def _routing_cost(part: Part, section: Servers) -> dict[Subject, Array] | None:
    """Mean weighted cost of a packet, by server and of all; None where packets have none.

    By distance a packet costs something if it is not the server's first, and a server that is never
    used what its cost rises by with every packet.
    """
    if not section.is_costed:
        return None
    by_distance = section.spacing_cost is not None
    paid = part["spacing_cost"] if by_distance else part["lost"]
    packets = part["spaced"] if by_distance else packets_ended(part)
    paid = np.array(section.weight_of_each) * paid
    never = sum(section.final_rises[server] for server in section.unused)
    whole = paid.sum(axis=1) / packets.sum(axis=1) + never
    return dict(enumerate((paid / packets).T)) | {"all": whole}


def packets_ended(part: Part) -> Array:
    """Packets lost or served in the window, by server."""
    return part["lost"] + part["served"]


def _control_cost(values: Values, totals: Totals, scenario: Scenario) -> Array:
    """Prices times measures; a price of 0 leaves its measure out, defined or not."""

    def measured(measure: str, subject: Subject = None) -> Array:
        subjects, columns = values[measure]
        return columns[:, subjects.index(subject)]

    terms = {}
    if "servers" in totals.parts:
        terms["loss"] = measured("loss_rate")
    prices = scenario.prices
    if "mean_active_robots" in values:
        terms["robots"] = measured("mean_active_robots")
    if "switch_rate" in values:
        terms["switch"] = measured("switch_rate")
    if "buffer" in totals.parts:
        terms |= {
            "loss": measured("loss_rate"),
            "obsolescence": totals.parts["buffer"]["ended"][:, rules.OBSOLETE]
            / totals.own["window"],
            "starvation": measured("starvation_probability"),
            "response": measured("sojourn_time", "served"),
        }
    if "page_sums" in totals.parts:
        terms["staleness"] = measured("weighted_obsolescence")
    cost = np.full(totals.count, prices.standing)
    for name, value in (terms | _fetched(measured, totals, scenario)).items():
        price = getattr(prices, name)
        if price:
            cost = cost + price * value
    for index, price in enumerate(prices.by_class):
        cost = cost + price * measured("mean_active_robots", index)
    return cost


def _fetched(
    measured: Callable[[str], Array], totals: Totals, scenario: Scenario
) -> dict[str, Array]:
    """Accesses and bytes per unit time, those of accesses that fail included, where priced.

    The failures of one access in p are not counted: there are as many as the deliveries say, on
    average, and estimates by deliveries have no more variance. Where pages fall due, and accesses
    may time out, all are counted when they begin.
    """
    prices, parts, window = scenario.prices, totals.parts, totals.own["window"]
    if not (prices.access or prices.byte):
        return {}
    if "buffer" in parts:
        delivered = measured("arrival_rate")
    else:
        delivered = parts["page_set" if "page_set" in parts else "page_sums"]["accesses"] / window
    attempts: Array | float = prices.attempts
    if "frontier" in parts:
        attempts = parts["frontier"]["started"] / window / delivered
    fetched = {"access": attempts * delivered}
    if prices.byte:
        fetched["byte"] = attempts * measured("bytes_rate")
    return fetched
