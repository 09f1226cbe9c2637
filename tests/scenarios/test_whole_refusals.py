"""Refusals to the letter, key and value included, and what stands just inside of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems import queue

import scenarios
from scenarios import Scenario, ScenarioError, environment, files, load, scenario_from, sections
from scenarios.accessing.cyclic import Cyclic
from scenarios.accessing.policy import require_pages
from scenarios.base import LARGEST
from scenarios.probing import most_probes

RATE = {"breaks": [0.0], "values": [1.0], "period": 1.0}
SOURCE = {"updates": RATE, "importance": RATE}
EXPONENTIAL = {"exponential": {"mean": 1.0}}
TOO_MANY = 3 * (sections.MOST_ROBOTS // 3 + 1)
BY_CLASS = {
    "thinned": {"process": {"poisson": {"rate": 1.0}}, "keep": [1.0] * 3},
    "shares": [0.01] * 100 + [0.0],
}
TIMES = [[1.0, 4.0], [2.0, 3.0, 4.0]]


def probed(sources: int = 1, **probing: Any) -> Scenario:
    """One source of a monitor, or several, over four units of time."""
    several = {"sources": [SOURCE] * sources} if sources > 1 else {"source": SOURCE}
    settings = {"horizon": 4.0, "probes": 4, "policy": "uniform"} | probing
    given = {key: value for key, value in settings.items() if value is not None}
    return scenario_from({"name": "probed", **several, "probing": given})


def refused(build: Any, *arguments: Any, **named: Any) -> tuple[str, Any, str]:
    """Key, value and what is allowed, of what is refused."""
    with pytest.raises(ScenarioError) as caught:
        build(*arguments, **named)
    return caught.value.key, caught.value.value, caught.value.allowed


# Probes


@pytest.mark.parametrize(
    ("sources", "probing", "key", "value", "allowed"),
    [
        (1, {"at_once": 2}, "at_once", 2, "needs sources, a list; [source] is one"),
        (1, {"split": "equal"}, "split", "equal", "needs sources, a list; [source] is one"),
        (
            1,
            {"minimum_spacing": [0.5, 1.0]},
            "minimum_spacing",
            (0.5, 1.0),
            "must be a number; a list goes with sources, one entry for each",
        ),
        (
            1,
            {"policy": {"times": TIMES}, "probes": None},
            "policy.times",
            ((1.0, 4.0), (2.0, 3.0, 4.0)),
            "must be numbers; lists go with sources, one for each",
        ),
        (
            1,
            {"policy": {"times": [1.0, 4.0]}, "probes": 3},
            "probes",
            3,
            "must be the number of times (2), or be left out",
        ),
        (
            1,
            {"minimum_spacing": 1.01},
            "minimum_spacing",
            1.01,
            "times 4 probes must not exceed horizon (4.0)",
        ),
        (
            1,
            {"policy": "optimal", "slots": 7, "minimum_spacing": 0.6},
            "slots",
            7,
            "has no room for 4 probes, each 2 slots after the last",
        ),
        (
            2,
            {"minimum_spacing": [0.5, 4.5], "split": "equal"},
            "minimum_spacing",
            (0.5, 4.5),
            "source 1 has no room for its probe at the horizon",
        ),
        (2, {"probes": 1}, "probes", 1, "must be >= 2: each source has one at the horizon"),
        (
            2,
            {"probes": 8, "minimum_spacing": [1.0, 1.5], "split": "equal"},
            "probes",
            8,
            "must be <= 6: the sources have room for no more",
        ),
        (
            2,
            {"probes": 6, "minimum_spacing": [1.0, 1.5], "split": [3, 3]},
            "split[1]",
            3,
            "must be <= 2: source 1 has room for no more",
        ),
        (
            2,
            {"split": [2, 3]},
            "split",
            (2, 3),
            "sums to 5; must sum to probes (4)",
        ),
        (
            2,
            {"policy": {"times": TIMES}, "probes": None, "split": [2, 3]},
            "split",
            (2, 3),
            "does not go with times, which say how many each source has",
        ),
        (
            2,
            {"policy": {"times": TIMES}, "probes": 4},
            "probes",
            4,
            "must be the number of times (5), or be left out",
        ),
        (
            3,
            {"policy": {"times": TIMES}, "probes": None},
            "policy.times",
            ((1.0, 4.0), (2.0, 3.0, 4.0)),
            "must have 3 lists of times, one per source",
        ),
        (
            2,
            {"policy": {"times": [[1.0, 4.0], [2.0, 3.0]]}, "probes": None},
            "policy.times[1]",
            (2.0, 3.0),
            "the last must be the horizon (4.0)",
        ),
        (
            2,
            {"policy": {"times": TIMES}, "probes": None, "minimum_spacing": [1.0, 1.5]},
            "policy.times[1]",
            (2.0, 3.0, 4.0),
            "must lie minimum_spacing (1.5) apart, from 0 on",
        ),
        (
            2,
            {"probes": 9, "policy": "optimal", "slots": 4, "at_once": 2, "minimum_spacing": 0.0},
            "probes",
            9,
            "must be <= 8: the sources have room for no more",
        ),
        (
            2,
            {"probes": 6, "policy": "optimal", "slots": 4, "at_once": 1},
            "at_once",
            1,
            "is too small: before the horizon there is room for 3 probes (3 times), "
            "and 4 of the probes are not at the horizon",
        ),
        (
            2,
            {"policy": "uniform", "split": "equal", "at_once": 1},
            "at_once",
            1,
            'goes with policy = "optimal" or with times, which others do not give up',
        ),
    ],
)
def test_what_does_not_fit_the_sources_is_refused(
    sources: int, probing: dict[str, Any], key: str, value: Any, allowed: str
) -> None:
    assert refused(probed, sources, **probing) == (f"probing.{key}", value, allowed)


@pytest.mark.parametrize(
    ("sources", "probing"),
    [
        (1, {"policy": {"times": [1.0, 4.0]}, "probes": 2}),
        (1, {"minimum_spacing": 1.0}),
        (1, {"minimum_spacing": 0.1, "probes": 3, "horizon": 0.3}),
        (1, {"policy": "optimal", "slots": 8, "minimum_spacing": 0.6}),
        (2, {"probes": 2, "split": "equal"}),
        (2, {"probes": 6, "minimum_spacing": [1.0, 1.5], "split": [4, 2]}),
        (2, {"minimum_spacing": [0.5, 4.0], "split": [3, 1]}),
        (2, {"policy": {"times": TIMES}, "probes": 5}),
        (2, {"policy": {"times": TIMES}, "probes": None, "minimum_spacing": 1.0}),
        (2, {"probes": 8, "policy": "optimal", "slots": 4, "at_once": 2}),
        (2, {"probes": 5, "policy": "optimal", "slots": 4, "at_once": 1}),
    ],
)
def test_what_just_fits_the_sources_is_taken(sources: int, probing: dict[str, Any]) -> None:
    assert probed(sources, **probing).probing is not None


def test_as_many_probes_have_room_as_spacings_fit_into_the_horizon() -> None:
    """Up to rounding: three times 0.1 are more than 0.3."""
    settings = {"split": "equal", "minimum_spacing": [0.1, 0.25], "horizon": 0.3, "probes": 4}
    probing = probed(2, **settings).probing
    assert probing is not None
    assert [most_probes(probing, source) for source in (0, 1)] == [3, 1]
    on_a_grid = probed(2, **settings | {"slots": 7, "probes": 3, "policy": "optimal"}).probing
    assert on_a_grid is not None
    assert [most_probes(on_a_grid, source) for source in (0, 1)] == [2, 1]
    free = probed(1).probing
    assert free is not None
    assert most_probes(free, 0) == 4


def test_one_source_and_several_are_not_both_given() -> None:
    entries = {"name": "both", "source": SOURCE, "sources": [SOURCE] * 2}
    entries["probing"] = {"horizon": 4.0, "probes": 4, "policy": "uniform"}
    key, _, allowed = refused(scenario_from, entries)
    assert (key, allowed) == ("sources", "does not go with [source]; put that into the list")


def test_an_asked_split_is_among_what_is_still_to_be_found() -> None:
    asked = probed(2, policy="optimal", slots=8, split="optimal")
    assert asked.unresolved == {"probing.policy": "optimal", "probing.split": "optimal"}
    given = asked.with_("probing.split", [2, 2])
    assert given.unresolved == {"probing.policy": "optimal"}


# Robots and queues


def _classes(*names: str | None, available: int = 2) -> dict[str, Any]:
    each = {"available": available, "access_time": EXPONENTIAL}
    named = [each | ({"name": name} if name else {}) for name in names]
    return {"robots": {"classes": named}}


@pytest.mark.parametrize(
    ("changes", "key", "value", "allowed"),
    [
        (
            _classes("near", None) | {"activation": {"static": {"near": 1, "far": 1}}},
            "activation.static",
            None,
            "must name every class: near, one without a name",
        ),
        (
            _classes("near", "far", available=1) | {"activation": {"static": [1, 2]}},
            "activation.static[1]",
            2,
            "must be at most robots.classes[1].available (1)",
        ),
        (
            _classes("near", "far")
            | {"activation": {"threshold": {"robots": [[2, 2], [1, 2], [2, 0]], "at": [1, 2]}}},
            "activation.threshold.robots[2]",
            None,
            "must not have more robots of a class than the entry before it",
        ),
        (
            _classes("a", "b", "c", available=TOO_MANY // 3),
            "robots.classes",
            None,
            f"have {TOO_MANY} robots; at most {sections.MOST_ROBOTS} together",
        ),
        (
            {"robots.access_time": {"deterministic": {"value": 1.0}}}
            | {"activation": {"free": [[[1]]] * 5}},
            "activation.free",
            None,
            "needs exponential access times, or robots.deliveries, which have phases",
        ),
        (
            {
                "activation": {"free": [[[1]], [[1]], [[1]], [[1]], [[1]]]},
                "interventions": [{"at": 1.0, "robots": 1}],
            },
            "interventions[0].robots",
            1,
            "does not go with activation.free",
        ),
        (
            {"activation.start_up": EXPONENTIAL, "robots.access_time": None}
            | {"robots.deliveries": {"independent": [{"poisson": {"rate": 1.0}}] * 3}},
            "activation.start_up",
            None,
            "needs robots.access_time or robots.classes: robots one by one",
        ),
        (
            {"robots.access_time": None, "activation": None, "buffer.discipline": "priority"}
            | {"robots.deliveries": BY_CLASS},
            "robots.deliveries.shares",
            None,
            "must have at most 100 entries",
        ),
        (
            {"robots.environment": {"Q": [[-1.0, 1.0], [1.0, -1.0]], "speeds": [1.0, 0.5]}}
            | {"robots.host_spacing": 1.0},
            "robots.environment",
            None,
            "does not go with host_spacing",
        ),
        ({"title": "t" * 5000}, "title", "t" * 5000, "must have at most 1000 characters"),
    ],
)
def test_what_does_not_fit_robots_or_queue_is_refused(
    changes: dict[str, Any], key: str, value: Any, allowed: str
) -> None:
    found = refused(queue, changes)
    assert (found[0], found[2]) == (key, allowed)
    assert value is None or found[1] == value


def test_a_name_is_not_too_long() -> None:
    assert queue({"name": "n" * 1000}).name == "n" * 1000
    found = refused(queue, {"name": "n" * 1001})
    assert found == ("name", "n" * 1001, "must have at most 1000 characters")
    assert queue({"title": "t" * 1000}).title == "t" * 1000


def test_an_environment_has_no_more_states_than_are_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "MOST_STATES", 2)
    around = [[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [1.0, 0.0, -1.0]]
    key, _, allowed = refused(queue, {"robots.environment": {"Q": around, "speeds": [1.0] * 3}})
    assert (key, allowed) == ("robots.environment.Q", "has 3 rows; at most 2 are allowed")
    two = {"Q": [[-1.0, 1.0], [1.0, -1.0]], "speeds": [1.0, 2.0]}
    assert queue({"robots.environment": two}).robots is not None


def test_independent_robots_have_no_more_joint_phases_than_are_solved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scenarios.deliveries.LARGEST_ORDER", 4)
    two_phases = {"map": {"D0": [[-2.0, 1.0], [1.0, -3.0]], "D1": [[1.0, 0.0], [1.0, 1.0]]}}
    base = {"robots.access_time": None, "activation": None}

    def robots(number: int) -> Scenario:
        given = {"robots.deliveries": {"independent": [two_phases] * number}}
        return queue(base | given | {"robots.available": number})

    assert robots(2).robots is not None
    key, _, allowed = refused(robots, 3)
    said = "together have more than 4 joint phases"
    assert (key, allowed) == ("robots.deliveries.independent", said)


# Pages, policies, choices


CRAWL = {
    "name": "crawl",
    "pages": {"change_rates": [0.5, 0.25]},
    "robots": {
        "available": 1,
        "access_time": EXPONENTIAL,
        "accessing": {"policy": "due", "intervals": [1.0, 2.0]},
    },
}


def crawl(changes: dict[str, Any] | None = None) -> Scenario:
    return scenario_from(CRAWL).with_(changes or {})


def test_an_interval_is_a_time_or_never() -> None:
    taken = crawl({"robots.accessing.intervals": [LARGEST, float("inf")]})
    assert taken.robots is not None
    found = refused(crawl, {"robots.accessing.intervals": [1.0, 2 * LARGEST]})
    assert found == ("robots.accessing.intervals[1]", 2e100, "must be <= 1e+100, or inf: never")


def test_robots_of_pages_that_fall_due_take_no_time_to_start() -> None:
    changes = {"activation": {"threshold": {"robots": [1, 0], "at": [1]}, "start_up": EXPONENTIAL}}
    changes["buffer"] = {"waiting_places": 2, "service": EXPONENTIAL}
    key, _, allowed = refused(crawl, changes)
    said = "does not go with pages that fall due"
    assert (key, allowed) == ("activation.start_up", said)


@pytest.mark.parametrize("key", ["recall", "precision"])
def test_shares_of_signals_in_a_file_are_no_more_than_1(key: str, tmp_path: Path) -> None:
    (tmp_path / "shares.csv").write_text("share\n1.0\n1.5\n")
    column = {"file": str(tmp_path / "shares.csv"), "column": "share"}
    signals: dict[str, Any] = {"recall": 0.5, "precision": 1.0} | {key: column}
    key_of, value, allowed = refused(crawl, {"pages.signals": signals})
    said = (f"pages.signals.{key}", 1.5, "number 1: must be <= 1")
    assert (key_of, value, allowed) == said
    (tmp_path / "shares.csv").write_text("share\n1.0\n0.5\n")
    assert crawl({"pages.signals": signals}).pages is not None


@pytest.mark.parametrize(
    ("pages", "shown"),
    [(0, "0"), ([], "[]"), ([0.0, 1.0], "[0.0, 1.0]"), ([[0], [1]], "[[0], [1]]")],
)
def test_a_policy_gives_a_list_of_pages(pages: Any, shown: str) -> None:
    policy = Cyclic(policy="cyclic", template=(0,))
    found = refused(require_pages, policy, pages, 2)
    said = f"scenarios.accessing.cyclic gave no list of pages: {shown}"
    assert found == ("robots.accessing.policy", "cyclic", said)
    one_too_far = f"{type(policy).__module__} gave page 2; the last of 2 is 1"
    assert refused(require_pages, policy, [1, 2, 0], 2)[2] == one_too_far
    below = f"{type(policy).__module__} gave page -1; the last of 2 is 1"
    assert refused(require_pages, policy, [1, -1], 2)[2] == below
    assert require_pages(policy, np.array([1, 0, 1]), 2).tolist() == [1, 0, 1]


def test_choices_are_as_deep_everywhere() -> None:
    classes = _classes("near")["robots"]["classes"]
    rows = [[0, 0, -1], [0, 0, -1], [0, 0, -1], [0, 0, -1], [0, [0], -1]]
    changes = {"robots": {"classes": classes}, "activation": {"switching": {"choices": rows}}}
    found = refused(queue, changes)
    said = "must be a number: the class that is switched on, or -1"
    assert found == ("activation.switching.choices[4][1]", (0,), said)
    rows[4] = [0, 0, -1]
    assert queue(changes).activation is not None
    rows[4] = [0, 0, 0]
    found = refused(queue, changes)
    said = "must be another class, or -1: no robot of class 0 is at rest in that state"
    assert found == ("activation.switching.choices[4][2]", 0, said)


# Changes and files


def test_changes_are_keys_with_values() -> None:
    said = 'must be a key with its value, or keys and values: {"buffer.waiting_places": 3}'
    assert refused(load, "one-robot", ["buffer.waiting_places"]) == (
        "changes",
        ["buffer.waiting_places"],
        said,
    )


def test_two_changes_do_not_contradict_each_other() -> None:
    one_each = {"robots.classes": [{"available": 1, "access_time": EXPONENTIAL}]}
    found = refused(queue, {"robots.available": 2} | one_each)
    assert found == ("robots.available", 2, "contradicts another of the changes")
    assert queue(one_each | {"robots.classes.0.available": 3}).robots is not None
    two = queue(_classes("near", "far"))
    found = refused(two.with_, {"robots.classes.1.available": 3} | one_each)
    assert found == ("robots.classes.1.available", 3, "contradicts another of the changes")


def test_a_file_is_read_up_to_the_largest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = scenarios.dumps(load("one-robot"))
    path = tmp_path / "one.toml"
    path.write_text(text)
    size = len(text.encode())
    monkeypatch.setattr(files, "_LARGEST_FILE", size)
    assert load(path).name == "one-robot"
    monkeypatch.setattr(files, "_LARGEST_FILE", size - 1)
    with pytest.raises(ScenarioError) as caught:
        load(path)
    error = caught.value
    assert (error.key, error.allowed) == ("", "is too large for a scenario file")
    assert error.file == str(path)


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match=r"^module 'scenarios' has no attribute 'Scenery'$"):
        scenarios.Scenery  # noqa: B018 - looking it up is what fails
    assert scenarios.Scenario is sys.modules["scenarios.scenario"].Scenario
