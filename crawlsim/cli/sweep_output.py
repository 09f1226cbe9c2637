"""What a sweep shows and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import rich
from rich.markup import escape
from rich.table import Table

from crawlsim.cli.folder import Text
from crawlsim.cli.output import add_columns, csv_text, half_width, number
from crawlsim.cli.results import package_versions
from crawlsim.cli.sweep_answers import DIFFERENCES, BestCell, Goal, best_cell, difference_rows
from crawlsim.cli.sweep_chosen import CHOICE, ChosenCell
from crawlsim.cli.sweeping import Record, decisions, rows_from
from crawlsim.cli.tables import name_of
from scenarios import Scenario, dumps
from scenarios.files import value_text
from scenarios.measures import Subject
from sim.sweep import COLUMNS, Cell, shown

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
