"""Mathematics as MathML, set when the site is built; what cannot be set is a warning of Sphinx."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

_log = logging.getLogger(__name__)


def mathml(latex: str, display: str) -> str:
    r"""A formula as MathML.

    Parameters
    ----------
    latex : str
    display : str
        "inline" or "block".

    Raises
    ------
    ValueError
        If it is no LaTeX, or has a command that is not known; ``\foo`` would be shown as it is.
    """
    harmless = latex.replace("<", r"\lt ").replace(">", r"\gt ")
    try:
        text = str(convert(harmless, display=display))
    except Exception as error:
        raise ValueError(f"{latex!r} cannot be set: {type(error).__name__} {error}") from error
    unknown = re.findall(r"\\[A-Za-z]+", re.sub(r"<[^>]*>", " ", text))
    if unknown:
        raise ValueError(f"{latex!r} cannot be set: {', '.join(unknown)} is not known")
    return text


def _set(node: nodes.Element, display: str) -> str:
    try:
        return mathml(node.astext(), display)
    except ValueError as error:
        _log.warning("%s", error, location=node)
        return ""


def _inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(_set(node, "inline"))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.Element) -> None:
    ids = "".join(f' id="{each}"' for each in node.get("ids", [])[:1])
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    formula = _set(node, "block")
    translator.body.append(f'<div class="math-display"{ids}>{formula}{number}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
