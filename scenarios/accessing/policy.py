"""What all accessing policies share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from scenarios.base import ByType, OneKey, Section, Vector
from scenarios.columns import Column
from scenarios.errors import ScenarioError, brief

Frequencies = Annotated[
    Literal["uniform", "optimal", "change-rate"] | Vector | Annotated[Column, OneKey()], ByType()
]
"""Shares of the accesses: a word, a list that sums to 1, or a column of a CSV file with one."""

Shares = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]


class Policy(Section):
    """An accessing policy; subclasses set `policy` to their name in the file."""

    policy: str

    @property
    def unresolved(self) -> str | None:
        """The key for which the numbers are still to be found, if there is one."""
        return "frequencies" if getattr(self, "frequencies", None) == "optimal" else None


def require_pages(policy: Policy, pages: Indices, count: int) -> Indices:
    """The pages that a policy wants accessed; a `ScenarioError` where there are no such pages.

    Parameters
    ----------
    policy : Policy
    pages : ndarray of int
    count : int
        How many pages there are.
    """
    given = np.asarray(pages)
    if not (given.ndim == 1 and len(given) and given.dtype.kind in "iu"):
        what = f"gave no list of pages: {brief(pages)}"
    elif given.min() < 0 or given.max() >= count:
        strange = given[(given < 0) | (given >= count)][0]
        what = f"gave page {strange}; the last of {count} is {count - 1}"
    else:
        return given
    home = type(policy).__module__
    raise ScenarioError("robots.accessing.policy", policy.policy, f"{home} {what}")


class InSequence(Policy):
    """A policy that says which page each access fetches, whatever the time."""

    @abstractmethod
    def sequence(self, shares: Shares, stream: np.random.Generator) -> Iterator[Indices]:
        """The pages to access, in blocks without end.

        Parameters
        ----------
        shares : ndarray, shape (pages,)
            Share of the accesses of each page.
        stream : Generator
            The stream "accessing"; policies that do not draw leave it alone.
        """


class Planned(InSequence):
    """A policy that draws nothing: its sequence is the same in every replication."""

    @abstractmethod
    def plan(self, shares: Shares) -> Iterator[Indices]:
        """The pages to access, in blocks without end."""

    def sequence(self, shares: Shares, stream: np.random.Generator) -> Iterator[Indices]:  # noqa: ARG002  # nothing is drawn
        """The plan."""
        return self.plan(shares)


class Periodic(Planned):
    """A policy that repeats one list of pages."""

    @abstractmethod
    def cycle_of(self, shares: Shares) -> Indices:
        """One period: the page of each slot."""

    def plan(self, shares: Shares) -> Iterator[Indices]:
        """The period, again and again."""
        period = self.cycle_of(shares)
        while True:
            yield period
