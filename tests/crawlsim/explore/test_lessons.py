"""Lessons: those that come with the program, the example of the document, and bad ones."""

import re
import tomllib
from pathlib import Path

import pytest

from analytic import FORMULAS
from crawlsim.explore.lesson import Opened, lesson_from, library
from crawlsim.explore.mathml import mathml
from crawlsim.explore.own_scenario import lesson_of, opened
from crawlsim.explore.theory import theory_of
from crawlsim.explore.typeset import formula_record
from scenarios import ScenarioError, dumps, load

PAGE = Path(__file__).parents[3] / "docs/how-to/explore.md"


def example() -> Opened:
    (text,) = re.findall("```toml\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    return Opened("example", lesson_from(tomllib.loads(text), "example.toml"))


@pytest.mark.parametrize("lesson", [*library(), example()], ids=lambda each: each.key)
def test_the_formula_of_a_lesson_predicts_its_measure(lesson: Opened) -> None:
    own = lesson.lesson.measure, lesson.lesson.subject
    theory = theory_of(lesson.scenario)
    assert lesson.lesson.formula is not None
    record = formula_record(lesson.lesson.formula, lesson.scenario, theory, own)
    assert record["applies"]
    assert (record["mathml_numbers"] is None) == (not lesson.lesson.formula.numbers)


def test_the_numbers_of_a_formula_are_those_of_the_theory() -> None:
    """Arithmetic with keys and measures, checked by hand: (1 + 2 · 0.5) / (1 · 1.5)."""
    lesson = example()
    theory = theory_of(lesson.scenario)
    value = theory.known["sojourn_time", "served"].value
    assert value == pytest.approx(4 / 3)
    assert lesson.lesson.formula is not None
    record = formula_record(
        lesson.lesson.formula, lesson.scenario, theory, ("sojourn_time", "served")
    )
    assert "<mn>0.5</mn>" in record["mathml_numbers"]
    assert "<mn>1.333</mn>" in record["mathml_numbers"]


def test_a_lesson_without_latex_shows_the_statement_of_the_index() -> None:
    (lesson,) = [each.lesson for each in library() if each.key == "probing"]
    (row,) = [each for each in FORMULAS if each.source == "eckstein2005 (5)"]
    assert lesson.formula is not None
    assert lesson.formula.latex == row.latex


def test_an_expression_that_is_no_arithmetic_shows_no_numbers() -> None:
    lesson = example()
    theory = theory_of(lesson.scenario)
    assert lesson.lesson.formula is not None
    for expression in ("__import__('os')", "[1][0]", "no.such.key", "1 / 0"):
        formula = lesson.lesson.formula.model_copy(update={"symbols": {"mu": expression}})
        record = formula_record(formula, lesson.scenario, theory, ("sojourn_time", "served"))
        assert record["mathml_numbers"] is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('measure = "lossprobability"', "loss_probability"),
        ('measure = "loss_probability"\nknob = 1', "knobs"),
        ('measure = "loss_probability"\nnarrow = 0', "narrow"),
        ('measure = "loss_probability"\nformula = { source = "", latex = "{" }', "formula.latex"),
        ('measure = "loss_probability"\nformula = { source = "no such" }', "formula.latex"),
        ('measure = "loss_probability"\nformula = { numbers = "x" }', "formula.source\nis missing"),
        (
            'measure = "loss_probability"\nformula = { source = "Kleinrock 1975, section 3.6" }',
            'formula.latex.*\n.*"Kleinrock.*did you mean "kleinrock1975 section 3.6"',
        ),
        (
            'measure = "loss_probability"\n'
            'formula = { source = "", latex = "x", symbols = { y = "1 +" } }',
            "formula.symbols.y",
        ),
        (
            'measure = "loss_probability"\nguess = { low = 0.0, high = 100.0, unit = "%" }',
            "guess.one\nis missing; unit needs it",
        ),
    ],
)
def test_a_bad_lesson_is_refused_by_its_key(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(f'title = "Bad"\nquestion = "What?"\nscenario = "one-robot"\n{line}\n')
    with pytest.raises(ScenarioError, match=said) as refusal:
        opened(str(file))
    assert str(refusal.value).count("\n") <= 2


def test_a_scenario_without_a_name_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "no-name.toml"
    file.write_text(dumps(opened("one-robot").scenario).replace('name = "one-robot"\n', ""))
    with pytest.raises(ScenarioError, match="name\nis missing"):
        opened(str(file))


def test_a_formula_holds_no_elements_of_a_page() -> None:
    assert "<script" not in mathml(r"\text{<script>alert(1)</script>} < 1")


@pytest.mark.parametrize("name", ["one-robot", "dbworld-optimal"])
def test_a_scenario_as_a_lesson_is_cut_short_only_where_it_is_long(name: str) -> None:
    """Probed sources have a horizon of their own; what is cut says so."""
    scenario = load(name)
    lesson = lesson_of(scenario, name)
    is_cut = name == "one-robot"
    assert (lesson.text != "") is is_cut
    assert lesson.set.keys() == ({"run.horizon"} if is_cut else set())
    if is_cut:
        assert lesson.set["run.horizon"] < scenario.run.horizon
        assert f"{lesson.set['run.horizon']:g} instead of {scenario.run.horizon:g}" in lesson.text
    assert lesson.subject is None
