"""How Sphinx makes the site; `make docs` stages its pages first (`generator`)."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from docutils import nodes
from generator.places import place_of

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions")]

project = "crawlsim"
copyright = "the crawlsim authors"  # noqa: A001  # Sphinx reads it under this name
release = metadata.version("crawlsim")

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "mathml_math",
    "search",
]
html_math_renderer = "mathml"
nb_execution_mode = "off"
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
highlight_language = "none"
smartquotes = False  # options begin with two hyphens
default_role = "py:obj"
nitpicky = True
exclude_patterns = ["downloads"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "crawlsim"
html_static_path = [str(HERE / "_static")]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False
html_search_scorer = str(HERE / "_static" / "scorer.js")
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def _name_without_page(
    _app: Any, _env: Any, node: nodes.Element, content: nodes.Element
) -> nodes.Element | None:
    """Names in docstrings that are not public stay as they are: they lead nowhere."""
    return content if node.get("reftype") == "obj" else None


_CODE = re.compile(r'(?<=<span class="pre">)[^<]*')
_JOINT = re.compile(r"(?<=\w)([._])(?=\w)")


def _break_after_joints(_app: Any, _page: str, _template: str, context: Any, _tree: Any) -> None:
    """A long name within a line may break after its dots and underscores."""
    if "body" in context:
        context["body"] = _CODE.sub(
            lambda name: _JOINT.sub(r"\1<wbr>", name.group()), context["body"]
        )


_CITED = re.compile(r"`*\b(docs/(?:[\w-]+/)?[\w-]+\.md)\b`*")


def _link_pages(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: Any) -> None:
    """Pages of the repository that docstrings cite are links."""
    lines[:] = [_CITED.sub(lambda page: f":doc:`/{place_of(page[1])}`", line) for line in lines]


def setup(app: Any) -> None:
    """Names that lead nowhere are no errors; pages and labels that lead nowhere are."""
    app.connect("missing-reference", _name_without_page)
    app.connect("html-page-context", _break_after_joints)
    app.connect("autodoc-process-docstring", _link_pages)
