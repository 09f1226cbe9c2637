"""The pages of results: each has its derivation, and a figure whose numbers are those of today."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from generator.figures import FOLDER, WITHOUT, Number, alternative_of, figure_of, figures
from generator.formulas import results

from analytic import FORMULAS, Formula, resolve
from analytic.index.proofs import PROOFS
from crawlsim.formula_index import INDEX
from experiments.theory_points import knobs_of, scenario_of

DOCS = Path(__file__).parents[2] / "docs"
TOLERANCE = 2e-5
"""Of the six digits that are stored."""


def test_every_page_of_a_formula_has_a_figure_or_a_reason() -> None:
    formulas = {label for label, rows in results().items() if isinstance(rows[0], Formula)}
    assert set(figures()) | set(WITHOUT) == formulas
    assert not set(figures()) & set(WITHOUT)
    assert {file.stem for file in FOLDER.glob("*.png")} == set(figures())


def test_a_figure_says_what_it_shows_and_on_what_axes() -> None:
    """By hand, from the file of the scenario: seven access times around 1."""
    text = figure_of("formula-coffman1998-3")
    assert text.startswith("![weighted obsolescence against access time (time unit)")
    assert "(/pictures/theory/formula-coffman1998-3.png)" in text
    assert "with 95 % intervals" in text
    assert figure_of("formula-coffman1998-section-2").startswith("There is no figure: its access")
    assert all("None" not in alternative_of(each) for each in figures().values())


def today(number: Number) -> float:
    """What its formula predicts today for the system of a number in a figure."""
    rows = [each for each in FORMULAS if each.source == number.source]
    for formula in rows:
        base = scenario_of(formula)
        knob = next(each for each in knobs_of(base) if each.name == number.changed)
        for each in formula.predict(resolve(knob.turned(base, number.to))):
            subject = "" if each.subject is None else str(each.subject)
            if (each.measure, subject, each.kind) == (number.measure, number.subject, number.kind):
                return each.value
    raise LookupError(f"{number.source} predicts no {number.measure}")


def middle_of(label: str) -> Number:
    """The number in the middle of the first line of a figure."""
    first = figures()[label][0]
    line = [each for each in figures()[label] if each.line == first.line]
    return line[len(line) // 2]


@pytest.mark.by_day(
    every=5,
    besides=(
        "formula-avrachenkov2011-theorem-4-inverted",
        "formula-pipeline-dropping-and-replacement",
        "formula-page-sets-drawn-pages",
        "formula-pipeline-services-between-erlang-laws",
    ),
)
@pytest.mark.parametrize("label", figures())
def test_a_figure_is_that_of_the_formula_of_today(label: str) -> None:
    number = middle_of(label)
    assert today(number) == pytest.approx(number.theory, rel=TOLERANCE), (
        "PYTHONPATH=docs python -m experiments.make_theory_figures"
    )


def test_a_figure_that_is_out_of_date_is_found() -> None:
    number = middle_of("formula-coffman1998-3")
    old = number._replace(theory=1.001 * number.theory)
    assert today(old) != pytest.approx(old.theory, rel=TOLERANCE)


def far(numbers: list[Number], half_widths: float = 3.0) -> list[Number]:
    """Exact values that lie further from the estimate than some half-widths of the interval."""
    return [
        each
        for each in numbers
        if each.kind == "exact"
        and abs(each.theory - each.simulated) > half_widths * (each.high - each.low) / 2
    ]


def test_no_exact_value_is_far_from_its_simulation() -> None:
    """Three half-widths are 6.8 standard errors of ten replications: 8e-5 for each of 600 points.

    The intervals of most figures have half-widths below 1 %, so that an error of 4 % would be seen.
    """
    numbers = [number for page in figures().values() for number in page]
    assert Counter(each.kind for each in numbers)["exact"] > 400
    assert far(numbers) == []
    wrong = [each._replace(theory=1.04 * each.theory) for each in numbers]
    assert len(far(wrong)) > 300


def test_every_result_has_a_derivation_that_exists() -> None:
    assert {result.source for result in INDEX} == set(PROOFS)
    for source, place in PROOFS.items():
        page, _, anchor = place.partition("#")
        text = (DOCS.parent / page).read_text("utf-8")
        headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
        headed = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
        assert anchor in headed, f"{source}: {anchor}"


def test_each_result_of_ours_has_a_place_of_its_own() -> None:
    for paper in ("pipeline", "courses"):
        places = [place for source, place in PROOFS.items() if source.startswith(f"{paper} ")]
        assert len(set(places)) == len(places) > 6
