"""What formulas read of pages and of the accesses to them: rates, laws of times, plans."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple, TypeGuard, cast

import numpy as np

from analytic.index.conditions import fleet_of
from analytic.laws.geometric_sum import GeometricSum
from analytic.machinery.active_robots import most_active
from analytic.machinery.arrival_process import gap_map, mean_rate
from analytic.machinery.markov import closed_classes
from analytic.machinery.phase_type import exponential_rate
from analytic.machinery.transforms import mean_time
from scenarios import Scenario
from scenarios.accessing import Accessing
from scenarios.accessing.index import IndexPolicy
from scenarios.accessing.policy import Indices, Periodic, Planned
from scenarios.arrays import Array
from scenarios.laws import Distribution, Exponential
from scenarios.model import Gaps, present
from scenarios.page_data import PageData, access_cycle, access_shares
from scenarios.processes import Map, Mmpp
from scenarios.sections import Robots

MOST_SLOTS = 2**24
"""Accesses up to which a sequence is written out."""

_MANY_ACCESSES = 200
"""Accesses of the rarest page after which a plan has shown its long run."""

_FEW_ACCESSES = 20
"""The same where 200 of them would take more than `_MANY_SLOTS`."""

_LEAST_SLOTS = 2**16
_MANY_SLOTS = 2**20


class KindsOfPages(NamedTuple):
    """Pages that have the change rate and the share of the accesses in common, as one.

    Attributes
    ----------
    change_rates, shares : ndarray, shape (kinds,)
        In ascending order.
    counts : ndarray, shape (kinds,)
        How many pages are of a kind.
    of_page : ndarray, shape (pages,)
        The kind of each page.
    """

    change_rates: Array
    shares: Array
    counts: Indices
    of_page: Indices


class AccessedPages(NamedTuple):
    """Pages and the policy by which they are accessed, with the arrays that they stand for.

    Attributes
    ----------
    pages : PageData
    robots : Robots
    policy : Accessing
    change_rates, weights : ndarray, shape (pages,)
    """

    pages: PageData
    robots: Robots
    policy: Accessing
    change_rates: Array
    weights: Array

    @property
    def shares(self) -> Array:
        """Share of the accesses that the policy is to give each page, shape (pages,)."""
        return access_shares(self.policy, self.pages)

    @property
    def kinds(self) -> KindsOfPages:
        """The pages by their change rates and shares."""
        pairs = np.stack([self.change_rates, self.shares])
        (rates, shares), of_page, counts = np.unique(
            pairs, axis=1, return_inverse=True, return_counts=True
        )
        return KindsOfPages(rates, shares, counts, of_page.reshape(-1))

    @property
    def cycle(self) -> Indices:
        """One period of the policy, where it has one: the page of each slot."""
        assert isinstance(self.policy, Periodic)
        return access_cycle(self.policy, self.pages)


def accessed_pages(scenario: Scenario) -> AccessedPages:
    """The pages of a scenario that has them; it then has robots and an accessing policy, too."""
    pages, robots = present(scenario.model.pages), present(scenario.robots)
    policy = present(scenario.model.accessing)
    return AccessedPages(pages, robots, policy, pages.change_rates, pages.weights)


def is_planned(policy: Accessing | None) -> TypeGuard[Planned]:
    """Whether a policy neither draws nor repeats: its sequence is planned for one run."""
    return isinstance(policy, Planned) and not isinstance(policy, Periodic)


def active_accesses(scenario: Scenario) -> list[tuple[Gaps, int]]:
    """Access times of the robots that work, and how many have each; none of joint deliveries."""
    fleet = scenario.model.fleet
    if fleet is None:
        return []
    if len(fleet.classes) == 1:
        return [(fleet.classes[0].gaps, most_active(scenario))]
    classes = Counter(fleet.in_order[: most_active(scenario)])
    return [(fleet.classes[index].gaps, count) for index, count in classes.items()]


def access_law(scenario: Scenario) -> Distribution | None:
    """Law of one access time, where successive times are independent and robots alike; else None.

    Robots are alike if all that work have the same law; where none works, the first one's stands
    for all.
    """
    fleet = scenario.model.fleet
    if fleet is None or not fleet.classes:
        return None
    working = active_accesses(scenario) or [(fleet.classes[0].gaps, 1)]
    every = {gaps for gaps, _ in working}
    gaps = every.pop()
    return None if every or isinstance(gaps, Mmpp | Map) else gaps


def law_and_failure(scenario: Scenario) -> tuple[Distribution, float]:
    """The law of one access of a robot, and the probability that it delivers nothing.

    Where it is shorter then, the law from one delivery to the next, none of which fails.
    """
    law, fleet = access_law(scenario), fleet_of(scenario)
    assert law is not None
    if (failing := fleet.failing) is None or not failing.shortens:
        return law, fleet.failure_probability
    between = GeometricSum(law, failing.probability, failing.share_of_time)
    return cast("Distribution", between), 0.0


def law_between_accesses(scenario: Scenario) -> Distribution:
    """Law of the time from one delivery to the next; several robots have to be exponential.

    Accesses that fail are part of that time.
    """
    law = access_law(scenario)
    failure = fleet_of(scenario).failure_probability
    memoryless = law is None or exponential_rate(law) is not None
    if most_active(scenario) > 1 or (failure > 0 and memoryless):
        return Exponential(mean=time_per_access(scenario))
    assert law is not None
    return cast("Distribution", GeometricSum(law, failure)) if failure > 0 else law


def time_per_access(scenario: Scenario) -> float:
    """Mean time from one delivery to the next; inf where it is not known or no robot works."""
    if scenario.robots is None:
        return math.inf
    fleet = fleet_of(scenario)
    return time_per_attempt(scenario) * fleet.mean_share / (1.0 - fleet.failure_probability)


def time_per_attempt(scenario: Scenario) -> float:
    """The same for accesses that may fail, each of its whole length."""
    accesses = active_accesses(scenario)
    if len(accesses) == 1:
        access, robots = accesses[0]
        return mean_access(access) / robots if robots else math.inf
    rate = sum(count / mean_access(access) for access, count in accesses)
    known = all(math.isfinite(mean_access(access)) for access, _ in accesses)
    return 1.0 / rate if known and rate > 0 else math.inf


def accesses_at_full_length(scenario: Scenario) -> float:
    """Accesses per unit time of the robots that work, if none were shorter; nan where unknown."""
    return 1.0 / time_per_attempt(scenario)


def mean_access(gaps: Gaps) -> float:
    """Mean time of an access; inf where it is not known."""
    if not isinstance(gaps, Mmpp | Map):
        return mean_time(gaps)
    matrices = gap_map(gaps)
    if matrices is None or len(closed_classes(matrices[0] + matrices[1])) != 1:
        return math.inf
    return 1.0 / mean_rate(np.stack(matrices))


def slots_of_long_run(scenario: Scenario) -> int:
    """Slots in which a plan without a period shows its long run.

    200 accesses of the page that is accessed most rarely; where these are more than 2^20, 20 of it.
    """
    accessed = accessed_pages(scenario)
    if isinstance(accessed.policy, IndexPolicy):
        rarest = 1.0 / accessed.pages.count
    else:
        shares = access_shares(accessed.policy, accessed.pages)
        rarest = float(shares[shares > 0].min())
    many = min(_MANY_ACCESSES / rarest, _MANY_SLOTS)
    return math.ceil(max(_LEAST_SLOTS, many, _FEW_ACCESSES / rarest))
