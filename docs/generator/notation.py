"""The page of the symbols: one quantity in five papers, one letter with several meanings, all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analytic.index.notation import NOTATION
from generator.markdown import fold, heading, page, plain, table
from papers.rows import TITLES

PLACE = "reference/notation"

_KEY = "[`{0}`](#key-{0})"
_MEASURE = "[`{0}`](#measure-{0})"

QUANTITIES: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        "change rate of a page, update rate of a source",
        _KEY.format("pages.change_rates"),
        {"coffman1998": r"\mu_i", "altman2000": r"\mu_m", "eckstein2005": r"\lambda"},
    ),
    (
        "weight of a page, importance of an update",
        _KEY.format("pages.weights"),
        {"coffman1998": r"c_i", "altman2000": r"c_m", "eckstein2005": "a"},
    ),
    (
        "share of the accesses that are of a page",
        _MEASURE.format("crawl_frequency"),
        {"coffman1998": r"f_i", "altman2000": r"x_m"},
    ),
    (
        "time of an access",
        _KEY.format("robots.access_time"),
        {"coffman1998": "X", "altman2000": r"\tau"},
    ),
    (
        "share of time in which the copy of a page is out of date",
        _MEASURE.format("obsolescence_rate"),
        {"coffman1998": "r_i", "altman2000": "r_m"},
    ),
    (
        "length of the period of a schedule",
        _KEY.format("robots.accessing.template"),
        {"coffman1998": "K", "altman2000": "n"},
    ),
    (
        "slots from an access to the next one of the same page or server",
        "",
        {"coffman1998": "d_j", "altman2000": r"\delta_j^m"},
    ),
    (
        "number of robots",
        _KEY.format("robots.available"),
        {"coffman1998": "R", "talim2001": "N"},
    ),
    (
        "active robots, at a level",
        _MEASURE.format("mean_active_robots"),
        {"talim2001": "r", "avrachenkov2011": "r_n"},
    ),
    (
        "load: deliveries per service time, changes per access time",
        "",
        {"coffman1998": "q", "talim2001": r"\rho"},
    ),
    (
        "pages that the buffer holds, the one in service included",
        _KEY.format("buffer.waiting_places") + " + 1",
        {"talim2001": "K", "avrachenkov2011": "K"},
    ),
    (
        "service rate",
        _KEY.format("buffer.service"),
        {"talim2001": r"\mu", "altman2000": r"\mu_m", "avrachenkov2011": r"\mu"},
    ),
    (
        "rate at which a waiting page becomes obsolete",
        _KEY.format("buffer.obsolescence"),
        {"avrachenkov2011": r"\theta"},
    ),
    (
        "share of time with so many pages in the system",
        _MEASURE.format("level_probability"),
        {"talim2001": "p_q", "avrachenkov2011": "p_n"},
    ),
    (
        "share of time with an empty system",
        _MEASURE.format("starvation_probability"),
        {"talim2001": "S", "avrachenkov2011": r"P_{\mathrm{starv}}"},
    ),
    (
        "share of the pages or packets that are lost",
        _MEASURE.format("loss_probability"),
        {"avrachenkov2011": r"P_{\mathrm{loss}}", "altman2000": "g"},
    ),
    (
        "pages lost per unit time",
        _MEASURE.format("loss_rate"),
        {"talim2001": "L"},
    ),
    (
        "sojourn time of the pages that are indexed",
        _MEASURE.format("sojourn_time"),
        {"talim2001": "T", "avrachenkov2011": r"V_{\mathrm{succ}}"},
    ),
    (
        "what is to be least",
        "",
        {
            "coffman1998": "C",
            "talim2001": "C",
            "avrachenkov2011": "J",
            "altman2000": "g",
            "eckstein2005": "C",
        },
    ),
)
"""A quantity, its key or measure, and its symbol in each paper that has it."""

_LETTER = re.compile(r"(?:\\mathbf\{)?(\\[A-Za-z]+|[A-Za-z])\}?")


def notation_pages() -> dict[str, str]:
    """The page by its place."""
    rows = [
        [plain(words), name, *(_math(symbols.get(paper)) for paper in TITLES)]
        for words, name, symbols in QUANTITIES
    ]
    return {
        PLACE: page(
            "# Notation",
            "The papers write the same things in different letters, and different things in the "
            "same. The formulas of this site keep the symbols of their papers; under each of them "
            "stands what its letters mean.",
            "## One quantity, five papers",
            "With the key or the measure of crawlsim, where there is one.",
            ":::{container} notation",
            table(["quantity", "in crawlsim", *TITLES], rows),
            ":::",
            "## One letter, several meanings",
            fold("The letters", table(["letter", "in", "stands for"], _ambiguous())),
            "## All symbols, source by source",
            *(part for paper in NOTATION for part in _all_of(paper)),
        )
    }


def letters() -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Symbols and their meanings in the five papers: letter -> paper -> pairs."""
    found: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for paper in TITLES:
        for symbol, words in NOTATION[paper].items():
            letter = _LETTER.match(symbol)
            if letter is not None and not symbol.startswith((r"\bar", r"\tilde")):
                by_paper = found.setdefault(letter[1], {})
                by_paper.setdefault(paper, []).append((symbol, words))
    return found


def _ambiguous() -> Iterator[list[str]]:
    """The letters that mean something in several papers, in alphabetical order."""
    of_several = {letter: each for letter, each in letters().items() if len(each) > 1}
    for letter in sorted(of_several, key=lambda each: (each.strip("\\").lower(), each)):
        for place, (paper, pairs) in enumerate(of_several[letter].items()):
            told = "; ".join(f"{_math(symbol)} {plain(words)}" for symbol, words in pairs)
            yield ["" if place else _math(letter), paper, told]


def _all_of(paper: str) -> list[str]:
    rows = [[_math(symbol), plain(words)] for symbol, words in NOTATION[paper].items()]
    symbols = fold(f"{len(rows)} symbols", table(["symbol", "stands for"], rows))
    return [heading(f"notation-{paper}", paper, 3), symbols]


def _math(symbol: str | None) -> str:
    return f"{{math}}`{symbol}`" if symbol else ""
