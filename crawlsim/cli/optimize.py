"""The command `optimize`: the best decision of one kind, with its cost and a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

from crawlsim.cli.figures import claim_figures, write_figures
from crawlsim.cli.files import FIGURES, claim_all, figure_bytes, write_all
from crawlsim.cli.loading import load_scenarios
from crawlsim.cli.options import (
    FORCE,
    JSON,
    SCENARIOS,
    SEED,
    SET,
    SLIDES,
    WHERE,
    NumberRange,
    RunOptions,
    command,
    option,
    takes,
)
from crawlsim.cli.output import csv_text, progress_bar
from crawlsim.cli.study import in_a_study
from crawlsim.cli.tables import json_text, new_table, print_json, show_table, warn
from crawlsim.cli.workers import workers
from crawlsim.own_files import IN_MARKUP, IN_TOML, claim, signed, write
from scenarios import Scenario, ScenarioError, dumps
from scenarios.arrays import but_for_rounding
from scenarios.base import listed
from scenarios.files import parse_value, value_text
from scenarios.model import present
from scenarios.text import half_width, number, shortened, units, visible
from sim.sweep import parse_vary

if TYPE_CHECKING:
    from analytic import Optimum
    from crawlsim.report.drawing import Drawing
    from crawlsim.searching import SearchRequest

_RECORD = (
    *("target", "cost", "lower_bound", "decision", "horizon"),
    *("table", "notes", "proved", "gap", "kind", "promise"),
)
_MOST_ROWS = 40
_MET = ("occasions", "probability")
"""Columns that say how often a state is met, where rows have no cost."""

_LONGEST_LIST = 8
_LONGEST_TEXT = 240
_LONGEST_CELL = 16
_MOST_NAMED = 10
_LONGEST_NAME = 80

MOST_LISTED = 1000
"""Frequencies up to which they stand in the scenario file itself."""

_KEY = "robots.accessing.frequencies"
_COLUMN = "frequency"


@command(
    example="crawlsim optimize optimal-thresholds --target threshold --out best.toml",
    then="crawlsim check best.toml, the decision in a simulation",
)
@takes(
    SCENARIOS,
    option(
        "--target T",
        "What to decide: one of the above.",
        required=True,
    ),
    option(
        "--over KEY=V1,V2,…",
        "What may be chosen, with design; repeatable. 2..5 and 1..9..2 are ranges.",
        multiple=True,
    ),
    SET,
    option(
        "--kind K",
        "What the answer may rest on: exact, approximation or simulated; default: the first of "
        "these that there is.",
    ),
    option(
        "--indifference DELTA",
        "Simulate until no other rule costs less by more than DELTA; default: 1 % of the cost.",
        type=click.FloatRange(0, min_open=True),
    ),
    option(
        "--confidence P",
        "Probability with which a simulated decision is as good as that.",
        type=NumberRange(0.5, 1, min_open=True, max_open=True),
        default=0.95,
    ),
    option(
        "--subject-to BOUND",
        "Only what keeps it, e.g. 'loss_probability <= 0.01'; repeatable: all hold. Of design, "
        "static, threshold, levels, free, switching.",
        multiple=True,
    ),
    option("--replications N", "Of each rule, before one is dropped.", type=int, default=20),
    option(
        "--max-replications N",
        "Of each rule; then the answer says how good it is.",
        type=click.IntRange(1),
        default=1000,
    ),
    SEED,
    *WHERE,
    option("--out FILE", "Write the scenario with the decision in place."),
    option("--report FILE", "Write a page with the decision, its figure and its file: .html."),
    option("--figure FILE", "Draw the costs or the decision: a .svg, .png or .pdf file."),
    in_a_study,
    *SLIDES,
    FORCE,
    JSON,
)
def optimize(
    sources: tuple[str, ...],
    changes: tuple[str, ...],
    as_json: bool,
    target: str,
    over: tuple[str, ...],
    kind: str | None,
    indifference: float | None,
    confidence: float,
    subject_to: tuple[str, ...],
    replications: int,
    max_replications: int,
    seed: int | None,
    out: str | None,
    figure: str | None,
    figures: str | None,
    drawn_as: str | None,
    report: str | None,
    force: bool,
    answer: str | None = None,
    **where: Any,
) -> None:
    """Find the best decision of one kind: exactly, or by simulation with a stated probability.

    \b
    static       how many robots should be active, always
    threshold    how many robots up to which number of pages in the buffer
    levels       how many robots at each number of pages, in any order
    free         how many robots at each level and phase of deliveries and service
    switching    how many robots at each level, switched on one at a time
    frequencies  which share of the accesses each page should get
    template     in which order a few pages should be accessed
    routing      which server should get the next packet
    probes       when a changing source should be probed
    design       how many robots, indexers, places to buy: any entries, from --over
    """  # noqa: D301  # click takes the character itself
    from analytic.index.targets import require_target
    from crawlsim.searching import SearchRequest

    require_target(target, "--target", beside=("design",))
    scenarios = load_scenarios(sources, changes, seed)
    asked_for = {"--out": out, "--figure": figure, "--report": report, "--study": answer}
    files = _claimed(asked_for, figures, drawn_as, target, scenarios, force)
    options = RunOptions(**where, as_json=as_json)
    asked = SearchRequest(
        kind=kind,
        subject_to=subject_to,
        over=parse_vary(over, parse_value, "--over"),
        indifference=indifference,
        confidence=confidence,
        first=replications,
        most=max_replications,
        engine=options.engine,
    )
    drawn = {"--figure": figure, "--figures": figures}
    optima = [(each, _best(each, target, asked, options, drawn)) for each in scenarios]
    for option_, path in drawn.items():
        if path is not None and any(optimum.search is None for _, optimum in optima):
            raise _no_figure(option_, path, target)
    if files:
        _write(files, *optima[0], force)
    runs = [{"scenario": each.name, "target": target, "seed": each.run.seed} for each in scenarios]
    write_figures(figures, drawn_as, lambda: map(_drawing, optima), runs, force=force)
    if as_json:
        print_json([_record(*each) for each in optima])
        return
    for each in optima:
        show_table(_table(_told(*each), changes))


def _record(scenario: Scenario, optimum: Optimum) -> dict[str, Any]:
    """What JSON says of a decision."""
    return {"scenario": scenario.name, **{name: getattr(optimum, name) for name in _RECORD}}


def _drawing(found: tuple[Scenario, Optimum]) -> tuple[str, Drawing]:
    """The figure of a search, with the name of its scenario."""
    from crawlsim.report.drawing import Drawing
    from crawlsim.report.optimum_figures import PLOTS

    scenario, optimum = found
    told = _told(scenario, optimum)
    ax = PLOTS[optimum.target](optimum.search, None)
    return scenario.name, Drawing(optimum.target, ax, f"{told.decision}, {told.cost}")


def _no_figure(option: str, path: str, target: str) -> ScenarioError:
    allowed = f"does not go with a simulated search of --target {target}"
    why = "--kind exact says why there is no exact answer"
    return ScenarioError(option, path, f"{allowed}; {why}")


def _best(
    scenario: Scenario,
    target: str,
    asked: SearchRequest,
    options: RunOptions,
    drawn: Mapping[str, str | None],
) -> Optimum:
    """The best decision; workers and a progress bar are there once something is simulated.

    A figure that a simulated search does not have is refused before anything is simulated.
    """
    from crawlsim.searching import next_best
    from sim.replicate import engine_for

    with ExitStack() as stack:

        @cache
        def executor() -> Executor | None:
            for option_, path in drawn.items():
                if path is not None and target != "static":
                    raise _no_figure(option_, path, target)
            engine = engine_for(scenario.with_("activation", None), options.engine)
            return stack.enter_context(workers(options, [engine]))

        @cache
        def update() -> Callable[[int, int], None]:
            return stack.enter_context(progress_bar(scenario.name, options.as_json))

        asked = replace(
            asked,
            executor=executor,
            progress=lambda done, in_all: update()(done, in_all),
        )
        optimum = next_best(scenario, target, asked, "--target")
    promise = optimum.promise
    if promise and not promise["settled"]:
        warn(
            f"{scenario.name}: not settled within {number(promise['indifference'])} by "
            f"--max-replications {asked.most}: another rule may cost less by "
            f"{number(promise['better_by_at_most'])}"
        )
    return optimum


def _claimed(
    files: Mapping[str, str | None],
    figures: str | None,
    drawn_as: str | None,
    target: str,
    scenarios: Sequence[Scenario],
    force: bool,
) -> dict[str, Path]:
    """The files that are asked for by their options, each refused before any work."""
    from crawlsim.report.optimum_figures import PLOTS

    for asked, path in files.items():
        if path is not None and len(scenarios) > 1:
            raise ScenarioError(asked, path, "needs a single scenario")
    for asked, path in (("--figure", files["--figure"]), ("--figures", figures)):
        if path is not None and target not in PLOTS:
            raise ScenarioError(asked, path, f"does not go with --target {target}")
    endings = {"--figure": tuple(FIGURES), "--report": (".html",)}
    for asked, allowed in endings.items():
        path = files[asked]
        if path is not None and Path(path).suffix not in allowed:
            raise ScenarioError(asked, path, f"must end in {listed(allowed)}")
    claim_figures(figures, drawn_as, force=force)
    return claim_all(files, force=force)


def _write(files: Mapping[str, Path], scenario: Scenario, optimum: Optimum, force: bool) -> None:
    """The scenario with the decision, and the figure; both are made before one is written."""
    from crawlsim.report.optimum_figures import PLOTS
    from crawlsim.report.optimum_page import optimum_page

    contents = {}
    if "--out" in files:
        changes, beside = with_shares_beside(scenario, optimum.changes, files["--out"], force)
        decided = scenario.with_(changes)
        contents["--out"] = signed(dumps(decided, files["--out"].absolute().parent), IN_TOML)
        if beside is not None:
            click.echo(f"written: {beside}", err=True)
    if "--figure" in files:
        ax = PLOTS[optimum.target](optimum.search, None)
        contents["--figure"] = figure_bytes(ax.figure, files["--figure"].suffix)
    if "--report" in files:
        told = _told(scenario, optimum)
        page = optimum_page(
            scenario.with_(optimum.changes),
            files["--report"].absolute().parent,
            f"Best {told.target}: {told.decision}",
            told.cost,
            told.columns,
            [([_cell(cell) for cell in cells], is_best) for cells, is_best in told.rows],
            told.notes,
            _drawing((scenario, optimum))[1]
            if optimum.search and optimum.target in PLOTS
            else None,
        )
        contents["--report"] = signed(page, IN_MARKUP)
    if "--study" in files:
        record = _record(scenario, optimum) | {"measure": optimum.measure}
        contents["--study"] = f"{json_text(record)}\n".encode()
    write_all(files, contents, force=force)


@dataclass(frozen=True)
class Told:
    """A decision for a person: on a terminal, and in a report.

    Attributes
    ----------
    scenario : Scenario
    target, decision, cost : str
    columns : tuple of str
    rows : list of (cells, whether it is the decision)
        The alternatives, the cells by their columns.
    notes : list of str
    """

    scenario: Scenario
    target: str
    decision: str
    cost: str
    columns: tuple[str, ...]
    rows: list[tuple[list[Any], bool]]
    notes: list[str]


def _told(scenario: Scenario, optimum: Optimum) -> Told:
    decision = ", ".join(f"{key} = {_decided(v)}" for key, v in optimum.decision.items())
    unit = scenario.time_unit
    over = f"per {unit}" if optimum.horizon is None else f"up to {number(optimum.horizon)} {unit}"
    value = number(optimum.cost)
    if optimum.promise and optimum.cost is not None:
        value += f" ± {half_width(optimum.cost, optimum.promise['half_width'])}"
    cost = f"cost {value} {over}"
    if optimum.measure != "control_cost":
        cost = f"{optimum.measure} {value}"
    if optimum.lower_bound is not None:
        cost += f", bound {number(optimum.lower_bound)}"
    cost += "" if optimum.kind == "exact" else f" ({optimum.kind})"
    shown, left_out = _shown(optimum.table)
    names = [
        name for name in (shown[0] if shown else ()) if any(r[name] is not None for r in shown)
    ]
    rows = []
    for row in shown:
        lists = {k: list(v) if isinstance(v, tuple) else v for k, v in row.items()}
        is_best = all(lists.get(key) == value for key, value in optimum.decision.items())
        rows.append(([row[name] for name in names], is_best))
    notes = [*optimum.notes, *left_out, *_named_pages(scenario, optimum)]
    return Told(scenario, optimum.target, decision, cost, tuple(names), rows, notes)


def _table(told: Told, changes: Sequence[str]) -> Table:
    """The decision in the title, the alternatives below it."""
    name = escape(", ".join([told.scenario.name, *changes]))
    title = f"{name}: {told.target}: [bold]{escape(told.decision)}[/bold], {escape(told.cost)}"
    lists = [
        any(isinstance(cells[place], tuple | list) for cells, _ in told.rows)
        for place in range(len(told.columns))
    ]
    columns = zip(told.columns, lists, strict=True)
    table = new_table(title, *(each if is_list else f">{each}" for each, is_list in columns))
    for cells, is_best in told.rows:
        table.add_row(*map(_cell, cells), style="green" if is_best else None)
    table.caption = "\n".join(map(escape, told.notes)) or None
    return table


def _named_pages(scenario: Scenario, optimum: Optimum) -> list[str]:
    """What the pages of a decision are called: those that it visits most."""
    names = None if scenario.model.pages is None else scenario.model.pages.names
    if names is None or optimum.target not in ("frequencies", "template"):
        return []
    count = len(names)
    if "intervals" in optimum.decision:
        values = np.array(optimum.decision["intervals"])
        most = np.argsort(but_for_rounding(values), kind="stable")[:_MOST_NAMED].tolist()
        unit = scenario.time_unit
        said = [f"due after {number(each)} {units(unit, each)}" for each in values[most].tolist()]
    else:
        decided = np.array(optimum.decision[optimum.target])
        is_order = optimum.target == "template"
        shares = np.bincount(decided, minlength=count) / len(decided) if is_order else decided
        most = np.argsort(-but_for_rounding(shares), kind="stable")[:_MOST_NAMED].tolist()
        said = [f"{100 * shares[page]:.3g} % of the accesses" for page in most]
    lines = [
        f"page {page}, {share}: {visible(shortened(names[page], _LONGEST_NAME))}"
        for page, share in zip(most, said, strict=True)
    ]
    return [*lines, f"… {count} pages in all"] if count > len(lines) else lines


def _decided(value: Any) -> str:
    """A decision on one line; of a long list its beginning, and its length."""
    nested = isinstance(value, list) and any(isinstance(each, list) for each in value)
    if nested and any(isinstance(time, float) for each in value for time in each):
        return f"those of {len(value)} sources"
    if nested:
        text = value_text(value)
        is_long = len(value) > _LONGEST_LIST or len(text) > _LONGEST_TEXT
        return f"a table of {len(value)} entries (--json has all)" if is_long else text
    if isinstance(value, list) and len(value) > _LONGEST_LIST:
        first = ", ".join(number(each) for each in value[:_LONGEST_LIST])
        return f"[{first}, … {len(value)} in all]"
    if isinstance(value, list) and any(isinstance(each, float) for each in value):
        return f"[{', '.join(number(each) for each in value)}]"
    return value_text(value)


def _shown(table: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The rows for a person: all of few, of many those that matter most.

    These are the rows with the least cost, each cost once; where rows have no cost, those of the
    states that are met most, in their order; otherwise the first ones.
    """
    if len(table) <= _MOST_ROWS:
        return list(table), []
    if "cost" in table[0]:
        costs = but_for_rounding([row["cost"] for row in table]).tolist()
        of_cost = zip(reversed(costs), reversed(table), strict=True)
        first = {cost: row for cost, row in of_cost if cost == cost}
        best = [first[cost] for cost in sorted(first)[:_MOST_ROWS]]
        return best, [f"the best {len(best)} of {len(table)} rows (--json has all)"]
    weight = next((name for name in _MET if name in table[0]), None)
    if weight is None:
        note = f"the first {_MOST_ROWS} of {len(table)} rows (--json has all)"
        return list(table[:_MOST_ROWS]), [note]
    weights = but_for_rounding([row[weight] for row in table])
    met = np.argsort(-weights, kind="stable")[:_MOST_ROWS].tolist()
    note = f"the {_MOST_ROWS} of {len(table)} states that are met most (--json has all)"
    return [table[place] for place in sorted(met)], [note]


def _cell(value: Any) -> str:
    if isinstance(value, tuple | list):
        shown = ", ".join(map(str, value[:_LONGEST_CELL])) or "–"
        return shown if len(value) <= _LONGEST_CELL else f"{shown}, … {len(value)} in all"
    return number(value) if value is None or isinstance(value, float) else str(value)


def with_shares_beside(
    scenario: Scenario, changes: Mapping[str, Any], out: Path, force: bool
) -> tuple[dict[str, Any], Path | None]:
    """The changes with a long list of frequencies written beside the scenario file.

    Parameters
    ----------
    scenario : Scenario
    changes : mapping
        Dotted keys and values.
    out : Path
        Of the scenario file: that of the frequencies has ``.frequencies.csv`` for its ending.
    force : bool
        Whether a file of somebody else may be replaced.

    Returns
    -------
    changes : dict
    written : Path or None
        The file; None where the list is short, or there is none.

    Raises
    ------
    ScenarioError
        If it cannot be written, or a file of somebody else has its name.
    """
    shares = changes.get(_KEY)
    if not isinstance(shares, list) or len(shares) <= MOST_LISTED:
        return dict(changes), None
    names = present(scenario.model.pages).names or [str(page) for page in range(len(shares))]
    path = claim("--out", out.with_suffix(".frequencies.csv"), force=force)
    text = csv_text(("page", _COLUMN), zip(names, map(repr, shares), strict=True))
    write("--out", path, text.encode(), force=force)
    beside = {"file": str(path.absolute()), "column": _COLUMN}
    return {**changes, _KEY: beside}, path
