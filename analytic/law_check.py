"""Verdicts on whole distributions, where a comparison of means could miss an error.

At a few points of each exact distribution the share of the pages (or cycles) below the point is
compared. Within a replication these depend on each other, but replications do not: hence Student's
test on the replications at every point, with Holm's correction over all points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr

from analytic.crosscheck import Verdict
from analytic.indexing_queue import ExactLaw, NoLaw
from analytic.significance import FAMILY_ERROR, holm, replications_to_see, visible_errors
from scenarios.arrays import Array
from scenarios.law_points import Law
from scenarios.rare import dispersion
from scenarios.results import Results

LAW_TOLERANCE = 0.01
"""Largest difference of two distribution functions that still counts as agreement."""

_NEGLIGIBLE = 0.002
"""Differences below this share of the rarer side matter to nobody."""


@dataclass(frozen=True, slots=True)
class LawPoint:
    """One point of a distribution function.

    Attributes
    ----------
    at : float
        Time or level.
    predicted, estimated : float
        P(X <= at), and the share seen; nan where nothing was seen at all.
    standard_error : float
        Of the share, if the prediction holds.
    """

    at: float
    predicted: float
    estimated: float
    standard_error: float

    @property
    def t(self) -> float:
        """Difference in standard errors."""
        difference = self.estimated - self.predicted
        if difference == 0 or self.standard_error == 0:
            return math.copysign(math.inf, difference) if difference else 0.0
        return difference / self.standard_error

    @property
    def matters(self) -> bool:
        """Whether the difference is more than negligible."""
        rarer = min(self.predicted, 1 - self.predicted)
        return abs(self.estimated - self.predicted) > _NEGLIGIBLE * rarer


@dataclass(frozen=True, slots=True)
class LawComparison:
    """One distribution: predicted and simulated.

    Attributes
    ----------
    law : Law
        Which one.
    verdict : str
        "agrees", "disagrees", "inconclusive" or "not judged".
    replications : int
        Of the simulation.
    points : tuple of LawPoint
    statistic : float
        The largest difference in standard errors, of all points; nan where undefined.
    p_value : float
        Of the whole distribution, corrected for all points of all distributions of the scenario.
    detectable : float or None
        Smallest difference of the distribution functions that this run would have seen with
        probability 0.95, wherever it is.
    replications_needed : int or None
        For *inconclusive*: replications that would settle it.
    source : str
    reason : str or None
        Why there is no exact distribution to compare with.
    """

    law: Law
    verdict: Verdict
    replications: int
    points: tuple[LawPoint, ...] = ()
    statistic: float = math.nan
    p_value: float = math.nan
    detectable: float | None = None
    replications_needed: int | None = None
    source: str = ""
    reason: str | None = None

    @property
    def largest(self) -> LawPoint | None:
        """The point that differs most, in standard errors."""
        seen = [point for point in self.points if not math.isnan(point.t)]
        return max(seen, key=lambda point: abs(point.t), default=None)


def compare_laws(laws: Iterable[ExactLaw | NoLaw], results: Results) -> list[LawComparison]:
    """Compare exact distributions with those of a simulation.

    Parameters
    ----------
    laws : iterable of ExactLaw or NoLaw
        Those of `exact_laws`.
    results : Results
        Of a run that counted at their points (`points_of`).

    Returns
    -------
    list of LawComparison
        In the order given; *not judged*, with the reason, where there is no exact distribution.

    Raises
    ------
    ValueError
        If the run did not count at these points.

    Notes
    -----
    Of a replication with A times up to a point among B, ``A - p B`` has mean 0 if p is predicted
    rightly, in a stationary window of any length: numbers of pages and sums over pages are both
    expected rates times the length. Student's t of these differences needs no correction of a
    ratio. Its error is not taken to be below that of independent pages or cycles, nor below that
    of `scenarios.rare.dispersion`: few replications that happen to be alike prove nothing.
    """
    rows = list(laws)
    exact = [law for law in rows if isinstance(law, ExactLaw)]
    points = [_points(law, results) for law in exact]
    degrees = results.count - 1
    adjusted = iter(holm([_p_value(point, degrees) for each in points for point in each]))
    size = sum(map(len, points))
    judged = iter(
        [
            _judged(law, each, [next(adjusted) for _ in each], results.count, size)
            for law, each in zip(exact, points, strict=True)
        ]
    )
    return [
        LawComparison(row.law, "not judged", results.count, reason=row.reason)
        if isinstance(row, NoLaw)
        else next(judged)
        for row in rows
    ]


def with_laws(verdict: Verdict, laws: Iterable[LawComparison]) -> Verdict:
    """The verdict on a scenario: any distribution that disagrees refutes it."""
    return "disagrees" if any(row.verdict == "disagrees" for row in laws) else verdict


def _points(law: ExactLaw, results: Results) -> tuple[LawPoint, ...]:
    key = law.law.measure, law.law.subject
    counts = results.law_counts.get(key)
    is_level = law.law.measure == "level_at_arrival"
    if counts is None or (not is_level and counts.shape[1] != len(law.at) + 1):
        raise ValueError(f"the results of {results.scenario} hold no counts for {key[0]} {key[1]}")
    places = law.at.astype(int) if is_level else np.arange(len(law.at))
    below = np.cumsum(counts, axis=1)[:, places]
    estimated, errors = _shares(below, counts.sum(axis=1), law.predicted)
    values = zip(law.at, law.predicted, estimated, errors, strict=True)
    return tuple(LawPoint(*map(float, each)) for each in values)


def _shares(below: Array, total: Array, predicted: Array) -> tuple[Array, Array]:
    """Shares of all replications together, and their standard errors if the prediction holds."""
    count = len(total)
    sample = total.sum()
    if sample == 0:
        nothing = np.full(len(predicted), math.nan)
        return nothing, nothing
    differences = below - predicted * total[:, None]
    estimated = below.sum(axis=0) / sample
    if count < 2:
        return estimated, np.full(len(predicted), math.nan)
    own = differences.std(axis=0, ddof=1) * math.sqrt(count) / sample
    errors = np.maximum(own, np.sqrt(predicted * (1 - predicted) / sample))
    rarer = np.minimum(predicted, 1 - predicted)
    seen = np.where(predicted > 0.5, 1 - estimated, estimated)
    return estimated, np.maximum(errors, np.sqrt(dispersion(seen, errors, sample) * rarer))


def _p_value(point: LawPoint, degrees: int) -> float:
    if degrees < 1 or math.isnan(point.t):
        return 1.0
    return float(2 * stdtr(degrees, -abs(point.t)))


def _judged(
    law: ExactLaw, points: Sequence[LawPoint], adjusted: Sequence[float], count: int, size: int
) -> LawComparison:
    """The verdict on one distribution, from the p-values corrected for the whole family."""
    errors = [point.standard_error for point in points]
    row = LawComparison(law.law, "inconclusive", count, tuple(points), source=law.source)
    if any(map(math.isnan, errors)):
        return row
    detectable = visible_errors(count - 1, size) * max(errors)
    row = replace(
        row,
        statistic=max(abs(point.t) for point in points),
        p_value=min(adjusted),
        detectable=detectable,
    )
    significant = zip(points, adjusted, strict=True)
    if any(p_value < FAMILY_ERROR and point.matters for point, p_value in significant):
        return replace(row, verdict="disagrees")
    if detectable <= LAW_TOLERANCE:
        return replace(row, verdict="agrees")
    needed = replications_to_see(LAW_TOLERANCE, max(errors), 0.0, size, count)
    return replace(row, replications_needed=needed)
