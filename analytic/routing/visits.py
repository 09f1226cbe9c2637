"""Pages as servers (altman2000, section 6): a visit is a packet, a fresh copy a busy server."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analytic import page_conditions as conditions
from analytic.arrival_process import gap_map
from analytic.formula import Condition
from analytic.markov import closed_classes
from analytic.page_refresh.hosts import hosts_never_wait
from analytic.routing.spacing import visit_costs
from analytic.routing.words import cyclic_distances
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.processes import ArrivalProcess, Map, Mmpp, Renewal


def dependent_obsolescence(arrivals: ArrivalProcess, rates: ArrayLike, word: ArrayLike) -> Array:
    """Obsolescence rate of every page under a periodic word, shape (pages,).

    ``r_m = 1 - (1 / (n E tau)) sum_j E min(X_(delta_j), S_m)``.

    Parameters
    ----------
    arrivals : ArrivalProcess
        Of the ends of accesses; times between them may be dependent.
    rates : array_like, shape (pages,)
        mu. A page that never changes is never out of date; one that changes and is never visited
        always is.
    word : array_like of int
        The page of each access of a period.

    Notes
    -----
    altman2000, section 6, Remark 6.1: ``1 - (1 / (n mu_m E tau)) sum_j (1 - f_m(delta_j^m))``.
    """
    mu = np.asarray(rates, dtype=float)
    costs = visit_costs(arrivals, mu, np.ones(len(mu)))
    period = np.asarray(word, dtype=int).tolist()
    result = np.where(mu > 0, 1.0, 0.0)
    for page, distances in cyclic_distances(period).items():
        result[page] = sum(costs.between(page, each) for each in distances) / len(period)
    return result


def accesses(scenario: Scenario) -> ArrivalProcess:
    """The process of the ends of accesses of one robot."""
    law = conditions.access_law(scenario)
    if law is not None:
        return Renewal(law)
    access = scenario.robots.access_time if scenario.robots else None
    assert isinstance(access, Map | Mmpp)
    return access


def access_matrices(scenario: Scenario) -> tuple[Array, Array] | None:
    """D0 and D1 of dependent access times, or None where they are independent."""
    process = accesses(scenario)
    return None if isinstance(process, Renewal) else gap_map(process)


def dependent_accesses(scenario: Scenario) -> str | None:
    """Access times are those of an MMPP or MAP."""
    return "access times are independent" if conditions.access_law(scenario) else None


def known_accesses(scenario: Scenario) -> str | None:
    """Access times are independent, or those of an MMPP or MAP that forgets its start."""
    access = scenario.robots.access_time if scenario.robots else None
    if access is None:
        return "deliveries are a joint process"
    if conditions.access_law(scenario) is not None:
        return None
    matrices = gap_map(access)
    if matrices is None:
        return "the law of the access times is not known"
    classes = len(closed_classes(matrices[0] + matrices[1]))
    return None if classes == 1 else f"access times have {classes} closed classes of phases"


OPEN_LOOP: tuple[Condition, ...] = (
    conditions.has_pages,
    conditions.no_buffer,
    conditions.robots_always_work,
    conditions.one_robot,
    hosts_never_wait,
    known_accesses,
)
"""One robot visits pages one after the other, whatever the order is."""
