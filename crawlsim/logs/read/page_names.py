"""Which names of a log are pages, and how they are spelled: no plan acts where it is opened.

Plans are opened in spreadsheets, which take what begins with "=" for a formula, and shown on
terminals, which obey control characters.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from scenarios.text import ACTING

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_OF_PAGES = ("http", "https", "ftp")
_HOST_AND_PORT = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+):\d{1,5}(?:[/?#]|$)")
_CONTROL = re.compile(rf"[\t\n]|{ACTING.pattern}")
_PLAIN = re.compile("https?://[!-~]*")
_OF_THE_WEB = re.compile(
    r"(?P<scheme>https?)://(?P<host>[^/?#]+)(?P<rest>.*)", re.IGNORECASE | re.DOTALL
).fullmatch
_PORTS = {"http": ":80", "https": ":443"}
_UNSEEN = "\u200b-\u200f\u2060\ufeff"
_WIDE = "\uff1d\uff0b\uff0d\uff20"
"""The signs of formulas as wide as East Asian letters, which some spreadsheets read alike."""

_ACTS_AT_THE_START = re.compile(rf"[=+@{_WIDE}{_UNSEEN}-]|{_CONTROL.pattern}")


OTHER_SCHEME, ACTING_NAME = -1, -2
"""Why a name is not a page: its scheme, such as dns: or mailto:, or what its first letter does."""


def page_named(name: str) -> str | int:
    """The page that a log calls so: control characters are percent-encoded, as URLs have them.

    Returns
    -------
    str or int
        `OTHER_SCHEME` or `ACTING_NAME` of what is not a page.
    """
    if _PLAIN.fullmatch(name):
        return name
    scheme = _SCHEME.match(name)
    if scheme is None or _HOST_AND_PORT.match(name):
        if _ACTS_AT_THE_START.match(name):
            return ACTING_NAME
    elif scheme[1].lower() not in _OF_PAGES:
        return OTHER_SCHEME
    return spelled(name)


def site_key(name: str) -> str:
    """What the usual spellings of a page have in common.

    They are ``http`` and ``https``, with ``www.`` and without, with the port that the scheme has
    anyway, with an empty query, and of a home page with a slash and without.
    """
    found = _OF_THE_WEB(name)
    if found is None:
        return name
    host = found["host"].lower().removesuffix(_PORTS[found["scheme"].lower()])
    rest = found["rest"].removesuffix("?")
    return f"//{host.removeprefix('www.')}{rest or '/'}"


def spelled(name: str) -> str:
    """The name with control characters percent-encoded."""
    return _CONTROL.sub(lambda match: quote(match[0]), name)
