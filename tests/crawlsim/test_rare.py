"""The command `rare`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analytic import exact_values
from scenarios import load


def test_the_estimate_stands_beside_the_formula(crawlsim: Any) -> None:
    _, shown, _ = crawlsim("rare", "one-robot", "--seed", "1")
    assert "loss_probability  0.2622  95 % interval [0.2616, 0.2628]" in shown
    assert "by formula        0.2623  agrees; an error of 0.39 % would show" in shown
    assert "counting losses would do as well" in shown


@pytest.mark.thorough
def test_json_has_the_interval_the_splits_and_the_verdict(crawlsim: Any) -> None:
    given = ("rare", "one-robot", "--set", "buffer.waiting_places=40", "--precision", "0.5")
    found = json.loads(crawlsim(*given, "--json")[1])
    assert found["low"] < found["probability"] < found["high"]
    assert len(found["levels"]) == len(found["copies"]) > 0
    assert found["verdict"] == "agrees"
    assert found["saving"] == pytest.approx(found["plain_events"] / found["events"])


@pytest.mark.thorough
def test_a_precision_that_is_not_reached_is_said(crawlsim: Any) -> None:
    given = ("rare", "one-robot", "--set", "buffer.waiting_places=40", "--precision", "0.01")
    code, shown, said = crawlsim(*given, "--max-replications", "100")
    assert code == 0
    assert "100 replications" in shown
    assert "a precision of 0.01 is not reached with 100 replications" in said
    assert "--max-replications" in said


def test_a_formula_that_is_wrong_is_seen(crawlsim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: one robot's formula with a place less."""
    wrong = exact_values(load("one-robot").with_("buffer.waiting_places", 2))
    monkeypatch.setattr("analytic.exact_values", lambda _: wrong)
    assert "disagrees" in crawlsim("rare", "one-robot")[1]


def test_without_a_formula_it_says_so(crawlsim: Any) -> None:
    robots = "robots={available=2, access_time={lognormal={mean=2.0, sd=1.0}}}"
    both = ("--set", robots, "--set", "activation.static=2")
    _, shown, _ = crawlsim("rare", "one-robot", *both)
    assert "no formula gives it exactly" in shown


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("cyclic-constant",), "buffer"),
        (("one-robot", "batches"), "one too many"),
        (("one-robot", "--precision", "0"), "precision"),
    ],
)
def test_what_cannot_be_done_is_refused(
    crawlsim: Any, given: tuple[str, ...], message: str
) -> None:
    code, shown, said = crawlsim("rare", *given)
    assert code == 2
    assert shown == ""
    assert message in said
