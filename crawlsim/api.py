"""What the commands do, as functions: simulate, solve, check, optimise, sweep, fit, schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

import analytic
import sim
from analytic import Comparison, NotApplicable, Optimum, Prediction
from analytic.index.names import called, place_of
from analytic.transient.answers import NO_COURSE, OverTime
from crawlsim.arguments import checked
from scenarios import Results, Scenario, ScenarioError
from scenarios.base import listed, one_of
from scenarios.errors import MISSING, brief
from scenarios.files import System, scenario_of
from scenarios.measures import Subject
from scenarios.results import absent, html_of
from scenarios.text import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analytic.indexing_queue.exact_laws import ExactLaw, NoLaw
    from analytic.verdicts.law_check import LawComparison
    from crawlsim.designs import DesignComparison
    from crawlsim.logs.fit import Fit, Trace
    from crawlsim.logs.fit.trace import Kind
    from crawlsim.logs.plan import Schedule
    from crawlsim.logs.plan.byte_budget import ByteBudget
    from crawlsim.logs.read import ChangeLog, SignalLog, VisitLog
    from crawlsim.pictures import Sweep
    from sim.sweep import Cell

_HEADLINES = 3
"""Numbers in the one line that says what a run is."""

_PREDICTIONS = """solve(system) gives some, and one's own is \
Prediction("loss_probability", None, 0.1, "exact", "my notes")"""

_CONFIDENCE = 0.95
"""With which the best cell is named, unless one asks for another."""


@dataclass(frozen=True)
class Solution:
    """What the formulas say of a scenario.

    Parameters
    ----------
    predictions : list of Prediction
    not_applicable : list of NotApplicable
        The formulas that do not cover the scenario, each with its reasons.
    course : OverTime
        The numbers at the times of ``run.observe``, from the start on.
    periodic : OverTime or None
        One period of the periodic regime of a system whose interventions repeat.
    scenario : str
        Its name.
    window : list of Prediction
        Where `run.warmup` is 0, what the window from the empty system on shows; the predictions are
        those of the long run.
    """

    predictions: list[Prediction]
    not_applicable: list[NotApplicable]
    course: OverTime = NO_COURSE.course
    periodic: OverTime | None = None
    scenario: str = "the scenario"
    window: list[Prediction] = field(default_factory=list)

    def __iter__(self) -> Iterator[Any]:
        """The predictions, and the formulas that do not apply."""
        return iter((self.predictions, self.not_applicable))

    def __repr__(self) -> str:
        what = counted(len(self.predictions), "prediction")
        return (
            f"<Solution of {self.scenario}: {what if self.predictions else 'no formula applies'}>"
        )

    def _repr_html_(self) -> str:
        said = "what the formulas say" if self.predictions else "no formula applies"
        return html_of(self.to_frame(), f"{self.scenario}: {said}")

    def find(self, measure: str, subject: Subject = None) -> Prediction:
        """The prediction of a measure, an exact one if there is one.

        Parameters
        ----------
        measure, subject
            As of `Results.find`.

        Raises
        ------
        LookupError
            If there is none, with what there is.
        """
        why = self._why_none(measure)
        return _found(self.predictions, self.scenario, "prediction", measure, subject, why)

    def _why_none(self, measure: str) -> str:
        from crawlsim.summary import QUANTILES_OF, without_quantiles

        return without_quantiles(self.not_applicable, measure) if measure in QUANTILES_OF else ""

    def to_frame(self) -> pd.DataFrame:
        """One row for each prediction, and what its formula is called."""
        import pandas as pd

        frame = pd.DataFrame(self.predictions, columns=list(Prediction.__dataclass_fields__))
        return frame.assign(formula=frame["source"].map(called))


@dataclass(frozen=True, repr=False)
class Run(Results):
    """The results of a system that is known: they can be drawn beside what the formulas say.

    Parameters
    ----------
    scenario, engine, seed, count, estimates, replications, events, leave_one_out, controls
        As of `Results`.
    variance_ratios, law_counts, time_to_index, course, plugins
        As of `Results`.
    system : Scenario
        What was simulated.
    """

    system: Scenario = field(kw_only=True, compare=False)

    def __repr__(self) -> str:
        from crawlsim.ranking import name_of_key

        rows = [self.find(*key) for key in self._headlines()]
        said = [f"{name_of_key((row.measure, row.subject))} {row.estimate:.4g}" for row in rows]
        return f"{', '.join([super().__repr__()[:-1], *said])}>"

    def _headlines(self) -> list[tuple[str, Subject]]:
        """The most important numbers."""
        from sim.sweep import shown

        keys = ((block.measure, each) for block in self.rows.blocks for each in block.subjects)
        return shown(self.system, keys)[:_HEADLINES]

    @cached_property
    def solution(self) -> Solution:
        """What the formulas say of the system."""
        return solve(self.system)

    def plot(self, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
        """A measure of all its subjects, or over time: simulated, with intervals, and exactly.

        Parameters
        ----------
        measure : str, optional
            Default: the most important one.
        ax : Axes, optional
            Where to draw; a new figure otherwise.

        Raises
        ------
        LookupError
            If there is no such estimate, with what there is.
        """
        from crawlsim.pictures import in_pyplot, plot_measure

        said = self.solution.predictions, self.solution.course
        what = measure or self._headlines()[0][0]
        return in_pyplot(lambda axes: plot_measure(self, self.system, *said, what, axes), ax)


@dataclass(frozen=True)
class Check:
    """A simulation, its predictions, and the verdict whether the two agree.

    Parameters
    ----------
    verdict : str
        "agrees", "disagrees", "inconclusive" or "not judged".
    comparisons : list of Comparison
        One for each prediction that the simulation estimated.
    results : Run
    solution : Solution
    course : list of Comparison
        One for each number of the course, with its time.
    laws : list of LawComparison or None
        One for each distribution; None where none were asked for.
    """

    verdict: str
    comparisons: list[Comparison]
    results: Run
    solution: Solution
    course: list[Comparison] = field(default_factory=list)
    laws: list[LawComparison] | None = None

    def __repr__(self) -> str:
        return f"<Check of {self._headline()}>"

    def _repr_html_(self) -> str:
        if not self.comparisons:
            return html_of(self.results.to_frame(), self._headline())
        shown = ["measure", "subject", "predicted", "estimated", "z", "verdict", "formula"]
        return html_of(self.to_frame()[shown], self._headline())

    def _headline(self) -> str:
        """The verdict, and where no formula is why: that."""
        from crawlsim.summary import without_formula

        gap = without_formula(self.comparisons, self.verdict)
        judged = [row for row in self.comparisons if row.verdict != "not judged"]
        said = gap or f"{counted(len(judged), 'number')} judged"
        return f"{self.results.scenario}: {self.verdict}, {said}"

    def find(self, measure: str, subject: Subject = None) -> Comparison:
        """The comparison of a measure, with an exact value if there is one.

        Parameters
        ----------
        measure, subject
            As of `Results.find`.

        Raises
        ------
        LookupError
            If there is none, with what there is.
        """
        why = self.solution._why_none(measure)
        return _found(self.comparisons, self.results.scenario, "comparison", measure, subject, why)

    def plot(self, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Differences of estimates and predictions, in tolerances (`plot_comparison`).

        Parameters
        ----------
        measure : str, optional
            Instead, `Run.plot` of this one.
        ax : Axes, optional
            Where to draw; a new figure otherwise.
        """
        if measure is not None:
            return self.results.plot(measure, ax=ax)
        from crawlsim.pictures import in_pyplot
        from crawlsim.report import plot_comparison

        return in_pyplot(lambda axes: plot_comparison(self.comparisons, axes), ax)

    def to_frame(self) -> pd.DataFrame:
        """One row for each comparison, and what its formula is called."""
        import pandas as pd

        columns = list(Comparison.__dataclass_fields__)
        frame = pd.DataFrame([asdict(each) for each in self.comparisons], columns=columns)
        return frame.assign(formula=frame["source"].map(called))


@checked
def run(
    system: System,
    *,
    seed: int | None = None,
    replications: int | None = None,
    engine: str | None = None,
    executor: Executor | None = None,
    precision: sim.Precision | float | None = None,
    pages: str | Path | None = None,
    control_variates: bool = False,
    trace: str | Path | None = None,
) -> Run:
    """Estimates of a scenario, with every "optimal" in it decided first.

    Parameters
    ----------
    system : Scenario, str or Path
        A scenario, the name of one in the library, or the path of a file.
    seed, replications : int, optional
        Default: those of the scenario.
    engine : {"simpy", "compiled"}, optional
        Default: the fastest that covers the scenario.
    executor : concurrent.futures.Executor, optional
        Where the replications run; default: this process.
    precision : float or Precision, optional
        Replications are added until the half-widths of the 95 % intervals are below this share of
        the estimates; ``sim.Precision(0.01, ["loss_probability"])``: of that measure.
    pages : path, optional
        A .parquet file, for the rows of all pages.
    control_variates : bool
        Whether quantities of known mean correct the estimates; ``variance_ratios`` says what that
        gained.
    trace : path, optional
        A .csv file, for every event; not with a precision.

    Raises
    ------
    ScenarioError
        If the scenario is not valid, the engine does not simulate it, or a file cannot be written.
    """
    from crawlsim.event_files import event_log
    from crawlsim.page_tables import claim_table, table_of_pages

    scenario = _decided(system)
    refine = sim.controlled if control_variates else None
    how: dict[str, Any] = {"engine": engine, "executor": executor}
    how |= {"seed": seed, "replications": replications, "precision": precision, "refine": refine}
    if trace is not None and precision is not None:
        raise ScenarioError("trace", str(trace), "does not go with precision")
    with ExitStack() as files:
        if pages is not None:
            claim_table(pages, scenario, "pages")
            how["spool"] = files.enter_context(table_of_pages(pages, scenario, "pages"))
        if trace is not None:
            how["log"] = files.enter_context(event_log(trace, "trace"))
        return _simulated(scenario, **how)


def _simulated(
    scenario: Scenario,
    *,
    seed: int | None,
    replications: int | None,
    precision: sim.Precision | float | None,
    refine: Callable[[Results], Results] | None = None,
    **how: Any,
) -> Run:
    if precision is None:
        results = sim.run(scenario, seed=seed, replications=replications, **how)
        return _known(results if refine is None else refine(results), scenario)
    asked = {"run.seed": seed, "run.replications": replications}
    first = scenario.with_({key: value for key, value in asked.items() if value is not None})
    return _known(sim.run_to_precision(first, precision, refine=refine, **how), scenario)


def _known(results: Results, system: Scenario) -> Run:
    values = {each.name: getattr(results, each.name) for each in fields(Results)}
    return Run(**values, system=system)


@checked
def solve(system: System) -> Solution:
    """Every formula that applies to a scenario, and why the others do not.

    Parameters
    ----------
    system : Scenario, str or Path
        A scenario, the name of one in the library, or the path of a file.

    Raises
    ------
    ScenarioError
        If the scenario is not valid.
    """
    scenario = _decided(system)
    predictions, others = analytic.predict(scenario)
    course = analytic.course_of(scenario)
    reasons = [*others, *course.not_applicable]
    window = analytic.window_from_empty(scenario)
    return Solution(predictions, reasons, course.course, course.periodic, scenario.name, window)


@checked
def check(
    system: System,
    *,
    seed: int | None = None,
    replications: int | None = None,
    engine: str | None = None,
    executor: Executor | None = None,
    precision: sim.Precision | float | None = None,
    distributions: bool = False,
) -> Check:
    """The verdict whether the simulation of a scenario agrees with its formulas.

    Parameters
    ----------
    system, seed, replications, engine, executor, precision
        As of `run`.
    distributions : bool
        Whether distributions are compared as well: those of sojourn times, of levels at arrivals,
        and of busy cycles.

    Raises
    ------
    ScenarioError
        If the scenario is not valid, or the engine does not simulate it.
    """
    scenario = _decided(system)
    laws = analytic.exact_laws(scenario) if distributions else None
    results = _simulated(
        scenario,
        seed=seed,
        replications=replications,
        precision=precision,
        engine=engine,
        executor=executor,
        points=None if laws is None else analytic.points_of(laws),
    )
    return judged(scenario, results, laws)


def judged(
    scenario: Scenario, results: Results, laws: Sequence[ExactLaw | NoLaw] | None = None
) -> Check:
    """The verdict on a simulation that has been run.

    Parameters
    ----------
    scenario : Scenario
        With nothing left to decide.
    results : Results
    laws : sequence of ExactLaw or NoLaw, optional
        Those whose points the simulation counted.
    """
    solution = solve(scenario)
    rows = analytic.check_scenario(scenario, solution.predictions, results)
    course = analytic.check_course(scenario, solution.course, results)
    of_laws = None if laws is None else analytic.check_laws(scenario, laws, results)
    verdict = analytic.with_laws(analytic.overall([*rows, *course]), of_laws or ())
    return Check(verdict, rows, _known(results, scenario), solution, course, of_laws)


def compare(
    predictions: Solution | Iterable[Prediction],
    results: Results | Check,
    judged: Sequence[str] = (),
    weights: Sequence[float] | None = None,
    **options: Any,
) -> list[Comparison]:
    """Compare predictions with a simulation, also with one of another system.

    Parameters
    ----------
    predictions : Solution or iterable of Prediction
        What `solve` gives, or one's own.
    results : Results or Check
        What `run` gives. The two may be given in either order.
    judged, weights, **options
        As of `analytic.compare`.

    Raises
    ------
    TypeError
        If the one holds no predictions, or the other no results.
    ValueError
        If the results hold no estimate of something predicted.
    """
    said: Any = predictions
    seen: Any = results
    if isinstance(said, Results | Check):
        said, seen = seen, said
    rows = said.predictions if isinstance(said, Solution) else said
    own = list(rows) if isinstance(rows, Iterable) else [rows]
    if wrong := [each for each in own if not isinstance(each, Prediction)]:
        raise TypeError(f"predictions: {brief(wrong[0])} is none; {_PREDICTIONS}")
    seen = seen.results if isinstance(seen, Check) else seen
    if not isinstance(seen, Results):
        raise TypeError(f"results: {brief(seen)} is none; run(system) gives some")
    return analytic.compare(own, seen, judged, weights, **options)


@checked
def compare_designs(
    a: System,
    b: System,
    *,
    seed: int | None = None,
    replications: int | None = None,
    engine: str | None = None,
    executor: Executor | None = None,
) -> DesignComparison:
    """The differences of two designs, simulated with common random numbers.

    Parameters
    ----------
    a, b : Scenario, str or Path
    seed, replications : int, optional
        Of both; default: those of `a`.
    engine, executor
        As of `run`.

    Returns
    -------
    DesignComparison
        A row for each measure, with the difference of `b` from `a` and its 95 % interval; its
        `sentence` says which is better.

    Raises
    ------
    ScenarioError
        If a scenario is not valid, they have nothing in common, or one replication shows no error.
    """
    from crawlsim.designs import compared, with_numbers_of

    asked = {"run.seed": seed, "run.replications": replications}
    given = {key: value for key, value in asked.items() if value is not None}
    one, other = (_decided(each).with_(given) for each in (a, b))
    designs = [one, with_numbers_of(one, other)]
    how: dict[str, Any] = {"engine": engine, "executor": executor}
    return compared(designs, [run(each, **how) for each in designs])


@checked
def export(system: System, to: str) -> str:
    """A program of another tool for the same system, which prints the same measures.

    Parameters
    ----------
    system : Scenario, str or Path
        A scenario, the name of one in the library, or the path of a file.
    to : {"line", "ciw", "simpy"}
        The tool.

    Raises
    ------
    ScenarioError
        If the scenario is not valid, or of the first key that the tool cannot express.
    """
    from crawlsim.exports import program_text

    return program_text(_decided(system), to)


@checked
def optimize(
    system: System,
    target: str,
    *,
    over: Mapping[str, Iterable[Any]] | None = None,
    kind: str | None = None,
    subject_to: str | Sequence[str] = (),
    indifference: float | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
    replications: int = 20,
    max_replications: int = 1000,
    engine: str | None = None,
    executor: Executor | None = None,
) -> Optimum:
    """The best decision of one kind for a scenario: its cost, a bound, the decision itself.

    Parameters
    ----------
    system : Scenario, str or Path
    target : str
        "frequencies", "template", "static", "threshold", "levels", "free", "switching", "routing",
        "probes" or "design".
    over : mapping str -> values, optional
        Of "design": the entries that may be chosen, such as ``{"buffer.servers": range(1, 7)}``.
    kind : {"exact", "approximation", "simulated"}, optional
        What the answer may rest on; default: the first of these that there is. The answer's `kind`
        says which it is, and its notes why it is no better one.
    subject_to : str or sequence of str
        Bounds that must all be kept, such as ``loss_probability <= 0.01``; of "design", "static",
        "threshold", "levels", "free" and "switching", exactly.
    indifference, confidence : float, optional
        Of a simulated search: with at least the probability `confidence` no rule that it compared
        costs less than the chosen one by more than the indifference; default: 1 % of the cost.
    seed : int, optional
        Default: that of the scenario.
    replications, max_replications : int
        Of each rule, before one is dropped, and at which it is given up.
    engine, executor
        As of `run`.

    Raises
    ------
    ScenarioError
        If there is no such target, or no answer of this kind for the scenario.
    """
    from crawlsim.searching import SearchRequest, next_best
    from sim.sweep import varied_of

    scenario = scenario_of(system)
    if seed is not None:
        scenario = scenario.with_("run.seed", seed)
    asked = SearchRequest(
        kind=kind,
        subject_to=(subject_to,) if isinstance(subject_to, str) else tuple(subject_to),
        over=varied_of(over) if over is not None else {},
        indifference=indifference,
        confidence=confidence,
        first=replications,
        most=max_replications,
        engine=engine,
        executor=lambda: executor,
    )
    return replace(next_best(scenario, target, asked), scenario=scenario.name)


@dataclass(frozen=True)
class Ranking:
    """Which cell of a sweep is best, and how sure that is.

    Parameters
    ----------
    best : dict or None
        The cell with its number, and the others that may be as good, as ``crawlsim sweep --json``
        has it; None: no cell has a value, or none is within the bound.
    sentence : str
        The same in words.
    rows, differences, choice : DataFrame
        As `sweep` gives them; how the cells differ from the best one, or the first; and, where
        replications were added, how often each cell was simulated.
    """

    best: dict[str, Any] | None
    sentence: str
    rows: pd.DataFrame
    differences: pd.DataFrame
    choice: pd.DataFrame


@checked
def rank(
    system: System,
    vary: Mapping[str, Iterable[Any]] | str,
    values: Iterable[Any] | None = None,
    *,
    minimise: str | None = None,
    maximise: str | None = None,
    first: str | Sequence[str] | None = None,
    last: str | Sequence[str] | None = None,
    confidence: float = _CONFIDENCE,
    indifference: float | None = None,
    max_replications: int | None = None,
    exact: bool = True,
    engine: str | None = None,
    executor: Executor | None = None,
) -> Ranking:
    """The best of all combinations of some entries, and how sure that is.

    Parameters
    ----------
    system, vary, values, exact, executor
        As of `sweep`.
    minimise, maximise : str, optional
        A measure, with its subject where it has several, such as ``"sojourn_time served"``.
    first, last : str or sequence of str, optional
        Instead, bounds: the first cell within all of them is wanted, in the order of `vary`, or the
        last.
    confidence : float
        With which the best cell is told apart from the others.
    indifference : float, optional
        Replications are added until, with that confidence, no other cell is better by more.
    max_replications : int, optional
        Of a cell, at which it is given up; default 1000, or those of the scenario if more.
    engine : {"simpy", "compiled"}, optional
        Default: the fastest that covers a scenario.

    Raises
    ------
    ScenarioError
        If a combination is not valid, or there is nothing to rank it by.
    """
    import pandas as pd

    from crawlsim.pictures import sweep_of
    from crawlsim.ranking import (
        CHOICE,
        DIFFERENCES,
        difference_rows,
        further_replications,
        goal_of,
        indifference_of,
        ranked,
    )
    from sim.sweep import cells, varied_of

    if not 0.5 < confidence < 1.0:
        raise ScenarioError("confidence", confidence, "must be above 0.5 and below 1")
    goal = goal_of(minimise, maximise, first, last)
    if goal is None:
        raise ScenarioError("minimise", MISSING, "is needed, or maximise, first or last")
    varied = varied_of(vary, values)
    grid = cells(scenario_of(system), varied)
    rule = indifference_of(indifference, confidence, goal, grid, max_replications)
    records = _records(grid, exact=exact, engine=engine, executor=executor)

    def further(number: int, replications: range) -> dict[str, Any]:
        decided = analytic.resolve(grid[number].scenario)
        return further_replications(grid[number], decided, replications, engine, executor)

    best = ranked(goal, grid, records, confidence, rule, further)
    differences = difference_rows(grid, records, best.index if best else 0)
    return Ranking(
        best=best.record if best else None,
        sentence=best.sentence if best else goal.missed,
        rows=sweep_of(grid, records),
        differences=pd.DataFrame(differences, columns=[*varied, *DIFFERENCES]),
        choice=pd.DataFrame(best.choice if best else (), columns=[*varied, *CHOICE]),
    )


def _records(grid: Sequence[Cell], *, exact: bool, **how: Any) -> list[dict[str, Any]]:
    """What comes out of each cell; `how` as of `run`."""
    from crawlsim.ranking import cell_record

    records = []
    for cell in grid:
        results = run(cell.scenario, **how)
        predictions = analytic.exact_values(results.system) if exact else {}
        records.append(cell_record(cell, results.system, results, predictions))
    return records


@checked
def sweep(
    system: System,
    vary: Mapping[str, Iterable[Any]] | str,
    values: Iterable[Any] | None = None,
    *,
    minimise: str | None = None,
    maximise: str | None = None,
    first: str | Sequence[str] | None = None,
    last: str | Sequence[str] | None = None,
    exact: bool = True,
    seed: int | None = None,
    replications: int | None = None,
    engine: str | None = None,
    executor: Executor | None = None,
    precision: sim.Precision | float | None = None,
) -> Sweep:
    """Estimates of every combination of some entries, with the same seed for all of them.

    Parameters
    ----------
    system : Scenario, str or Path
    vary : mapping str -> iterable, or str
        Key of the scenario file -> its values, such as ``{"buffer.waiting_places": [1, 2, 3]}``; or
        one key.
    values : iterable, optional
        Of the one key.
    minimise, maximise, first, last : optional
        As of `rank`: the `best` of what is returned says which cell it is.
    exact : bool
        Whether the exact values are computed too.
    seed, replications, engine, executor, precision
        As of `run`, for each cell.

    Returns
    -------
    Sweep
        A data frame with a row for each cell, measure and subject: the varied entries, then the
        columns of ``results.csv``; `predicted` is empty where no formula is exact.

    Raises
    ------
    ScenarioError
        If a combination is not valid.
    """
    from crawlsim.pictures import sweep_of
    from crawlsim.ranking import goal_of, ranked
    from sim.sweep import cells, varied_of

    goal = goal_of(minimise, maximise, first, last)
    grid = cells(scenario_of(system), varied_of(vary, values))
    how = {"engine": engine, "executor": executor, "precision": precision}
    records = _records(grid, exact=exact, seed=seed, replications=replications, **how)
    frame = sweep_of(grid, records)
    if goal is not None:
        best = ranked(goal, grid, records, _CONFIDENCE)
        frame.best = best.sentence if best else goal.missed
    return frame


@checked
def fit(
    trace: Trace | str | Path | Sequence[str | Path],
    *,
    kind: Kind | None = None,
    time_unit: str | None = None,
    pages: str = "exact",
    rates: str | None = None,
    signals: SignalLog | str | Path | Sequence[str | Path] | None = None,
    **options: Any,
) -> Fit:
    """Parameters of a scenario fitted to a log, with error bars and notes.

    `fitted_scenario` makes a scenario of them.

    Parameters
    ----------
    trace : Trace, path or sequence of paths
        A CSV file, plain or gzipped, what `crawlsim.fitting.read_trace` read from one, or logs of a
        crawler in any format that `schedule` reads.
    kind : str, optional
        "changes", "crawls", "deliveries" or "sizes"; default by the header.
    time_unit : str, optional
        Unit of the rates, or of the numbers in the file.
    pages : {"exact", "site-key"}
        As of `schedule`.
    rates : {"posterior", "likelihood"}, optional
        Change rates from crawls: those that `schedule` uses, the default, or the most likely ones.
    signals : SignalLog, path or sequence of paths, optional
        Signals of changes beside crawls, as of `schedule`: what they are worth is fitted too.
    **options
        As of `crawlsim.fitting.Options`.

    Raises
    ------
    ScenarioError
        If the file cannot be read, says too little, or an option does not go with it.
    """
    from crawlsim.logs.fit import Options, Trace, fit, read_trace

    if not isinstance(trace, Trace):
        trace = read_trace(trace, kind, time_unit, pages)
    heard = None if signals is None else _signals(signals, pages)
    return fit(trace, Options(rates=rates, signals=heard, **options))


def _signals(given: SignalLog | str | Path | Sequence[str | Path], pages: str) -> SignalLog:
    """Signals as they are given, or read from files."""
    from crawlsim.logs.read import SignalLog, read_signals

    if isinstance(given, SignalLog):
        return given
    paths = [given] if isinstance(given, str | Path) else list(given)
    return read_signals(paths, pages=pages)


@checked
def schedule(
    logs: str | Path | Sequence[str | Path] | VisitLog | ChangeLog,
    visits: str | None = None,
    *,
    budget: str | None = None,
    sizes: Mapping[str, float] | None = None,
    unchanged_bytes: float | None = None,
    shortest: str | None = None,
    longest: str | None = None,
    host_spacing: str | None = None,
    host_visits: Mapping[str, str] | None = None,
    host_delays: Mapping[str, float] | None = None,
    weights: Mapping[str, float] | None = None,
    tiers: Sequence[str] = (),
    rules_for: Sequence[str] = (),
    classes: Sequence[tuple[str, str]] = (),
    rule: str = "freshness",
    objective: str = "freshness",
    until: str | None = None,
    kind: Literal["visits", "changes"] | None = None,
    pages: str = "exact",
    form: str | None = None,
    out_format: str = "csv",
    backtest: bool = False,
    even: float | None = None,
    gone_after: int | None = None,
    recheck: str | None = None,
    newborn: str | None = None,
    active: str | None = None,
    signals: SignalLog | str | Path | Sequence[str | Path] | None = None,
) -> Schedule:
    """How often each page of a crawl log is to be visited, and what that promises.

    Parameters
    ----------
    logs : path, sequence of paths, VisitLog or ChangeLog
        Files of one history, in any of the formats of docs/crawl-logs.md.
    visits : str, optional
        Number of visits per unit of time, such as ``"5000/day"``.
    budget : str, optional
        In place of `visits` bytes per unit of time, such as ``"40GB/day"``.
    sizes : mapping str -> float, optional
        Bytes of URLs; default what the log says.
    unchanged_bytes : float, optional
        Bytes of a visit of a page that has not changed since the last one; default 300.
    shortest, longest : str, optional
        Time between two visits of a page, such as ``"1h"`` or ``"20d"``.
    host_spacing : str, optional
        Least time between two visits of a host.
    host_visits : mapping str -> str, optional
        Visits per unit of time of some hosts.
    host_delays : mapping str -> float, optional
        Least seconds between two visits of some hosts, such as the Crawl-delay of their robots.txt.
    weights : mapping str -> float, optional
        Importance of URLs, such as page views.
    tiers : sequence of str
        The only times between two visits that the crawler knows.
    rules_for : sequence of str
        Limits of the pages whose URL fits a pattern, ``"*/feed=1h:1d"``, in place of `shortest` and
        `longest`; the first that fits counts.
    classes : sequence of (str, str)
        Name of a class of pages and a pattern of URLs such as ``"*/news/*"``: numbers are given for
        each. A page is of the first that fits, else "other".
    rule : str
        "freshness", or for comparison "lambdacrawl", "azar", "proportional" or "uniform".
    objective : {"freshness", "delay", "harmonic"}
        What visits are to make best: the share of time up to date, the mean time from a change to
        the visit that finds it, or LambdaCrawl's cost.
    until : str, optional
        Date when watching ended.
    kind : {"visits", "changes"}, optional
        Of the log; default by its columns.
    pages : {"exact", "site-key"}
        Whether each spelling of a URL is a page, or http and https, with www. and without, and the
        like are one, called as it last answered with a content.
    form : str, optional
        Format of the logs; default by their contents.
    out_format : {"csv", "nutch", "stormcrawler", "scrapy"}
        For which the intervals are made; `crawlsim.scheduling.schedule_text` writes it.
    backtest : bool
        Whether plans of earlier years are replayed.
    even : float, optional
        Share of the budget that is spread evenly, 0 to 1; default by the length of the log.
    gone_after : int, optional
        Errors and redirects in a row after which a URL is gone; default 3.
    recheck : str, optional
        Time between two looks at a URL that is gone, such as ``"30d"``, or "never"; default 90
        days.
    newborn : str, optional
        ``"7d:1d"``: a page that was first seen within a week of the end of the log is visited once
        a day or more, before all else is paid.
    active : str, optional
        ``"08-20"``: hours, in UTC, in which pages are visited, at equal intervals of active time;
        the intervals of the plan are calendar means, and the promise knows of the nights.
    signals : SignalLog, path or sequence of paths, optional
        Signals of changes that the crawler hears: files with the columns url and time, or sitemaps.
        The plan then has a level for each page, and the time that a signal counts for. Without
        `logs`, an empty sequence, nothing says which signals are true, and the plan is even.

    Raises
    ------
    ScenarioError
        If a log cannot be read, or what is asked for cannot be kept.
    """
    from crawlsim.logs.plan import LogRequest, schedule_of, schedule_of_signals, with_signals
    from crawlsim.logs.plan.by_signals import refuse_beside_signals
    from crawlsim.logs.plan.hours import active_hours
    from crawlsim.logs.plan.quantities import duration, instant, visits_per_second
    from crawlsim.logs.plan.tables import of_site_keys, under_site_keys
    from crawlsim.logs.plan.writing import (
        FORMATS,
        WITH_SIGNALS,
        limits_in,
        newborn_for,
        refuse_parts_of,
        rule_for,
    )
    from crawlsim.logs.read import ChangeLog, VisitLog, read_logs
    from crawlsim.logs.read.states import GONE_AFTER

    if out_format not in FORMATS:
        raise ScenarioError("--format", out_format, f"must be {one_of(out_format, FORMATS)}")
    seconds = [duration(each, "--tiers") for each in tiers]
    refuse_parts_of(out_format, seconds)
    limits = limits_in(
        out_format,
        0.0 if shortest is None else duration(shortest, "--min"),
        None if longest is None else duration(longest, "--max"),
    )
    if tiers and shortest is None and longest is None:
        limits = (0.0, np.inf)
    of_bytes = _byte_budget(visits, budget, sizes, unchanged_bytes)
    asked = LogRequest(
        visits=0.0 if visits is None else visits_per_second(visits),
        shortest=limits[0],
        longest=limits[1],
        host_spacing=0.0 if host_spacing is None else duration(host_spacing, "--host-spacing"),
        host_visits={
            host: visits_per_second(number, "--host-visits")
            for host, number in (host_visits or {}).items()
        },
        host_delays=host_delays or {},
        weights=weights,
        until=None if until is None else instant(until, "--until"),
        longest_by="--max" if longest else f"--max (the limit of {out_format} unless you say more)",
        tiers=tuple(seconds),
        rules_for=[rule_for(each, out_format) for each in rules_for],
        classes=tuple(classes),
        rule=rule,
        objective=objective,
        backtest=backtest and signals is None,
        even=even,
        gone_after=GONE_AFTER if gone_after is None else gone_after,
        recheck=_recheck(recheck),
        newborn=None if newborn is None else newborn_for(newborn, out_format),
        hours=None if active is None else active_hours(active),
        bytes=of_bytes,
    )
    heard = None
    if signals is not None:
        refuse_beside_signals(asked)
        if out_format not in WITH_SIGNALS:
            allowed = f"knows no signals; with them the format is {listed(WITH_SIGNALS)}"
            raise ScenarioError("--format", out_format, allowed)
        heard = _signals(signals, pages)
        if isinstance(logs, Sequence) and not isinstance(logs, str) and not logs:
            if backtest:
                allowed = "needs a log of visits: signals do not say what had changed"
                raise ScenarioError("--backtest", MISSING, allowed)
            return schedule_of_signals(heard, asked)
    if not isinstance(logs, VisitLog | ChangeLog):
        paths = [logs] if isinstance(logs, str | Path) else list(logs)
        logs = read_logs(paths, form=form, kind=kind, pages=pages)
    if weights is not None and pages == "site-key":
        asked = replace(asked, weights=of_site_keys(weights, logs.urls.tolist()))
    if sizes is not None and of_bytes is not None and pages == "site-key":
        of_pages = under_site_keys(sizes, logs.urls.tolist())
        asked = replace(asked, bytes=replace(of_bytes, sizes=of_pages))
    made = schedule_of(logs, asked)
    return made if heard is None else with_signals(made, heard, backtest=backtest)


def _byte_budget(
    visits: str | None,
    budget: str | None,
    sizes: Mapping[str, float] | None,
    unchanged: float | None,
) -> ByteBudget | None:
    """The budget of bytes; None where it is one of visits."""
    from crawlsim.logs.plan.byte_budget import UNCHANGED, ByteBudget
    from crawlsim.logs.plan.quantities import bytes_per_second

    if budget is None:
        if visits is None:
            allowed = "a budget is needed: --visits 5000/day, or --budget 40GB/day in bytes"
            raise ScenarioError("--visits", MISSING, allowed)
        for option, given in (("--sizes", sizes), ("--unchanged-bytes", unchanged)):
            if given is not None:
                allowed = "goes with --budget, in bytes; a budget of visits asks for no sizes"
                raise ScenarioError(option, MISSING, allowed)
        return None
    if visits is not None:
        raise ScenarioError("--budget", budget, "does not go with --visits: a plan has one budget")
    if unchanged is not None and not (np.isfinite(unchanged) and unchanged > 0):
        raise ScenarioError("--unchanged-bytes", unchanged, "must be a number above 0")
    return ByteBudget(
        bytes_per_second(budget), sizes, UNCHANGED if unchanged is None else unchanged
    )


def _recheck(text: str | None) -> float:
    """Seconds between two looks at a URL that is gone."""
    from crawlsim.logs.plan.gone import RECHECK
    from crawlsim.logs.plan.quantities import duration

    if text is None:
        return RECHECK
    return np.inf if text == "never" else duration(text, "--recheck")


def _decided(system: System) -> Scenario:
    """The scenario with every "optimal" replaced by what it stands for."""
    return analytic.resolve(scenario_of(system))


Said = TypeVar("Said", Prediction, Comparison)


def _found(
    rows: Sequence[Said], scenario: str, what: str, measure: str, subject: Subject, why: str
) -> Said:
    """The row of a measure: an exact one if there is one, of the most special formula."""
    mine = [row for row in rows if (row.measure, row.subject) == (measure, subject)]
    if not mine:
        known: dict[str, list[Subject]] = {}
        for row in rows:
            subjects = known.setdefault(row.measure, [])
            if row.subject not in subjects:
                subjects.append(row.subject)
        raise LookupError(absent(scenario, what, measure, subject, known, why))
    return min(mine, key=lambda row: (row.kind != "exact", place_of(row.source)))
