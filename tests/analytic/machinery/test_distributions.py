"""Whole distributions: the exact ones by hand, counts against the event log, verdicts.

Statistical tests have fixed seeds and state their false-alarm rates.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from systems import BATCHES, EVERY_KIND, queue
from test_engines_agree import PIPELINE

import analytic
import sim
from analytic import check_laws, compare, compare_laws, exact_laws, overall, points_of, predict
from analytic.indexing_queue import (
    ExactLaw,
    NoLaw,
    chain_of,
    cycle_cdf,
    levels_at_arrivals,
    solve_chain,
)
from analytic.indexing_queue.exact_laws import _cycles_of
from analytic.verdicts.law_check import LAW_TOLERANCE, LawComparison, LawPoint, with_laws
from crawlsim.report import plot_law
from scenarios import Results, Scenario, scenario_from
from scenarios.law_points import LAWS, LawPoints
from sim import compiled_engine, simpy_engine
from sim.event_log import EventLog

POINTS = LawPoints(
    served=(0.2, 0.5, 1.0, 2.0, 4.0), obsolete=(0.5, 1.0, 2.0), cycle=(1.0, 2.0, 5.0, 9.0)
)

H2 = {"hyperexponential": {"probabilities": [0.788675134594813, 0.211324865405187], "rates": []}}
H2["hyperexponential"]["rates"] = [2 * p for p in H2["hyperexponential"]["probabilities"]]
"""Mean 1 and squared coefficient of variation 2, as a gamma law of shape 0.5 and mean 1."""

NO_PLACES = {
    "activation": {"static": 2},
    "buffer.waiting_places": 0,
    "buffer.obsolescence": "never",
    "run": {"horizon": 4050.0, "warmup": 50.0, "replications": 40, "seed": 1},
}
ONE_SERVER = NO_PLACES | {"activation": {"static": 1}, "buffer.waiting_places": 8}


def solved(scenario: Scenario) -> tuple[Any, Any]:
    chain = chain_of(scenario)
    return chain, solve_chain(chain).stationary


def simulated(scenario: Scenario, laws: list[ExactLaw | NoLaw]) -> Results:
    return sim.run(scenario, points=points_of(laws))


def by_name(rows: list[LawComparison]) -> dict[tuple[str, Any], LawComparison]:
    return {(row.law.measure, row.law.subject): row for row in rows}


# --- exact laws ---------------------------------------------------------------------------------


def test_poisson_arrivals_at_a_constant_rate_see_time_averages() -> None:
    scenario = queue({"activation": {"static": 3}})
    known = {p.subject: p.value for p in predict(scenario)[0] if p.measure == "level_probability"}
    expected = [known[level] for level in range(5)]
    assert levels_at_arrivals(*solved(scenario)) == pytest.approx(expected, rel=1e-12)


def test_arrivals_under_a_threshold_see_each_level_in_proportion_to_its_robots() -> None:
    scenario = queue()
    known = {p.subject: p.value for p in predict(scenario)[0] if p.measure == "level_probability"}
    flows = np.array([robots * known[level] for level, robots in enumerate([3, 3, 3, 1, 1])])
    assert levels_at_arrivals(*solved(scenario)) == pytest.approx(flows / flows.sum(), rel=1e-12)


def test_pages_of_batches_that_find_the_buffer_full_are_those_lost() -> None:
    deliveries = {"thinned": {"process": BATCHES, "keep": [0.3, 0.6, 1.0]}}
    scenario = queue({"robots.deliveries": deliveries})
    lost = next(p.value for p in predict(scenario)[0] if p.measure == "loss_probability")
    assert levels_at_arrivals(*solved(scenario))[-1] == pytest.approx(lost, rel=1e-12)


def cycle_rate(chain: Any, stationary: Any) -> float:
    """Busy cycles per unit time; the mean cycle time is one divided by it."""
    return float(_cycles_of(chain, stationary).start.sum())


def test_the_cycle_without_waiting_places_is_a_service_and_an_idle_time() -> None:
    """Of rates 1 and 1.4: F(t) = 1 - (1.4 exp(-t) - exp(-1.4 t)) / 0.4, mean 1 + 1 / 1.4."""
    chain, law = solved(queue(NO_PLACES))
    times = np.array([0.0, 0.1, 1.0, 3.0, 10.0])
    expected = 1 - (1.4 * np.exp(-times) - np.exp(-1.4 * times)) / 0.4
    assert cycle_cdf(chain, law, times) == pytest.approx(expected, abs=1e-13)
    assert 1 / cycle_rate(chain, law) == pytest.approx(1 + 1 / 1.4, rel=1e-13)


@pytest.mark.by_day(besides=("map", "phase-timers"))
@pytest.mark.parametrize("name", ["map", "phase-timers", "switching-by-phase", "complete"])
def test_the_mean_of_the_cycle_law_is_one_over_the_rate_of_cycles(name: str) -> None:
    chain, law = solved(EVERY_KIND[name])
    mean = 1 / cycle_rate(chain, law)
    times = np.linspace(0.0, 60 * mean, 2001)
    area = np.trapezoid(1 - cycle_cdf(chain, law, times), times)
    assert area == pytest.approx(mean, rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "measure", "says"),
    [
        ({"buffer.discipline": "lifo"}, "sojourn_time", "last come first served"),
        ({"buffer.when_full": "push-out"}, "sojourn_time", "pushes out"),
        ({"buffer.service": {"deterministic": {"value": 1.0}}}, "cycle_time", "not of phase type"),
        ({"run.warmup": 0.5}, "cycle_time", "warm-up"),
        ({"activation": {"static": 0}}, "cycle_time", "never empty, or nothing arrives"),
        ({"robots.access_time.exponential.rate": 200.0}, "cycle_time", "its mean is"),
    ],
    ids=["lifo", "push-out", "constant-service", "short-warm-up", "no-robots", "hardly-ever-empty"],
)
def test_without_an_exact_law_the_reason_is_given(
    changes: dict[str, Any], measure: str, says: str
) -> None:
    rows = [row for row in exact_laws(queue(changes)) if row.law.measure == measure]
    assert rows
    assert all(isinstance(row, NoLaw) and says in row.reason for row in rows)


def test_pages_that_never_become_obsolete_have_no_row() -> None:
    laws = exact_laws(queue({"buffer.obsolescence": "never"}))
    assert [(row.law.measure, row.law.subject) for row in laws] == [
        ("sojourn_time", "served"),
        ("level_at_arrival", None),
        ("cycle_time", None),
    ]


# --- counts -------------------------------------------------------------------------------------


PIPELINES = {
    name: scenario_from(PIPELINE).with_({"buffer.replace_older_copy": True} | changes)
    for name, changes in {
        "replaced": {},
        "replaced-and-pushed-out": {"buffer.when_full": "push-out"},
        "replaced-or-dropped": {"buffer.obsolescence": "page-change"},
    }.items()
}


@pytest.mark.by_day(besides=("switching",))
@pytest.mark.parametrize("name", [*EVERY_KIND, *PIPELINES])
def test_both_engines_count_the_same_and_follow_the_path_of_an_ordinary_run(name: str) -> None:
    scenario = (EVERY_KIND | PIPELINES)[name]
    counted = compiled_engine.simulate(scenario, 1, 3, None, POINTS)
    assert counted == simpy_engine.simulate(scenario, 1, 3, None, POINTS)
    assert replace(counted, laws=None) == compiled_engine.simulate(scenario, 1, 3)


def binned(values: list[float], points: tuple[float, ...]) -> tuple[int, ...]:
    places = np.searchsorted(points, values, side="right")
    return tuple(np.bincount(places, minlength=len(points) + 1).tolist())


def test_the_counts_are_those_of_the_event_log() -> None:
    """Warm-up 50: what began before it counts, what ended or arrived before it does not."""
    stream = io.StringIO()
    tally = simpy_engine.simulate(queue(), 0, 5, EventLog(stream), POINTS)
    entered: dict[str, float] = {}
    sojourns: dict[str, list[float]] = {"service": [], "obsolescence": []}
    cycles = []
    levels = []
    cycle_start = math.nan
    stream.seek(0)
    for row in csv.DictReader(stream):
        now = float(row["time"])
        event = row["event"]
        level = int(row["level"])
        found = level - (event == "delivery")
        if event == "delivery":
            entered[row["page"]] = now
            if found == 0:
                cycles += [now - cycle_start] if now > 50.0 else []
                cycle_start = now
        elif event in sojourns and now > 50.0:
            sojourns[event].append(now - entered[row["page"]])
        if event in ("delivery", "loss") and now > 50.0:
            levels.append(found)
    assert tally.laws is not None
    assert tally.laws.served == binned(sojourns["service"], POINTS.served)
    assert tally.laws.obsolete == binned(sojourns["obsolescence"], POINTS.obsolete)
    assert tally.laws.cycle == binned(cycles, POINTS.cycle)
    assert tally.laws.levels == tuple(np.bincount(levels, minlength=5).tolist())


def test_a_run_that_did_not_count_is_refused() -> None:
    with pytest.raises(ValueError, match="hold no counts"):
        compare_laws(exact_laws(queue()), sim.run(queue()))


# --- verdicts -----------------------------------------------------------------------------------


def made_up(
    rows: list[tuple[int, int]], predicted: float = 0.5, negligible: float = 0.0
) -> LawComparison:
    """One point of one law: (pages below it, pages) of each replication."""
    counts = np.array([(below, total - below) for below, total in rows])
    law = ExactLaw(LAWS[0], np.array([1.0]), np.array([predicted]), "made up")
    key = ("sojourn_time", "served")
    results = Results("made-up", "none", 1, len(rows), (), {}, law_counts={key: counts})
    (row,) = compare_laws([law], results, negligible=negligible)
    return row


def test_the_statistic_is_students_t_by_hand() -> None:
    """Below less half of all: 120, 80, 130 of 1000; mean 110, standard deviation sqrt(700)."""
    row = made_up([(620, 1000), (580, 1000), (630, 1000)])
    error = math.sqrt(700.0) * math.sqrt(3) / 3000
    assert row.statistic == pytest.approx(0.11 / error)
    assert row.points[0].standard_error == pytest.approx(error)


def test_replications_that_happen_to_be_alike_have_the_error_of_independent_pages() -> None:
    row = made_up([(510, 1000)] * 3)
    assert row.points[0].standard_error >= math.sqrt(0.25 / 3000)
    assert row.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("below", "verdict"),
    [
        ([500_000, 500_900, 499_100, 500_300, 499_700], "agrees"),
        ([500, 509, 491, 503, 497], "inconclusive"),
        ([505_000, 505_900, 504_100, 505_300, 504_700], "disagrees"),
        ([500_400, 500_401, 500_399, 500_400, 500_400], "agrees"),  # below 0.2 %
    ],
    ids=["same", "too-few-pages", "half-a-per-cent", "negligible"],
)
def test_verdicts_on_a_distribution(below: list[int], verdict: str) -> None:
    total = 1000 if max(below) < 1000 else 1_000_000
    assert made_up([(each, total) for each in below]).verdict == verdict


def test_an_inconclusive_law_says_how_many_replications_would_settle_it() -> None:
    row = made_up([(5000, 10_000), (5090, 10_000), (4910, 10_000), (5030, 10_000), (4970, 10_000)])
    assert row.detectable is not None
    assert row.detectable > LAW_TOLERANCE
    assert row.replications_needed is not None
    assert row.replications_needed > 5


@pytest.mark.parametrize("rows", [[(500, 1000)], [(0, 0), (0, 0)]], ids=["one", "nothing-seen"])
def test_without_an_error_nothing_is_settled(rows: list[tuple[int, int]]) -> None:
    row = made_up(rows)
    assert row.verdict == "inconclusive"
    assert math.isnan(row.p_value)


def test_only_a_law_that_disagrees_changes_the_verdict_on_the_scenario() -> None:
    refuted = made_up([(900, 1000)] * 9)
    settled = made_up([(500, 1000)] * 9)
    assert refuted.verdict == "disagrees"
    assert with_laws("agrees", [settled, refuted]) == "disagrees"
    assert with_laws("agrees", [settled]) == "agrees"


# --- false alarms and planted errors ------------------------------------------------------------


@lru_cache(maxsize=1)
def laws_and_run(scenario: Scenario, replications: int) -> tuple[list[ExactLaw | NoLaw], Results]:
    laws = exact_laws(scenario)
    return laws, sim.run(scenario, points=points_of(laws), replications=replications)


def smallest_p_values(scenario: Scenario, replications: int, size: int) -> np.ndarray:
    """Of every family of `size` replications, the smallest corrected p-value."""
    laws, whole = laws_and_run(scenario, replications)
    found = []
    for first in range(0, replications, size):
        some = {key: counts[first : first + size] for key, counts in whole.law_counts.items()}
        rows = compare_laws(laws, replace(whole, count=size, law_counts=some))
        found.append(min((row.p_value for row in rows if row.p_value <= 1), default=1.0))
    return np.array(found)


def alarms_allowed(families: int, rate: float) -> int:
    """So many or more alarms have probability below 1e-4 at the stated rate."""
    return int(binom.isf(1e-4, families, rate)) + 1


@pytest.mark.statistical
@pytest.mark.parametrize("size", [5, 40])
def test_true_laws_are_seldom_refuted(size: int) -> None:
    """Some 200 pages in each replication, families of 5 and of 40, 400 replications (seed 7)."""
    scenario = queue({"run": {"horizon": 200.0, "warmup": 50.0, "seed": 7}})
    p_values = smallest_p_values(scenario, 400, size)
    assert (p_values < 0.05).sum() < alarms_allowed(len(p_values), 0.05)
    assert (p_values < 1e-3).sum() < alarms_allowed(len(p_values), 1e-3)


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "window"),
    [("threshold", 150.0), ("threshold", 1000.0), ("mmpp", 500.0), ("no-places", 100.0)],
)
@pytest.mark.parametrize("size", [2, 5, 40])
def test_true_laws_are_refuted_no_more_often_than_stated(
    name: str, window: float, size: int
) -> None:
    """8000 replications of each (seed 7), at 0.2, 0.05, 0.01 and the 1e-3 that verdicts use."""
    run = {"horizon": 50.0 + window, "warmup": 50.0, "seed": 7}
    p_values = smallest_p_values(EVERY_KIND[name].with_({"run": run}), 8000, size)
    for rate in (0.2, 0.05, 0.01, 1e-3):
        assert (p_values < rate).sum() < alarms_allowed(len(p_values), rate), rate


@pytest.mark.statistical
def test_a_law_of_service_with_the_right_mean_and_variance_is_caught() -> None:
    """Gamma simulated, hyperexponential predicted; family errors 1e-3, seed 1.

    Without waiting places nothing but mean and variance of the service enters the numbers of an
    ordinary check, the second moment of the sojourn time among them: all of them agree.
    """
    formula = queue(NO_PLACES | {"buffer.service": H2})
    truth = queue(NO_PLACES | {"buffer.service": {"gamma": {"shape": 0.5, "mean": 1.0}}})
    laws = exact_laws(formula)
    found = simulated(truth, laws)
    assert overall(compare(predict(formula)[0], found)) != "disagrees"
    rows = by_name(compare_laws(laws, found))
    assert rows["sojourn_time", "served"].verdict == "disagrees"
    assert rows["cycle_time", None].verdict == "disagrees"
    assert rows["level_at_arrival", None].verdict == "agrees"
    same = by_name(compare_laws(laws, simulated(formula, laws)))
    assert "disagrees" not in {row.verdict for row in same.values()}


@pytest.mark.statistical
def test_last_come_first_served_is_told_from_first_come_by_its_law_only() -> None:
    """Same levels, same mean sojourn time, same cycles; family errors 1e-3, seed 1."""
    formula = queue(ONE_SERVER)
    laws = exact_laws(formula)
    found = simulated(formula.with_("buffer.discipline", "lifo"), laws)
    means = [p for p in predict(formula)[0] if p.measure != "sojourn_time_second_moment"]
    assert overall(compare(means, found)) != "disagrees"
    verdicts = {key: row.verdict for key, row in by_name(compare_laws(laws, found)).items()}
    assert verdicts["sojourn_time", "served"] == "disagrees"
    assert "disagrees" not in (verdicts["level_at_arrival", None], verdicts["cycle_time", None])


@pytest.mark.statistical
def test_arrivals_that_are_taken_to_see_time_averages_are_caught() -> None:
    """A threshold: 21 % of the time above it, 9 % of the arrivals; family error 1e-3, seed 1."""
    scenario = queue({"run": {"horizon": 2050.0, "warmup": 50.0, "replications": 10, "seed": 1}})
    laws = exact_laws(scenario)
    known = {p.subject: p.value for p in predict(scenario)[0] if p.measure == "level_probability"}
    levels = np.cumsum([known[level] for level in range(5)])
    wrong = [
        replace(law, predicted=levels[law.at.astype(int)])
        if isinstance(law, ExactLaw) and law.law.measure == "level_at_arrival"
        else law
        for law in laws
    ]
    found = simulated(scenario, laws)
    assert by_name(compare_laws(wrong, found))["level_at_arrival", None].verdict == "disagrees"
    assert by_name(compare_laws(laws, found))["level_at_arrival", None].verdict != "disagrees"


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["threshold", "switching", "mmpp", "phase-timers", "complete"])
def test_every_law_of_a_correct_system_holds(name: str) -> None:
    """Family error 1e-3, seed 3, 40 replications: shifts of 2 to 3 % would be seen."""
    run = {"horizon": 1050.0, "warmup": 50.0, "replications": 40, "seed": 3}
    scenario = EVERY_KIND[name].with_({"run": run})
    laws = exact_laws(scenario)
    rows = compare_laws(laws, simulated(scenario, laws))
    assert len(rows) == len(LAWS)
    assert not [row for row in rows if row.verdict in ("disagrees", "not judged")]
    assert max(row.detectable or 0.0 for row in rows) < 0.06


SLOW = queue(
    ONE_SERVER
    | {
        "robots.access_time.exponential.rate": 0.98,
        "buffer.waiting_places": 60,
        "run": {"horizon": 3000.0, "warmup": 0.0, "replications": 400, "seed": 1},
    }
)
"""It remembers its empty start for a thousand time units, and has no warm-up at all."""


@pytest.mark.statistical
def test_a_start_that_was_warned_of_refutes_no_distribution() -> None:
    """Levels at arrivals, far from the exact ones: t above 5 without the start (seed 1)."""
    laws = exact_laws(SLOW)
    found = simulated(SLOW, laws)
    assert by_name(compare_laws(laws, found))["level_at_arrival", None].verdict == "disagrees"
    row = by_name(check_laws(SLOW, laws, found))["level_at_arrival", None]
    assert row.verdict == "inconclusive"
    assert row.warmup_too_short
    assert row.detectable is not None
    assert row.detectable > 0.5


@pytest.mark.thorough
@pytest.mark.statistical
def test_an_error_far_larger_than_a_short_start_makes_is_caught_all_the_same() -> None:
    """A tenth of the window remembers the start; four fifths of the pages find too many."""
    scenario = SLOW.with_({"run.warmup": 10_000.0, "run.horizon": 100_000.0})
    wrong = scenario.with_({"robots.access_time.exponential.rate": 0.7})
    shares = partial(compare_laws, exact_laws(scenario), start_share=lambda _law: 0.1)
    counted = simulated(wrong.with_("run.replications", 5), exact_laws(scenario))
    assert by_name(shares(counted))["level_at_arrival", None].verdict == "disagrees"


@pytest.mark.parametrize(("negligible", "verdict"), [(0.001, "disagrees"), (0.01, "agrees")])
def test_what_the_file_calls_negligible_refutes_no_distribution(
    negligible: float, verdict: str
) -> None:
    """Half a per cent more pages than predicted below the point, of a million in each."""
    below = [505_000, 505_900, 504_100, 505_300, 504_700]
    row = made_up([(each, 1_000_000) for each in below], negligible=negligible)
    assert row.verdict == verdict


# --- command line and report --------------------------------------------------------------------

FILE = """
name = "small"
activation = { static = 2 }
[robots]
available = 2
access_time = { exponential = { rate = 0.7 } }
[buffer]
waiting_places = 0
service = { exponential = { mean = 1.0 } }
[run]
horizon = 2050.0
warmup = 50.0
replications = 10
seed = 1
"""


@pytest.fixture
def small(tmp_path: Any) -> str:
    path = tmp_path / "small.toml"
    path.write_text(FILE)
    return str(path)


def test_json_has_the_distributions_with_their_points(crawlsim: Any, small: str) -> None:
    code, out, _ = crawlsim("check", small, "--distributions", "--json")
    (document,) = json.loads(out)
    rows = {(row["measure"], row["subject"]): row for row in document["distributions"]}
    served = rows["sojourn_time", "served"]
    assert code == 0
    assert set(rows) == {(s.measure, s.subject) for s in LAWS if s.subject != "obsolete"}
    assert set(served["points"][0]) == {"at", "predicted", "estimated", "standard_error"}
    assert len(served["points"]) == 13
    median = served["points"][6]
    assert median["at"] == pytest.approx(math.log(2), rel=0.01)
    assert median["predicted"] == pytest.approx(1 - math.exp(-median["at"]), abs=1e-12)
    assert 0 < served["p_value"] <= 1


def test_an_ordinary_check_has_no_distributions_and_the_same_numbers(
    crawlsim: Any, small: str
) -> None:
    _, plain, _ = crawlsim("check", small, "--json")
    _, both, _ = crawlsim("check", small, "--json", "--distributions")
    (without,), (more,) = json.loads(plain), json.loads(both)
    assert "distributions" not in without
    assert without["comparisons"] == more["comparisons"]


@pytest.mark.parametrize(("engine", "jobs"), [("simpy", "1"), ("compiled", "2")])
def test_the_distributions_are_the_same_whoever_counts(
    crawlsim: Any, small: str, engine: str, jobs: str
) -> None:
    options = ("--json", "--distributions", "--set", "run.horizon=300")
    expected = json.loads(crawlsim("check", small, *options)[1])[0]["distributions"]
    others = crawlsim("check", small, *options, "--engine", engine, "--jobs", jobs)[1]
    assert json.loads(others)[0]["distributions"] == expected


def test_a_law_that_disagrees_exits_with_1_and_says_so(
    crawlsim: Any, small: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    wrong = exact_laws(queue(NO_PLACES | {"buffer.service": H2}))
    monkeypatch.setattr(analytic, "exact_laws", lambda _scenario: wrong)
    folder = tmp_path / "out"
    code, out, _ = crawlsim("check", small, "--distributions", "--out", str(folder))
    assert code == 1
    assert "small: distributions" in out
    assert out.count("disagrees") >= 2
    page = (folder / "report.html").read_text()
    assert "sojourn time served" in page
    assert "Of 3 distributions, " in page
    assert (folder / "distributions.csv").read_text().startswith("scenario,measure,subject,at")
    assert crawlsim("check", small)[0] == 0


@pytest.mark.parametrize(
    "options",
    [("--replications", "1"), ("--set", "run.horizon=50.001")],
    ids=["one-replication", "nothing-seen"],
)
def test_a_report_of_distributions_that_show_no_point_has_dashes(
    crawlsim: Any, small: str, tmp_path: Any, options: tuple[str, ...]
) -> None:
    folder = tmp_path / "out"
    code, _, _ = crawlsim("check", small, "--distributions", *options, "--out", str(folder))
    assert code == 0
    page = (folder / "report.html").read_text()
    (row,) = re.findall(r'<tr><th scope="row"[^>]*>cycle time</th>.*?</tr>', page, re.DOTALL)
    assert row.count("–") == 7


def test_what_the_command_line_calls_negligible_counts_for_distributions_too(
    crawlsim: Any, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = exact_laws(queue(NO_PLACES | {"buffer.service": H2}))
    monkeypatch.setattr(analytic, "exact_laws", lambda _scenario: wrong)
    assert crawlsim("check", small, "--distributions")[0] == 1
    assert crawlsim("check", small, "--distributions", "--negligible", "0.1")[0] == 0


def test_a_short_warm_up_is_named_below_the_table(crawlsim: Any, small: str) -> None:
    options = ("--set", "run.warmup=0", "--set", "run.horizon=20", "--distributions")
    _, out, _ = crawlsim("check", small, *options)
    assert "the warm-up is too short for these distributions: try --warmup auto" in out
    (document,) = json.loads(crawlsim("check", small, *options, "--json")[1])
    rows = {row["measure"]: row for row in document["distributions"]}
    assert rows["level_at_arrival"]["warmup_too_short"] is True


def test_a_reason_stands_below_the_table(crawlsim: Any, small: str) -> None:
    _, out, _ = crawlsim("check", small, "--distributions", "--set", "buffer.discipline=lifo")
    assert "no exact distribution of sojourn_time served: last come first served" in out


def test_a_scenario_without_a_buffer_has_reasons_only(crawlsim: Any) -> None:
    code, out, _ = crawlsim("check", "cyclic-constant", "--distributions", "--replications", "2")
    assert code == 0
    assert "no exact distribution of" in out
    assert "there is no [buffer]" in out


def test_the_figure_names_what_is_counted_and_its_unit() -> None:
    laws = exact_laws(queue())
    rows = by_name(compare_laws(laws, simulated(queue(), laws)))
    ax = plot_law(rows["cycle_time", None], "hours")
    assert ax.get_xlabel() == "cycle time (hours)"
    assert ax.get_ylabel() == "share of the busy cycles"
    line, points = ax.get_lines()[:2]
    assert len(points.get_xdata()) == 13
    assert len(line.get_xdata()) > 100  # smooth, as exact as a pixel
    exact = next(each for each in laws if each.law == rows["cycle_time", None].law)
    assert np.interp(exact.at, *line.get_data()) == pytest.approx(exact.predicted, abs=0.002)
    assert plot_law(rows["level_at_arrival", None], "hours").get_xlabel().endswith("(pages)")
    with pytest.raises(ValueError, match="no distribution to draw"):
        plot_law(LawComparison(LAWS[0], "not judged", 4, reason="a reason"), "hours")


def test_a_long_tail_leaves_room_for_the_other_points() -> None:
    points = tuple(LawPoint(at, at / 200, at / 200, 0.01) for at in (1.0, 2.0, 3.0, 4.0, 150.0))
    row = LawComparison(LAWS[0], "agrees", 4, points=points)
    ax = plot_law(row, "hours")
    assert ax.get_xscale() == "log"
    (strip,) = ax.child_axes
    assert strip.get_xlim() == ax.get_xlim()
    assert ax.get_xlim()[0] > 0.1
    assert plot_law(replace(row, points=points[:4]), "hours").get_xscale() == "linear"
