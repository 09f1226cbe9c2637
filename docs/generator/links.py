"""Links of the repository's pages, as they are to read on the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

_LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
_NAMED = re.compile(r"\[[\w./-]+\.(?:md|ipynb)(?:#[\w-]*)?\](?=\()")
"""The text of a link that is the path of a page: the site shows the title of the page instead."""

_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1`*~*\s*$", re.MULTILINE | re.DOTALL)


class BrokenLinkError(LookupError):
    """A link to a file that is not there."""


def relinked(
    text: str, path: str, places: Mapping[str, str], file_at: Callable[[str], str | None]
) -> str:
    """A page with its links changed to the places on the site.

    Parameters
    ----------
    text : str
        Markdown; code is left as it is.
    path : str
        Of the page, from the root of the repository.
    places : mapping path -> place
        Of all pages.
    file_at : callable
        From the path of any other file to where it stands on the site, None where there is none.

    Raises
    ------
    BrokenLinkError
        If a link leads to no page and to no file.
    """

    def target(found: re.Match[str]) -> str:
        before, link, after = found.groups()
        if link.startswith("/"):
            return found.group()
        at = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
        if at in places:
            ending = ".ipynb" if at.endswith(".ipynb") else ".md"
            return f"{before}/{places[at]}{ending}{after}"
        file = file_at(at)
        if file is None:
            raise BrokenLinkError(f"{path} links to {link}, which is no page and no file")
        return f"{before}/{file}{after}"

    def with_links(prose: str) -> str:
        return _LINK.sub(target, _NAMED.sub("[]", prose))

    pieces = []
    end = 0
    for fence in _FENCE.finditer(text):
        pieces += [with_links(text[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*pieces, with_links(text[end:])])
