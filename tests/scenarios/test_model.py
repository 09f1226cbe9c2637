"""The decoded scenario says what the file says."""

from __future__ import annotations

import pytest

from scenarios import load
from scenarios.laws import Exponential
from scenarios.model import Never, OnChange, Patience, QueueDiscipline, ServiceOrder

PAGES = load("pipeline-page-change").with_("buffer.obsolescence", "never")


@pytest.mark.parametrize(
    ("given", "patience"),
    [
        ("never", Never()),
        ("page-change", OnChange()),
        ({"exponential": {"mean": 2.0}}, Exponential(mean=2.0)),
    ],
)
def test_the_three_kinds_of_patience(given: object, patience: Patience) -> None:
    queue = PAGES.with_("buffer.obsolescence", given).model.queue
    assert queue is not None
    assert queue.patience == patience
    assert queue.timer == (patience if isinstance(patience, Exponential) else None)
    assert queue.discipline.drops_changed == (given == "page-change")


@pytest.mark.parametrize(
    ("key", "value", "discipline"),
    [
        ("discipline", "fifo", QueueDiscipline()),
        ("discipline", "lifo", QueueDiscipline(ServiceOrder.NEWEST_FIRST)),
        ("when_full", "push-out", QueueDiscipline(pushes_out_oldest=True)),
        ("replace_older_copy", True, QueueDiscipline(replaces=True)),
    ],
)
def test_one_discipline_of_four_entries(
    key: str, value: object, discipline: QueueDiscipline
) -> None:
    queue = PAGES.with_(f"buffer.{key}", value).model.queue
    assert queue is not None
    assert queue.discipline == discipline
    assert queue.discipline.is_ordered == (value in ("fifo", True))


def test_room_counts_the_servers() -> None:
    queue = PAGES.with_({"buffer.waiting_places": 5, "buffer.servers": 3}).model.queue
    assert queue is not None
    assert queue.capacity == 8


def test_without_a_buffer_there_is_no_queue() -> None:
    assert load("cyclic-constant").model.queue is None


def test_it_is_decoded_once_and_anew_for_a_copy() -> None:
    assert PAGES.model is PAGES.model
    other = PAGES.with_("buffer.discipline", "lifo").buffer
    copy = PAGES.model_copy(update={"buffer": other})
    assert copy.model.queue != PAGES.model.queue
    assert PAGES.with_({}) == PAGES
