"""Measures of servers without buffers as functions of totals."""

from __future__ import annotations

from sim.estimates.totals import Array, Part, Totals, Values

__all__ = ["packets_ended", "server_measures"]


def server_measures(totals: Totals) -> Values:
    """Fraction of each server's and of all packets that are lost, and packets per unit time.

    Over the packets that ended in the window, lost or served, as all shares are; nan at a server
    that got none.
    """
    part, window = totals.parts["servers"], totals.own["window"]
    lost, ended = part["lost"], packets_ended(part)
    values: Values = {
        ("preemption_probability", server): lost[:, server] / ended[:, server]
        for server in range(lost.shape[1])
    }
    return values | {
        ("preemption_probability", "all"): lost.sum(axis=1) / ended.sum(axis=1),
        ("arrival_rate", None): part["arrived"].sum(axis=1) / window,
        ("loss_rate", None): lost.sum(axis=1) / window,
        ("throughput", None): part["served"].sum(axis=1) / window,
    }


def packets_ended(part: Part) -> Array:
    """Packets lost or served in the window, by server."""
    ended: Array = part["lost"] + part["served"]
    return ended
