"""What formulas are called: all of them, and nothing else."""

from __future__ import annotations

from analytic import FORMULAS
from analytic.index.names import (
    MEASURED,
    NAMES,
    QUESTIONS,
    by_name,
    citation_of,
    cited,
    shown,
)
from crawlsim.formula_index import INDEX


def test_every_formula_has_a_name_and_every_name_a_formula() -> None:
    assert {each.source for each in INDEX} == set(NAMES)
    assert {question for each in NAMES.values() for question in each.questions} == set(QUESTIONS)
    assert all(each.name == NAMES[each.source].name for each in INDEX)


def test_every_formula_answers_a_question_and_every_answer_is_of_a_formula() -> None:
    assert all(NAMES[each.source].answers(each.quantity) for each in INDEX)
    for source, name in NAMES.items():
        given = [each.quantity for each in INDEX if each.source == source]
        for begins in (each for those in name.questions.values() for each in those):
            assert any(quantity.startswith(begins) for quantity in given), (source, begins)
    several = NAMES["avrachenkov2011 section 3, several servers"]
    assert several.answers("control cost with several servers") == ["robots"]


def test_sources_are_cited_as_people_do() -> None:
    assert citation_of("talim2001 (9)") == "Talim 2001, eq. 9"
    assert citation_of("coffman1998 (12)-(15)") == "Coffman 1998, eq. 12-15"
    assert citation_of("pipeline one robot") == "crawlsim derivation, one robot"
    assert citation_of("a formula of mine") == "a formula of mine"
    assert shown("kleinrock1975 section 3.6") == "M/M/1/K (Kleinrock 1975, section 3.6)"
    assert shown("a formula of mine") == "a formula of mine"


def test_several_sources_have_each_name_once() -> None:
    those = ["talim2001 (9)", "mine", "kleinrock1975 section 3.6", "talim2001 section 4", "mine"]
    assert by_name(those)["M/M/1/K"] == [those[0], those[2], those[3]]
    assert cited(those) == (
        "M/M/1/K (Talim 2001, eq. 9; section 4; Kleinrock 1975, section 3.6); mine"
    )


def test_every_approximation_says_how_far_it_was_seen_to_be_off() -> None:
    approximate = {each.source for each in FORMULAS if each.kind == "approximation"}
    assert set(MEASURED) == approximate
