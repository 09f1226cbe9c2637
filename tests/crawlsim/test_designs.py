"""Two designs with common random numbers: how they differ, and which is said to be better."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t
from systems import queue

import crawlsim as program
import sim
from crawlsim.designs import BETTER, DesignComparison, DesignDifference
from scenarios import MEASURES, Results, Scenario, ScenarioError, dumps, load

NAN = math.nan
EMPTY = Results("a", "simpy", 1, 4, [], {})


def design(places: int, **more: Any) -> Scenario:
    return queue({"buffer.waiting_places": places, "run.replications": 6} | more)


def uncontrolled(places: int, **more: Any) -> Scenario:
    """A robot that delivers the same whatever the buffer does."""
    short = {"run.horizon": 2000.0, "run.warmup": 100.0, "run.replications": 6}
    return load("one-robot").with_(short | {"buffer.waiting_places": places} | more)


@pytest.fixture(scope="module")
def fewer_and_more() -> DesignComparison:
    return program.compare_designs(design(1), design(6))


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Two designs of the same name."""
    paths = [tmp_path / "one.toml", tmp_path / "six.toml"]
    for path, places in zip(paths, (1, 6), strict=True):
        path.write_text(dumps(design(places)))
    return str(paths[0]), str(paths[1])


def row(measure: str, low: float, high: float, subject: str | None = None) -> DesignDifference:
    return DesignDifference(measure, subject, 1.0, 2.0, (low + high) / 2, low, high)


def test_a_difference_is_that_of_the_pairs(fewer_and_more: DesignComparison) -> None:
    """The jackknife by hand: the differences of the estimates without each replication."""
    a, b = sim.run(design(1)), sim.run(design(6), seed=design(1).run.seed)
    for key in (("loss_probability", None), ("sojourn_time", "served"), ("throughput", None)):
        without = np.array(b.leave_one_out[key]) - np.array(a.leave_one_out[key])
        count = len(without)
        error = math.sqrt((count - 1) / count * np.sum((without - without.mean()) ** 2))
        found = fewer_and_more.find(*key)
        assert found.difference == pytest.approx(b.find(*key).estimate - a.find(*key).estimate)
        assert found.half == pytest.approx(t.ppf(0.975, count - 1) * error)
        assert (found.a, found.b) == (a.find(*key).estimate, b.find(*key).estimate)


def test_the_exact_differences_lie_in_the_intervals(fewer_and_more: DesignComparison) -> None:
    """With a fixed seed: those of the formulas, which know nothing of the pairs."""
    one, six = (program.solve(design(places)) for places in (1, 6))
    for measure, subject in (("loss_probability", None), ("sojourn_time", "served")):
        exact = six.find(measure, subject).value - one.find(measure, subject).value
        found = fewer_and_more.find(measure, subject)
        assert found.low < exact < found.high
        assert abs(exact) > found.half  # an interval that says something


def test_common_random_numbers_tell_more_than_two_runs() -> None:
    """Of the rate of deliveries, which the two have in common, everything: they do not differ."""
    designs = [uncontrolled(places) for places in (5, 6)]
    comparison = program.compare_designs(*designs)
    assert comparison.find("arrival_rate").half == 0
    lost = comparison.find("loss_probability")
    runs = [sim.run(each).find("loss_probability") for each in designs]
    alone = math.hypot(*((each.high - each.low) / 2 for each in runs))
    assert 0 < lost.half < alone / 2


@pytest.mark.thorough
def test_the_intervals_hold_the_exact_differences_in_95_of_100_cases() -> None:
    """300 seeds; a true coverage of 95 % lies outside these limits once in 500 tests."""
    short = {"run.horizon": 600.0, "run.replications": 10}
    designs = [uncontrolled(places, **short) for places in (1, 2)]
    exact = [program.solve(each).find("loss_probability").value for each in designs]
    found = [
        program.compare_designs(*designs, seed=seed).find("loss_probability") for seed in range(300)
    ]
    missed = sum(not each.low < exact[1] - exact[0] < each.high for each in found)
    assert 5 <= missed <= 27


def test_a_design_does_not_differ_from_itself() -> None:
    comparison = program.compare_designs(design(2), design(2))
    assert {each.difference for each in comparison.rows} == {0.0}
    assert comparison.sentence == "A and B are not told apart after 6 replications"


def test_the_other_way_round_everything_changes_its_sign(fewer_and_more: DesignComparison) -> None:
    other = program.compare_designs(design(6), design(1))
    turned = {"A": "B", "B": "A", "": ""}
    assert [-each.difference for each in other.rows] == [
        each.difference for each in fewer_and_more.rows
    ]
    assert [turned[each.better] for each in other.rows] == [
        each.better for each in fewer_and_more.rows
    ]
    assert {each.better for each in other.judged} == {"A", "B"}


@pytest.mark.parametrize(
    ("one", "better"),
    [
        (row("loss_probability", -0.3, -0.1), "B"),
        (row("loss_probability", 0.1, 0.3), "A"),
        (row("loss_probability", -0.1, 0.3), ""),
        (row("loss_probability", -0.1, 0.0), ""),
        (row("loss_probability", NAN, NAN), ""),
        (row("throughput", 0.1, 0.3), "B"),
        (row("throughput", -0.3, -0.1), "A"),
        (row("mean_in_system", 0.1, 0.3), ""),
        (row("sojourn_time", -2.0, -1.0, "served"), "B"),
        (row("sojourn_time", -2.0, -1.0, "all"), ""),
    ],
)
def test_better_is_what_lies_wholly_on_the_good_side(one: DesignDifference, better: str) -> None:
    assert one.better == better


def test_prices_come_first_and_what_speaks_against_is_said() -> None:
    rows = [
        row("throughput", -0.3, -0.1),
        row("loss_probability", -0.0046, -0.0036),
        row("control_cost", 0.5, 1.5),
        row("index_age", NAN, NAN),
    ]
    priced = DesignComparison(EMPTY, EMPTY, "minute", rows)
    assert priced.sentence == (
        "A costs less: control_cost +1.00 ± 0.5 cost/minute, throughput -0.20 ± 0.1 1/minute; "
        "B is better: loss_probability -0.410 ± 0.05 points"
    )
    free = DesignComparison(EMPTY, EMPTY, "minute", rows[:2])
    assert free.sentence.startswith("B is better: loss_probability")
    assert "; A is better: throughput" in free.sentence


def test_what_makes_a_design_better_is_a_measure() -> None:
    assert {name.partition(" ")[0] for name in BETTER} <= set(MEASURES)
    assert set(BETTER.values()) == {-1, 1}


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ScenarioError, match="one shows no error"):
        program.compare_designs(design(1), design(2), replications=1)
    with pytest.raises(ScenarioError, match="is 'time unit' in"):
        program.compare_designs(design(1), design(2).with_("time_unit", "hour"))
    crawled = load("randomized-constant").with_("time_unit", "day")
    probed = load("smooth-day").with_("time_unit", "day")
    with pytest.raises(ScenarioError, match="has no measure in common"):
        program.compare_designs(crawled, probed, replications=2)


def test_the_command_says_which_is_better(crawlsim: Any, files: tuple[str, str]) -> None:
    code, out, err = crawlsim("compare", *files)
    assert (code, err) == (0, "")
    comparison = program.compare_designs(*files)
    assert out.splitlines()[-1] == comparison.sentence
    assert out.startswith("A: queue, B: queue")
    (shown,) = (
        line.split() for line in out.splitlines() if line.split()[:1] == ["loss_probability"]
    )
    assert shown[-1] == "B"
    code, out, _ = crawlsim("compare", *files, "--json")
    rows = json.loads(out)
    names = ["measure", "subject", "a", "b", "difference", "low", "high"]
    assert [list(each) for each in rows] == [names] * len(comparison.rows)
    assert rows == json.loads(json.dumps([each._asdict() for each in comparison.rows]))


def test_both_have_the_seed_and_the_replications_of_the_first(
    crawlsim: Any, files: tuple[str, str]
) -> None:
    Path(files[0]).write_text(dumps(uncontrolled(1)))
    Path(files[1]).write_text(dumps(uncontrolled(6, **{"run.seed": 9, "run.replications": 3})))
    seen = json.loads(crawlsim("compare", *files, "--json")[1])
    arrivals = [each for each in seen if each["measure"] == "arrival_rate"]
    assert [each["difference"] for each in arrivals] == [0.0]
    other = json.loads(crawlsim("compare", *files, "--seed", "9", "--json")[1])
    assert other != seen


def test_what_only_one_has_is_named(crawlsim: Any, tmp_path: Path, files: tuple[str, str]) -> None:
    costs = tmp_path / "costs.toml"
    costs.write_text(dumps(design(6, **{"costs.loss": 1.0})))
    _, out, _ = crawlsim("compare", files[0], str(costs))
    assert "only B has control_cost" in out


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--figure", "a.txt"], "must end in .svg, .png or .pdf"),
        (["--figure", "no/a.svg"], "cannot be written to"),
        (["--figure", "mine.svg"], "was not written by crawlsim"),
        (["--replications", "1"], "one shows no error"),
        (["--set", "buffer.places=1"], "buffer.places"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused(
    crawlsim: Any,
    files: tuple[str, str],
    flags: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.svg").write_text("<svg/>")
    there = sorted(tmp_path.iterdir())
    code, out, err = crawlsim("compare", *files, *flags)
    assert (code, out) == (2, "")
    assert says in err
    assert sorted(tmp_path.iterdir()) == there
    assert Path("mine.svg").read_text() == "<svg/>"


def test_the_figure_is_written_and_its_own_replaced(
    crawlsim: Any, files: tuple[str, str], tmp_path: Path
) -> None:
    figure = tmp_path / "difference.svg"
    for _ in range(2):
        code, _, err = crawlsim("compare", *files, "--figure", str(figure))
        assert (code, f"written: {figure}" in err) == (0, True)
    assert "loss probability" in figure.read_text()


def test_the_figure_draws_what_is_defined(fewer_and_more: DesignComparison) -> None:
    ax = fewer_and_more.drawn()
    drawn = [label.get_text() for label in ax.get_yticklabels()]
    judged = {each.name.replace("_", " ") for each in fewer_and_more.judged if each.a > 0}
    assert set(drawn) == judged
    lost = fewer_and_more.find("loss_probability")
    points = {float(line.get_xdata()[0]) for line in ax.lines if len(line.get_xdata()) == 1}
    assert any(each == pytest.approx(100 * lost.difference / lost.a) for each in points)
    assert len(fewer_and_more.plot().get_yticklabels()) == len(drawn)
    undefined = DesignComparison(EMPTY, EMPTY, "minute", [row("index_age", NAN, NAN)])
    assert undefined.drawn().get_yticklabels() == []


def test_rows_are_found_by_their_names(fewer_and_more: DesignComparison) -> None:
    assert fewer_and_more.find("sojourn_time", "served").name == "sojourn_time served"
    with pytest.raises(LookupError, match="no difference of index_age; "):
        fewer_and_more.find("index_age")
    frame = fewer_and_more.to_frame()
    assert list(frame["measure"]) == [each.measure for each in fewer_and_more.rows]
    assert "loss_probability" in fewer_and_more._repr_html_()
    assert repr(fewer_and_more).startswith("<DesignComparison of queue and queue: B is better: ")
