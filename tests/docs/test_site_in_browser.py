"""The built site in a browser: no request leaves it, no page is wider than a telephone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from urllib.parse import quote

import pytest
from chromium import CHROMIUM

HTML = Path(__file__).parents[2] / "docs" / "_build" / "html"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.thorough,
    pytest.mark.skipif(not (HTML / "index.html").exists(), reason="needs make docs"),
]
pytest.importorskip("websocket")

from browser import Browser  # noqa: E402  # needs websocket

WIDER = """
[...document.querySelectorAll('body *')].filter(each => {
  const box = each.getBoundingClientRect();
  if (box.width === 0 || box.right <= document.documentElement.clientWidth + 1) return false;
  for (let at = each; at !== document.body; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (style.visibility === 'hidden' || style.position === 'fixed') return false;
    if (at !== each && ['auto', 'scroll'].includes(style.overflowX)) return false;
  }
  return true;
}).map(each => each.tagName + ' ' + each.className + ' ' + each.textContent.slice(0, 40))
"""
FOUND = """
new Promise(done => {
  const look = () => {
    const results = document.querySelector('#search-results');
    const said = results.querySelector('.search-summary, p');
    const pages = [...results.querySelectorAll('ul.search li a')];
    const over = said && !/Searching|Preparing/.test(results.innerText);
    if (over || pages.length >= 5)
      done(pages.slice(0, 5).map(each => each.getAttribute('href')));
    else setTimeout(look, 50);
  };
  look();
})
"""
EXCERPTS = """
new Promise(done => {
  const results = [...document.querySelectorAll('#search-results ul.search > li')].slice(0, 3);
  const look = () => {
    const texts = results.map(each => each.querySelector('.context')?.textContent);
    if (texts.every(each => each !== undefined)) done(texts);
    else setTimeout(look, 50);
  };
  look();
})
"""
BROKEN_WITHIN_A_WORD = """
[...document.querySelectorAll('article h2 .pre')].flatMap(one => {
  const walk = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (walk.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(walk.currentNode);
    const tops = new Set([...range.getClientRects()].map(each => Math.round(each.top)));
    if (tops.size > 1 && !walk.currentNode.textContent.includes('-'))
      broken.push(walk.currentNode.textContent);
  }
  return broken;
})
"""
KINDS = (
    "index.html",
    "tutorials/index.html",
    "howto/bottleneck.html",
    "howto/stormcrawler.html",
    "theory/derivations.html",
    "theory/indexing-queue.html",
    "reference/notation.html",
    "theory/accessing.html",
    "theory/results/talim2001/8.html",
    "theory/results/coffman1998/12-15.html",
    "theory/results/kendall.html",
    "theory/results/questions.html",
    "search.html",
    "reference/commands/sweep.html",
    "reference/keys/robots.html",
    "reference/keys/index.html",
    "reference/measures.html",
    "reference/errata.html",
    "reference/papers/talim2001.html",
    "reference/python/analytic.routing.html",
    "reference/glossary.html",
    "gallery/index.html",
    "gallery/cold-start.html",
    "notebooks/one-queue.html",
)
READ = (
    "index.html",
    "gallery/index.html",
    "notebooks/intervals.html",
    "replays/more-robots-4-2.html",
    "theory/derivations.html",
    "theory/results/talim2001/8.html",
)
FIRST = {
    "M/M/1/K": "notebooks/one-queue",
    "M/D/1/K": "theory/results/courtois1971/embedded-chain-with-timers",
    "Erlang B": "theory/results/kleinrock1975/section-3-5-erlang-b",
    "confidence interval": "notebooks/intervals",
    "Little": "theory/indexing-queue",
    "PASTA": "theory/indexing-queue",
    "warm-up": "howto/sweeps",
    "reneging": "howto/obsolete-pages",
    "impatience": "howto/obsolete-pages",
    "balking": "howto/pausing",
    "blocking": "notebooks/one-queue",
    "utilisation": "howto/bottleneck",
    "throughput": "howto/throughput",
    "sitemap": "howto/scheduling",
    "politeness": "howto/polite-order",
    "percentile": "howto/time-to-index",
    "how many robots": "howto/how-many-robots",
    "recrawl": "tutorials/log-to-schedule",
    "freshness": "howto/how-stale",
    "age": "howto/how-stale",
    "rare loss": "howto/rare-losses",
    "golden ratio": "theory/golden-ratio",
    "patience": "reference/glossary",
    "threshold": "reference/glossary",
    "obsolescence": "reference/glossary",
    "robots": "howto/how-many-robots",
    "starvation": "reference/keys/costs",
}
"""What is looked for, and a page that is among the first three."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM is not None
    one = Browser(CHROMIUM, tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


def faults(browser: Browser, width: int) -> list[str]:
    """What is wrong with the page that is shown."""
    elsewhere = [each for each in browser.asked_for if not each.startswith(("file:", "data:"))]
    wide = browser.value("document.documentElement.scrollWidth") > width
    wider = [str(each) for each in browser.value(WIDER)]
    return [*browser.said, *elsewhere, *wider, *(["the page scrolls sideways"] if wide else [])]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_of_every_kind_fit_the_window_and_ask_for_nothing(
    browser: Browser, width: int, scheme: str
) -> None:
    browser.resize(width, scheme=scheme)
    found = {}
    for name in KINDS:
        browser.open((HTML / name).as_uri())
        found[name] = faults(browser, width)
    assert {name: said for name, said in found.items() if said} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_program_for_the_blind_finds_nothing_wrong(
    browser: Browser, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_core_python")
    script = (resources.files(axe) / "axe.min.js").read_text()
    browser.resize(width, scheme=scheme)
    found = {}
    for name in READ:
        browser.open((HTML / name).as_uri())
        browser.value(f"{script}; 1")
        found[name] = browser.value("axe.run().then(seen => seen.violations.map(each => each.id))")
    assert {name: said for name, said in found.items() if said} == {}


def test_formulas_have_the_font_of_the_site(browser: Browser) -> None:
    browser.resize(1280)
    browser.open((HTML / "theory/results/talim2001/8.html").as_uri())
    loaded = browser.value(
        "document.fonts.ready.then(all => [...all].filter(each => each.status === 'loaded')"
        ".map(each => each.family.replaceAll('\"', '')))"
    )
    assert "STIX Two Math" in loaded
    assert any(each.endswith("/stix-two-math.woff") for each in browser.asked_for)


def test_what_is_wrong_is_found(browser: Browser, tmp_path: Path) -> None:
    """Negative control: too wide, a request, an error."""
    page = tmp_path / "page.html"
    page.write_text(
        "<!DOCTYPE html><meta name=viewport content='width=device-width'>"
        "<p style='width: 500px'>wide<img src='https://nowhere.invalid/a.png' alt='a'>"
        "<script>console.error('wrong')</script>"
    )
    browser.resize(390)
    browser.open(page.as_uri())
    said = " ".join(faults(browser, 390))
    for each in ("wrong", "nowhere.invalid", "sideways", "P  wide"):
        assert each in said


@pytest.mark.nightly
def test_every_page_fits_a_telephone_and_asks_for_nothing(browser: Browser) -> None:
    browser.resize(390)
    found = {}
    for file in sorted(HTML.rglob("*.html")):
        browser.open(file.as_uri())
        found[file.relative_to(HTML).as_posix()] = faults(browser, 390)
    assert len(found) > 300
    assert {name: said for name, said in found.items() if said} == {}


HEIGHT = "document.documentElement.scrollHeight"
SCREEN = 844
AT_MOST = 30


def longer(browser: Browser, files: Iterable[Path]) -> dict[str, float]:
    """Pages that are too long on a telephone, and how many screens they are."""
    browser.resize(390, SCREEN)
    screens = {}
    for file in files:
        browser.open(file.as_uri())
        screens[file.name] = browser.value(HEIGHT) / SCREEN
    return {name: round(each, 1) for name, each in screens.items() if each > AT_MOST}


def test_no_page_is_longer_than_thirty_screens_of_a_telephone(browser: Browser) -> None:
    """Of those of 60 kB or more: 30 screens of text alone are as much, with the frame of a page."""
    large = [file for file in sorted(HTML.rglob("*.html")) if file.stat().st_size >= 60_000]
    assert len(large) > 30
    assert longer(browser, large) == {}


def test_a_page_that_is_too_long_is_found(browser: Browser, tmp_path: Path) -> None:
    """Negative control; what is folded does not count."""
    head = (
        "<!DOCTYPE html><meta name=viewport content='width=device-width'><body style='margin: 0'>"
    )
    folded = "<details><summary>More</summary><p style='height: 9000px'></details>"
    pages = tmp_path / "short.html", tmp_path / "long.html"
    for page, height in zip(pages, (25_000, 25_500), strict=True):
        page.write_text(f"{head}<div style='height: {height}px'></div>{folded}")
    assert list(longer(browser, pages)) == ["long.html"]


def found(browser: Browser, words: str) -> list[str]:
    """The places of the first pages that the search finds, pages before their sections."""
    browser.open(f"{(HTML / 'search.html').as_uri()}?q={quote(words)}")
    return [page.split(".html")[0] for page in browser.value(FOUND)]


def test_the_search_finds_the_page_to_begin_with(browser: Browser) -> None:
    browser.resize(1280)
    shown = {words: found(browser, words)[:3] for words in FIRST}
    assert {words: shown[words] for words, page in FIRST.items() if page not in shown[words]} == {}
    assert found(browser, "patience")[0] == "reference/glossary"


def test_the_search_shows_where_the_words_stand(browser: Browser) -> None:
    """Also of a folder, of which a browser may fetch no page; without a word to its console."""
    assert found(browser, "Poisson arrivals see time averages")
    excerpts = browser.value(EXCERPTS)
    assert len(excerpts) >= 2
    assert all("average" in each for each in excerpts)
    assert browser.said == []


def test_long_names_in_headings_break_after_their_joints(browser: Browser) -> None:
    """Where a heading has several lines, none but the last ends within a word, but at a hyphen."""
    browser.resize(390)
    for name in ("probing", "robots", "pages"):
        browser.open((HTML / "reference" / "keys" / f"{name}.html").as_uri())
        assert browser.value(BROKEN_WITHIN_A_WORD) == []


SCROLLED = """
(() => {
  const table = document.querySelector('.notation table');
  const box = table.closest('.pst-scrollable-table-container');
  box.scrollLeft = 250;
  const cell = table.querySelector('td').getBoundingClientRect();
  return [box.scrollLeft, cell.left];
})()
"""


def test_quantities_stay_in_sight_while_the_papers_scroll(browser: Browser) -> None:
    """On a telephone the table of the notation is wider than the window."""
    browser.resize(390)
    browser.open((HTML / "reference" / "notation.html").as_uri())
    scrolled, left = browser.value(SCROLLED)
    assert scrolled > 200
    assert 0 <= left < 50


def test_the_search_finds_nothing_for_nonsense(browser: Browser) -> None:
    assert found(browser, "xyzzyqwrt") == []
