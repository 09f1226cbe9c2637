"""LaTeX as MathML, which browsers draw without a script: for the live page and the site."""

from __future__ import annotations

from latex2mathml import exceptions
from latex2mathml.converter import convert


class LatexError(ValueError):
    """LaTeX that cannot be read."""


def mathml(latex: str, display: str = "block") -> str:
    """The formula as a MathML element.

    Parameters
    ----------
    latex : str
    display : str
        "block", or "inline" within a sentence.

    Raises
    ------
    LatexError
        If it is not LaTeX.
    """
    # The converter would pass texts with angle brackets on, as elements of the page.
    harmless = latex.replace("<", r"\lt ").replace(">", r"\gt ")
    try:
        return str(convert(harmless, display=display))
    except Exception as error:
        if type(error).__module__ != exceptions.__name__:
            raise
        raise LatexError(type(error).__name__) from None
