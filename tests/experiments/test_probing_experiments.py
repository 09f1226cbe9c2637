"""The experiments on probe times: claims of eckstein2005 that hold and that fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments import probing_experiments

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def results() -> list[Any]:
    return [
        each
        for source in probing_experiments.SOURCES
        for ratio in probing_experiments.RATIOS
        for each in probing_experiments.experiments(source, ratio)
    ]


def find(results: list[Any], *key: Any) -> Any:
    (found,) = (e for e in results if (e.source, e.ratio, e.probes, e.policy) == key)
    return found


def test_the_cases_are_those_of_the_paper(results: list[Any]) -> None:
    """Two sources, four ratios, eleven numbers of probes, four policies."""
    assert len(results) == 2 * 4 * 11 * 4
    best = find(results, "dbworld", 3, 28, "DOE")
    assert best.cost == pytest.approx(80.5914583333, abs=5e-11)
    assert best.improved == pytest.approx(80.5692, abs=1e-4)
    assert all(each.improved <= each.cost for each in results)


def test_what_the_text_says_and_what_is_true(results: list[Any]) -> None:
    found = {
        row["claim"]: (row["holds in"], row[""]) for row in probing_experiments.claims(results)
    }
    assert found["the cost of every policy falls with n"] == ("32 of 32", "")
    assert found["DOE is the cheapest for any n, at every ratio"] == ("87 of 88", "✗")
    assert found["improved, the differences are far less (less than half)"] == ("88 of 88", "")
    assert found["improved, DOE is still the cheapest"][1] == "✗"
    assert found["moves grow exponentially with n, not as a power"] == ("0 of 32", "✗")
    counts = {claim: int(held.split()[0]) for claim, (held, _) in found.items()}
    assert 75 <= counts["improved, DOE is still the cheapest"] <= 83
    assert counts["DOE needs the fewest moves"] >= 84


def test_the_grid_of_hours_misses_the_best_schedule(results: list[Any]) -> None:
    """MicroNet, ratio 4, n = 168: the threshold policy is not bound to full hours."""
    threshold, best = (
        find(results, "micronet", 4, 168, policy).cost for policy in ("threshold", "DOE")
    )
    assert threshold == pytest.approx(3.569, abs=5e-4)
    assert best == pytest.approx(3.681, abs=5e-4)


def test_moves_grow_like_a_power_of_the_probes(results: list[Any]) -> None:
    rows = probing_experiments.fits_table(results)
    assert len(rows) == 32
    for row in rows:
        assert 0.95 < row["exponent of n"] < 2
        assert row["R² of the power law"] > row["R² of an exponential"]


def test_the_fit_would_recognise_an_exponential() -> None:
    make = probing_experiments.Experiment
    numbers = probing_experiments.PROBES
    line = [make("x", 1, n, "DOE", 2.0, 1.0, round(10 * 1.05**n)) for n in numbers]
    _, power, exponential = probing_experiments.fit(line)
    assert exponential > 0.999 > power


def test_the_optimum_comes_nearer_as_the_square_of_the_grid() -> None:
    """With every break on it: below the sharp bound, and far nearer than a slot less would be."""
    for source in ("dbworld", "micronet"):
        above = {row["N"]: row["above"] for row in probing_experiments.grid_table(source)}
        for slots in (672, 1344, 2688, 5376):
            width = 28.0 / slots
            assert 0 <= above[slots] <= 27 * 22.5 * width**2 / 4
            assert above[slots] < above[slots - 1] / 5


@pytest.mark.nightly
def test_the_script_writes_tables_and_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    probing_experiments.main(["--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert (tmp_path / "tables.md").read_text().strip() == printed.strip()
    assert len(list(tmp_path.glob("*.svg"))) == 10
