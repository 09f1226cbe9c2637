"""The command `sweep`: a grid of what-ifs, simulated and solved; what it shows and writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.table import Column, Table

from crawlsim.alarms import rulings_of_cells
from crawlsim.cli.alarms import ALARMS, Case, alarm_record, alarms_asked, require_something
from crawlsim.cli.figures import claim_figures, write_figures
from crawlsim.cli.files import (
    Text,
    own_folder,
    package_versions,
    place_of,
    provenance,
    write_files,
)
from crawlsim.cli.loading import load_scenarios
from crawlsim.cli.options import (
    ONE_SCENARIO,
    RUN,
    NumberRange,
    RunOptions,
    command,
    option,
    takes,
)
from crawlsim.cli.output import (
    OPTIONAL_COLUMNS,
    csv_text,
    name_of,
    unit_of,
)
from crawlsim.cli.results import file_names
from crawlsim.cli.study import in_a_study
from crawlsim.cli.sweep_cells import (
    CellFiles,
    cell_records,
    decisions,
    identity_of,
    kept_replications,
)
from crawlsim.cli.tables import new_table, print_json, show_table, warn
from crawlsim.ranking import (
    CHOICE,
    DIFFERENCES,
    BestCell,
    Goal,
    Record,
    Within,
    difference_rows,
    formulas_between,
    goal_of,
    indifference_of,
    ranked,
    rows_in,
    without_effect,
)
from crawlsim.summary import PageName, naming_of, page_of
from scenarios import Scenario, ScenarioError, dumps
from scenarios.files import parse_value, value_text
from scenarios.measures import Subject
from scenarios.text import half_width, number, shortened
from sim.estimates.choosing import Indifference
from sim.sweep import COLUMNS, Cell, cells, parse_vary, shown

if TYPE_CHECKING:
    from crawlsim.report.drawing import Drawing
    from crawlsim.report.sweep_figures import SweepRows

_FILES = ("sweep.csv", "differences.csv", "choice.csv", "sweep.svg", "report.html")
_FOLDED_KEY = 10
_WIDEST_DECISION = 60
_CONFIDENCE = 0.95
_MOST_PARTS = 20
"""Pages or levels up to which they are shown beside the measure of the whole system."""


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
    best : BestCell or None
        The cell that was asked for, if there is one.
    only : tuple of str
        Measures that the table is limited to; () takes those that matter.
    versions : mapping
        What the report says of the programs.
    """

    scenario: Scenario
    grid: Sequence[Cell]
    records: Sequence[Record]
    best: BestCell | None
    only: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=package_versions)

    @property
    def keys(self) -> list[str]:
        """The varied entries."""
        return list(self.grid[0].varied)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows: varied values, the numbers, and the decision where one was made."""
        further = decisions(self.grid)
        return [
            {**cell.varied, **row._asdict(), **{name: record[name] for name in further}}
            for cell, record in zip(self.grid, self.records, strict=True)
            for row in rows_in(record).values()
        ]

    @cached_property
    def _texts(self) -> list[dict[str, Any]]:
        """The rows with the varied values as a scenario file would write them."""
        return self._written(self.rows)

    def _written(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, **{key: value_text(row[key]) for key in self.keys}} for row in rows]

    @cached_property
    def _drawn(self) -> SweepRows:
        """The same, and what the formulas give between the cells."""
        from crawlsim.report.sweep_figures import SweepRows

        between: list[dict[str, Any]] = []
        if any(row["predicted"] is not None for row in self.rows):
            between = self._written(formulas_between(self.grid, self._shown))
        unit = self.scenario.time_unit
        return SweepRows(self._texts, self._shown, self.keys, unit, between)

    @cached_property
    def _shown(self) -> list[tuple[str, Subject]]:
        """What a person looks at."""
        keys = [(row["measure"], row["subject"]) for row in self.rows]
        if self.only:
            asked = [key for key in dict.fromkeys(keys) if key[0] in self.only]
            parts = Counter(measure for measure, _ in asked)
            whole = (measure for measure, subject in asked if subject is None)
            many = {measure for measure in whole if parts[measure] > _MOST_PARTS}
            return [key for key in asked if key[1] is None or key[0] not in many]
        return shown(self.scenario, keys)

    def files(self, folder: str) -> dict[str, Text]:
        """The names and contents of what ``--out`` asks for.

        Parameters
        ----------
        folder : str
            Where they will lie; paths in the scenario count from it.
        """
        from crawlsim.report.pages import sweep_html
        from crawlsim.report.sweep_figures import sweep_picture

        best = self.best
        differences = difference_rows(self.grid, self.records, best.index if best else 0)
        columns = (*self.keys, *COLUMNS, *decisions(self.grid))
        page = page_of(self.scenario)
        last = ("page",) if page else ()
        files: dict[str, Text] = {
            "sweep.csv": csv_text(
                (*columns, *last), [self._line(row, page) for row in self._texts]
            ),
            "differences.csv": csv_text((*self.keys, *DIFFERENCES), differences),
            f"{self.scenario.name}.toml": dumps(self.scenario, folder),
        }
        if best and best.choice:
            files["choice.csv"] = csv_text((*self.keys, *CHOICE), best.choice)
        files["sweep.svg"] = sweep_picture(self._drawn)
        files["report.html"] = sweep_html(
            self.scenario,
            self._drawn,
            best=best.sentence if best else None,
            facts=self._facts() | dict(self.versions),
            folder=folder,
        )
        return files

    def drawings(self) -> Iterator[tuple[str, Drawing]]:
        """The figures, with the name of the scenario."""
        from crawlsim.report.pages import sweep_slides

        for each in sweep_slides(self._drawn):
            yield self.scenario.name, each

    @staticmethod
    def _line(row: dict[str, Any], page: PageName | None) -> tuple[Any, ...]:
        """A row of the file; where pages have names, that of its page comes last."""
        last = (page(row["measure"], row["subject"]),) if page else ()
        return (*row.values(), *last)

    def _facts(self) -> dict[str, str]:
        """What was run, as far as all cells have it in common; else from the least to the most."""
        runs = [record["run"] for record in self.records]
        facts: dict[str, list[float]] = {
            name: [run[name] for run in runs] for name in ("replications", "seed")
        }
        if probings := [cell.scenario.probing for cell in self.grid if cell.scenario.probing]:
            facts["horizon"] = [probing.horizon for probing in probings]
        else:
            facts["horizon"] = [cell.scenario.run.horizon for cell in self.grid]
            facts["warm-up"] = [run["warmup"] for run in runs]
        return {
            name: f"{min(values):g}" + f" to {max(values):g}" * (min(values) < max(values))
            for name, values in facts.items()
        }

    def table(self) -> Table:
        """What is shown of every cell, and a note on what is not."""
        entries = [
            Column(escape(key), overflow="fold", min_width=min(len(key), _FOLDED_KEY), _index=place)
            for place, key in enumerate(self.keys)
        ]
        further = decisions(self.grid)
        columns = ("|measure", ">estimate", ">± 95 %", ">predicted", "|unit", *further)
        table = new_table(self.scenario.name, *entries, *columns)
        naming = naming_of(self.scenario)
        for row in self._texts:
            key = (row["measure"], row["subject"])
            if key in self._shown:
                half = (row["high"] - row["low"]) / 2
                numbers = number(row["estimate"]), half_width(row["estimate"], half)
                varied = [escape(row[key]) for key in self.keys]
                words = [escape(shortened(row[each] or "–", _WIDEST_DECISION)) for each in further]
                unit = unit_of(key[0], self.scenario)
                predicted = number(row["predicted"])
                name = name_of(key[0], naming(*key))
                table.add_row(*varied, name, *numbers, predicted, unit, *words)
        missing = {row["measure"] for row in self.rows} - {key[0] for key in self._shown}
        left_out = sorted(missing & set(self.scenario.judged))
        if more := len(missing) - len(left_out):
            left_out.append(f"{more} other measure{'s' * (more > 1)}")
        if left_out:
            table.caption = f"left out: {', '.join(left_out)} (--json and --out have all)"
        return table


@command(
    example="crawlsim sweep my.toml --vary robots.available=2..5 --out robots",
    then="the same with --minimise loss_probability, which of them is best and how surely",
)
@takes(
    ONE_SCENARIO,
    option(
        "--vary KEY=V1,V2,…",
        "Values of an entry; repeatable: all combinations are run. 2..5 and 1..9..2 are ranges.",
        "varied",
        multiple=True,
        required=True,
    ),
    option("--no-solve", "Simulate only; do not evaluate formulas."),
    option("--minimise MEASURE", "Name the cell where this measure is smallest."),
    option("--maximise MEASURE", "Name the cell where this measure is largest."),
    option(
        "--first BOUND",
        "Name the first cell within a bound, e.g. 'loss_probability<0.01'; exit with 1 if there is "
        "none. Repeatable: all hold.",
        multiple=True,
    ),
    option("--last BOUND", "Name the last cell within a bound, likewise.", multiple=True),
    option(
        "--indifference DELTA",
        "Add replications until no other cell is better by more than DELTA (unit of the measure).",
        type=click.FloatRange(0, min_open=True),
    ),
    option(
        "--confidence P",
        "Confidence with which the best cell is named; default 0.95.",
        type=NumberRange(0.5, 1, min_open=True, max_open=True),
    ),
    *ALARMS,
    *RUN,
    in_a_study,
)
def sweep(
    sources: tuple[str, ...],
    varied: tuple[str, ...],
    no_solve: bool,
    minimise: str | None,
    maximise: str | None,
    first: tuple[str, ...],
    last: tuple[str, ...],
    indifference: float | None,
    confidence: float | None,
    fail_if: tuple[str, ...],
    junit: str | None,
    **given: Any,
) -> int:
    """Simulate and solve every combination of some entries; the same seed for all of them.

    With --out every finished cell is kept there: the same command resumes an interrupted sweep.
    """
    if len(sources) > 1:
        raise ScenarioError("sweep", sources[1], "takes a single scenario")
    options = RunOptions(**given, solve=not no_solve).checked(shows_measures=True)
    goal = goal_of(minimise, maximise, first, last)
    _refuse_beside(goal, confidence, options)
    alarms = alarms_asked(fail_if, junit, force=options.force)
    require_something(alarms, isinstance(goal, Within), "--fail-if, --first or --last")
    surely = _CONFIDENCE if confidence is None else confidence
    grid_of = parse_vary(varied, parse_value)
    (scenario,) = load_scenarios(sources, options.changes, options.seed, options.replications)
    grid = cells(scenario, grid_of)
    if options.warmup is not None and {"run", "run.warmup"} & set(grid_of):
        raise ScenarioError("--warmup", options.warmup, "does not go with --vary run.warmup")
    if indifference is not None and options.precision is not None:
        raise ScenarioError("--indifference", indifference, "does not go with --precision")
    rule = indifference_of(indifference, surely, goal, grid, options.max_replications)
    files = None
    claim_figures(options.figures, options.drawn_as, force=options.force, beside=options.out)
    if options.out is not None:
        own_folder(options.out, file_names([scenario], *_FILES), force=options.force)
        identity = identity_of(scenario, grid_of, options, package_versions())
        files = CellFiles(options.out, identity, grid)
    require = (alarms.require, goal.require) if goal else (alarms.require,)
    records = cell_records(scenario.name, grid, options, files, require)
    rulings = rulings_of_cells(alarms.bounds, grid, records)
    _warn_of_what_is_overruled(scenario.name, grid, records)
    best = _best(goal, grid, records, surely, rule, options, files) if goal else None
    bounds = goal.bounds if isinstance(goal, Within) else ()
    only = options.measures or tuple(dict.fromkeys(each.measure for each in bounds))
    versions = {} if options.versions_apart else package_versions()
    swept = Swept(scenario, grid, records, best, only, versions)
    runs = [
        {**each["varied"], **each["run"], **{name: each[name] for name in decisions(grid)}}
        for each in records
    ]
    if options.out is not None:
        asked = options.record()
        asked |= {"vary": list(varied), "minimise": minimise, "maximise": maximise}
        asked |= {"first": list(first), "last": list(last)}
        asked |= {"indifference": indifference, "confidence": surely}
        made = swept.files(options.out)
        record = partial(provenance, runs, asked)
        write_files(place_of(options.out), made, record, force=options.force)
        click.echo(f"written to {options.out}", err=True)
    write_figures(options.figures, options.drawn_as, swept.drawings, runs, force=options.force)
    said = "" if goal is None else best.sentence if best else _missed(goal)
    if options.as_json:
        document = {"rows": swept.rows, "best": best.record if best else None}
        print_json((document | alarm_record(rulings)) if goal or rulings else swept.rows)
    else:
        show_table(swept.table(), OPTIONAL_COLUMNS)
        if said:
            click.echo(said)
    cases = []
    if isinstance(goal, Within):
        name = f"{goal.option.removeprefix('--')} with {goal.text}"
        cases = [Case(scenario.name, name, "" if best else "failure", said)]
    return alarms.concluded("sweep", rulings, cases, quiet=options.as_json)


def _refuse_beside(
    goal: Goal | Within | None, confidence: float | None, options: RunOptions
) -> None:
    """Refuse what does not go with what is wanted."""
    if goal is not None and goal.is_predicted and not options.solve:
        reason = "does not go with --no-solve: only the formulas give it"
        raise ScenarioError(goal.option, goal.text, reason)
    if confidence is not None and not isinstance(goal, Goal):
        raise ScenarioError("--confidence", confidence, "needs --minimise or --maximise")


def _missed(goal: Goal | Within) -> str:
    """That no cell has what is wanted, and where the reason is found."""
    return goal.missed + "; crawlsim solve says why" * goal.is_predicted


def _warn_of_what_is_overruled(name: str, grid: Sequence[Cell], records: Sequence[Record]) -> None:
    for key in without_effect(grid, records):
        warn(f"{name}: {key} changes no number here; does another entry overrule it?")


def _best(
    goal: Goal | Within,
    grid: Sequence[Cell],
    records: Sequence[Record],
    surely: float,
    rule: Indifference | None,
    options: RunOptions,
    files: CellFiles | None,
) -> BestCell | None:
    """The cell that is wanted, with further replications where an indifference asks for them."""
    if rule is None:
        return ranked(goal, grid, records, surely)
    name = grid[0].scenario.name
    with kept_replications(name, grid, records, rule.most, options, files) as further:
        best = ranked(goal, grid, records, surely, rule, further)
    if best and best.warning:
        warn(f"{name}: {best.warning}")
    return best
