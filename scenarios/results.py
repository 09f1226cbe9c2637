"""What a simulation gave: estimates of the measures, kept as columns and read as rows.

A system of a million pages has millions of estimates; an object for each would not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from scenarios.arrays import Array
from scenarios.base import nearest
from scenarios.course import NO_COURSE, CourseEstimates
from scenarios.measures import Subject
from scenarios.plugins import versions
from scenarios.text import counted

if TYPE_CHECKING:
    import pandas as pd


Key = tuple[str, Subject]

_SHOWN = 30
"""Rows of a table that a notebook shows."""

_ASKED_FOR = {
    **dict.fromkeys(
        ("sojourn_quantile", "quantile", "percentile"),
        " (buffer.sojourn_quantiles = [0.95] asks for sojourn_quantile)",
    ),
    "time_to_refresh_quantile": " (pages.refresh_quantiles = [0.95] asks for it)",
    "frontier_delay_quantile": " (robots.accessing.delay_quantiles = [0.95] asks for it)",
}
"""How there would be a measure that not every run has."""

_FEW = 8
"""Subjects of a measure that are listed."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A simulated number with its standard error and 95 % interval (nan where undefined).

    Parameters
    ----------
    measure : str
        A key of `scenarios.MEASURES`.
    subject : int, str or None
        What it is about.
    estimate, standard_error : float
    low, high : float
        Ends of the interval.
    end_effect_bound : float
        How far the two ends of the window can shift it, whatever the error.
    sample : float
        Of a share the events among which it is one, of a rate the time; infinite where only 0 is
        possible, and 0 for what is neither.
    """

    measure: str
    subject: Subject
    estimate: float
    standard_error: float
    low: float
    high: float
    end_effect_bound: float = 0.0
    sample: float = 0.0


class Columns(NamedTuple):
    """One measure of all its subjects.

    Attributes
    ----------
    measure : str
    subjects : sequence
        Pages, levels, classes …, or None alone.
    values : ndarray, shape (n, subjects)
        Those of an `Estimate`, from the estimate on (n = 6), or the value of each replication.
    """

    measure: str
    subjects: Sequence[Subject]
    values: Array

    def column(self, subject: Subject) -> Array | None:
        """The values of one subject, or None if there is no such subject."""
        numbered = isinstance(self.subjects, range)
        if (numbered and not isinstance(subject, int)) or subject not in self.subjects:
            return None
        return self.values[:, self.subjects.index(subject)]


class Rows(Sequence[Estimate]):
    """Estimates, made as they are read.

    Parameters
    ----------
    blocks : sequence of Columns
        With the six values of an `Estimate`.
    """

    def __init__(self, blocks: Sequence[Columns]) -> None:
        self.blocks = tuple(blocks)
        self._ends = np.cumsum([len(block.subjects) for block in self.blocks]).tolist()

    @classmethod
    def of(cls, estimates: Sequence[Estimate]) -> Rows:
        """Estimates that already exist."""
        blocks = []
        for measure, group in groupby(estimates, key=lambda row: row.measure):
            rows = list(group)
            values = [
                (r.estimate, r.standard_error, r.low, r.high, r.end_effect_bound, r.sample)
                for r in rows
            ]
            blocks.append(Columns(measure, [row.subject for row in rows], np.array(values).T))
        return cls(blocks)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> list[Estimate]: ...
    def __getitem__(self, index: int | slice) -> Estimate | list[Estimate]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        which = int(np.searchsorted(self._ends, place, side="right"))
        block = self.blocks[which]
        column = place - (self._ends[which - 1] if which else 0)
        return Estimate(block.measure, block.subjects[column], *block.values[:, column].tolist())

    def __iter__(self) -> Iterator[Estimate]:
        for block in self.blocks:
            for subject, values in zip(block.subjects, block.values.T, strict=True):
                yield Estimate(block.measure, subject, *values.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows) or len(self) != len(other):
            return False
        return all(one == another for one, another in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'estimate')}>"

    def of_measure(self, measure: str) -> Iterator[Estimate]:
        """The estimates of one measure."""
        return iter(Rows([block for block in self.blocks if block.measure == measure]))

    def find(self, measure: str, subject: Subject = None) -> Estimate | None:
        """The estimate of one measure and subject, or None."""
        for block in self.blocks:
            if block.measure == measure and (values := block.column(subject)) is not None:
                return Estimate(measure, subject, *values.tolist())
        return None


class Replications(Mapping[Key, tuple[float, ...]]):
    """The value of each replication by (measure, subject), made as they are read.

    Parameters
    ----------
    blocks : sequence of Columns
        With one row of values per replication; nan where a value is undefined.
    """

    def __init__(self, blocks: Sequence[Columns]) -> None:
        self.blocks = tuple(blocks)

    def __len__(self) -> int:
        return sum(len(block.subjects) for block in self.blocks)

    def __iter__(self) -> Iterator[Key]:
        return ((block.measure, each) for block in self.blocks for each in block.subjects)

    def __getitem__(self, key: Key) -> tuple[float, ...]:
        measure, subject = key if isinstance(key, tuple) else (key, None)
        for block in self.blocks:
            if block.measure == measure and (values := block.column(subject)) is not None:
                return tuple(values.tolist())
        raise KeyError(absent("the run", "value", measure, subject, subjects_of(self.blocks)))


@dataclass(frozen=True, repr=False)
class Results:
    """What a simulation of one scenario gave.

    Parameters
    ----------
    scenario, engine, seed, count
        What was run: name, engine, seed, number of replications.
    estimates : sequence of Estimate
    replications : mapping (measure, subject) -> tuple of float
        The value of each replication; nan where it is undefined.
    events : int
        Pages that ended in all windows together: the sample behind the shares.
    leave_one_out : mapping (measure, subject) -> tuple of float
        The estimate with one replication left out at a time, for the errors of what is made of
        several estimates; not kept of single pages or levels of measures with many.
    controls : mapping name -> tuple of float
        Of each replication, numbers whose mean is known to be 0 (`sim.controlled`).
    variance_ratios : mapping (measure, subject) -> float
        Where the estimates were corrected by them: the variance with controls over that without.
    law_counts : mapping (measure, subject) -> ndarray of int, shape (replications, classes)
        Where distributions are to be compared: of `scenarios.law_points.LAWS`, how many times lay
        below the first of the points, between it and the second, …; how many pages found each
        level.
    time_to_index : mapping share -> float
        Where there is a buffer: quantiles of the sojourn time of served pages, those of a half and
        of 0.95.
    course : CourseEstimates
        At the times of ``run.observe``, from the start on.
    plugins : mapping name -> version and digest
        Those that were in use.
    """

    scenario: str
    engine: str
    seed: int
    count: int
    estimates: Sequence[Estimate]
    replications: Mapping[Key, tuple[float, ...]]
    events: int = 0
    leave_one_out: Mapping[Key, tuple[float, ...]] = field(default_factory=dict)
    controls: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    variance_ratios: Mapping[Key, float] = field(default_factory=dict)
    law_counts: Mapping[Key, NDArray[np.integer[Any]]] = field(default_factory=dict)
    time_to_index: Mapping[float, float] = field(default_factory=dict)
    course: CourseEstimates = field(default_factory=lambda: NO_COURSE)
    plugins: Mapping[str, str] = field(default_factory=versions)

    @cached_property
    def rows(self) -> Rows:
        """The estimates, by columns."""
        return self.estimates if isinstance(self.estimates, Rows) else Rows.of(self.estimates)

    def find(self, measure: str, subject: Subject = None) -> Estimate:
        """The estimate of a measure.

        Parameters
        ----------
        measure : str
            A key of `scenarios.MEASURES`.
        subject : str or int, optional
            A level, a page, a class of pages; None for the whole system.

        Raises
        ------
        LookupError
            If there is none, with what there is.
        """
        found = self.rows.find(measure, subject)
        if found is None:
            known = subjects_of(self.rows.blocks)
            raise LookupError(absent(self.scenario, "estimate", measure, subject, known))
        return found

    def __repr__(self) -> str:
        what = counted(len(self.rows), "estimate")
        return f"<Results of {self.scenario}: {what}, {counted(self.count, 'replication')}>"

    def _repr_html_(self) -> str:
        return html_of(self.to_frame(), f"{self.scenario}: {counted(self.count, 'replication')}")

    def to_frame(self) -> pd.DataFrame:
        """The estimates, one row each."""
        import pandas as pd

        blocks = self.rows.blocks
        names = ("estimate", "standard_error", "low", "high")
        values = np.concatenate([block.values[: len(names)] for block in blocks], axis=1)
        frame = {"scenario": self.scenario} | _labels(blocks, 1)
        return pd.DataFrame(frame | dict(zip(names, values, strict=True)))

    def replications_frame(self) -> pd.DataFrame:
        """The value of each replication, one row per measure, subject and replication."""
        import pandas as pd

        blocks = self.replications.blocks if isinstance(self.replications, Replications) else ()
        labels = _labels(blocks, self.count)
        frame = pd.DataFrame(
            {
                "scenario": self.scenario,
                "replication": np.tile(np.arange(self.count), len(self.replications)),
                **labels,
                "value": np.concatenate(
                    [block.values.T.ravel() for block in blocks] or [np.zeros(0)]
                ),
            }
        )
        return frame.dropna(subset=["value"], ignore_index=True)


def html_of(frame: pd.DataFrame, title: str) -> str:
    """What a notebook shows of a table: the first of its rows, under a title."""
    rest = len(frame) - _SHOWN
    more = f"<p>and {counted(rest, 'more row')}: to_frame()</p>" if rest > 0 else ""
    shown: str = frame.head(_SHOWN).to_html(index=False, float_format="{:.5g}".format, na_rep="")
    return f"<p>{escape(title)}</p>{shown}{more}"


def subjects_of(blocks: Sequence[Columns]) -> dict[str, Sequence[Subject]]:
    """What there is, as `absent` lists it."""
    return {block.measure: block.subjects for block in blocks}


def absent(
    owner: str,
    what: str,
    measure: str,
    subject: Subject,
    known: Mapping[str, Sequence[Subject]],
    why: str = "",
) -> str:
    """That there is no such number, and what there is instead.

    Parameters
    ----------
    owner, what : str
        Who should have it, and what it would be, such as "estimate".
    measure, subject
        What was asked for.
    known : mapping measure -> sequence of subjects
    why : str, optional
        Why there is none, where that is known.
    """
    if measure not in known:
        every = ", ".join(map(_with_subjects, known, known.values())) or "none"
        how = f" ({why})" if why else _ASKED_FOR.get(measure) or nearest(measure, known)
        name, _, own = str(measure).partition(" ")
        if own and name in known:
            how = f" (write {name!r} and its subject as two arguments)"
        return f"{owner} has no {what} of {measure!r}{how}; it has {every}"
    own = _with_subjects(measure, known[measure])
    if subject is None:
        return f"{measure} of {owner} needs a subject: {own}"
    return f"{owner} has no {measure} with subject {subject!r}; it has {own}"


def _with_subjects(measure: str, subjects: Sequence[Subject]) -> str:
    """A measure with the first of its subjects."""
    if len(subjects) == 1 and subjects[0] is None:
        return measure
    some = ", ".join(map(repr, subjects[:_FEW]))
    return f"{measure} ({some}{', …' if len(subjects) > _FEW else ''})"


def _labels(blocks: Sequence[Columns], times: int) -> dict[str, pd.Series]:
    """Measure and subject of every column, each repeated."""
    import pandas as pd

    sizes = [len(block.subjects) * times for block in blocks]
    subjects = np.empty(sum(len(block.subjects) for block in blocks), dtype=object)
    subjects[:] = [subject for block in blocks for subject in block.subjects]
    return {
        "measure": pd.Series(np.repeat([block.measure for block in blocks], sizes)),
        "subject": pd.Series(np.repeat(subjects, times), dtype=object),
    }
