"""Several sources that share their probes, each looked at alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from analytic.probing.profile import Profile
from scenarios import Scenario
from scenarios.model import Monitor, ProbedSource, present
from scenarios.probing import most_probes

_TIE = 1e-9


def monitor_of(scenario: Scenario) -> Monitor:
    """Who probes the sources of a scenario that has some."""
    return present(scenario.model.monitor)


def profile_of_source(source: ProbedSource) -> Profile:
    """Update rate and importance of a source, up to the horizon."""
    return Profile(source.updates, source.importance, source.horizon)


def shares(scenario: Scenario) -> Sequence[int | None]:
    """Probes of each source by the times or the split of the file, which is not "optimal".

    None where the policy of the one source says when to probe, not how often.
    """
    monitor = monitor_of(scenario)
    if monitor.is_settled:
        return [len(each.times or ()) for each in monitor.sources]
    if not monitor.is_shared:
        return [monitor.asked.probes]
    split = monitor.asked.split
    return split if isinstance(split, tuple) else natural_split(scenario, split)


def natural_split(scenario: Scenario, split: str) -> tuple[int, ...]:
    """Probes of each source, in proportion to a weight.

    Parameters
    ----------
    scenario : Scenario
        With `sources`.
    split : str
        A key of `WEIGHTS`.

    Notes
    -----
    With the quota ``q_k = n w_k / sum w``, each source has one probe, at the horizon; the others
    are given one at a time to the source with the largest ``q_k - n_k`` that has room for it, of
    equal ones (to 1e-9) to the first. Where every quota is at least 1 and there is room, that is
    the method of the largest remainder.
    """
    monitor = monitor_of(scenario)
    weights = [WEIGHTS[split](profile_of_source(each)) for each in monitor.sources]
    room = [most_probes(monitor.asked, source) for source in range(len(weights))]
    return _apportioned(present(monitor.asked.probes), weights, room)


def _apportioned(probes: int, weights: Sequence[float], room: Sequence[int]) -> tuple[int, ...]:
    """So many probes by weight, at least one each; equal shares where all weights are 0."""
    given = np.array(weights, dtype=float)
    if not given.sum() > 0:
        given = np.ones(len(given))
    quotas = probes * given / given.sum()
    limits = np.array(room)

    def behind_by(level: int) -> NDArray[np.int64]:
        return np.clip(np.floor(quotas).astype(np.int64) - level, 1, limits)

    # All that are further behind than a whole number come first; the rest are given one by one.
    low, high = -probes, probes
    while low < high:
        level = (low + high) // 2
        if behind_by(level).sum() <= probes:
            high = level
        else:
            low = level + 1
    counts = behind_by(low)
    while counts.sum() < probes:
        behind = np.where(counts < limits, quotas - counts, -np.inf)
        counts[np.flatnonzero(behind >= behind.max() - _TIE)[0]] += 1
    return tuple(counts.tolist())


def _one(_: Profile) -> float:
    return 1.0


def _updates(profile: Profile) -> float:
    return float(np.diff(profile.edges) @ profile.updates)


def square_root(profile: Profile) -> float:
    """``int sqrt(lambda a)``, to which the optimal shares tend as probes become many."""
    return float(np.diff(profile.edges) @ np.sqrt(profile.updates * profile.importance))


WEIGHTS: dict[str, Callable[[Profile], float]] = {
    "equal": _one,
    "updates": _updates,
    "square-root": square_root,
}
"""Natural splits, and the weight by which each divides the probes."""
