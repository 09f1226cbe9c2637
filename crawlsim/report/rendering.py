"""Templates filled with text of any origin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from scenarios.text import visible


def _text_of(name: str) -> str:
    """A file beside this module."""
    return (resources.files("crawlsim.report") / name).read_text(encoding="utf-8")


def rendered(name: str, filters: Mapping[str, Callable[..., Any]], **values: Any) -> str:
    """A page: a template with values, which are escaped, in it.

    Parameters
    ----------
    name : str
        File of the template.
    filters : mapping name -> callable
        What the template may apply to its values.
    **values
        What it shows, `style` aside.

    Returns
    -------
    str
        Without characters that would act rather than show (`scenarios.text.visible`).
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= filters
    template = environment.from_string(_text_of(name))
    return visible(template.render(style=Markup(_text_of("style.css")), **values))
