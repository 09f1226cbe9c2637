"""A planted error in any formula of the papers is seen in the ledger."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import GeneratorType
from typing import Any

import numpy as np
import pytest

from papers.computed import comes_out, computed, verified
from papers.rows import TITLES, rows_of

REFRESH = "analytic.page_refresh"
QUEUE = "analytic.indexing_queue"
CONTROL = "analytic.robot_control"
ROUTING = "analytic.routing"
PROBING = "analytic.probing"

SEEN_IN = {
    ("coffman1998", f"{REFRESH}.obsolescence.cyclic_obsolescence"): "(3)",
    ("coffman1998", f"{REFRESH}.obsolescence.randomized_obsolescence"): "Lemma 4.1",
    ("coffman1998", f"{REFRESH}.obsolescence.equal_spacing_bound"): "after Lemma 4.1, f to 0",
    ("coffman1998", f"{REFRESH}.obsolescence.crawl_rates"): "section 2, access frequencies",
    ("coffman1998", f"{REFRESH}.optimum.proportional_bound"): "(6)",
    ("coffman1998", f"{REFRESH}.optimum.schedule_bound"): "(7)",
    ("coffman1998", f"{REFRESH}.optimum.best_random_shares"): "(14)",
    ("coffman1998", f"{REFRESH}.golden.many_pages_cost"): "(17)",
    ("coffman1998", f"{REFRESH}.golden.worst_golden_cost"): "(18)",
    ("coffman1998", f"{REFRESH}.golden.golden_guarantee"): "(19)",
    ("avrachenkov2011", f"{QUEUE}.formulas.birth_death_levels"): "section 3, one phase",
    ("avrachenkov2011", f"{QUEUE}.levels_and_fates.level_probabilities"): "(3)",
    ("avrachenkov2011", f"{QUEUE}.levels_and_fates.fate_rates"): "(9)",
    ("avrachenkov2011", f"{QUEUE}.sojourns.sojourn_moments"): "Theorem 4, second moment",
    ("avrachenkov2011", f"{QUEUE}.sojourns.sojourn_quantiles"): "Theorem 4, inverted",
    ("avrachenkov2011", f"{QUEUE}.measures.control_cost"): "(2)",
    ("avrachenkov2011", "analytic.rules.thresholds.best_thresholds"): (
        "section 8, wider classes of policies"
    ),
    ("talim2001", f"{CONTROL}.static.static_starvation"): "(9)",
    ("talim2001", f"{CONTROL}.static.static_cost"): "(9)",
    ("talim2001", f"{CONTROL}.target_rules.measures_of_targets"): "(8)",
    ("talim2001", f"{CONTROL}.switching.best_switching"): "(6)",
    ("altman2000", f"{ROUTING}.losses.renewal_loss"): "Example 2.1",
    ("altman2000", f"{ROUTING}.losses.map_loss"): "Lemma 5.2",
    ("altman2000", f"{ROUTING}.accesses.dependent_obsolescence"): "section 6, dependent accesses",
    ("altman2000", f"{ROUTING}.multimodularity.violations"): "Theorem 4.4",
    ("altman2000", f"{ROUTING}.multimodularity.local_minimum"): "Theorem 4.2",
    ("eckstein2005", f"{PROBING}.profile.expected_cost"): "(6)",
    ("eckstein2005", f"{PROBING}.profile.join"): "(13)",
    ("eckstein2005", f"{PROBING}.grid.grid_error"): "Proposition 8",
    ("eckstein2005", f"{PROBING}.programme.paper_schedule"): "Algorithm 2",
    ("eckstein2005", f"{PROBING}.programme.improved_by_moves"): "Algorithm 10",
}
"""Formulas that are the papers', and a row of each."""


EXTREMES = ("lower_bound", "costs")
"""Of the results of searches what is larger by a hundredth."""


def off(value: Any) -> Any:
    """The same with every real number larger by a hundredth; a list of whole ones reversed."""
    if isinstance(value, float):
        return type(value)(value * 1.01)
    if isinstance(value, np.ndarray):
        return value * 1.01 if value.dtype.kind == "f" else value - (np.arange(len(value)) == 0)
    if isinstance(value, GeneratorType):
        return map(off, value)
    if isinstance(value, list):
        return [*map(off, value)]
    if isinstance(value, dict):
        return {key: off(each) for key, each in value.items()}
    if isinstance(value, tuple):
        if all(isinstance(each, int) for each in value):
            return value[::-1]
        return type(value)(*map(off, value)) if hasattr(value, "_fields") else (*map(off, value),)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (each.name for each in dataclasses.fields(value) if each.init)
        real = {name: off(getattr(value, name)) for name in fields if name in EXTREMES}
        return dataclasses.replace(value, **real)
    return value


def nothing_kept() -> None:
    """What the ledger keeps of earlier computations is forgotten."""
    for name in [name for name in sys.modules if name.startswith("papers.")]:
        for each in vars(sys.modules[name]).values():
            if hasattr(each, "cache_clear") and each not in (rows_of,):
                each.cache_clear()


@contextmanager
def planted(path: str) -> Iterator[None]:
    """While it lasts, a function is wrong wherever it is used."""
    home, _, name = path.rpartition(".")
    right = getattr(import_module(home), name)
    assert inspect.isfunction(right)

    def wrong(*given: Any, **named: Any) -> Any:
        return off(right(*given, **named))

    with pytest.MonkeyPatch.context() as patch:
        for module in [*sys.modules.values()]:
            for each in [key for key, value in [*vars(module).items()] if value is right]:
                patch.setattr(module, each, wrong)
        nothing_kept()
        yield
    nothing_kept()


@pytest.mark.by_day(every=5, besides=("altman2000-analytic.routing.multimodularity.local_minimum",))
@pytest.mark.parametrize(("paper", "function"), SEEN_IN)
def test_an_error_of_a_hundredth_is_seen(paper: str, function: str) -> None:
    row = rows_of(paper)[SEEN_IN[paper, function]]
    number = computed(paper).numbers[row.item]
    assert comes_out(row, number)
    with planted(function):
        assert not comes_out(row, number)
    assert comes_out(row, number)


@pytest.mark.nightly
@pytest.mark.parametrize(("paper", "function"), SEEN_IN)
def test_the_program_names_the_rows_and_exits_with_1(
    paper: str, function: str, crawlsim: Any
) -> None:
    with planted(function):
        code, out, _ = crawlsim("paper", paper, "--verify", "--json")
    wrong = [row["item"] for row in json.loads(out)["rows"] if row["verified"] is False]
    assert code == 1
    assert SEEN_IN[paper, function] in wrong


def test_every_formula_of_a_paper_is_among_them(crawlsim: Any) -> None:
    """Those of ours have no row: `tests/analytic` plants errors in them."""
    _, out, _ = crawlsim("formulas", "--json")
    theirs = {
        (each["paper"], each["function"])
        for each in json.loads(out)
        if each["paper"] in TITLES and each["origin"] != "own"
    }
    assert theirs == set(SEEN_IN)


@pytest.mark.thorough
def test_without_an_error_nothing_is_named() -> None:
    assert [row.item for row, outcome in verified("coffman1998") if outcome is False] == []
