"""Rare losses by split paths: against closed forms, plain counts, and planted errors."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit
from systems import queue

from scenarios import Scenario, ScenarioError, load
from sim import RareLosses, compiled_engine, rare_losses, splitting
from sim.compiled_engine.splitting import SplitReplication
from sim.splitting import _without_pages

FALSE_ALARM = 1e-4


def one_robot(places: int, load: float = 0.5, **run: Any) -> Scenario:
    """An M/M/1 queue with so many waiting places, services of mean 1."""
    return queue(
        {
            "robots.available": 1,
            "robots.access_time.exponential.rate": load,
            "activation": {"static": 1},
            "buffer.waiting_places": places,
            "buffer.service.exponential.rate": 1.0,
            "buffer.obsolescence": "never",
            "run": {"horizon": 2100.0, "warmup": 100.0, "replications": 10, **run},
        }
    )


def loss_probability(places: int, load: float = 0.5) -> float:
    """Of M/M/1 with so many waiting places."""
    capacity = places + 1
    return (1.0 - load) * load**capacity / (1.0 - load ** (capacity + 1))


def agrees(found: RareLosses, exact: float) -> bool:
    quantile = float(stdtrit(found.replications - 1, 1.0 - FALSE_ALARM / 2))
    return abs(math.log(found.probability / exact)) <= quantile * found.log_error


@pytest.mark.statistical
@pytest.mark.by_day("21")
@pytest.mark.parametrize("places", [21, 28])
def test_one_loss_in_ten_million_and_in_two_thousand_million(places: int) -> None:
    """False alarm 1e-4 (seed 1); an error of 22 % would show."""
    found = rare_losses(one_robot(places), seed=1)
    assert agrees(found, loss_probability(places))
    assert not agrees(found, 1.35 * loss_probability(places))
    assert math.log(found.high / found.probability) <= 0.1
    assert found.saving > 1000


@pytest.mark.statistical
def test_a_threshold_that_is_not_weighed_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: what happens above the last split counts as below it."""
    honest = splitting._weights

    def shifted(copies: Any) -> Any:
        return np.append(honest(copies)[0], honest(copies)[:-1])

    monkeypatch.setattr(splitting, "_weights", shifted)
    assert not agrees(rare_losses(one_robot(21), seed=1), loss_probability(21))


@pytest.mark.statistical
def test_losses_that_are_not_rare_are_counted() -> None:
    """The buffer is hardly ever empty, so that low levels are never climbed to often.

    False alarm 1e-4 (seed 1); an error of 5 % would show.
    """
    found = rare_losses(one_robot(40, load=1.5), seed=1)
    assert found.levels == ()
    assert agrees(found, loss_probability(40, load=1.5))
    assert not agrees(found, 1.05 * loss_probability(40, load=1.5))


def test_progress_is_that_of_each_replication() -> None:
    seen: list[tuple[int, int]] = []
    found = rare_losses(one_robot(5), precision=0.02, seed=1, progress=lambda *at: seen.append(at))
    assert [done for done, _ in seen] == list(range(1, found.replications + 1))
    assert all(done <= in_all for done, in_all in seen)


def test_a_pilot_that_does_not_climb_is_given_up_and_says_how_far_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[int, int, int]] = []
    monkeypatch.setattr(splitting, "_MOST_EVENTS", 300_000)
    with pytest.raises(ScenarioError, match=r"the pilot climbed to \d+ of 61 levels") as refusal:
        rare_losses(one_robot(60), seed=1, pilot=lambda *at: told.append(at))
    assert refusal.value.key == "buffer.waiting_places"
    assert all(levels == 61 for _, levels, _ in told)
    highest, _, events = zip(*told, strict=True)
    assert list(highest) == sorted(highest)
    assert highest[-1] > highest[0] > 0
    assert events[-2] <= 300_000 < events[-1] < 300_000 + 2**18 + 1


def test_a_horizon_in_which_nothing_is_delivered_is_named() -> None:
    with pytest.raises(ScenarioError, match="a page delivered"):
        rare_losses(one_robot(5, load=1e-6), seed=1)


@pytest.mark.parametrize("name", ["four-robots-one-threshold", "batches"])
def test_without_a_split_the_counts_are_those_of_a_plain_run(name: str) -> None:
    scenario = load(name)
    plain = compiled_engine.simulate(scenario, 0, 1).buffer
    assert plain is not None
    paths = SplitReplication(scenario, 0, 1, [3, 5], [1, 1]).follow()
    assert paths.delivered.sum() == plain.delivered
    assert paths.lost.sum() == plain.lost


@pytest.mark.thorough
@pytest.mark.statistical
def test_paths_that_the_horizon_ends_start_again() -> None:
    """A window of ten services, most paths still high at its end: delivered pages by their weights.

    Poisson, 9 a replication; false alarm 1e-4 (seed 3), an error of 2 % would show.
    """
    scenario = one_robot(6, 0.9, horizon=20.0, warmup=10.0)
    weights = 1.0 / np.cumprod([1, 3, 3])
    runs = [SplitReplication(scenario, n, 3, [2, 4], [3, 3]).follow() for n in range(10_000)]
    delivered = np.array([paths.delivered @ weights for paths in runs])
    assert abs(delivered.mean() - 9.0) <= 3.9 * delivered.std() / 100.0
    assert delivered.std() / 100.0 < 0.05


@pytest.mark.thorough
def test_any_number_of_workers_finds_the_same() -> None:
    scenario = one_robot(12)
    alone = rare_losses(scenario, seed=2, precision=0.5)
    with ThreadPoolExecutor(2) as executor:
        assert rare_losses(scenario, seed=2, precision=0.5, executor=executor) == alone
    assert rare_losses(scenario, seed=3, precision=0.5) != alone


@pytest.mark.thorough
def test_pages_and_clients_are_left_out() -> None:
    """Losses do not depend on them."""
    with_pages = load("pipeline-light").with_({"buffer.obsolescence": "never"})
    assert rare_losses(with_pages, seed=1, precision=0.5).probability > 0


@pytest.mark.parametrize(
    ("name", "changes", "key"),
    [
        ("cyclic-constant", {}, "buffer"),
        ("routing-two-servers", {}, "buffer"),
        ("pipeline-page-change", {}, "buffer.obsolescence"),
        ("pipeline-replacement", {}, "buffer.replace_older_copy"),
        ("big-and-small-pages", {}, "buffer.service.page-size"),
        ("indexer-outage", {}, "interventions"),
        ("good-and-bad-network", {}, "robots.environment"),
        ("talim-static-k15", {"run.horizon": 2.0, "run.warmup": 0.0}, "run.horizon"),
    ],
)
def test_what_cannot_be_split_is_refused(name: str, changes: dict[str, Any], key: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        rare_losses(load(name).with_(changes) if changes else load(name))
    assert refusal.value.key == key


@pytest.mark.nightly
@pytest.mark.statistical
def test_intervals_hold_as_often_as_they_say() -> None:
    """200 seeds at a precision of 20 %: 95 % within three standard errors, 90.3 % at least."""
    exact = loss_probability(20)
    found = [rare_losses(one_robot(20), seed=seed, precision=0.2) for seed in range(200)]
    assert np.mean([each.low <= exact <= each.high for each in found]) >= 0.903


def test_the_saving_is_how_many_times_fewer_events_were_needed() -> None:
    known = {each.name: 1.0 for each in fields(RareLosses)}
    found = RareLosses(**known | {"plain_events": 3e9, "events": 6_000_000})  # type: ignore[arg-type]
    assert found.saving == 500.0
    assert found.record()["saving"] == 500.0


def test_what_losses_do_not_depend_on_is_left_out() -> None:
    light = load("pipeline-light").with_({"buffer.obsolescence": "never", "run.observe": 10.0})
    plain = _without_pages(light)
    assert (plain.pages, plain.clients, plain.run.observe) == (None, None, None)
    assert plain.robots is not None
    assert plain.robots.accessing is None
    assert _without_pages(plain) == plain
