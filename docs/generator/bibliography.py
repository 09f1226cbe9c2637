"""The page of all sources: the papers, the books of formulas, works on methods."""

from __future__ import annotations

from analytic.index.bibliography import REFERENCES
from crawlsim.formula_index import INDEX
from generator.markdown import heading, linked, page, plain
from generator.works import WORKS
from papers.rows import TITLES, counts_of
from scenarios import library_names, load

PLACE = "reference/bibliography"


def bibliography_pages() -> dict[str, str]:
    """The page by its place."""
    papers = [part for key in TITLES for part in _paper(key)]
    others = [part for key in REFERENCES if key not in TITLES for part in _source(key)]
    works = "\n".join(f"- **{plain(cited)}**: {plain(text)}" for cited, text in WORKS.items())
    return {
        PLACE: page(
            "# Bibliography",
            "The five papers about robots of search engines, the other sources of formulas, and "
            "works on the methods of simulation, statistics and computation.",
            "## The five papers",
            *papers,
            "## Other sources of formulas",
            *others,
            "## Methods",
            works,
        )
    }


def _paper(key: str) -> list[str]:
    items = sum(counts_of(key).values())
    ledger = f"[{items} items, and what became of each](#paper-{key})"
    return _source(key, ledger)


def _source(key: str, *more: str) -> list[str]:
    """The reference, and where it leads."""
    results = sum(each.paper == key for each in INDEX)
    links = [*more]
    if results:
        links.append(f"[its results](/theory/results/{key}/index.md)")
    names = [name for name in library_names() if load(name).paper.startswith(key)]
    scenarios = ", ".join(f"[{plain(name)}](#scenario-{name})" for name in names)
    parts = [heading(f"reference-{key}", plain(key), 3), linked(REFERENCES[key])]
    if links:
        parts.append(f"{'; '.join(links)}\\.")
    if scenarios:
        parts.append(f"Scenarios of the library: {scenarios}\\.")
    return parts
