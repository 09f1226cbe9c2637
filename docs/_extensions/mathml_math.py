"""Mathematics as MathML, set when the site is built; what cannot be set is a warning of Sphinx.

Browsers draw it with STIX Two Math, of which the site has the letters that it needs.
"""

from __future__ import annotations

import html
import re
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from docutils import nodes
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx
from sphinx.util import logging

from crawlsim.explore.mathml import LatexError, mathml

_log = logging.getLogger(__name__)

_ITALICS = {0x210E, *range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C)}
"""Latin and Greek letters as browsers show them that stand alone."""

_FEATURES = ("dtls", "flac", "mark", "mkmk", "ssty")
"""Shapes of letters in scripts and below accents."""

_COPYRIGHT = (0, 1, 2, 3, 4, 5, 6, 13, 14)
"""What the font says of itself, its licence too."""

_letters: set[int] = set()


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
    _letters.update(map(ord, html.unescape(re.sub(r"<[^>]*>", "", text))))
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


def _write_font(app: Sphinx, error: Exception | None) -> None:
    """The letters that the formulas have, from the font in a package, for `site.css`."""
    if error is not None:
        return
    options = Options(layout_features=_FEATURES, name_IDs=_COPYRIGHT)
    with as_file(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf") as file:
        font = TTFont(file, recalcTimestamp=False)
        chosen = Subsetter(options)
        chosen.populate(unicodes=_letters | _ITALICS)
        chosen.subset(font)
        font.flavor = "woff"
        font.save(Path(app.outdir) / "_static" / "stix-two-math.woff")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer, and its font."""
    app.connect("build-finished", _write_font)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": False}
