"""Mathematics as MathML, set when the site is built; what cannot be set is a warning of Sphinx."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from crawlsim.explore.mathml import LatexError, mathml

_log = logging.getLogger(__name__)


def _set(node: nodes.Element, display: str) -> str:
    try:
        text = mathml(node.astext(), display)
    except LatexError as error:
        _log.warning("%r cannot be set: %s", node.astext(), error, location=node)
        return ""
    # A command that the converter does not know would be shown as it is.
    unknown = re.findall(r"\\[A-Za-z]+", re.sub(r"<[^>]*>", " ", text))
    if unknown:
        _log.warning("%r has %s, not known", node.astext(), ", ".join(unknown), location=node)
    return text


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
