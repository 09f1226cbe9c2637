"""The statements of the index of formulas, as a page shows them."""

from xml.etree import ElementTree

import pytest

from analytic.index.notation import NOTATION
from crawlsim.explore.mathml import mathml
from crawlsim.formula_index import INDEX

LATEX = sorted({row.latex for row in INDEX})
SYMBOLS = sorted({symbol for symbols in NOTATION.values() for symbol in symbols})


def left_over(latex: str) -> list[str]:
    """What the converter did not understand: errors, commands and marks shown as they are."""
    shown = ElementTree.fromstring(mathml(latex))
    texts = [text for text in shown.itertext() if "\\" in text or "&" in text]
    return texts + [each.tag for each in shown.iter() if each.tag.endswith("merror")]


@pytest.mark.parametrize("latex", [*LATEX, *SYMBOLS])
def test_a_statement_can_be_set(latex: str) -> None:
    assert left_over(latex) == []


@pytest.mark.parametrize("latex", [r"\arg\min_j x", r"a\foo b"])
def test_what_the_converter_does_not_know_is_seen(latex: str) -> None:
    assert left_over(latex)
