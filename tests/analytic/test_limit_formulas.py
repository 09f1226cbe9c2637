"""Formulas for many slow pages as rows of the index: near what they are limits of, and shy else."""

from __future__ import annotations

from typing import Any

import pytest

import sim
from analytic import compare, predict
from scenarios import Scenario, load

NUMBERS = ("(17)", "(18) corrected", "(19) corrected")


def rows(scenario: Scenario) -> dict[str, float]:
    """Weighted obsolescence by the number of the formula."""
    return {
        each.source.removeprefix("coffman1998 "): each.value
        for each in predict(scenario)[0]
        if each.measure == "weighted_obsolescence"
    }


def reasons(scenario: Scenario) -> dict[str, str]:
    return {
        each.source.removeprefix("coffman1998 "): each.reason
        for each in predict(scenario)[1]
        if each.source.removeprefix("coffman1998 ") in NUMBERS
    }


@pytest.mark.parametrize("pages", [150, 246, 300])
@pytest.mark.parametrize("total", [0.1, 2.0])
@pytest.mark.parametrize(
    "law", [{"deterministic": {"value": 1.0}}, {"erlang": {"shape": 2, "mean": 1.0}}], ids=str
)
def test_they_are_near_what_they_are_limits_of(pages: int, total: float, law: Any) -> None:
    """(17) the bound, (18) above the cost and below (19), up to two pages in so many."""
    zipf = {"zipf": {"pages": pages, "exponent": 0.0, "total": total}}
    changes = {"pages.change_rates": zipf, "robots.access_time": law}
    found = rows(load("golden-ratio-246").with_(changes))
    assert found["(17)"] == pytest.approx(found["Theorem 3.4"], rel=2 / pages)
    assert found["(3)"] <= found["(18) corrected"] * (1 + 2 / pages)
    assert found["(18) corrected"] <= found["(19) corrected"] * (1 + 2 / pages)


def test_the_schedule_of_246_pages_is_nearly_the_worst() -> None:
    """10.14 % above the bound in the limit, which the cycle of 17711 slots reaches to 2e-5."""
    found = rows(load("golden-ratio-246"))
    assert found["(18) corrected"] / found["(17)"] == pytest.approx(1.1014, abs=5e-5)
    assert found["(3)"] == pytest.approx(found["(18) corrected"], rel=2e-5)


@pytest.mark.parametrize(
    ("changes", "silent", "reason"),
    [
        ({"pages.change_rates.zipf.total": 20.0}, NUMBERS, "a page changes 0.0813 times"),
        ({"pages.weights": [1.0] * 245 + [2.0]}, NUMBERS, "weights are not proportional"),
        ({"robots.available": 2}, NUMBERS, "2 robots share the sequence"),
        ({"pages.change_rates.zipf.exponent": 1.0}, NUMBERS[1:], "frequencies are not optimal"),
        ({"robots.accessing.cycle": 987}, NUMBERS[1:], "a cycle of 987 slots is too short for 246"),
        ({"robots.accessing": {"policy": "round-robin"}}, NUMBERS[1:], "is not golden-ratio"),
    ],
    ids=str,
)
def test_they_say_why_they_do_not_apply(
    changes: dict[str, Any], silent: tuple[str, ...], reason: str
) -> None:
    scenario = load("golden-ratio-246").with_(changes)
    found = reasons(scenario)
    assert tuple(sorted(found)) == silent
    assert all(reason in each for each in found.values())
    assert not set(silent) & set(rows(scenario))


def test_limits_are_not_judged() -> None:
    scenario = load("golden-ratio-246").with_({"run.horizon": 40_000.0, "run.replications": 3})
    judged = compare(predict(scenario)[0], sim.run(scenario))
    limits = [row for row in judged if row.kind == "asymptotic"]
    assert [row.verdict for row in limits] == ["not judged"] * 3
