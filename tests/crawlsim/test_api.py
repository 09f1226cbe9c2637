"""`import crawlsim`: what the commands do, as functions."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import analytic
import crawlsim
import sim
from crawlsim import load, run
from crawlsim.cli.program import commands
from scenarios import ScenarioError
from scenarios.results import html_of

QUICK = {"run.horizon": 3000.0, "run.warmup": 200.0, "run.replications": 4}
HEAVY = {"pandas", "matplotlib", "jinja2", "rich", "click", "numba"}


def quick(name: str) -> crawlsim.Scenario:
    return crawlsim.load(name, QUICK)


def modules_after(code: str) -> set[str]:
    """What is loaded once some code has run in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_every_public_name_is_there() -> None:
    assert set(crawlsim.__all__) <= set(dir(crawlsim))
    for name in crawlsim.__all__:
        assert getattr(crawlsim, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulate'"):
        crawlsim.simulate  # noqa: B018 - the access is the test


def test_commands_that_compute_have_a_function_of_the_same_name() -> None:
    compute = {"run", "solve", "check", "optimize", "sweep", "fit"}
    assert compute <= set(commands.every)
    assert compute <= set(crawlsim.__all__)


def test_run_takes_a_name_or_a_scenario() -> None:
    scenario = quick("one-robot")
    results = crawlsim.run(scenario, replications=3, seed=5)
    assert (results.count, results.seed) == (3, 5)
    assert crawlsim.run("one-robot", replications=2).count == 2


def test_what_is_optimal_is_decided_before_a_run() -> None:
    scenario = quick("four-robots-one-threshold").with_(
        {"activation": {"optimal": "static"}, "costs": {"loss": 1.0, "starvation": 1.0}}
    )
    results = crawlsim.run(scenario)
    best = crawlsim.optimize(scenario, "static").decision["robots"]
    fixed = crawlsim.run(scenario.with_("activation", {"static": best}))
    assert results.find("control_cost").estimate == fixed.find("control_cost").estimate


def test_check_says_what_the_command_says() -> None:
    found = crawlsim.check("one-robot")
    assert found.verdict == "agrees"
    frame = found.to_frame()
    assert len(frame) == len(found.comparisons)
    assert set(frame["verdict"]) <= {"agrees", "not judged"}
    assert len(found.solution.to_frame()) == len(found.solution.predictions)


def test_distributions_are_compared_where_one_asks_for_them() -> None:
    system = quick("one-robot").with_("run.replications", 20)
    assert crawlsim.check(system).laws is None
    found = crawlsim.check(system, distributions=True)
    exact = analytic.exact_laws(system)
    assert found.laws == analytic.check_laws(system, exact, found.results)
    judged = [row for row in found.laws if row.verdict != "not judged"]
    assert {row.law.measure for row in judged} >= {"sojourn_time", "level_at_arrival"}
    quicker = system.with_("buffer.service", {"exponential": {"rate": 1.3}})
    points = analytic.points_of(exact)
    wrong = crawlsim.api.judged(system, sim.run(quicker, points=points), exact)
    assert any(row.verdict == "disagrees" for row in wrong.laws)
    right_means = replace(found.results, law_counts=wrong.results.law_counts)
    assert crawlsim.api.judged(system, right_means).verdict == found.verdict
    assert crawlsim.api.judged(system, right_means, exact).verdict == "disagrees"


def test_control_variates_correct_what_is_run() -> None:
    system = quick("one-robot").with_("run.replications", 20)
    plain, corrected = crawlsim.run(system), crawlsim.run(system, control_variates=True)
    assert not plain.variance_ratios
    assert corrected.estimates == sim.controlled(plain).estimates
    assert corrected.variance_ratios["loss_probability", None] < 1.0
    precise = crawlsim.run(system, control_variates=True, precision=0.008)
    row = precise.find("loss_probability")
    assert (row.high - row.low) / 2 <= 0.008 * row.estimate
    assert precise.count < crawlsim.run(system, precision=0.008).count


def test_events_are_those_that_the_command_writes(crawlsim: Any, tmp_path: Path) -> None:
    system = load("one-robot", {"run.horizon": 30.0, "run.warmup": 0.0, "run.replications": 2})
    run(system, engine="simpy", trace=tmp_path / "python.csv")
    changes = [f"--set=run.{key}" for key in ("horizon=30", "warmup=0")]
    asked = ("--replications", "2", "--engine", "simpy", "--trace", str(tmp_path / "command.csv"))
    assert crawlsim("run", "one-robot", *changes, *asked)[0] == 0
    events = (tmp_path / "python.csv").read_text("utf-8")
    assert events == (tmp_path / "command.csv").read_text("utf-8")
    assert events.count("\n") > 20
    (tmp_path / "python.csv").write_text("mine", "utf-8")
    with pytest.raises(ScenarioError, match=r"^trace = "):
        run(system, engine="simpy", trace=tmp_path / "python.csv")
    assert (tmp_path / "python.csv").read_text("utf-8") == "mine"
    with pytest.raises(ScenarioError, match="does not go with precision"):
        run(system, engine="simpy", trace=tmp_path / "other.csv", precision=0.1)
    assert not (tmp_path / "other.csv").exists()


def test_a_formula_of_ones_own_is_compared() -> None:
    results = crawlsim.run(quick("one-robot"))
    wrong = crawlsim.Prediction("loss_probability", None, 0.9, "exact", "mine")
    (row,) = crawlsim.compare([wrong], results)
    assert row.verdict == "disagrees"


def test_what_is_solved_is_compared_with_what_is_run_in_either_order() -> None:
    system = quick("one-robot")
    solution = crawlsim.solve(system)
    results = crawlsim.run(system)
    rows = crawlsim.compare(solution.predictions, results)
    assert crawlsim.compare(solution, results) == rows
    assert crawlsim.compare(results, solution) == rows
    assert crawlsim.compare(solution, crawlsim.check(system)) == rows
    for wrong in (results, system, 0.1, {"loss_probability": 0.1}):
        with pytest.raises(TypeError, match=r"predictions: .* is none; solve\(system\) gives some"):
            crawlsim.compare(wrong, results)
    with pytest.raises(TypeError, match=r"results: 3 is none; run\(system\) gives some"):
        crawlsim.compare(solution, 3)


@pytest.mark.parametrize(
    ("function", "given", "said"),
    [
        ("run", {"replications": "40"}, 'replications = "40"\nmust be a whole number'),
        ("run", {"seed": 1.5}, "seed = 1.5\nmust be a whole number"),
        ("run", {"precision": "0.01"}, "must be a sim.Precision, a number or None"),
        ("run", {"executor": 2}, "executor = 2\nmust be an executor of concurrent.futures"),
        ("check", {"engine": 1}, "engine = 1\nmust be a text or None"),
        ("optimize", {"target": 3}, "target = 3\nmust be a text"),
        ("optimize", {"target": "threshold", "subject_to": 3}, "subject_to = 3\nmust be a text"),
        ("optimize", {"target": "threshold", "confidence": "x"}, "must be a number"),
        (
            "rank",
            {"vary": "run.seed", "values": [1], "minimise": 3},
            "minimise = 3\nmust be a text",
        ),
        ("rank", {"vary": "run.seed", "values": [1], "confidence": 2}, "above 0.5 and below 1"),
        (
            "rank",
            {"vary": "run.seed", "values": [1]},
            "minimise\nis needed, or maximise, first or last",
        ),
        (
            "rank",
            {"vary": "run.seed", "values": [1], "first": "x"},
            'first = "x"\nmust be a measure',
        ),
        ("optimize", {"target": "threshold", "kind": "exakt"}, 'kind = "exakt"\nmust be exact, '),
        ("run", {"precision": sim.Precision(0.1, "los")}, 'precision = "los"\none-robot has no'),
        ("schedule", {"visits": 4}, "visits = 4\nmust be a text or None; help(crawlsim.schedule)"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_its_name(
    function: str, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ScenarioError, match=re.escape(said)):
        getattr(crawlsim, function)("one-robot", **given)
    with pytest.raises(ScenarioError, match=r'^shortest = "1x"\nmust be a positive number and'):
        crawlsim.schedule("docs/examples/visits.csv.gz", "4/day", shortest="1x")
    with pytest.raises(ScenarioError, match=r"trace = 3\nmust be what read_trace gives, a text"):
        crawlsim.fit(3)  # type: ignore[arg-type]


def test_an_argument_that_there_is_not_is_told_with_those_that_there_are() -> None:
    said = r"replication = 10: check has no such argument \(did you mean replications\?\); it has"
    with pytest.raises(TypeError, match=f"{said} system, seed, replications"):
        crawlsim.check("one-robot", replication=10)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"optimize: missing .* 'target'; it has system, target"):
        crawlsim.optimize("one-robot")  # type: ignore[call-arg]


def test_a_sweep_takes_what_a_run_takes_and_names_the_best_cell() -> None:
    system = quick("one-robot")
    asked = {"buffer.waiting_places": [1, 4, 8]}
    frame = crawlsim.sweep(system, asked, first="loss_probability < 0.1", seed=5, replications=3)
    assert set(frame["replications"]) == {3}
    assert "first with loss_probability < 0.1: buffer.waiting_places = 4" in frame.best
    precise = crawlsim.sweep(
        system, "buffer.waiting_places", [2], precision=sim.Precision(0.03, "loss_probability")
    )
    (row,) = precise[precise.measure == "loss_probability"].to_dict("records")
    assert row["replications"] > 4
    assert (row["high"] - row["low"]) / 2 <= 0.03 * row["estimate"]


def test_a_sweep_has_a_row_for_each_cell_and_measure() -> None:
    frame = crawlsim.sweep(quick("one-robot"), {"buffer.waiting_places": [1, 3]})
    losses = frame[(frame.measure == "loss_probability")]
    assert list(losses["buffer.waiting_places"]) == [1, 3]
    assert losses.estimate.is_monotonic_decreasing
    assert (abs(losses.estimate - losses.predicted) < 6 * losses.standard_error).all()
    without = crawlsim.sweep(quick("one-robot"), {"buffer.waiting_places": [1]}, exact=False)
    assert without.predicted.isna().all()


def test_a_log_becomes_a_scenario(tmp_path: Path) -> None:
    log = tmp_path / "changes.csv"
    times = "".join(f"a,{day}\nb,{day / 3}\n" for day in range(1, 40))
    log.write_text(f"page,time\n{times}")
    found = crawlsim.fit(log, time_unit="day", section="pages")
    scenario = crawlsim.fitted_scenario(found, "fitted")
    assert scenario.pages is not None
    assert len(found.parameters) >= 2
    with pytest.raises(crawlsim.ScenarioError, match="--section"):
        crawlsim.fit(log, section="servers")


def test_the_figures_keep_their_first_name() -> None:
    assert "crawlsim.report" in modules_after("from analytic.report import plot_levels")


@pytest.mark.parametrize(
    "code", ["import crawlsim, scenarios, analytic; from sim import *", "import crawlsim.cli"]
)
def test_what_a_user_imports_first_loads_no_heavy_package(code: str) -> None:
    assert not HEAVY & modules_after(code)


def test_what_results_do_not_hold_is_refused_with_what_they_hold() -> None:
    results = crawlsim.run("one-robot", replications=2)
    with pytest.raises(LookupError, match=r"sojourn_time of one-robot needs a subject: .*'served'"):
        results.find("sojourn_time")
    with pytest.raises(LookupError, match=r"'los_probability' \(did you mean loss_probability\?\)"):
        results.find("los_probability")
    with pytest.raises(LookupError, match=r"subject 99; it has level_probability \(0, 1, 2\)$"):
        results.find("level_probability", 99)


def test_a_precision_is_reached_by_more_replications() -> None:
    asked: dict[str, int] = {"seed": 3, "replications": 4}
    system = quick("one-robot")
    few = crawlsim.run(system, **asked)
    more = crawlsim.run(system, precision=0.02, **asked)
    assert (few.count, few.seed, more.seed) == (4, 3, 3)
    row = more.find("loss_probability")
    assert more.count > 4
    assert (row.high - row.low) / 2 <= 0.02 * row.estimate
    assert crawlsim.check(system, precision=0.02, **asked).results.count == more.count
    with pytest.raises(ScenarioError, match=r"(?s)precision = 2.0.*must be > 0 and at most 1"):
        crawlsim.run("one-robot", precision=2.0)


def test_every_finder_says_what_there_is() -> None:
    check = crawlsim.check(quick("one-robot"), replications=2)
    for finder in (check.results, check.solution, check):
        assert finder.find("sojourn_time", "served").measure == "sojourn_time"
        with pytest.raises(LookupError, match=r"needs a subject: sojourn_time \(.*'served'"):
            finder.find("sojourn_time")
        with pytest.raises(
            LookupError, match=r"did you mean loss_probability\?\); it has .*level_"
        ):
            finder.find("los_probability")
        with pytest.raises(LookupError, match=r"write 'sojourn_time' and its subject as two arg"):
            finder.find("sojourn_time served")
    assert check.find("loss_probability").kind == "exact"
    assert check.solution.find("loss_probability").source == "kleinrock1975 section 3.6"
    for frame in (check.to_frame(), check.solution.to_frame()):
        assert "M/M/1/K" in set(frame.formula)
    with pytest.raises(LookupError, match=r"buffer\.sojourn_quantiles = \[0\.95\] asks for"):
        check.results.find("sojourn_quantile", "served 0.95")
    with pytest.raises(KeyError, match=r"did you mean loss_probability.*sojourn_time \('served'"):
        check.results.replications["los_probability", None]
    assert check.results.replications["loss_probability"]  # type: ignore[index]


def test_a_quantile_that_was_asked_for_is_refused_with_what_rules_it_out() -> None:
    """Not with the advice to ask for it."""
    asked = {"buffer.service": {"deterministic": {"value": 1.0}}, "buffer.sojourn_quantiles": [0.5]}
    check = crawlsim.check(quick("one-robot").with_(asked), replications=2)
    for finder in (check.solution, check):
        with pytest.raises(
            LookupError, match=r"not of phase type \(deterministic\)\); it has"
        ) as e:
            finder.find("sojourn_quantile", "served 0.5")
        assert "asks for" not in str(e.value)
    assert check.results.find("sojourn_quantile", "served 0.5").estimate > 0


def test_sim_takes_what_a_user_has() -> None:
    tables = {"run": {"horizon": 500.0, "warmup": 50.0, "replications": 2}, "name": "mine"}
    tables |= {"robots": {"available": 1, "access_time": {"exponential": {"rate": 0.8}}}}
    tables |= {"buffer": {"waiting_places": 1, "service": {"exponential": {"rate": 1.0}}}}
    assert sim.run(tables).scenario == "mine"
    assert sim.run_to_precision("one-robot", 0.1).scenario == "one-robot"
    with pytest.raises(TypeError, match=r"7 is not a Scenario; scenarios\.load"):
        sim.run(7)  # type: ignore[arg-type]


@pytest.mark.thorough
def test_a_precision_that_is_not_reached_is_told() -> None:
    short = crawlsim.load("one-robot", {"run.horizon": 50.0, "run.warmup": 10.0})
    with pytest.warns(UserWarning, match=r"after 1000 replications the precision is not reached"):
        assert sim.run_to_precision(short, 0.001).count == 1000


@pytest.mark.parametrize(
    ("guess", "said"),
    [
        (({"buffer.waiting_places": 3},), "buffer.waiting_places = 3\nneeds a list"),
        (({"buffer.waiting_places": "1,2"},), "needs a list of values"),
        (("buffer.waiting_places", []), "needs at least one value"),
        (("buffer.waiting_places",), "needs a list of values"),
        (([1, 2],), "must be keys and lists of values"),
        (({},), "must be keys and lists of values"),
        (({"buffer.waiting_places": [1]}, [2]), "must be keys and lists of values"),
    ],
)
def test_a_sweep_that_cannot_be_meant_is_told_the_right_call(guess: Any, said: str) -> None:
    with pytest.raises(ScenarioError) as told:
        crawlsim.sweep("one-robot", *guess)
    assert said in str(told.value)
    assert 'sweep(system, {"buffer.waiting_places": [1, 2, 3]})' in str(told.value)


def test_a_sweep_takes_a_key_and_any_values() -> None:
    system = quick("one-robot")
    asked = crawlsim.sweep(system, {"buffer.waiting_places": [1, 2]})
    for values in ([1, 2], range(1, 3), np.arange(1, 3), iter((1, 2))):
        assert crawlsim.sweep(system, "buffer.waiting_places", values).equals(asked)
    assert crawlsim.rank(
        system, "buffer.waiting_places", [1, 2], minimise="loss_probability"
    ).rows.equals(asked)


@pytest.fixture
def pyplot() -> Iterator[None]:
    """Figures without a window, closed in the end."""
    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


def marks_of(ax: Axes) -> list[float]:
    """Heights of the points of a figure, and of its theory, bars too."""
    bars = [float(bar.get_height()) for bar in ax.patches if isinstance(bar, Rectangle)]
    return [*bars, *(float(y) for line in ax.lines for y in np.asarray(line.get_ydata()))]


@pytest.mark.usefixtures("pyplot")
@pytest.mark.parametrize(
    ("measure", "label"),
    [
        ("loss_probability", "loss probability (share)"),
        ("level_probability", "fraction of time"),
        ("sojourn_time", "sojourn time (time unit)"),
    ],
)
def test_a_run_draws_estimates_and_theory_in_pyplot(measure: str, label: str) -> None:
    results = crawlsim.run(quick("one-robot"))
    ax = results.plot(measure)
    assert plt.gcf() is ax.figure
    seen = [row.estimate for row in results.rows.of_measure(measure)]
    said = {row.value for row in results.solution.predictions if row.measure == measure}
    assert {round(each, 9) for each in (*seen, *said)} <= {round(each, 9) for each in marks_of(ax)}
    assert ax.get_ylabel() == label
    own = plt.figure().add_subplot()
    assert results.plot(measure, ax=own) is own
    assert results.plot().get_ylabel() == "arrival rate (1/time unit)"


@pytest.mark.usefixtures("pyplot")
def test_what_is_observed_over_time_is_drawn_over_time() -> None:
    changes = {"run.replications": 3, "run.horizon": 50.0}
    results = crawlsim.run(crawlsim.load("indexer-outage", changes), engine="simpy")
    ax = results.plot("mean_in_system")
    assert ax.get_xlabel() == "time (minute)"
    course = results.solution.course.columns["mean_in_system", None]
    assert set(np.round(course, 9)) <= set(np.round(marks_of(ax), 9))


@pytest.mark.usefixtures("pyplot")
def test_what_cannot_be_drawn_is_told_with_what_can() -> None:
    system = quick("one-robot")
    with pytest.raises(LookupError, match=r"did you mean loss_probability"):
        crawlsim.run(system).plot("los_probability")
    swept = crawlsim.sweep(system, "buffer.waiting_places", [1, 2])
    with pytest.raises(LookupError, match=r"needs a subject: sojourn_time \('served'"):
        swept.plot("sojourn_time")
    with pytest.raises(LookupError, match=r"'x' was not varied, but buffer\.waiting_places"):
        swept.plot("loss_probability", "x")


@pytest.mark.usefixtures("pyplot")
def test_a_sweep_draws_a_measure_over_any_of_its_entries() -> None:
    grid = {"buffer.waiting_places": [1, 3], "robots.access_time.exponential.rate": [0.5, 0.8, 2.0]}
    swept = crawlsim.sweep(quick("one-robot"), grid)
    ax = swept.plot(x="robots.access_time.exponential.rate", y="sojourn_time served")
    assert ax.get_ylabel() == "sojourn time served (time unit)"
    mine = swept[(swept.measure == "sojourn_time") & (swept.subject == "served")]
    drawn = {round(each, 9) for each in marks_of(ax)}
    assert {round(each, 9) for each in (*mine.estimate, *mine.predicted)} <= drawn
    assert len(drawn) == 2 * len(mine)  # theory at other places of the first entry is not drawn
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1", "3"]
    assert ax.get_legend().get_title().get_text() == "waiting places; lines: formulas"
    drawn = {round(each, 9) for each in marks_of(swept.plot("sojourn_time served"))}
    assert len(drawn) > 2 * len(mine)
    assert swept.plot().get_ylabel() == "arrival rate (1/time unit)"
    both = swept.plot(["sojourn_time served", "sojourn_time all"])
    assert both.get_ylabel() == "time unit"
    names = [text.get_text() for text in both.get_legend().get_texts()]
    assert names[:2] == ["sojourn time served, 0.5", "sojourn time served, 0.8"]
    assert len(names) == 6
    with pytest.raises(ValueError, match=r"served, loss_probability have different units: time"):
        swept.plot(["sojourn_time served", "loss_probability"])
    assert type(mine) is pd.DataFrame
    unsolved = crawlsim.sweep(quick("one-robot"), grid, exact=False).plot("sojourn_time served")
    assert {each for each in marks_of(unsolved) if np.isfinite(each)} == {*mine.estimate}


def test_a_notebook_shows_tables_whose_words_are_no_markup() -> None:
    check = crawlsim.check(quick("one-robot"), replications=2)
    assert re.fullmatch(rf"<Check of one-robot: {check.verdict}, \d+ numbers judged>", repr(check))
    assert check._repr_html_().startswith(f"<p>one-robot: {check.verdict}, ")
    shares = r"arrival_rate 0\.\d+, loss_probability 0\.\d+, starvation_probability 0\.\d+"
    words = rf"<Results of one-robot: 18 estimates, 2 replications, {shares}>"
    assert re.fullmatch(words, repr(check.results))
    assert "loss_probability" in check.results._repr_html_()
    count = len(check.solution.predictions)
    assert repr(check.solution) == f"<Solution of one-robot: {count} predictions>"
    assert "loss_probability" in check.solution._repr_html_()
    assert check.plot().get_xlabel().startswith("(simulation")
    assert check.plot("loss_probability").get_ylabel() == "loss probability (share)"
    long = html_of(pd.DataFrame({"n": ["<script>"] * 31}), "a<b")
    assert "<script>" not in long
    assert long.startswith("<p>a&lt;b</p>")
    assert long.endswith("<p>and 1 more row: to_frame()</p>")


def test_a_decision_and_a_schedule_say_in_a_line_what_they_are(tmp_path: Path) -> None:
    found = crawlsim.optimize("optimal-thresholds", "threshold")
    words = "optimal-thresholds, threshold: control_cost 87.27 with robots [4, 3, 1], at [1, 3]"
    assert repr(found) == f"<Optimum of {words}>"
    assert found._repr_html_().startswith(f"<p>{words}</p><table")
    strange = replace(found, scenario="<script>")
    assert "<script>" not in strange._repr_html_()
    visits = "url,time,changed\n" + "".join(
        f"http://a/<b>,2024-{month:02}-{day:02},{day % 2}\n"
        for month in range(1, 13)
        for day in (1, 8, 15)
    )
    (tmp_path / "visits.csv").write_text(visits)
    plan = crawlsim.schedule(tmp_path / "visits.csv", "1/day")
    assert re.fullmatch(r"<Schedule of 1 page: 1 visit a day, .*>", repr(plan))
    assert "http://a/&lt;b&gt;" in plan._repr_html_()


def test_a_check_without_a_formula_says_so_at_once() -> None:
    law = {"lognormal": {"mean": 1.0, "sd": 1.0}}
    system = quick("one-robot").with_({"robots.access_time": law, "buffer.service": law})
    judged = crawlsim.check(system, engine="simpy", replications=2)
    assert repr(judged).startswith("<Check of one-robot: inconclusive, no formula predicts ")
    assert all(name in repr(judged) for name in system.judged)
    nothing = crawlsim.check(system.with_("judged", []), engine="simpy", replications=2)
    assert repr(nothing) == "<Check of one-robot: not judged, no exact formula covers it>"
    assert "loss_probability" in nothing._repr_html_()


def test_a_solution_is_its_predictions_and_the_formulas_that_do_not_apply() -> None:
    found = crawlsim.solve("one-robot")
    predictions, others = found
    assert predictions is found.predictions
    assert others is found.not_applicable
    assert predictions[0].value > 0


def test_a_choice_in_python_adds_replications_as_they_are_needed() -> None:
    """One system under two seeds: the mean of what each replication adds, stage by stage."""
    base = quick("one-robot").with_(
        {"run.horizon": 60.0, "run.warmup": 5.0, "run.replications": 10}
    )
    found = crawlsim.rank(
        base,
        "run.seed",
        [1, 2],
        minimise="loss_probability",
        indifference=1e-6,
        max_replications=25,
        exact=False,
        engine="simpy",
    )
    assert found.best is not None
    assert max(found.choice["replications"]) > 10
    for seed, row in zip([1, 2], found.choice.itertuples(), strict=True):
        cell = base.with_("run.seed", seed)
        stages = [(0, 10)] + ([(10, 20)] if row.replications > 10 else [])
        stages += [(20, 25)] if row.replications > 20 else []
        values = []
        for begin, end in stages:
            results = sim.run(cell, first=begin, replications=end - begin, engine="simpy")
            row_of_stage = results.find("loss_probability")
            assert row_of_stage is not None
            without = np.array(results.leave_one_out["loss_probability", None])
            count = end - begin
            values += (count * row_of_stage.estimate - (count - 1) * without).tolist()
        assert row.estimate == pytest.approx(np.mean(values))
