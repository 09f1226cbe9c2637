"""Comparisons as rows for people: the same number from several sources once, the worst first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from analytic.crosscheck import Comparison
from scenarios.measures import MEASURES, Subject

_SEVERITY = ("disagrees", "inconclusive", "agrees", "not judged")
_SAME = 1e-6


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison, and every source that predicts the same value."""

    comparison: Comparison
    sources: tuple[str, ...]


def name_of(measure: str, subject: Subject) -> str:
    """A measure and its subject in words."""
    words = measure.replace("_", " ")
    if subject is None:
        return words
    return (
        f"{words} {subject}" if isinstance(subject, str) else f"{words}\N{NO-BREAK SPACE}{subject}"
    )


def with_unit(measure: str, subject: Subject, time_unit: str) -> str:
    """The label of an axis: a measure and its subject, with the unit where it has one."""
    known = MEASURES[measure].unit
    units = "" if known == "1" else f" ({known.replace('time', time_unit)})"
    return name_of(measure, subject) + units


def rows_of(comparisons: Iterable[Comparison]) -> list[Row]:
    """One row per distinct prediction: disagreements first, what is not judged last."""
    groups: dict[tuple[object, ...], list[list[Comparison]]] = {}
    for each in comparisons:
        similar = groups.setdefault((each.measure, each.subject, each.kind, each.verdict), [])
        same = next((group for group in similar if _same_value(group[0], each)), None)
        if same is None:
            similar.append([each])
        else:
            same.append(each)
    rows = [
        Row(group[0], tuple(dict.fromkeys(each.source for each in group)))
        for similar in groups.values()
        for group in similar
    ]
    return sorted(rows, key=lambda row: _SEVERITY.index(row.comparison.verdict))


def _same_value(one: Comparison, other: Comparison) -> bool:
    return math.isclose(one.predicted, other.predicted, rel_tol=_SAME, abs_tol=1e-12)
