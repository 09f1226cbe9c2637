"""Tallies of all replications as arrays, and the sums that estimates are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from scenarios.arrays import Array
from scenarios.measures import Subject
from sim.tally import Tally

Part = Mapping[str, Array]
"""The fields of one part of the tallies, each with one entry per replication in front."""

_APART = ("sojourns", "delays", "refresh_times", "laws", "course")
"""Parts that are not sums, and are read elsewhere."""

Values = dict[str, tuple[Sequence[Subject], Array]]
"""Each measure's subjects and values, shape (n, subjects): one row per replication (or per sum)."""


@dataclass(frozen=True)
class Totals:
    """The fields of the tallies, one entry per replication (or per sum over replications).

    Attributes
    ----------
    own : mapping name -> ndarray, shape (n,)
        Fields of the tally itself.
    parts : mapping name of the part -> mapping name -> ndarray, shape (n,) or (n, k)
        Only the parts that the scenario has.
    """

    own: Part
    parts: Mapping[str, Part]

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> Totals:
        """The tallies of all replications."""
        own = {}
        parts = {}
        for field in fields(Tally):
            if field.name in _APART:
                continue
            values = [getattr(tally, field.name) for tally in tallies]
            if is_dataclass(values[0]):
                parts[field.name] = {
                    each.name: np.array([getattr(part, each.name) for part in values], dtype=float)
                    for each in fields(values[0])
                }
            elif values[0] is not None:
                own[field.name] = np.array(values, dtype=float)
        return cls(own, parts)

    @property
    def count(self) -> int:
        """Number of entries."""
        return len(self.own["window"])

    def together(self) -> Totals:
        """The sum over all replications, as one entry."""
        return self._each(lambda values: values.sum(axis=0, keepdims=True))

    def leave_one_out(self) -> Totals:
        """The sums over all replications but one, one entry for each left out."""
        return self._each(lambda values: values.sum(axis=0) - values)

    def first(self, count: int) -> Totals:
        """The first entries, up to a number."""
        return self._each(lambda values: values[:count])

    def followed_by(self, other: Totals) -> Totals:
        """These entries and those of another run of the same scenario."""
        own = {name: np.concatenate([self.own[name], other.own[name]]) for name in self.own}
        parts = {
            part: {
                name: np.concatenate([values, other.parts[part][name]])
                for name, values in of.items()
            }
            for part, of in self.parts.items()
        }
        return Totals(own, parts)

    def _each(self, change: Any) -> Totals:
        own = {name: change(values) for name, values in self.own.items()}
        parts = {
            part: {name: change(values) for name, values in fields_of.items()}
            for part, fields_of in self.parts.items()
        }
        return Totals(own, parts)
