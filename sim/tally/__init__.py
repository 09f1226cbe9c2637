"""What one replication counted, part by part, with conservation asserted."""

from __future__ import annotations

from dataclasses import dataclass

from sim.tally.buffer import BufferTally
from sim.tally.conservation import RELATIVE, ConservationError, require
from sim.tally.laws import LawsTally
from sim.tally.pages import AgesTally, ClientsTally, PagesTally
from sim.tally.probing import ProbingTally
from sim.tally.servers import ServersTally

__all__ = [
    "AgesTally",
    "BufferTally",
    "ClientsTally",
    "ConservationError",
    "LawsTally",
    "PagesTally",
    "ProbingTally",
    "ServersTally",
    "Tally",
]


@dataclass(frozen=True, slots=True)
class Tally:
    """Everything that one replication counted over the window (warm-up, horizon].

    Attributes
    ----------
    window : float
        Length of the window.
    robots_time : float
        Time integral of the number of active robots.
    buffer, pages, ages, clients, servers, probing
        The parts that the scenario has, else None.
    laws : LawsTally or None
        Where distributions are to be compared.
    """

    window: float
    robots_time: float = 0.0
    buffer: BufferTally | None = None
    pages: PagesTally | None = None
    ages: AgesTally | None = None
    clients: ClientsTally | None = None
    servers: ServersTally | None = None
    probing: ProbingTally | None = None
    laws: LawsTally | None = None

    def check(self, horizon: float, robots: int) -> None:
        """Raise `ConservationError` unless all parts add up; `robots` is the number available."""
        parts = self.buffer, self.pages, self.ages, self.clients, self.servers, self.probing
        for part in parts:
            if part is not None:
                part.check(self.window, horizon)
        most = robots * self.window * (1 + RELATIVE)
        require(0 <= self.robots_time <= most, "more active robots than there are")
        if self.buffer is not None and self.pages is not None:
            delivered = int(self.pages.deliveries.sum())
            require(delivered == self.buffer.delivered, "pages delivered without the buffer")
        if self.buffer is not None and self.laws is not None:
            self.laws.check(self.buffer)
