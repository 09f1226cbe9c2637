"""Errors planted in formulas and in the simulation: `check` sees each, or the list says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.planted_errors import answer, changed_text, planted_errors

ERRORS = planted_errors()

QUICK = ("loss-one-power-less", "forgotten-factor", "swapped-servers")
"""A second or two each, besides what a fresh interpreter takes to begin."""


@pytest.mark.parametrize("name", ERRORS)
def test_what_is_to_be_replaced_stands_there_once(name: str) -> None:
    assert changed_text(ERRORS[name])


def test_the_errors_are_many_and_of_both_sides() -> None:
    formulas = [error.is_of_formula for error in ERRORS.values()]
    assert formulas.count(True) >= 50
    assert formulas.count(False) >= 50
    assert sum(not error.unseen for error in ERRORS.values()) >= 100


@pytest.mark.by_day(besides=("forgotten-factor", "swapped-servers"))
@pytest.mark.statistical
@pytest.mark.parametrize("name", QUICK)
def test_a_planted_error_is_seen_or_is_none(name: str, tmp_path: Path) -> None:
    """Of a formula and of the SimPy engine; a family of correct rows fails in 1 of 1000 seeds."""
    found = answer(ERRORS[name], tmp_path)
    assert found.shows(ERRORS[name]), found


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize("name", ERRORS)
def test_every_planted_error_is_seen_or_explained(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """At the settings of the library scenarios; some ten seconds each."""
    found = answer(ERRORS[name], tmp_path_factory.getbasetemp())
    assert found.shows(ERRORS[name]), found
