"""A page for each result: its statement, when it holds, where it is from, and how to see it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from analytic.index.bibliography import ORIGINS, REFERENCES
from analytic.index.formula import Condition
from analytic.index.names import NAMES, QUESTIONS, Name, citation_of, shown
from analytic.index.proofs import PROOFS
from crawlsim.formula_index import INDEX
from generator.examples import Result, example_of
from generator.figures import figure_of
from generator.markdown import (
    block,
    code,
    heading,
    linked,
    page,
    plain,
    prose,
    slug,
    table,
    toctree,
)
from generator.places import place_of
from generator.public import public_name
from papers.rows import TITLES, Row, rows_of

FOLDER = "theory/results"
QUESTIONS_PAGE = f"{FOLDER}/questions"
_EXACT = "What a result gives is exact, unless it says otherwise\\."
KENDALL = f"{FOLDER}/kendall"


def label_of(paper: str, number: str) -> str:
    """The label of the page of a result."""
    return f"formula-{paper}-{slug(number)}"


def page_of(rows: list[Result]) -> str:
    """The place of the page of the rows of one number."""
    return f"{FOLDER}/{rows[0].paper}/{slug(rows[0].number)}"


@cache
def results() -> dict[str, list[Result]]:
    """The rows of the index of formulas by label; those of one number are on one page."""
    found: dict[str, list[Result]] = {}
    for each in sorted(INDEX, key=lambda each: each.paper):
        found.setdefault(label_of(each.paper, each.number), []).append(each)
    return found


def formula_pages() -> dict[str, str]:
    """The pages by their places."""
    pages = {}
    by_paper: dict[str, list[list[Result]]] = {}
    for label, rows in results().items():
        paper = rows[0].paper
        pages[page_of(rows)] = _page(label, rows)
        by_paper.setdefault(paper, []).append(rows)
    for paper, those in by_paper.items():
        pages[f"{FOLDER}/{paper}/index"] = page(
            f"# {citation_of(paper) if paper[-1].isdigit() else _own_title(paper)}",
            linked(REFERENCES[paper]),
            _EXACT,
            _table(those),
            toctree(_names_below(pages, paper), "hidden"),
        )
    pages[QUESTIONS_PAGE] = page("# Results by question", _EXACT, *_by_question())
    pages[KENDALL] = page(
        "# Results by queue, in Kendall's notation",
        "Arrivals / services / servers / places, those in service included, + patience: M "
        "exponential, M(n) at a rate that depends on the level, D constant, PH of phase type, G or "
        "GI any law, MAP and BMAP Markovian arrival processes, the latter in batches\\.",
        table(["queue", "what covers it"], map(_covers, by_queue().items())),
    )
    pages[f"{FOLDER}/index"] = page(
        "# Results, one by one",
        "Every row of `crawlsim formulas`: what it gives, when it holds, where it is from, and a "
        "command that shows it.",
        toctree(["questions", "kendall", *(f"{paper}/index" for paper in by_paper)], "maxdepth: 1"),
    )
    return pages


def _own_title(paper: str) -> str:
    """What results of this project are about, as their reference begins."""
    return plain(REFERENCES[paper].partition(":")[0])


def _by_question() -> Iterator[str]:
    for question, words in QUESTIONS.items():
        yield heading(f"results-{question}", plain(words), 2)
        answers = (
            [each for each in rows if question in _name(rows).answers(each.quantity)]
            for rows in _special_first()
        )
        yield _table(list(filter(None, answers)))


def by_queue() -> dict[str, list[list[Result]]]:
    """The results that cover each queue in Kendall's notation, the most special first."""
    symbols = {symbol for name in NAMES.values() for symbol in name.kendall}
    return {
        symbol: [rows for rows in _special_first() if symbol in _name(rows).kendall]
        for symbol in sorted(symbols, key=lambda each: (len(each), each))
    }


def _covers(queue: tuple[str, list[list[Result]]]) -> list[str]:
    symbol, those = queue
    links: dict[str, list[str]] = {}
    for rows in those:
        link = f"[{plain(citation_of(rows[0].source))}](#{_label(rows)})"
        links.setdefault(rows[0].name, []).append(link)
    return [plain(symbol), "; ".join(f"{plain(name)}: {', '.join(links[name])}" for name in links)]


def _special_first() -> list[list[Result]]:
    return sorted(results().values(), key=lambda rows: _name(rows).place)


def _name(rows: list[Result]) -> Name:
    return NAMES[rows[0].source]


def _label(rows: list[Result]) -> str:
    return label_of(rows[0].paper, rows[0].number)


def _table(those: list[list[Result]]) -> str:
    return table(["result", "source", "gives"], map(_cells, those))


def _cells(rows: list[Result]) -> list[str]:
    words = plain("; ".join(each.quantity for each in rows))
    kinds = plain(", ".join(dict.fromkeys(each.kind for each in rows)))
    link = f"[{plain(rows[0].name)}](#{_label(rows)})"
    return [
        link,
        plain(citation_of(rows[0].source)),
        words if kinds == "exact" else f"{words}; {kinds}",
    ]


def _names_below(pages: dict[str, str], paper: str) -> list[str]:
    folder = f"{FOLDER}/{paper}/"
    return [place.removeprefix(folder) for place in pages if place.startswith(folder)]


def _page(label: str, rows: list[Result]) -> str:
    first = rows[0]
    parts = [heading(label, plain(shown(first.source)))]
    for each in rows:
        if len(rows) > 1:
            parts.append(f"## {_sentence(each.quantity)}")
        parts += _parts(each, "###" if len(rows) > 1 else "##")
    if figure := figure_of(label):
        parts += ["## Theory beside simulation", figure]
    parts += [f"*Source:* {linked(REFERENCES[first.paper])}"]
    if covered := NAMES[first.source].kendall:
        parts += [f"*[Queues](/{KENDALL}.md) that it covers:* {plain(', '.join(covered))}\\."]
    return page(*parts)


def _parts(result: Result, level: str) -> list[str]:
    parts = [f"{_sentence(result.quantity)}\\.", block(result.latex, "{math}"), _symbols(result)]
    if result.origin == "corrected":
        parts.append(_errata(result))
    parts.append(
        f"- Kind: {plain(result.kind)}\n"
        f"- Origin: {plain(result.origin)}: {prose(ORIGINS[result.origin])}\n"
        f"- Function: {_function(result)}\n"
        f"- Derivation: []({_proof(result)})"
    )
    if result.conditions:
        parts += [f"{level} When it holds", "\n".join(map(_condition, result.conditions))]
    return [*parts, f"{level} See it", block(example_of(result), "sh")]


def _proof(result: Result) -> str:
    """Where on the site it is derived."""
    page, _, heading = PROOFS[result.source].partition("#")
    return f"/{place_of(page)}.md#{heading}"


def _symbols(result: Result) -> str:
    """What the letters of the statement stand for."""
    named = (f"* {{math}}`{symbol}`: {plain(words)}" for symbol, words in result.symbols.items())
    return "\n".join(named)


def _function(result: Result) -> str:
    name = public_name(result.function)
    if name is not None:
        return f"{{py:obj}}`{name}`"
    return code(f"{result.function.__module__}.{result.function.__name__}")


def _condition(condition: Condition) -> str:
    return f"- {prose((condition.__doc__ or '').splitlines()[0])}"


def _sentence(text: str) -> str:
    return plain(text[0].upper() + text[1:])


def _errata(result: Result) -> str:
    """What is wrong in the print."""
    notes = [linked(row.note) for row in _corrected(result) if row.note]
    told = notes or ["What was changed, and how we know, stands in the errata\\."]
    lines = "\n\n".join(dict.fromkeys(told))
    more = f"All of them: [](/reference/errata.md#{result.paper})\\."
    return f":::{{admonition}} Erratum\n:class: warning\n\n{lines}\n\n{more}\n:::\n"


def _corrected(result: Result) -> list[Row]:
    """Rows of the ledger for the same number that are not as printed."""
    if result.paper not in TITLES:
        return []
    number = result.number.removesuffix(" corrected")
    rows = rows_of(result.paper).values()
    wrong = [row for row in rows if row.status in ("corrected", "refuted")]
    ends = set(number.split("-")) if number.startswith("(") else {number}
    return [row for row in wrong if row.item in ends or row.item == number]
