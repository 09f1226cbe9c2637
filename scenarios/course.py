"""The course of a system as a simulation estimated it: numbers at times, kept as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scenarios.arrays import Array
from scenarios.measures import Subject

if TYPE_CHECKING:
    import pandas as pd


class CourseEstimate(NamedTuple):
    """A number at one time, with its standard error, its 95 % interval and its 95 % band.

    The interval holds this number, the band the whole curve of its measure over time. `sample` is
    as in `Estimate`.
    """

    time: float
    measure: str
    subject: Subject
    estimate: float
    standard_error: float
    low: float
    high: float
    band_low: float
    band_high: float
    sample: float


@dataclass(frozen=True, eq=False)
class CourseEstimates:
    """Estimates at some times, by measure and subject.

    Attributes
    ----------
    times : ndarray, shape (times,)
    columns : mapping (measure, subject) -> ndarray, shape (7, times)
        The numbers of a `CourseEstimate`, from the estimate on; nan where one is not defined.
    """

    times: Array
    columns: Mapping[tuple[str, Subject], Array]

    def __iter__(self) -> Iterator[CourseEstimate]:
        """The numbers time by time."""
        for place, time in enumerate(self.times.tolist()):
            for (measure, subject), values in self.columns.items():
                yield CourseEstimate(time, measure, subject, *values[:, place].tolist())

    def __len__(self) -> int:
        return len(self.times) * len(self.columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CourseEstimates) or list(self.columns) != list(other.columns):
            return False
        pairs = zip(self.columns.values(), other.columns.values(), strict=True)
        same_times = np.array_equal(self.times, other.times)
        return same_times and all(np.array_equal(*pair, equal_nan=True) for pair in pairs)

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def to_frame(self) -> pd.DataFrame:
        """One row for each time, measure and subject."""
        import pandas as pd

        return pd.DataFrame(list(self), columns=list(CourseEstimate._fields))


NO_COURSE = CourseEstimates(np.empty(0), {})
"""Of a scenario that asks for no course."""
