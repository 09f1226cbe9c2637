"""Results as tables for people: what matters, and what was left out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import rich
from rich.markup import escape
from rich.table import Table

from crawlsim.cli.output import add_columns, half_width, number
from scenarios import Estimate, Results, Scenario
from scenarios.measures import Subject

if TYPE_CHECKING:
    from analytic import Comparison, NotApplicable, Prediction


OPTIONAL_COLUMNS = ("detectable", "needs", "z", "± SE", "high", "low", "± 95 %")
"""What a narrow terminal goes without: first what the verdict and the last line say as well."""

COLOURS = {"agrees": "green", "disagrees": "bold red", "inconclusive": "yellow"}
_SIGNS = {"lower bound": "≥ ", "upper bound": "≤ ", "asymptotic": "→ ", "approximation": "≈ "}
_PAGE_MEASURES = ("obsolescence_rate", "crawl_rate", "crawl_frequency", "index_age")
_FEW_PAGES = 50
_SHOWN_PAGES = 20
_RARE = 1e-6
_NEAREST = 5
"""Reasons that are shown where not all are asked for."""

_FAR_TOO_FEW = 100
"""Times as many replications as there are; if more would be needed, each should be longer."""

Row = TypeVar("Row", "Estimate", "Comparison", "Prediction")


def name_of(measure: str, subject: Subject) -> str:
    """A measure and its subject as a cell."""
    return escape(measure if subject is None else f"{measure} {subject}")


def _name(row: Estimate | Comparison | Prediction) -> str:
    return name_of(row.measure, row.subject)


def _new_table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(title=title, box=rich.box.SIMPLE, title_justify="left", caption_justify="left")
    for name in words:
        table.add_column(name, overflow="fold")
    add_columns(table, [], numbers)
    return table


def _worth_showing(
    rows: Iterable[Row], value: Any, everywhere: str = "--json and --out have all"
) -> tuple[list[Row], str]:
    """The rows that a person looks at, and a note on those left out and where they are.

    Of many pages the first twenty; of the levels those that are seen at all.
    """
    shown: list[Row] = []
    pages = levels = 0
    for row in rows:
        many = row.measure in _PAGE_MEASURES and int(row.subject or 0) >= _FEW_PAGES
        rare = row.measure == "level_probability" and value(row) < _RARE
        pages = pages + many
        levels = levels + rare
        if not many and not rare:
            shown.append(row)
    if pages:
        first = [r for r in shown if r.measure not in _PAGE_MEASURES or _is_early(r)]
        pages = pages + len(shown) - len(first)
        shown = first
    notes = [f"{levels} levels below {_RARE:g}"] * bool(levels)
    notes += [f"{pages} rows of further pages"] * bool(pages)
    return shown, f"left out: {', '.join(notes)} ({everywhere})" if notes else ""


def _is_early(row: Any) -> bool:
    return int(row.subject or 0) < _SHOWN_PAGES


def estimate_table(results: Results, scenario: Scenario, changes: Sequence[str] = ()) -> Table:
    """The estimates with their 95 % intervals."""
    count = f"{results.count} replication{'s' * (results.count != 1)}"
    title = f"{_titled(scenario, changes)}: {count}, engine {results.engine}, seed {results.seed}"
    ratios = results.variance_ratios
    columns = ["estimate", "± 95 %", "low", "high", *["variance ratio"] * bool(ratios)]
    table = _new_table(title, ["measure"], columns)
    rows, note = _worth_showing(results.estimates, lambda row: row.estimate)
    for row in rows:
        half = (row.high - row.low) / 2
        values = [row.low, row.high]
        values += [ratios.get((row.measure, row.subject), math.nan)] * bool(ratios)
        interval = half_width(row.estimate, half)
        table.add_row(_name(row), number(row.estimate), interval, *map(number, values))
    unit = f"times in the scenario's unit: {escape(scenario.time_unit)}"
    table.caption = f"{unit}; {note}" if note else unit
    return table


def _titled(scenario: Scenario, changes: Sequence[str]) -> str:
    return escape(", ".join([scenario.name, *changes]))


def prediction_table(scenario: Scenario, predictions: Sequence[Prediction]) -> Table:
    """Predictions with their kinds and sources."""
    table = _new_table(_titled(scenario, ()), ["measure"], ["value"])
    table.add_column("kind", no_wrap=True)
    table.add_column("source")
    rows, note = _worth_showing(predictions, lambda row: row.value, "--json has all")
    for row in rows:
        table.add_row(_name(row), number(row.value), row.kind, escape(row.source))
    table.caption = note or None
    return table


def reason_lines(others: Sequence[NotApplicable], every: bool = False) -> Iterator[str]:
    """Why formulas do not apply: each reason once, with the formulas that share it.

    The nearest ones, those that lack the least; all of them where `every` is set.
    """
    sources: dict[str, dict[str, None]] = {}
    for other in others:
        if every or not other.other_subject:
            sources.setdefault(other.reason, {})[other.source] = None
    shown = list(sources.items())[: None if every else _NEAREST]
    for reason, shared in shown:
        yield f"not applicable: {'; '.join(shared)}: {reason}"
    left_out = len(others) - sum(other.reason in dict(shown) for other in others)
    if left_out:
        foreign = sum(other.other_subject for other in others)
        count = f"{left_out} further formula{'s do' if left_out > 1 else ' does'} not apply"
        yield f"{count}, {foreign} of them for other systems (--all has the reasons)"


def comparison_table(
    scenario: Scenario, rows: Sequence[Comparison], verdict: str, changes: Sequence[str] = ()
) -> Table:
    """Predictions, estimates and verdicts; the judged rows first, equal ones once."""
    colour = COLOURS.get(verdict, "dim")
    title = f"{_titled(scenario, changes)}: [{colour}]{verdict}[/{colour}]"
    numbers = ["predicted", "estimated", "± SE", "z", "detectable"]
    table = _new_table(title, ["measure"], numbers)
    table.add_column("verdict", no_wrap=True)
    table.add_column("needs", justify="right", no_wrap=True)
    ordered = sorted(_once(rows), key=lambda each: each.verdict == "not judged")
    shown, note = _worth_showing(ordered, lambda row: max(row.predicted, row.estimated))
    for row in shown:
        paint = COLOURS.get(row.verdict, "dim")
        table.add_row(
            _name(row),
            _SIGNS.get(row.kind, "") + number(row.predicted),
            number(row.estimated),
            "none seen" if _never_seen(row) else number(row.standard_error),
            f"{row.z + 0.0:.2f}" if math.isfinite(row.z) else "–",
            share_shown(row.detectable),
            f"[{paint}]{row.verdict}[/{paint}]",
            "" if row.replications_needed is None else str(row.replications_needed),
        )
    table.caption = note or None
    return table


def _never_seen(row: Comparison) -> bool:
    """Its error is not one that was seen, but what `check` assumes of an event never seen."""
    return row.estimated == 0 and row.standard_error > 0


def share_shown(share: float | None) -> str:
    """As a percentage; of what is too rare for the run only that it is more than all of it."""
    if share is None:
        return "–"
    return f"{100 * share:.2g} %" if share <= 1 else "> 100 %"


def _once(rows: Sequence[Comparison]) -> Iterator[Comparison]:
    """Rows with the same prediction from several formulas are one row for a reader."""
    seen: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        values = seen.setdefault((row.measure, row.subject, row.kind, row.verdict), [])
        if not any(abs(row.predicted - value) <= 1e-9 * abs(value) for value in values):
            values.append(row.predicted)
            yield row


def summary_lines(
    scenario: Scenario, rows: Sequence[Comparison], verdict: str, results: Results
) -> Iterator[str]:
    """What to do about an inconclusive verdict, and what was compared with which formulas."""
    yield from _remedies(rows, results.count)
    aside = [row for row in _once(rows) if row.verdict == "not judged" and not row.settled]
    if aside:
        yield f"{len(aside)} of the rows not judged were not settled: the run is too short for them"
    others = _not_compared(rows, results)
    if rows and others:
        yield f"not predicted: {', '.join(others)} (see `run`)"
    sources = dict.fromkeys(row.source for row in rows if row.predicted == row.predicted)
    if sources:
        yield f"predicted by {'; '.join(sources)}"
    if verdict == "not judged":
        yield f"no exact formula covers {scenario.name}; `solve` says why"


def _remedies(rows: Sequence[Comparison], replications: int) -> Iterator[str]:
    """What would settle the inconclusive rows."""
    open_rows = [row for row in _once(rows) if row.verdict == "inconclusive"]
    unpredicted = [row.measure for row in open_rows if row.predicted != row.predicted]
    if unpredicted:
        yield f"no formula predicts: {', '.join(unpredicted)} (`solve` says why)"
    if short := [row for row in open_rows if row.window_too_short]:
        count = f"{len(short)} row{'s' * (len(short) != 1)} inconclusive"
        yield f"{count}: the window is too short: lengthen run.horizon"
    if early := [row for row in open_rows if row.warmup_too_short]:
        count = f"{len(early)} row{'s' * (len(early) != 1)} inconclusive"
        yield f"{count}: the warm-up is too short: try --warmup auto"
    open_rows = [row for row in open_rows if not (row.window_too_short or row.warmup_too_short)]
    needed = max((row.replications_needed or 0 for row in open_rows), default=0)
    if replications < 2 and open_rows:
        yield "one replication has no error: at least two are needed, ten are better"
    elif needed and not early:
        count = f"{len(open_rows)} row{'s' * (len(open_rows) != 1)} inconclusive"
        what = "all" if all(row.replications_needed for row in open_rows) else "most"
        if needed > _FAR_TOO_FEW * replications:
            yield f"{count}: the run is far too short: try a longer run.horizon first"
        else:
            yield f"{count}: try --replications {needed}, which would settle {what} of them"


def _not_compared(rows: Sequence[Comparison], results: Results) -> list[str]:
    """Measures that were simulated and of which no formula says anything."""
    compared = {row.measure for row in rows}
    simulated = dict.fromkeys(block.measure for block in results.rows.blocks)
    return [measure for measure in simulated if measure not in compared]


def condition_marks(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Conditions in words, numbered in the order of their first use."""
    words = dict.fromkeys(condition for row in rows for condition in row["conditions"])
    return {condition: mark for mark, condition in enumerate(words, 1)}


def formula_table(rows: Sequence[dict[str, Any]]) -> Table:
    """The index of formulas; conditions as numbers, for a list below the table."""
    marks = condition_marks(rows)
    table = Table(box=rich.box.SIMPLE)
    add_columns(table, ["paper", "number", "quantity"])
    table.add_column("function", no_wrap=True)
    add_columns(table, ["kind", "origin", "conditions"])
    for row in rows:
        numbers = sorted(marks[condition] for condition in row["conditions"])
        words = [row[name] for name in ("paper", "number", "quantity", "function")]
        words += [row["kind"], row["origin"]]
        table.add_row(*map(escape, words), " ".join(map(str, numbers)))
    return table
