"""Tables and lines on the terminal: estimates, formulas, verdicts and their needs; progress.

How a table looks is in `crawlsim.cli.tables`, what goes to files in `crawlsim.cli.results`.
"""

from __future__ import annotations

import csv
import io
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

from analytic.index.names import MEASURED, called, citation_of, cited, place_of
from crawlsim.cli.streams import stage
from crawlsim.cli.tables import PARTS, ShownConsole, new_table, show_table
from crawlsim.summary import (
    TOO_RARE,
    alike,
    naming_of,
    without_formula,
    without_quantiles,
    worst_pages,
)
from scenarios import Estimate, Results, Scenario
from scenarios.arrays import Array
from scenarios.infinite import infinite_quantities, tail_lines, without_variance
from scenarios.measures import MEASURES, PAGE_MEASURES, PREDICTED_ONLY, Subject
from scenarios.model import present
from scenarios.page_groups import QUANTILES, followed_pages, only_sums
from scenarios.plugins import versions
from scenarios.text import counted, half_width, number

if TYPE_CHECKING:
    from analytic import Comparison, Course, LawComparison, NotApplicable, Prediction
    from analytic.indexing_queue.large_buffers import ClosureError
    from analytic.indexing_queue.measures import Accuracy

OPTIONAL_COLUMNS = ("detectable", "needs", "z", "unit", "± SE", ("± 95 %", "low", "high"))
"""What a narrow terminal goes without: first what the verdict and the last line say as well. Of an
interval it has both ends, or its half width, never one end."""

_COLOURS = {"agrees": "green", "disagrees": "bold red", "inconclusive": "yellow"}
_SIGNS = {"lower bound": "≥ ", "upper bound": "≤ ", "asymptotic": "→ ", "approximation": "≈ "}
_KINDS = ("exact", *_SIGNS)
"""The best first."""

_FEW_PAGES = 50
_SHOWN_PAGES = 20
_SHOWN_BESIDE_GROUPS = 5
_FEW_LEVELS = 20
_NEAREST = 3
_REASONS = 2
"""Formulas, and reasons of each, that are shown where not all are asked for."""

_OVER_TIME = (
    "mean_in_system",
    "frontier_length",
    "mean_active_robots",
    "busy_robots",
    "starvation_probability",
    "full_probability",
    "arrival_rate",
    "loss_rate",
    "throughput",
    "weighted_obsolescence",
    "stale_answer_probability",
)
"""Columns of a course that is shown."""

LESS_OF_FORMULAS = ("source", "unit")
LESS_OVER_TIME = tuple(reversed(_OVER_TIME[1:]))
"""Columns of predictions and of a course that a narrow terminal goes without, in this order."""

_WORST_TIMES = 5
"""Rows of a course that are shown with their verdicts."""

_TIMES = 20
"""Times of an exact course that are shown."""

_ESTIMATED_TIMES = 8
"""Times of an estimated course that are shown."""

_FAR_TOO_FEW = 100
"""Times as many replications as there are; if more would be needed, each should be longer."""

Row = TypeVar("Row", "Estimate", "Comparison", "Prediction")


@contextmanager
def progress_bar(
    title: str, quiet: bool, things: str = "replications"
) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on the terminal; elsewhere what `lines_while_waiting` says now and then."""
    console = ShownConsole(sys.stderr)
    with stage(title, things) as here, ExitStack() as stack:
        show = None if quiet or not console.is_terminal else _bar(title, console, stack)

        def update(done: int, in_all: int) -> None:
            here.reached(done, in_all)
            if show is not None:
                show(done, in_all)

        yield update


def _bar(title: str, console: ShownConsole, stack: ExitStack) -> Callable[[int, int], None]:
    """Draw a progress bar until the stack is closed; what moves it."""
    from rich.progress import (  # takes a while, and most commands have none
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    bar = stack.enter_context(Progress(*columns, console=console, transient=True))
    task = bar.add_task(escape(title), total=None)
    return lambda done, in_all: bar.update(task, completed=done, total=in_all)


def csv_chunks(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """CSV text, a few thousand rows at a time; numbers in full, undefined ones empty."""
    lines = chain([header], ([_cell(value) for value in row] for row in rows))
    while some := list(islice(lines, PARTS)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(some)
        yield text.getvalue()


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The same as `csv_chunks`, in one."""
    return "".join(csv_chunks(header, rows))


def _cell(value: Any) -> Any:
    undefined = value is None or (isinstance(value, float) and not math.isfinite(value))
    return "" if undefined else value


def name_of(measure: str, subject: Subject) -> str:
    """A measure and its subject as a cell."""
    return escape(measure if subject is None else f"{measure} {subject}")


def unit_of(measure: str, scenario: Scenario) -> str:
    """The unit of a measure as a cell, in the scenario's own unit of time."""
    return escape(MEASURES[measure].unit_in(scenario.time_unit))


def _worth_showing(
    scenario: Scenario,
    rows: Iterable[Row],
    value: Callable[[Row], float],
    every: bool = False,
    everywhere: str = "--all shows every row",
) -> tuple[list[Row], str]:
    """The rows that a person looks at, and a note on those left out and where they are.

    Of many pages the twenty that are worst for the index, the worst first, or where nothing says
    how stale they are, those of the largest weight times change rate; five beside groups of pages.
    Levels only where a verdict on one is open or bad.

    Parameters
    ----------
    scenario : Scenario
    rows : iterable
    value : callable
        The number of a row.
    every : bool
        Whether all are shown, whatever they are.
    everywhere : str
        Where all are.
    """
    listed = list(rows)
    if every:
        return listed, ""
    unsettled = [row for row in listed if not (_is_level(row) and _is_settled(row))]
    inconclusive = sum(map(_is_inconclusive_level, unsettled))
    if inconclusive <= _FEW_LEVELS:
        inconclusive = 0
    shown = [row for row in unsettled if not (inconclusive and _is_inconclusive_level(row))]
    levels = len(listed) - len(shown)
    pages = 0
    if scenario.model.pages is not None and scenario.model.pages.count > _FEW_PAGES:
        rates = {
            row.subject: value(row)
            for row in shown
            if row.measure == "obsolescence_rate" and isinstance(row.subject, int)
        }
        most = _SHOWN_BESIDE_GROUPS if only_sums(scenario) else _SHOWN_PAGES
        worst = worst_pages(scenario, rates.items(), most)
        chosen = worst or _important_pages(scenario)
        rank: dict[Subject, int] = {page: place for place, (page, _) in enumerate(chosen)}
        kept = [r for r in shown if not _is_of_one_page(r) or r.subject in rank]
        pages = len(shown) - len(kept)
        shown = kept
        for measure in PAGE_MEASURES:
            places = [
                place
                for place, row in enumerate(shown)
                if row.measure == measure and _is_of_one_page(row)
            ]
            ranked = sorted((shown[place] for place in places), key=lambda r: rank[r.subject])
            for place, row in zip(places, ranked, strict=True):
                shown[place] = row
    notes = [f"{counted(levels, 'row')} of level_probability"] * bool(levels)
    if inconclusive:
        notes[0] += f", {inconclusive:,} of them inconclusive"
    least = "the worst pages" if pages and worst else "pages of large weight × change rate"
    which = f"all but {least}"
    notes += [f"{counted(pages, 'row')} of {which}"] * bool(pages)
    return shown, f"left out: {', '.join(notes)} ({everywhere})" if notes else ""


def _important_pages(scenario: Scenario) -> list[tuple[int, float]]:
    """Those of the largest weight × change rate."""
    pages = present(scenario.model.pages)
    if only_sums(scenario):
        followed = followed_pages(pages)[:_SHOWN_BESIDE_GROUPS]
        return [(page, math.nan) for page in followed]
    return worst_pages(scenario, enumerate(pages.change_rates.tolist()), _SHOWN_PAGES)


def _is_of_one_page(row: Estimate | Comparison | Prediction) -> bool:
    return row.measure in PAGE_MEASURES and isinstance(row.subject, int)


def _is_level(row: Estimate | Comparison | Prediction) -> bool:
    return row.measure == "level_probability"


def _is_inconclusive_level(row: Estimate | Comparison | Prediction) -> bool:
    return _is_level(row) and getattr(row, "verdict", "") == "inconclusive"


def _is_settled(row: Estimate | Comparison | Prediction) -> bool:
    """Whether there is nothing to say of it."""
    return getattr(row, "verdict", "agrees") in ("agrees", "not judged")


def estimate_table(
    results: Results,
    scenario: Scenario,
    changes: Sequence[str] = (),
    every: bool = False,
    verdict: str = "",
) -> Table:
    """The estimates with their 95 % intervals; every row, where asked for."""
    count = counted(results.count, "replication")
    how = f"{count}, engine {results.engine}, seed {results.seed}"
    if gap := without_formula((), verdict):
        how = f"{verdict}: {gap}; `solve` says why ({how})"
    title = f"{titled(scenario, changes)}: {how}"
    ratios = results.variance_ratios
    gained = [">variance ratio"] if ratios else []
    numbers = (">estimate", ">± 95 %", ">low", ">high", *gained)
    table = new_table(title, "measure", *numbers, "|unit")
    rows, note = _worth_showing(scenario, results.estimates, lambda row: row.estimate, every)
    shown = naming_of(scenario)
    for row in rows:
        values = [row.low, row.high]
        values += [ratios.get((row.measure, row.subject), math.nan)] * bool(ratios)
        half = (row.high - row.low) / 2
        is_seen = row.subject in QUANTILES  # one of 0 says that this share of the pages has 0
        interval = number(half) if is_seen else half_width(row.estimate, half)
        table.add_row(
            name_of(row.measure, shown(row.measure, row.subject)),
            number(row.estimate),
            interval,
            *map(number, values),
            unit_of(row.measure, scenario),
        )
    table.caption = note or None
    return table


def titled(scenario: Scenario, changes: Sequence[str]) -> str:
    """A scenario and what `--set` changed in it, for the head of a table."""
    return escape(", ".join([scenario.name, *changes]))


def quantile_lines(
    scenario: Scenario, predictions: Iterable[Prediction], others: Iterable[NotApplicable]
) -> Iterator[str]:
    """Why quantiles that were asked for have no exact value, where they have none."""
    asked = scenario.model.quantiles
    found = {each.measure for each in predictions}
    missing = (measure for measure, shares in asked.items() if shares and measure not in found)
    yield from filter(None, (without_quantiles(others, measure) for measure in missing))


def infinite_record(scenario: Scenario) -> dict[str, Any]:
    """What is infinite and what has no interval, for JSON; nothing where nothing is."""
    found = {"infinite": infinite_quantities, "without_variance": without_variance}
    records = {
        name: [each._asdict() for each in quantities(scenario).values()]
        for name, quantities in found.items()
    }
    return {name: rows for name, rows in records.items() if rows}


def prediction_records(
    predictions: Sequence[Prediction], others: Sequence[NotApplicable]
) -> list[dict[str, Any]]:
    """The predictions for JSON; times to recover that are not defined are null."""
    from analytic.transient.recovery import NOTHING

    rows = [asdict(each) for each in predictions]
    rows += [
        {
            "measure": measure,
            "subject": None,
            "value": None,
            "kind": "exact",
            "source": other.source,
        }
        for other in others
        if other.reason == NOTHING
        for measure in PREDICTED_ONLY
    ]
    return [{**row, "name": called(row["source"])} for row in rows]


def plugins_record(plugins: Mapping[str, str]) -> dict[str, Any]:
    """The plugins for JSON, where there are any: version and digest by name."""
    return {"plugins": dict(plugins)} if plugins else {}


def solution_record(
    scenario: Scenario,
    predictions: Sequence[Prediction],
    others: Sequence[NotApplicable],
    accuracy: Accuracy | ClosureError | None,
    course: Course,
    window: Sequence[Prediction] = (),
) -> dict[str, Any]:
    """All that the formulas say of a scenario, for JSON; the window where it starts empty."""
    return {
        "scenario": scenario.name,
        "predictions": prediction_records(predictions, others),
        "not_applicable": refusal_records((*others, *course.not_applicable)),
        "accuracy": None if accuracy is None else accuracy._asdict(),
        **({"window": prediction_records(window, ())} if window else {}),
        **course_record(scenario, course),
        **infinite_record(scenario),
        **plugins_record(versions()),
    }


def refusal_records(others: Iterable[NotApplicable]) -> list[dict[str, Any]]:
    """Why formulas do not apply, for JSON, the nearest first."""
    return [
        {
            "source": other.source,
            "name": called(other.source),
            "reason": other.reason,
            "change": list(other.keys),
        }
        for other in others
    ]


def prediction_table(
    scenario: Scenario,
    predictions: Sequence[Prediction],
    every: bool = False,
    changes: Sequence[str] = (),
    about: str = "",
) -> Table:
    """Predictions with their kinds, formulas and sources.

    Of formulas that give the same number the best one, and how many others do: the exact first,
    then bounds and approximations, of one kind the most special. Another number has its own row.
    """
    columns = ("measure", ">value", "|unit", "|kind", "formula", "source")
    title = titled(scenario, changes)
    table = new_table(f"{title}: {about}" if about else title, *columns)
    agreeing = [[each] for each in predictions]
    if not every:
        agreeing = alike(predictions, lambda row: (row.measure, row.subject), lambda row: row.value)
    others = {min(group, key=_first): len(group) - 1 for group in agreeing}
    rows, note = _worth_showing(scenario, others, lambda row: row.value, False, "--json has all")
    shown = naming_of(scenario)
    for row in rows:
        more = f"; and {others[row]} more" * bool(others[row])
        table.add_row(
            name_of(row.measure, shown(row.measure, row.subject)),
            number(row.value),
            unit_of(row.measure, scenario),
            row.kind,
            escape(called(row.source)) + more,
            escape(citation_of(row.source)),
        )
    table.caption = note or None
    return table


def measured_errors(predictions: Iterable[Prediction]) -> Iterator[str]:
    """How far the approximations among them were seen to be off, a line for each."""
    near = (row.source for row in predictions if row.kind == "approximation")
    for source in dict.fromkeys(near):
        if source in MEASURED:
            yield f"≈ {called(source)}: {MEASURED[source]}"


def _first(row: Prediction) -> tuple[int, int]:
    return _KINDS.index(row.kind), place_of(row.source)


def course_record(scenario: Scenario, course: Course) -> dict[str, Any]:
    """The course and the periodic regime for JSON, where the scenario asks for one."""
    if scenario.run.observe is None:
        return {}
    periodic = course.periodic
    return {
        "course": [point._asdict() for point in course.course],
        "periodic": None if periodic is None else [point._asdict() for point in periodic],
    }


def course_tables(scenario: Scenario, course: Course) -> Iterator[Table]:
    """What people look at of the course and of the periodic regime: some times, a row each."""
    parts = (("the course", course.course), ("one period of the periodic regime", course.periodic))
    for words, part in parts:
        names = [name for name in _OVER_TIME if part is not None and (name, None) in part.columns]
        if part is None or not names:
            continue
        cells = [list(map(number, part.columns[name, None].tolist())) for name in names]
        ends = _ends_of_settings(scenario) if part is course.course else []
        shown = _shown_times(part.times, ends, _TIMES)
        yield _over_time(scenario, words, part.times, shown, names, cells, "--json has all")


def estimated_course_table(scenario: Scenario, results: Results, every: bool = False) -> Table:
    """What people look at of an estimated course: some times, or every one, with half-widths."""
    times, columns = results.course.times, results.course.columns
    names = [name for name in _OVER_TIME if (name, None) in columns]
    cells = []
    for name in names:
        estimates, _, low, high = columns[name, None][:4]
        halves = ((high - low) / 2).tolist()
        cells.append([_with_half(*pair) for pair in zip(estimates.tolist(), halves, strict=True)])
    most = len(times) if every else _ESTIMATED_TIMES
    shown = _shown_times(times, _ends_of_settings(scenario), most)
    words = "the course, ± 95 %"
    everywhere = "--json and --out have all, the report of --out draws them"
    return _over_time(scenario, words, times, shown, names, cells, everywhere)


def _with_half(estimate: float, half: float) -> str:
    """An estimate and the half-width of its interval, with four and two digits."""
    if math.isnan(estimate):
        return "–"
    return f"{estimate + 0.0:.4g} ± {half:.2g}" if half > 0 else number(estimate)


def _ends_of_settings(scenario: Scenario) -> list[float]:
    """When one of the interventions begins or ends."""
    return [piece.end for piece in scenario.model.timeline.pieces]


def _shown_times(times: Array, ends: Sequence[float], most: int) -> list[int]:
    """Indices of some times, evenly spread, and of those at which the settings are to change.

    Where the settings change too often for that the times are spread evenly alone.
    """
    count = len(times)
    if count <= most:
        return list(range(count))
    changes = {place for place in np.searchsorted(times, ends).tolist() if place < count}
    if len(changes) > most // 2:
        changes = set()
    even = most - len(changes)
    spread = {round(count * (k + 1) / even) - 1 for k in range(even)} - {-1}
    return sorted(spread | changes)


def _over_time(
    scenario: Scenario,
    words: str,
    times: Array,
    shown: Sequence[int],
    names: Sequence[str],
    cells: Sequence[Sequence[str]],
    everywhere: str,
) -> Table:
    """A table with a row for each time shown and a column for each measure."""
    title = f"{escape(scenario.name)}: {words}"
    table = new_table(title, ">time", *(f">{name}" for name in names))
    for place in shown:
        table.add_row(number(float(times[place])), *(column[place] for column in cells))
    which = f"{len(shown)} of {len(times)} times, " if len(shown) < len(times) else ""
    table.caption = f"{which}some measures ({everywhere})"
    return table


def reason_lines(others: Sequence[NotApplicable], every: bool = False) -> Iterator[str]:
    """Why formulas do not apply: of the three nearest, and what would have to change for each.

    Where `every` is set all of them, each reason once, with the formulas that share it.
    """
    if every:
        yield from _every_reason(others)
        return
    named: dict[tuple[str, str], list[NotApplicable]] = {}
    for other in [each for each in others if not each.other_subject] or others:
        named.setdefault((called(other.source), other.reason), []).append(other)
    shown = list(named.values())[:_NEAREST]
    for those in shown:
        yield f"not applicable: {_nearest(those)}"
    if left_out := len(others) - sum(map(len, shown)):
        yield f"{counted(left_out, 'further formula')} not applicable (--all has the reasons)"


def _nearest(those: Sequence[NotApplicable]) -> str:
    """A formula in a line, with one or two things that stand against it, and what to change."""
    first = those[0]
    several = len({each.source for each in those}) - 1
    also = f" and {several} more of that name" if several else ""
    reasons = "; ".join(first.reasons[:_REASONS])
    more = len(first.reasons) - _REASONS
    further = f"; and {more} more" if more > 0 else ""
    change = f"; change {' and '.join(first.keys[:_REASONS])}" if first.keys else ""
    name = first.shown if len(those) == 1 else cited([first.source])
    return f"{name}{also}: {reasons}{further}{change}"


def _every_reason(others: Sequence[NotApplicable]) -> Iterator[str]:
    named: dict[str, list[NotApplicable]] = {}
    for other in others:
        named.setdefault(other.reason, []).append(other)
    for reason, unordered in named.items():
        those = sorted(unordered, key=lambda each: place_of(each.source))
        whole = cited(each.source for each in those if not each.is_of_several)
        parts = dict.fromkeys(each.shown for each in those if each.is_of_several)
        yield f"not applicable: {'; '.join(filter(None, [whole, *parts]))}: {reason}"


def comparison_table(
    scenario: Scenario,
    rows: Sequence[Comparison],
    verdict: str,
    scope: str = "",
    changes: Sequence[str] = (),
    every: bool = False,
) -> Table:
    """Predictions, estimates and verdicts; the judged rows first, equal ones once.

    Of very many pages also the bounds that the exact values reach go without saying.
    """
    title = f"{titled(scenario, changes)}: {_coloured(verdict)}"
    if gap := without_formula(rows, verdict):
        title += f": {gap}; `solve` says why"
    elif scope and verdict == "agrees":
        title += f" ({scope})"
    numbers = (">predicted", ">estimated", ">± SE", ">z", ">detectable")
    table = new_table(title, "measure", *numbers, "|unit", "|verdict", ">needs")
    ordered = sorted(_once(rows), key=lambda each: each.verdict == "not judged")
    if only_sums(scenario) and not every:
        ordered = list(_without_reached_bounds(ordered))
    chosen, note = _worth_showing(scenario, ordered, lambda row: row.estimated, every)
    shown = naming_of(scenario)
    for row in chosen:
        table.add_row(
            name_of(row.measure, shown(row.measure, row.subject)),
            _SIGNS.get(row.kind, "") + number(row.predicted),
            number(row.estimated),
            # An event never seen has no error of its own, but the one that `check` assumes.
            "none seen"
            if row.estimated == 0 and row.standard_error > 0
            else number(row.standard_error),
            f"{row.z + 0.0:.2f}" if math.isfinite(row.z) else "–",
            _seen(row),
            unit_of(row.measure, scenario),
            *_settled(row),
        )
    table.caption = note or None
    return table


def _seen(row: Comparison | LawComparison) -> str:
    """The smallest difference that could be seen, as a cell.

    Of what is too rare for the run it is only said that it takes more than all of it.
    """
    if row.detectable is None:
        return "–"
    return f"{100 * row.detectable:.2g} %" if row.detectable <= 1 else "> 100 %"


def _settled(row: Comparison | LawComparison) -> tuple[str, str]:
    """The cells of the verdict, and of how many replications would settle it."""
    needed = "" if row.replications_needed is None else str(row.replications_needed)
    return _coloured(row.verdict), needed


def _coloured(verdict: str) -> str:
    colour = _COLOURS.get(verdict, "dim")
    return f"[{colour}]{verdict}[/{colour}]"


def _once(rows: Sequence[Comparison]) -> list[Comparison]:
    """Rows with the same prediction from several formulas are one row for a reader."""
    groups = alike(rows, lambda r: (r.measure, r.subject, r.kind, r.verdict), lambda r: r.predicted)
    return [group[0] for group in groups]


def _without_reached_bounds(rows: Sequence[Comparison]) -> Iterator[Comparison]:
    """Rows but for bounds that are shown as an exact value is, with the same verdict."""
    exact = {(r.measure, r.subject, r.verdict): r.predicted for r in rows if r.kind == "exact"}
    for row in rows:
        value = exact.get((row.measure, row.subject, row.verdict))
        if row.kind == "exact" or number(row.predicted) != number(value):
            yield row


def summary_lines(
    scenario: Scenario, rows: Sequence[Comparison], results: Results
) -> Iterator[str]:
    """What to do about an inconclusive verdict, and what was compared with which formulas."""
    yield from _remedies(rows, results.count)
    yield from tail_lines(scenario)
    aside = [row for row in _once(rows) if row.verdict == "not judged" and not row.settled]
    if aside:
        were, them = ("was", "it") if len(aside) == 1 else ("were", "them")
        left = f"{len(aside)} of the rows not judged {were} not settled"
        yield f"{left}: the run is too short for {them}"
    compared = {row.measure for row in rows}
    simulated = dict.fromkeys(block.measure for block in results.rows.blocks)
    others = [measure for measure in simulated if measure not in compared]
    by_class = _not_predicted_by_class(scenario, rows, results)
    missing = [", ".join(others)] * bool(others)
    missing += [f"of each class {', '.join(by_class)}"] * bool(by_class)
    if rows and missing:
        yield f"not predicted: {'; '.join(missing)} (see `run`)"
    sources = [row.source for row in rows if row.predicted == row.predicted]
    if sources:
        yield f"predicted by {cited(sources)}"


def _not_predicted_by_class(
    scenario: Scenario, rows: Sequence[Comparison], results: Results
) -> list[str]:
    """Measures that are predicted of all pages, and of a class of them only simulated."""
    queue = scenario.model.queue
    if queue is None or queue.classes is None:
        return []
    compared = {(row.measure, row.subject) for row in rows}
    measures = {row.measure for row in rows} - {"level_probability", *PAGE_MEASURES}
    classes = tuple(str(group) for group in range(queue.classes.count))
    return [
        block.measure
        for block in results.rows.blocks
        if block.measure in measures
        and any(
            str(subject).split()[-1] in classes and (block.measure, subject) not in compared
            for subject in block.subjects
        )
    ]


def _remedies(rows: Sequence[Comparison], replications: int) -> Iterator[str]:
    """What would settle the inconclusive rows."""
    open_rows = [row for row in _once(rows) if row.verdict == "inconclusive"]
    short = [row for row in open_rows if row.window_too_short]
    early = [row for row in open_rows if row.warmup_too_short]
    rare = [row for row in open_rows if row.too_rare]
    without_hope = [row for row in open_rows if row.reason]
    explained = (*short, *early, *rare, *without_hope)
    others = [row for row in open_rows if row not in explained]
    needed = max((row.replications_needed or 0 for row in others), default=0)
    far_too_short = replications > 1 and needed > _FAR_TOO_FEW * replications
    if far_too_short:
        count = _inconclusive(open_rows)
        yield f"{count}: the run is far too short: try a longer run.horizon first"
    if short:
        yield f"{_inconclusive(short)}: the window is too short: lengthen run.horizon"
    if early:
        yield f"{_inconclusive(early)}: the warm-up is too short: try --warmup auto"
    if rare:
        yield f"{_inconclusive(rare)}: {TOO_RARE}"
    for reason, rows_of in Counter(row.reason for row in without_hope).items():
        yield f"{counted(rows_of, 'row')} inconclusive: {reason}"
    if replications < 2 and others:
        yield "one replication has no error: at least two are needed, ten are better"
    elif needed and not far_too_short:
        what = "all" if all(row.replications_needed for row in others) else "most"
        then = ", with the longer warm-up" if early else ""
        count = _inconclusive(others)
        yield f"{count}: try --replications {needed}{then}, which would settle {what} of them"


def _inconclusive(rows: Sequence[Comparison]) -> str:
    return f"{counted(len(rows), 'row')} inconclusive"


def show_course_verdicts(scenario: Scenario, rows: Sequence[Comparison]) -> None:
    """How many numbers of the course agree, and a table of those that differ most."""
    counts = Counter(row.verdict for row in rows)
    settled = [row for row in rows if not math.isnan(row.z)]
    worst = sorted(settled, key=lambda row: (row.verdict != "disagrees", -abs(row.z)))
    numbers = (">predicted", ">estimated", ">± SE", ">z")
    title = f"{escape(scenario.name)}: the course, the largest differences"
    table = new_table(title, ">time", "measure", *numbers, "|verdict")
    shown = naming_of(scenario)
    for row in worst[:_WORST_TIMES]:
        table.add_row(
            number(row.time),
            name_of(row.measure, shown(row.measure, row.subject)),
            *map(number, (row.predicted, row.estimated, row.standard_error)),
            f"{row.z:.2f}",
            _coloured(row.verdict),
        )
    show_table(table)
    differ = counts["disagrees"] or "none"
    needed = max((row.replications_needed or 0 for row in rows), default=0)
    hint = f"; --replications {needed} would settle those it can" if needed else ""
    rare = sum(row.too_rare for row in rows)
    hint += f"; for {rare} it takes {TOO_RARE}" if rare else ""
    click.echo(
        f"  the course: {counted(len(rows), 'number')}: {differ} significantly different, "
        f"{counts['agrees']} settled{hint}"
    )


def show_distributions(scenario: Scenario, rows: Sequence[LawComparison]) -> None:
    """A table with one row for each distribution, and why some are not in it.

    A row shows the point that differs most.
    """
    title = f"{escape(scenario.name)}: distributions"
    numbers = (">worst at", ">predicted", ">estimated", ">± SE", ">t", ">p", ">detectable")
    table = new_table(title, "distribution", *numbers, "|verdict", ">needs")
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.reason is not None:
            name = " ".join(filter(None, (row.law.measure, str(row.law.subject or ""))))
            reasons.setdefault(row.reason, []).append(name)
        if not row.points:
            continue
        worst = row.largest
        shown = [math.nan] * 5
        if worst is not None:
            shown = [worst.at, worst.predicted, worst.estimated, worst.standard_error, worst.t]
        table.add_row(
            name_of(row.law.measure, row.law.subject),
            *map(number, shown[:4]),
            "–" if math.isnan(shown[4]) else f"{shown[4] + 0.0:.2f}",
            "–" if math.isnan(row.p_value) else f"{row.p_value:.2g}",
            _seen(row),
            *_settled(row),
        )
    table.caption = (
        "predicted and estimated: share of the pages or cycles up to the value that differs most; "
        f"times in the scenario's unit: {escape(scenario.time_unit)}"
    )
    if table.row_count:
        show_table(table, ("needs", "detectable", "± SE", "p"))
    if any(row.warmup_too_short for row in rows):
        click.echo("  the warm-up is too short for these distributions: try --warmup auto")
    if any(row.too_rare for row in rows):
        click.echo(f"  a distribution that far out takes {TOO_RARE}")
    for reason, names in reasons.items():
        click.echo(f"  no exact distribution of {', '.join(names)}: {reason}")
