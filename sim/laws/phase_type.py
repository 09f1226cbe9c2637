"""Phase-type times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from scenarios.laws import PhaseType
from sim import rules

Tables = tuple[tuple[float, ...], tuple[float, ...], tuple[tuple[float, ...], ...]]


def parameters(law: PhaseType) -> Tables:
    """Cumulative start probabilities, mean time in each phase, and cumulative jumps."""
    means = []
    jumps = []
    for phase, row in enumerate(law.T):
        rate = -row[phase]
        onward = [max(entry, 0.0) / rate for entry in row]
        means.append(1.0 / rate)
        jumps.append(rules.cumulative([*onward, max(0.0, 1.0 - math.fsum(onward))]))
    return rules.cumulative(law.alpha), tuple(means), tuple(jumps)


def draw(
    stream: Any,
    start: Sequence[float],
    means: Sequence[float],
    jumps: Sequence[Sequence[float]],
) -> float:
    """A phase-type time, phase by phase.

    Parameters
    ----------
    stream : Generator
    start : sequence of float
        Cumulative start probabilities.
    means : sequence of float
        Mean time in each phase.
    jumps : sequence of sequence of float
        Cumulative probabilities of the next phase; one entry more than phases, the last being
        absorption.
    """
    phases = len(means)
    phase = rules.pick(start, stream.random())
    total = 0.0
    while phase < phases:
        total += stream.standard_exponential() * means[phase]
        phase = rules.pick(jumps[phase], stream.random())
    return total


def draws_and_mean(law: PhaseType) -> tuple[float, float]:
    """Phases passed through until absorption on average, and the time that they take."""
    start, means, jumps = parameters(law)
    order = len(means)
    moves = np.diff(np.array(jumps), axis=1, prepend=0.0)[:, :order]
    begin = np.diff(start, prepend=0.0)
    passages = np.linalg.solve((np.eye(order) - moves).T, begin)
    return float(passages.sum()), float(passages @ np.array(means))
