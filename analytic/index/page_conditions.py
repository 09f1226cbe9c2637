"""What formulas read of pages and their accesses; conditions, each with the reason against it."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple, TypeGuard, cast

import numpy as np

from analytic.index.conditions import (
    IN_ENVIRONMENT,
    fleet_of,
    hearing_nothing,
    never_resting,
    order_of_pages_kept,
    static_robots,
)
from analytic.index.formula import premise
from analytic.laws.geometric_sum import GeometricSum
from analytic.machinery.active_robots import most_active
from analytic.machinery.arrival_process import access_rate, gap_map, mean_rate
from analytic.machinery.markov import closed_classes
from analytic.machinery.phase_type import exponential_rate
from analytic.machinery.transforms import mean_time
from scenarios import Scenario
from scenarios.accessing import Accessing
from scenarios.accessing.index import IndexPolicy
from scenarios.accessing.policy import Indices, Periodic, Planned
from scenarios.accessing.randomized import Randomized
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Distribution, Exponential
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
    return _time_per_attempt(scenario) * fleet.mean_share / (1.0 - fleet.failure_probability)


def _time_per_attempt(scenario: Scenario) -> float:
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
    return 1.0 / _time_per_attempt(scenario)


def known_pace(scenario: Scenario) -> str | None:
    """The mean time of an access is known, and nothing changes it."""
    if fleet_of(scenario).environment is not None:
        return IN_ENVIRONMENT
    known = math.isfinite(_time_per_attempt(scenario)) or not most_active(scenario)
    return None if known else "the mean time of an access is not known"


def mean_access(gaps: Gaps) -> float:
    """Mean time of an access; inf where it is not known."""
    if not isinstance(gaps, Mmpp | Map):
        return mean_time(gaps)
    matrices = gap_map(gaps)
    if matrices is None or len(closed_classes(matrices[0] + matrices[1])) != 1:
        return math.inf
    return 1.0 / mean_rate(np.stack(matrices))


def pace_of_accesses(scenario: Scenario) -> tuple[Distribution | None, bool]:
    """Law of the time from one access to the next, and whether it is an approximation.

    Where those times are not independent, deliveries wait in a buffer, robots give up pages, or
    several robots share a sequence, a constant of the same mean stands for them; None where the
    mean is not known. Of several exponential robots the times between deliveries are those of one
    fast robot, but not their order, which matters to everything but random choices.
    """
    shared = one_robot_or_memoryless if randomized_policy(scenario) is None else one_robot
    unlike_theirs = (no_buffer, independent_accesses, shared, order_of_pages_kept)
    approximate = any(condition(scenario) for condition in unlike_theirs)
    mean = time_per_access(scenario)
    if not math.isfinite(mean):
        return None, True
    if approximate:
        return Deterministic(value=mean), True
    return law_between_accesses(scenario), False


@premise
def has_pages(scenario: Scenario) -> str | None:
    """There are pages to access, by robots that never rest and hear no signals of changes."""
    if scenario.model.pages is None:
        return "there are no [pages]"
    return hearing_nothing(scenario) or never_resting(scenario)


@premise
def no_buffer(scenario: Scenario) -> str | None:
    """Deliveries refresh the index at once."""
    return None if scenario.buffer is None else "deliveries wait in a [buffer]"


def independent_accesses(scenario: Scenario) -> str | None:
    """Access times are independent."""
    if scenario.robots is not None and scenario.robots.deliveries is not None:
        return "deliveries are a joint process"
    if scenario.robots is not None and scenario.robots.environment is not None:
        return IN_ENVIRONMENT
    phased = any(isinstance(gaps, Mmpp | Map) for gaps, _ in active_accesses(scenario))
    independent = scenario.robots is not None and not phased
    return None if independent else "access times are not independent"


def resolved_frequencies(scenario: Scenario) -> str | None:
    """What the policy needs is given, not to be found."""
    key = scenario.model.unresolved
    return f"the {key} of the accessing policy are still to be found" if key else None


def some_robot_works(scenario: Scenario) -> str | None:
    """At least one robot is active."""
    works = static_robots(scenario) is None and most_active(scenario) > 0
    return None if works else "no robot is active"


def robots_always_work(scenario: Scenario) -> str | None:
    """A fixed number of robots is active."""
    return static_robots(scenario) or some_robot_works(scenario)


def one_robot(scenario: Scenario) -> str | None:
    """One robot is active."""
    robots = most_active(scenario)
    return None if robots <= 1 else f"{robots} robots share the sequence of pages"


def one_robot_or_memoryless(scenario: Scenario) -> str | None:
    """One robot is active, or access times are exponential."""
    accesses = active_accesses(scenario)
    if most_active(scenario) == 1:
        return None
    if accesses and all(access_rate(access) is not None for access, _ in accesses):
        return None
    return "several robots with access times that are not exponential"


def working_robots_alike(scenario: Scenario) -> str | None:
    """All robots that work have the same access times."""
    several = len({access for access, _ in active_accesses(scenario)}) > 1
    return "robots of several classes work" if several else None


def several_robots(scenario: Scenario) -> str | None:
    """Several robots share the sequence of pages."""
    return "one robot" if one_robot(scenario) is None else None


def constant_accesses(scenario: Scenario) -> str | None:
    """Access times are constant."""
    law = access_law(scenario)
    constant = law is not None and isinstance(law.simplest, Deterministic)
    return None if constant else "access times are not constant"


def periodic_policy(scenario: Scenario) -> str | None:
    """The accessing policy repeats a list of pages."""
    return (
        None
        if isinstance(scenario.model.accessing, Periodic)
        else "the accessing policy has no period"
    )


def planned_policy(scenario: Scenario) -> str | None:
    """The accessing policy draws nothing and repeats nothing, and its long run is 2^24 slots."""
    policy = scenario.model.accessing
    if not is_planned(policy):
        return "the accessing policy has a period, or draws its pages"
    if policy.unresolved:
        return None
    if slots_of_long_run(scenario) > MOST_SLOTS:
        return "some page is accessed too seldom for the plan to be followed to its long run"
    return None


def index_policy(scenario: Scenario) -> str | None:
    """An index says which page is next: how often each is accessed depends on the window."""
    is_index = isinstance(scenario.model.accessing, IndexPolicy)
    return None if is_index else "no index says which page is next"


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


def randomized_policy(scenario: Scenario) -> str | None:
    """Each access draws its page independently."""
    return (
        None
        if isinstance(scenario.model.accessing, Randomized)
        else "pages are not drawn independently"
    )
