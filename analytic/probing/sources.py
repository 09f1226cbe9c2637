"""Several sources that share their probes, each looked at alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from analytic.probing.profile import Profile
from scenarios import Scenario
from scenarios.model import present
from scenarios.probing import most_probes, sources_of, spacing_of
from scenarios.sections import Probing, Source, Times

_TIE = 1e-9


def alone(scenario: Scenario, source: int, probes: int) -> Scenario:
    """One of the sources of a scenario, with a number of probes, as a scenario of its own."""
    shared = present(scenario.probing)
    policy = shared.policy
    own = Probing(
        horizon=shared.horizon,
        probes=probes,
        policy=Times(policy.of_each[source]) if isinstance(policy, Times) else policy,
        minimum_spacing=spacing_of(shared, source),
        slots=shared.slots,
    )
    return Scenario(name=scenario.name, source=sources_of(scenario)[source], probing=own)


def each_alone(scenario: Scenario) -> tuple[Scenario, ...]:
    """Every source as a scenario of its own, with its share of the probes.

    A scenario with [source] is its only one. That of several must have its times, or a split that
    follows without a search.
    """
    if scenario.sources is None:
        return (scenario,)
    return tuple(alone(scenario, k, probes) for k, probes in enumerate(shares(scenario)))


def shares(scenario: Scenario) -> tuple[int, ...]:
    """Probes of each source by the times or the split of the file, which is not "optimal"."""
    probing = present(scenario.probing)
    if isinstance(probing.policy, Times):
        return tuple(map(len, probing.policy.of_each))
    if isinstance(probing.split, tuple):
        return probing.split
    return natural_split(scenario, probing.split)


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
    probing = present(scenario.probing)
    assert probing.probes is not None
    weight_of = WEIGHTS[split]
    weights = [weight_of(_profile(source, probing)) for source in sources_of(scenario)]
    room = [most_probes(probing, source) for source in range(len(weights))]
    return _apportioned(probing.probes, weights, room)


def _apportioned(probes: int, weights: Sequence[float], room: Sequence[int]) -> tuple[int, ...]:
    """So many probes by weight, at least one each; equal shares where all weights are 0."""
    given = np.array(weights, dtype=float)
    if not given.sum() > 0:
        given = np.ones(len(given))
    quotas = probes * given / given.sum()
    limits = np.array(room)

    def behind_by(level: int) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = np.clip(np.floor(quotas).astype(np.int64) - level, 1, limits)
        return counts

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


def _profile(source: Source, probing: Probing) -> Profile:
    return Profile(source.updates, source.importance, probing.horizon)


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
