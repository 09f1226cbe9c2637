"""Which cell of a sweep is best, and how sure that is; how the cells differ.

What came out of a cell is a record: `cell_record`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from crawlsim.bounds import (
    WrittenBound,
    asks_for_quantile,
    bound_on_measure,
    require_measure,
)
from scenarios import Results, Scenario, ScenarioError
from scenarios.arrays import Array, spans_decades
from scenarios.base import one_of
from scenarios.files import value_text
from scenarios.measures import PREDICTED_ONLY, Subject
from scenarios.text import half_width, number
from sim.estimates.choosing import (
    LEAST_REPLICATIONS,
    MOST_REPLICATIONS,
    Choice,
    Indifference,
    choose,
    unseen_deviation,
)
from sim.estimates.paired import Best, Estimated, best_of, paired_difference
from sim.sweep import Cell, Key, Row, kept, label_of, rows_of

DIFFERENCES = ("measure", "subject", "against", "difference", "standard_error", "low", "high")

CHOICE = ("measure", "subject", "estimate", "replications", "better_by_at_most", "role")
"""Columns of the table of a choice, after the varied entries."""

_FEW = 3
"""Cells that a sentence names."""

_POINTS = 60
"""Places between cells at which formulas are evaluated for a line."""

_PATIENCE = 10.0
"""Seconds for these."""

_MOMENT = 1e-9
"""A horizon within which nothing need happen."""


Record = dict[str, Any]


# --- what came out of a cell ----------------------------------------------------------------------


def cell_record(
    cell: Cell, scenario: Scenario, results: Results, predictions: Mapping[Key, Any]
) -> Record:
    """The numbers of a cell, and what the errors of its differences from others are made of.

    Parameters
    ----------
    cell : Cell
    scenario : Scenario
        As it was simulated.
    results : Results
    predictions : mapping (measure, subject) -> (value, source)
        By formulas that are exact.
    """
    return {
        "varied": dict(cell.varied),
        "rows": list(rows_of(results, predictions)),
        "without_each": _leave_one_out(scenario, results),
    }


def _leave_one_out(scenario: Scenario, results: Results) -> list[tuple[str, Subject, list[float]]]:
    keys = kept(scenario, results.leave_one_out)
    return [(*key, list(results.leave_one_out[key])) for key in keys]


def further_replications(
    cell: Cell,
    scenario: Scenario,
    replications: range,
    engine: str | None,
    executor: Executor | None,
) -> Record:
    """The estimates of these replications alone, of all that cells are compared by.

    Parameters
    ----------
    cell : Cell
    scenario : Scenario
        As it is simulated.
    replications : range
        Their numbers.
    engine : str or None
    executor : Executor or None
    """
    from sim.replicate import run

    first, count = replications.start, len(replications)
    results = run(scenario, first=first, replications=count, engine=engine, executor=executor)
    rows = []
    for measure, subject, each in _leave_one_out(scenario, results):
        estimate = results.rows.find(measure, subject)
        rows.append((measure, subject, estimate.estimate if estimate else math.nan, each))
    return {"varied": dict(cell.varied), "first": first, "estimates": rows}


def rows_in(record: Record) -> dict[Key, Row]:
    """The numbers of a cell, the same whether it was computed just now or read from its file."""
    rows = {}
    for measure, subject, *numbers, count, predicted, source in record["rows"]:
        estimates = [math.nan if value is None else value for value in numbers]
        rows[measure, subject] = Row._make((measure, subject, *estimates, count, predicted, source))
    return rows


def without_effect(grid: Sequence[Cell], records: Sequence[Record]) -> list[str]:
    """The varied entries that change no number of any cell: another entry may overrule them."""
    numbers = [
        tuple((row.measure, row.subject, repr(row.estimate)) for row in rows_in(record).values())
        for record in records
    ]
    found = []
    for key in grid[0].varied:
        seen: dict[str, set[Any]] = {}
        for cell, own in zip(grid, numbers, strict=True):
            others = {name: value for name, value in cell.varied.items() if name != key}
            seen.setdefault(repr(others), set()).add(own)
        if len({value_text(cell.varied[key]) for cell in grid}) > 1 and all(
            len(each) == 1 for each in seen.values()
        ):
            found.append(key)
    return found


def formulas_between(
    grid: Sequence[Cell], keys: Sequence[Key], seconds: float = _PATIENCE
) -> list[dict[str, Any]]:
    """Exact values between the cells, along the first varied entry: what a smooth line needs.

    Parameters
    ----------
    grid : sequence of Cell
    keys : sequence of (measure, subject)
        What is drawn.
    seconds : float
        Processor time after which the formulas are given up: they only make a line smoother, and
        what other programs do should change no figure.

    Returns
    -------
    list of dict
        Tidy rows with the estimate None; whole numbers between whole numbers. None at all where
        the entry is not a number, or time is up.
    """
    from analytic import exact_values, resolve
    from analytic.machinery.refusal import NoAnswerError

    entry, *_ = grid[0].varied
    values = [cell.varied[entry] for cell in grid]
    if not all(map(_is_number, values)):
        return []
    begin = time.process_time()
    rows = []
    for cell in {tuple(map(value_text, each.varied.values()))[1:]: each for each in grid}.values():
        for value in _values_between(values):
            if time.process_time() > begin + seconds:
                return []
            with suppress(ScenarioError, NoAnswerError):
                exact = exact_values(resolve(cell.scenario.with_(entry, value)))
                numbers = {"estimate": None, "low": None, "high": None}
                rows += [
                    {**cell.varied, entry: value, "measure": key[0], "subject": key[1], **numbers}
                    | {"predicted": exact.get(key, (None,))[0]}
                    for key in keys
                ]
    return rows


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _values_between(values: Iterable[float]) -> list[float]:
    """Values between those of the cells, whole ones of whole ones, even on the axis of a figure."""
    ends = sorted(set(values))
    each = max(_POINTS // max(len(ends) - 1, 1), 2)
    spaced = np.geomspace if ends[0] > 0 and spans_decades(ends) else np.linspace
    inner = [spaced(*pair, each + 1)[1:-1] for pair in pairwise(ends)]
    between = np.concatenate(inner) if inner else np.empty(0)
    if all(isinstance(end, int) for end in ends):
        between = np.setdiff1d(np.round(between), ends).astype(int)
    return [*between.tolist()]


# --- what is wanted -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be as small, or as large, as possible.

    Attributes
    ----------
    option : str
        "--minimise" or "--maximise".
    text : str
        As it was given: a measure, with its subject where it has several.
    """

    option: str
    text: str

    @property
    def sign(self) -> int:
        """1 where less is better, -1 where more is."""
        return 1 if self.option == "--minimise" else -1

    @property
    def is_predicted(self) -> bool:
        """Whether only the formulas give the measure."""
        return self.text in PREDICTED_ONLY

    @property
    def missed(self) -> str:
        """That no cell has what is wanted."""
        return f"no cell has a value of {self.text}"

    def named(self, key: Key) -> str:
        """The best value of all in words."""
        return f"{'least' if self.sign > 0 else 'greatest'} {name_of_key(key)}"

    def values_in(self, records: Sequence[Record]) -> tuple[Key, list[Estimated]]:
        """The measure that is meant, and its estimate in each cell; nan where a cell has none.

        Raises
        ------
        ScenarioError
            If it is none of those that cells are compared by.
        """
        key, cells = _compared(records, self.text, self.option)
        return key, [cell.get(key, Estimated(math.nan, np.zeros(0))) for cell in cells]

    def best_predicted(self, records: Sequence[Record], key: Key) -> tuple[int, float] | None:
        """The cell with the best exact value, and that value; None where some cell has none."""
        rows = [rows_in(record).get(key) for record in records]
        values = [row.predicted for row in rows if row is not None and row.predicted is not None]
        if len(values) < len(rows):
            return None
        place = int(np.argmin(self.sign * np.array(values)))
        return place, values[place]

    def require(self, scenario: Scenario) -> None:
        """Refuse a scenario that has no such measure, by a simulation of hardly any time."""
        _require((self.text,), self.option, scenario)


@dataclass(frozen=True, slots=True)
class Within:
    """Bounds that all hold in the cell that is wanted, the first such cell or the last.

    Attributes
    ----------
    option : str
        "--first" or "--last".
    bounds : tuple of WrittenBound
    """

    option: str
    bounds: tuple[WrittenBound, ...]

    @property
    def text(self) -> str:
        """All bounds."""
        return " and ".join(map(str, self.bounds))

    @property
    def is_predicted(self) -> bool:
        """Whether only the formulas give one of the measures."""
        return any(bound.name in PREDICTED_ONLY for bound in self.bounds)

    @property
    def missed(self) -> str:
        """That no cell is within the bounds."""
        every = (f"{bound.name}{bound.relation}{bound.value:g}" for bound in self.bounds)
        return f"no cell has {' and '.join(every)}"

    def keys_in(self, records: Sequence[Record]) -> list[Key]:
        """The measure that each bound is on.

        Raises
        ------
        ScenarioError
            If it is none of those that cells are compared by.
        """
        return [_compared(records, bound.name, self.option)[0] for bound in self.bounds]

    def require(self, scenario: Scenario) -> None:
        """Refuse a scenario that lacks a measure, by a simulation of hardly any time."""
        _require([bound.name for bound in self.bounds], self.option, scenario)


def _key_among(keys: Iterable[Key], text: str, option: str) -> Key:
    """The measure and subject that is meant.

    Raises
    ------
    ScenarioError
        If it is none of those that cells are compared by.
    """
    names = {name_of_key(key): key for key in keys}
    key = names.get(text) or names.get(f"{text} all")
    if key is None:
        allowed = f"must be a measure that cells are compared by: {one_of(text, names)}"
        raise ScenarioError(option, text, allowed)
    return key


def _compared(
    records: Sequence[Record], text: str, option: str
) -> tuple[Key, list[dict[Key, Estimated]]]:
    """The measure that is meant, and what the cells are compared by."""
    if text in PREDICTED_ONLY:
        return (text, None), [{} for _ in records]
    cells = [estimated(record) for record in records]
    return _key_among(dict.fromkeys(each for cell in cells for each in cell), text, option), cells


def after_a_moment(scenario: Scenario) -> Results:
    """The results of a simulation of hardly any time: which measures there are."""
    from sim.compiled_engine.prepared import is_prepared
    from sim.replicate import run

    moment = {"run.warmup": 0.0, "run.horizon": _MOMENT, "run.replications": 1}
    engine = None if is_prepared(scenario) else "simpy"  # to compile the other would take longer
    return run(scenario.with_(moment), engine=engine)


def _require(texts: Iterable[str], option: str, scenario: Scenario) -> None:
    simulated = [
        text
        for text in texts
        if text not in PREDICTED_ONLY and not asks_for_quantile(scenario, text)
    ]
    if not simulated:
        return
    keys = kept(scenario, after_a_moment(scenario).leave_one_out)
    for text in simulated:
        _key_among(keys, text, option)


def goal_of(
    minimise: str | None = None,
    maximise: str | None = None,
    first: str | Sequence[str] | None = None,
    last: str | Sequence[str] | None = None,
) -> Goal | Within | None:
    """The goal that the options give, if any; of `first` and `last` all bounds are to hold.

    Raises
    ------
    ScenarioError
        If two are given, or one begins with no measure, or `first` or `last` has no bound.
    """
    options = {"--minimise": minimise, "--maximise": maximise, "--first": first, "--last": last}
    given = [
        (option, [asked] if isinstance(asked, str) else list(asked))
        for option, asked in options.items()
        if asked is not None and asked != ()
    ]
    if not given:
        return None
    option, texts = given[-1]
    if len(given) > 1:
        raise ScenarioError(option, texts[0], f"does not go with {given[0][0]}")
    if option in ("--first", "--last"):
        return Within(option, tuple(bound_on_measure(text, option) for text in texts))
    goal = Goal(option, " ".join(texts[0].split()))
    require_measure(goal.text, texts[0], option)
    return goal


def indifference_of(
    size: float | None,
    confidence: float,
    goal: Goal | Within | None,
    grid: Sequence[Cell],
    most: int | None,
) -> Indifference | None:
    """Until when replications are added, if an indifference is given.

    Raises
    ------
    ScenarioError
        If there is nothing to choose by, or the cells have too few replications to begin with, or
        not all the same number.
    """
    if size is None:
        return None
    option = "--indifference"
    if not isinstance(goal, Goal):
        raise ScenarioError(option, size, "needs --minimise or --maximise")
    if goal.is_predicted:
        raise ScenarioError(option, size, f"does not go with {goal.text}, which is exact")
    if not math.isfinite(size):
        raise ScenarioError(option, size, "must be finite")
    counts = {cell.scenario.run.replications for cell in grid}
    if len(counts) > 1:
        raise ScenarioError(option, size, "does not go with --vary run.replications")
    (first,) = counts
    if first < LEAST_REPLICATIONS:
        allowed = f"must be at least {LEAST_REPLICATIONS} with {option}"
        raise ScenarioError("run.replications", first, allowed)
    most = most or max(MOST_REPLICATIONS, first)
    if most < first:
        allowed = f"must be at least run.replications = {first} with {option}"
        raise ScenarioError("--max-replications", most, allowed)
    return Indifference(size, confidence, most)


def name_of_key(key: Key) -> str:
    """A measure, with its subject where it has several."""
    measure, subject = key
    return measure if subject is None else f"{measure} {subject}"


@dataclass(frozen=True, slots=True)
class BestCell:
    """The cell that is best for a goal.

    Attributes
    ----------
    index : int
        Its number.
    sentence : str
        Which it is, how sure that is, and what is known of the others.
    record : dict
        The same for JSON.
    choice : list of tuple
        Rows of the table of a choice: varied values, then `CHOICE`; empty where nothing was chosen.
    warning : str
        Of a choice that is not settled; else empty.
    """

    index: int
    sentence: str
    record: dict[str, Any]
    choice: Sequence[tuple[Any, ...]] = ()
    warning: str = ""


Further = Callable[[int, range], Record]
"""From the number of a cell and of replications to the record of these alone."""


def ranked(
    goal: Goal | Within,
    grid: Sequence[Cell],
    records: Sequence[Record],
    confidence: float,
    rule: Indifference | None = None,
    further: Further | None = None,
) -> BestCell | None:
    """The cell that is wanted; None: no cell has a value, or none is within the bounds.

    Parameters
    ----------
    goal : Goal or Within
    grid : sequence of Cell
    records : sequence of dict
        What came out of each cell.
    confidence : float
        With which cells are told apart from the best one.
    rule : Indifference, optional
        Until when replications are added; needs `further`, which simulates them.
    further : callable, optional

    Raises
    ------
    ScenarioError
        If the goal is none of the measures that cells are compared by, or is undefined in some
        replications of a cell that needs more of them.
    """
    if isinstance(goal, Within):
        return _cell_within(goal, grid, records)
    if rule is not None and further is not None:
        return _chosen_cell(goal, rule, grid, records, further)
    return _best_cell(goal, grid, records, confidence)


def _varied(grid: Sequence[Cell], places: Iterable[int]) -> list[dict[str, Any]]:
    """The varied entries of some cells, for JSON."""
    return [dict(grid[n].varied) for n in places]


def _by_formulas(grid: Sequence[Cell], solved: int | None, best: int) -> list[str]:
    """Which cell is best by the formulas, where they cover all of them."""
    if solved is None:
        return []
    return [f"by the formulas {'too' if solved == best else label_of(grid[solved])}"]


def some_cells(grid: Sequence[Cell], places: Sequence[int]) -> str:
    """The first of some cells, in words, and how many more."""
    few = ", ".join(f"({label_of(grid[n])})" for n in places[:_FEW])
    return few if len(places) <= _FEW else f"{few} and {len(places) - _FEW} more"


def percent(share: float) -> str:
    """A confidence, rounded down so that it promises nothing more, and never certainty."""
    return f"{min(math.floor(share * 1000 + 1e-9), 999) / 10:g} %"


def estimated(record: Record) -> dict[Key, Estimated]:
    """The estimates of a cell that cells are compared by; an undefined number is nan."""
    rows = rows_in(record)
    return {
        (measure, subject): _estimated(rows[measure, subject].estimate, values)
        for measure, subject, values in record["without_each"]
    }


def _estimated(value: float | None, leave_one_out: Sequence[float | None]) -> Estimated:
    first, *others = (math.nan if each is None else each for each in (value, *leave_one_out))
    return Estimated(first, np.array(others))


def difference_rows(
    grid: Sequence[Cell], records: Sequence[Record], against: int = 0
) -> list[tuple[Any, ...]]:
    """How every cell differs from one of them: varied values, then `DIFFERENCES`.

    Parameters
    ----------
    grid : sequence of Cell
    records : sequence of dict
        What came out of each cell.
    against : int
        The cell that the others are compared with.
    """
    base = estimated(records[against])
    reference = label_of(grid[against])
    rows: list[tuple[Any, ...]] = []
    for place, (cell, record) in enumerate(zip(grid, records, strict=True)):
        if place == against:
            continue
        varied = [value_text(value) for value in cell.varied.values()]
        for key, value in estimated(record).items():
            if key in base:
                pair = paired_difference(value, base[key])
                numbers = (pair.difference, pair.standard_error, pair.low, pair.high)
                rows.append((*varied, *key, reference, *numbers))
    return rows


def _best_cell(
    goal: Goal, grid: Sequence[Cell], records: Sequence[Record], level: float
) -> BestCell | None:
    """The cell that is best for a goal, by the replications that there are; None: none has a value.

    Of cells that tie it is the one that is best by the formulas.
    """
    key, values = goal.values_in(records)
    if goal.is_predicted:
        return _solved_cell(goal, key, grid, records)
    best = best_of([each.times(goal.sign) for each in values], level)
    if best is None:
        return None
    row = rows_in(records[best.index])[key]
    predicted = goal.best_predicted(records, key)
    solved = None if predicted is None else predicted[0]
    tied = (best.index, *best.ties) if best.ties else ()
    index = solved if solved in tied else best.index
    if tied:
        words = tie_words(grid, best, row.estimate, predicted)
    else:
        half = row.high - row.estimate
        value = f"{number(row.estimate)} ± {half_width(row.estimate, half)}"
        words = f"{label_of(grid[index])}, with {value}; {_how_sure(grid, best, level, half)}"
        words = "; ".join([words, *_by_formulas(grid, solved, index)])
    record = {
        "measure": key[0],
        "subject": key[1],
        "cell": dict(grid[index].varied),
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
        "method": "screening",
        "level": level,
        "confidence": best.confidence,
        "not_told_apart": _varied(grid, [n for n in (best.index, *best.rivals) if n != index]),
        "tied": _varied(grid, tied),
        "solved_cell": None if solved is None else dict(grid[solved].varied),
    }
    return BestCell(index, f"{goal.named(key)}: {words}", record)


def _solved_cell(
    goal: Goal, key: Key, grid: Sequence[Cell], records: Sequence[Record]
) -> BestCell | None:
    """The cell that is best by the formulas; those without a value are left out."""
    rows = [rows_in(record).get(key) for record in records]
    known = {n: row.predicted for n, row in enumerate(rows) if row and row.predicted is not None}
    if not known:
        return None
    index = min(known, key=lambda n: goal.sign * known[n])
    words = f"{label_of(grid[index])}, with {number(known[index])}, exactly"
    record = {
        "measure": key[0],
        "subject": key[1],
        "cell": dict(grid[index].varied),
        "predicted": known[index],
        "method": "solved",
    }
    return BestCell(index, f"{goal.named(key)}: {words}", record)


def _cell_within(goal: Within, grid: Sequence[Cell], records: Sequence[Record]) -> BestCell | None:
    """The first cell within all bounds in the order of the grid, or the last; None: there is none.

    What counts is the exact value of a cell, where it has one, or else its estimate.
    """
    keys = goal.keys_in(records)
    which = goal.option.removeprefix("--")
    open_cells: list[int] = []
    order = range(len(records))
    for index in reversed(order) if which == "last" else order:
        own = rows_in(records[index])
        rows = [own[key] for key in keys if key in own]
        if len(rows) < len(keys):
            continue
        beside = list(zip(goal.bounds, rows, strict=True))
        unsettled = [bound for bound, row in beside if _is_open(bound, row)]
        within = [bound for bound, row in beside if bound.holds(_counting(row))]
        if unsettled and {*unsettled, *within} == {*goal.bounds}:
            open_cells.append(index)
        if len(within) < len(beside):
            continue
        asked = " and ".join(
            f"{name_of_key((row.measure, row.subject))} {bound.relation} {bound.value:g}"
            for bound, row in beside
        )
        words = f"{which} with {asked}: {label_of(grid[index])}, with "
        words += " and ".join(map(_value_within, rows))
        if open_cells:
            cells = some_cells(grid, sorted(open_cells))
            words += f"; not settled, since the 95 % interval contains the bound: {cells}"
        numbers = [_record_within(bound, row) for bound, row in beside]
        record = numbers[0] | {
            "cell": dict(grid[index].varied),
            "further": numbers[1:],
            "method": f"{which} within the bound",
            "not_settled": _varied(grid, sorted(open_cells)),
        }
        return BestCell(index, words, record)
    return None


def _counting(row: Row) -> float:
    """What counts of a number: its exact value, where it has one."""
    return row.estimate if row.predicted is None else row.predicted


def _is_open(bound: WrittenBound, row: Row) -> bool:
    """Whether a simulated number may be on either side of a bound, by its interval."""
    return row.predicted is None and bound.is_open(row.low, row.high)


def _value_within(row: Row) -> str:
    """A number that a bound is on, in words."""
    value = "none seen"
    if math.isnan(row.estimate):
        value = "not estimated"
    elif row.estimate:
        value = f"{number(row.estimate)} ± {half_width(row.estimate, row.high - row.estimate)}"
    if row.predicted is None:
        return value
    return f"{number(row.predicted)} by the formulas, {value} in the simulation"


def _record_within(bound: WrittenBound, row: Row) -> dict[str, Any]:
    return {
        "measure": row.measure,
        "subject": row.subject,
        "bound": f"{bound.relation} {bound.value!r}",
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
        "predicted": row.predicted,
    }


def tie_words(
    grid: Sequence[Cell], best: Best, estimate: float, predicted: tuple[int, float] | None
) -> str:
    """That the best cells tie, and what the formulas say of them."""
    tied = (best.index, *best.ties)
    seen = "none seen" if estimate == 0 else "the same in every replication"
    words = (
        f"{len(tied)} cells tie at {number(estimate)}, {seen}: {some_cells(grid, tied)}; "
        "the simulation does not tell which of them is best"
    )
    others = [n for n in best.rivals if n not in tied]
    if others:
        words += f"; {some_cells(grid, others)} cannot be told apart from them"
    if predicted is None:
        return words
    solved, value = predicted
    with_value = f"{label_of(grid[solved])}, with {number(value)} by the formulas"
    return f"{with_value}; in the simulation {words}"


def _how_sure(grid: Sequence[Cell], best: Best, level: float, half: float) -> str:
    """That it is the best of all, or which others may be, each at its level of confidence."""
    others = some_cells(grid, best.rivals)
    if math.isnan(half):
        words = "one replication does not tell how sure that is"
        return f"{words}; {others} cannot be told apart from it" if others else words
    if others:
        return f"with {percent(level)} confidence the best is this cell or {others}"
    return f"best of all cells with {percent(best.confidence)} confidence"


def _chosen_cell(
    goal: Goal,
    rule: Indifference,
    grid: Sequence[Cell],
    records: Sequence[Record],
    further: Further,
) -> BestCell | None:
    """The cell that is best within an indifference; None where no cell has a value."""
    key, starts = goal.values_in(records)
    places = [n for n, each in enumerate(starts) if not math.isnan(each.estimate)]
    if not places:
        return None
    first = [_values(goal, grid[n], starts[n]) for n in places]
    unseen = [_unseen(records[n], key, starts[n]) for n in places]

    def values_of(n: int, replications: range) -> Array:
        record = further(n, replications)
        estimates = {(each[0], each[1]): each[2:] for each in record["estimates"]}
        return _values(goal, grid[n], _estimated(*estimates[key]))

    def more(systems: Sequence[int], start: int, stop: int) -> list[Array]:
        return [values_of(places[n], range(start, stop)) for n in systems]

    choice = choose(first, more, rule, unseen)
    predicted = goal.best_predicted(records, key)
    solved = None if predicted is None else predicted[0]
    return _chosen(goal, key, rule, choice, places, len(first[0]), solved, grid)


def _chosen(
    goal: Goal,
    key: Key,
    rule: Indifference,
    choice: Choice,
    places: Sequence[int],
    first: int,
    solved: int | None,
    grid: Sequence[Cell],
) -> BestCell:
    """What a choice says.

    Parameters
    ----------
    goal : Goal
    key : (measure, subject)
    rule : Indifference
    choice : Choice
        Among the cells whose measure is defined.
    places : sequence of int
        The numbers of these cells.
    first : int
        Replications of the first stage.
    solved : int or None
        The best cell by the formulas, where they cover every cell.
    grid : sequence of Cell
    """
    index = places[choice.index]
    rivals = [places[n] for n in choice.rivals]
    best = choice.estimates[choice.index]
    size = number(rule.size)
    rows = []
    within = []
    dropped: dict[tuple[bool, int], list[int]] = {}
    known = zip(places, choice.estimates, choice.counts, choice.margins, strict=True)
    for place, value, count, margin in known:
        role = "best" if place == index else "may be best" if place in rivals else "worse"
        better_by = None if place == index else max(margin, 0.0)
        rows.append((*key, goal.sign * value, count, better_by, role))
        if place != index:
            dropped.setdefault((margin > rule.size, count), []).append(place)
            if value - best <= rule.size:
                within.append(place)
    what = "no other cell is better"
    if rivals:
        what += f" by more than {number(rule.size if choice.is_settled else choice.margin)}"
    words = (
        f"{goal.named(key)}: {label_of(grid[index])}, with {number(goal.sign * best)} in "
        f"{choice.counts[choice.index]} replications; with a probability of at least "
        f"{percent(rule.confidence)} {what}"
    )
    if not choice.is_settled:
        words += f" (--max-replications was reached before {size})"
    parts = [words]
    if within:
        parts.append(f"within {size} of it by the estimates: {some_cells(grid, within)}")
    for (is_left, count), those in sorted(dropped.items()):
        words = "still undecided after" if is_left else "dropped after"
        parts.append(f"{words} {count} replications: {some_cells(grid, those)}")
    record = {
        "measure": key[0],
        "subject": key[1],
        "cell": dict(grid[index].varied),
        "estimate": goal.sign * best,
        "method": "sequential elimination, indifference zone",
        "confidence": rule.confidence,
        "indifference": rule.size,
        "settled": choice.is_settled,
        "better_by_at_most": choice.margin,
        "first_replications": first,
        "solved_cell": None if solved is None else dict(grid[solved].varied),
        "not_told_apart": _varied(grid, rivals),
        "within": _varied(grid, within),
        "cells": [
            {"cell": cell, **dict(zip(CHOICE[2:], row[2:], strict=True))}
            for cell, row in zip(_varied(grid, places), rows, strict=True)
        ],
    }
    table = [(*grid[n].varied.values(), *row) for n, row in zip(places, rows, strict=True)]
    sentence = "; ".join([*parts, *_by_formulas(grid, solved, index)])
    warning = (
        ""
        if choice.is_settled
        else (
            f"{goal.named(key)}: not settled within {size} by --max-replications {rule.most}: "
            f"another cell may be better by {number(choice.margin)}"
        )
    )
    return BestCell(index, sentence, record, table, warning)


def _values(goal: Goal, cell: Cell, estimated: Estimated) -> Array:
    """The value of each replication, the less the better.

    Raises
    ------
    ScenarioError
        If one is undefined.
    """
    values = goal.sign * estimated.pseudo_values
    if not np.isfinite(values).all():
        where = f"is undefined in some replications of {label_of(cell)}"
        allowed = f"{where}; a longer run.horizon defines it"
        raise ScenarioError(goal.option, goal.text, allowed)
    return values


def _unseen(record: Record, key: Key, estimated: Estimated) -> float:
    """The standard deviation of a number that every replication shows alike."""
    row = rows_in(record)[key]
    return unseen_deviation(estimated, row.low, row.high)
