"""Every accessing policy: what it promises, its exact cost, and both engines on its sequence."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples
from test_engines_agree import assert_same_path

import sim
from analytic import compare, overall, predict, resolve
from analytic.page_refresh import (
    best_shares,
    cyclic_obsolescence,
    equal_spacing_bound,
    schedule_bound,
    sequence_obsolescence,
)
from scenarios import Scenario, ScenarioError, load, scenario_from
from scenarios.accessing import POLICIES
from scenarios.accessing.balanced import Balanced
from scenarios.accessing.billiard import Billiard
from scenarios.accessing.crawl_value import CrawlValue
from scenarios.accessing.deadline import Deadline
from scenarios.accessing.deficit import Deficit
from scenarios.accessing.dyadic import Dyadic, dyadic_levels
from scenarios.accessing.policy import Planned
from scenarios.accessing.whittle import Whittle
from scenarios.laws import Deterministic, Gamma

SHARED = [Balanced, Billiard, Deadline, Deficit, Dyadic]
WITHOUT_PERIOD = ["balanced", "billiard", "deadline", "deficit", "whittle", "crawl-value"]
NEW = [*WITHOUT_PERIOD, "dyadic"]
LAWS: dict[str, dict[str, Any]] = {
    "deterministic": {"value": 1.0},
    "exponential": {"mean": 1.0},
    "erlang": {"shape": 3, "mean": 1.0},
    "gamma": {"shape": 0.5, "mean": 1.0},
    "uniform": {"low": 0.0, "high": 2.0},
    "hyperexponential": {"probabilities": [0.9, 0.1], "rates": [1.8, 0.2]},
    "phase-type": {"alpha": [0.6, 0.4], "T": [[-3.0, 1.0], [0.0, -0.8]]},
}

shares_of = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=12).map(
    lambda weights: np.array(weights) / sum(weights)
)


def first(policy: Planned, shares: np.ndarray, slots: int) -> np.ndarray:
    """The first pages of a plan, however long its blocks are."""
    pages: list[np.ndarray] = []
    for block in policy.plan(shares):
        pages.append(block)
        if sum(map(len, pages)) >= slots:
            return np.concatenate(pages)[:slots]
    raise AssertionError("the plan ends")


def strays(sequence: np.ndarray, shares: np.ndarray) -> float:
    """The largest difference between accesses and share, over all pages and all times."""
    counts = np.cumsum(sequence[:, None] == np.arange(len(shares)), axis=0)
    return float(np.abs(counts - shares * np.arange(1, len(sequence) + 1)[:, None]).max())


def named(kind: Any) -> Any:
    name = next(name for name, policy in POLICIES.items() if policy is kind)
    return kind.model_validate({"policy": name})


@given(shares_of)
def test_the_deadline_policy_never_strays_by_a_whole_access(shares: np.ndarray) -> None:
    """Tijdeman: 1 - 1/(2n - 2)."""
    bound = 1 - 1 / (2 * len(shares) - 2) if len(shares) > 1 else 0.0
    assert strays(first(named(Deadline), shares, 600), shares) <= bound + 1e-9


def test_the_billiard_does_stray_further() -> None:
    """So that the bound above is one of the deadlines, not of any even sequence."""
    assert strays(first(named(Billiard), np.array([0.3, 0.7]), 600), np.array([0.3, 0.7])) > 0.6


@given(shares_of, st.sampled_from([Balanced, Billiard, Deadline, Deficit]))
def test_plans_keep_to_the_shares(shares: np.ndarray, kind: Any) -> None:
    """A long run has each page in its share, to a few accesses; pages without share never."""
    with_none = np.append(shares, 0.0)
    sequence = first(named(kind), with_none, 3000)
    counts = np.bincount(sequence, minlength=len(with_none))
    assert counts[-1] == 0
    assert np.abs(counts - 3000 * with_none).max() < 5


@given(shares_of)
def test_two_groups_are_split_as_regularly_as_can_be(shares: np.ndarray) -> None:
    """Hajek: with two pages, any two windows of one length differ by at most one access."""
    pair = np.array([shares[0], 1.0]) / (shares[0] + 1.0)
    hits = np.concatenate([[0], np.cumsum(first(named(Balanced), pair, 400) == 0)])
    for window in (1, 2, 7, 30):
        counts = hits[window:] - hits[:-window]
        assert np.ptp(counts) <= 1


def test_deficits_and_billiards_by_hand() -> None:
    """Shares 1/2, 1/3, 1/6; the billiard's starts are 0.309, 0.927 and 0.545."""
    shares = np.array([1 / 2, 1 / 3, 1 / 6])
    assert first(named(Deficit), shares, 6).tolist() == [0, 1, 0, 2, 1, 0]
    assert first(named(Billiard), shares, 6).tolist() == [0, 0, 1, 2, 0, 1]


@given(shares_of)
def test_dyadic_distances_are_all_equal(shares: np.ndarray) -> None:
    levels = dyadic_levels(shares)
    assert float(np.sum(2.0**-levels)) == 1.0
    assert np.all(2.0**-levels > shares / 2.0001)
    cycle = named(Dyadic).cycle_of(np.append(shares, 0.0))
    for page, level in enumerate(levels.tolist()):
        slots = np.flatnonzero(cycle == page)
        assert len(slots) == len(cycle) // 2**level
        assert np.all(np.diff(slots) == 2**level)


def test_dyadic_shares_attain_the_bound_at_their_frequencies() -> None:
    shares = np.array([0.45, 0.3, 0.15, 0.1])
    rates = np.array([0.5, 0.2, 0.3, 0.1])
    law = Gamma(shape=2.0, mean=1.0)
    cycle = named(Dyadic).cycle_of(shares)
    realised = np.bincount(cycle) / len(cycle)
    exact = cyclic_obsolescence(rates, cycle, law)
    assert exact == pytest.approx(equal_spacing_bound(rates, realised, law), rel=1e-13)


def plainly(kind: Any, exponents: np.ndarray, values: np.ndarray, slots: int) -> list[int]:
    """The index as printed, page by page and slot by slot."""
    last = np.arange(len(values)) - len(values)
    chosen = []
    for slot in range(slots):
        a = slot - last
        h = np.exp(-exponents)
        if kind is Whittle:
            index = values * (1 - h**a - a * (h**a - h ** (a + 1)))
        else:
            index = values * (1 - (1 + exponents * a) * np.exp(-exponents * a))
        chosen.append(int(index.argmax()))
        last[chosen[-1]] = slot
    return chosen


@settings(max_examples=examples(30))
@given(st.sampled_from([Whittle, CrawlValue]), st.integers(1, 200), st.integers(0, 10**6))
def test_the_search_finds_the_greatest_index(kind: Any, pages: int, seed: int) -> None:
    """Contenders of blocks and of their quarters, against all pages in every slot."""
    generator = np.random.default_rng(seed)
    exponents = generator.gamma(1.0, size=pages) * 10 ** generator.uniform(-2, 0) / pages + 1e-4
    values = generator.gamma(2.0, size=pages)
    policy = named(kind).model_copy(
        update={"exponents": tuple(exponents.tolist()), "values": tuple(values.tolist())}
    )
    found = first(policy, np.ones(pages), 700).tolist()
    assert found == plainly(kind, exponents, values, 700)


def test_equal_pages_are_visited_in_turn_by_an_index() -> None:
    policy = Whittle(policy="whittle", exponents=(0.1,) * 5, values=(1.0,) * 5)
    assert first(policy, np.ones(5), 10).tolist() == [0, 1, 2, 3, 4] * 2


def test_an_index_keeps_its_digits_for_slow_pages() -> None:
    """At l = 1e-9 the index as printed is rounding noise; l² a (a + 1) / 2 is what it is."""
    policy = named(Whittle)
    columns = policy.columns(np.array([1e-9, 2e-9]), np.ones(2))
    exact = np.array([1e-18, 4e-18]) * 3 * 4 / 2
    assert policy.index(columns, 3) == pytest.approx(exact, rel=1e-7)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.floats(0.01, 5.0))
def test_slot_by_slot_is_the_period_in_the_long_run(template: list[int], rate: float) -> None:
    """Whole periods after the first: exactly (3); a shifted sequence would not do."""
    rates = np.full(4, rate)
    law = Gamma(shape=0.7, mean=1.0)
    length = len(template)
    along = sequence_obsolescence(rates, template * 3, law, length)
    seen = np.isin(np.arange(4), template)
    assert along[seen] == pytest.approx(cyclic_obsolescence(rates, template, law)[seen], rel=1e-12)


def test_slot_by_slot_by_hand() -> None:
    """Constant accesses of 1, rate 1: page 0 in slot 1 of 3; slot 2 alone counts, then all."""
    law = Deterministic(value=1.0)
    e = np.exp(-1.0)
    last = sequence_obsolescence([1.0], [0, 0, 0], law, 2)
    assert last == pytest.approx([e])
    both = sequence_obsolescence([1.0, 1.0], [1, 0, 1], law)
    exc = lambda t: t - 1 + np.exp(-t)  # noqa: E731
    assert both == pytest.approx([(exc(2) + exc(1)) / 3, (exc(1) + exc(2)) / 3])
    with pytest.raises(ValueError, match="none left"):
        sequence_obsolescence([1.0], [0], law, 1)


def system(policy: str, law: str, **more: Any) -> Scenario:
    accessing: dict[str, Any] = {"policy": policy}
    if "frequencies" in POLICIES[policy].model_fields:
        accessing["frequencies"] = "optimal"
    tables = {
        "name": "pages",
        "pages": {"change_rates": [0.6, 0.3, 0.15, 0.02], "weights": [1.0, 0.5, 2.0, 0.4]},
        "robots": {"available": 1, "access_time": {law: LAWS[law]}, "accessing": accessing},
        "run": {"horizon": 6000.0, "warmup": 60.0, "replications": 20, "seed": 8},
    }
    return resolve(scenario_from(tables | more))


def verdict(simulated: Scenario, predicted: Scenario) -> str:
    assert predicted.pages is not None
    weights = np.array([1.0, 0.5, 2.0, 0.4])
    return overall(compare(predict(predicted)[0], sim.run(simulated), (), weights))


@pytest.mark.by_day(
    every=5,
    besides=(
        "balanced-hyperexponential",
        "deadline-phase-type",
        "deficit-uniform",
        "crawl-value-hyperexponential",
    ),
)
@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("policy", NEW)
def test_no_policy_and_no_law_disagrees(policy: str, law: str) -> None:
    """Family error 1e-3, seed 8; errors of some 4 % of an obsolescence rate would be seen."""
    scenario = system(policy, law)
    kinds = {p.kind for p in predict(scenario)[0] if p.measure == "weighted_obsolescence"}
    assert "exact" in kinds
    assert verdict(scenario, scenario) != "disagrees"


@pytest.mark.statistical
@pytest.mark.by_day("balanced", "billiard", "deadline")
@pytest.mark.parametrize("policy", WITHOUT_PERIOD)
def test_a_planted_error_disagrees(policy: str) -> None:
    """Pages 0 and 2 change places in what the policy goes by."""
    true = system(policy, "erlang").with_({"run.horizon": 20_000.0})
    key = "exponents" if policy in ("whittle", "crawl-value") else "frequencies"
    a, b, c, d = getattr(true.robots.accessing, key)  # type: ignore[union-attr]
    wrong = true.with_(f"robots.accessing.{key}", [c, b, a, d])
    assert verdict(wrong, true) == "disagrees"


@pytest.mark.parametrize("policy", NEW)
@pytest.mark.parametrize("robots", [1, 2])
def test_both_engines_follow_the_same_sequence(policy: str, robots: int) -> None:
    scenario = system(policy, "erlang").with_({"robots.available": robots, "run.horizon": 900.0})
    assert_same_path(scenario)


@pytest.mark.thorough
def test_the_index_policies_stay_near_the_bound() -> None:
    """200 pages with random weights: Whittle within 0.6 %; the deficit policy at random is not."""
    generator = np.random.default_rng(3)
    rates = generator.gamma(1.0, size=200) / 200
    weights = generator.random(200)
    law = Gamma(shape=2.0, mean=1.0)
    made = scenario_from(
        {
            "name": "pages",
            "pages": {"change_rates": rates.tolist(), "weights": weights.tolist()},
            "robots": {
                "available": 1,
                "access_time": {"gamma": {"shape": 2.0, "mean": 1.0}},
                "accessing": {"policy": "whittle"},
            },
        }
    )
    bound = schedule_bound(rates, weights, law)

    def cost(accessing: dict[str, Any]) -> float:
        policy = resolve(made.with_("robots.accessing", accessing)).robots.accessing  # type: ignore[union-attr]
        shares = best_shares(rates, weights, law)
        sequence = first(policy, shares, 60_000)  # type: ignore[arg-type]
        return float(weights @ sequence_obsolescence(rates, sequence, law, 20_000))

    assert bound < cost({"policy": "whittle"}) < 1.006 * bound
    assert bound < cost({"policy": "crawl-value"}) < 1.006 * bound
    assert cost({"policy": "deficit", "frequencies": "optimal"}) > cost({"policy": "whittle"})


def test_what_a_policy_lacks_is_refused_by_key() -> None:
    base = load("randomized-erlang")
    with pytest.raises(ScenarioError, match=r"robots\.accessing\.exponents"):
        sim.run(base.with_("robots.accessing", {"policy": "whittle"}), replications=1)
    with pytest.raises(ScenarioError, match="must have 3, one per page"):
        base.with_("robots.accessing", {"policy": "whittle", "values": [1.0, 2.0]})
    nobody = base.with_({"robots.accessing": {"policy": "whittle"}, "activation.static": 0})
    with pytest.raises(ScenarioError, match="mean time between accesses is not known"):
        resolve(nobody)
    reasons = {each.reason for each in predict(nobody.with_("activation.static", 1))[1]}
    assert "the exponents of the accessing policy are still to be found" in reasons


def test_given_numbers_of_an_index_are_kept() -> None:
    made = load("randomized-erlang").with_(
        "robots.accessing", {"policy": "whittle", "values": [3.0, 2.0, 1.0]}
    )
    policy = resolve(made).robots.accessing  # type: ignore[union-attr]
    assert policy.values == (3.0, 2.0, 1.0)  # type: ignore[union-attr]
    assert len(policy.exponents) == 3  # type: ignore[union-attr, arg-type]


def test_plans_come_in_blocks_without_end() -> None:
    for name in NEW:
        policy = system(name, "erlang").robots.accessing  # type: ignore[union-attr]
        blocks = list(islice(policy.plan(np.full(4, 0.25)), 3))  # type: ignore[union-attr]
        assert all(len(block) for block in blocks), name
