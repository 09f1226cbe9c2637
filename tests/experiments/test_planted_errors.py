"""Errors planted in formulas and in the simulation: `check` sees each, or the list says why not."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from experiments.planted_errors import ROOT, answer, changed_text, planted_errors

ERRORS = planted_errors()

QUICK = ("loss-one-power-less", "forgotten-factor", "swapped-servers")
"""A second or two each, besides what a fresh interpreter takes to begin."""


@pytest.mark.parametrize("name", ERRORS)
def test_what_is_to_be_replaced_stands_there_once(name: str) -> None:
    assert changed_text(ERRORS[name])


def test_the_errors_are_many_and_of_both_sides() -> None:
    """None has the name of another one, which would hide it."""
    listed = tomllib.loads((ROOT / "experiments/planted_errors.toml").read_text("utf-8"))
    assert len(ERRORS) == sum(map(len, listed.values()))
    formulas = [error.is_of_formula for error in ERRORS.values()]
    assert formulas.count(True) >= 50
    assert formulas.count(False) >= 50
    assert sum(not error.unseen for error in ERRORS.values()) >= 100


def test_the_document_counts_them() -> None:
    reasons = [error.unseen for error in ERRORS.values()]
    none = sum(reason.startswith("no error") for reason in reasons)
    fewer = sum(error.replications is not None for error in ERRORS.values())
    said = " ".join((ROOT / "docs/verdicts.md").read_text().split())
    assert f"**Planted errors.** {len(ERRORS)} errors, one at a time" in said
    assert f"({fewer} of them with fewer replications, which was enough)" in said
    assert (
        f"{reasons.count('')} are seen, {none} are no errors after all, "
        f"{len(ERRORS) - reasons.count('') - none} are not detected."
    ) in said


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
