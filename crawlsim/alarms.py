"""Alarms: bounds that a simulation is not to be on the wrong side of, and what it tells of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crawlsim.bounds import WrittenBound, asks_for_quantile, bound_on_measure
from crawlsim.ranking import Record, after_a_moment, rows_in
from crawlsim.short_warm_ups import ShortWarmUp, short_warm_ups, short_warm_ups_in
from scenarios import Results, Scenario, ScenarioError
from scenarios.measures import PREDICTED_ONLY
from scenarios.results import Estimate, absent, subjects_of
from scenarios.text import counted, number
from sim.estimates.intervals import replications_to_exclude
from sim.sweep import Cell, Key, Row, label_of

OPTION = "--fail-if"

FAILED = 1
UNDECIDED = 3
"""Exit codes."""

_MOST_REPLICATIONS = 1_000_000

Verdict = Literal["passes", "fails", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a simulation tells of an alarm.

    Attributes
    ----------
    where : str
        The scenario, or the cell of a sweep.
    alarm : WrittenBound
        It fails where this holds.
    key : (measure, subject)
        Which number was looked at.
    estimate, low, high : float
        With the ends of its 95 % interval; nan where undefined.
    replications : int
    start : str
        Why it may not be believed: what the warm-up leaves of the start, in words.
    """

    where: str
    alarm: WrittenBound
    key: Key
    estimate: float
    low: float
    high: float
    replications: int
    start: str = ""

    @property
    def verdict(self) -> Verdict:
        """By the whole interval: it fails, or passes, on one side; else nobody can tell.

        Nor does it pass where a warm-up that is known to be too short may have biased it.
        """
        if self.alarm.is_open(self.low, self.high):
            return "cannot tell"
        if self.alarm.holds(self.low):
            return "fails"
        return "cannot tell" if self.start else "passes"

    @property
    def replications_needed(self) -> int | None:
        """With how many the interval would tell; None: with none that a simulation can make."""
        if self.verdict != "cannot tell":
            return self.replications
        if self.start:
            return None
        interval = (self.estimate, self.low, self.high)
        needed = replications_to_exclude(self.alarm.value, *interval, self.replications)
        return math.ceil(needed) if needed <= _MOST_REPLICATIONS else None

    @property
    def sentence(self) -> str:
        """The verdict in one line, and what it takes where there is none."""
        said = f"{self.where}: {self.verdict}: {self.alarm}"
        if math.isnan(self.estimate):
            return f"{said} (undefined: nothing was counted that it is a mean or a share of)"
        if math.isnan(self.low):
            return f"{said} ({number(self.estimate)}; one replication has no interval, two have)"
        ends = f"95 % interval {number(self.low)} to {number(self.high)}"
        said += f" ({number(self.estimate)}, {ends})"
        if self.verdict != "cannot tell":
            return said
        if self.start:
            return f"{said}; {self.start}: try --warmup auto"
        now = counted(self.replications, "replication")
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            return f"{said}; {now} are too few for an interval with two ends"
        needed = self.replications_needed
        if needed is None:
            return f"{said}; more replications would be needed than a simulation can make"
        return f"{said}; after {now} about {needed} would be needed"

    def record(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "bound": str(self.alarm),
            "measure": self.key[0],
            "subject": self.key[1],
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "verdict": self.verdict,
            "replications_needed": self.replications_needed,
            "short_warm_up": self.start or None,
        }


def alarms_of(texts: Iterable[str]) -> list[WrittenBound]:
    """The alarms that users wrote.

    Raises
    ------
    ScenarioError
        If one is no bound on a measure, or on one that no simulation estimates.
    """
    alarms = [bound_on_measure(text, OPTION) for text in texts]
    for alarm in alarms:
        if alarm.measure in PREDICTED_ONLY:
            raise ScenarioError(OPTION, str(alarm), "only the formulas give it; see crawlsim solve")
    return alarms


def require_measures(alarms: Sequence[WrittenBound], scenario: Scenario) -> None:
    """Refuse alarms on what a scenario does not have, by a simulation of hardly any time.

    Raises
    ------
    ScenarioError
    """
    if not alarms:
        return
    results = after_a_moment(scenario)
    for alarm in alarms:
        if asks_for_quantile(scenario, alarm.name):  # of which a moment need not have any time
            continue
        if not any(results.rows.find(*key) for key in alarm.keys):
            measure, subject = alarm.keys[0]
            known = subjects_of(results.rows.blocks)
            reason = absent(scenario.name, "estimate", measure, subject, known)
            raise ScenarioError(OPTION, str(alarm), reason)


def rulings_of(
    alarms: Sequence[WrittenBound], scenario: Scenario, results: Results
) -> list[Ruling]:
    """What a simulation tells of each alarm."""
    short = short_warm_ups(scenario) if alarms else []
    return [
        _ruling(scenario.name, alarm, lambda key: results.rows.find(*key), results.count, short)
        for alarm in alarms
    ]


def rulings_of_cells(
    alarms: Sequence[WrittenBound], grid: Sequence[Cell], records: Sequence[Record]
) -> list[Ruling]:
    """What each cell of a sweep tells of each alarm.

    Parameters
    ----------
    alarms : sequence of WrittenBound
    grid : sequence of Cell
    records : sequence of dict
        What came out of each cell (`crawlsim.ranking.cell_record`).

    Raises
    ------
    ScenarioError
        If no cell has such a number: those that were read from files were not looked at before.
    """
    if not alarms:
        return []
    every = [rows_in(record) for record in records]
    for alarm in alarms:
        if not any(key in rows for key in alarm.keys for rows in every):
            raise ScenarioError(OPTION, str(alarm), "no cell has such a number")
    rulings = []
    for cell, record, rows in zip(grid, records, every, strict=True):
        where = f"{cell.scenario.name}, {label_of(cell)}"
        count = next(iter(rows.values())).replications
        short = short_warm_ups_in(record)
        rulings += [_ruling(where, alarm, rows.get, count, short) for alarm in alarms]
    return rulings


def _ruling(
    where: str,
    alarm: WrittenBound,
    find: Callable[[Key], Estimate | Row | None],
    count: int,
    short: Sequence[ShortWarmUp],
) -> Ruling:
    """What is told of an alarm by the number that it is on; one that is not there is undefined."""
    row = next((row for key in alarm.keys if (row := find(key))), None)
    if row is None:
        return Ruling(where, alarm, alarm.keys[0], math.nan, math.nan, math.nan, count)
    key = (row.measure, row.subject)
    known = (each for each in short if each.is_known)
    start = next((each.words for each in known if each.may_bias(row.measure)), "")
    return Ruling(where, alarm, key, row.estimate, row.low, row.high, count, start)


def exit_code(rulings: Iterable[Ruling], failed: bool = False) -> int:
    """1 where something failed, this or an alarm, else 3 where an alarm cannot tell, else 0."""
    verdicts = {each.verdict for each in rulings}
    if failed or "fails" in verdicts:
        return FAILED
    return UNDECIDED if "cannot tell" in verdicts else 0
