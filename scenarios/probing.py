"""Probed sources: one, or several that share their probes, and whether [probing] fits them."""

from __future__ import annotations

from itertools import pairwise

from scenarios.errors import refused
from scenarios.sections import (
    Apart,
    AtCost,
    AtProbability,
    Probing,
    System,
    Times,
    slots_apart,
)
from scenarios.text import counted
from scenarios.validity import check_length

_ROUNDING = 1e-9


def most_probes(probing: Probing, source: int) -> int:
    """Probes of one source that have room up to the horizon, on the grid where there is one."""
    spacing = probing.spacing_of(source)
    if probing.slots is not None:
        return probing.slots // slots_apart(spacing, probing.horizon, probing.slots)
    if probing.probes is not None and probing.probes * spacing <= probing.horizon * (1 + _ROUNDING):
        return probing.probes
    return int(probing.horizon * (1 + _ROUNDING) / spacing)


def check_probing(system: System) -> None:
    """Refuse a [probing] that does not fit its source, or its sources."""
    probing = system.probing
    if probing is None:
        return
    if system.sources is not None:
        _check_several(probing, len(system.sources))
    else:
        _check_one(probing)


def _check_one(probing: Probing) -> None:
    if "split" in probing.model_fields_set:
        allowed = "needs sources, a list; [source] is one"
        raise refused(allowed, key="probing.split", value=probing.split)
    if probing.at_once is not None:
        allowed = "needs sources, a list; [source] is one"
        raise refused(allowed, key="probing.at_once", value=probing.at_once)
    if isinstance(probing.minimum_spacing, tuple):
        allowed = "must be a number; a list goes with sources, one entry for each"
        raise refused(allowed, key="probing.minimum_spacing", value=probing.minimum_spacing)
    policy = probing.policy
    if isinstance(policy, Times):
        if policy.of_each:
            allowed = "must be numbers; lists go with sources, one for each"
            raise refused(allowed, key="probing.policy.times", value=policy.root)
        _check_times(probing, policy.of_one, probing.spacing_of(0), "probing.policy.times")
        if probing.probes not in (None, len(policy.root)):
            allowed = f"must be the number of times ({len(policy.root)}), or be left out"
            raise refused(allowed, key="probing.probes", value=probing.probes)
    elif not isinstance(policy, str):
        return
    count = probing.probes or len(policy.root)  # type: ignore[union-attr]  # times, when probes is None
    if count * probing.minimum_spacing > probing.horizon * (1 + _ROUNDING):
        allowed = f"times {counted(count, 'probe')} must not exceed horizon ({probing.horizon!r})"
        raise refused(allowed, key="probing.minimum_spacing", value=probing.minimum_spacing)
    if policy == "optimal":
        _check_grid(probing, count)


def _check_grid(probing: Probing, count: int) -> None:
    slots = _needed_slots(probing, 'policy = "optimal"')
    spacing = slots_apart(probing.spacing_of(0), probing.horizon, slots)
    if count * spacing > slots:
        probes = counted(count, "probe")
        allowed = f"has no room for {probes}, each {counted(spacing, 'slot')} after the last"
        raise refused(allowed, key="probing.slots", value=slots)


def _needed_slots(probing: Probing, asked: str) -> int:
    if probing.slots is None:
        raise refused(f"is missing; {asked} needs it", key="probing.slots")
    return probing.slots


def _check_times(probing: Probing, times: tuple[float, ...], spacing: float, key: str) -> None:
    """Refuse times of one source that do not increase up to the horizon, or lie too close."""
    gaps = [after - before for before, after in pairwise((0.0, *times))]
    if not times or min(gaps[1:], default=1.0) <= 0:
        allowed = "must increase" if times else f"must end with the horizon ({probing.horizon!r})"
        raise refused(allowed, key=key, value=times)
    if times[-1] != probing.horizon:
        allowed = f"the last must be the horizon ({probing.horizon!r})"
        raise refused(allowed, key=key, value=times)
    if min(gaps) < spacing * (1 - _ROUNDING) - 1e-15 * probing.horizon:
        allowed = f"must lie minimum_spacing ({spacing!r}) apart, from 0 on"
        raise refused(allowed, key=key, value=times)


def _check_several(probing: Probing, count: int) -> None:
    policy = probing.policy
    spacing = probing.minimum_spacing
    if isinstance(spacing, tuple):
        check_length("probing.minimum_spacing", spacing, count, "source")
    if isinstance(policy, AtCost | AtProbability | Apart):
        allowed = "does not go with sources, which share a number of probes"
        raise refused(allowed, key=f"probing.policy.{policy.key}", value=policy.root)
    if probing.refine:
        allowed = "does not go with sources: their probes stay on the grid"
        raise refused(allowed, key="probing.refine", value=True)
    if isinstance(policy, Times):
        _check_times_of_each(probing, policy, count)
        return
    assert probing.probes is not None
    _check_room(probing, count)
    if probing.split == "optimal" or policy == "optimal":
        asked = 'split = "optimal"' if probing.split == "optimal" else 'policy = "optimal"'
        _needed_slots(probing, asked)
    _check_split(probing, count)
    _check_at_once(probing, count)


def _check_at_once(probing: Probing, count: int) -> None:
    """Refuse a limit that no policy keeps, or that leaves room for too few probes."""
    if probing.at_once is None:
        return
    if probing.policy != "optimal":
        allowed = 'goes with policy = "optimal" or with times, which others do not give up'
        raise refused(allowed, key="probing.at_once", value=probing.at_once)
    assert probing.probes is not None
    assert probing.slots is not None
    room = probing.at_once * (probing.slots - 1)
    if probing.probes - count > room:
        allowed = (
            f"is too small: before the horizon there is room for {counted(room, 'probe')} "
            f"({counted(probing.slots - 1, 'time')}), and {probing.probes - count} of the probes "
            "are not at the horizon"
        )
        raise refused(allowed, key="probing.at_once", value=probing.at_once)


def _check_room(probing: Probing, count: int) -> None:
    """Refuse fewer probes than sources, or more than all of them together have room for."""
    assert probing.probes is not None
    if probing.probes < count:
        allowed = f"must be >= {count}: each source has one at the horizon"
        raise refused(allowed, key="probing.probes", value=probing.probes)
    room = [most_probes(probing, source) for source in range(count)]
    if not min(room):
        allowed = f"source {room.index(0)} has no room for its probe at the horizon"
        raise refused(allowed, key="probing.minimum_spacing", value=probing.minimum_spacing)
    most = sum(room)
    if probing.probes > most:
        allowed = f"must be <= {most}: the sources have room for no more"
        raise refused(allowed, key="probing.probes", value=probing.probes)


def _check_split(probing: Probing, count: int) -> None:
    split = probing.split
    if isinstance(split, str):
        return
    check_length("probing.split", split, count, "source")
    if sum(split) != probing.probes:
        allowed = f"sums to {sum(split)}; must sum to probes ({probing.probes})"
        raise refused(allowed, key="probing.split", value=split)
    for source, probes in enumerate(split):
        if probes > (most := most_probes(probing, source)):
            allowed = f"must be <= {most}: source {source} has room for no more"
            raise refused(allowed, key=f"probing.split[{source}]", value=probes)


def _check_times_of_each(probing: Probing, policy: Times, count: int) -> None:
    key = "probing.policy.times"
    if len(policy.of_each) != len(policy.root) or len(policy.root) != count:
        allowed = f"must have {counted(count, 'list')} of times, one per source"
        raise refused(allowed, key=key, value=policy.root)
    if probing.split != "optimal":
        allowed = "does not go with times, which say how many each source has"
        raise refused(allowed, key="probing.split", value=probing.split)
    for source, times in enumerate(policy.of_each):
        _check_times(probing, times, probing.spacing_of(source), f"{key}[{source}]")
    _check_times_at_once(probing, policy)
    total = sum(map(len, policy.of_each))
    if probing.probes not in (None, total):
        allowed = f"must be the number of times ({total}), or be left out"
        raise refused(allowed, key="probing.probes", value=probing.probes)


def _check_times_at_once(probing: Probing, policy: Times) -> None:
    if probing.at_once is None:
        return
    inner = sorted(time for times in policy.of_each for time in times[:-1])
    near = _ROUNDING * probing.horizon
    for first, beyond in zip(inner, inner[probing.at_once :], strict=False):
        if beyond - first <= near:
            allowed = f"has more than at_once ({probing.at_once}) probes at {first!r}"
            raise refused(allowed, key="probing.policy.times")
