"""The mean age of the copies in the index as a measure: simulated, predicted, judged.

The simulated comparisons are those of `compare`: a family false-alarm probability of 1e-3, and
*agrees* only where a difference of 2 % would have been seen with probability 0.95.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pipelines import pipeline
from test_index_age import Rows, mean_ages

import sim
from analytic import compare, overall, predict
from analytic.indexing_queue.one_robot import delivered_queue
from analytic.machinery.phase_type import as_phase_type
from analytic.pipeline import exact_method, listed_rate
from analytic.pipeline.periodic_lists import listed_age, random_age
from crawlsim.cli.output import comparison_table
from experiments.unlimited_buffer import unlimited_age
from scenarios import Scenario, load
from scenarios.laws import (
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    PhaseType,
    Uniform,
)
from sim.simpy_engine import simulate

LAWS = [
    (Deterministic(value=1.1), 1.1, 1.1**2),
    (Exponential(mean=1.1), 1.1, 2 * 1.1**2),
    (Erlang(shape=3, mean=1.1), 1.1, (1 + 1 / 3) * 1.1**2),
    (Gamma(shape=0.05, mean=1.1), 1.1, (1 + 1 / 0.05) * 1.1**2),
    (Uniform(low=0.0, high=2.2), 1.1, 2.2**2 / 3),
    (Hyperexponential(probabilities=(0.9, 0.1), rates=(9.0, 0.1)), 1.1, 2 * (0.9 / 81 + 10.0)),
    (PhaseType(alpha=(1.0, 0.0), T=((-2.0, 2.0), (0.0, -1.0))), 1.5, 1 / 4 + 1 + 1.5**2),
    (Empirical(values=(0.3, 0.3, 2.7)), 1.1, (2 * 0.3**2 + 2.7**2) / 3),
]
"""Laws of access times, their means and second moments."""


def ages(scenario: Scenario) -> dict[Any, float]:
    return {row.subject: row.value for row in predict(scenario)[0] if row.measure == "index_age"}


@pytest.mark.by_day(besides=("push-out",))
@pytest.mark.parametrize("name", ["static", "batches", "LIFO", "push-out"])
def test_the_measure_is_what_the_events_say(name: str) -> None:
    """The event log gives the same time averages, from the warm-up on, for each page."""
    changes = {"run.horizon": 4500.0, "run.warmup": 500.0, "run.replications": 1, "clients": None}
    scenario = pipeline(name).with_(changes)
    log = Rows()
    simulate(scenario, 0, seed=12, log=log)  # type: ignore[arg-type]
    from_events = mean_ages(log.rows, 5, newest_first=scenario.buffer.discipline == "lifo")  # type: ignore[union-attr]
    for engine in ("simpy", "compiled"):
        results = sim.run(scenario, engine=engine, seed=12)
        measured = [results.find("index_age", page).estimate for page in range(5)]
        assert measured == pytest.approx(from_events, rel=1e-9)


def test_a_copy_that_is_never_renewed_grows_old_with_the_run() -> None:
    """From time 0, the warm-up included: the mean age of (500, 4500] is 2500; nothing predicts."""
    changes = {"run.horizon": 4500.0, "run.replications": 2}
    shares = {"robots.accessing.frequencies": [0.0, 0.25, 0.25, 0.25, 0.25]}
    scenario = pipeline("static").with_(changes | shares)
    row = sim.run(scenario).find("index_age", 0)
    assert row is not None
    assert row.estimate == pytest.approx(2500.0, rel=1e-12)
    assert sorted(ages(scenario)) == [1, 2, 3, 4]


def test_there_are_ages_with_a_buffer_only() -> None:
    results = sim.run(pipeline("static").with_({"buffer": None, "run.horizon": 600.0}))
    assert results.rows.find("index_age", 0) is None


@pytest.mark.thorough
def test_one_page_in_an_unlimited_queue_is_predicted_and_judged() -> None:
    scenario = load("pipeline-one-page")
    assert ages(scenario)[0] == pytest.approx(unlimited_age(0.5, 1.0), rel=1e-9)
    assert ages(scenario)[0] == pytest.approx(1 + 2 + 0.25 / 0.5, rel=1e-9)
    rows = compare(predict(scenario)[0], sim.run(scenario), scenario.judged)
    assert overall(rows) == "agrees"
    assert [row.verdict for row in rows if row.measure == "index_age"] == ["agrees"]


@pytest.mark.by_day(besides=("switching", "LIFO, exponential", "replacement", "cyclic, gamma"))
@pytest.mark.statistical
@pytest.mark.parametrize(
    "name",
    ["switching", "LIFO, exponential", "replacement", "cyclic, gamma", "random, constant"],
)
def test_ages_are_judged(name: str) -> None:
    scenario = pipeline(name).with_({"run.seed": 5, "run.horizon": 300_000.0})
    rows = compare(predict(scenario)[0], sim.run(scenario), ["index_age"])
    assert overall(rows) == "agrees"
    assert len([row for row in rows if row.verdict == "agrees"]) >= 4


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("static", {"buffer.waiting_places": 6}),
        ("static", {"buffer.discipline": "lifo"}),
        ("replacement", {"buffer.replace_older_copy": False}),
        ("cyclic, gamma", {"robots.access_time": {"gamma": {"shape": 0.6, "mean": 0.9}}}),
    ],
)
def test_ages_of_another_system_are_refuted(name: str, wrong: dict[str, Any]) -> None:
    results = sim.run(pipeline(name).with_({"run.seed": 5, "run.horizon": 300_000.0}))
    others = [row for row in predict(pipeline(name).with_(wrong))[0] if row.measure == "index_age"]
    assert overall(compare(others, results)) == "disagrees"


@pytest.mark.by_day(besides=("replacement",))
@pytest.mark.parametrize("name", ["replacement", "cyclic, gamma", "random, constant"])
def test_ages_are_the_slopes_of_the_rates(name: str) -> None:
    """r / mu for small mu, by another solution of the same chain."""
    scenario = pipeline(name)
    method = exact_method(scenario)
    assert method is not None
    assert method.ages is not None
    slow = method.rates(scenario.with_("pages.change_rates", [1e-6] * 5)) / 1e-6
    found = np.isfinite(method.ages(scenario))
    assert found.sum() >= 4
    assert slow[found] == pytest.approx(method.ages(scenario)[found], rel=1e-4)


def test_labels_that_cannot_matter_give_the_ages_of_the_counts() -> None:
    """Replacement with one waiting place under push-out is push-out: both lose the older copy."""
    changes = {"buffer.waiting_places": 1, "buffer.when_full": "push-out"}
    plain = pipeline("static").with_(changes)
    assert ages(plain.with_("buffer.replace_older_copy", True)) == pytest.approx(
        ages(plain), rel=1e-9
    )


@pytest.mark.parametrize(("law", "mean", "second"), LAWS)
def test_ages_with_accesses_of_any_law(law: Any, mean: float, second: float) -> None:
    """Instant indexing: E X² / (2 E X) on every access, a list of one slot like random choices."""
    service = as_phase_type(Exponential(mean=1e-7))
    assert service is not None
    queue = delivered_queue(service, 2, law)
    assert random_age(queue, 1.0) == pytest.approx(second / (2 * mean), rel=1e-6)
    slots = np.ones(1, dtype=bool)
    assert listed_age(queue, slots) == pytest.approx(random_age(queue, 1.0), rel=1e-9)
    busy = delivered_queue(as_phase_type(Erlang(shape=2, mean=1.0)), 3, law)  # type: ignore[arg-type]
    slots = np.array([True, False, True])
    slope = listed_rate(busy, slots, 1e-6) / 1e-6
    assert listed_age(busy, slots) == pytest.approx(slope, rel=1e-4)


def test_labels_need_a_queue_that_forgets_where_it_started() -> None:
    """Two phases of deliveries that never meet: the first one alone is not the answer."""
    apart = {"D0": [[-1.0, 0.0], [0.0, -3.0]], "D1": [[1.0, 0.0], [0.0, 3.0]]}
    changes = {"robots.available": 1, "robots.access_time": {"map": apart}}
    predictions, others = predict(pipeline("replacement").with_(changes))
    labelled = "pipeline dropping and replacement"
    assert not [row for row in predictions if row.source.startswith(labelled)]
    (reason,) = {row.reasons[0] for row in others if row.source.startswith(labelled)}
    assert reason == "its chain has 2 closed classes"


def test_what_is_too_rare_for_the_run_is_called_so() -> None:
    """No error where nothing was seen, and no percentage beyond all bounds."""
    scenario = load("pipeline-one-page").with_({"run.horizon": 3000.0, "run.warmup": 100.0})
    rows = compare(predict(scenario)[0], sim.run(scenario), ["loss_probability"])
    table = comparison_table(scenario, rows, "agrees")
    columns = {str(column.header): list(column.cells) for column in table.columns}
    place = columns["measure"].index("loss_probability")
    assert columns["± SE"][place] == "none seen"
    assert columns["detectable"][place] == "> 100 %"


def test_ages_of_one_robot_by_two_methods() -> None:
    """Exponential accesses: the chain at deliveries against the linear system of the queue."""
    for service in (Exponential(mean=1.0), Erlang(shape=3, mean=1.0)):
        changes = {
            "robots.available": 1,
            "robots.access_time": {"exponential": {"mean": 1.1}},
            "buffer.service": {service.key: service.model_dump(exclude_none=True)},
        }
        scenario = pipeline("static").with_(changes)
        law = as_phase_type(service)
        assert law is not None
        queue = delivered_queue(law, 6, Exponential(mean=1.1))
        for page, share in enumerate([0.1, 0.2, 0.25]):
            assert random_age(queue, share) == pytest.approx(ages(scenario)[page], rel=1e-8)
