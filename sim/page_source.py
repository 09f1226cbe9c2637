"""Which page an access fetches, and what its delivery brings.

A sequence that draws nothing is planned once for all replications.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from threading import Lock
from typing import Any, Protocol

import numpy as np

from scenarios.accessing.policy import InSequence, Periodic, Planned, require_pages
from scenarios.page_data import PageData, access_shares
from sim.pages import Load, Pages

_KEPT = 2**25
"""Accesses of a plan that are kept, in four bytes each; what goes beyond plans anew."""


class SharedPlan:
    """A plan that is written out as far as some replication has needed it, for all of them.

    Parameters
    ----------
    policy : Planned
    pages : PageData
    kept : int
        Accesses up to which it is kept.
    """

    def __init__(self, policy: Planned, pages: PageData, kept: int = _KEPT) -> None:
        self._policy, self._shares = policy, access_shares(policy, pages)
        self._kept = kept
        self._lock = Lock()
        self._start()

    def _start(self) -> None:
        self._blocks: list[Any] = []
        self._plan = self._policy.plan(self._shares)
        self._length = 0

    def __iter__(self) -> Iterator[Any]:
        """The blocks from the first one on, without end."""
        place = 0
        while (block := self._block(place)) is not None:
            yield block
            place += 1
        for number, block in enumerate(self._policy.plan(self._shares)):
            if number >= place:
                yield block

    def _block(self, place: int) -> Any:
        """One block; None beyond what is kept. A plan that was interrupted starts again."""
        with self._lock:
            try:
                while len(self._blocks) <= place:
                    if self._length >= self._kept:
                        return None
                    self._blocks.append(next(self._plan).astype(np.int32))
                    self._length += len(self._blocks[-1])
            except BaseException:
                self._start()
                raise
            return self._blocks[place]


@lru_cache(maxsize=1)
def _shared(policy: Planned, pages: PageData) -> SharedPlan:
    return SharedPlan(policy, pages)


def sequence_blocks(
    policy: InSequence, pages: PageData, stream: np.random.Generator
) -> Iterator[Any]:
    """The pages to access, in blocks without end.

    Parameters
    ----------
    policy : InSequence
    pages : PageData
    stream : Generator
        The stream "accessing", for policies that draw.
    """
    if isinstance(policy, Planned) and not isinstance(policy, Periodic):
        blocks = iter(_shared(policy, pages))
    else:
        blocks = policy.sequence(access_shares(policy, pages), stream)
    if type(policy).__module__.startswith("scenarios."):
        return blocks
    return (require_pages(policy, block, pages.count) for block in blocks)


class PageSource(Protocol):
    """Says which page an access fetches, and what its delivery brings."""

    def next_page(self, now: float) -> int:
        """The page of the access that starts now."""

    def deliver(self, now: float, page: int, same: bool | None = None) -> Load:
        """What the access brings when it ends; `same`: as it was decided when it started."""

    def give_up(self, now: float, page: int) -> None:
        """The last access of a page failed, and its robot goes on to another one."""


class AnonymousPages:
    """Pages without identity."""

    def next_page(self, now: float) -> int:  # noqa: ARG002  # same call for all sources
        """No page in particular."""
        return -1

    def deliver(self, now: float, page: int, same: bool | None = None) -> Load:  # noqa: ARG002  # same call for all sources
        """A page without identity."""
        return None

    def give_up(self, now: float, page: int) -> None:
        """Nothing: it has no identity."""


class ChosenPages:
    """Pages chosen by the accessing policy, in the order in which accesses start.

    Parameters
    ----------
    blocks : iterator of ndarray of int
        The sequence that the policy gives.
    pages : Pages
    """

    def __init__(self, blocks: Iterator[Any], pages: Pages) -> None:
        self._next = (page for block in blocks for page in block.tolist()).__next__
        self._pages = pages

    def next_page(self, now: float) -> int:  # noqa: ARG002  # same call for all sources
        """The page of the access that starts now."""
        return self._next()

    def deliver(self, now: float, page: int, same: bool | None = None) -> Load:
        """The content of the page at this moment."""
        return self._pages.deliver(now, page, same)

    def give_up(self, now: float, page: int) -> None:
        """Nothing: the sequence goes on."""
