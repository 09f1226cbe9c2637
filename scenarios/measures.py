"""The words that both sides speak: the measures, and how each follows from what a run counted.

The values of a row are functions of one part of a run, by its name. A part holds what its tally in
`sim.tally` counted, as arrays with one entry per replication in front, the length of the `window`,
and what `sim.estimates.measures` adds to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Subject = int | str | None
"""What a number is about: an index (page, level, server), a word, or nothing."""

Value = Callable[[Any], Any]
"""From a part of a run to an array of shape (n,), or (n, subjects), or such arrays by subject."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One kind of number: its name, what its subjects are, its unit, definition and values.

    Parameters
    ----------
    name : str
    subject : str or None
        What there is one number for each of; None: there is one number.
    unit : str
        "1" for a share.
    definition : str
    values : mapping str -> callable
        From parts of a run, by their names, to the values in each replication.
    """

    name: str
    subject: str | None
    unit: str
    definition: str
    values: Mapping[str, Value] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_fraction(self) -> bool:
        """Whether it is a probability or a fraction of time."""
        return self.unit == "1"

    def unit_in(self, time_unit: str) -> str:
        """The unit for a reader, with the scenario's own unit of time; a share says so."""
        return "share" if self.is_fraction else self.unit.replace("time", time_unit)


def _row(
    name: str, definition: str, subject: str | None = None, unit: str = "1", **values: Value
) -> Measure:
    return Measure(name, subject, unit, definition, values)


_CLASSES = "served, obsolete, accepted, all; served or accepted, and the class"

_ALL = (
    _row(
        "mean_active_robots",
        "time average of the active robots",
        subject="class",
        unit="robots",
        robots=lambda r: (
            {None: r.robots_time / r.window} | dict(enumerate(r.class_time.T / r.window))
        ),
    ),
    _row(
        "unchanged_rate",
        "accesses of active robots per unit time that find an anonymous page unchanged",
        unit="1/time",
        robots=lambda r: None if r.unchanged is None else r.unchanged / r.window,
    ),
    _row(
        "switch_rate",
        "robots switched on per unit time",
        unit="1/time",
        robots=lambda r: None if r.switched_on is None else r.switched_on / r.window,
    ),
    _row(
        "frontier_length",
        "time average of the due pages that wait for a robot",
        unit="pages",
        frontier=lambda f: f.waiting_time / f.window,
    ),
    _row(
        "frontier_delay",
        "mean time from falling due to the start of the access; every access counts alike",
        subject="page",
        unit="time",
        frontier=lambda f: (
            {None: f.delay / f.started} | dict(enumerate((f.page_delay / f.page_started).T))
        ),
    ),
    _row(
        "frontier_delay_quantile",
        "least time that a share of the accesses do not exceed, from falling due to their start",
        subject="the share; page, and the share",
        unit="time",
    ),
    _row(
        "catch_up_time",
        "time after the last intervention until no more due pages wait than usual",
        unit="time",
        frontier=lambda f: f.catch_up,
    ),
    _row(
        "busy_robots",
        "time average of the robots with an access",
        unit="robots",
        frontier=lambda f: f.busy_time / f.window,
    ),
    _row(
        "preemption_probability",
        "fraction of the packets that are lost",
        subject="server, all",
        servers=lambda s: (
            dict(enumerate((s.lost / s.ended).T))
            | {"all": s.lost.sum(axis=1) / s.ended.sum(axis=1)}
        ),
    ),
    _row(
        "routing_cost",
        "mean weighted cost of a packet: of its loss, or of its distance from the one before",
        subject="server, all",
        unit="cost/packet",
        servers=lambda s: s.routing_cost,
    ),
    _row(
        "arrival_rate",
        "pages delivered per unit time",
        unit="1/time",
        buffer=lambda b: b.delivered / b.window,
        servers=lambda s: s.arrived.sum(axis=1) / s.window,
    ),
    _row(
        "loss_rate",
        "pages lost per unit time",
        unit="1/time",
        buffer=lambda b: b.expected_losses / b.window,
        servers=lambda s: s.lost.sum(axis=1) / s.window,
    ),
    _row(
        "throughput",
        "pages indexed per unit time",
        unit="1/time",
        buffer=lambda b: b.served / b.window,
        servers=lambda s: s.served.sum(axis=1) / s.window,
    ),
    _row(
        "loss_probability",
        "share of the pages that are lost; of a class that of its pages",
        subject="class",
        buffer=lambda b: b.lost / b.pages,
        page_classes=lambda c: c.lost / c.pages,
    ),
    _row(
        "obsolescence_probability",
        "share of the pages dropped as obsolete; of a class that of its pages",
        subject="class",
        buffer=lambda b: b.obsolete / b.pages,
        page_classes=lambda c: c.obsolete / c.pages,
    ),
    _row(
        "success_probability",
        "share of the pages that are indexed",
        buffer=lambda b: b.served / b.pages,
    ),
    _row(
        "replacement_probability",
        "share of the pages replaced by a newer copy",
        buffer=lambda b: b.replaced / b.pages if b.replaces else None,
    ),
    _row(
        "starvation_probability",
        "fraction of time without a page in the system",
        buffer=lambda b: b.level_shares[:, 0],
    ),
    _row("full_probability", "probability of a full buffer, at a time"),
    _row("obsolete_rate", "pages dropped as obsolete per unit time", unit="1/time"),
    _row(
        "recovery_time",
        "time after the last change until the mean in system stays within 5 % of its long run",
        unit="time",
    ),
    _row(
        "loss_recovery_time",
        "the same of the pages lost per unit time, within 5 % or a thousandth of those delivered",
        unit="time",
    ),
    _row(
        "idle_indexers",
        "time average of the share of the servers without a page",
        buffer=lambda b: b.idle_shares,
    ),
    _row(
        "mean_batch",
        "mean number of pages in a batch that a server has indexed",
        unit="pages",
        buffer=lambda b: b.mean_batches,
    ),
    _row(
        "resume_rate",
        "times per unit time that an indexer comes back to work that was idle or away",
        unit="1/time",
        rests=lambda r: r.resumed / r.window,
    ),
    _row(
        "set_up_share",
        "fraction of time that the indexer sets up",
        rests=lambda r: r.set_up_time / r.window,
    ),
    _row(
        "blocking_probability",
        "share of the pages that find no room when they are delivered, and come back or are lost",
        orbit=lambda o: o.blocked / o.delivered,
    ),
    _row(
        "mean_in_orbit",
        "time average of the pages in orbit, which found no room and try again",
        unit="pages",
        orbit=lambda o: o.time / o.window,
    ),
    _row(
        "mean_in_system",
        "time average of the pages in the system",
        unit="pages",
        buffer=lambda b: b.level_shares @ b.levels,
    ),
    _row(
        "level_probability",
        "fraction of time with that many pages in the system",
        subject="level",
        buffer=lambda b: b.level_shares,
    ),
    _row(
        "sojourn_time",
        "mean time from entry to end of the pages of a class",
        subject=_CLASSES,
        unit="time",
        buffer=lambda b: {name: each.time / each.pages for name, each in b.classes.items()},
        page_classes=lambda c: {name: each.time / each.pages for name, each in c.classes.items()},
    ),
    _row(
        "sojourn_time_second_moment",
        "mean square of the time from entry to end",
        subject=_CLASSES,
        unit="time²",
        buffer=lambda b: {name: each.square / each.pages for name, each in b.classes.items()},
        page_classes=lambda c: {name: each.square / each.pages for name, each in c.classes.items()},
    ),
    _row(
        "sojourn_quantile",
        "least time that a share of the pages of a class do not exceed, from entry to end",
        subject="served, obsolete, accepted, all; and the share",
        unit="time",
    ),
    _row(
        "weighted_obsolescence",
        "sum of weights × obsolescence rates",
        subject="group",
        unit="weight",
        page_sums=lambda s: {None: s.weighted_stale_time / s.window} | s.weighted_shares,
    ),
    _row(
        "obsolescence_rate",
        "fraction of time the copy is out of date; of a group the mean of its pages",
        subject="page",
        pages=lambda p: p.stale_shares,
        page_sums=lambda s: s.stale_shares,
    ),
    _row(
        "crawl_rate",
        "accesses per unit time; of a group those of all its pages",
        subject="page",
        unit="1/time",
        pages=lambda p: p.deliveries / p.window[:, None],
        page_sums=lambda s: s.crawl_rates,
    ),
    _row(
        "crawl_frequency",
        "share of the accesses; of a group that of all its pages",
        subject="page",
        pages=lambda p: p.deliveries / p.accesses[:, None],
        page_sums=lambda s: s.crawl_frequencies,
    ),
    _row(
        "unchanged_share",
        "share of the accesses that find their page as it was at the last one",
        subject="page",
        page_sums=lambda s: s.unchanged_shares,
        pages=lambda p: 1.0 - p.found / p.deliveries if p.found.shape[1] else None,
    ),
    _row(
        "bytes_rate",
        "bytes fetched per unit time; of a group those of all its pages",
        subject="page",
        unit="bytes/time",
        page_sums=lambda s: s.bytes_rates,
        pages=lambda p: p.bytes / p.window[:, None] if p.bytes.shape[1] else None,
    ),
    _row(
        "index_age",
        "time average of the age of the copy in the index; of a group the mean of its pages",
        subject="page",
        unit="time",
        ages=lambda a: a.age_time / a.window[:, None],
        page_sums=lambda s: s.ages,
    ),
    _row(
        "time_to_refresh",
        "mean time from the change that puts the searchable copy out of date until one can be "
        "searched that holds it",
        subject="page",
        unit="time",
        page_sums=lambda s: s.times_to_refresh,
        pages=lambda p: p.refresh_time / p.refreshes,
    ),
    _row(
        "time_to_refresh_quantile",
        "least time to refresh that a share of these changes do not exceed",
        subject="the share; page, and the share",
        unit="time",
    ),
    _row(
        "stale_answer_probability",
        "fraction of client queries answered from an out-of-date copy",
        clients=lambda c: c.stale / c.queries,
    ),
    _row(
        "obsolescence_cost",
        "weighted waiting of the updates",
        subject="source",
        unit="importance × time",
        probing=lambda p: p.cost / p.paths,
        sources=lambda s: (
            {None: s.cost.sum(axis=1) / s.paths} | dict(enumerate(s.cost.T / s.paths))
        ),
    ),
    _row(
        "source_freshness",
        "fraction of time without an update still to be seen",
        subject="source",
        probing=lambda p: p.fresh_time / p.window,
        sources=lambda s: s.fresh_time / s.window[:, None],
    ),
    _row(
        "existing_pages",
        "time average of the pages that exist",
        unit="pages",
        page_set=lambda s: s.existing_time / s.window,
    ),
    _row(
        "known_share",
        "share of the existing pages that the robots know",
        page_set=lambda s: s.known_time / s.existing_time,
    ),
    _row(
        "indexed_share",
        "share of the existing pages that have a copy in the index",
        page_set=lambda s: s.indexed_time / s.existing_time,
    ),
    _row(
        "fresh_share",
        "share of the existing pages whose copy is up to date",
        page_set=lambda s: s.fresh_time / s.existing_time,
    ),
    _row(
        "gone_share",
        "share of the listed pages that have vanished",
        page_set=lambda s: s.gone_time / (s.known_time + s.gone_time),
    ),
    _row(
        "wasted_rate",
        "accesses per unit time that find their page gone",
        unit="1/time",
        page_set=lambda s: s.wasted / s.window,
    ),
    _row(
        "wasted_share",
        "share of the accesses that find their page gone",
        page_set=lambda s: s.wasted / s.accesses,
    ),
    # The last row: it is made of the measures above.
    _row(
        "control_cost",
        "sum of the prices in [costs] × their measures",
        unit="cost/time",
        costs=lambda c: c.paid(),
    ),
)

MEASURES: dict[str, Measure] = {measure.name: measure for measure in _ALL}
"""By name; those of plugins come last (`scenarios.plugins`)."""

PAGE_MEASURES = [each.name for each in _ALL if each.subject == "page"]
"""Those that have a number for each page, of plugins too."""

PREDICTED_ONLY = ("recovery_time", "loss_recovery_time")
"""Measures that no simulation estimates: its horizon may come before."""

QUANTILE_MEASURES = tuple(name for name in MEASURES if name.endswith("_quantile"))
"""Those that have a number for each share that the file asks for."""
