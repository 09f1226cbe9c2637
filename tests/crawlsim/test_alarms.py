"""Alarms: which side of a bound an interval is on, exit codes, and the file for a CI."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from systems import queue

import sim
from analytic.transient.start_up import WarmUpNeed
from crawlsim.alarms import Ruling, alarms_of, exit_code, rulings_of, rulings_of_cells
from crawlsim.bounds import asks_for_quantile
from crawlsim.cli.alarms import Case, _junit
from scenarios import ScenarioError, dumps, load
from scenarios.results import Estimate, Results
from sim.estimates import t_quantile
from sim.estimates.intervals import interval, replications_to_exclude
from sim.sweep import Cell

NAN = math.nan


@pytest.fixture
def scenario_file(tmp_path: Path) -> str:
    path = tmp_path / "queue.toml"
    path.write_text(dumps(queue({"judged": ["arrival_rate"]})))
    return str(path)


@pytest.fixture
def lost(scenario_file: str) -> Estimate:
    """The share of lost pages of that queue, as any run of the file gives it."""
    return sim.run(scenario_file).find("loss_probability")


def ruling(text: str, estimate: float, low: float, high: float, replications: int = 10) -> Ruling:
    (alarm,) = alarms_of([text])
    return Ruling("queue", alarm, alarm.keys[0], estimate, low, high, replications)


@pytest.mark.parametrize(
    ("text", "numbers", "verdict"),
    [
        ("loss_probability > 0.01", (0.03, 0.02, 0.04), "fails"),
        ("loss_probability > 0.05", (0.03, 0.02, 0.04), "passes"),
        ("loss_probability > 0.03", (0.03, 0.02, 0.04), "cannot tell"),
        ("loss_probability > 0.02", (0.03, 0.02, 0.04), "cannot tell"),
        ("loss_probability >= 0.02", (0.03, 0.02, 0.04), "fails"),
        ("loss_probability > 0.04", (0.03, 0.02, 0.04), "passes"),
        ("loss_probability >= 0.04", (0.03, 0.02, 0.04), "cannot tell"),
        ("throughput < 5", (4.0, 3.5, 4.5), "fails"),
        ("throughput < 3", (4.0, 3.5, 4.5), "passes"),
        ("throughput<=3.5", (4.0, 3.5, 4.5), "cannot tell"),
        ("loss_probability > 0", (0.0, 0.0, 0.0), "passes"),
        ("loss_probability >= 0", (0.0, 0.0, 0.0), "fails"),
        ("loss_probability > 0", (0.0, 0.0, 0.001), "cannot tell"),
        ("sojourn_time all > 1", (NAN, NAN, NAN), "cannot tell"),
        ("sojourn_time all > 1", (5.0, NAN, NAN), "cannot tell"),
        ("sojourn_time all < 1", (5.0, NAN, NAN), "cannot tell"),
    ],
)
def test_an_interval_fails_on_one_side_and_passes_on_the_other(
    text: str, numbers: tuple[float, float, float], verdict: str
) -> None:
    said = ruling(text, *numbers)
    assert said.verdict == verdict
    assert said.sentence.startswith(f"queue: {verdict}: ")
    assert "\n" not in said.sentence


def test_what_is_undefined_says_why() -> None:
    none = ruling("sojourn_time all > 1", NAN, NAN, NAN)
    one = ruling("sojourn_time all > 1", 5.0, NAN, NAN, replications=1)
    assert "nothing was counted" in none.sentence
    assert "one replication has no interval" in one.sentence
    assert none.replications_needed is one.replications_needed is None
    above = ruling("sojourn_time all > 12", 10.9, 10.8, NAN, replications=3)
    assert above.verdict == "cannot tell"
    assert "3 replications are too few for an interval with two ends" in above.sentence
    astride = ruling("loss_probability > 0.03", 0.03, 0.02, 0.04)
    assert astride.replications_needed is None
    assert "than a simulation can make" in astride.sentence


@pytest.mark.parametrize(
    ("verdicts", "failed", "code"),
    [
        ([], False, 0),
        ([], True, 1),
        (["passes"], False, 0),
        (["passes", "cannot tell"], False, 3),
        (["cannot tell", "fails"], False, 1),
        (["cannot tell"], True, 1),
    ],
)
def test_failed_comes_before_undecided(verdicts: list[str], failed: bool, code: int) -> None:
    numbers = {
        "passes": (0.0, 0.0, 0.1),
        "fails": (0.8, 0.7, 0.9),
        "cannot tell": (0.5, 0.4, 0.6),
    }
    rulings = [ruling("loss_probability > 0.5", *numbers[each]) for each in verdicts]
    assert exit_code(rulings, failed) == code


@pytest.mark.parametrize("limit", [4.7, 5.1])
def test_the_replications_named_tell_in_nine_of_ten_cases_of_a_mean(limit: float) -> None:
    """Normal replications; false alarms of the test: 1 in 1000 of 2000 such runs."""
    random = np.random.default_rng(1)
    replications, spread = 20, 1.5
    half = t_quantile(replications - 1) * spread / math.sqrt(replications)
    needed = replications_to_exclude(limit, 5.0, 5.0 - half, 5.0 + half, replications)
    count = math.ceil(needed)
    values = random.normal(5.0, spread, (2000, count))
    halves = t_quantile(count - 1) * values.std(axis=1, ddof=1) / math.sqrt(count)
    told = np.mean(np.abs(values.mean(axis=1) - limit) > halves)
    assert 0.88 < told < 0.96


@pytest.mark.parametrize(("share", "limit"), [(0.02, 0.023), (0.02, 0.017), (0.97, 0.974)])
def test_the_replications_named_tell_in_nine_of_ten_cases_of_a_share(
    share: float, limit: float
) -> None:
    """Each replication counts 400 pages; the intervals are those of shares.

    Of few events they are wider still, and the numbers too large, up to twice.
    """
    random = np.random.default_rng(2)
    pages, replications = 400, 10

    def intervals(shares: np.ndarray[Any, Any]) -> Any:
        count = shares.shape[1]
        error = shares.std(axis=1, ddof=1) / math.sqrt(count)
        sample = np.full(len(shares), float(pages * count))
        given = ("loss_probability", shares.mean(axis=1), error, sample)
        return interval(*given, t_quantile(count - 1))

    error = math.sqrt(share * (1 - share) / pages / replications)
    given = ("loss_probability", share, error, float(pages * replications))
    low, high = interval(*given, t_quantile(replications - 1))
    assert low < limit < high
    needed = replications_to_exclude(limit, share, float(low), float(high), replications)
    seen = random.binomial(pages, share, (2000, math.ceil(needed))) / pages
    lows, highs = intervals(seen)
    told = np.mean((limit < lows) | (limit > highs))
    assert 0.88 < told < 0.98


def test_what_was_never_seen_takes_replications_in_proportion() -> None:
    """The upper end of nothing seen falls as 1/n: from 0.01 to 0.0001 it takes a hundred times."""
    one = replications_to_exclude(0.001, 0.0, 0.0, 0.01, 10)
    assert replications_to_exclude(0.0001, 0.0, 0.0, 0.01, 10) == pytest.approx(10 * one)
    assert replications_to_exclude(0.0, 0.0, 0.0, 0.01, 10) == math.inf
    assert math.isnan(replications_to_exclude(0.1, NAN, NAN, NAN, 1))


def test_a_subject_is_found_by_number_word_or_as_the_whole(scenario_file: str) -> None:
    results = sim.run(scenario_file)
    texts = ["level_probability 1 > 0", "sojourn_time served > 0", "sojourn_time > 0"]
    keys = [each.key for each in rulings_of(alarms_of(texts), load(scenario_file), results)]
    expected = [("level_probability", 1), ("sojourn_time", "served"), ("sojourn_time", "all")]
    assert keys == expected


def test_a_quantile_that_is_asked_for_has_a_bound(crawlsim: Any, scenario_file: str) -> None:
    """A moment in which it is looked for need not have one; of another share there is none."""
    quantiles = ("run", scenario_file, "--quantiles", "0.95", "--fail-if")
    code, out, err = crawlsim(*quantiles, "sojourn_quantile served 0.95 > 1e6")
    assert (code, "passed 1" in out + err) == (0, True)
    code, out, err = crawlsim(*quantiles, "sojourn_quantile served 0.95 > 1e-6")
    assert (code, "failed 1" in out + err) == (1, True)
    for other in ("served 0.9", "severd 0.95", "0.95"):
        code, _, err = crawlsim(*quantiles, f"sojourn_quantile {other} > 1")
        assert (code, "has no estimate of 'sojourn_quantile'" in err) == (2, True)
    grid = ("--vary", "buffer.waiting_places=1,2", "--set", "buffer.sojourn_quantiles=[0.95]")
    first = ("--first", "sojourn_quantile served 0.95 < 1e6")
    code, out, _ = crawlsim("sweep", scenario_file, *grid, *first)
    assert (code, "first with sojourn_quantile served 0.95 < 1e+06" in out) == (0, True)


def test_a_measure_that_the_run_lacks_is_undefined(scenario_file: str) -> None:
    results = Results("queue", "simpy", 1, 4, [], {})
    (said,) = rulings_of(alarms_of(["index_age > 1"]), load(scenario_file), results)
    assert (said.verdict, said.replications) == ("cannot tell", 4)


SLOW = (
    *("--set", "buffer.waiting_places=400", "--set", "activation.static=1"),
    *("--set", "buffer.obsolescence=never"),
    *("--set", "robots.access_time={exponential={mean=1}}"),
    *("--set", "buffer.service={exponential={mean=1}}"),
    *("--set", "run.warmup=100", "--set", "run.horizon=300", "--replications", "4"),
    *("--engine", "simpy"),
)
"""A queue that takes far longer to fill than anybody waits for."""


def test_nothing_passes_while_the_start_is_remembered(crawlsim: Any, scenario_file: str) -> None:
    """A queue that has hardly begun to fill loses nothing; what fails is told all the same."""
    code, out, _ = crawlsim("run", scenario_file, *SLOW, "--fail-if", "loss_probability > 0.9")
    assert code == 3
    assert "cannot tell: loss_probability > 0.9" in out
    assert "the warm-up (100 " in out
    assert "try --warmup auto" in out
    code, _, _ = crawlsim("run", scenario_file, *SLOW, "--fail-if", "throughput > 0.001")
    assert code == 1


def test_where_nobody_knows_how_long_is_long_enough_alarms_are_told(
    crawlsim: Any, scenario_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    need = WarmUpNeed("how long the start is remembered is not known", math.inf)
    monkeypatch.setattr("analytic.transient.start_up.remembered_starts", lambda _: [need])
    code, out, _ = crawlsim("run", scenario_file, *SLOW, "--fail-if", "loss_probability > 0.9")
    assert (code, "passed 1" in out) == (0, True)


def test_a_sweep_says_which_cells_remember_their_start(crawlsim: Any, scenario_file: str) -> None:
    varied = ("--vary", "buffer.waiting_places=1,400", "--fail-if", "loss_probability > 0.9")
    code, out, error = crawlsim("sweep", scenario_file, *SLOW, *varied)
    assert code == 3
    assert "passed 1, failed 0, cannot tell 1" in out
    assert "1 of 2 cells, such as buffer.waiting_places = 400: the warm-up (100 " in error


def test_a_run_fails_by_its_interval(crawlsim: Any, scenario_file: str, lost: Estimate) -> None:
    assert 0 < lost.low < lost.high
    beyond = f"loss_probability > {lost.low / 2}"
    astride = f"loss_probability > {(lost.estimate + lost.high) / 2}"
    within = f"loss_probability > {lost.high * 1.1}"
    code, out, _ = crawlsim("run", scenario_file, "--fail-if", within)
    assert code == 0
    assert out.endswith("--fail-if: passed 1, failed 0, cannot tell 0\n")
    code, out, _ = crawlsim("run", scenario_file, "--fail-if", within, "--fail-if", astride)
    assert code == 3
    assert "queue: cannot tell: loss_probability > " in out
    assert "after 4 replications about " in out
    code, out, _ = crawlsim("run", scenario_file, "--fail-if", astride, "--fail-if", beyond)
    assert code == 1
    assert "queue: fails: loss_probability > " in out
    code, out, err = crawlsim("run", scenario_file, "--fail-if", beyond, "--json")
    (run,) = json.loads(out)
    (said,) = run["fail_if"]
    assert (code, said["verdict"], said["estimate"]) == (1, "fails", lost.estimate)
    assert "queue: fails: " in err


@pytest.mark.parametrize(
    ("verdict", "code", "problem"),
    [("agrees", 3, "system-out"), ("inconclusive", 3, "skipped"), ("disagrees", 1, "failure")],
)
def test_a_check_fails_by_its_verdict_too(
    crawlsim: Any,
    scenario_file: str,
    lost: Estimate,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    verdict: str,
    code: int,
    problem: str,
) -> None:
    """A disagreement comes before an alarm that cannot tell."""
    monkeypatch.setattr("analytic.overall", lambda _: verdict)
    file = str(tmp_path / "junit.xml")
    astride = ["--fail-if", f"loss_probability > {lost.estimate}", "--junit", file]
    told, _, err = crawlsim("check", scenario_file, *astride)
    assert (told, f"written: {file}" in err) == (code, True)
    cases = [*ElementTree.parse(file).getroot().iter("testcase")]
    assert [case.get("classname") for case in cases] == ["queue", "queue"]
    assert cases[0].get("name") == "agrees with the formulas"
    assert [[each.tag for each in case] for case in cases] == [[problem], ["error"]]


def test_a_sweep_has_a_case_for_each_cell(
    crawlsim: Any, scenario_file: str, tmp_path: Path
) -> None:
    flags = ["sweep", scenario_file, "--vary", "buffer.waiting_places=1,8", "--no-solve"]
    rows = json.loads(crawlsim(*flags, "--json")[1])
    one, eight = (row for row in rows if row["measure"] == "loss_probability")
    assert eight["high"] < one["low"]
    limit = (eight["high"] + one["low"]) / 2
    file = str(tmp_path / "junit.xml")
    alarm = ["--fail-if", f"loss_probability > {limit}", "--junit", file]
    code, out, _ = crawlsim(*flags, *alarm)
    assert code == 1
    assert "queue, buffer.waiting_places = 1: fails: loss_probability" in out
    assert "--fail-if: passed 1, failed 1, cannot tell 0" in out
    (suite,) = ElementTree.parse(file).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert [case.get("classname") for case in suite] == [
        f"queue, buffer.waiting_places = {places}" for places in (1, 8)
    ]
    code, out, _ = crawlsim(*flags, *alarm[:2], "--json")
    document = json.loads(out)
    assert [each["verdict"] for each in document["fail_if"]] == ["fails", "passes"]
    assert document["best"] is None
    assert document["rows"] == rows


@pytest.mark.thorough
def test_a_number_that_some_cells_lack_is_undefined_there_and_one_that_all_lack_refused(
    crawlsim: Any, scenario_file: str, tmp_path: Path
) -> None:
    """Cells that are read from files are not simulated before."""
    vary = ["--vary", "buffer.waiting_places=1,8", "--no-solve", "--out", str(tmp_path / "out")]
    flags = ["sweep", scenario_file, *vary]
    assert crawlsim(*flags)[0] == 0
    code, out, _ = crawlsim(*flags, "--fail-if", "level_probability 6 > 0.9")
    assert code == 3
    assert "waiting_places = 1: cannot tell: level_probability 6 > 0.9 (undefined" in out
    assert "--fail-if: passed 1, failed 0, cannot tell 1" in out
    code, out, err = crawlsim(*flags, "--fail-if", "level_probability 99 > 0.9")
    assert (code, out) == (2, "")
    assert "no cell has such a number" in err


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--fail-if", "loss_probability"], "must be a measure with a bound"),
        (["--fail-if", "loss_probability > nan"], "must be a measure with a bound"),
        (["--fail-if", "lost > 0.01"], "must be a measure:"),
        (["--fail-if", "index_age > 1"], "queue has no estimate of 'index_age'"),
        (["--fail-if", "level_probability 99 > 1"], "no level_probability with subject 99"),
        (["--fail-if", "recovery_time > 1"], "only the formulas give it"),
        (["--junit", "bounds.xml"], "needs --fail-if"),
        (["--fail-if", "throughput < 1", "--junit", "bounds.txt"], "must end in .xml"),
        (["--fail-if", "throughput < 1", "--junit", "no/bounds.xml"], "cannot be written to"),
        (
            ["--fail-if", "throughput < 1", "--junit", "a.xml", "--trace", "./a.xml"],
            "is the file of another option",
        ),
    ],
)
def test_an_alarm_that_answers_nothing_is_refused(
    crawlsim: Any,
    scenario_file: str,
    flags: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    code, out, err = crawlsim("run", scenario_file, *flags)
    assert (code, out) == (2, "")
    assert says in err
    assert list(place.iterdir()) == []


def test_a_file_of_somebody_else_stays(crawlsim: Any, scenario_file: str, tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    file.write_text("<mine/>")
    flags = ["run", scenario_file, "--fail-if", "throughput > 9", "--junit", str(file)]
    code, out, err = crawlsim(*flags)
    assert (code, out) == (2, "")
    assert "was not written by crawlsim" in err
    assert file.read_text() == "<mine/>"
    assert crawlsim(*flags, "--force")[0] == 0
    first = file.read_bytes()
    assert crawlsim(*flags)[0] == 0  # its own it replaces
    assert file.read_bytes() == first


def test_what_strangers_wrote_stays_text() -> None:
    strange = "<a href='x'>&amp;\"]]> \x00\x1b[31m\uffff\u202e ü"
    cases = [Case(strange, strange, problem, strange) for problem in ("failure", "error", "")]
    suite = ElementTree.fromstring(_junit("run", cases).encode())[0]
    assert [[each.tag for each in case] for case in suite] == [
        ["failure"],
        ["error"],
        ["system-out"],
    ]
    shown = "<a href='x'>&amp;\"]]> \\u0000\\u001b[31m\\uffff\\u202e ü"
    assert {case.get("name") for case in suite} == {shown}
    assert suite[0][0].get("message") == suite[2][0].text == shown


def test_an_alarm_on_a_number_that_no_cell_has_is_refused() -> None:
    """Of cells that were read from files nobody looked whether they have it."""
    grid = [Cell({"a": n}, queue()) for n in (1, 2)]
    row = ("loss_probability", None, 0.2, 0.01, 0.18, 0.22, 4, None, None)
    records = [{"rows": [row]}, {"rows": [(*row[:2], 0.05, 0.01, 0.03, 0.07, 6, None, None)]}]
    assert rulings_of_cells([], grid, records) == []
    with pytest.raises(ScenarioError) as error:
        rulings_of_cells(alarms_of(["index_age > 1", "loss_probability > 0.1"]), grid, records)
    assert str(error.value) == '--fail-if = "index_age > 1"\nno cell has such a number'
    fails, passes = rulings_of_cells(alarms_of(["loss_probability > 0.1"]), grid, records)
    assert (fails.where, fails.verdict, fails.replications) == ("queue, a = 1", "fails", 4)
    assert (passes.where, passes.verdict, passes.replications) == ("queue, a = 2", "passes", 6)


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("sojourn_quantile served 0.9", True),
        ("sojourn_quantile all 0.9", True),
        ("sojourn_quantile 0.9", False),
        ("sojourn_quantile 3 0.9", False),
        ("sojourn_quantile served 0.8", False),
        ("sojourn_quantile served all 0.9", False),
        ("time_to_refresh_quantile 0.75", True),
        ("time_to_refresh_quantile 12 0.75", True),
        ("time_to_refresh_quantile x 0.75", False),
        ("time_to_refresh_quantile 1 2 0.75", False),
        ("time_to_refresh_quantile 0.9", False),
        ("loss_probability", False),
        ("loss_probability 0.9", False),
    ],
)
def test_which_names_are_quantiles_that_are_asked_for(name: str, asks: bool) -> None:
    """Of sojourn times by class, of times to refresh of all pages or of one."""
    scenario = load("pipeline-light").with_(
        {"buffer.sojourn_quantiles": [0.9], "pages.refresh_quantiles": [0.75]}
    )
    assert asks_for_quantile(scenario, name) is asks
