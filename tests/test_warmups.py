"""Warm-ups: how long they should be, and what a longer one would change."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from systems import queue

import sim
from analytic import predict, relaxation_time_of, resolve, start_up_times, suggested_warmup
from scenarios import ScenarioError, library_names, load
from sim.cli.options import RunOptions
from sim.cli.warmups import effect_of_doubling

Commands = Any
OPTIONS = RunOptions(
    engine=None, jobs=1, cluster=None, out=None, precision=None, measures=(), max_replications=9
)


def test_ten_relaxation_times_of_the_chain_and_more_where_empty_is_rare() -> None:
    scenario = queue()
    empty = next(
        row.value for row in predict(scenario)[0] if row.measure == "starvation_probability"
    )
    times = 10 - math.log(empty) / 2
    warmup, rule = suggested_warmup(scenario)
    assert warmup == pytest.approx(times * (relaxation_time_of(scenario) or 0))
    assert rule == f"{times:.3g} times the relaxation time of the queue"


def test_a_long_buffer_that_fills_slowly_is_full_after_the_warm_up() -> None:
    """Three robots at 0.5, service 1, 200 places, never obsolete: filling takes some 400."""
    scenario = queue(
        {
            "robots.access_time": {"exponential": {"rate": 0.5}},
            "activation.static": 3,
            "buffer.waiting_places": 200,
            "buffer.obsolescence": "never",
            "run.horizon": 4000.0,
            "run.replications": 8,
        }
    )
    warmup, _ = suggested_warmup(scenario)
    assert 600 < warmup < 2000
    level = sim.run(scenario.with_("run.warmup", warmup)).find("mean_in_system")
    early = sim.run(scenario).find("mean_in_system")
    exact = next(row.value for row in predict(scenario)[0] if row.measure == "mean_in_system")
    assert level is not None
    assert early is not None
    assert abs(level.estimate - exact) < 4 * level.standard_error + 0.1
    assert early.estimate < exact - 4 * early.standard_error


def test_the_longest_memory_counts_and_an_unknown_one_is_a_twentieth_of_the_horizon() -> None:
    cyclic = load("cyclic-constant")
    warmup, rule = suggested_warmup(cyclic)
    (cycle,) = [time for name, time in start_up_times(cyclic) if "cycle" in name]
    assert rule == "1.01 times the cycle of the pages"
    assert warmup == pytest.approx(1.01 * cycle)
    slow = {"mmpp": {"Q": [[-0.001, 0.001], [0.002, -0.002]], "rates": [1.0, 0.1]}}
    mixed = queue({"robots.access_time": slow, "run.horizon": 90_000.0})
    assert suggested_warmup(mixed)[0] >= 10 / 0.003 * (1 - 1e-9)
    uniform = {"uniform": {"low": 0.5, "high": 1.5}}
    unknown = queue({"robots.access_time": uniform, "run.horizon": 900.0})
    assert suggested_warmup(unknown) == (45.0, "a twentieth of the horizon: nothing else is known")


@pytest.mark.parametrize("name", library_names())
def test_every_ready_scenario_has_room_for_its_warm_up(name: str) -> None:
    scenario = load(name)
    if scenario.probing is None:
        assert suggested_warmup(resolve(scenario))[0] < scenario.run.horizon


def test_a_horizon_that_is_too_short_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"must be longer than a warm-up of 11\.3 times"):
        suggested_warmup(queue({"run.horizon": 5.0, "run.warmup": 0.0}))


@pytest.mark.parametrize("asked", ["soon", "-1", "nan", "1e9"])
def test_what_is_no_warm_up_is_refused(crawlsim: Commands, asked: str) -> None:
    code, text, err = crawlsim("run", "one-robot", "--warmup", asked)
    assert (code, text) == (2, "")
    assert "warmup" in err


def test_the_option_sets_the_warm_up_of_run_check_and_sweep(crawlsim: Commands) -> None:
    flags = ["one-robot", "--set", "run.horizon=3000.0", "--replications", "3", "--json"]
    code, text, err = crawlsim("run", *flags, "--warmup", "auto")
    warmup, _ = suggested_warmup(load("one-robot"))
    expected = sim.run(
        load("one-robot", {"run.horizon": 3000.0, "run.replications": 3, "run.warmup": warmup})
    )
    assert code == 0
    assert "times the relaxation time of the queue" in err
    assert json.loads(text)[0]["estimates"][0]["estimate"] == expected.estimates[0].estimate
    assert crawlsim("check", *flags, "--warmup", "250")[0] == 0
    cells = ["--vary", "run.seed=1,2", "--warmup", "auto"]
    rows = json.loads(crawlsim("sweep", *flags, *cells)[1])
    assert rows[0]["estimate"] == expected.estimates[0].estimate


def starting_empty(warmup: float) -> Any:
    """A system that is nearly full in the long run and starts empty."""
    return queue(
        {
            "activation.static": 3,
            "buffer.waiting_places": 30,
            "buffer.obsolescence": "never",
            "run.horizon": 400.0,
            "run.warmup": warmup,
            "run.replications": 12,
        }
    )


def test_twice_too_short_a_warm_up_changes_much_and_twice_a_long_one_nothing() -> None:
    """The start of an empty queue is planted; intervals are 95 %, the pairs fixed by the seed."""
    effects = {}
    for warmup in (5.0, 150.0):
        scenario = starting_empty(warmup)
        rows = effect_of_doubling(scenario, sim.run(scenario), OPTIONS)
        effects[warmup] = {(row.measure, row.subject): row for row in rows}
    level = ("mean_in_system", None)
    assert effects[5.0][level].is_clear
    assert effects[5.0][level].change > 0.2
    assert not effects[150.0][level].is_clear
    assert ("level_probability", 3) not in effects[5.0]
    assert not effects[150.0]["mean_active_robots", None].is_clear


def test_nothing_is_said_where_nothing_can_be_doubled() -> None:
    for changes in ({"run.warmup": 0.0}, {"run.warmup": 250.0}, {"run.replications": 1}):
        scenario = queue(changes)
        assert effect_of_doubling(scenario, sim.run(scenario), OPTIONS) == ()


def test_a_warm_up_that_would_do_nothing_is_refused(crawlsim: Commands) -> None:
    code, _, err = crawlsim("run", "dbworld-uniform", "--warmup", "auto")
    assert code == 2
    assert "does not go with [probing]" in err
    vary = ["--vary", "run.warmup=10,400"]
    code, _, err = crawlsim("sweep", "one-robot", *vary, "--warmup", "20")
    assert code == 2
    assert "does not go with --vary run.warmup" in err


def test_the_report_shows_it(crawlsim: Commands, tmp_path: Path) -> None:
    flags = ["--set", "run.horizon=3000.0", "--replications", "4"]
    crawlsim("check", "one-robot", *flags, "--out", str(tmp_path / "out"))
    assert "If the warm-up were twice as long" in (tmp_path / "out/report.html").read_text()
