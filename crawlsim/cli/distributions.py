"""What `check --distributions` does beside an ordinary check: compare, show, write."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import rich
from rich.markup import escape
from rich.table import Table

from crawlsim.cli.output import (
    COLOURS,
    add_columns,
    csv_text,
    name_of,
    number,
    share_shown,
    show_table,
)
from scenarios import Results, Scenario
from scenarios.law_points import LawPoints

if TYPE_CHECKING:
    from analytic import LawComparison
    from analytic.indexing_queue import ExactLaw, NoLaw


ComparedLaws = Mapping[str, Sequence["LawComparison"]]
"""By the name of the scenario."""

_POINT = ("at", "predicted", "estimated", "standard_error")


def exact_distributions(scenarios: Sequence[Scenario]) -> dict[str, list[ExactLaw | NoLaw]]:
    """The exact distributions of each scenario, or why there are none."""
    from analytic import exact_laws

    return {scenario.name: exact_laws(scenario) for scenario in scenarios}


def points_to_count(exact: Mapping[str, list[ExactLaw | NoLaw]]) -> dict[str, LawPoints]:
    """What each simulation has to count."""
    from analytic import points_of

    return {name: points_of(laws) for name, laws in exact.items()}


def compared_distributions(
    exact: Mapping[str, list[ExactLaw | NoLaw]], simulated: Sequence[tuple[Scenario, Results]]
) -> dict[str, list[LawComparison]]:
    """The comparisons of each scenario; nothing where they were not asked for."""
    from analytic import check_laws

    return {s.name: check_laws(s, exact[s.name], results) for s, results in simulated if exact}


def distributions_entry(laws: ComparedLaws, name: str) -> dict[str, Any]:
    """The entry of a scenario in the JSON document; none where it was not asked for."""
    return {"distributions": [_record(row) for row in laws[name]]} if laws else {}


def _record(row: LawComparison) -> dict[str, Any]:
    return {
        "measure": row.law.measure,
        "subject": row.law.subject,
        "statistic": row.statistic,
        "p_value": row.p_value,
        "verdict": row.verdict,
        "detectable": row.detectable,
        "replications_needed": row.replications_needed,
        "warmup_too_short": row.warmup_too_short,
        "source": row.source or None,
        "reason": row.reason,
        "points": [{name: getattr(point, name) for name in _POINT} for point in row.points],
    }


def distributions_csv(laws: ComparedLaws) -> str:
    """Every point of every distribution as CSV."""
    rows = [
        (
            scenario,
            row.law.measure,
            row.law.subject,
            *(getattr(point, name) for name in _POINT),
            row.verdict,
        )
        for scenario, compared in laws.items()
        for row in compared
        for point in row.points
    ]
    return csv_text(("scenario", "measure", "subject", *_POINT, "verdict"), rows)


def show_distributions(scenario: Scenario, laws: ComparedLaws) -> None:
    """The table of the distributions, where they were asked for, and why some are not in it."""
    if not laws:
        return
    rows = laws[scenario.name]
    if any(row.points for row in rows):
        show_table(_table(scenario, rows), ("needs", "detectable", "± SE", "p"))
    if any(row.warmup_too_short for row in rows):
        click.echo("  the warm-up is too short for these distributions: try --warmup auto")
    for reason, names in _reasons(rows).items():
        click.echo(f"  no exact distribution of {', '.join(names)}: {reason}")


def _reasons(rows: Sequence[LawComparison]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.reason is not None:
            name = " ".join(filter(None, (row.law.measure, str(row.law.subject or ""))))
            reasons.setdefault(row.reason, []).append(name)
    return reasons


def _table(scenario: Scenario, rows: Sequence[LawComparison]) -> Table:
    """One row for each distribution: the point that differs most."""
    table = Table(
        title=f"{escape(scenario.name)}: distributions",
        box=rich.box.SIMPLE,
        title_justify="left",
        caption_justify="left",
    )
    numbers = ["worst at", "predicted", "estimated", "± SE", "t", "p", "detectable"]
    add_columns(table, ["distribution"], numbers)
    table.add_column("verdict", no_wrap=True)
    table.add_column("needs", justify="right", no_wrap=True)
    for row in rows:
        if row.points:
            table.add_row(*_cells(row))
    table.caption = (
        "predicted and estimated: share of the pages or cycles up to the value that differs most; "
        f"times in the scenario's unit: {escape(scenario.time_unit)}"
    )
    return table


def _cells(row: LawComparison) -> list[str]:
    worst = row.largest
    colour = COLOURS.get(row.verdict, "dim")
    shown = [math.nan] * 5
    if worst is not None:
        shown = [worst.at, worst.predicted, worst.estimated, worst.standard_error, worst.t]
    return [
        name_of(row.law.measure, row.law.subject),
        *map(number, shown[:4]),
        "–" if math.isnan(shown[4]) else f"{shown[4] + 0.0:.2f}",
        "–" if math.isnan(row.p_value) else f"{row.p_value:.2g}",
        share_shown(row.detectable),
        f"[{colour}]{row.verdict}[/{colour}]",
        "" if row.replications_needed is None else str(row.replications_needed),
    ]
