"""What becomes of pages whose copies leave the buffer together, and what that costs.

Exact values against small generators written here, against the papers' queue where labels do not
matter, and one simulation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pipelines import PIPELINES, pipeline

import sim
from analytic import exact_values, optimize, predict
from analytic.indexing_queue import controlled_chain, sojourn_moments, solve_chain
from analytic.indexing_queue.chain import UNLIMITED_PATIENCE
from analytic.indexing_queue.unordered_sojourns import unordered_sojourns
from analytic.machinery.markov import stationary
from analytic.machinery.phase_type import as_phase_type
from analytic.pipeline.costs import cost_of, queue_cost
from analytic.pipeline.dropping_and_replacement import (
    LabelledQueue,
    PageClass,
    age_with_dropping,
    labelled_page,
    labelled_sojourns,
)
from crawlsim.report.optimum_figures import PLOTS
from scenarios import Scenario, ScenarioError, load
from scenarios.laws import Erlang, Exponential
from scenarios.model import QueueDiscipline, ServiceOrder

REPLACED = {"buffer.replace_older_copy": True}
DROPPED = {"buffer.obsolescence": "page-change"}
LIFO = {"buffer.discipline": "lifo"}
PUSHED = {"buffer.when_full": "push-out"}
ONE_PAGE = {"pages.change_rates": [0.7], "robots.accessing.frequencies": "uniform"}
NAMES = ("loss", "success", "obsolescence", "replacement")


def small(*changes: dict[str, Any]) -> Scenario:
    """Two fast and one slow page, two waiting places, deliveries 1.5 times as fast as services."""
    given: dict[str, Any] = {
        "pages.change_rates": [0.3, 0.3, 0.05],
        "robots.available": 15,
        "buffer.waiting_places": 2,
    }
    for each in changes:
        given |= each
    return load("pipeline-replacement").with_({"buffer.replace_older_copy": None} | given)


def values(scenario: Scenario) -> dict[Any, float]:
    """Exact predictions of the queue by measure and subject."""
    rows = predict(scenario)[0]
    assert {row.kind for row in rows} == {"exact"}
    return {(row.measure, row.subject): row.value for row in rows}


@pytest.mark.parametrize(
    "rules",
    [REPLACED, DROPPED, REPLACED | DROPPED, REPLACED | LIFO | PUSHED, DROPPED | PUSHED],
    ids=str,
)
def test_every_delivered_page_has_one_fate(rules: dict[str, Any]) -> None:
    """Shares sum to 1; what is served is what the busy engine serves (phase-type service)."""
    for service in ({}, {"buffer.service": {"erlang": {"shape": 2, "mean": 1.0}}}):
        found = values(small(rules, service))
        shares = [found.get((f"{name}_probability", None), 0.0) for name in NAMES]
        assert sum(shares) == pytest.approx(1.0, rel=1e-10)
        assert min(shares[:2]) > 0.01
        busy = 1.0 - found["starvation_probability", None]
        assert found["throughput", None] == pytest.approx(busy, rel=1e-10)
        assert found["arrival_rate", None] == pytest.approx(1.5, rel=1e-10)


def test_one_page_replaced_loses_nothing() -> None:
    """Levels 0, 1, 2 of M/M/1/2, and what meets a waiting copy replaces it."""
    found = values(small(ONE_PAGE, REPLACED))
    levels = 1.5 ** np.arange(3)
    levels /= levels.sum()
    assert found["level_probability", 2] == pytest.approx(levels[2], rel=1e-12)
    assert found["replacement_probability", None] == pytest.approx(levels[2], rel=1e-12)
    assert found["loss_rate", None] == 0.0


def test_one_page_dropped_all_at_once() -> None:
    """At a change all waiting copies go: from levels 2 and 3 to 1."""
    found = values(small(ONE_PAGE, DROPPED))
    rates = np.zeros((4, 4))
    for level in range(3):
        rates[level, level + 1] = 1.5
        rates[level + 1, level] = 1.0
    rates[[2, 3], 1] += 0.7
    np.fill_diagonal(rates, -rates.sum(axis=1))
    law = stationary(rates)
    assert [found["level_probability", n] for n in range(4)] == pytest.approx(law, rel=1e-12)
    dropped = 0.7 * (law[2] + 2 * law[3])
    assert found["obsolescence_probability", None] == pytest.approx(dropped / 1.5, rel=1e-12)
    assert found["loss_rate", None] == pytest.approx(1.5 * law[3], rel=1e-12)


def test_pages_that_hardly_matter_give_the_papers_queue() -> None:
    """Pages that never change are never dropped: M/M/1/3, and its cost."""
    prices = {"costs.loss": 1.0, "costs.starvation": 1.3, "costs.robots": 0.01}
    same: dict[str, Any] = {
        "pages.change_rates": [0.0, 0.0, 0.0],
        "pages.weights": "uniform",
        "robots.accessing.frequencies": "uniform",
    }
    dropping = small(DROPPED, same, prices)
    plain = small(same, prices)
    expected = values(plain)
    found = values(dropping)
    assert set(found) >= {("control_cost", None), ("loss_probability", None)}
    for key in set(found) & set(expected):
        assert found[key] == pytest.approx(expected[key], rel=1e-10, abs=1e-15), key


@pytest.mark.statistical
@pytest.mark.parametrize(
    "rules", [REPLACED | DROPPED | LIFO, REPLACED | PUSHED, DROPPED], ids=["all", "out", "drop"]
)
def test_the_simulation_counts_the_same(rules: dict[str, Any]) -> None:
    """Each |z| below 4.6 with 19 degrees of freedom: false alarm 2e-4 a row, 5e-3 for all; seed 5.

    A loss rate of all deliveries that meet a full buffer, copies of a waiting page included, is
    refuted where newer copies replace older ones.
    """
    prices = {"costs.loss": 1.0, "costs.obsolescence": 0.5, "costs.starvation": 2.0}
    run = {"run.horizon": 4000.0, "run.warmup": 100.0, "run.replications": 20, "run.seed": 5}
    scenario = small(rules, prices, {"costs.staleness": 1.0}, run)
    found = values(scenario)
    results = sim.run(scenario)
    names = ["loss_rate", "throughput", "control_cost", *(f"{name}_probability" for name in NAMES)]
    for name in names:
        row = results.rows.find(name)
        if row is not None and (name, None) in found and row.standard_error > 0:
            assert row.standard_error < 0.03 * row.estimate, name
            z = (row.estimate - found[name, None]) / row.standard_error
            assert abs(z) < 4.6, (name, z)
    lost = results.find("loss_rate")
    assert lost is not None
    wrong = 1.5 * found["level_probability", 3]
    refuted = abs(lost.estimate - wrong) > 10 * lost.standard_error
    assert refuted == ("buffer.replace_older_copy" in rules)


def test_the_cost_is_the_sum_of_the_prices() -> None:
    """With and without a price on staleness."""
    prices = {"loss": 1.0, "obsolescence": 0.5, "starvation": 2.0, "robots": 0.01}
    given = {f"costs.{name}": price for name, price in prices.items()}
    scenario = small(DROPPED, given)
    found = values(scenario)
    terms = {
        "loss": found["loss_rate", None],
        "obsolescence": found["obsolescence_probability", None] * found["arrival_rate", None],
        "starvation": found["starvation_probability", None],
        "robots": 15.0,
    }
    queue = sum(prices[name] * terms[name] for name in prices)
    assert found["control_cost", None] == pytest.approx(queue, rel=1e-12)
    priced = values(scenario.with_("costs.staleness", 3.0))
    stale = priced["weighted_obsolescence", None]
    assert priced["control_cost", None] == pytest.approx(queue + 3.0 * stale, rel=1e-12)


@pytest.mark.by_day("static-replaced", "static-dropped")
@pytest.mark.parametrize("rules", [REPLACED, DROPPED], ids=["replaced", "dropped"])
@pytest.mark.parametrize("target", ["static", "threshold"])
def test_what_the_papers_criterion_costs(rules: dict[str, Any], target: str) -> None:
    """Talim's criterion alone has its optimum, by brute force, and its cost end to end."""
    few = {"robots.available": 3, "robots.access_time.exponential.mean": 2.0}
    scenario = small(rules, few, {"costs.staleness": 1.0, "buffer.waiting_places": 1})
    found = optimize(scenario, target)
    (said,) = (note for note in found.notes if "best by loss and 2 starvation alone" in note)
    alone = scenario.with_({"costs.staleness": 0.0, "costs.loss": 1.0, "costs.starvation": 2.0})
    best = optimize(alone, target)
    if target == "static":
        costs = [queue_cost(alone.with_("activation", {"static": robots})) for robots in (1, 2, 3)]
        assert best.cost == pytest.approx(min(costs), rel=1e-12)
        assert best.decision == {"robots": 1 + int(np.argmin(costs))}
    decided = ", ".join(f"{key} = {value}" for key, value in best.decision.items())
    assert said.startswith(f"{decided}, best by")
    assert f"{cost_of(scenario.with_(best.changes)):.6g}" in said
    assert best.proved


def test_what_is_refused_says_what_to_drop() -> None:
    priced = {"costs.staleness": 1.0, "costs.response": 1.0, "costs.loss": 1.0}
    with pytest.raises(ScenarioError, match=r"drop costs\.response$"):
        optimize(small(REPLACED, priced), "static")


@pytest.mark.thorough
def test_a_decision_at_the_edge_says_so() -> None:
    """Replacement makes every robot welcome; with FIFO seven of sixteen are best."""
    found = optimize(small(REPLACED, {"costs.staleness": 1.0}), "static")
    assert found.decision == {"robots": 15}
    assert any("15 robots are all that are available; more may" in note for note in found.notes)
    inner = load("pipeline-more-robots").with_({"costs.staleness": 1.0, "robots.available": 9})
    plain = optimize(inner, "static")
    assert plain.decision == {"robots": 7}
    assert not any("more may" in note for note in plain.notes)


def test_the_figure_marks_the_other_decision() -> None:
    scenario = load("pipeline-more-robots").with_("costs.staleness", 2.5)
    found = optimize(scenario, "static")
    ax = PLOTS["static"](found.search, None)
    (line,) = (each for each in ax.lines if "starvation alone" in str(each.get_label()))
    (x,), (y,) = line.get_xdata(), line.get_ydata()  # type: ignore[misc]
    assert x == 10
    assert y == pytest.approx(0.5217, abs=5e-5)


def test_notes_below_a_table_are_not_wrapped(crawlsim: Any) -> None:
    words = ("pipeline-more-robots", "--set", "costs.staleness=2.5", "--target", "static")
    code, out, _ = crawlsim("optimize", *words)
    assert code == 0
    expected = (
        "robots = 10, best by loss and 1.095 starvation alone (talim2001): 0.521677, 18.8 % more"
    )
    assert expected in out.splitlines()


def test_lists_are_sent_to_random_choices_where_there_is_a_buffer(crawlsim: Any) -> None:
    words = ("pipeline-shared-list", "--target", "frequencies")
    code, _, error = crawlsim("optimize", *words)
    assert code == 2
    hint = "robots.accessing.policy=randomized"
    assert hint in error
    assert crawlsim("optimize", *words, "--set", hint)[0] == 0


# -- sojourn times, and ages where changes drop copies ---------------------------------------------


def labelled_queue(service: Any, rules: QueueDiscipline, changes: float = 0.0) -> LabelledQueue:
    law = as_phase_type(service)
    assert law is not None
    modes = np.array([[[[0.0]], [[0.0]]], [[[-1.2]], [[1.2]]]])
    chain = controlled_chain(modes, lambda _: 1, law, UNLIMITED_PATIENCE, 4, "partial")
    classes = PageClass(1, changes, 0.3), PageClass(2, changes, 0.35)
    return LabelledQueue(chain, (modes[1, 1],) * 5, classes, rules)


@pytest.mark.parametrize("service", [Exponential(mean=1.0), Erlang(shape=2, mean=1.0)])
@pytest.mark.parametrize(
    "rules",
    [
        QueueDiscipline(),
        QueueDiscipline(ServiceOrder.NEWEST_FIRST),
        QueueDiscipline(ServiceOrder.NEWEST_FIRST, pushes_out_oldest=True),
    ],
)
def test_sojourn_times_of_pages_whose_labels_do_not_matter(
    service: Any, rules: QueueDiscipline
) -> None:
    queue = labelled_queue(service, rules)
    stationary = solve_chain(queue.chain).stationary
    found = {row[:2]: row[2] for row in labelled_sojourns(queue)}
    pushing = np.array([[1.2]]) if rules.pushes_out_oldest else None
    rows = list(
        unordered_sojourns(queue.chain, stationary, 1.2, order=rules.order, pushing=pushing)
    )
    if rules == QueueDiscipline():
        rows += sojourn_moments(queue.chain, stationary)
    for measure, subject, value in rows:
        assert found[measure, subject] == pytest.approx(value, rel=1e-11)


@pytest.mark.by_day(besides=("page-change",))
@pytest.mark.parametrize("name", [n for n in PIPELINES if PIPELINES[n][0].startswith("dropping")])
def test_sojourn_times_of_labelled_pages_keep_little_s_law(name: str) -> None:
    rows = {key: value for key, (value, _) in exact_values(pipeline(name)).items()}
    refused = 0.0 if "push-out" in name else rows["loss_probability", None]
    everyone = (1.0 - refused) * rows["sojourn_time", "accepted"]
    assert everyone == pytest.approx(rows["sojourn_time", "all"], rel=1e-11)


def test_pages_that_never_change_are_as_old_as_without_dropping() -> None:
    queue = labelled_queue(Erlang(shape=2, mean=1.0), QueueDiscipline(drops_changed=True))
    for kind in range(2):
        chain, deliveries, classes, _ = queue
        plain = labelled_page(chain, deliveries, classes, kind, QueueDiscipline()).age
        assert age_with_dropping(queue, kind) == pytest.approx(plain, rel=1e-10)


def test_a_waiting_copy_that_is_dropped_does_not_renew_the_index() -> None:
    """One page, one waiting place, by hand: states are what is in service and what waits."""
    law = as_phase_type(Exponential(mean=1.0))
    assert law is not None
    come, change = 0.7, 0.4
    modes = np.array([[[[0.0]], [[0.0]]], [[[-come]], [[come]]]])
    chain = controlled_chain(modes, lambda _: 1, law, UNLIMITED_PATIENCE, 2, "partial")
    rules = QueueDiscipline(drops_changed=True)
    queue = LabelledQueue(chain, (modes[1, 1],) * 3, (PageClass(1, change, 1.0),), rules)
    new_in_service = 1.0
    levels = stationary(np.array([[0.0, come, 0.0], [1.0, 0.0, come], [0.0, 1.0 + change, 0.0]]))
    # mean times from: empty, an old copy in service, two old copies, an old one and a new one
    empty, old, two_old, _ = np.linalg.solve(
        np.array(
            [
                [come, 0.0, 0.0, 0.0],
                [-1.0, 1.0 + come, 0.0, -come],
                [0.0, -1.0 - change, 1.0 + change, 0.0],
                [0.0, -change, 0.0, 1.0 + change],
            ]
        ),
        np.array([1.0 + come * new_in_service, 1.0, 1.0, 1.0 + new_in_service]),
    )
    expected = levels @ [empty, old, two_old]
    assert age_with_dropping(queue, 0) == pytest.approx(expected, rel=1e-12)
