"""What is wrong with the site that was built: links, places, pictures, formulas, requests."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_CODE = {"code", "pre", "script", "style", "math", "kbd", "samp", "title", "textarea"}
_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
_RAW = re.compile(r"\$|\\\(|\\\[|\\[a-z]{2,}")
_VOID = {"img", "link", "meta", "br", "hr", "input", "source", "wbr", "col"}


class Page(HTMLParser):
    """What the checks need of a page.

    Parameters
    ----------
    text : str
        HTML.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.faults: list[str] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        given = {name: value or "" for name, value in attrs}
        if tag not in _VOID:
            self._open.append(tag)
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in _LOADED and _LOADED[tag] in given:
            self.loaded.append(given[_LOADED[tag]])
        if tag == "img" and not given.get("alt", "").strip():
            self.faults.append(f"a picture without an alternative text: {given.get('src')}")
        if tag == "merror" or "katex-error" in given.get("class", ""):
            self.faults.append("a formula that could not be set")
        if "math" in given.get("class", "").split() and tag != "math":
            self.faults.append("a formula that was not set")

    def handle_endtag(self, tag: str) -> None:
        """An element ends, and all that were left open in it."""
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Text."""
        if "math" in self._open and "&" in data:
            self.faults.append("a formula with a mark of alignment, which is shown")
        if not _CODE & set(self._open) and (found := _RAW.search(data)):
            self.faults.append(f"a formula that was not set: {data[found.start() :][:40]!r}")


def faults_of(folder: Path) -> Iterator[str]:
    """Everything that is wrong, with the page where it is.

    Parameters
    ----------
    folder : Path
        Of the HTML pages.
    """
    pages = {
        file.relative_to(folder).as_posix(): Page(file.read_text("utf-8"))
        for file in sorted(folder.rglob("*.html"))
    }
    for name, page in pages.items():
        for fault in page.faults:
            yield f"{name}: {fault}"
        for address in page.loaded:
            if urlsplit(address).netloc:
                yield f"{name}: asks for {address}"
        for address in [*page.links, *page.loaded]:
            fault = _fault_of_link(name, address, pages, folder)
            if fault is not None:
                yield f"{name}: {address} {fault}"


def _fault_of_link(name: str, address: str, pages: dict[str, Page], folder: Path) -> str | None:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    path = unquote(parts.path)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
    if not (folder / target).is_file():
        return "leads to no file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].ids:
        return "leads to no place of that page"
    return None
