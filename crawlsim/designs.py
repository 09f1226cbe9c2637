"""Two designs, simulated with common random numbers: by how much they differ, and which is better.

Replication for replication both see the same deliveries and services as far as they have them in
common, so that their differences are known better than their values (`sim.estimates.paired`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawlsim.ranking import name_of_key
from scenarios import Results, Scenario, ScenarioError
from scenarios.measures import MEASURES, Subject
from scenarios.results import Key, html_of
from scenarios.text import counted, number
from sim.estimates.paired import Difference, Estimated, paired_difference
from sim.sweep import kept

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

BETTER = {
    "control_cost": -1,
    "loss_probability": -1,
    "obsolescence_probability": -1,
    "throughput": 1,
    "starvation_probability": -1,
    "sojourn_time served": -1,
    "weighted_obsolescence": -1,
    "index_age": -1,
    "time_to_refresh": -1,
    "stale_answer_probability": -1,
    "bytes_rate": -1,
    "frontier_delay": -1,
    "catch_up_time": -1,
    "fresh_share": 1,
    "wasted_share": -1,
    "preemption_probability all": -1,
    "routing_cost all": -1,
    "source_freshness": 1,
    "obsolescence_cost": -1,
}
"""Measures by which a design is better, the first ones first: 1 where more is, -1 where less is.

Others follow from these, or are neither good nor bad by themselves. Of the sojourn times it is that
of the served pages: a lost one stays for no time at all.
"""

_LEAST_REPLICATIONS = 2


class DesignDifference(NamedTuple):
    """How much larger a measure is in B than in A.

    Attributes
    ----------
    measure, subject
    a, b : float
        The estimates.
    difference : float
        That of B minus that of A; nan where either is undefined.
    low, high : float
        Ends of its 95 % interval.
    """

    measure: str
    subject: Subject
    a: float
    b: float
    difference: float
    low: float
    high: float

    @property
    def key(self) -> Key:
        """The measure and subject."""
        return self.measure, self.subject

    @property
    def name(self) -> str:
        """The measure, with its subject where it has several."""
        return name_of_key((self.measure, self.subject))

    @property
    def half(self) -> float:
        """Half of the width of the interval."""
        return (self.high - self.low) / 2

    @property
    def better(self) -> str:
        """The design that is better by this measure: "A" or "B", else ""."""
        sign = BETTER.get(self.name, 0)
        if sign * self.low > 0 and sign * self.high > 0:
            return "B"
        return "A" if sign * self.low < 0 and sign * self.high < 0 else ""

    def in_words(self, time_unit: str) -> str:
        """The measure and its difference, rounded to two digits of the error; shares in points."""
        measure = MEASURES[self.measure]
        points = measure.is_fraction
        scale = 100.0 if points else 1.0
        difference, half = scale * self.difference, scale * self.half
        digits = 1 - math.floor(math.log10(half)) if half > 0 else 0
        rounded = (
            f"{round(difference, digits):+.{max(digits, 0)}f}" if half > 0 else f"{difference:+g}"
        )
        shown = f"{rounded} ± {round(half, digits):g}"
        unit = "points" if points else measure.unit_in(time_unit)
        return f"{self.name} {shown} {unit}"


@dataclass(frozen=True)
class DesignComparison:
    """Two designs that were simulated with common random numbers.

    Parameters
    ----------
    a, b : Results
        What each of them gave.
    time_unit : str
        Of both.
    rows : list of DesignDifference
        Of all that both have, but single pages, levels and servers.
    """

    a: Results
    b: Results
    time_unit: str
    rows: list[DesignDifference]

    def __repr__(self) -> str:
        return f"<DesignComparison of {self.a.scenario} and {self.b.scenario}: {self.sentence}>"

    def _repr_html_(self) -> str:
        return html_of(self.to_frame(), self.sentence)

    @property
    def judged(self) -> list[DesignDifference]:
        """The differences by which one may be better, in the order of `BETTER`."""
        by_name = {row.name: row for row in self.rows}
        return [by_name[name] for name in BETTER if name in by_name]

    @property
    def sentence(self) -> str:
        """Which design is better, and by how much; the other one where it is better too."""
        by_design = {
            design: [row for row in self.judged if row.better == design] for design in "AB"
        }
        # Where there are prices, they weigh one against the other.
        first = next((row.better for row in self.judged if row.measure == "control_cost"), "")
        parts = [
            f"{design} {'costs less' if design == first else 'is better'}: "
            + ", ".join(row.in_words(self.time_unit) for row in by_design[design])
            for design in sorted("AB", key=lambda each: (each != first, each == "A"))
            if by_design[design]
        ]
        if parts:
            return "; ".join(parts)
        return f"A and B are not told apart after {counted(self.a.count, 'replication')}"

    def find(self, measure: str, subject: Subject = None) -> DesignDifference:
        """The difference of a measure.

        Parameters
        ----------
        measure, subject
            As of `Results.find`.

        Raises
        ------
        LookupError
            If there is none, with what there is.
        """
        found = next((row for row in self.rows if row.key == (measure, subject)), None)
        if found is None:
            there = ", ".join(row.name for row in self.rows)
            raise LookupError(f"no difference of {name_of_key((measure, subject))}; {there}")
        return found

    def to_frame(self) -> pd.DataFrame:
        """One row for each difference."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=DesignDifference._fields)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """The differences by which one may be better, relative to A (`plot_designs`).

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure otherwise.
        """
        from crawlsim.pictures import in_pyplot

        return in_pyplot(self.drawn, ax)

    def drawn(self, ax: Axes | None = None) -> Axes:
        """The same on a figure that belongs to no window."""
        from crawlsim.report.design_figure import Relative, plot_designs

        relative = [
            Relative(
                row.name.replace("_", " "),
                100 * row.difference / row.a,
                100 * row.half / row.a,
                row.better,
            )
            for row in self.judged
            if row.a > 0 and not math.isnan(row.low)
        ]
        return plot_designs(relative, self.a.scenario, self.b.scenario, ax)


def with_numbers_of(a: Scenario, b: Scenario) -> Scenario:
    """The second of two designs, with the seed and the replications of the first.

    Raises
    ------
    ScenarioError
        If their times have different units, or one replication would show no error.
    """
    if a.time_unit != b.time_unit:
        raise ScenarioError("time_unit", b.time_unit, f"is {a.time_unit!r} in {a.name}", b.name)
    if a.run.replications < _LEAST_REPLICATIONS:
        allowed = f"must be at least {_LEAST_REPLICATIONS}: one shows no error"
        raise ScenarioError("run.replications", a.run.replications, allowed)
    return b.with_({"run.seed": a.run.seed, "run.replications": a.run.replications})


def compared(scenarios: Sequence[Scenario], results: Sequence[Results]) -> DesignComparison:
    """The differences of two designs that were simulated with the same seed.

    Parameters
    ----------
    scenarios, results
        Of A and B.

    Raises
    ------
    ScenarioError
        If they have no measure in common.
    """
    a, b = results
    both = [key for key in a.leave_one_out if key in b.leave_one_out]
    shown = {key for each in scenarios for key in kept(each, both)}
    rows = [_difference(key, a, b) for key in both if key in shown]
    if not rows:
        reason = f"has no measure in common with {a.scenario}"
        raise ScenarioError("B", b.scenario, reason)
    return DesignComparison(a, b, scenarios[0].time_unit, rows)


def _difference(key: Key, a: Results, b: Results) -> DesignDifference:
    one, other = (
        Estimated(each.find(*key).estimate, np.array(each.leave_one_out[key])) for each in (a, b)
    )
    found: Difference = paired_difference(other, one)
    ends = (found.low, found.high)
    return DesignDifference(*key, one.estimate, other.estimate, found.difference, *ends)


def only_in_one(comparison: DesignComparison) -> Iterator[str]:
    """In words, the measures that only one of two designs has."""
    measures = {
        name: dict.fromkeys(block.measure for block in each.rows.blocks)
        for name, each in (("A", comparison.a), ("B", comparison.b))
    }
    for own, other in (("A", "B"), ("B", "A")):
        if alone := [name for name in measures[own] if name not in measures[other]]:
            yield f"only {own} has {', '.join(alone)}"


def value_of(row: DesignDifference) -> tuple[str, str, str, str]:
    """The two estimates, their difference and half of its interval, for people."""
    return number(row.a), number(row.b), number(row.difference), number(row.half)
