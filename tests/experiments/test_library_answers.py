"""The answers of the library in files: a change of one part in a thousand million is seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analytic.page_refresh import randomized_obsolescence
from experiments.library_answers import compare, moved, write

NAME = "client-queries"


def written(folder: Path) -> Path:
    folder.mkdir()
    write(folder, NAME)
    return folder


def test_a_planted_change_of_a_billionth_is_listed_and_nothing_else_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = written(tmp_path / "before")
    assert compare(before, written(tmp_path / "again"), [NAME]) == []
    monkeypatch.setattr(
        "analytic.page_refresh.formulas.randomized_obsolescence",
        lambda *given: randomized_obsolescence(*given) * (1.0 + 1e-9),
    )
    after = written(tmp_path / "after")
    first, *lines = compare(before, after, [NAME])
    assert first.startswith(f"{NAME}: ")
    shown = [line for line in lines if "relatively 1e-09" in line]
    assert any(
        line.startswith("  solve.predictions[obsolescence_rate 0].value: ") for line in shown
    )
    assert all(
        place.startswith(("check.comparisons[", "solve.predictions[", "optimize.", "… and "))
        for place in (line.strip() for line in lines)
    )


def test_all_commands_and_all_digits_stand_in_the_file(tmp_path: Path) -> None:
    answers = json.loads((written(tmp_path / "one") / f"{NAME}.json").read_bytes())
    assert answers["check"]["verdict"] == "agrees"
    assert {each["kind"] for each in answers["solve"]["predictions"]} == {"exact", "lower bound"}
    best = answers["optimize"]["frequencies"]
    assert best["kind"] == "exact"
    assert len(best["decision"]["frequencies"]) == 20
    assert answers["optimize"]["probes"]["exact"].startswith(f"{NAME}\ntarget")


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (0.5, 0.5000000005, "x: 0.5 is now 0.5000000005, relatively 1e-09"),
        (0.0, -0.0, "x: 0.0 is now -0.0"),
        (1, 1.0, "x: 1 is now 1.0"),
        (float("nan"), 2.0, "x: NaN is now 2.0, relatively nan"),
        ({"a": 1}, {}, "x.a: gone, was 1"),
        ([], ["b"], 'x[0]: new, "b"'),
        ({"a": {"b": 1}}, {"a": None}, 'x.a: {"b": 1} is now null'),
        (
            [{"measure": "loss_rate", "subject": None, "value": 1.0}],
            [{"measure": "loss_rate", "subject": None, "value": 2.0}],
            "x[loss_rate].value: 1.0 is now 2.0, relatively 1",
        ),
    ],
)
def test_what_moved_is_named_by_its_place(before: object, after: object, line: str) -> None:
    assert list(moved(before, after, "x")) == [line]
    assert list(moved(before, before, "x")) == []


def test_a_file_that_is_missing_is_said(tmp_path: Path) -> None:
    (line,) = compare(tmp_path / "nowhere", tmp_path, [NAME])
    assert line.startswith(f"{NAME}: ")
    assert line.endswith("missing")
