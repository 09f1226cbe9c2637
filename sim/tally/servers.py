"""Counts and busy times of the servers without buffers."""

from __future__ import annotations

from dataclasses import dataclass

from sim.tally.conservation import RELATIVE, ROUNDING, require


@dataclass(frozen=True, slots=True)
class ServersTally:
    """Per server, over the window (warm-up, horizon].

    Attributes
    ----------
    arrived, lost, served : tuple of int
        Packets sent to the server, packets lost there and services completed. A packet is counted
        as lost when it is lost, whenever it came.
    inside_at_start, inside_at_end : tuple of int
        Packets in service at the two ends of the window, 0 or 1.
    busy_time : tuple of float
        Time with a packet in service.
    """

    arrived: tuple[int, ...]
    lost: tuple[int, ...]
    served: tuple[int, ...]
    inside_at_start: tuple[int, ...]
    inside_at_end: tuple[int, ...]
    busy_time: tuple[float, ...]

    def check(self, window: float, horizon: float) -> None:
        """Raise `ConservationError` unless packets and time add up at every server.

        Parameters
        ----------
        window : float
            Length of the window.
        horizon : float
            Time of its end, which sets the size of the rounding errors.
        """
        for server, arrived in enumerate(self.arrived):
            came = self.inside_at_start[server] + arrived
            went = self.lost[server] + self.served[server] + self.inside_at_end[server]
            require(came == went, f"server {server}: {came} packets came, {went} accounted for")
        inside = {*self.inside_at_start, *self.inside_at_end}
        require(inside <= {0, 1}, "a server holds more than one packet")
        require(min(self.busy_time) >= 0, "a server was busy for a negative time")
        changes = 2 + max(self.served)
        longest = window * (1 + RELATIVE) + changes * horizon * ROUNDING
        require(max(self.busy_time) <= longest, "a server was busy for longer than the window")
