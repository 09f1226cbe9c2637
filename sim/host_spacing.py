"""Which page next, where hosts want a least time between the accesses that they see."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from sim import rules


class HostSpacing:
    """The pages of an accessing policy, each put off until its host may be accessed again.

    A robot takes the page that has waited longest among those whose hosts are free; else the
    first page of a free host among the next ones of the policy, and the pages before it wait. A
    page waits once: where it comes up again meanwhile, it is skipped. At most `rules.LOOKAHEAD`
    pages are looked at, none while all hosts are busy.

    Parameters
    ----------
    policy : callable
        Gives the next page of the policy.
    hosts : sequence of int
        The host of each page.
    spacing : sequence of float
        Least time between the starts of two accesses at each host.
    """

    def __init__(
        self, policy: Callable[[], int], hosts: Sequence[int], spacing: Sequence[float]
    ) -> None:
        self._policy = policy
        self._hosts = hosts
        self._spacing = spacing
        self._busy: list[tuple[float, int]] = []
        self._is_busy = [False] * len(spacing)
        self._queues: list[deque[tuple[int, int]]] = [deque() for _ in spacing]
        self._ready: list[tuple[int, int]] = []
        self._waits = [False] * len(hosts)
        self._put_off = 0

    def next_page(self, now: float) -> int:
        """The page of the access that starts now, or -1 if there is none to start with."""
        self._release(now)
        if self._ready:
            host = heappop(self._ready)[1]
            page = self._queues[host].popleft()[1]
            self._waits[page] = False
            return self._start(now, page)
        if len(self._busy) == len(self._spacing):
            return -1
        for _ in range(rules.LOOKAHEAD):
            page = self._policy()
            if self._waits[page]:
                continue
            if not self._is_busy[self._hosts[page]]:
                return self._start(now, page)
            self._wait(page)
        return -1

    @property
    def next_release(self) -> float:
        """When the next host becomes free; asked for only where `next_page` had no page."""
        return self._busy[0][0]

    def _start(self, now: float, page: int) -> int:
        host = self._hosts[page]
        if self._spacing[host] > 0:
            self._is_busy[host] = True
            heappush(self._busy, (now + self._spacing[host], host))
        return page

    def _wait(self, page: int) -> None:
        self._waits[page] = True
        self._queues[self._hosts[page]].append((self._put_off, page))
        self._put_off += 1

    def _release(self, now: float) -> None:
        while self._busy and rules.is_free(now, self._busy[0][0]):
            host = heappop(self._busy)[1]
            self._is_busy[host] = False
            if self._queues[host]:
                heappush(self._ready, (self._queues[host][0][0], host))
