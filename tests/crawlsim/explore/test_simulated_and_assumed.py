"""What a change moves: both sides, or only what is simulated."""

import pytest

from crawlsim.explore.lesson import library
from crawlsim.explore.own_scenario import opened
from crawlsim.explore.simulated_and_assumed import sides_of, value_at
from scenarios import ScenarioError, library_names

QUEUE = library()[0]
GAMMA = {"gamma": {"shape": 2.0, "mean": 1.0}}


def test_without_changes_both_sides_are_the_lesson() -> None:
    for lesson in library():
        sides = sides_of(lesson, {})
        assert sides.simulated == sides.assumed == lesson.scenario
        assert sides.broken == ()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("robots.access_time.exponential.rate", 0.7),
        ("buffer.waiting_places", 3),
        ("buffer.service", {"exponential": {"mean": 1.1}}),
        ("buffer.discipline", "lifo"),
    ],
)
def test_a_number_or_a_rule_of_no_assumption_moves_both(key: str, value: object) -> None:
    sides = sides_of(QUEUE, {key: value})
    assert sides.simulated == sides.assumed != QUEUE.scenario
    assert sides.broken == ()


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"buffer.service": GAMMA}, "buffer.service"),
        ({"buffer.service.gamma.shape": 2.0, "buffer.service.gamma.mean": 1.0}, "buffer.service"),
        ({"buffer.obsolescence": {"exponential": {"mean": 5.0}}}, "buffer.obsolescence"),
        ({"buffer": {"waiting_places": 2, "service": GAMMA}}, "buffer.service"),
    ],
)
def test_another_law_moves_what_is_simulated_only(changes: dict[str, object], key: str) -> None:
    sides = sides_of(QUEUE, changes)
    assert sides.assumed == QUEUE.scenario
    assert [each.key for each in sides.broken] == [key]
    assert value_at(sides.simulated, key) != value_at(sides.assumed, key)


def test_a_law_takes_the_place_of_a_number_that_was_set_before() -> None:
    sides = sides_of(
        QUEUE, {"buffer.service.exponential.mean": 0.9, "buffer.service": GAMMA, "run.seed": 5}
    )
    assert value_at(sides.simulated, "buffer.service") == GAMMA
    assert value_at(sides.assumed, "buffer.service") == {"exponential": {"mean": 0.9}}
    assert sides.assumed.run.seed == 5
    assert sides.broken[0].record()["text"] == (
        "the formula assumes exponential (mean 0.9), you simulate gamma (mean 1, shape 2)"
    )


def test_a_list_of_tables_is_called_what_its_knob_calls_it() -> None:
    """Whether the file says all that an intervention leaves alone, or not."""
    (lesson,) = [each for each in library() if each.key == "due-pages"]
    outage = [{"at": 96.0, "until": 104.0, "robots": 0}]
    (difference,) = sides_of(lesson, {"interventions": outage}).broken
    said = "the formula assumes no outage, you simulate no fetcher for eight hours"
    assert difference.record()["text"] == said
    (difference,) = sides_of(lesson, {"interventions": [{"at": 5.0, "robots": 2}]}).broken
    assert difference.record()["text"].startswith("the formula assumes interventions = [], you")


def test_every_knob_of_every_lesson_can_be_turned() -> None:
    for lesson in library():
        for knob in lesson.lesson.knobs:
            values = [each.value for each in knob.choices] or [knob.min, knob.max]
            for value in values:
                whole = isinstance(value_at(lesson.scenario, knob.key), int)
                sides_of(lesson, {knob.key: int(value) if whole and not knob.choices else value})


def test_every_scenario_of_the_library_is_a_lesson_whose_knobs_turn() -> None:
    for name in library_names():
        lesson = opened(name)
        for knob in lesson.lesson.knobs:
            for choice in knob.choices:
                sides_of(lesson, {knob.key: choice.value})


@pytest.mark.parametrize("name", ["batches-that-fit", "pause-for-large-pages"])
def test_a_rule_by_level_leaves_the_places_alone(name: str) -> None:
    keys = {knob.key for knob in opened(name).lesson.knobs}
    assert keys & {"buffer.waiting_places", "buffer.servers"} == set()
    assert "buffer.waiting_places" in {knob.key for knob in opened("batches").lesson.knobs}


def test_what_cannot_be_simulated_is_refused() -> None:
    with pytest.raises(ScenarioError, match="waiting_places"):
        sides_of(QUEUE, {"buffer.waiting_places": -1})
