"""The command `sweep`: a grid of what-ifs, simulated and solved; what it shows and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import click
import rich
from rich.markup import escape
from rich.table import Table

from crawlsim.cli.files import Text, own_folder, place_of, write_files
from crawlsim.cli.loading import (
    NumberRange,
    RunOptions,
    load_scenarios,
    run_options,
    single_scenario_options,
)
from crawlsim.cli.output import (
    OPTIONAL_COLUMNS,
    add_columns,
    csv_text,
    half_width,
    name_of,
    number,
    print_json,
    show_table,
)
from crawlsim.cli.results import file_names, package_versions, provenance
from crawlsim.cli.sweep_best import (
    CHOICE,
    DIFFERENCES,
    BestCell,
    ChosenCell,
    Goal,
    best_cell,
    choose_cell,
    difference_rows,
    goal_of,
    indifference_of,
)
from crawlsim.cli.sweep_cells import (
    CellFiles,
    Record,
    cell_records,
    decisions,
    identity_of,
    rows_from,
)
from scenarios import Scenario, ScenarioError, dumps
from scenarios.files import parse_value, value_text
from scenarios.measures import Subject
from sim.sweep import COLUMNS, Cell, cells, parse_vary, shown

FILES = ("sweep.csv", "differences.csv", "choice.csv", "sweep.svg", "report.html")

_FOLDED_KEY = 10


@dataclass(frozen=True)
class Swept:
    """A sweep that is done.

    Attributes
    ----------
    scenario : Scenario
        Before anything was varied.
    grid : sequence of Cell
    records : sequence of dict
        What came out of each cell (`cell_records`).
    goal : Goal or None
        What the best cell was asked for, if it was.
    level : float
        The confidence with which cells are told apart from the best one.
    chosen : ChosenCell or None
        The best cell, where it was chosen within an indifference.
    """

    scenario: Scenario
    grid: Sequence[Cell]
    records: Sequence[Record]
    goal: Goal | None
    level: float = 0.95
    chosen: ChosenCell | None = None

    @cached_property
    def best(self) -> BestCell | ChosenCell | None:
        """The best cell, where one was asked for and has a value."""
        if self.goal is None or self.chosen is not None:
            return self.chosen
        return best_cell(self.goal, self.records, self.level)

    @property
    def keys(self) -> list[str]:
        """The varied entries."""
        return list(self.grid[0].varied)

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the tidy rows."""
        return (*self.keys, *COLUMNS, *decisions(self.grid))

    @cached_property
    def named_rows(self) -> list[dict[str, Any]]:
        """The tidy rows, by the names of their columns."""
        rows = rows_from(self.grid, self.records)
        return [dict(zip(self.columns, row, strict=True)) for row in rows]

    @cached_property
    def _texts(self) -> list[dict[str, Any]]:
        """The rows with the varied values as a scenario file would write them."""
        return [
            {**row, **{key: value_text(row[key]) for key in self.keys}} for row in self.named_rows
        ]

    @cached_property
    def _shown(self) -> list[tuple[str, Subject]]:
        """What a person looks at."""
        return shown(self.scenario, [(row["measure"], row["subject"]) for row in self.named_rows])

    def files(self, folder: str) -> dict[str, Text]:
        """The names and contents of what ``--out`` asks for.

        Parameters
        ----------
        folder : str
            Where they will lie; paths in the scenario count from it.
        """
        against = self.best.index if self.best is not None else 0
        differences = difference_rows(self.grid, self.records, against)
        return {
            "sweep.csv": csv_text(self.columns, [tuple(row.values()) for row in self._texts]),
            "differences.csv": csv_text((*self.keys, *DIFFERENCES), differences),
            f"{self.scenario.name}.toml": dumps(self.scenario, folder),
            **self._choice(),
            **self._pages(folder),
        }

    def _choice(self) -> dict[str, Text]:
        """The table of the choice, where there was one."""
        if self.chosen is None:
            return {}
        return {"choice.csv": csv_text((*self.keys, *CHOICE), self.chosen.rows(self.grid))}

    def _pages(self, folder: str) -> dict[str, Text]:
        """The figure and the report."""
        from crawlsim.report.pages import sweep_html
        from crawlsim.report.sweep_figures import sweep_picture

        what = self._shown
        unit = self.scenario.time_unit
        return {
            "sweep.svg": sweep_picture(self._texts, what, self.keys, unit),
            "report.html": sweep_html(
                self.scenario,
                self._texts,
                what,
                self.keys,
                best=self.best.sentence(self.grid) if self.best is not None else None,
                facts=self._facts() | package_versions(),
                folder=folder,
            ),
        }

    def _facts(self) -> dict[str, str]:
        """What was run, as far as all cells have it in common; else from the least to the most."""
        runs = [record["run"] for record in self.records]
        facts: dict[str, list[float]] = {
            "replications": [run["replications"] for run in runs],
            "seed": [run["seed"] for run in runs],
        }
        probings = [cell.scenario.probing for cell in self.grid]
        if any(probings):
            facts["horizon"] = [probing.horizon for probing in probings if probing]
        else:
            facts["horizon"] = [cell.scenario.run.horizon for cell in self.grid]
            facts["warm-up"] = [run["warmup"] for run in runs]
        return {name: _span(values) for name, values in facts.items()}

    def table(self) -> Table:
        """What is shown of every cell, and a note on what is not."""
        table = Table(title=self.scenario.name, box=rich.box.SIMPLE, title_justify="left")
        for entry in self.keys:
            table.add_column(escape(entry), overflow="fold", min_width=min(len(entry), _FOLDED_KEY))
        table.add_column("measure", no_wrap=True)
        add_columns(table, [], ["estimate", "± 95 %", "predicted"])
        add_columns(table, decisions(self.grid))
        for row in self._texts:
            key = (row["measure"], row["subject"])
            if key in self._shown:
                half = (row["high"] - row["low"]) / 2
                found = number(row["estimate"]), half_width(row["estimate"], half)
                varied = [escape(row[key]) for key in self.keys]
                words = [escape(row[each] or "–") for each in decisions(self.grid)]
                table.add_row(*varied, name_of(*key), *found, number(row["predicted"]), *words)
        table.caption = self._left_out()
        return table

    def _left_out(self) -> str | None:
        """The judged measures that the table does not have, and how many others."""
        names = {key[0] for key in self._shown}
        others = dict.fromkeys(row["measure"] for row in self.named_rows)
        missing = [name for name in others if name not in names]
        judged = sorted(name for name in missing if name in self.scenario.judged)
        more = len(missing) - len(judged)
        words = [*judged, *[f"{more} other measure{'s' * (more > 1)}"] * bool(more)]
        return f"left out: {', '.join(words)} (--json and --out have all)" if words else None


def _span(values: Sequence[float]) -> str:
    """One value, or the least and the greatest of several."""
    low = min(values)
    high = max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


_CONFIDENCE = 0.95


@click.command()
@single_scenario_options
@run_options
@click.option(
    "--vary",
    "varied",
    multiple=True,
    required=True,
    metavar="KEY=V1,V2,…",
    help="Values of one entry; repeatable: all combinations are run. 2..5 and 1..9..2 are ranges.",
)
@click.option("--no-solve", is_flag=True, help="Simulate only, without evaluating formulas.")
@click.option("--minimise", metavar="MEASURE", help="Name the cell where this measure is smallest.")
@click.option("--maximise", metavar="MEASURE", help="Name the cell where this measure is largest.")
@click.option(
    "--indifference",
    type=click.FloatRange(0, min_open=True),
    metavar="DELTA",
    help="Add replications until no other cell is better by more than DELTA (unit of the measure).",
)
@click.option(
    "--confidence",
    type=NumberRange(0.5, 1, min_open=True, max_open=True),
    metavar="P",
    help="Confidence with which the best cell is named; default 0.95.",
)
def sweep(
    sources: tuple[str, ...],
    changes: tuple[str, ...],
    as_json: bool,
    seed: int | None,
    replications: int | None,
    varied: tuple[str, ...],
    no_solve: bool,
    minimise: str | None,
    maximise: str | None,
    indifference: float | None,
    confidence: float | None,
    **options: Any,
) -> None:
    """Simulate and solve every combination of some entries; the same seed for all of them.

    With --out every finished cell is kept there: the same command resumes an interrupted sweep.
    """
    if len(sources) > 1:
        raise ScenarioError("sweep", sources[1], "takes a single scenario")
    chosen = RunOptions(**options, solve=not no_solve)
    goal = goal_of(minimise, maximise)
    if confidence is not None and goal is None:
        raise ScenarioError("--confidence", confidence, "needs --minimise or --maximise")
    surely = _CONFIDENCE if confidence is None else confidence
    grid_of = parse_vary(varied, parse_value)
    (scenario,) = load_scenarios(sources, changes, seed, replications)
    grid = cells(scenario, grid_of)
    if chosen.warmup is not None and {"run", "run.warmup"} & set(grid_of):
        raise ScenarioError("--warmup", chosen.warmup, "does not go with --vary run.warmup")
    rule = indifference_of(indifference, surely, goal, grid, chosen)
    files = _cell_files(scenario, grid_of, grid, chosen)
    require = goal.require if goal else None
    records = cell_records(scenario.name, grid, chosen, files, as_json, require)
    choice = None
    if goal is not None and rule is not None:
        choice = choose_cell(goal, rule, grid, records, files, chosen, as_json)
    swept = Swept(scenario, grid, records, goal, surely, choice)
    if chosen.out is not None:
        asked = chosen.record(changes)
        asked |= {"vary": list(varied), "minimise": minimise, "maximise": maximise}
        asked |= {"indifference": indifference, "confidence": surely}
        runs = [
            {**each["varied"], **each["run"], **{name: each[name] for name in decisions(grid)}}
            for each in records
        ]
        made = swept.files(chosen.out)
        write_files(place_of(chosen.out), made, partial(provenance, runs, asked))
        click.echo(f"written to {chosen.out}", err=True)
    _show(swept, as_json)


def _cell_files(
    scenario: Scenario,
    varied: Mapping[str, Sequence[Any]],
    grid: Sequence[Cell],
    options: RunOptions,
) -> CellFiles | None:
    """Where finished cells are kept, if anywhere; a folder that is not ours is refused."""
    if options.out is None:
        return None
    own_folder(options.out, file_names([scenario], *FILES))
    identity = identity_of(scenario, varied, options, package_versions())
    return CellFiles(options.out, identity, grid)


def _show(swept: Swept, as_json: bool) -> None:
    goal = swept.goal
    best = swept.best
    if as_json:
        rows: Any = swept.named_rows
        named = best.record(swept.grid) if best else None
        print_json(rows if goal is None else {"rows": rows, "best": named})
        return
    show_table(swept.table(), OPTIONAL_COLUMNS)
    if goal is not None:
        click.echo(best.sentence(swept.grid) if best else f"no cell has a value of {goal.text}")
