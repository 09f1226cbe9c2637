"""What formulas are called, the queues that they cover, the questions that they answer."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

_GIVEN = tomllib.loads(files("analytic.index").joinpath("names.toml").read_text("utf-8"))

QUESTIONS: dict[str, str] = _GIVEN["questions"]
"""What the formulas are asked, by a word for it."""


MEASURED: dict[str, str] = _GIVEN["measured"]
"""How far approximations were seen to be off, by their source."""


class Name(NamedTuple):
    """What the formulas of one source are called.

    Attributes
    ----------
    name : str
        As a textbook calls it, with Kendall's symbol where there is one.
    kendall : tuple of str
        The queues that it covers.
    questions : mapping
        Keys of `QUESTIONS`, and the beginnings of the quantities that answer each.
    place : int
        The most special formulas come first.
    """

    name: str
    kendall: tuple[str, ...]
    questions: Mapping[str, tuple[str, ...]]
    place: int

    def answers(self, quantity: str) -> list[str]:
        """The questions that a formula of this source answers, by the quantity that it gives."""
        return [key for key, begins in self.questions.items() if quantity.startswith(begins)]


def names_of(families: Iterable[Mapping[str, Any]], first: int = 0) -> dict[str, Name]:
    """Names by source.

    Parameters
    ----------
    families : iterable of mapping
        As in `names.toml`: a name, the queues that it covers, and by question the sources, of some
        with the beginning of the quantity.
    first : int
        The place of the first.
    """
    found: dict[str, Name] = {}
    for place, family in enumerate(families, first):
        for question in QUESTIONS:
            for source, _, begins in (each.partition(": ") for each in family.get(question, ())):
                asked = dict(found[source].questions) if source in found else {}
                asked[question] = (*asked.get(question, ()), begins)
                kendall = tuple(family.get("kendall", ()))
                found[source] = Name(family["name"], kendall, asked, place)
    return found


NAMES: dict[str, Name] = names_of(_GIVEN["family"])
"""By source: paper and number."""

_OURS = frozenset(NAMES)
"""Those that are not of plugins."""


def citation_of(source: str) -> str:
    """A source as people cite it: "talim2001 (9)" is "Talim 2001, eq. 9".

    Results of this project are its derivations, whose places `PROOFS` has (`proofs.py`).

    Parameters
    ----------
    source : str
        Paper and number; any other text stays as it is.
    """
    paper, _, number = source.partition(" ")
    author = re.fullmatch(r"([a-z]+)(\d{4})", paper)
    if not author and source not in NAMES:
        return source
    derived = "crawlsim derivation" if source in _OURS else paper
    cited = f"{author[1].capitalize()} {author[2]}" if author else derived
    equation = re.sub(r"\((\d+)\)", r"\1", number)
    return f"{cited}, {'eq. ' if number.startswith('(') else ''}{equation}" if number else cited


def called(source: str) -> str:
    """The name of what a source says; a source that is not of the index, as it is."""
    return NAMES[source].name if source in NAMES else source


def place_of(source: str) -> int:
    """Where the most special formulas come first, and others last."""
    return NAMES[source].place if source in NAMES else len(NAMES)


def shown(source: str, quantity: str = "") -> str:
    """The name, what of it is meant, and the citation second."""
    name = ", ".join(filter(None, (called(source), quantity)))
    return f"{name} ({citation_of(source)})" if source in NAMES else name


def by_name(sources: Iterable[str]) -> dict[str, list[str]]:
    """The sources that are called by each name."""
    named: dict[str, list[str]] = {}
    for source in dict.fromkeys(sources):
        named.setdefault(called(source), []).append(source)
    return named


def cited(sources: Iterable[str]) -> str:
    """Several sources for people: each name once, then where it is from, each paper once."""
    return "; ".join(
        name if those == [name] else f"{name} ({_citations(those)})"
        for name, those in by_name(sources).items()
    )


def _citations(sources: Iterable[str]) -> str:
    papers: dict[str, list[str]] = {}
    for source in sources:
        paper, _, number = citation_of(source).partition(", ")
        papers.setdefault(paper, []).extend(filter(None, [number]))
    return "; ".join(
        f"{paper}, {'; '.join(numbers)}" if numbers else paper for paper, numbers in papers.items()
    )
