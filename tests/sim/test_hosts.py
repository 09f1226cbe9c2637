"""Hosts that want to be left alone for a while: engines, frequencies within limits, the bound."""

from __future__ import annotations

import csv
from io import StringIO
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles import examples
from scipy.optimize import minimize
from test_engines_agree import assert_same_path

import sim
from analytic import compare, optimize, overall, predict, resolve
from analytic.machinery.transforms import log_transform
from analytic.page_refresh import (
    best_shares,
    capped_shares,
    equal_spacing_bound,
    in_time_bound,
    schedule_bound,
)
from scenarios import Scenario, ScenarioError, dumps, load, scenario_from
from scenarios.accessing import POLICIES
from scenarios.laws import Deterministic, Gamma
from scenarios.page_data import host_spacings
from sim import rules, simpy_engine
from sim.estimates.controls import controls_of
from sim.estimates.totals import Totals
from sim.event_log import EventLog
from sim.host_spacing import HostSpacing

HOSTS = [0, 0, 1, 1, 2, 0]
POLITE = [each for each in POLICIES if each != "on-signal"]  # which refuses `host_spacing`
NUMBERS = {"exponents": [0.6, 0.3, 0.15, 0.02, 0.1, 0.4], "values": [1.0, 0.5, 2.0, 0.4, 1.0, 0.9]}
EXTRA: dict[str, dict[str, Any]] = {
    "cyclic": {"template": [0, 1, 0, 2, 5, 3, 4]},
    "whittle": NUMBERS,
    "crawl-value": NUMBERS,
    "due": {"intervals": 0.5},
}
LAWS: list[dict[str, Any]] = [
    {"exponential": {"mean": 1.0}},
    {"deterministic": {"value": 0.5}},
    {"uniform": {"low": 0.0, "high": 0.7}},
    {"map": {"D0": [[-1.5, 0.1], [0.2, -0.6]], "D1": [[1.0, 0.4], [0.0, 0.4]]}},
]


def polite(policy: str = "round-robin", **changes: Any) -> Scenario:
    """Six pages on three hosts, one robot, two time units between accesses to a host."""
    tables: dict[str, Any] = {
        "name": "polite",
        "pages": {"change_rates": [0.6, 0.3, 0.15, 0.02, 0.1, 0.4], "hosts": HOSTS},
        "robots": {
            "available": 1,
            "access_time": {"exponential": {"mean": 1.0}},
            "accessing": {"policy": policy, **EXTRA.get(policy, {})},
            "host_spacing": 2.0,
        },
        "run": {"horizon": 200.0, "warmup": 10.0, "replications": 2},
    }
    made = scenario_from(tables)
    return made.with_(changes) if changes else made


def starts(scenario: Scenario) -> list[tuple[float, int, int]]:
    """Time, robot and page of every access that starts, from the event log."""
    text = StringIO()
    sim.run(scenario, engine="simpy", replications=1, log=EventLog(text))
    rows = csv.DictReader(StringIO(text.getvalue()))
    found = [row for row in rows if row["event"] == "access"]
    return [(float(row["time"]), int(row["robot"]), int(row["page"])) for row in found]


def too_close(scenario: Scenario, accesses: list[tuple[float, int, int]]) -> int:
    """How often two accesses to one host start sooner than it wants."""
    assert scenario.pages is not None
    assert scenario.robots is not None
    host = scenario.model.pages.hosts
    spacing = host_spacings(scenario.robots, scenario.model.pages)
    count = 0
    for each in range(scenario.pages.host_count):
        times = [time for time, _, page in accesses if host[page] == each]
        count += sum(later < earlier + spacing[each] for earlier, later in pairwise(times))
    return count


@pytest.mark.parametrize("policy", POLITE)
@pytest.mark.parametrize("robots", [1, 3])
def test_every_policy_respects_every_host(policy: str, robots: int) -> None:
    changes = {"robots.available": robots, "robots.host_spacing": [2.0, 0.7, 0.0]}
    scenario = polite(policy, **changes)
    accesses = starts(scenario)
    assert len(accesses) > 100
    assert too_close(scenario, accesses) == 0
    assert {page for _, _, page in accesses} == set(range(6))


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([each for each in POLITE if each != "due"]),  # `frontiers()` has hosts
    st.sampled_from(LAWS),
    st.integers(1, 4),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.7]), min_size=3, max_size=3),
    st.booleans(),
)
def test_no_random_system_is_impolite_and_both_engines_follow_one_path(
    policy: str, law: dict[str, Any], robots: int, spacing: list[float], buffered: bool
) -> None:
    changes: dict[str, Any] = {
        "robots.available": robots,
        "robots.access_time": law,
        "robots.host_spacing": spacing,
        "run.horizon": 60.0,
    }
    if buffered:
        changes["buffer"] = {"waiting_places": 2, "service": {"exponential": {"mean": 0.9}}}
    scenario = polite(policy, **changes)
    assert too_close(scenario, starts(scenario)) == 0
    assert_same_path(scenario)


def test_a_robot_that_forgets_a_host_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted error: hosts are free a moment early."""
    monkeypatch.setattr(rules, "is_free", lambda now, until: until <= now + 0.1)
    scenario = polite()
    assert too_close(scenario, starts(scenario)) > 0


def test_turns_by_hand() -> None:
    """Pages 0 1 2 in turn, 0 and 1 on one host that wants 3, 2 on one that wants 1."""
    spacing = HostSpacing(iter([0, 1, 2, 0, 1, 2, 0, 1, 2] * 2000).__next__, [0, 0, 1], [3.0, 1.0])
    assert spacing.next_page(0.0) == 0
    assert spacing.next_page(0.5) == 2  # 1 waits
    assert spacing.next_page(0.6) == -1
    assert spacing.next_release == 1.5
    assert spacing.next_page(1.5) == 2  # 0 waits behind 1; 1 comes up again and is skipped
    assert spacing.next_page(3.0) == 1
    assert spacing.next_page(6.0) == 0  # before all new ones
    assert spacing.next_page(6.0) == 2
    assert spacing.next_page(9.0) == 0  # had the second 1 been kept, it would come first
    assert [spacing.next_page(now) for now in (9.0, 12.0, 12.0, 15.0)] == [2, 1, 2, 0]


def test_a_robot_looks_at_so_many_turns_only() -> None:
    asked = []
    source = iter(range(10**6))

    def following() -> int:
        asked.append(next(source))
        return 0

    spacing = HostSpacing(following, [0, 1], [5.0, 5.0])
    assert spacing.next_page(0.0) == 0
    assert spacing.next_page(1.0) == -1
    assert len(asked) == 1 + rules.LOOKAHEAD
    assert spacing.next_page(5.0) == 0
    assert len(asked) == 1 + rules.LOOKAHEAD


def test_robots_that_wait_start_at_once_when_the_host_is_free() -> None:
    """One host, three fast robots: accesses start every two time units exactly."""
    scenario = polite(
        **{
            "pages.hosts": [0] * 6,
            "robots.available": 3,
            "robots.access_time": {"deterministic": {"value": 0.25}},
        }
    )
    assert [time for time, _, _ in starts(scenario)] == [2.0 * n for n in range(101)]


def test_no_access_is_lost_or_counted_twice() -> None:
    """Deliveries in the log follow each robot's own accesses one by one."""
    text = StringIO()
    scenario = polite("whittle", **{"robots.available": 2})
    sim.run(scenario, engine="simpy", replications=1, log=EventLog(text))
    rows = list(csv.DictReader(StringIO(text.getvalue())))
    for robot in ("0", "1"):
        own = [(row["event"], row["page"]) for row in rows if row["robot"] == robot]
        assert [event for event, _ in own[:6]] == ["access", "delivery"] * 3
        carried = own[: len(own) // 2 * 2]
        assert all(a[1] == b[1] for a, b in zip(carried[::2], carried[1::2], strict=True))


def test_without_limits_the_path_is_that_of_robots_that_know_no_hosts() -> None:
    free = polite("whittle", **{"robots.host_spacing": 0.0, "robots.available": 2})
    plain = polite("whittle", **{"robots.host_spacing": None, "robots.available": 2})
    for engine in ("simpy", "compiled"):
        one, two = (sim.run(each, engine=engine) for each in (free, plain))
        assert one.replications_frame().equals(two.replications_frame())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"pages.hosts": None}, r"(?s)robots\.host_spacing.*needs pages\.hosts"),
        ({"pages.hosts": [0, 1]}, r"(?s)pages\.hosts.*has 2 entries; must have 6, one per page"),
        ({"pages.hosts": [0, 1, 1.5, 0, 0, 0]}, r"pages\.hosts"),
        ({"robots.host_spacing": [1.0]}, r"has 1 entry; must have 3, one per host"),
        ({"robots.host_spacing": -1.0}, r"robots\.host_spacing"),
        ({"robots.host_spacing": "slow"}, r"must be a number or a list"),
        ({"robots.host_spacing": True}, r"must be a number or a list"),
        ({"robots.deliveries": {"modes": [{"poisson": {"rate": 1.0}}]}}, "access_time"),
        (
            {
                "buffer": {"waiting_places": 1, "service": {"exponential": {"mean": 1.0}}},
                "activation": {"threshold": {"robots": [1, 0], "at": [1]}},
            },
            r"fixed number of robots, not with activation\.threshold",
        ),
    ],
)
def test_bad_entries_are_refused_by_key(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        polite(**changes)


def test_hosts_from_a_file_and_by_their_sizes(tmp_path: Any) -> None:
    table = tmp_path / "pages.csv"
    table.write_text("rate,host\n0.5,1\n0.1,0\n0.2,1\n")
    columns = {key: {"file": str(table), "column": key} for key in ("rate", "host")}
    pages = {"change_rates": columns["rate"], "hosts": columns["host"]}
    made = polite().with_({"pages": pages})
    assert made.model.pages.hosts.tolist() == [1, 0, 1]  # type: ignore[arg-type]
    again = tmp_path / "again.toml"
    again.write_text(dumps(made, tmp_path))
    assert load(again).model.pages.hosts.tolist() == [1, 0, 1]  # type: ignore[arg-type]
    table.write_text("rate,host\n0.5,1\n0.1,0.5\n0.2,1\n")
    with pytest.raises(ScenarioError, match=r"(?s)pages\.hosts.*must be whole"):
        polite().with_({"pages": pages})
    zipf = {"zipf": {"hosts": 4, "exponent": 1.0}}
    many = {"change_rates": [1.0] * 1000, "hosts": zipf}
    counts = np.bincount(polite().with_({"pages": many}).model.pages.hosts)  # type: ignore[arg-type]
    assert counts == pytest.approx(np.array([12, 6, 4, 3]) * 40, abs=2)


def test_estimates_know_that_active_robots_may_wait() -> None:
    """Exponential robots are no Poisson process here: losses are counted, and control nothing."""
    changes = {
        "buffer": {"waiting_places": 0, "service": {"exponential": {"mean": 2.0}}},
        "robots.available": 3,
        "run.horizon": 5000.0,
    }
    scenario = polite(**changes)
    tally = simpy_engine.simulate(scenario, 0, 1)
    assert tally.buffer is not None
    found = sim.run(scenario, replications=1).find("loss_rate")
    assert found is not None
    assert found.estimate == pytest.approx(tally.buffer.refused / tally.window)
    rate_if_poisson = 3.0 * tally.buffer.level_time[-1] / tally.window
    assert rate_if_poisson > 2 * found.estimate
    totals = Totals.of([tally, simpy_engine.simulate(scenario, 1, 1)])
    free = scenario.with_("robots.host_spacing", None)
    assert "deliveries" not in controls_of(totals, scenario)
    assert "deliveries" in controls_of(totals, free)


# -- frequencies within limits -------------------------------------------------------------------


def by_a_generic_solver(x: np.ndarray, w: np.ndarray, host: np.ndarray, caps: np.ndarray) -> float:
    """The least ``sum w f exc(x / f)`` within the limits, by SLSQP with its gradient."""

    def cost(f: np.ndarray) -> float:
        return float(w @ (f * (x / f + np.expm1(-x / f))))

    def slope(f: np.ndarray) -> np.ndarray:
        return -w * (1 - (1 + x / f) * np.exp(-x / f))

    groups = np.vstack([np.ones(len(x)), *(host == h for h in range(len(caps)))])
    most = np.array([1.0, *caps])
    limits = {"type": "ineq", "fun": lambda f: most - groups @ f, "jac": lambda _: -groups}
    start = np.full(len(x), 0.5 * min(1.0, caps.min()) / len(x))
    found = minimize(
        cost,
        start,
        jac=slope,
        method="SLSQP",
        bounds=[(1e-14, 1.0)] * len(x),
        constraints=limits,
        options={"ftol": 1e-16, "maxiter": 2000},
    )
    return float(found.fun)


@pytest.mark.parametrize("seed", range(12))
def test_capped_frequencies_equal_those_of_a_convex_solver(seed: int) -> None:
    """1e-10 of the cost, pages that get nothing included; and limits hold."""
    generator = np.random.default_rng(seed)
    rates = generator.gamma(1.0, size=8) * 0.3 + 0.02
    weights = generator.random(8) + 0.1
    host = generator.integers(0, 3, size=8)
    caps = generator.uniform(0.05, 0.6, size=3)
    law = Gamma(shape=2.0, mean=1.0) if seed % 2 else Deterministic(value=1.0)
    shares, tight = capped_shares(rates, weights, law, host, caps)
    loads = np.bincount(host, shares, 3)
    assert np.all(loads <= caps * (1 + 1e-12))
    assert shares.sum() <= 1 + 1e-12
    assert loads[tight] == pytest.approx(caps[tight], rel=1e-12)
    x = log_transform(law, rates)
    w = weights / rates
    f = np.maximum(shares, 1e-14)
    cost = float(w @ (f * (x / f + np.expm1(-x / f))))
    generic = by_a_generic_solver(x, w, host, caps)
    assert cost == pytest.approx(generic, rel=1e-10)


def test_a_host_without_its_limit_is_seen() -> None:
    """The planted error: the first solution, scaled to the limits, is no optimum."""
    rates = np.array([0.5, 0.1, 0.3, 0.2])
    weights = np.ones(4)
    host = np.array([0, 0, 1, 1])
    law = Deterministic(value=1.0)
    caps = np.array([0.2, 1.0])
    free = best_shares(rates, weights, law)
    scaled = np.where(host == 0, free * 0.2 / free[:2].sum(), free * 0.8 / free[2:].sum())
    best = capped_shares(rates, weights, law, host, caps).shares
    costs = [float(weights @ equal_spacing_bound(rates, each, law)) for each in (best, scaled)]
    assert costs[0] < costs[1] * (1 - 1e-4)


def test_limits_that_do_not_bind_change_nothing() -> None:
    rates = np.array([0.5, 0.1, 0.3, 0.0])
    weights = np.array([1.0, 2.0, 0.5, 1.0])
    law = Gamma(shape=3.0, mean=1.0)
    host = np.array([0, 1, 0, 1])
    loose = capped_shares(rates, weights, law, host, [1.0, np.inf])
    assert loose.shares == pytest.approx(best_shares(rates, weights, law), rel=1e-14)
    assert not loose.tight.any()
    constant = Deterministic(value=1.0)
    bound = in_time_bound(rates, weights, 1.0, host, [1.0, 1.0])
    assert bound == pytest.approx(schedule_bound(rates, weights, constant), rel=1e-13)
    with pytest.raises(ValueError, match="caps must be positive"):
        capped_shares(rates, weights, law, host, [0.0, 1.0])


def test_robots_with_nothing_to_do_leave_shares_below_one() -> None:
    found = capped_shares([1.0, 1.0], [1.0, 1.0], Deterministic(value=1.0), [0, 1], [0.2, 0.3])
    assert found.shares == pytest.approx([0.2, 0.3])
    assert found.tight.all()


def test_optimize_finds_frequencies_within_the_limits() -> None:
    """Host 0 wants three time units: a third of the accesses at most, and it gets them."""
    scenario = polite("deadline", **{"robots.host_spacing": [3.0, 0.0, 0.0]})
    found = optimize(scenario, "frequencies")
    shares = np.array(found.decision["frequencies"])
    assert np.bincount(HOSTS, shares)[0] == pytest.approx(1 / 3, rel=1e-12)
    assert found.cost is None
    assert found.lower_bound is not None
    assert found.notes[-1] == "of the hosts, 1 get all the accesses that they allow"
    free = optimize(scenario.with_("robots.host_spacing", 0.0), "frequencies")
    assert free.lower_bound is not None
    assert free.lower_bound < found.lower_bound
    assert free.cost is not None
    idle = optimize(scenario.with_("robots.host_spacing", 10.0), "frequencies")
    assert "robots wait for hosts 0.7 of the time" in idle.notes[-1]


def test_an_index_counts_the_time_for_which_robots_wait() -> None:
    """Three hosts that want ten time units leave 7 of 10 slots empty: a slot is 10 / 3 long."""
    accessing = {"policy": "crawl-value"}
    for spacing, time in ((10.0, 10 / 3), (0.0, 1.0)):
        changes = {"robots.accessing": accessing, "robots.host_spacing": spacing}
        policy = resolve(polite(**changes)).robots.accessing  # type: ignore[union-attr]
        rates = np.array([0.6, 0.3, 0.15, 0.02, 0.1, 0.4])
        assert policy.exponents == pytest.approx(rates * time)  # type: ignore[union-attr]


# -- conditions, the bound, and the price of waiting ----------------------------------------------


def reasons(scenario: Scenario) -> dict[str, str]:
    return {each.source: each.reason for each in predict(scenario)[1]}


def test_formulas_refuse_what_waits() -> None:
    said = reasons(polite())
    for number in ("(3)", "Theorem 3.3", "Theorem 3.4", "section 2"):
        assert said[f"coffman1998 {number}"] == "accesses may wait for their hosts"
    limits = load("golden-ratio-246").with_(
        {"pages.hosts": {"zipf": {"hosts": 5, "exponent": 1.0}}, "robots.host_spacing": 4.0}
    )
    assert {each.source for each in predict(limits)[0]} == {"coffman1998 (7) in time"}
    two = reasons(polite(**{"robots.available": 2}))
    assert two["coffman1998 section 2"] == "several robots may wait for a host"
    buffer = {"waiting_places": 2, "service": {"exponential": {"mean": 0.9}}}
    queue = reasons(polite(buffer=buffer))
    assert queue["kleinrock1975 section 3.6"] == "robots may wait for hosts"
    assert queue["avrachenkov2011 Theorem 3"] == "robots may wait for hosts"
    priced = polite(buffer=buffer, costs={"loss": 1.0, "starvation": 1.0})
    with pytest.raises(ScenarioError, match="robots may wait for hosts"):
        optimize(priced, "static")


@pytest.mark.parametrize(
    ("changes", "waits"),
    [
        ({"robots.host_spacing": 1.0}, False),  # no access is shorter
        ({"robots.host_spacing": 1.5}, True),
        ({"pages.hosts": [0, 1, 0, 1, 0, 1], "robots.host_spacing": 1.99}, False),
        ({"pages.hosts": [0, 1, 0, 1, 0, 1], "robots.host_spacing": 2.01}, True),
        ({"pages.hosts": [0, 1, 2, 0, 1, 2], "robots.host_spacing": [2.9, 2.0, 0.0]}, False),
    ],
)
def test_exact_formulas_stay_where_no_access_waits(changes: dict[str, Any], waits: bool) -> None:
    """Round robin with accesses of 1, and the path itself says the same."""
    scenario = polite(**{"robots.access_time": {"deterministic": {"value": 1.0}}, **changes})
    exact = [p for p in predict(scenario)[0] if p.kind == "exact"]
    assert bool(exact) is not waits
    free = scenario.with_("robots.host_spacing", 0.0)
    same = sim.run(scenario).replications_frame().equals(sim.run(free).replications_frame())
    assert same is not waits


def test_the_bound_is_that_of_the_scenario_and_grows_with_the_spacing() -> None:
    bounds = []
    for spacing in (1.0, 2.5, 5.0, 20.0):
        scenario = resolve(polite("whittle", **{"robots.host_spacing": spacing}))
        (bound,) = [p for p in predict(scenario)[0] if p.measure == "weighted_obsolescence"]
        assert (bound.kind, bound.source) == ("lower bound", "coffman1998 (7) in time")
        bounds.append(bound.value)
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[1]


@pytest.mark.statistical
def test_a_bound_without_the_limits_would_be_too_low_and_one_too_high_is_refuted() -> None:
    """One host that allows a sixth: no schedule comes near the bound that forgets it (seed 1)."""
    scenario = polite(
        "deadline", **{"pages.hosts": [0] * 6, "robots.host_spacing": 6.0, "run.horizon": 20000.0}
    )
    results = sim.run(scenario, replications=10)
    predictions = predict(scenario)[0]
    assert overall(compare(predictions, results, ("weighted_obsolescence",))) == "agrees"
    found = results.find("weighted_obsolescence")
    assert found is not None
    loose = schedule_bound(
        [0.6, 0.3, 0.15, 0.02, 0.1, 0.4], [0.6, 0.3, 0.15, 0.02, 0.1, 0.4], Deterministic(value=1.0)
    )
    (bound,) = [p.value for p in predictions if p.measure == "weighted_obsolescence"]
    assert loose < 0.7 * found.estimate
    assert bound > 0.9 * found.estimate


@pytest.mark.statistical
def test_an_index_that_pays_for_tight_hosts_is_better_than_one_that_does_not() -> None:
    """120 pages on 12 hosts, constant accesses: within 2 % of the bound, else above 4 %."""
    generator = np.random.default_rng(1)
    rates = generator.gamma(1.0, size=120) / 120
    weights = generator.random(120)
    pages = {
        "change_rates": rates.tolist(),
        "weights": weights.tolist(),
        "hosts": {"zipf": {"hosts": 12, "exponent": 1.0}},
    }
    made = polite(
        pages=pages,
        **{
            "robots.access_time": {"deterministic": {"value": 1.0}},
            "robots.host_spacing": 8.0,
            "robots.accessing": {"policy": "whittle"},
            "run": {"horizon": 20000.0, "warmup": 1000.0, "replications": 4},
        },
    )
    priced = resolve(made)
    free = resolve(made.with_("robots.host_spacing", 0.0))
    unpriced = free.with_("robots.host_spacing", 8.0)
    bound = predict(priced)[0][0].value
    costs = [
        sim.run(each).find("weighted_obsolescence").estimate / bound  # type: ignore[union-attr]
        for each in (priced, unpriced)
    ]
    assert 0.99 < costs[0] < 1.02
    assert costs[1] > costs[0] + 0.02


@pytest.mark.parametrize("above", [1.001, 1.003, 1.5])
def test_a_limit_that_binds_by_little_is_kept(above: float) -> None:
    """The best frequencies without limits want a little more than one host allows."""
    rates = [0.5, 0.4, 0.3, 0.2]
    weights = [1.0, 0.7, 1.3, 0.4]
    law = Deterministic(value=1.0)
    host = [0, 0, 1, 1]
    free = best_shares(rates, weights, law)
    cap = [float(free[:2].sum()) / above, 1.0]
    found = capped_shares(rates, weights, law, np.array(host), np.array(cap))
    assert found.shares[:2].sum() <= cap[0] * (1 + 1e-12)
    assert found.shares.sum() == pytest.approx(1.0)
    assert list(found.tight) == [True, False]
