"""Do the formulas and the simulation agree? One verdict per prediction, and one overall.

A family of comparisons has a false-alarm probability of 1e-3 (Holm). *Agrees* is more than "no
difference seen": the run must have been able to see a difference larger than the tolerance, and
otherwise the verdict is *inconclusive* and says how many replications would settle it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import scipy

from analytic.index.formula import Kind, Prediction
from analytic.transient.answers import OverTime, window_from_empty
from analytic.transient.measures import Columns
from analytic.transient.start_up import UNKNOWN_START, StartShifts
from analytic.verdicts.careful_errors import Context, careful_errors, prices_of
from analytic.verdicts.significance import (
    FAMILY_ERROR,
    TooRareError,
    critical_value,
    holm,
    replications_to_see,
    smallest_seen,
    visible_errors,
)
from scenarios import Estimate, Results, Scenario
from scenarios.infinite import Infinite, without_variance
from scenarios.measures import PAGE_MEASURES, PREDICTED_ONLY, Subject
from scenarios.page_groups import only_sums

Verdict = Literal["agrees", "disagrees", "inconclusive", "not judged"]

RELATIVE_TOLERANCE = 0.02
NEGLIGIBLE = 0.002
FLOOR = 0.001
PAGE_FLOOR = 0.1
"""The floor of one page's share of the accesses is at most this part of the share."""

_PARTS = {
    "crawl rates": ("crawl_rate", "crawl_frequency", "unchanged_share", "bytes_rate"),
    "the index": (
        *("weighted_obsolescence", "obsolescence_rate", "index_age"),
        *("stale_answer_probability", "time_to_refresh", "time_to_refresh_quantile"),
    ),
    "arrivals": ("arrival_rate",),
    "the queue": (
        *("loss_rate", "throughput", "loss_probability", "obsolescence_probability"),
        *("success_probability", "replacement_probability", "starvation_probability"),
        *("idle_indexers", "mean_batch", "mean_in_system", "level_probability"),
        *("resume_rate", "set_up_share", "blocking_probability", "mean_in_orbit"),
        *("sojourn_time", "sojourn_time_second_moment", "sojourn_quantile"),
    ),
}
"""What a verdict can be about, and the measures that belong to it."""

ROUNDING = 1e-12
"""Relative differences of this size come from adding in another order."""

_MOSTLY_START = 0.05
"""Share of a window that remembers the start from which on nothing but the window is compared."""

_SAME = 1e-9
"""Predictions of the same number that differ by less are one prediction of the family."""

_CHOOSING = ("obsolescence_rate", "crawl_rate", "crawl_frequency", "index_age")
"""Those by which pages are chosen."""

_FEW_PAGES = 50
_CHOSEN_PAGES = 20
_JUDGED_KINDS: tuple[Kind, ...] = ("exact", "lower bound", "upper bound")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One prediction against its estimate.

    Parameters
    ----------
    measure, subject
        What it is about.
    predicted, estimated, standard_error : float
    kind, source : str
        Of the prediction.
    z : float
        Difference in standard errors; nan where undefined.
    verdict : str
        "agrees", "disagrees", "inconclusive" or "not judged".
    detectable : float or None
        Smallest relative difference that this run would have seen with probability 0.95; never
        less than what would have been reported.
    replications_needed : int or None
        For *inconclusive*: replications that would settle it.
    tolerance : float
        Largest difference that still counts as agreement.
    window_too_short : bool
        For *inconclusive*: the two ends of the window alone can make such a difference.
    warmup_too_short : bool
        For *inconclusive*: the start, which the warm-up is too short to forget, can make it.
    too_rare : bool
        For *inconclusive*: more replications than a simulation can make would settle it.
    reason : str
        Why it cannot be judged, where no run would help.
    settled : bool
        Whether the run was long enough to tell, which also a row that need not be may be.
    time : float or None
        Of a number of the course: when, or the end of its interval.
    """

    measure: str
    subject: Subject
    predicted: float
    estimated: float
    standard_error: float
    z: float
    verdict: Verdict
    detectable: float | None
    kind: Kind
    source: str
    replications_needed: int | None = None
    tolerance: float = math.nan
    window_too_short: bool = False
    warmup_too_short: bool = False
    too_rare: bool = False
    reason: str = ""
    settled: bool = True
    time: float | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    """A prediction with what is needed to judge it.

    `floor` is the difference that a run need not see, `negligible` the one that refutes nothing;
    `end_effect` and `start` are what the ends of the window and a short warm-up can make;
    `must_settle` says whether the verdict on the scenario waits for it.
    """

    prediction: Prediction
    estimate: float
    error: float
    in_family: bool
    must_settle: bool
    floor: float
    negligible: float
    end_effect: float
    start: float
    time: float | None = None

    @property
    def size(self) -> float:
        """Absolute value of the prediction."""
        return abs(self.prediction.value)

    @property
    def difference(self) -> float:
        """Estimate minus prediction."""
        return self.estimate - self.prediction.value

    @property
    def tolerance(self) -> float:
        """Largest difference that still counts as agreement."""
        return max(RELATIVE_TOLERANCE * self.size, self.floor)

    @property
    def violation(self) -> float:
        """How far the estimate is on the wrong side; for a bound, 0 on the right side."""
        if self.prediction.kind == "lower bound":
            return max(-self.difference, 0.0)
        if self.prediction.kind == "upper bound":
            return max(self.difference, 0.0)
        return abs(self.difference)

    @property
    def reason(self) -> str:
        """Why no run can settle it; nothing where one can."""
        return UNKNOWN_START if math.isinf(self.start) else ""

    @property
    def matters(self) -> bool:
        """Whether it is violated by more than refutes nothing."""
        return self.violation > max(NEGLIGIBLE * self.size, self.negligible)

    def in_errors(self, difference: float) -> float:
        """A difference in standard errors; one that rounding makes is none."""
        if abs(difference) <= ROUNDING * self.size:
            return 0.0
        return difference / self.error if self.error else math.copysign(math.inf, difference)

    def p_value(self, degrees: int, shift: float) -> float:
        """Probability of such a violation if the prediction holds up to a shift."""
        left = max(abs(self.difference) - shift, 0.0)
        z = self.in_errors(math.copysign(left, self.difference))
        if math.isnan(z) or degrees < 1:
            return 1.0
        if self.prediction.kind == "exact":
            return float(2 * scipy.special.stdtr(degrees, -abs(z)))
        return float(
            scipy.special.stdtr(degrees, z if self.prediction.kind == "lower bound" else -z)
        )

    def visible(self, replications: int, size: int) -> float:
        """Smallest difference that a family of this size would see, in the measure's unit."""
        reach = visible_errors(replications - 1, size) * self.error + self.end_effect + self.start
        least = max(NEGLIGIBLE * self.size, self.negligible)
        if not self.size:
            return max(reach, least)
        return max(smallest_seen(reach, self.size), least)

    def compared(self, verdict: Verdict, detectable: float | None = None) -> Comparison:
        """The row with a verdict."""
        return Comparison(
            measure=self.prediction.measure,
            subject=self.prediction.subject,
            predicted=self.prediction.value,
            estimated=self.estimate,
            standard_error=self.error,
            z=self.in_errors(self.difference),
            verdict=verdict,
            detectable=detectable,
            kind=self.prediction.kind,
            source=self.prediction.source,
            tolerance=self.tolerance,
            reason=self.reason,
            settled=verdict != "inconclusive",
            time=self.time,
        )


def compare(
    predictions: Iterable[Prediction],
    results: Results,
    judged: Sequence[str] = (),
    weights: Sequence[float] | None = None,
    *,
    prices: Mapping[str, float] | None = None,
    negligible: float = 0.0,
    start_shift: Callable[[Prediction, float], float] | None = None,
    single_pages: bool = True,
    without_variance: Mapping[str, Infinite] = MappingProxyType({}),
    of_window: Collection[tuple[str, Subject]] = (),
) -> list[Comparison]:
    """Compare predictions with a simulation.

    Parameters
    ----------
    predictions : iterable of Prediction
        Those of `analytic.predict`, or one's own.
    results : Results
    judged : sequence of str, optional
        The measures that must be settled (a scenario's `judged`); empty: every exact and bound
        row. Every other such row is *not judged*, unless it disagrees.
    weights : sequence of float, optional
        Weights of the pages. Of more than 50 pages only the 20 with the largest predicted
        weight × obsolescence rate belong to the family, chosen without looking at the estimates.
    prices : mapping measure -> float, optional
        What a unit of each measure adds to the control cost, whose error then includes that of
        events that were seldom seen.
    negligible : float, optional
        Difference of a share, or of a rate per arrival, that refutes nothing, however significant.
    start_shift : callable, optional
        How far the start of the run can shift an estimate (from a prediction and the estimate),
        where the warm-up is known to be too short; infinite where nothing is known of the start.
    single_pages : bool
        Whether rows of single pages must be settled. Where groups of pages are compared as well,
        they need not be: a run that is long enough for millions of pages together may be far too
        short for one.
    without_variance : mapping measure -> Infinite
        Measures whose estimates have no variance: no test holds, and they are *not judged*.
    of_window : collection of (measure, subject)
        Those of which the window itself is predicted: neither its start nor its ends shift them.

    Returns
    -------
    list of Comparison
        One row per prediction; and one without a predicted value for each judged measure that
        nothing predicts, which is inconclusive.

    Raises
    ------
    ValueError
        If the results hold no estimate of something predicted.
    """
    predicted = [each for each in predictions if each.measure not in PREDICTED_ONLY]
    context = Context(predicted, results, prices or {})
    estimates = [context.estimate_of(each) for each in predicted]
    errors = careful_errors(predicted, estimates, context)
    pages = _judged_pages(predicted, weights)
    rows = []
    for prediction, estimate, error in zip(predicted, estimates, errors, strict=True):
        unit = context.unit_of(prediction.measure)
        lacks_variance = prediction.measure in without_variance and without_variance[
            prediction.measure
        ].covers(prediction.subject)
        in_family = prediction.kind in _JUDGED_KINDS and not lacks_variance
        in_family = in_family and _is_judged(prediction, pages)
        exactly = (prediction.measure, prediction.subject) in of_window
        start = 0.0
        if start_shift and in_family and not exactly:
            start = start_shift(prediction, estimate.estimate)
        rows.append(
            _Row(
                prediction,
                estimate.estimate,
                error,
                in_family=in_family,
                must_settle=(
                    (not judged or prediction.measure in judged)
                    and (single_pages or _page_of(prediction) is None)
                ),
                floor=_floor(prediction, unit),
                negligible=negligible * unit,
                end_effect=0.0 if exactly else estimate.end_effect_bound,
                start=start,
            )
        )
    verdicts = iter(_judge([row for row in rows if row.in_family], results.count))
    compared = [next(verdicts) if row.in_family else row.compared("not judged") for row in rows]
    names = {prediction.measure for prediction in predicted}
    return compared + [_unpredicted(name, results) for name in judged if name not in names]


class Sight(NamedTuple):
    """What one look at a running simulation says of a prediction.

    Attributes
    ----------
    refutes : bool
        Whether the estimate is further away than the band reaches.
    settles : bool
        Whether a difference larger than the tolerance would be seen.
    """

    refutes: bool
    settles: bool


def look_at_predictions(
    predictions: Sequence[Prediction],
    results: Results,
    reaches: Sequence[float],
    tolerance: float = RELATIVE_TOLERANCE,
    prices: Mapping[str, float] | None = None,
) -> list[Sight]:
    """What one look at a running simulation says of predictions, with the errors of `compare`.

    Instead of the p-values of one look there are bands that may be looked at after every
    replication. There is no floor for small shares: only a prediction of 0, which has no part,
    has an absolute tolerance.

    Parameters
    ----------
    predictions : sequence of Prediction
        Exact ones.
    results : Results
        Of the replications so far.
    reaches : sequence of float
        How many standard errors the band of each of them reaches to each side.
    tolerance : float
        Relative difference that still counts as agreement.
    prices : mapping measure -> float, optional
        As for `compare`.

    Raises
    ------
    ValueError
        If the results hold no estimate of something predicted.
    """
    context = Context(predictions, results, prices or {})
    estimates = [context.estimate_of(each) for each in predictions]
    errors = careful_errors(predictions, estimates, context)
    sights = []
    for prediction, estimate, error, reach in zip(
        predictions, estimates, errors, reaches, strict=True
    ):
        row = _Row(
            prediction,
            estimate.estimate,
            error,
            in_family=True,
            must_settle=True,
            floor=0.0
            if prediction.value
            else _floor(prediction, context.unit_of(prediction.measure)),
            negligible=0.0,
            end_effect=estimate.end_effect_bound,
            start=0.0,
        )
        beyond = math.copysign(max(row.violation - row.end_effect, 0.0), row.difference)
        refutes = row.matters and abs(row.in_errors(beyond)) > reach
        band = reach * row.error + row.end_effect
        seen = smallest_seen(band, row.size) if row.size else band
        sights.append(Sight(refutes, seen <= max(tolerance * row.size, row.floor)))
    return sights


def check_scenario(
    scenario: Scenario, predictions: Iterable[Prediction], results: Results
) -> list[Comparison]:
    """Verdicts on the predictions of a scenario, with all that its file says about them.

    What must be settled (`judged`), the weights of its pages, its prices, what it calls negligible
    (`[check]`), and a warm-up too short for the system to forget its start. Without a warm-up what
    is known of the window from empty stands in the place of the long run.

    Parameters
    ----------
    scenario : Scenario
    predictions : iterable of Prediction
        Those of `analytic.predict`, or one's own.
    results : Results
        Of a simulation of the scenario.

    Returns
    -------
    list of Comparison
        As those of `analytic.compare`.
    """
    window = window_from_empty(scenario)
    known = {(each.measure, each.subject) for each in window}
    rows = [each for each in predictions if (each.measure, each.subject) not in known] + window
    shifts = StartShifts(scenario)

    def shift(prediction: Prediction, estimate: float) -> float:
        most = shifts.of(prediction, estimate)
        if window and shifts.share_of(prediction.measure, prediction.subject) > _MOSTLY_START:
            return max(most, abs(estimate - prediction.value))
        return most

    return compare(
        rows,
        results,
        scenario.judged,
        _weights_of(scenario),
        prices=prices_of(scenario, rows),
        negligible=scenario.check.negligible,
        start_shift=shift,
        of_window=known,
        single_pages=not only_sums(scenario),
        without_variance=without_variance(scenario),
    )


def _page_of(prediction: Prediction) -> int | None:
    """The page that it is about; None: not a single one."""
    subject = prediction.subject
    if prediction.measure in ("frontier_delay_quantile", "time_to_refresh_quantile"):
        page, _, share = str(subject).partition(" ")
        return int(page) if share else None
    if isinstance(subject, int) and prediction.measure in PAGE_MEASURES:
        return subject
    return None


def _is_judged(prediction: Prediction, pages: set[Subject] | None) -> bool:
    """Whether it is about one of these pages, or about no single page; None: all pages are."""
    return pages is None or (page := _page_of(prediction)) is None or page in pages


def _weights_of(scenario: Scenario) -> Sequence[float] | None:
    """Weights by which some pages are chosen; None where the scenario itself has chosen some."""
    if scenario.model.pages is None or only_sums(scenario):
        return None
    return scenario.model.pages.weights.tolist()


def check_course(scenario: Scenario, course: OverTime, results: Results) -> list[Comparison]:
    """Verdicts on the exact course of a scenario: a family of its own.

    At each time the replications are an independent sample. Where a file says what must be settled
    (`judged`), that is about averages over the window: of its course nothing must be.

    Parameters
    ----------
    scenario : Scenario
    course : OverTime
        Of `analytic.course_of`.
    results : Results
        Of a simulation of the scenario.

    Returns
    -------
    list of Comparison
        Time by time, each with its time.
    """
    estimated = results.course.columns
    known = {key: values for key, values in course.columns.items() if key in estimated}
    at_end = _predictions_at(known, -1) if len(course.times) else []
    pages = _judged_pages(at_end, _weights_of(scenario))
    rows = []
    for place, time in enumerate(course.times.tolist()):
        predictions = _predictions_at(known, place)
        estimates = [_estimate_at(estimated, each, place) for each in predictions]
        context = Context(predictions, results, {})
        least = _least_errors(scenario, predictions, results.count)
        errors = [
            max(error, least.get(each.measure, 0.0)) if each.subject is None else error
            for each, error in zip(
                predictions, careful_errors(predictions, estimates, context), strict=True
            )
        ]
        rows += [
            _Row(
                prediction,
                estimate.estimate,
                error,
                in_family=_is_judged(prediction, pages),
                must_settle=not scenario.judged,
                floor=_floor(prediction, context.unit_of(prediction.measure)),
                negligible=scenario.check.negligible * context.unit_of(prediction.measure),
                end_effect=0.0,
                start=0.0,
                time=time,
            )
            for prediction, estimate, error in zip(predictions, estimates, errors, strict=True)
        ]
    verdicts = iter(_judge([row for row in rows if row.in_family], results.count))
    return [next(verdicts) if row.in_family else row.compared("not judged") for row in rows]


def _least_errors(
    scenario: Scenario, predictions: Sequence[Prediction], replications: int
) -> dict[str, float]:
    """Standard errors of means at one time, as the predictions have them.

    Levels are whole numbers: a few replications may well see the same one, and no error at all.
    """
    shares = {
        name: {each.subject: each.value for each in predictions if each.measure == name}
        for name in ("level_probability", "obsolescence_rate")
    }
    least = {}
    level = np.array([*shares["level_probability"]], dtype=float)
    if len(level):
        probability = np.array([*shares["level_probability"].values()])
        mean = float(level @ probability)
        least["mean_in_system"] = max(float((level - mean) ** 2 @ probability), 0.0)
    if scenario.model.pages is not None and shares["obsolescence_rate"]:
        stale = np.array([*shares["obsolescence_rate"].values()])
        weights = scenario.model.pages.weights
        least["weighted_obsolescence"] = float(weights**2 @ (stale * (1.0 - stale)))
    robots = next((each.value for each in predictions if each.measure == "mean_active_robots"), 0.0)
    least["mean_active_robots"] = (robots % 1.0) * (1.0 - robots % 1.0)
    return {name: math.sqrt(value / replications) for name, value in least.items()}


def _predictions_at(columns: Columns, place: int) -> list[Prediction]:
    """What the course says at one time; undefined values left out."""
    return [
        Prediction(measure, subject, float(values[place]), "exact", "courses")
        for (measure, subject), values in columns.items()
        if math.isfinite(values[place])
    ]


def _estimate_at(columns: Columns, prediction: Prediction, place: int) -> Estimate:
    """What was estimated of it."""
    values = columns[prediction.measure, prediction.subject][:, place].tolist()
    number, error, low, high = values[:4]
    about = prediction.measure, prediction.subject
    return Estimate(*about, number, error, low, high, sample=values[-1])


def overall(comparisons: Iterable[Comparison]) -> Verdict:
    """The verdict on a whole scenario: the worst of its judged rows.

    Parameters
    ----------
    comparisons : iterable of Comparison
    """
    verdicts = {row.verdict for row in comparisons}
    worst: tuple[Verdict, ...] = ("disagrees", "inconclusive", "agrees")
    return next((each for each in worst if each in verdicts), "not judged")


def scope_of(comparisons: Iterable[Comparison], results: Results) -> str:
    """What was compared, where no formula covers some part of what was simulated; else nothing.

    Parameters
    ----------
    comparisons : iterable of Comparison
    results : Results
        With estimates of the parts that the system has.
    """
    rows = list(comparisons)
    predicted = {row.measure for row in rows if row.kind in _JUDGED_KINDS}
    judged = {row.measure for row in rows if row.verdict != "not judged"}
    simulated = {block.measure for block in results.rows.blocks}
    parts = [part for part, of in _PARTS.items() if simulated.intersection(of)]
    compared = [part for part in parts if judged.intersection(_PARTS[part])]
    missing = [part for part in parts if not predicted.intersection(_PARTS[part])]
    if not compared or not missing:
        return ""
    return f"{' and '.join(compared)} only; no formula for {' or '.join(missing)}"


def _floor(prediction: Prediction, unit: float) -> float:
    """The difference that a run need not see; of a page's accesses none as large as they are."""
    floor = FLOOR * unit
    if prediction.measure in _PARTS["crawl rates"] and prediction.value:
        return min(floor, PAGE_FLOOR * abs(prediction.value))
    return floor


def _judged_pages(
    predictions: Sequence[Prediction], weights: Sequence[float] | None
) -> set[Subject] | None:
    """The pages that are judged, or None for all of them.

    Ranked by weight × predicted obsolescence rate, or × crawl rate where no formula gives one.
    """
    for measure in _CHOOSING:
        values = {
            p.subject: p.value
            for p in predictions
            if p.measure == measure and isinstance(p.subject, int)
        }
        if values:
            break
    if len(values) <= _FEW_PAGES:
        return None

    def importance(page: int) -> float:
        return values[page] * (1.0 if weights is None else weights[page])

    return set(sorted(values, key=importance, reverse=True)[:_CHOSEN_PAGES])


def _judge(family: Sequence[_Row], replications: int) -> list[Comparison]:
    """The verdicts of a family; a number that several formulas give counts once."""
    firsts, which = _distinct(family)
    shifts = [(0.0, row.end_effect, row.end_effect + row.start) for row in firsts]
    adjusted = [
        holm([row.p_value(replications - 1, s) for row, s in zip(firsts, shift, strict=True)])
        for shift in zip(*shifts, strict=True)
    ]
    columns = list(zip(*adjusted, strict=True))
    compared = []
    for row, index in zip(family, which, strict=True):
        one = _judged(row, columns[index], len(firsts), replications)
        if not row.must_settle and one.verdict != "disagrees":
            one = replace(one, verdict="not judged")
        compared.append(one)
    return compared


def _distinct(family: Sequence[_Row]) -> tuple[list[_Row], list[int]]:
    """The rows that say different things, and for each row which of them says the same."""
    firsts: list[_Row] = []
    known: dict[tuple[str, Subject, Kind, float | None], list[int]] = {}
    which = []
    for row in family:
        prediction = row.prediction
        about = prediction.measure, prediction.subject, prediction.kind, row.time
        alike = known.setdefault(about, [])
        for index in alike:
            other = firsts[index].prediction.value
            if abs(prediction.value - other) <= _SAME * abs(other):
                which.append(index)
                break
        else:
            alike.append(len(firsts))
            which.append(len(firsts))
            firsts.append(row)
    return firsts, which


def _judged(row: _Row, p_values: Sequence[float], size: int, replications: int) -> Comparison:
    """The verdict from adjusted p-values: as seen, less the end effect, less the start too."""
    if replications < 2 or math.isnan(row.error + row.estimate) or row.reason:
        return row.compared("inconclusive")
    visible = row.visible(replications, size)
    detectable = visible / row.size if row.size else None
    undecided = row.compared("inconclusive", detectable)
    seen, beyond_ends, beyond_start = (p_value < FAMILY_ERROR for p_value in p_values)
    if seen and row.matters:
        if not beyond_ends:
            return replace(undecided, window_too_short=True)
        if not beyond_start:
            return replace(undecided, warmup_too_short=True)
        return row.compared("disagrees", detectable)
    tolerance = max(row.tolerance, row.negligible)
    # A bound holds where the estimate lies significantly on its right side.
    critical = critical_value(replications - 1, size, sides=1)
    is_kept = row.prediction.kind != "exact" and row.violation == 0
    if visible <= tolerance or (is_kept and abs(row.difference) >= critical * row.error):
        return row.compared("agrees", detectable)
    if not row.size:
        return undecided
    hidden = row.end_effect + row.start
    try:
        needed = replications_to_see(
            tolerance, row.error, hidden, size, replications, predicted=row.size
        )
    except TooRareError:
        return replace(undecided, too_rare=row.must_settle)
    if needed is not None:
        return replace(undecided, replications_needed=needed if row.must_settle else None)
    if row.start > row.end_effect:
        return replace(undecided, warmup_too_short=True)
    return replace(undecided, window_too_short=True)


def _unpredicted(measure: str, results: Results) -> Comparison:
    """A judged measure that no formula predicts for this scenario."""
    simulated = results.rows.find(measure)
    return Comparison(
        measure=measure,
        subject=None,
        predicted=math.nan,
        estimated=simulated.estimate if simulated else math.nan,
        standard_error=simulated.standard_error if simulated else math.nan,
        z=math.nan,
        verdict="inconclusive",
        detectable=None,
        kind="exact",
        source="no formula applies",
        settled=False,
    )
