"""What the search knows besides the words of the pages: words of other books, and excerpts.

A browser may not fetch the pages of a folder, from which Sphinx takes the excerpts: where the site
is opened from one, `_static/scorer.js` takes them from a list of all texts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from generator.formulas import KENDALL, by_queue, page_of
from generator.places import place_of
from sphinx import addnodes

from crawlsim.lists import SYNONYMS

_WORDS: dict[str, list[str]] = defaultdict(list)
for _word, _entry in SYNONYMS.items():
    _WORDS[place_of(_entry["page"])].append(_word)
for _symbol, _rows in by_queue().items():
    _WORDS[KENDALL].append(_symbol)
    _WORDS[page_of(_rows[0])].append(_symbol)

_GLOSSARY = "reference/glossary"
_LEFT_OUT = (nodes.math, nodes.math_block, nodes.raw, nodes.comment)
_texts: dict[str, str] = {}


def _add_words(app: Any, doctree: nodes.document) -> None:
    """Entries of the index: the search finds them before words of the text."""
    page = app.env.docname
    words = [*_WORDS[page], *(_defined(doctree) if page == _GLOSSARY else ())]
    entries = [("single", word, "", "main", None) for word in words]
    doctree.insert(0, addnodes.index(entries=entries))


def _defined(doctree: nodes.document) -> Iterator[str]:
    for row in doctree.findall(nodes.row):
        yield from row[0].astext().split(", ")


def _keep_text(_app: Any, page: str, _template: str, _context: Any, tree: Any) -> None:
    if tree is not None:
        _texts[page] = _text(tree)


def _text(node: nodes.Node) -> str:
    """The words, and where sections begin: results may be about one."""
    if isinstance(node, nodes.Text):
        return escape(" ".join(node.astext().split()))
    if isinstance(node, _LEFT_OUT):
        return ""
    words = " ".join(filter(None, map(_text, node.children)))
    if isinstance(node, nodes.section):
        return f'<section id="{node["ids"][0]}">{words}</section>'
    return words


def _write_texts(app: Any, error: Exception | None) -> None:
    if error is None:
        text = f"const TEXTS = {json.dumps(_texts, ensure_ascii=False)};\n"
        (Path(app.outdir) / "_static" / "texts.js").write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Connect them."""
    app.connect("doctree-read", _add_words)
    app.connect("html-page-context", _keep_text)
    app.connect("build-finished", _write_texts)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
