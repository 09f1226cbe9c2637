"""Laws of phase type in place of those that are not, with the same mean and (nearly) variance.

For approximations: the exact methods need phases. What remains of a law beyond its first two
moments hardly matters to the staleness of a page that is fetched again and again.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from analytic import conditions, page_conditions
from analytic.active_robots import most_active
from analytic.formula import dependent
from analytic.phase_type import exponential_rate, has_phases, phase_count
from analytic.pipeline import conditions as own
from analytic.refusal import NoAnswerError
from analytic.transforms import moments
from scenarios import Scenario
from scenarios.activation import Switching
from scenarios.laws import (
    Distribution,
    Erlang,
    Exponential,
    Hyperexponential,
    PhaseType,
)

_MOST_PHASES = 16
"""Of a service or a timer; a constant becomes an Erlang law with so many."""
_MOST_JOINT = 64
"""Joint phases of all robots; where two phases each are too many, accesses become exponential."""
_MOST_STATES = 128
"""Of robots and service at one level, where both have stand-ins."""
_MOST_TIMERS = 5_000
"""Phases of all timers in a full buffer."""
_MOST_AMISS = 0.25
"""By how much the squared coefficient of variation of the timers may be wrong."""


def stand_in(law: Distribution, phases: int) -> Distribution:
    """A law of at most so many phases (two, if more variable than an exponential law).

    Parameters
    ----------
    law : Distribution
    phases : int

    Notes
    -----
    With c² the squared coefficient of variation: above 1 a mixture of two exponential laws with
    balanced means; below, k - 1 or k phases of one rate, with ``1/k <= c² <= 1/(k-1)`` and the
    probability p of the shorter (Tijms, 1994, Appendix B); below 1 / phases, an Erlang law, which
    varies more.
    """
    mean = moments(law)[0]
    c2 = _variation(law)
    if phases == 1 or math.isclose(c2, 1.0, rel_tol=1e-9):
        return Exponential(mean=mean)
    if c2 > 1.0:
        share = (1.0 + math.sqrt((c2 - 1.0) / (c2 + 1.0))) / 2.0
        rates = 2.0 * share / mean, 2.0 * (1.0 - share) / mean
        return Hyperexponential(probabilities=(share, 1.0 - share), rates=rates)
    order = math.ceil(1.0 / c2 - 1e-9) if c2 * phases > 1.0 else phases
    if c2 * order <= 1.0 + 1e-9:
        return Erlang(shape=order, mean=mean)
    root = math.sqrt(order * (1.0 + c2) - order**2 * c2)
    shorter = (order * c2 - root) / (1.0 + c2)
    rate = (order - shorter) / mean
    steps = np.diag(np.full(order, -rate)) + np.diag(np.full(order - 1, rate), 1)
    start = np.zeros(order)
    start[0] = 1.0 - shorter
    start[1] = shorter
    return PhaseType(alpha=tuple(start.tolist()), T=tuple(map(tuple, steps.tolist())))


@lru_cache(maxsize=4)
def with_phases(scenario: Scenario) -> Scenario | None:
    """The scenario with stand-ins for laws without phases, or with too many; None: it has none.

    Where copies of a page leave the buffer together the service becomes exponential.

    Raises
    ------
    NoAnswerError
        If targets are given for the phases of a service that would be replaced.
    """
    assert scenario.buffer is not None
    changes: dict[str, Any] = {}
    access = page_conditions.access_law(scenario)
    joint = 1
    if access is not None and conditions.markovian_accesses(scenario) is not None:
        phases = _phases_of_robots(scenario, not has_phases(scenario.buffer.service))
        joint = phases ** most_active(scenario)
        changes["robots.access_time"] = _written(stand_in(access, phases))
    most = min(_MOST_PHASES, _MOST_STATES // joint)
    if own.changes_matter_to_the_queue(scenario) is None:
        most = 1
    law = scenario.buffer.service
    if _phases_in(law) > most:
        changes["buffer.service"] = _written(stand_in(law, most))
    timer = conditions.timers_of(scenario)
    if timer is not None and _phases_in(timer) > _phases_of_timers(scenario):
        changes["buffer.obsolescence"] = _written(stand_in(timer, _phases_of_timers(scenario)))
    if "buffer.service" in changes and _targets_by_phase(scenario):
        raise NoAnswerError("there are targets for each phase of the service, which has to be kept")
    return scenario.with_(changes) if changes else None


def _targets_by_phase(scenario: Scenario) -> bool:
    rule = scenario.activation
    return isinstance(rule, Switching) and len(rule.targets) > 1


@dependent
def variance_of_timers_kept(scenario: Scenario) -> str | None:
    """Stand-ins of timers have nearly their variance (c² right to 0.25)."""
    assert scenario.buffer is not None
    replaced = with_phases(scenario)
    law = conditions.timers_of(scenario)
    found = conditions.timers_of(replaced) if replaced is not None else None
    if law is None or found is None or abs(_variation(found) - _variation(law)) <= _MOST_AMISS:
        return None
    return (
        f"{scenario.buffer.waiting_places} timers at a time may have {_phases_in(found):g} phases, "
        f"with a squared coefficient of variation of {_variation(found):.2g} in place of "
        f"{_variation(law):.2g}"
    )


def _variation(law: Distribution) -> float:
    """The squared coefficient of variation c²."""
    mean, second = moments(law)
    return second / mean**2 - 1.0


def _phases_in(law: Distribution) -> float:
    """Phases of a law, one if it is exponential however it is written; inf: it has none."""
    found = phase_count(law)
    if found is None:
        return math.inf
    return 1 if found == 1 or exponential_rate(law) is not None else found


def _phases_of_robots(scenario: Scenario, beside_service: bool) -> int:
    """The most phases of an access time with which all robots have few enough jointly."""
    access = page_conditions.access_law(scenario)
    robots = max(most_active(scenario), 1)
    if access is not None and has_phases(access):
        return 1  # it has phases, and switched robots may not have more than one
    joint = _MOST_JOINT // 4 if beside_service else _MOST_JOINT
    return min(_MOST_PHASES, int(joint ** (1.0 / robots) + 1e-9))


def _phases_of_timers(scenario: Scenario) -> int:
    """The most phases of a timer with which those of all waiting pages are few enough."""
    assert scenario.buffer is not None
    waiting = max(scenario.buffer.waiting_places, 1)
    return min(_MOST_PHASES, int(_MOST_TIMERS ** (1.0 / waiting) + 1e-9))


def _written(law: Distribution) -> dict[str, Any]:
    """As in a scenario file."""
    return {law.key: law.model_dump(exclude_none=True)}
