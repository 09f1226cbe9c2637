"""Measures of servers without buffers as functions of totals."""

from __future__ import annotations

import numpy as np

from scenarios.arrays import Array
from sim.estimates.totals import Part, Totals, Values, single


def server_measures(totals: Totals) -> Values:
    """Fraction of each server's and of all packets that are lost, and packets per unit time.

    Over the packets that ended in the window, lost or served, as all shares are; nan at a server
    that got none.
    """
    part = totals.parts["servers"]
    window = totals.own["window"]
    lost = part["lost"]
    ended = packets_ended(part)
    everywhere = lost.sum(axis=1, keepdims=True) / ended.sum(axis=1, keepdims=True)
    shares = np.concatenate([lost / ended, everywhere], axis=1)
    return {
        "preemption_probability": ((*range(lost.shape[1]), "all"), shares),
        "arrival_rate": single(part["arrived"].sum(axis=1) / window),
        "loss_rate": single(lost.sum(axis=1) / window),
        "throughput": single(part["served"].sum(axis=1) / window),
    }


def packets_ended(part: Part) -> Array:
    """Packets lost or served in the window, by server."""
    ended: Array = part["lost"] + part["served"]
    return ended
