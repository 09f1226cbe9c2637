"""The index of formulas for pages without a buffer, and how they read a scenario.

Those for many slow pages are limits: shown beside the others, never judged. Their conditions say
how near to the limit a system has to be, for each to be off by some per cent at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from analytic.index import page_conditions as conditions
from analytic.index.accesses import (
    AccessedPages,
    access_law,
    accessed_pages,
    active_accesses,
    is_planned,
    law_between_accesses,
    time_per_access,
)
from analytic.index.conditions import every_access_delivers, fleet_of
from analytic.index.formula import Formula, Values, dependent
from analytic.index.page_rows import (
    changes_found,
    fetch_rows,
    freshness_rows,
    page_rows,
    quantile_rows,
)
from analytic.machinery.active_robots import most_active
from analytic.machinery.refusal import Remembered
from analytic.machinery.transforms import log_transform, mean_time
from analytic.page_refresh.golden import (
    WORST_GOLDEN_RATIO,
    golden_guarantee,
    many_pages_cost,
    worst_golden_cost,
)
from analytic.page_refresh.hosts import (
    host_limits,
    hosts_never_wait,
    mean_known,
    planned_slots,
    slots_in_window,
    waits_or_shared,
)
from analytic.page_refresh.obsolescence import (
    crawl_rates,
    cyclic_obsolescence,
    equal_spacing_bound,
    exponential_robots_obsolescence,
    failing_obsolescence,
    random_rounds_obsolescence,
    randomized_obsolescence,
    robots_in_step_obsolescence,
    sequence_obsolescence,
    slot_distances,
    spaced_obsolescence,
)
from analytic.page_refresh.optimum import (
    best_random_shares,
    in_time_bound,
    proportional_bound,
    schedule_bound,
)
from analytic.page_refresh.refresh_times import (
    Gaps,
    Unseen,
    has_known_sums,
    quantiles,
    unseen_between,
    unseen_between_draws,
)
from scenarios import Scenario
from scenarios.accessing.golden_ratio import GoldenRatio
from scenarios.accessing.index import IndexPolicy
from scenarios.accessing.policy import Indices, Periodic
from scenarios.accessing.randomized import Randomized
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Exponential
from scenarios.measures import Subject
from scenarios.model import present
from scenarios.page_data import realised_shares
from scenarios.processes import Map, Mmpp
from scenarios.text import counted

_SLOW = 0.02
_SLOTS = 50
_NEAR = 1e-3

MOST_ENTRIES = 2**22
"""Entries of the tables for robots that share a sequence."""


def _one_robot(scenario: Scenario) -> Values:
    """Equation (3) or Lemma 4.1, for one robot or several that are as good as a faster one."""
    accessed = accessed_pages(scenario)
    law = law_between_accesses(scenario)
    if is_planned(accessed.policy):
        skipped, sequence = planned_slots(scenario)
        stale = sequence_obsolescence(accessed.change_rates, sequence, law, skipped)
    elif isinstance(accessed.policy, Periodic):
        stale = cyclic_obsolescence(accessed.change_rates, accessed.cycle, law)
    else:
        stale = randomized_obsolescence(accessed.change_rates, accessed.shares, law)
    return _fetched_measures(scenario, stale)


def _failing(scenario: Scenario) -> Values:
    """Accesses that fail, of one robot with a list of pages."""
    accessed = accessed_pages(scenario)
    law = access_law(scenario)
    failing = fleet_of(scenario).failing
    assert law is not None
    assert failing is not None
    stale = failing_obsolescence(
        accessed.change_rates, accessed.cycle, law, failing.probability, failing.retries
    )
    return _fetched_measures(scenario, stale)


def _several_robots(scenario: Scenario) -> Values:
    """The same for robots in step, or exponential ones, that share a sequence."""
    accessed = accessed_pages(scenario)
    rates = accessed.change_rates
    law = access_law(scenario)
    assert law is not None
    time = mean_time(law)
    robots = most_active(scenario)
    if not isinstance(accessed.policy, Periodic):
        stale = random_rounds_obsolescence(rates, accessed.shares, time, robots)
    else:
        exponential = conditions.one_robot_or_memoryless(scenario) is None
        find = exponential_robots_obsolescence if exponential else robots_in_step_obsolescence
        stale = find(rates, accessed.cycle, time, robots)
    return _fetched_measures(scenario, stale)


def freshness_measures(
    scenario: Scenario, weights: Array, obsolescence: Array, rates: Array, found: Array
) -> Values:
    """What follows from the obsolescence rate of every page, costs included.

    Parameters
    ----------
    scenario : Scenario
    weights, obsolescence : ndarray, shape (pages,)
    rates, found : ndarray, shape (pages,)
        Accesses of each page per unit time that deliver, and those of them that find a change.
    """
    yield from freshness_rows(scenario, weights, obsolescence)
    costs = scenario.prices
    fetched = list(fetch_rows(scenario, rates, found))
    if costs.model_fields_set:
        cost = costs.staleness * float(weights @ obsolescence)
        cost += costs.robots * most_active(scenario) + costs.delivery * float(rates.sum())
        if costs.byte:
            cost += costs.delivered_byte * _bytes_of_all(fetched)
        yield "control_cost", None, cost
    yield from fetched


def _bytes_of_all(rows: Iterable[tuple[str, Subject, float]]) -> float:
    """Bytes fetched per unit time, of all pages."""
    return next(value for name, of, value in rows if name == "bytes_rate" and of is None)


def _fetched_measures(scenario: Scenario, obsolescence: Array) -> Values:
    """The same where each access delivers straight into the index."""
    asked = present(scenario.robots).unchanged is not None or scenario.prices.access > 0
    rates = _delivery_rates(scenario) if asked else np.zeros(len(obsolescence))
    found = changes_found(scenario, obsolescence)
    return freshness_measures(
        scenario, accessed_pages(scenario).weights, obsolescence, rates, found
    )


def _delivery_rates(scenario: Scenario) -> Array:
    """Deliveries of each page per unit time; of a plan those of its long run."""
    accessed = accessed_pages(scenario)
    if is_planned(accessed.policy):
        skipped, sequence = planned_slots(scenario)
        return _rates_at(_counted_shares(sequence[skipped:], accessed), scenario)
    return _rates_at(realised_shares(accessed.policy, accessed.pages), scenario)


def _bound(scenario: Scenario) -> Values:
    """At the frequencies given; n accesses cut a stretch of a plan into n + 1 distances."""
    accessed = accessed_pages(scenario)
    shares = _realised_shares(scenario, accessed)
    if isinstance(accessed.policy, IndexPolicy):
        skipped, sequence = planned_slots(scenario)
        shares = np.minimum(shares + 1.0 / (len(sequence) - skipped), 1.0)
    law = law_between_accesses(scenario)
    bounds = spaced_obsolescence(accessed.change_rates, shares, law)
    yield "weighted_obsolescence", None, float(accessed.weights @ bounds)
    yield from page_rows(scenario, "obsolescence_rate", bounds)


def _proportional(scenario: Scenario) -> Values:
    accessed = accessed_pages(scenario)
    bound = proportional_bound(accessed.change_rates, law_between_accesses(scenario))
    yield "weighted_obsolescence", None, _price(accessed) * bound


def _any_schedule(scenario: Scenario) -> Values:
    accessed = accessed_pages(scenario)
    law = law_between_accesses(scenario)
    bound = schedule_bound(accessed.change_rates, accessed.weights, law)
    yield "weighted_obsolescence", None, bound


def _any_random_choice(scenario: Scenario) -> Values:
    accessed = accessed_pages(scenario)
    law = law_between_accesses(scenario)
    shares = best_random_shares(accessed.change_rates, accessed.weights, law)
    stale = randomized_obsolescence(accessed.change_rates, shares, law)
    yield "weighted_obsolescence", None, float(accessed.weights @ stale)


def _any_schedule_in_time(scenario: Scenario) -> Values:
    accessed = accessed_pages(scenario)
    time = time_per_access(scenario)
    hosts, caps = host_limits(accessed, time)
    bound = in_time_bound(accessed.change_rates, accessed.weights, time, hosts, caps)
    yield "weighted_obsolescence", None, bound


def _realised_shares(scenario: Scenario, accessed: AccessedPages) -> Array:
    """Access frequencies that the policy really gives; a period has whole numbers of slots.

    Those of an index follow from its plan.
    """
    if isinstance(accessed.policy, IndexPolicy):
        skipped, sequence = planned_slots(scenario)
        return _counted_shares(sequence[skipped:], accessed)
    return realised_shares(accessed.policy, accessed.pages)


def _counted_shares(sequence: Indices, accessed: AccessedPages) -> Array:
    shares: Array = np.bincount(sequence, minlength=accessed.pages.count) / len(sequence)
    return shares


def _crawling(scenario: Scenario) -> Values:
    accessed = accessed_pages(scenario)
    yield from _crawling_at(realised_shares(accessed.policy, accessed.pages), scenario)
    yield from _fetched_before_buffer(scenario)


def refresh_quantiles_asked(scenario: Scenario) -> str | None:
    """The file asks for quantiles of the time to refresh."""
    asked = present(scenario.model.pages).refresh_quantiles
    return None if asked else "there are no refresh_quantiles in [pages]"


@dependent
def sums_of_accesses_known(scenario: Scenario) -> str | None:
    """Access times are constant, or gamma: Erlang and exponential ones are."""
    known = has_known_sums(law_between_accesses(scenario))
    return None if known else "access times are neither constant nor gamma"


@dependent
def order_of_accesses_known(scenario: Scenario) -> str | None:
    """Pages are drawn independently, or one robot that never fails follows a plan."""
    policy = scenario.model.accessing
    if isinstance(policy, Randomized):
        return None
    reasons = [every_access_delivers(scenario), conditions.one_robot(scenario)]
    if is_planned(policy):
        reasons.append(conditions.planned_policy(scenario))
    return next(filter(None, reasons), None)


@dependent
def draws_with_known_gaps(scenario: Scenario) -> str | None:
    """Pages that are drawn are fetched in exponential or constant times."""
    drawn = isinstance(scenario.model.accessing, Randomized)
    known = isinstance(law_between_accesses(scenario), Exponential | Deterministic)
    return "access times are neither exponential nor constant" if drawn and not known else None


def refresh_time_quantiles(
    scenario: Scenario, shares: Sequence[float]
) -> tuple[Array, dict[int, Array]]:
    """Quantiles of the time to refresh: of all changes, and by page.

    Own result: proved in `analytic.page_refresh.refresh_times`.

    Parameters
    ----------
    scenario : Scenario
        That the formula "refresh quantiles" covers.
    shares : sequence of float
    """
    pages = present(scenario.model.pages).count
    of_all, of_each = quantiles(_unseen(scenario), pages, shares)
    return of_all, dict(enumerate(of_each))


def _unseen(scenario: Scenario) -> Unseen:
    """Changes of each page per unit time that wait for longer than some times."""
    accessed, law = accessed_pages(scenario), law_between_accesses(scenario)
    mu, time = accessed.change_rates, mean_time(law)
    policy = accessed.policy
    if isinstance(policy, Randomized):
        shares = accessed.shares
        if isinstance(law, Deterministic):
            return unseen_between_draws(shares, mu, time)
        page = np.flatnonzero(shares)
        rates, once = shares[page] / time, np.ones(len(page))
        gaps = Gaps(page, rates, mu[page], once, longer=1.0 / shares[page])
    else:
        if is_planned(policy):
            page, distance, slots = gaps_of_plan(*planned_slots(scenario))
        else:
            page, distance = slot_distances(accessed.cycle, len(mu))
            slots = len(page)
        gaps = Gaps(page, np.full(len(page), 1.0 / (slots * time)), mu[page], distance)
    return unseen_between(gaps, law, len(mu))


def gaps_of_plan(skipped: int, sequence: Indices) -> tuple[Indices, Array, int]:
    """Page and length in slots of each gap that ends after those skipped, and how many are left.

    All copies are current at the start, one slot before the first.
    """
    order = np.argsort(sequence, kind="stable")
    page = sequence[order]
    first = np.append(True, np.diff(page) > 0)
    before = np.where(first, -1, np.append(-1, order[:-1]))
    counts = order >= skipped
    return page[counts], (order - before)[counts].astype(float), len(sequence) - skipped


def _refresh_quantiles(scenario: Scenario) -> Values:
    shares = present(scenario.model.pages).refresh_quantiles
    found = refresh_time_quantiles(scenario, shares)
    return quantile_rows(scenario, "time_to_refresh_quantile", shares, *found)


def _crawling_in_window(scenario: Scenario) -> Values:
    shares = _counted_shares(slots_in_window(scenario), accessed_pages(scenario))
    yield from _crawling_at(shares, scenario)
    yield from _fetched_before_buffer(scenario)


def _rates_at(shares: Array, scenario: Scenario) -> Array:
    """Deliveries of each page per unit time at some shares of the accesses."""
    failure = fleet_of(scenario).failure_probability
    rates = np.zeros(len(shares))
    for law, robots in active_accesses(scenario):
        assert not isinstance(law, Mmpp | Map)
        rates += crawl_rates(shares, law, robots, failure)
    return rates


def _crawling_at(shares: Array, scenario: Scenario) -> Values:
    rates = _rates_at(shares, scenario)
    yield from page_rows(scenario, "crawl_rate", rates)
    known = (rates > 0) | (shares == 0)
    yield from page_rows(scenario, "crawl_frequency", np.where(known, shares, np.nan))


def _fetched_before_buffer(scenario: Scenario) -> Values:
    """What accesses fetch that go through a buffer: as much as without it, if robots never stop."""
    if scenario.buffer is None or present(scenario.robots).unchanged is None:
        return
    bare = scenario.with_({"buffer": None, "costs": None})
    for formula in FORMULAS:
        if formula.evaluate in _WITH_FETCHES and formula.reason_against(bare) is None:
            values = formula.evaluate(bare)
            yield from (each for each in values if each[0] in ("unchanged_share", "bytes_rate"))
            return


@Remembered
def bytes_before_buffer(scenario: Scenario) -> float | None:
    """Bytes fetched per unit time by accesses that go through a buffer; None: not known."""
    rows: list[tuple[str, Subject, float]] = []
    for formula in FORMULAS:
        of_accesses = formula.evaluate in (_crawling, _crawling_in_window)
        if of_accesses and formula.reason_against(scenario) is None:
            rows = [row for row in formula.evaluate(scenario) if row[0] == "bytes_rate"]
    return _bytes_of_all(rows) if rows else None


_WITH_FETCHES = (_one_robot, _several_robots, _failing)
"""What says how many accesses find no change, where copies are searchable at once."""


def some_access_fails(scenario: Scenario) -> str | None:
    """Accesses may fail."""
    return "no access fails" if every_access_delivers(scenario) is None else None


def failures_in_proportion(scenario: Scenario) -> str | None:
    """Failures shorten all shares alike: no access fails, or pages are drawn or in a period."""
    if not is_planned(scenario.model.accessing):
        return None
    return every_access_delivers(scenario)


@dependent
def slow_pages(scenario: Scenario) -> str | None:
    """Pages are slow: each changes at most 0.02 times per mean access time."""
    mean = mean_time(law_between_accesses(scenario))
    most = float(accessed_pages(scenario).change_rates.max()) * mean
    return (
        None if most <= _SLOW else f"a page changes {most:.3g} times per access, which is not slow"
    )


@dependent
def golden_at_best(scenario: Scenario) -> str | None:
    """A golden-ratio policy at the best frequencies, 50 slots per page or more in its cycle."""
    accessed = accessed_pages(scenario)
    if not isinstance(accessed.policy, GoldenRatio):
        return "the accessing policy is not golden-ratio"
    exponents = log_transform(law_between_accesses(scenario), accessed.change_rates)
    if not np.allclose(accessed.shares, exponents / exponents.sum(), rtol=_NEAR, atol=0.0):
        return "frequencies are not optimal"
    slots = len(accessed.cycle)
    if slots < _SLOTS * accessed.pages.count:
        pages = counted(accessed.pages.count, "page")
        return f"a cycle of {counted(slots, 'slot')} is too short for {pages}"
    return None


def _price(accessed: AccessedPages) -> float:
    """Weight per change."""
    return float(accessed.weights.sum() / accessed.change_rates.sum())


def _load(scenario: Scenario, accessed: AccessedPages) -> tuple[float, float]:
    """Changes per access time, and the price of one change per unit time."""
    mean = mean_time(law_between_accesses(scenario))
    return float(accessed.change_rates.sum()) * mean, _price(accessed) * (1.0 / mean)


def _many_pages(scenario: Scenario) -> Values:
    load, price = _load(scenario, accessed_pages(scenario))
    yield "weighted_obsolescence", None, price * float(many_pages_cost(load))


def _worst_golden(scenario: Scenario) -> Values:
    load, price = _load(scenario, accessed_pages(scenario))
    yield "weighted_obsolescence", None, price * worst_golden_cost(load)[0]


def _guaranteed_golden(scenario: Scenario) -> Values:
    accessed = accessed_pages(scenario)
    bound = proportional_bound(accessed.change_rates, law_between_accesses(scenario))
    yield "weighted_obsolescence", None, WORST_GOLDEN_RATIO * _price(accessed) * bound


_CRAWLED = (
    conditions.has_pages,
    conditions.robots_always_work,
    conditions.independent_accesses,
    conditions.resolved_frequencies,
    hosts_never_wait,
    failures_in_proportion,
)
"""Conditions under which pages are delivered as often as they are accessed."""


_WITH_FAILURES = (
    conditions.has_pages,
    conditions.no_buffer,
    conditions.some_robot_works,
    conditions.independent_accesses,
    hosts_never_wait,
)


@dependent
def short_rounds(scenario: Scenario) -> str | None:
    """Period times robots, for exponential ones times pages, is at most 2^22."""
    accessed = accessed_pages(scenario)
    size = len(accessed.cycle) * most_active(scenario)
    if conditions.constant_accesses(scenario) is not None:
        size *= accessed.pages.count
    return None if size <= MOST_ENTRIES else "the period is too long for this many robots"


def policy_with_frequencies(scenario: Scenario) -> str | None:
    """The accessing policy is given the frequencies of the pages, or a list of them."""
    is_index = isinstance(scenario.model.accessing, IndexPolicy)
    return "an index says which page is next" if is_index else None


def weights_as_change_rates(scenario: Scenario) -> str | None:
    """Weights are proportional to change rates."""
    return None if _are_proportional(scenario) else "weights are not proportional to change rates"


def weights_of_their_own(scenario: Scenario) -> str | None:
    """Weights are not proportional to change rates."""
    return "weights are proportional to change rates" if _are_proportional(scenario) else None


def _are_proportional(scenario: Scenario) -> bool:
    accessed = accessed_pages(scenario)
    if not accessed.change_rates.any() or not accessed.weights.any():
        return False
    in_proportion = accessed.change_rates * accessed.weights.sum()
    return bool(
        np.allclose(
            accessed.weights * accessed.change_rates.sum(), in_proportion, rtol=1e-14, atol=0.0
        )
    )


_FRESHNESS = (*_WITH_FAILURES, every_access_delivers)
_SCHEDULED = (*_FRESHNESS, conditions.resolved_frequencies)
_DRAWN = (
    *_WITH_FAILURES,
    conditions.randomized_policy,
    conditions.one_robot_or_memoryless,
)

_MANY = (*_FRESHNESS, conditions.one_robot, weights_as_change_rates, slow_pages)
_GOLDEN = (*_MANY, conditions.resolved_frequencies, golden_at_best)

_row = partial(Formula, paper="coffman1998", kind="exact", origin="printed")

FORMULAS: tuple[Formula, ...] = (
    Formula(
        paper="frontier",
        number="time to refresh",
        quantity="quantiles of the time until a change can be searched, of all and of each page",
        latex=r"\begin{split}"
        r"\mathbb{P}(T_i>x)&=\frac{\mathbb{E}\bigl(1-e^{-\mu_i(C_i-x)^+}\bigr)}"
        r"{1-\mathbb{E}\,e^{-\mu_iC_i}}\\"
        r"t_i(p)&=\min\{x:\mathbb{P}(T_i>x)\le1-p\}"
        r"\end{split}",
        function=refresh_time_quantiles,
        kind="exact",
        origin="own",
        conditions=(
            *_WITH_FAILURES,
            refresh_quantiles_asked,
            conditions.resolved_frequencies,
            policy_with_frequencies,
            conditions.one_robot_or_memoryless,
            order_of_accesses_known,
            sums_of_accesses_known,
            draws_with_known_gaps,
        ),
        evaluate=_refresh_quantiles,
    ),
    _row(
        number="(3)",
        quantity="obsolescence rates under a periodic schedule, their weighted sum",
        latex=r"r_i=1-\frac{1}{K\mu_i\,\mathbb{E}X}\sum_j\left(1-h_i^{d_j}\right),\qquad "
        r"h_i=\mathbb{E}\,e^{-\mu_iX},\qquad C=\sum_ic_ir_i",
        function=cyclic_obsolescence,
        conditions=(*_SCHEDULED, conditions.periodic_policy, conditions.one_robot),
        evaluate=_one_robot,
    ),
    _row(
        number="(3), slot by slot",
        quantity="obsolescence rates along the sequence that a policy without a period gives",
        latex=r"r_i=1-\frac{1}{n\mu_i\,\mathbb{E}X}\sum_j\left(h_i^{a_j}-h_i^{b_j}\right),\qquad "
        r"h_i=\mathbb{E}\,e^{-\mu_iX},\qquad C=\sum_ic_ir_i",
        function=sequence_obsolescence,
        origin="own",
        conditions=(*_SCHEDULED, conditions.planned_policy, conditions.one_robot),
        evaluate=_one_robot,
    ),
    _row(
        number="(3), accesses that fail",
        quantity="obsolescence rates under a periodic schedule of accesses that may fail",
        latex=r"\begin{split}"
        r"r_i&=\frac{1}{K\mu_iw}\sum_j(1-p^a)\,(\mu_iM_j-1+\varphi_j),\qquad M_j=d_jw+p^aM_{j+1}\\"
        r"\varphi_j&=V^{d_j}-V^{d_j-1}F(1-\varphi_{j+1}),\qquad F=(ph_i)^a,\qquad "
        r"h_i=\mathbb{E}\,e^{-\mu_iX}\\"
        r"V&=1-\frac{(1-h_i)(1-F)}{1-ph_i},\qquad w=\frac{1-p^a}{1-p}\,\mathbb{E}X"
        r"\end{split}",
        function=failing_obsolescence,
        origin="own",
        conditions=(
            *_WITH_FAILURES,
            some_access_fails,
            conditions.resolved_frequencies,
            conditions.periodic_policy,
            conditions.one_robot,
        ),
        evaluate=_failing,
    ),
    _row(
        number="(3), robots in step",
        quantity="obsolescence rates of several robots with constant access times",
        latex=r"r_i=1-\frac{1}{L\mu_ix}\sum_j\left(1-e^{-\mu_ix\delta_j}\right),\qquad "
        r"L=\frac{\operatorname{lcm}(K,R)}{R}",
        function=robots_in_step_obsolescence,
        origin="own",
        conditions=(
            *_SCHEDULED,
            conditions.periodic_policy,
            conditions.several_robots,
            conditions.constant_accesses,
            short_rounds,
        ),
        evaluate=_several_robots,
    ),
    _row(
        number="(3), exponential robots",
        quantity="obsolescence rates of several robots with exponential access times",
        latex=r"\begin{split}"
        r"r_i&=\frac{\rho}{K}\sum_{k=1}^K\mathbb{E}\left[\frac{J_k}{R}\,W_{k+1}(J_k-1"
        r"+v_{k+1})\right],\qquad h_i=\frac{\rho}{\rho+\mu_i},\qquad \rho=\frac{R}{\mathbb{E}X}\\"
        r"W_k(j)&=(1-h_i)L_k(j)+h_i\left(1-\frac{j}{R}\right)W_{k+1}(j+v_{k+1})\\"
        r"L_k(j)&=\frac{1}{\rho}+\left(1-\frac{j}{R}\right)L_{k+1}(j+v_{k+1})"
        r"\end{split}",
        function=exponential_robots_obsolescence,
        origin="own",
        conditions=(
            *_SCHEDULED,
            conditions.periodic_policy,
            conditions.several_robots,
            conditions.one_robot_or_memoryless,
            conditions.working_robots_alike,
            short_rounds,
        ),
        evaluate=_several_robots,
    ),
    _row(
        number="Lemma 4.1",
        quantity="obsolescence rates under independent random choices, their weighted sum",
        latex=r"r_i=1-\frac{f_i}{\mu_i\,\mathbb{E}X}\cdot\frac{b_i}{b_i+f_i},\qquad "
        r"b_i=\frac{1}{\mathbb{E}\,e^{-\mu_iX}}-1,\qquad C=\sum_ic_ir_i",
        function=randomized_obsolescence,
        conditions=(*_DRAWN, conditions.resolved_frequencies),
        evaluate=_one_robot,
    ),
    _row(
        number="Lemma 4.1, robots in step",
        quantity="obsolescence rates under random choices of robots with constant access times",
        latex=r"r_i=1-\frac{g_i}{\mu_ix}\cdot\frac{b_i}{b_i+g_i},\qquad b_i=e^{\mu_ix}-1,\qquad "
        r"g_i=1-(1-f_i)^R",
        function=random_rounds_obsolescence,
        origin="own",
        conditions=(
            *_SCHEDULED,
            conditions.randomized_policy,
            conditions.several_robots,
            conditions.constant_accesses,
        ),
        evaluate=_several_robots,
    ),
    _row(
        number="Theorem 3.3",
        quantity="obsolescence rates at the given frequencies, at best",
        latex=r"r_i\ge1-\frac{f_i}{\mu_i\,\mathbb{E}X}\left(1-h_i^{1/f_i}\right),\qquad "
        r"h_i=\mathbb{E}\,e^{-\mu_iX}",
        function=equal_spacing_bound,
        kind="lower bound",
        conditions=(*_SCHEDULED, conditions.one_robot),
        evaluate=_bound,
    ),
    _row(
        number="Theorem 3.4",
        quantity="weighted obsolescence of the best schedule, weights as change rates",
        latex=r"C\ge c_0\left(\sum\limits_i\mu_i-\frac{1-\prod_ih_i}{\mathbb{E}X}\right),\qquad "
        r"h_i=\mathbb{E}\,e^{-\mu_iX},\qquad c_i=c_0\mu_i",
        function=proportional_bound,
        kind="lower bound",
        conditions=(*_FRESHNESS, conditions.one_robot, weights_as_change_rates),
        evaluate=_proportional,
    ),
    _row(
        number="(7)",
        quantity="weighted obsolescence of the best schedule, any weights",
        latex=r"\begin{split}"
        r"C&\ge\min\limits_{\sum_if_i=1}\ \sum_ic_i\left(1-\frac{f_i}{\mu_i\,\mathbb{E}X}"
        r"\left(1-h_i^{1/f_i}\right)\right),\qquad h_i=\mathbb{E}\,e^{-\mu_iX}\\"
        r"f_i&=\frac{\ln(1/h_i)}{u_i},\qquad 1-(1+u_i)e^{-u_i}=\min\left(\frac{\lambda\mu_i}{c_i},"
        r"\,1\right)\quad\text{at the minimum}"
        r"\end{split}",
        function=schedule_bound,
        kind="lower bound",
        conditions=(*_FRESHNESS, conditions.one_robot, weights_of_their_own),
        evaluate=_any_schedule,
    ),
    _row(
        number="(7) in time",
        quantity="weighted obsolescence of the best schedule of several robots, or polite ones",
        latex=r"C\ge\min\limits_{y\ge0}\ \sum_ic_i\left(1-\frac{y_i}{\mu_i}"
        r"\left(1-e^{-\mu_i/y_i}\right)\right),\qquad \sum_iy_i\le\frac{R}{\mathbb{E}X},\qquad"
        r"\sum_{i\in H}y_i\le\frac{1}{s_H}",
        function=in_time_bound,
        kind="lower bound",
        origin="own",
        conditions=(
            conditions.has_pages,
            conditions.no_buffer,
            conditions.some_robot_works,
            every_access_delivers,
            mean_known,
            waits_or_shared,
        ),
        evaluate=_any_schedule_in_time,
    ),
    _row(
        number="(12)-(15)",
        quantity="weighted obsolescence of the best independent random choices",
        latex=r"\begin{split}"
        r"C&\ge\sum_ic_i\left(1-\frac{f_i}{\mu_i\,\mathbb{E}X}\cdot\frac{b_i}{b_i+f_i}\right),"
        r"\qquad b_i=\frac{1}{\mathbb{E}\,e^{-\mu_iX}}-1\\"
        r"f_i&=b_i\max\left(\sqrt{\frac{c_i}{\lambda\mu_i}}-1,\,0\right),\qquad\sum_if_i=1"
        r"\end{split}",
        function=best_random_shares,
        kind="lower bound",
        origin="corrected",
        conditions=_DRAWN,
        evaluate=_any_random_choice,
    ),
    _row(
        number="section 2",
        quantity="deliveries of each page per unit time, and their shares",
        latex=r"\nu_i=\frac{f_iR\,(1-p)}{\mathbb{E}X}",
        function=crawl_rates,
        conditions=(*_CRAWLED, policy_with_frequencies),
        evaluate=_crawling,
    ),
    _row(
        number="section 2, over the window",
        quantity="deliveries of each page per unit time and their shares, as an index has them",
        latex=r"\nu_i=\frac{f_iR\,(1-p)}{\mathbb{E}X}",
        function=crawl_rates,
        origin="own",
        conditions=(*_CRAWLED, conditions.index_policy),
        evaluate=_crawling_in_window,
    ),
    _row(
        number="(17)",
        quantity="weighted obsolescence of the best schedule of many slow pages",
        latex=r"C^*\to\frac{c_0}{\mathbb{E}X}\left(q-1+e^{-q}\right),\qquad "
        r"q=\mathbb{E}X\sum_i\mu_i,\qquad c_i=c_0\mu_i",
        function=many_pages_cost,
        kind="asymptotic",
        origin="corrected",
        conditions=_MANY,
        evaluate=_many_pages,
    ),
    _row(
        number="(18) corrected",
        quantity="weighted obsolescence of a golden-ratio policy of many slow pages, at most",
        latex=r"\begin{split}"
        r"\limsup C&\le\frac{c_0}{\mathbb{E}X}\max\limits_{1\le s\le\phi}G(q,s),\qquad "
        r"q=\mathbb{E}X\sum_i\mu_i,\qquad g(t)=t-1+e^{-t},\qquad\kappa=\frac{q}{\sqrt5}\\"
        r"G(q,s)&=\left(1-\frac{1}{s}\right)g(\kappa s)+\left(1-"
        r"\frac{1}{\phi s}\right)g(\kappa\phi s)+\left(\frac{\phi}{s}-1\right)g(\kappa\phi^2s),"
        r"\qquad\phi=\frac{1+\sqrt5}{2}"
        r"\end{split}",
        function=worst_golden_cost,
        kind="asymptotic",
        origin="corrected",
        conditions=_GOLDEN,
        evaluate=_worst_golden,
    ),
    _row(
        number="(19) corrected",
        quantity="weighted obsolescence of a golden-ratio policy, by the best at any load, at most",
        latex=r"\limsup\frac{C}{C^*}\le\max\limits_{1\le s\le\phi}\frac{G(q,s)}{q-1+e^{-q}}\le"
        r"\frac{\phi^5}{10}=1.1090\dots,\qquad\phi=\frac{1+\sqrt5}{2}",
        function=golden_guarantee,
        kind="asymptotic",
        origin="corrected",
        conditions=_GOLDEN,
        evaluate=_guaranteed_golden,
    ),
)
"""The index: paper, number, quantity, function, kind, conditions."""
