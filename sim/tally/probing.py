"""Counts about a source and the probes that see its updates."""

from __future__ import annotations

from dataclasses import dataclass

from sim.tally.conservation import RELATIVE, require


@dataclass(frozen=True, slots=True)
class ProbingTally:
    """Counts and costs over one path of [0, horizon].

    Attributes
    ----------
    updates : int
        Updates of the source.
    probes : int
        Probes made.
    seen : int
        Updates seen by a probe, counted probe by probe.
    pending : int
        Updates not yet seen at the end; none, since the last probe is at the horizon.
    cost : float
        Integral of the importance from each update to the probe that sees it, summed.
    fresh_time : float
        Time without an update that no probe has seen.
    largest_wait : float
        The largest such integral that one update can have: that of a whole interval.
    """

    updates: int
    probes: int
    seen: int
    pending: int
    cost: float
    fresh_time: float
    largest_wait: float

    def check(self, window: float, horizon: float) -> None:  # noqa: ARG002  # same call for all parts
        """Raise `ConservationError` unless each update was seen once, at a possible cost.

        The fresh time must not exceed the window, and is all of it without updates.
        """
        require(
            self.updates == self.seen + self.pending,
            f"{self.updates} updates, {self.seen} seen and {self.pending} pending",
        )
        require(self.pending == 0, f"{self.pending} updates were never seen")
        most = self.updates * self.largest_wait * (1 + RELATIVE)
        require(
            0 <= self.cost <= most,
            f"{self.updates} updates cost {self.cost!r}, which must lie in [0, {most!r}]",
        )
        least = 0.0 if self.updates else window * (1 - RELATIVE)
        require(
            least <= self.fresh_time <= window * (1 + RELATIVE),
            f"fresh for {self.fresh_time!r}, which must lie in [{least!r}, {window!r}]",
        )
