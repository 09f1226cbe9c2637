"""Do the formulas and the simulation agree? One verdict per prediction, and one overall.

A family of comparisons has a false-alarm probability of 1e-3 (Holm). *Agrees* is more than "no
difference seen": the run must have been able to see a difference larger than the tolerance, and
otherwise the verdict is *inconclusive* and says how many replications would settle it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from scipy.special import stdtr, stdtrit

from analytic.formula import Kind, Prediction
from scenarios.measures import MEASURES, Subject
from scenarios.results import Estimate, Results

__all__ = ["Comparison", "Verdict", "compare", "holm", "overall"]

Verdict = Literal["agrees", "disagrees", "inconclusive", "not judged"]

FAMILY_ERROR = 1e-3
POWER = 0.95
RELATIVE_TOLERANCE = 0.02
NEGLIGIBLE = 0.002
FLOOR = 0.001
ROUNDING = 1e-12
"""Relative differences of this size come from adding in another order."""
CLUSTERING = 5.0
"""Variance of a share relative to independent pages that is assumed of events never seen."""

_PAGE_MEASURES = ("obsolescence_rate", "crawl_rate", "crawl_frequency", "index_age")
_FEW_PAGES, _CHOSEN_PAGES = 50, 20
_PAGE_RATES = ("arrival_rate", "loss_rate", "throughput")
_JUDGED_KINDS: tuple[Kind, ...] = ("exact", "lower bound", "upper bound")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One prediction against its estimate.

    Attributes
    ----------
    z : float
        Difference in standard errors; nan where undefined.
    verdict : str
        "agrees", "disagrees", "inconclusive" or "not judged".
    detectable : float or None
        Smallest relative difference that this run would have seen with probability 0.95.
    replications_needed : int or None
        For *inconclusive*: replications that would settle it.
    tolerance : float
        Largest difference that still counts as agreement.
    window_too_short : bool
        For *inconclusive*: the two ends of the window alone can make such a difference.
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


@dataclass(frozen=True, slots=True)
class _Row:
    """A prediction with what is needed to judge it."""

    prediction: Prediction
    estimate: float
    error: float
    floor: float
    edge: float

    @property
    def difference(self) -> float:
        """Estimate minus prediction."""
        return self.estimate - self.prediction.value

    @property
    def tolerance(self) -> float:
        """Largest difference that still counts as agreement."""
        return max(RELATIVE_TOLERANCE * abs(self.prediction.value), self.floor)

    @property
    def z(self) -> float:
        """Difference in standard errors."""
        return self._in_errors(self.difference)

    def _in_errors(self, difference: float) -> float:
        if abs(difference) <= ROUNDING * abs(self.prediction.value):
            return 0.0
        return difference / self.error if self.error else math.copysign(math.inf, difference)

    @property
    def violation(self) -> float:
        """How far the estimate is on the wrong side; for a bound, 0 on the right side."""
        if self.prediction.kind == "lower bound":
            return max(-self.difference, 0.0)
        if self.prediction.kind == "upper bound":
            return max(self.difference, 0.0)
        return abs(self.difference)

    def p_value(self, degrees: int, shift: float = 0.0) -> float:
        """Probability of such a violation if the prediction holds up to a shift."""
        left = max(abs(self.difference) - shift, 0.0)
        z = self._in_errors(math.copysign(left, self.difference))
        if math.isnan(z) or degrees < 1:
            return 1.0
        if self.prediction.kind == "exact":
            return float(2 * stdtr(degrees, -abs(z)))
        sign = 1 if self.prediction.kind == "lower bound" else -1
        return float(stdtr(degrees, sign * z))


def compare(
    predictions: Iterable[Prediction],
    results: Results,
    judged: Sequence[str] = (),
    weights: Sequence[float] | None = None,
) -> list[Comparison]:
    """Compare predictions with a simulation.

    Parameters
    ----------
    predictions : iterable of Prediction
        Those of `analytic.predict`, or one's own.
    results : Results
    judged : sequence of str, optional
        The measures that are judged (a scenario's `judged`); empty: every exact and bound row.
    weights : sequence of float, optional
        Weights of the pages. Of more than 50 pages only the 20 with the largest predicted
        weight × obsolescence rate are judged, chosen without looking at the estimates.

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
    rows = list(predictions)
    arrivals, chosen = _arrival_rate(rows, results), _chosen_pages(rows, weights)
    crawls = math.fsum({p.subject: p.value for p in rows if p.measure == "crawl_rate"}.values())
    family: list[_Row] = []
    shown: list[_Row] = []
    for prediction in rows:
        in_family = prediction.kind in _JUDGED_KINDS and (
            not judged or prediction.measure in judged
        )
        if chosen is not None and prediction.measure in _PAGE_MEASURES:
            in_family = in_family and prediction.subject in chosen
        row = _row(prediction, results, arrivals, crawls)
        (family if in_family else shown).append(row)
    verdicts = iter(_judge(family, results.count))
    unjudged = iter([_comparison(row, "not judged", None) for row in shown])
    members = {id(row.prediction) for row in family}
    ordered = [next(verdicts) if id(each) in members else next(unjudged) for each in rows]
    predicted = {prediction.measure for prediction in rows}
    return ordered + [_unpredicted(name, results) for name in judged if name not in predicted]


def overall(comparisons: Iterable[Comparison]) -> Verdict:
    """The verdict on a whole scenario: the worst of its judged rows."""
    verdicts = {row.verdict for row in comparisons}
    worst: tuple[Verdict, ...] = ("disagrees", "inconclusive", "agrees")
    return next((each for each in worst if each in verdicts), "not judged")


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given."""
    count, largest = len(p_values), 0.0
    adjusted = [0.0] * count
    for rank, index in enumerate(sorted(range(count), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (count - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def _judge(family: Sequence[_Row], replications: int) -> list[Comparison]:
    degrees = replications - 1
    seen = holm([row.p_value(degrees) for row in family])
    beyond = holm([row.p_value(degrees, row.edge) for row in family])
    return [
        _judged(row, p_values, len(family), replications)
        for row, *p_values in zip(family, seen, beyond, strict=True)
    ]


def _judged(row: _Row, p_values: Sequence[float], size: int, replications: int) -> Comparison:
    """The verdict from the adjusted p-values of the difference, and of it less the edge."""
    predicted = abs(row.prediction.value)
    if replications < 2 or math.isnan(row.error) or math.isnan(row.estimate):
        return _comparison(row, "inconclusive", None)
    visible = _quantiles(replications, size) * row.error
    detectable = visible / predicted if predicted else None
    seen, beyond = (p_value < FAMILY_ERROR for p_value in p_values)
    if seen and row.violation > max(NEGLIGIBLE * predicted, row.floor / 2):
        if not beyond:
            return replace(_comparison(row, "inconclusive", detectable), window_too_short=True)
        return _comparison(row, "disagrees", detectable)
    if visible <= row.tolerance or _surely_holds(row, replications, size):
        return _comparison(row, "agrees", detectable)
    needed = _replications(replications, row.error, row.tolerance, size)
    return replace(_comparison(row, "inconclusive", detectable), replications_needed=needed)


def _quantiles(replications: int, size: int) -> float:
    """Standard errors of the smallest difference that a family of this size would have seen."""
    degrees = replications - 1
    return float(stdtrit(degrees, 1 - FAMILY_ERROR / (2 * size)) + stdtrit(degrees, POWER))


def _surely_holds(row: _Row, replications: int, size: int) -> bool:
    """A bound on whose right side the estimate lies significantly, at the error of the family."""
    critical = float(stdtrit(replications - 1, 1 - FAMILY_ERROR / size))
    is_kept = row.prediction.kind != "exact" and row.violation == 0
    return is_kept and abs(row.difference) >= critical * row.error


def _replications(now: int, error: float, tolerance: float, size: int) -> int | None:
    """Smallest number at which the tolerance would be seen, if the variance is what it seems.

    The quantiles are those of the number sought, not of the present one: after a handful of
    replications the latter are many times larger.
    """
    if tolerance == 0 or not math.isfinite(error):
        return None

    def seen(count: int) -> bool:
        return _quantiles(count, size) * error * math.sqrt(now / count) <= tolerance

    low, high = now, 2 * now
    while not seen(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def _comparison(row: _Row, verdict: Verdict, detectable: float | None) -> Comparison:
    prediction = row.prediction
    return Comparison(
        measure=prediction.measure,
        subject=prediction.subject,
        predicted=prediction.value,
        estimated=row.estimate,
        standard_error=row.error,
        z=row.z,
        verdict=verdict,
        detectable=detectable,
        kind=prediction.kind,
        source=prediction.source,
        tolerance=row.tolerance,
    )


def _unpredicted(measure: str, results: Results) -> Comparison:
    """A judged measure that no formula predicts for this scenario."""
    found = results.find(measure)
    estimate = found.estimate if found else math.nan
    error = found.standard_error if found else math.nan
    return Comparison(
        measure=measure,
        subject=None,
        predicted=math.nan,
        estimated=estimate,
        standard_error=error,
        z=math.nan,
        verdict="inconclusive",
        detectable=None,
        kind="exact",
        source="no formula applies",
    )


def _arrival_rate(predictions: Sequence[Prediction], results: Results) -> float:
    """Predicted arrival rate; the estimated one where none is predicted."""
    for prediction in predictions:
        if prediction.measure == "arrival_rate":
            return prediction.value
    found = results.find("arrival_rate")
    return found.estimate if found else 0.0


def _chosen_pages(
    predictions: Sequence[Prediction], weights: Sequence[float] | None
) -> set[Subject] | None:
    """The pages that are judged, or None for all of them.

    Ranked by weight × predicted obsolescence rate, or × crawl rate where no formula gives one.
    """
    for measure in _PAGE_MEASURES:
        values = {p.subject: p.value for p in predictions if p.measure == measure}
        if values:
            break
    if len(values) <= _FEW_PAGES:
        return None

    def importance(page: Subject) -> float:
        return values[page] * (1.0 if weights is None else weights[int(page or 0)])

    return set(sorted(values, key=importance, reverse=True)[:_CHOSEN_PAGES])


def _row(prediction: Prediction, results: Results, arrivals: float, crawls: float) -> _Row:
    found = results.find(prediction.measure, prediction.subject)
    if found is None:
        raise ValueError(_no_estimate(prediction, results))
    error = _careful_error(prediction, found, results, arrivals)
    floor = _floor(prediction, arrivals, crawls)
    return _Row(prediction, found.estimate, error, floor, found.edge)


def _no_estimate(prediction: Prediction, results: Results) -> str:
    subjects = [row.subject for row in results.rows.of_measure(prediction.measure)]
    known = f"; its subjects: {', '.join(map(repr, subjects[:12]))}" if subjects else ""
    name = f"{prediction.measure} with subject {prediction.subject!r}"
    return f"the results of {results.scenario} have no {name}{known}"


def _is_fraction(prediction: Prediction) -> bool:
    measure = MEASURES.get(prediction.measure)
    return measure is not None and measure.is_fraction


def _floor(prediction: Prediction, arrivals: float, crawls: float) -> float:
    """Differences below this do not matter, however small the prediction."""
    if _is_fraction(prediction):
        return FLOOR
    if prediction.measure == "crawl_rate":
        return FLOOR * crawls
    return FLOOR * arrivals if prediction.measure in _PAGE_RATES else 0.0


def _careful_error(
    prediction: Prediction, found: Estimate, results: Results, arrivals: float
) -> float:
    """The standard error, raised where a rare event was seen too seldom to show its variance.

    An estimate below the prediction has its error multiplied by sqrt(predicted / estimate). An
    event never seen shows no variance at all; then the predicted share is given the variance of
    that share among the pages of the run, times a factor for clustering.
    """
    predicted, estimate = prediction.value, found.estimate
    if 0 < estimate < predicted:
        return found.standard_error * math.sqrt(predicted / estimate)
    if estimate != 0 or predicted <= 0 or found.standard_error != 0:
        return found.standard_error
    scale = 1.0 if _is_fraction(prediction) else arrivals
    if not results.events or not scale or (scale != 1.0 and prediction.measure not in _PAGE_RATES):
        return math.nan
    return scale * math.sqrt(CLUSTERING * predicted / scale / results.events)
