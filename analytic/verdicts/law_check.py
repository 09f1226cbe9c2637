"""Verdicts on whole distributions, where a comparison of means could miss an error.

At a few points of each exact distribution the share of the pages (or cycles) below the point is
compared. Within a replication these depend on each other, but replications do not: hence Student's
test on the replications at every point, with Holm's correction over all points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy

from analytic.indexing_queue import ExactLaw, NoLaw
from analytic.transient.start_up import StartShifts
from analytic.verdicts.crosscheck import Verdict
from analytic.verdicts.significance import (
    FAMILY_ERROR,
    TooRareError,
    holm,
    replications_to_see,
    visible_errors,
)
from scenarios import Results, Scenario
from scenarios.arrays import Array
from scenarios.law_points import Law
from scenarios.rare import share_dispersion

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
    start : float
        How far the start of the run can shift the share, where the warm-up is too short.
    """

    at: float
    predicted: float
    estimated: float
    standard_error: float
    start: float = 0.0

    @property
    def t(self) -> float:
        """Difference in standard errors."""
        difference = self.estimated - self.predicted
        if difference == 0 or self.standard_error == 0:
            return math.copysign(math.inf, difference) if difference else 0.0
        return difference / self.standard_error

    def exceeds(self, negligible: float) -> bool:
        """Whether the difference is more than one that is called negligible."""
        rarer = min(self.predicted, 1 - self.predicted)
        return abs(self.estimated - self.predicted) > max(_NEGLIGIBLE * rarer, negligible)

    def p_value(self, degrees: int, shift: float = 0.0) -> float:
        """Probability of such a difference if the prediction holds up to a shift."""
        if degrees < 1 or math.isnan(self.t):
            return 1.0
        difference = abs(self.estimated - self.predicted)
        left = max(difference - shift, 0.0) / difference if difference else 0.0
        return float(2 * scipy.special.stdtr(degrees, -abs(self.t) * left)) if left else 1.0


@dataclass(frozen=True, slots=True)
class LawComparison:
    """One distribution: predicted and simulated.

    Parameters
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
    warmup_too_short : bool
        For *inconclusive*: the start, which the warm-up is too short to forget, can make it.
    too_rare : bool
        For *inconclusive*: more replications than a simulation can make would settle it.
    curve : tuple of ndarray
        The exact distribution at closer points, as of `ExactLaw`.
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
    warmup_too_short: bool = False
    too_rare: bool = False
    curve: tuple[Array, ...] = field(default=(), compare=False, repr=False)

    @property
    def largest(self) -> LawPoint | None:
        """The point that differs most, in standard errors."""
        seen = [point for point in self.points if not math.isnan(point.t)]
        return max(seen, key=lambda point: abs(point.t), default=None)


def compare_laws(
    laws: Iterable[ExactLaw | NoLaw],
    results: Results,
    *,
    negligible: float = 0.0,
    start_share: Callable[[Law], float] | None = None,
) -> list[LawComparison]:
    """Compare exact distributions with those of a simulation.

    Parameters
    ----------
    laws : iterable of ExactLaw or NoLaw
        Those of `exact_laws`.
    results : Results
        Of a run that counted at their points (`points_of`).
    negligible : float, optional
        Difference of a share that refutes nothing, however significant.
    start_share : callable, optional
        Of each distribution the share of the window that still remembers the start of the run,
        where the warm-up is known to be too short.

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
    points = {
        place: _points(law, start_share(law.law) if start_share else 0.0, results)
        for place, law in enumerate(rows)
        if isinstance(law, ExactLaw)
    }
    every = [point for each in points.values() for point in each]
    degrees = results.count - 1
    adjusted = zip(
        holm([point.p_value(degrees) for point in every]),
        holm([point.p_value(degrees, point.start) for point in every]),
        strict=True,
    )
    compared = []
    for place, law in enumerate(rows):
        if isinstance(law, NoLaw):
            row = LawComparison(law.law, "not judged", results.count, reason=law.reason)
            compared.append(row)
            continue
        own = points[place]
        row = LawComparison(
            law.law, "inconclusive", results.count, own, source=law.source, curve=law.curve
        )
        compared.append(_judged(row, [next(adjusted) for _ in own], len(every), negligible))
    return compared


def check_laws(
    scenario: Scenario, laws: Iterable[ExactLaw | NoLaw], results: Results
) -> list[LawComparison]:
    """Verdicts on the distributions of a scenario, with what its file says about them.

    What it calls negligible (`[check]`), and a warm-up too short for the system to forget its
    start.

    Parameters
    ----------
    scenario : Scenario
    laws : iterable of ExactLaw or NoLaw
        Those of `analytic.exact_laws`.
    results : Results
        Of a simulation of the scenario that counted at their points (`points_of`).

    Returns
    -------
    list of LawComparison
        As those of `analytic.compare_laws`.
    """
    shifts = StartShifts(scenario)
    return compare_laws(
        laws,
        results,
        negligible=scenario.check.negligible,
        start_share=lambda law: shifts.share_of(law.measure),
    )


def with_laws(verdict: Verdict, laws: Iterable[LawComparison]) -> Verdict:
    """The verdict on a scenario: any distribution that disagrees refutes it.

    Parameters
    ----------
    verdict : str
        On the measures.
    laws : iterable of LawComparison
    """
    return "disagrees" if any(row.verdict == "disagrees" for row in laws) else verdict


def _points(law: ExactLaw, share: float, results: Results) -> tuple[LawPoint, ...]:
    """The points, of a window of which a share still remembers the start."""
    key = law.law.measure, law.law.subject
    counts = results.law_counts.get(key)
    is_level = law.law.measure == "level_at_arrival"
    if counts is None or (not is_level and counts.shape[1] != len(law.at) + 1):
        raise ValueError(f"the results of {results.scenario} hold no counts for {key[0]} {key[1]}")
    places = law.at.astype(int) if is_level else np.arange(len(law.at))
    below = np.cumsum(counts, axis=1)[:, places]
    estimated, errors = _shares(below, counts.sum(axis=1), law.predicted)
    # A share e of the window has any q in place of p: the whole shows (1 - e) p + e q.
    start = share * np.where(estimated < law.predicted, law.predicted, 1 - law.predicted)
    values = zip(law.at, law.predicted, estimated, errors, start, strict=True)
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
    return estimated, np.maximum(errors, np.sqrt(share_dispersion(seen, errors, sample) * rarer))


def _judged(
    row: LawComparison, adjusted: Sequence[tuple[float, float]], size: int, negligible: float
) -> LawComparison:
    """The verdict on one distribution.

    Parameters
    ----------
    row : LawComparison
        Inconclusive as yet.
    adjusted : sequence of (float, float)
        The p-values of its points, corrected for all points: of the difference, and less the start.
    size : int
        Points of all distributions.
    negligible : float
        Difference that refutes nothing.
    """
    points = row.points
    if any(math.isnan(point.standard_error) for point in points):
        return row
    visible = visible_errors(row.replications - 1, size)
    detectable = max(visible * point.standard_error + point.start for point in points)
    row = replace(
        row,
        statistic=max(abs(point.t) for point in points),
        p_value=min(p_value for p_value, _ in adjusted),
        detectable=detectable,
    )
    apart = [
        p_values
        for point, p_values in zip(points, adjusted, strict=True)
        if point.exceeds(negligible)
    ]
    if any(beyond_start < FAMILY_ERROR for _, beyond_start in apart):
        return replace(row, verdict="disagrees")
    if any(p_value < FAMILY_ERROR for p_value, _ in apart):
        return replace(row, warmup_too_short=True)
    tolerance = max(LAW_TOLERANCE, negligible)
    if detectable <= tolerance:
        return replace(row, verdict="agrees")
    error = max(point.standard_error for point in points)
    start = max(point.start for point in points)
    try:
        needed = replications_to_see(tolerance, error, start, size, row.replications)
    except TooRareError:
        return replace(row, too_rare=True)
    return replace(row, replications_needed=needed, warmup_too_short=needed is None)
