"""What a reader sees first: plain lines, pages by their names, and only rows that say much."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from systems import queue

import sim
from analytic import resolve
from crawlsim import summary
from crawlsim.summary import _percent, opening_lines
from scenarios import load, scenario_from
from scenarios.text import units, visible

HOSTILE = "https://a.example/\x1b[31m\u202e[bold]<script>alert(1)</script>"
NAMES = ["https://a.example/news", HOSTILE, "https://b.example/", "https://b.example/x"]
SYSTEM = """name = "my"
time_unit = "minute"
pages.change_rates = { file = "rates.csv", column = "rate" }
robots.available = 12
robots.access_time = { exponential = { mean = 2.0 } }
robots.accessing = { policy = "randomized", frequencies = "change-rate" }
run = { horizon = 2000.0, warmup = 200.0, replications = 5 }
"""
BUFFER = "buffer = { waiting_places = 5, service = { exponential = { mean = 0.2 } } }\n"


def rates(path: Path, names: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        rows = [(1000 + n, name, 0.1 + 0.01 * n) for n, name in enumerate(names)]
        csv.writer(stream).writerows([("id", "url", "rate"), *rows])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rates(tmp_path / "rates.csv", NAMES)
    (tmp_path / "my.toml").write_text(SYSTEM + BUFFER)
    (tmp_path / "alone.toml").write_text(SYSTEM)
    return tmp_path


def opening(out: str) -> list[str]:
    """The lines between the title and the table."""
    lines = out.splitlines()[1:]
    return [line.strip() for line in lines[: next(n for n, x in enumerate(lines) if not x.strip())]]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["run", "check"])
def test_five_lines_say_what_matters(crawlsim: Any, command: str) -> None:
    """Twelve robots deliver 6 pages a minute, of which each would take 0.2 minutes: load 1.2."""
    code, out, _ = crawlsim(command, "my.toml")
    load_, bottleneck, shares, time, worst = opening(out)
    assert code == 0
    assert load_.startswith("load: robots 100 % active (of 12); indexer ")
    offered = float(re.findall(r"offered load ([\d.]+)", load_)[0])
    assert offered == pytest.approx(1.2, rel=0.02)
    need = int(re.findall(r"it would need (\d+) % of the time it has", bottleneck)[0])
    assert (bottleneck.partition(":")[0], need) == (
        "the indexer is the bottleneck",
        round(100 * offered),
    )
    assert all(f"{name} " in shares for name in ("lost", "obsolete", "indexed", "out of date"))
    assert time.endswith(" minutes")
    assert worst.startswith("worst pages: https://b.example/x (")
    assert worst.count("of the time out of date") == 3


@pytest.mark.usefixtures("folder")
def test_a_system_without_a_buffer_has_no_indexer(crawlsim: Any) -> None:
    _, out, _ = crawlsim("run", "alone.toml")
    assert [line.partition(":")[0] for line in opening(out)] == ["load", "shares", "worst pages"]
    assert "indexer" not in out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("mean", "asks"), [("200", True), ("0.0002", True), ("0.2", False)])
def test_times_in_other_units_are_asked_about(crawlsim: Any, mean: str, asks: bool) -> None:
    _, out, _ = crawlsim("run", "my.toml", "--set", f"buffer.service.exponential.mean={mean}")
    assert ("units?" in opening(out)[0]) == asks


@pytest.mark.usefixtures("folder")
def test_robots_that_are_held_back_are_counted_as_if_they_were_not(crawlsim: Any) -> None:
    _, out, _ = crawlsim("run", "my.toml", "--set", "activation.static=3")
    assert "robots 25 % active (of 12)" in out
    assert "the robots are the bottleneck: the indexer needs 30 % of the time it has" in out
    rule = "activation.threshold={robots=[12, 3], at=[2]}"
    _, out, _ = crawlsim("run", "my.toml", "--set", rule)
    need = re.findall(r"with all robots active it would need (\d+) % of the time", out)
    assert float(need[0]) == pytest.approx(120, rel=0.05)


@pytest.mark.usefixtures("folder")
def test_the_load_counts_services_that_do_not_end_and_which_of_several_indexers(
    crawlsim: Any,
) -> None:
    """Six pages a minute of 4000 minutes each: none is indexed, and the load is 24000 / 3."""
    changes = ["buffer.service.deterministic.value=4000", "buffer.servers=3"]
    _, out, _ = crawlsim("run", "my.toml", *(f"--set={each}" for each in changes))
    load_, bottleneck, *_ = opening(out)
    assert "indexers 100 % busy" in load_
    assert float(re.findall(r"offered load ([\d.e+]+)", load_)[0]) == pytest.approx(8e3, rel=0.05)
    start, _, times = bottleneck.partition(" would need ")
    assert start == "the indexers are the bottleneck: they"
    assert int(times.removesuffix(" times the time they have")) == pytest.approx(8e3, rel=0.05)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_a_load_of_one_names_no_bottleneck(crawlsim: Any, seed: str) -> None:
    given = ["--set", f"buffer.service.exponential.mean={1 / 6}", "--seed", seed]
    _, out, _ = crawlsim("run", "my.toml", *given)
    said = "robots and indexer are balanced: the indexer needs "
    assert re.fullmatch(rf"{said}(9[89]|10[012]) % of the time it has", opening(out)[1])


def test_what_is_hardly_less_than_all_is_not_all() -> None:
    shares = (1.0, 1 - 1e-12, 1 - 1e-6, 0.999892, 0.997, 0.0)
    shown = ["100 %", "100 %", "> 99.99 %", "99.99 %", "99.7 %", "0 %"]
    assert [_percent(share) for share in shares] == shown


def test_units_of_time_are_counted_as_words_are() -> None:
    given = [("minute", 2.0), ("minute", 1.0), ("time unit", 0.5), ("ms", 3.0), ("days", 3.0)]
    shown = ["minutes", "minute", "time units", "ms", "days"]
    assert [units(unit, time) for unit, time in given] == shown


def test_a_number_of_robots_says_of_which_classes_they_are(crawlsim: Any) -> None:
    given = ["run", "fast-and-slow-robots", "--replications", "2", "--set", "run.horizon=2000.0"]
    _, out, _ = crawlsim(*given, "--set", "activation.static=4")
    assert "active (of 6: 2 fast, 2 slow)" in opening(out)[0]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["run", "check"])
def test_levels_are_folded_unless_all_rows_are_asked_for(crawlsim: Any, command: str) -> None:
    _, out, _ = crawlsim(command, "my.toml")
    assert ("level_probability 3" in out) == ("inconclusive" in out)
    _, out, _ = crawlsim(command, "my.toml", "--all")
    assert all(f"level_probability {level} " in out for level in range(7))


def test_pages_are_shown_by_their_names_which_never_act(crawlsim: Any, folder: Path) -> None:
    shown = [
        *crawlsim("check", "my.toml", "--out", "out")[1:],
        (folder / "out/report.html").read_text(),
    ]
    shown += crawlsim("solve", "my.toml")[1:]
    shown += crawlsim("optimize", "alone.toml", "--target", "frequencies")[1:]
    shown += crawlsim("sweep", "my.toml", "--vary", "robots.available=2,3", "--out", "swept")[1:]
    for text in shown:
        assert not {letter for letter in text if visible(letter) != letter}
        assert "<script>alert" not in text or "<html" not in text
        assert "obsolescence_rate 2" not in text
    for text in (shown[0], shown[2], shown[3], shown[5]):
        assert "https://b.example/x" in text
    for name in (
        "out/estimates.csv",
        "out/comparisons.csv",
        "out/replications.csv",
        "swept/sweep.csv",
    ):
        with (folder / name).open(newline="", encoding="utf-8") as stream:
            rows = [row for row in csv.DictReader(stream) if row["measure"] == "crawl_rate"]
        assert {(row["subject"], row["page"]) for row in rows} == {
            (str(page), each) for page, each in enumerate(NAMES)
        }


@pytest.mark.thorough
def test_json_and_files_of_pages_without_names_stay_as_they_are(
    crawlsim: Any, folder: Path
) -> None:
    _, out, _ = crawlsim("run", "my.toml", "--json")
    rows = [row for row in json.loads(out)[0]["estimates"] if row["measure"] == "crawl_rate"]
    assert [row["subject"] for row in rows] == [0, 1, 2, 3]
    crawlsim("run", "my.toml", "--set", "pages.change_rates=[1.0, 2.0]", "--out", "out")
    header = (folder / "out/estimates.csv").read_text().splitlines()[0]
    assert header == "scenario,measure,subject,estimate,standard_error,low,high"


def test_classes_of_robots_are_shown_by_their_names(crawlsim: Any) -> None:
    _, out, _ = crawlsim("solve", "one-fast-three-slow")
    assert "mean_active_robots near " in out
    assert "mean_active_robots far " in out
    assert "mean_active_robots 0" not in out


@pytest.mark.thorough
def test_of_many_pages_the_worst_are_shown(crawlsim: Any, folder: Path) -> None:
    """Under accesses in proportion to change rates the worst are those that change the most."""
    rates(folder / "rates.csv", [f"https://a.example/{page}" for page in range(60)])
    _, out, _ = crawlsim("run", "my.toml")
    shown = set(re.findall(r"obsolescence_rate https://a.example/(\d+) ", out))
    assert len(shown) == 20
    assert len(shown & set(map(str, range(35, 60)))) == 20
    assert set(re.findall(r"time_to_refresh https://a.example/(\d+) ", out)) == shown
    assert "rows of all but the worst pages (--all shows every row)" in out
    assert crawlsim("run", "my.toml", "--all")[1].count("obsolescence_rate https") == 60


def test_names_can_be_given(folder: Path) -> None:
    names = ["a", "b", "c"]
    changed = load(folder / "my.toml").with_(
        {"pages.change_rates": [1.0, 2.0, 3.0], "pages.names": names}
    )
    assert changed.as_file()["pages"]["names"] == names
    from scenarios import ScenarioError

    with pytest.raises(ScenarioError, match="has 2 entries; must have 3, one per page"):
        changed.with_("pages.names", ["a", "b"])


def test_names_are_read_from_a_file(crawlsim: Any, folder: Path) -> None:
    """As any other column; a file with too few of them is refused."""
    given = ["solve", "my.toml", "--set", "pages.change_rates=[0.1, 0.2, 0.3, 0.4]"]
    code, out, _ = crawlsim(*given, "--set", 'pages.names={ file = "rates.csv", column = "url" }')
    assert code == 0
    assert "obsolescence_rate https://b.example/x" in out
    rates(folder / "few.csv", NAMES[:3])
    code, _, err = crawlsim(*given, "--set", 'pages.names={ file = "few.csv", column = "url" }')
    assert code == 2
    assert "has 3 entries; must have 4, one per page" in err


@pytest.fixture
def many(folder: Path) -> Path:
    """Sixty pages, of which the last ones of the file change most; the first never change."""
    rates(folder / "rates.csv", [f"https://m.example/{n}" for n in range(60)])
    text = (folder / "rates.csv").read_text().replace(",0.1\n", ",0.0\n")
    (folder / "rates.csv").write_text(text)
    return folder


@pytest.mark.usefixtures("many")
def test_of_many_pages_the_worst_come_first(crawlsim: Any) -> None:
    changes = ["--set", "robots.accessing.frequencies=uniform", "--set", "run.horizon=20000.0"]
    _, out, _ = crawlsim("run", "alone.toml", *changes)
    rows = re.findall(r"obsolescence_rate https://m.example/(\d+) +([\d.e-]+)", out)
    weighted = [float(rate) * (0.1 + 0.01 * int(page)) for page, rate in rows]
    assert len(rows) == 20
    assert weighted == sorted(weighted, reverse=True)
    assert crawlsim("solve", "alone.toml", *changes)[1].count("obsolescence_rate https") == 20


@pytest.mark.usefixtures("many")
def test_without_rates_of_staleness_the_pages_that_change_most_are_shown(crawlsim: Any) -> None:
    """Services of no law that formulas know by page: crawl rates are predicted, ages are not."""
    service = "buffer.service={ pareto = { mean = 0.2, shape = 1.5 } }"
    _, out, _ = crawlsim("solve", "my.toml", "--set", service, "--set", "buffer.servers=2")
    assert "obsolescence_rate" not in out.partition("not applicable")[0]
    shown = re.findall(r"crawl_rate https://m.example/(\d+)", out)
    assert shown == [str(page) for page in range(59, 39, -1)]


@pytest.mark.usefixtures("many")
def test_the_pages_that_are_best_due_first_are_named(crawlsim: Any) -> None:
    """Those that change most: of these pages the last ones."""
    due = ["--set", 'robots.accessing={policy="due", intervals=9.0}']
    code, out, err = crawlsim("optimize", "alone.toml", "--target", "frequencies", *due)
    named = re.findall(r"page (\d+), due after ([\d.]+) \w+: https://m.example/(\d+)", out)
    assert (code, err) == (0, "")
    assert len(named) == 10
    assert all(page == name for page, _, name in named)
    assert [float(time) for _, time, _ in named] == sorted(float(time) for _, time, _ in named)


@pytest.mark.usefixtures("many")
def test_a_page_that_is_never_accessed_is_named(crawlsim: Any) -> None:
    given = ["optimize", "alone.toml", "--target", "frequencies", "--set", "pages.weights=uniform"]
    _, out, _ = crawlsim(*given)
    assert "1 of 60 pages is never accessed: https://m.example/0; change rate 0" in out


def test_a_check_without_predictions_gives_estimates_and_reasons(crawlsim: Any) -> None:
    changes = {
        "judged": "[]",
        "run.horizon": "3000.0",
        "robots.available": "2",
        "robots.access_time.pareto": "{ mean = 1, shape = 1.5 }",
        "buffer.servers": "2",
        "buffer.service.pareto": "{ mean = 1, shape = 1.5 }",
        "activation.threshold": "{ robots = [2, 1], at = [1] }",
    }
    given = [f"--set={key}={value}" for key, value in changes.items()]
    (record,) = json.loads(crawlsim("check", "one-robot", *given, "--json")[1])
    assert (record["comparisons"], record["verdict"]) == ([], "not judged")
    assert any(row["measure"] == "throughput" for row in record["estimates"])
    assert record["not_applicable"][0]["reason"]


@pytest.mark.parametrize(("start", "said"), [("delivery", False), ("start", True)])
def test_what_is_needed_to_say_when_robots_have_caught_up_is_said(
    crawlsim: Any, start: str, said: bool
) -> None:
    given = ["--set", f'robots.accessing.from="{start}"', "--replications", "2"]
    _, out, _ = crawlsim("run", "outage-and-catch-up", *given, "--engine", "simpy")
    assert re.search(r"^  load: robots \d\d\.\d % busy \(of 10\)$", out, re.M)  # they rest at times
    assert ("catch_up_time: give robots.accessing.caught_up" in out) == said
    assert (re.search(r"^ +catch_up_time +[\d.]", out, re.M) is None) == said


@pytest.mark.by_day(besides=("168.0-None",))
@pytest.mark.parametrize(
    ("horizon", "said"),
    [
        (168.0, None),
        (56.0, r"> 3\.\d+ hours in the mean; in \d of 8 replications not caught up by the horizon"),
        (53.0, "> 1 hour in the mean; in 8 of 8 replications not caught up by the horizon"),
        (51.0, "the last intervention ends after the horizon"),
    ],
)
def test_a_run_too_short_to_catch_up_says_what_it_knows(horizon: float, said: str | None) -> None:
    """A replication that had not caught up counts as long as it lasted."""
    changes = {"run.horizon": horizon, "run.replications": 8, "run.warmup": 0.0}
    scenario = resolve(load("outage-and-catch-up", changes))
    results = sim.run(scenario, engine="simpy")
    lines = [each for each in opening_lines(scenario, results) if each.startswith("catch_up_time")]
    assert len(lines) == (said is not None)
    assert said is None or re.fullmatch(f"catch_up_time: {said}", lines[0])
    assert math.isnan(results.find("catch_up_time").estimate) == (said is not None)


# By hand, from what was estimated


def values(**known: float) -> Any:
    """Estimates by measure; there are no others."""
    return lambda measure, subject=None: (
        known.get(measure, math.nan) if subject is None else math.nan
    )


def small(**changes: Any) -> Any:
    return queue({"buffer.service": {"exponential": {"mean": 0.5}}, **changes})


def test_the_offered_load_is_that_of_all_pages_delivered() -> None:
    """Arrivals times services over indexers, of the largest batches, or as they were served."""
    value = values(arrival_rate=3.0)
    assert summary._offered_load(small(), value) == 3.0 * 0.5
    assert summary._offered_load(small(**{"buffer.servers": 2}), value) == 3.0 * 0.5 / 2
    batch = {"buffer.batch": {"most": 2}, "buffer.waiting_places": 4}
    assert summary._offered_load(small(**batch), value) == 3.0 * 0.5 / 2
    batch["buffer.batch"] = {"most": 2, "per_page": {"exponential": {"mean": 0.1}}}
    assert summary._offered_load(small(**batch), value) == pytest.approx(3.0 * (0.5 / 2 + 0.1))
    assert math.isnan(summary._offered_load(load("randomized-constant"), value))
    outage = small(interventions=[{"at": 9.0, "until": 12.0, "service_speed": 0.5}])
    seen = values(arrival_rate=3.0, throughput=1.5, starvation_probability=0.25)
    assert summary._offered_load(outage, seen) == 3.0 * 0.75 / 1.5
    several = values(
        arrival_rate=3.0, throughput=1.5, idle_indexers=0.4, starvation_probability=0.1
    )
    assert summary._offered_load(outage, several) == pytest.approx(3.0 * 0.6 / 1.5)
    assert summary._offered_load(outage, values(arrival_rate=3.0, throughput=0.0)) == math.inf


def bottleneck(load: float, used: float = 1.0, error: float = 0.0, **changes: Any) -> str:
    given = {"activation": {"static": 3}, **changes}
    return " ".join(summary._bottleneck(small(**given), load, used, error))


def test_the_bottleneck_is_who_would_need_more_than_it_has() -> None:
    """Nobody, where the load is within two per cent of 1, or within its error."""
    assert bottleneck(1.03) == (
        "the indexer is the bottleneck: it would need 103 % of the time it has"
    )
    assert (
        bottleneck(0.97)
        == "the robots are the bottleneck: the indexer needs 97 % of the time it has"
    )
    for load_, error in ((1.0199, 0.0), (0.9801, 0.0), (1.05, 0.06), (0.95, 0.06)):
        assert bottleneck(load_, error=error) == (
            f"robots and indexer are balanced: the indexer needs {100 * load_:.0f} % of the time "
            "it has"
        )
    two = {"buffer.servers": 2}
    assert bottleneck(10.0, **two) == (
        "the indexers are the bottleneck: they would need 10 times the time they have"
    )
    assert bottleneck(0.5, **two) == (
        "the robots are the bottleneck: the indexers need 50 % of the time they have"
    )
    assert bottleneck(9.99) == (
        "the indexer is the bottleneck: it would need 999 % of the time it has"
    )


def test_robots_that_rest_are_counted_as_if_all_were_active() -> None:
    rule = {"activation": {"threshold": {"robots": [3, 1], "at": [2]}}}
    assert bottleneck(0.9, 0.6, **rule) == (
        "the indexer is the bottleneck: with all robots active it would need 150 % of the time it "
        "has"
    )
    assert bottleneck(0.3, 0.6, **rule) == (
        "the robots are the bottleneck: the indexer needs 50 % of the time it has"
    )
    assert bottleneck(math.nan) == ""
    assert list(summary._bottleneck(load("randomized-constant"), 1.5, 1.0, 0.0)) == []


def test_the_line_of_loads_says_who_works_how_much() -> None:
    value = values(busy_robots=1.5, starvation_probability=0.25)
    (line,) = summary._load_lines(small(), 0.75, 0.9, value)
    assert line == "load: robots 50 % busy (of 3); indexer 75 % busy, offered load 0.75"
    value = values(idle_indexers=0.4)
    (line,) = summary._load_lines(small(**{"buffer.servers": 2}), 3.5, 0.9, value)
    assert line == (
        "load: robots 90 % active (of 3); indexers 60 % busy, offered load 3.5; units? all times "
        "must be in one unit (time unit)"
    )
    for load_, asks in (
        (0.01, False),
        (3.0, False),
        (0.0099, True),
        (3.01, True),
        (math.nan, False),
    ):
        assert bool(summary._doubt(small(), load_)) == asks


def test_pages_that_count_most_are_those_of_the_largest_product() -> None:
    """Equal ones in their order, undefined ones not at all."""
    scenario = load("randomized-constant").with_(
        {
            "pages.change_rates": [1.0] * 5,
            "pages.weights": [1.0, 5.0, 4.0, 1.0, 8.0],
            "robots.accessing.frequencies": "uniform",
        }
    )
    rates = [(0, 5.0), (1, 2.0), (2, 3.0), (3, 5.0), (4, math.nan)]
    assert summary.worst_pages(scenario, rates, 3) == [(2, 3.0), (1, 2.0), (0, 5.0)]
    assert summary.worst_pages(scenario, rates, 9) == [(2, 3.0), (1, 2.0), (0, 5.0), (3, 5.0)]
    assert summary.worst_pages(small(), rates, 3) == []


def test_the_cost_of_a_packet_is_told() -> None:
    tables = {
        "name": "priced",
        "servers": {
            "rates": [1.0, 2.0],
            "arrivals": {"poisson": {"rate": 1.0}},
            "routing": {"period": [0, 1, 1]},
            "weights": [2.0, 1.0],
        },
        "run": {"horizon": 60.0, "warmup": 5.0, "replications": 2},
    }
    results = sim.run(tables, engine="simpy")
    cost = results.find("routing_cost", "all")
    assert cost is not None
    lines = list(opening_lines(scenario_from(tables), results))
    assert f"cost of a packet: {cost.estimate:.3g}" in lines
