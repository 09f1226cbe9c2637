"""The words that both sides speak: the measures."""

from __future__ import annotations

from dataclasses import dataclass

Subject = int | str | None
"""What a number is about: an index (page, level, server), a word, or nothing."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One kind of number: its name, what its subjects are, its unit and its definition.

    `is_fraction` marks probabilities and fractions of time.
    """

    name: str
    subject: str | None
    unit: str
    definition: str
    is_fraction: bool = False


def _fraction(name: str, subject: str | None, definition: str) -> Measure:
    return Measure(name, subject, "1", definition, is_fraction=True)


_CLASSES = "served, obsolete, accepted, all"

_ALL = (
    _fraction("obsolescence_rate", "page", "fraction of time the copy is out of date"),
    Measure("weighted_obsolescence", None, "weight", "sum of weights × obsolescence rates"),
    Measure("index_age", "page", "time", "time average of the age of the copy in the index"),
    _fraction("crawl_frequency", "page", "share of the accesses"),
    Measure("crawl_rate", "page", "1/time", "accesses per unit time"),
    _fraction(
        "stale_answer_probability",
        None,
        "fraction of client queries answered from an out-of-date copy",
    ),
    Measure("arrival_rate", None, "1/time", "pages delivered per unit time"),
    Measure("loss_rate", None, "1/time", "pages lost per unit time"),
    Measure("throughput", None, "1/time", "pages indexed per unit time"),
    _fraction("loss_probability", None, "share of the pages that are lost"),
    _fraction("obsolescence_probability", None, "share of the pages dropped as obsolete"),
    _fraction("success_probability", None, "share of the pages that are indexed"),
    _fraction("replacement_probability", None, "share of the pages replaced by a newer copy"),
    _fraction("starvation_probability", None, "fraction of time without a page in the system"),
    Measure("mean_active_robots", None, "robots", "time average of the active robots"),
    Measure("mean_in_system", None, "pages", "time average of the pages in the system"),
    _fraction("level_probability", "level", "fraction of time with that many pages in the system"),
    Measure(
        "sojourn_time", _CLASSES, "time", "mean time from entry to end of the pages of a class"
    ),
    Measure(
        "sojourn_time_second_moment", _CLASSES, "time²", "mean square of the time from entry to end"
    ),
    Measure("control_cost", None, "cost/time", "sum of the prices in [costs] × their measures"),
    _fraction("preemption_probability", "server, all", "fraction of the packets that are lost"),
    Measure("obsolescence_cost", None, "importance × time", "weighted waiting of the updates"),
    _fraction("source_freshness", None, "fraction of time without an update still to be seen"),
)

MEASURES: dict[str, Measure] = {measure.name: measure for measure in _ALL}
