"""The ledger of the papers: its rows, and the commands that show them."""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import Any

import pytest

from analytic.page_refresh import golden
from papers import coffman1998
from papers.computed import comes_out, computed
from papers.rows import KINDS, STATUSES, TITLES, WITHOUT_NUMBER, Row, normal, rows_of

DEAR = {
    "eckstein2005": ("Proposition 5", "(8)"),
    "altman2000": ("section 4, local search as a heuristic",),
}
"""Items that take more than a second."""


@pytest.mark.parametrize("paper", TITLES)
def test_every_row_says_what_it_must(paper: str) -> None:
    rows = rows_of(paper).values()
    for row in rows:
        assert row.kind in KINDS, row
        assert row.status in STATUSES, row
        assert (row.ours is None) == (row.status in WITHOUT_NUMBER), row
        assert row.ours is None or re.search(r"\d", row.ours), row
        assert (row.shown is None) == (row.ours is None), row
        assert row.status in ("reproduced", "re-derived") or row.note, row
        assert row.shown is None or row.shown.startswith(("crawlsim ", "python -")), row
    assert len({normal(row.item) for row in rows}) == len(rows)


@pytest.mark.parametrize("paper", TITLES)
def test_every_number_is_computed(paper: str) -> None:
    stated = {item for item, row in rows_of(paper).items() if row.ours is not None}
    assert set(computed(paper).numbers) == stated


@pytest.mark.parametrize("paper", TITLES)
def test_an_error_of_a_hundredth_is_more_than_the_digits_leave_open(paper: str) -> None:
    """But for whole numbers, and the digits that a table of the paper has."""
    for row in rows_of(paper).values():
        if row.ours is None or row.kind == "table cell":
            continue
        (number,) = re.findall(r"[-\d.e]+", row.ours)[:1]
        of_a_paper = row.printed is not None and number in row.printed
        whole = number.lstrip("-").isdigit()
        assert whole or of_a_paper or not row.agrees_with(1.01 * float(number)), row


def not_as_stated(paper: str, *, dear: bool) -> list[str]:
    numbers = computed(paper).numbers
    stated = {item: row for item, row in rows_of(paper).items() if row.ours is not None}
    chosen = {item: row for item, row in stated.items() if (item in DEAR.get(paper, ())) == dear}
    assert chosen
    return [item for item, row in chosen.items() if not comes_out(row, numbers[item])]


@pytest.mark.parametrize("paper", TITLES)
def test_every_number_is_what_it_is_stated_to_be(paper: str) -> None:
    assert not_as_stated(paper, dear=False) == []


@pytest.mark.thorough
@pytest.mark.parametrize("paper", DEAR)
def test_numbers_that_take_a_second_are_what_they_are_stated_to_be(paper: str) -> None:
    assert not_as_stated(paper, dear=True) == []


@pytest.mark.thorough
def test_an_error_in_a_formula_is_named(crawlsim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = crawlsim("paper", "coffman1998", "--verify", "--json")
    outcomes = {row["item"]: row["verified"] for row in json.loads(out)["rows"]}
    assert code == 0
    assert outcomes["abstract, within 5 %"] is True
    monkeypatch.setattr(coffman1998, "golden_guarantee", lambda load: golden.GOLDEN + load)
    code, out, _ = crawlsim("paper", "coffman1998", "--verify")
    assert code == 1
    assert "not as stated: abstract, within 5 %" in out
    assert "not as stated: (3)" not in out


@pytest.mark.parametrize(
    ("paper", "formula", "item"),
    [
        ("coffman1998", "many_pages_cost", "(17)"),
        ("avrachenkov2011", "mean_rate", "(1)"),
        ("talim2001", "static_cost", "(9)"),
        ("altman2000", "renewal_loss", "Example 2.1"),
        ("eckstein2005", "expected_cost", "(6)"),
    ],
)
def test_a_formula_off_by_one_in_a_thousand_is_seen(
    paper: str, formula: str, item: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = rows_of(paper)[item]
    assert comes_out(row, computed(paper).numbers[item])
    module = import_module(f"papers.{paper}")
    right = getattr(module, formula)
    monkeypatch.setattr(module, formula, lambda *given: 1.001 * right(*given))
    assert not comes_out(row, computed(paper).numbers[item])


def test_a_guarantee_that_rises_anywhere_on_the_grid_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """40 of the 200 loads lie in each power of ten, from a thousandth on."""
    monkeypatch.setattr(coffman1998, "golden_guarantee", lambda load: min(load, 0.01))
    rising = computed("coffman1998").numbers["proof of Corollary 5.1, H decreasing"]
    assert rising() == pytest.approx(40, abs=1)


@pytest.mark.thorough
@pytest.mark.parametrize("failure", [ZeroDivisionError, StopIteration, TypeError, RuntimeError])
def test_a_number_that_is_no_longer_computed_is_not_as_stated(
    failure: type[Exception], monkeypatch: pytest.MonkeyPatch, crawlsim: Any
) -> None:
    def fails() -> float:
        raise failure("broken")

    monkeypatch.setattr(coffman1998, "NUMBERS", coffman1998.NUMBERS | {"(3)": fails})
    code, out, _ = crawlsim("paper", "coffman1998", "--verify", "--json")
    outcomes = {row["item"]: row["verified"] for row in json.loads(out)["rows"]}
    assert code == 1
    assert [item for item, outcome in outcomes.items() if outcome is False] == ["(3)"]
    assert outcomes["abstract, within 5 %"] is True


@pytest.mark.parametrize(
    ("ours", "computed", "agrees", "shown"),
    [
        ("0.0551334", 0.05513343, True, "0.0551334"),
        ("0.0551334", 0.05513349, False, "0.0551335"),
        ("11 % at most", 11.09, True, "11 % at most"),
        ("0 of 500 violate it", 1.0, False, "1 of 500 violate it"),
        ("1.2e-9", 1.24e-9, True, "1.2e-09"),
    ],
)
def test_numbers_agree_to_the_digits_given(
    ours: str, computed: float, agrees: bool, shown: str
) -> None:
    row = Row("(1)", "equation", "reproduced", None, ours, None, None)
    assert row.agrees_with(computed) is agrees
    assert row.with_number(computed) == shown


def test_an_item_is_found_however_it_is_spelled() -> None:
    assert normal("Table 2, (0.10, 10, 1.20), C_d") == normal("table 2,(.1,10,1.2),c_d")
    assert normal("Table 2, (1.0, 10), C_d") == normal("Table 2, (1, 10), C_d")
    assert normal("Table 10") != normal("Table 1")


def test_what_is_not_there_is_refused(crawlsim: Any) -> None:
    code, _, err = crawlsim("paper", "coffmann1998")
    assert code == 2
    assert "did you mean coffman1998?" in err
    code, _, err = crawlsim("reproduce", "coffman1998", "abstract, within 6 %")
    assert code == 2
    assert "did you mean abstract, within 5 %?" in err


@pytest.mark.parametrize("item", ["Table 1, (0.01", "Table 1, (0.01, 5", "Table", "section 4, "])
def test_half_a_name_is_no_item(item: str, crawlsim: Any) -> None:
    code, out, err = crawlsim("reproduce", "talim2001", item)
    assert (code, out) == (2, "")
    assert "must be an item of the paper" in err


def test_a_line_of_a_table_is_named_as_such(crawlsim: Any) -> None:
    code, out, _ = crawlsim("reproduce", "talim2001", "table 1,(0.1, 5, .40)")
    assert code == 0
    assert out.startswith("talim2001, Table 1, (0.1, 5, 0.4): computed")
    assert "0.17600" in out


@pytest.mark.parametrize(
    ("paper", "says"), [("coffman1998", "no item of this paper has"), ("altman2000", "Figure 1")]
)
def test_what_has_no_figure_says_so(paper: str, says: str, crawlsim: Any) -> None:
    code, _, err = crawlsim("reproduce", paper, "(3)", "--figure", "figure.svg")
    assert code == 2
    assert "(3) has no figure" in err
    assert says in err


def test_a_number_is_shown_beside_what_is_printed(crawlsim: Any) -> None:
    code, out, _ = crawlsim("reproduce", "coffman1998", "Abstract, within 5%")
    assert code == 0
    assert "10.9 % above the optimum at most" in out


def test_the_papers_are_counted(crawlsim: Any) -> None:
    _, out, _ = crawlsim("papers", "--json")
    records = json.loads(out)
    assert [record["paper"] for record in records] == list(TITLES)
    for record in records:
        assert sum(record[status] for status in STATUSES) == record["items"]
