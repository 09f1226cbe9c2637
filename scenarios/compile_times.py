"""What compiling took on this machine the last time: a number beside the code that is kept."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_MOST = 86400.0


def place_of_code(beside: Path) -> Path:
    """The folder in which numba keeps code, or makes folders for it.

    Parameters
    ----------
    beside : Path
        Where it would be kept unless told otherwise.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    return Path(given) if given else beside


def note_time(what: str, place: Path, seconds: float) -> None:
    """Remember it; where nothing can be written, it is not remembered."""
    with suppress(OSError):
        _record(what, place).write_text(f"{seconds:.3g}\n")


def time_in_words(what: str, place: Path) -> str:
    """How long compiling takes: what it took here, and where that is not known, at most.

    Parameters
    ----------
    what : str
        What is compiled, such as "engine".
    place : Path
        Its `place_of_code`.
    """
    with suppress(OSError, ValueError):
        seconds = float(_record(what, place).read_text())
        if 0.0 <= seconds < _MOST:
            return f"some {max(seconds, 1.0):.0f} s, as the last time"
    return "up to half a minute"


def _record(what: str, place: Path) -> Path:
    return place / f"crawlsim-{what}.seconds"
