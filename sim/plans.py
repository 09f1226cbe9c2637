"""The sequence of pages of an accessing policy; what draws nothing is planned once for all runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from scenarios.accessing.policy import Periodic, Planned, Policy
from scenarios.page_data import access_shares
from scenarios.sections import Pages

_KEPT = 2**25
"""Accesses of a plan that are kept, in four bytes each; what goes beyond plans anew."""


class SharedPlan:
    """A plan that is written out as far as some replication has needed it, for all of them.

    Parameters
    ----------
    policy : Planned
    pages : Pages
    kept : int
        Accesses up to which it is kept.
    """

    def __init__(self, policy: Planned, pages: Pages, kept: int = _KEPT) -> None:
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
def _shared(policy: Planned, pages: Pages) -> SharedPlan:
    return SharedPlan(policy, pages)


def sequence_blocks(policy: Policy, pages: Pages, stream: np.random.Generator) -> Iterator[Any]:
    """The pages to access, in blocks without end.

    Parameters
    ----------
    policy : Policy
    pages : Pages
    stream : Generator
        The stream "accessing", for policies that draw.
    """
    if isinstance(policy, Planned) and not isinstance(policy, Periodic):
        return iter(_shared(policy, pages))
    return policy.sequence(access_shares(policy, pages), stream)
