"""The tables of docs/routing.md: that they can be made, and fit what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sim
from analytic import compare, overall, predict
from experiments import routing_experiments

ROOT = Path(__file__).parents[2]


def test_the_breakpoints_are_those_of_the_page() -> None:
    """The page's digits, and ``1 - sqrt(1 - (n + 2) 2^-(n + 1))`` of docs/derivations.md."""
    page = (ROOT / "docs/routing.md").read_text()
    rows = routing_experiments.breakpoints()
    assert routing_experiments.markdown(rows).splitlines()[0] in page
    printed = re.findall(r"^\| (\d) \| ([\d.]+) \| ([\d.]+) \|$", page, re.M)
    assert [int(n) for n, *_ in printed] == [row["n"] for row in rows]
    for row, (_, *numbers) in zip(rows, printed, strict=True):
        first, second = map(float, numbers)
        y = 1 - (1 - (row["n"] + 2) * 2.0 ** -(row["n"] + 1)) ** 0.5
        assert row["Poisson"] == pytest.approx(1 / y - 1, rel=1e-9)
        assert row["Poisson"] == pytest.approx(first, rel=1e-9)
        assert row["constant"] == pytest.approx(second, rel=1e-9)


@pytest.mark.parametrize("table", ["bursts", "bounds", "pages", "left_out"])
def test_the_page_has_the_tables_that_the_script_prints(table: str) -> None:
    """Words and texts as they are; numbers but for their last digits."""
    page = (ROOT / "docs/routing.md").read_text().splitlines()
    made = routing_experiments.markdown(getattr(routing_experiments, table)()).splitlines()
    start = page.index(made[0])
    for printed, row in zip(page[start:], made, strict=False):
        for old, new in zip(printed.split("|"), row.split("|"), strict=True):
            old = old.strip()
            new = new.strip()
            assert old == new or float(old) == pytest.approx(float(new), rel=1e-8)


def test_the_heuristics_are_never_better_than_the_optimum() -> None:
    rows = routing_experiments.heuristics(3)
    assert all(row["mean"] <= 0 for row in rows if row[""] == "linear bound")
    assert all(row["mean"] >= -1e-9 for row in rows if row[""] != "linear bound")
    page = (ROOT / "docs/routing.md").read_text().splitlines()
    header, _, *made = routing_experiments.markdown(rows).splitlines()
    assert header in page
    printed = page[page.index(header) + 2 :]
    labels = [line.split("|")[1:3] for line in made]
    assert [line.split("|")[1:3] for line in printed[: len(made)]] == labels


@pytest.mark.statistical
def test_one_of_the_checks_of_the_page() -> None:
    """The printed equality of both disciplines is refuted for Erlang services."""
    both = [
        routing_experiments.system("mmpp", 3, "erlang", d) for d in routing_experiments.DISCIPLINES
    ]
    run = {"run.horizon": 40000.0}
    claimed = predict(both[0])[0]
    found = sim.run(both[1].with_(run))
    assert overall(compare(predict(both[1])[0], found, both[1].judged)) == "agrees"
    assert overall(compare(claimed, found, both[1].judged)) == "disagrees"
