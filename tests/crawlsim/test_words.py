"""What reports and tables of verdicts say, in sentences."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analytic import Comparison
from analytic.verdicts.law_check import LawComparison
from crawlsim.cli.output import (
    _important_pages,
    _remedies,
    _seen,
    _shown_times,
    _without_reached_bounds,
    comparison_table,
    show_distributions,
)
from crawlsim.report.words import (
    ComparisonRow,
    meaning_of,
    meaning_of_laws,
    name_of,
    percent,
    rows_of,
    summary_of,
    with_unit,
)
from crawlsim.summary import TOO_RARE, alike, without_formula, worst_pages
from scenarios import load, scenario_from
from scenarios.law_points import LAWS

ROW = Comparison(
    *("loss_probability", None, 0.1, 0.1, 0.001, 0.0, "agrees"),
    detectable=0.01,
    kind="exact",
    source="a paper",
)


def said(verdict: str, *changes: dict[str, Any], replications: int = 40) -> str:
    rows = [replace(ROW, **{"verdict": verdict} | each) for each in changes]
    return meaning_of(verdict, [ComparisonRow(row, ()) for row in rows], replications)


@pytest.mark.parametrize(
    ("verdicts", "summary"),
    [
        (["agrees"], "1 scenario agrees"),
        (["simulated"], "1 scenario is simulated only"),
        (["agrees", "disagrees"], "2 scenarios: 1 disagrees, 1 agrees"),
        (["agrees"] * 3 + ["inconclusive"] * 2, "5 scenarios: 2 are inconclusive, 3 agree"),
        (["not judged"] * 2, "2 scenarios: 2 are not judged"),
    ],
)
def test_a_summary_counts_each_verdict(verdicts: list[str], summary: str) -> None:
    assert summary_of(verdicts) == summary


def test_nothing_simulated_or_nothing_judged_is_said() -> None:
    assert meaning_of("simulated", [], 4).startswith("Simulated only.")
    assert said("not judged", {}).startswith("No exact formula and no bound")


@pytest.mark.parametrize(
    ("detectable", "seen"),
    [
        ([0.01], "The judged number agrees: no significant difference, and a difference of 2 %"),
        ([0.02, 0.02], "All 2 judged numbers agree: no significant difference, and a "),
        ([0.02, 0.021], "a difference of 2 % (2.1 % for loss probability)"),
        ([0.03, 0.04], "2 % (more for 2 of them, up to 4 % for loss probability)"),
        ([0.03, 1.0], "up to 100 % for loss probability)"),
        ([0.03, 1.01], "up to more than 100 % for loss probability)"),
    ],
)
def test_agreement_says_what_would_have_been_seen(detectable: list[float], seen: str) -> None:
    text = said("agrees", *({"detectable": each} for each in detectable))
    assert seen in text
    assert text.endswith("would have been seen with probability 0.95.")


def test_disagreement_says_how_many_numbers_differ() -> None:
    agrees = {"verdict": "agrees"}
    assert said("disagrees", {}).startswith("The judged number differs from the prediction")
    assert said("disagrees", {}, agrees).startswith("1 of 2 judged numbers differs from")
    assert said("disagrees", {}, {}, agrees).startswith("2 of 3 judged numbers differ from")


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ([{"predicted": math.nan}] * 2, "No formula predicts loss probability here."),
        ([{"reason": "a rate is unknown"}, {}], "A rate is unknown."),
        ([{"warmup_too_short": True}, {}], "The warm-up is too short for the system to forget"),
        ([{"window_too_short": True}, {}], "The window is too short: its two ends alone"),
        ([{"too_rare": True}, {}], f"To settle it takes {TOO_RARE}."),
        ([{"replications_needed": 90}], "90 replications (now 40) would settle it."),
        (
            [{"replications_needed": 90}, {"replications_needed": 70}],
            "90 replications (now 40) would settle all of them.",
        ),
        ([{"replications_needed": 90}, {}], "More replications are needed to know how precise"),
    ],
)
def test_what_is_inconclusive_says_what_would_settle_it(
    changes: list[dict[str, Any]], remedy: str
) -> None:
    text = said("inconclusive", *changes)
    assert f"could not be settled by this run. {remedy}" in text


def test_disagreements_come_first_and_alike_predictions_share_a_row() -> None:
    rows = rows_of([ROW, replace(ROW, source="a book"), replace(ROW, verdict="disagrees")])
    assert [row.comparison.verdict for row in rows] == ["disagrees", "agrees"]
    assert rows[1].sources == ("a paper", "a book")


@pytest.mark.parametrize(
    ("verdicts", "text"),
    [
        ([], ""),
        (["not judged"], "No exact distribution covers what was simulated."),
        (["agrees", "not judged"], "Of the one distribution, 1 agrees."),
        (["agrees", "agrees", "disagrees"], "Of 3 distributions, 1 disagrees, 2 agree."),
    ],
)
def test_distributions_are_counted(verdicts: list[Any], text: str) -> None:
    assert meaning_of_laws([LawComparison(LAWS[0], each, 9) for each in verdicts]) == text


def test_names_and_shares() -> None:
    assert percent(0.0123) == "1.2 %"
    assert percent(None) == "–"
    assert name_of("level_probability", 3) == "level probability\N{NO-BREAK SPACE}3"
    assert name_of("sojourn_time", "served") == "sojourn time served"
    assert with_unit("sojourn_time", "served", "hour") == "sojourn time served (hour)"


OPEN: dict[str, Any] = {"verdict": "inconclusive", "measure": "loss_rate"}
"""One more row that is inconclusive, of another measure."""


@pytest.mark.parametrize(
    ("changes", "replications", "lines"),
    [
        ([{"verdict": "agrees", "replications_needed": 90}], 40, []),
        (
            [{"replications_needed": 90}],
            40,
            ["1 row inconclusive: try --replications 90, which would settle all of them"],
        ),
        (
            [{"replications_needed": 90}, OPEN | {"replications_needed": 100}],
            40,
            ["2 rows inconclusive: try --replications 100, which would settle all of them"],
        ),
        (
            [{"replications_needed": 90}, OPEN],
            40,
            ["2 rows inconclusive: try --replications 90, which would settle most of them"],
        ),
        (
            [{"replications_needed": 90}, OPEN | {"warmup_too_short": True}],
            40,
            [
                "1 row inconclusive: the warm-up is too short: try --warmup auto",
                "1 row inconclusive: try --replications 90, with the longer warm-up, "
                "which would settle all of them",
            ],
        ),
        (
            [{"window_too_short": True}, OPEN | {"too_rare": True}],
            40,
            [
                "1 row inconclusive: the window is too short: lengthen run.horizon",
                f"1 row inconclusive: {TOO_RARE}",
            ],
        ),
        (
            [{"reason": "a rate is unknown"}, OPEN | {"reason": "a rate is unknown"}],
            40,
            ["2 rows inconclusive: a rate is unknown"],
        ),
        (
            [{"replications_needed": 4001}],
            40,
            ["1 row inconclusive: the run is far too short: try a longer run.horizon first"],
        ),
        (
            [{"replications_needed": 4000}],
            40,
            ["1 row inconclusive: try --replications 4000, which would settle all of them"],
        ),
        ([{}], 1, ["one replication has no error: at least two are needed, ten are better"]),
    ],
)
def test_a_table_says_what_would_settle_its_rows(
    changes: list[dict[str, Any]], replications: int, lines: list[str]
) -> None:
    rows = [replace(ROW, **{"verdict": "inconclusive"} | each) for each in changes]
    assert list(_remedies(rows, replications)) == lines


def test_bounds_that_exact_values_reach_go_without_saying() -> None:
    reached = replace(ROW, kind="upper bound", predicted=0.1 + 1e-9)
    above = replace(ROW, kind="upper bound", predicted=0.11)
    of_another = replace(reached, subject=1)
    open_ = replace(reached, verdict="inconclusive")
    rows = [ROW, reached, above, of_another, open_]
    assert list(_without_reached_bounds(rows)) == [ROW, above, of_another, open_]


def test_what_no_formula_predicts_is_named_once() -> None:
    unknown = replace(ROW, verdict="inconclusive", predicted=math.nan)
    rows = [ROW, unknown, unknown, replace(unknown, measure="loss_rate")]
    assert without_formula(rows, "not judged") == "no exact formula covers it"
    said = "no formula predicts loss_probability, loss_rate"
    assert without_formula(rows, "inconclusive") == said
    assert without_formula(rows, "agrees") == ""


def test_numbers_are_alike_up_to_rounding() -> None:
    rows = [("a", 1.0), ("b", 1.0), ("a", 1.0 + 1e-10), ("a", 1.0 + 1e-8)]
    groups = alike(rows, lambda row: row[0], lambda row: row[1])
    assert groups == [[rows[0], rows[2]], [rows[3]], [rows[1]]]


def test_the_worst_pages_have_the_largest_weight_times_rate() -> None:
    robots: dict[str, Any] = {"available": 1, "accessing": {"policy": "round-robin"}}
    robots["access_time"] = {"exponential": {"mean": 1.0}}
    pages = {"change_rates": [1.0] * 4, "weights": [1.0, 2.0, 4.0, 3.0]}
    scenario = scenario_from({"name": "worst", "pages": pages, "robots": robots})
    rates = [(0, 0.8), (1, 0.4), (2, 0.1), (3, math.nan)]
    assert worst_pages(scenario, rates, 2) == [(0, 0.8), (1, 0.4)]
    assert worst_pages(scenario, rates, 9) == [(0, 0.8), (1, 0.4), (2, 0.1)]
    assert worst_pages(scenario.with_("pages.weights", [1.0, 2.0, 9.0, 3.0]), rates, 1) == [
        rates[2]
    ]


def test_a_verdict_that_agrees_says_what_it_covers() -> None:
    scenario = load("one-robot")
    rows = [ROW]

    def title(verdict: str, scope: str, changes: tuple[str, ...] = ()) -> str:
        table = comparison_table(scenario, rows, verdict, scope, changes)
        return re.sub(r"\[[^]]*\]", "", str(table.title))

    assert title("agrees", "of all") == "one-robot: agrees (of all)"
    assert title("agrees", "") == "one-robot: agrees"
    assert title("disagrees", "of all") == "one-robot: disagrees"
    assert title("agrees", "of all", ("a=1",)) == "one-robot, a=1: agrees (of all)"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, None),
        (
            {"warmup_too_short": True},
            "  the warm-up is too short for these distributions: try --warmup auto",
        ),
        ({"too_rare": True}, f"  a distribution that far out takes {TOO_RARE}"),
        (
            {"reason": "it has batches"},
            "  no exact distribution of sojourn_time served: it has batches",
        ),
    ],
)
def test_what_stands_against_a_distribution_is_said(
    changes: dict[str, Any], line: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    law = SimpleNamespace(measure="sojourn_time", subject="served")
    row = LawComparison(law, "inconclusive", 10, **changes)  # type: ignore[arg-type]
    show_distributions(load("one-robot"), [row, row])
    out = capsys.readouterr().out.splitlines()
    twice = line and line.replace("served", "served, sojourn_time served", 1)
    assert out == ([] if line is None else [twice if "reason" in changes else line])


@pytest.mark.parametrize(
    ("detectable", "cell"),
    [(None, "–"), (0.123, "12 %"), (1.0, "1e+02 %"), (1.01, "> 100 %")],
)
def test_what_could_be_seen_is_a_part_of_the_number_or_more_than_all(
    detectable: float | None, cell: str
) -> None:
    assert _seen(replace(ROW, detectable=detectable)) == cell


def test_of_very_many_pages_those_followed_are_important() -> None:
    """Of few the twenty of the largest weight times change rate, of very many five."""
    rates = [0.001 * (1 + (7 * page) % 30) for page in range(30)]
    scenario = load("randomized-constant").with_(
        {
            "pages.change_rates": rates,
            "pages.weights": "uniform",
            "robots.accessing.frequencies": "uniform",
        }
    )
    order = sorted(range(30), key=lambda page: -rates[page])
    assert [page for page, _ in _important_pages(scenario)] == order[:20]
    many = scenario.with_("run.page_rows", 29)
    assert [page for page, _ in _important_pages(many)] == order[:5]


@pytest.mark.parametrize("most", [4, 5, 8])
def test_times_that_are_shown_are_spread_evenly_with_the_last_and_the_changes(most: int) -> None:
    times = np.arange(1.0, 21.0)
    assert _shown_times(times[:most], [], most) == list(range(most))
    even = [round(20 * (k + 1) / most) - 1 for k in range(most)]
    assert _shown_times(times, [], most) == even
    assert even[-1] == 19
    one = _shown_times(times, [6.5, 99.0], most)
    assert len(one) <= most
    assert {6, 19} <= set(one)
    assert one[-1] == 19
    assert _shown_times(times[:most], [2.5], most) == list(range(most))
    many = [float(each) + 0.5 for each in range(most // 2)]
    assert set(range(most // 2)) < set(_shown_times(times, many, most))
    many.append(most // 2 + 0.5)
    assert _shown_times(times, many, most) == even
