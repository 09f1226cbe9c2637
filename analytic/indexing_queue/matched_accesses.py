"""Several robots with access times of any law: the likeliest few phases stand for each law."""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache

import numpy as np
import scipy

from analytic.index.conditions import fleet_of
from analytic.machinery.active_robots import numbers_in_use
from analytic.machinery.arrival_process import joint_order
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.transforms import mean_time, survival
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Distribution, PhaseType
from scenarios.model import present

_PHASES = (4, 3, 2)
_MOST_JOINT = 150
"""Phases in place of an access time: as many as leave the robots so many joint phases, or two."""

_FIRST, _DOUBLINGS = np.exp2(np.arange(-20.0, -19.0, 0.125)), 40
"""Times between which the likelihood counts accesses, in mean times: these, and up to so often
doubled."""


@lru_cache(maxsize=256)
def likeliest_phases(law: Distribution, order: int) -> PhaseType:
    """The likeliest law of the same mean in which phases follow one another, or are the last.

    Parameters
    ----------
    law : Distribution
    order : int
        Phases.

    Notes
    -----
    docs/theory/buffer-approximations.md, "Accesses of few phases".
    """
    mean = mean_time(law)
    times = np.outer(2.0 ** np.arange(_DOUBLINGS), _FIRST)
    seen = np.diff(1.0 - survival(law, mean * times.ravel()), prepend=0.0, append=1.0)

    def generator(where: Array) -> Array:
        """Of mean 1; the rates of the phases, relative to the first, and how often one follows."""
        rates = np.exp([0.0, *where[: order - 1].clip(-6.0, 6.0)])
        follows = scipy.special.expit(where[order - 1 :])
        rates *= np.sum(np.cumprod([1.0, *follows]) / rates)
        return np.diag(-rates) + np.diag(rates[:-1] * follows, 1)

    def unlikely(where: Array) -> float:
        after = scipy.linalg.expm(generator(where) * _FIRST[:, None, None])
        beyond = []
        for _ in range(_DOUBLINGS):
            beyond.append(after[:, 0].sum(axis=1))
            after = after @ after
        within = np.diff(1.0 - np.concatenate(beyond), prepend=0.0, append=1.0)
        return float(-seen @ np.log(np.maximum(within, 1e-300)))

    places = np.arange(1.0, order)
    starts = [*0.1 * places, *0.0 * places + 3.0], [*-2.0 * places, *0.0 * places - 2.0]
    tried = [scipy.optimize.minimize(unlikely, np.array(start), method="BFGS") for start in starts]
    found = min(tried, key=lambda each: each.fun)
    rows = generator(found.x) / mean
    alpha = (1.0, *[0.0] * (order - 1))
    return PhaseType(alpha=alpha, T=tuple(map(tuple, rows.tolist())))


@lru_cache(maxsize=4)
def with_likeliest_phases(scenario: Scenario) -> Scenario:
    """The scenario in which a few phases stand for each access time.

    Raises
    ------
    NoAnswerError
        If the robots have too many joint phases even so.
    """
    for phases in _PHASES[:-1]:
        changed = _with_phases(scenario, phases)
        try:
            if joint_order(fleet_of(changed), numbers_in_use(changed)) <= _MOST_JOINT:
                return changed
        except NoAnswerError:
            continue
    changed = _with_phases(scenario, _PHASES[-1])
    joint_order(fleet_of(changed), numbers_in_use(changed))
    return changed


def _with_phases(scenario: Scenario, phases: int) -> Scenario:
    robots = deepcopy(scenario.as_file()["robots"])
    classes = fleet_of(scenario).classes
    for entry, each in zip(robots.get("classes", [robots]), classes, strict=True):
        law = likeliest_phases(present(each.law), phases)
        entry["access_time"] = {law.key: law.model_dump(exclude_none=True)}
    return scenario.with_("robots", robots)
