"""Results as tables, JSON records and CSV files."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import rich
from rich.markup import escape
from rich.table import Table

from scenarios import Estimate, Results, Scenario, dumps
from sim.cli.output import add_columns, csv_text, number

if TYPE_CHECKING:
    from analytic import Comparison

__all__ = [
    "comparison_record",
    "comparison_table",
    "comparisons_csv",
    "condition_marks",
    "estimate_record",
    "estimate_table",
    "formula_table",
    "result_files",
]

_ESTIMATE = ("measure", "subject", "estimate", "standard_error", "low", "high")
_COMPARISON = (
    "measure",
    "subject",
    "predicted",
    "estimated",
    "standard_error",
    "z",
    "verdict",
    "detectable",
    "kind",
    "source",
    "replications_needed",
)
_COLOURS = {"agrees": "green", "disagrees": "bold red", "inconclusive": "yellow"}
_PACKAGES = ("crawlsim", "simpy", "numpy", "scipy", "pydantic")


def _name(measure: str, subject: Any) -> str:
    return measure if subject is None else f"{measure} {subject}"


def estimate_record(row: Estimate) -> dict[str, Any]:
    """One estimate for JSON."""
    return {name: getattr(row, name) for name in _ESTIMATE}


def comparison_record(row: Comparison) -> dict[str, Any]:
    """One comparison for JSON."""
    return {name: getattr(row, name) for name in _COMPARISON}


def estimate_table(results: Results, unit: str) -> Table:
    """The estimates with their 95 % intervals."""
    title = f"{results.scenario}: {results.count} replications, engine {results.engine}, "
    table = Table(title=f"{title}seed {results.seed}", box=rich.box.SIMPLE, title_justify="left")
    add_columns(table, ["measure"], ["estimate", "± 95 %", "low", "high"])
    for row in results.estimates:
        half = row.high - row.estimate
        cells = (number(value) for value in (row.estimate, half, row.low, row.high))
        table.add_row(_name(row.measure, row.subject), *cells)
    table.caption = f"rates and times in units of 1 {unit}"
    return table


def comparison_table(scenario: Scenario, rows: Sequence[Comparison], verdict: str) -> Table:
    """Predictions, estimates and verdicts; the judged rows first."""
    colour = _COLOURS.get(verdict, "dim")
    title = f"{scenario.name}: [{colour}]{verdict}[/{colour}]"
    table = Table(title=title, box=rich.box.SIMPLE, title_justify="left")
    add_columns(table, ["measure"], ["predicted", "estimated", "± SE", "z", "detectable"])
    add_columns(table, ["verdict", "source"])
    for row in sorted(rows, key=lambda each: each.verdict == "not judged"):
        seen = "–" if row.detectable is None else f"{100 * row.detectable:.2g} %"
        numbers = [number(row.predicted), number(row.estimated), number(row.standard_error)]
        table.add_row(
            _name(row.measure, row.subject),
            *numbers,
            number(round(row.z, 2)) if row.z == row.z else "–",
            seen,
            _verdict_in_words(row),
            row.source if row.kind == "exact" else f"{row.source} ({row.kind})",
        )
    return table


def _verdict_in_words(row: Comparison) -> str:
    colour = _COLOURS.get(row.verdict, "dim")
    needed = row.replications_needed
    more = f" ({needed} replications would settle it)" if needed else ""
    return f"[{colour}]{row.verdict}[/{colour}]{more}"


def condition_marks(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Conditions in words, numbered in the order of their first use."""
    words = dict.fromkeys(condition for row in rows for condition in row["conditions"])
    return {condition: number for number, condition in enumerate(words, 1)}


def formula_table(rows: Sequence[dict[str, Any]]) -> Table:
    """The index of formulas; conditions as numbers, for a list below the table."""
    marks = condition_marks(rows)
    table = Table(box=rich.box.SIMPLE)
    add_columns(table, ["paper", "number", "quantity", "function", "kind", "conditions"])
    for row in rows:
        numbers = " ".join(str(marks[condition]) for condition in row["conditions"])
        words = (row[name] for name in ("paper", "number", "quantity", "function", "kind"))
        table.add_row(*map(escape, words), numbers)
    return table


def comparisons_csv(checked: Sequence[tuple[Scenario, Sequence[Comparison]]]) -> str:
    """All comparisons as CSV."""
    rows = [
        (scenario.name, *(getattr(row, name) for name in _COMPARISON))
        for scenario, comparisons in checked
        for row in comparisons
    ]
    return csv_text(("scenario", *_COMPARISON), rows)


def result_files(
    simulated: Sequence[tuple[Scenario, Results]], folder: str, options: dict[str, Any]
) -> dict[str, str]:
    """Files about a simulation: estimates, replications, the scenarios, and provenance."""
    estimates = [
        (results.scenario, *(getattr(row, name) for name in _ESTIMATE))
        for _, results in simulated
        for row in results.estimates
    ]
    replications = [
        (results.scenario, replication, measure, subject, value)
        for _, results in simulated
        for (measure, subject), values in results.replications.items()
        for replication, value in enumerate(values)
    ]
    columns = ("scenario", "replication", "measure", "subject", "value")
    files = {
        "estimates.csv": csv_text(("scenario", *_ESTIMATE), estimates),
        "replications.csv": csv_text(columns, replications),
    }
    for scenario, _ in simulated:
        files[f"{scenario.name}.toml"] = dumps(scenario, folder)
    return files | {"provenance.json": _provenance(simulated, options)}


def _provenance(simulated: Sequence[tuple[Scenario, Results]], options: dict[str, Any]) -> str:
    import json
    from datetime import UTC, datetime

    document = {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version(name) for name in _PACKAGES},
        "options": options,
        "runs": [
            {
                "scenario": results.scenario,
                "engine": results.engine,
                "seed": results.seed,
                "replications": results.count,
            }
            for _, results in simulated
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
