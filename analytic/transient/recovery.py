"""How long a queue takes to recover once nothing changes it any more."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from analytic.indexing_queue.measures import UNCHANGED
from analytic.machinery.refusal import NoAnswerError
from analytic.transient.queue import PieceChain, QueueOverTime
from scenarios import Scenario
from scenarios.arrays import Array

NOTHING = "in the long run nothing is in the system"
"""Why there is no time to recover of a system that comes to rest."""

BAND = 0.05
"""Share of the mean number of pages by which it may still be off."""

FEW_LOSSES = 1e-3
"""Share of the delivered pages by which the lost ones may always be off."""

_SEEN = 1e-10
"""Losses per unit time, and pages, that are nothing."""

_SETTLED = 1e-13
"""Change of a distribution over half of the time until then."""

_EXACT = 1e-13
"""Relative width to which a crossing is located."""

_DERIVATIVES = 4
"""Second derivatives of second derivatives that are followed. With one of them a small reward, such
as that of rare losses, was looked at a hundred thousand times."""

_SLOWEST = 1e-300
"""Jumps per unit time of a chain that has none."""

_MOST_DOUBLINGS = 100


def last_change(scenario: Scenario) -> float:
    """When the last intervention begins or ends, where none repeats.

    Raises
    ------
    NoAnswerError
        If there is none, or one repeats.
    """
    if not scenario.interventions:
        raise NoAnswerError("there are no [[interventions]]")
    last = scenario.model.timeline.last_change
    if last is None:
        raise NoAnswerError("an intervention repeats: the system never recovers for good")
    return last


def recovery_times(queue: QueueOverTime) -> tuple[float, float | None]:
    """Times after the last change from which on a queue stays near its long run.

    For the mean number of pages it is the last time at which this is off by more than `BAND`, 0
    where it never is. For the pages lost per unit time the same, where `FEW_LOSSES` of those that
    are then delivered do not count; None where none are.

    Raises
    ------
    NoAnswerError
        If there is no last change, or nothing is in the system in the long run.
    """
    last = last_change(queue.scenario)
    timeline = queue.scenario.model.timeline
    row = queue.start()
    if last > 0:
        *_, segment = queue.follow(row, timeline.between(0.0, last), ())
        row = segment.after
    chain = queue.chain_in(timeline.between(last, 2.0 * last + 1.0)[-1])
    steps = until_settled(chain, row)
    mean = float(chain.levels @ steps[-1].row)
    if mean <= _SETTLED:
        raise NoAnswerError(NOTHING)
    of_levels = last_crossing(chain, steps, chain.levels - mean, BAND * mean)
    delivered = chain.sums(steps[-1].row).delivered
    if delivered <= _SETTLED:
        return of_levels, None
    lost = float(chain.losses @ steps[-1].row)
    band = max(BAND * lost, FEW_LOSSES * delivered)
    return of_levels, last_crossing(chain, steps, chain.losses - lost, band)


def settling_time(queue: QueueOverTime, share: float) -> float:
    """Time from the start until mean in system and losses stay near the long run's.

    Parameters
    ----------
    queue : QueueOverTime
        Whose interventions are left out.
    share : float
        Of the long run, by which they may be off.

    Raises
    ------
    NoAnswerError
        If the queue does not settle.
    """
    chain = queue.chain_in(UNCHANGED)
    steps = until_settled(chain, queue.start())
    times = []
    for reward in (chain.levels, chain.losses):
        value = float(steps[-1].row @ reward)
        band = max(share * value, _SEEN)
        times.append(last_crossing(chain, steps, reward - value, band))
    return max(times)


class Step(NamedTuple):
    """A distribution at some time, and how long it is followed from there."""

    time: float
    row: Array
    length: float


def until_settled(chain: PieceChain, row: Array) -> list[Step]:
    """Distributions at times that double, until they change no more."""
    generator = chain.generator
    fastest = float(-generator.diagonal().min(initial=0.0))
    if fastest == 0:
        return [Step(0.0, row, math.inf)]
    entries = generator if isinstance(generator, np.ndarray) else generator.data
    slowest = float(entries[entries > 0].min())
    steps = []
    time, length = 0.0, 1.0 / fastest
    for _ in range(_MOST_DOUBLINGS):
        after = chain.transitions.move(row, length).after
        steps.append(Step(time, row, length))
        change = float(np.abs(after - row).sum())
        time, row, length = time + length, after, 2.0 * length
        if change <= _SETTLED and time * slowest > 1.0:
            return [*steps, Step(time, row, math.inf)]
    raise NoAnswerError("the queue does not settle")


def last_crossing(chain: PieceChain, steps: list[Step], reward: Array, band: float) -> float:
    """The last time at which an expected reward leaves a band around 0; 0 where it never does.

    Between two distributions a time h apart the reward ``p r`` differs from its chord by at most
    h² / 8 times the largest value of its second derivative ``p Q² r``. That is a reward, too, which
    differs from its chord by its own second derivative, and so on; the last one is at most
    ``|p Q|`` times the reach of what is left, and neither ever grows. Nor does the distance from
    the last distribution, times the reach of the reward. So an interval in which the reward cannot
    leave the band is known, and any other is halved. Times are in units of the shortest mean time
    in a state, so that no power of Q is too large for a number.

    Parameters
    ----------
    chain : PieceChain
    steps : list of Step
        One after the other; after the last one it stays in the band.
    reward : ndarray, shape (states,)
        0 in the mean under the last distribution.
    band : float
    """
    generator = chain.generator
    settled = steps[-1].row
    widest = float(np.ptp(reward)) / 2.0
    fastest = max(float(-generator.diagonal().min(initial=0.0)), _SLOWEST)
    generator = generator / fastest
    rewards = [reward]
    for _ in range(_DERIVATIVES):
        slope = generator @ rewards[-1]
        rewards.append(generator @ slope)
    reach = float(np.ptp(slope)) / 2.0
    known = np.array(rewards[:-1]).T

    def search(step: Step, ends: Array) -> float | None:
        """The last crossing within a step, given the reward and its derivatives at its end."""
        if float(np.abs(step.row - settled).sum()) * widest <= band:
            return None
        begins = step.row @ known
        largest = np.maximum(np.abs(begins), np.abs(ends))
        bound = float(np.abs(generator.T @ step.row).sum()) * reach
        for value in largest[::-1].tolist():
            bound = value + bound * (fastest * step.length) ** 2 / 8.0
        if bound <= band:
            return None
        if step.length <= _EXACT * max(step.time, steps[0].length):
            return step.time if largest[0] > band else None
        half = step.length / 2.0
        later = Step(step.time + half, chain.transitions.move(step.row, half).after, half)
        found = search(later, ends)
        if found is None:
            found = search(Step(step.time, step.row, half), later.row @ known)
        return found

    for step, following in zip(reversed(steps[:-1]), reversed(steps), strict=False):
        found = search(step, following.row @ known)
        if found is not None:
            return found
    return 0.0
