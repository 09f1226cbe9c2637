"""Scenarios with more events than a clock can tell apart, and those that only look like it."""

from __future__ import annotations

from typing import Any

import pytest
from systems import queue

from scenarios import ScenarioError, scenario_from
from scenarios.laws import Exponential, Mixture, PhaseType
from sim.event_rate import require_progress
from sim.laws import draws_and_mean

RUN = {"horizon": 1000.0, "warmup": 0.0, "replications": 2}
RATE = {"breaks": [0.0], "values": [1.0], "period": 2.0}


def erlang_like(rate: float, exit_rate: float) -> dict[str, Any]:
    """Two phases that change places until one is left."""
    generator = [[-rate, rate], [rate, -rate - exit_rate]]
    return {"phase-type": {"alpha": [1.0, 0.0], "T": generator}}


def bursts(change: float, rates: list[float]) -> dict[str, Any]:
    return {"mmpp": {"Q": [[-change, change], [change, -change]], "rates": rates}}


def mixture(share: float, rates: list[float]) -> dict[str, Any]:
    return {"hyperexponential": {"probabilities": [1 - share, share], "rates": rates}}


TOO_FAST = {
    "constant": {"deterministic": {"value": 1e-100}},
    "constant-just-so": {"deterministic": {"value": 1e-13}},
    "gamma": {"gamma": {"shape": 0.001, "mean": 1e-20}},
    "uniform": {"uniform": {"low": 0.0, "high": 1e-15}},
    "empirical": {"empirical": {"values": [0.0, 1e-20]}},
    "exponential": {"exponential": {"rate": 1e14}},
    "mixture": mixture(0.5, [1e30, 1e29]),
    "renewal": {"renewal": {"exponential": {"mean": 1e-20}}},
    "poisson": {"poisson": {"rate": 1e20}},
    "one-fast-phase": bursts(0.001, [1e30, 0.0]),
    "phases-alone": bursts(1e30, [1.0, 0.0]),
    "phases-of-a-time": erlang_like(1e20, 1e12),
}

FAST_AT_TIMES = {
    "empirical": {"empirical": {"values": [0.0] * 19_999 + [20_000.0]}},
    "mixture": mixture(1e-5, [1e30, 1e-5]),
    "phases-alone": bursts(1e4, [0.02, 0.0]),
    "phases-of-a-time": erlang_like(1e3, 1.0),
    "gamma": {"gamma": {"shape": 0.001, "mean": 2.0}},
    "constant": {"deterministic": {"value": 1e-11}},
}


@pytest.mark.parametrize("law", TOO_FAST.values(), ids=TOO_FAST)
def test_access_times_that_are_too_short(law: dict[str, Any]) -> None:
    scenario = queue({"robots.access_time": law, "run.horizon": 1000.0})
    with pytest.raises(ScenarioError, match="more than any clock can tell apart") as refusal:
        require_progress(scenario)
    assert refusal.value.key == "robots.access_time"
    require_progress(scenario.with_("activation.static", 0))


@pytest.mark.parametrize("law", FAST_AT_TIMES.values(), ids=FAST_AT_TIMES)
def test_short_access_times_among_long_ones(law: dict[str, Any]) -> None:
    require_progress(queue({"robots.access_time": law, "run.horizon": 1000.0}))


@pytest.mark.parametrize(
    ("mode", "fast"),
    [
        (bursts(0.001, [1e30, 0.0]), True),
        (bursts(1e30, [1.0, 0.0]), True),
        ({"poisson": {"rate": 1e100}}, True),
        (bursts(10.0, [1.0, 0.0]), False),
    ],
)
def test_joint_deliveries(mode: dict[str, Any], fast: bool) -> None:
    """The fast mode is that of three robots, which a threshold uses at low levels."""
    slow = bursts(10.0, [1.0, 1.0]) if "mmpp" in mode else {"poisson": {"rate": 1.0}}
    scenario = queue({"robots.deliveries.modes": [slow, slow, mode]})
    if fast:
        with pytest.raises(ScenarioError, match=r"robots\.deliveries"):
            require_progress(scenario)
    require_progress(scenario if not fast else scenario.with_("activation.static", 2))


SOURCE = {
    "name": "source",
    "source": {"updates": RATE | {"values": [1.0]}, "importance": RATE},
    "probing": {"horizon": 1000.0, "probes": 2, "policy": "uniform"},
}
SERVERS = {
    "name": "servers",
    "servers": {"rates": [1.0], "arrivals": {"poisson": {"rate": 1.0}}, "routing": {"period": [0]}},
    "run": RUN,
}
PAGES = {
    "name": "pages",
    "pages": {"change_rates": [1.0]},
    "robots": {
        "available": 1,
        "access_time": {"exponential": {"mean": 1.0}},
        "accessing": {"policy": "round-robin"},
    },
    "clients": {"query_rate": 1.0},
    "run": RUN,
}


@pytest.mark.parametrize(
    ("tables", "key", "change"),
    [
        (SOURCE, "source.updates", {"source.updates.values": [1e14]}),
        (SERVERS, "servers.arrivals", {"servers.arrivals.poisson.rate": 1e14}),
        (PAGES, "clients.query_rate", {"clients.query_rate": 1e14}),
    ],
)
def test_whatever_goes_on_for_ever(tables: dict[str, Any], key: str, change: Any) -> None:
    scenario = scenario_from(tables)
    require_progress(scenario)
    with pytest.raises(ScenarioError) as refusal:
        require_progress(scenario.with_(change))
    assert refusal.value.key == key


def test_a_mixture_draws_which_law_it_is_to_be_and_then_a_time_from_it() -> None:
    """Of the second law each time passes through three phases."""
    three = PhaseType(
        alpha=(1.0, 0.0, 0.0), T=((-1.0, 1.0, 0.0), (0.0, -1.0, 1.0), (0.0, 0.0, -1.0))
    )
    mixture = Mixture(probabilities=(0.25, 0.75), of=(Exponential(mean=2.0), three))
    assert draws_and_mean(mixture) == pytest.approx((1 + 0.25 * 1 + 0.75 * 3, 0.25 * 2 + 0.75 * 3))
