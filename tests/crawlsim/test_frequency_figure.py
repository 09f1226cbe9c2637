"""The figure of `optimize --target frequencies`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from analytic import optimize
from analytic.page_refresh import FrequencySearch
from crawlsim.cli import main
from crawlsim.report import plot_frequencies
from scenarios import load


def search(rates: list[float], shares: list[float]) -> FrequencySearch:
    return FrequencySearch(np.array(rates), np.ones(len(rates)), np.array(shares), "week")


def labels(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_figure_marks_every_page() -> None:
    """Pages with visits by their numbers, those without below, in proportion along the line."""
    scenario = load("randomized-erlang").with_("pages.weights", [1.0, 1e-4, 3.0])
    found = optimize(scenario, "frequencies")
    ax = plot_frequencies(found.search)
    visited, none, line = ax.get_lines()
    rates = np.array(scenario.pages.change_rates if scenario.pages else ())
    shares = found.decision["frequencies"]
    assert shares[1] == 0
    assert np.asarray(visited.get_xdata()).tolist() == rates[[0, 2]].tolist()
    assert np.asarray(visited.get_ydata()).tolist() == [shares[0], shares[2]]
    assert np.asarray(none.get_xdata()).tolist() == [rates[1]]
    x = np.asarray(line.get_xdata())
    y = np.asarray(line.get_ydata())
    assert y == pytest.approx(x / rates.sum())
    assert labels(ax) == ["2 pages", "1 page without accesses", "as the change rates"]
    assert plot_frequencies(found.search, ax) is ax


def test_pages_without_changes_are_counted(tmp_path: Path) -> None:
    ax = plot_frequencies(search([0.0, 2.0, 0.0], [0.0, 1.0, 0.0]))
    assert labels(ax) == ["1 page", "as the change rates", "2 pages without changes"]
    assert ax.get_xlabel() == "change rate (per week)"
    with mpl.rc_context():
        ax.figure.savefig(tmp_path / "a.png")
    nothing = plot_frequencies(search([0.0, 0.0], [0.5, 0.5]))
    assert labels(nothing)[-1] == "2 pages without changes"
    nothing.figure.savefig(tmp_path / "b.svg")


def test_the_command_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["optimize", "randomized-erlang", "--target", "frequencies", "--figure", "f.svg"]
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 0
    assert "share of the accesses" in Path("f.svg").read_text()
