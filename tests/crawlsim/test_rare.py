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


@pytest.mark.parametrize(
    ("reached", "said"),
    [
        ([], "nothing was seen yet"),
        (
            [("pilot", (16, 41, 37_000_000))],
            "the pilot has climbed to level 16 of 41, in 3.7e+07 events: too little for a number",
        ),
        (
            [("pilot", (3, 4, 9)), ("progress", (7, 100))],
            "first round, 7 of 100 replications; nothing of them is kept",
        ),
        (
            [("progress", (100, 100)), ("progress", (101, 640))],
            "splitting, 101 of 640 replications; nothing of them is kept",
        ),
    ],
)
def test_an_interrupt_says_how_far_it_came(
    crawlsim: Any, monkeypatch: pytest.MonkeyPatch, reached: Any, said: str
) -> None:
    def interrupted(_: Any, **given: Any) -> None:
        for name, numbers in reached:
            given[name](*numbers)
        raise KeyboardInterrupt

    monkeypatch.setattr("sim.splitting.rare_losses", interrupted)
    code, shown, err = crawlsim("rare", "one-robot")
    assert (code, shown) == (130, "")
    assert err.strip().endswith(f"interrupted; {said}")


def test_where_no_path_climbs_high_enough_it_says_what_a_formula_knows(
    crawlsim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim.splitting._MOST_EVENTS", 300_000)
    places = "buffer.waiting_places=60"
    code, shown, err = crawlsim("rare", "one-robot", "--set", places)
    assert (code, shown) == (2, "")
    exact, _ = exact_values(load("one-robot").with_("buffer.waiting_places", 60))[
        "loss_probability", None
    ]
    assert f"may do; crawlsim solve gives {exact:.4g} by formula" in " ".join(err.split())


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
