"""What other tools say of small systems, stored by `make oracles`, is what `solve` says."""

from __future__ import annotations

from functools import cache

import pytest

import crawlsim
from experiments import line_oracles
from experiments.line_oracles import HEAD, PAGE, PYTHON, SYSTEMS, programs, run_all, stored, table

right = cache(line_oracles.right)
said = cache(stored)


def test_solve_agrees_with_line_on_every_system() -> None:
    compared = 0
    asked = programs()
    exported = {key for key, text in asked.items() if "measures = {" in text and key[1] == "LINE"}
    for row in said():
        if (row.system, row.tool, row.method) in exported:
            assert right(row.system)[row.measure] == pytest.approx(row.value, rel=1e-6, abs=1e-12)
            compared += 1
    assert compared == 6 * len(SYSTEMS)


def test_a_place_less_would_be_seen() -> None:
    """Even of thirty places, in a queue that is rarely full."""
    system = SYSTEMS["M-M-1-30"]
    smaller = system | {"buffer": system["buffer"] | {"waiting_places": 28}}
    mean = crawlsim.solve(smaller).find("mean_in_system").value
    assert mean != pytest.approx(right("M-M-1-30")["mean_in_system"], rel=1e-3)


def test_the_table_of_the_page_is_made_of_the_stored_numbers() -> None:
    assert table(said()) in PAGE.read_text(encoding="utf-8")
    assert HEAD in table(said())


@pytest.mark.nightly
@pytest.mark.skipif(not PYTHON.exists(), reason="there is no .venv-oracles (make oracles)")
def test_the_tools_still_say_what_is_stored() -> None:
    now = run_all(programs())
    assert [(each.system, each.method, each.measure) for each in now] == [
        (each.system, each.method, each.measure) for each in said()
    ]
    for new, old in zip(now, said(), strict=True):
        assert new.value == pytest.approx(old.value, rel=1e-9, abs=1e-12)
