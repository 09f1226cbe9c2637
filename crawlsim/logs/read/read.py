"""From files of any format to one history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from crawlsim.logs.read.csv_lines import Block, blocks, from_first_line
from crawlsim.logs.read.forms import FORMS, form_of
from crawlsim.logs.read.history import History
from crawlsim.logs.read.log import ChangeLog, VisitLog
from crawlsim.logs.read.named import Kind
from crawlsim.logs.read.page_names import site_key
from crawlsim.logs.read.parquet import is_parquet, read_parquet
from crawlsim.logs.read.rows import Rows
from scenarios.base import one_of
from scenarios.errors import MISSING, ScenarioError

PAGES: Mapping[str, Callable[[str], str] | None] = {"exact": None, "site-key": site_key}
"""What spellings of a URL have in common that are one page; None: each is its own."""

_PARQUET = "common-crawl"


def read_logs(
    paths: Sequence[str | Path],
    *,
    form: str | None = None,
    kind: Kind | None = None,
    pages: str = "exact",
    begun: Iterator[Block] | None = None,
) -> VisitLog | ChangeLog:
    """The history that some logs hold together.

    Parameters
    ----------
    paths : sequence of str or Path
        Files, plain or packed (gz, bz2, xz, zst); folders stand for the files in them, or for a
        Parquet data set.
    form : str, optional
        One of `FORMS`; by default each file's own, by what it holds.
    kind : str, optional
        Whether times without a digest are those of changes ("changes", the default); with a digest
        they are always those of visits.
    pages : {"exact", "site-key"}
        Whether each spelling of a URL is a page, or those with one `site_key` together.
    begun : iterator of Block, optional
        The only file, from its first line on, if it was opened already: a pipe is read once.

    Raises
    ------
    ScenarioError
        If a file cannot be read or is not a log, or the logs do not go together.
    """
    if form is not None and form not in FORMS:
        raise ScenarioError("--from", form, f"must be {one_of(form, FORMS)}")
    if pages not in PAGES:
        raise ScenarioError("--pages", pages, f"must be {one_of(pages, PAGES)}")
    if not paths:
        raise ScenarioError("", MISSING, "no log is given")
    history = History(PAGES[pages])
    kinds: dict[Kind, Path] = {}
    dumps: list[str] = []
    is_log = False
    for path in map(Path, paths):
        read = [_read_file(file, form, kind, history, begun) for file in files_of(path)]
        kinds |= {found_kind: path for found_kind, _ in read if found_kind is not None}
        shown = [name for _, name in read if FORMS[name].dump]
        # The files of a folder are parts of one dump, but sitemaps are of many times.
        dumps += shown if "sitemaps" in shown else shown[:1]
        is_log = is_log or not shown
    if len(dumps) == 1 and not is_log:
        what = FORMS[dumps[0]].dump
        allowed = f"one {what} says only how each page was last seen; two or more are needed"
        raise ScenarioError("", MISSING, allowed + history.said(), str(paths[0]))
    if len(kinds) > 1:
        allowed = f"holds times of changes, and {kinds['visits']} holds visits: not one history"
        raise ScenarioError("", MISSING, allowed, str(kinds["changes"]))
    if "changes" in kinds:
        return history.change_log()
    log = history.visit_log()
    is_of_sitemaps = set(dumps) == {"sitemaps"} and not is_log
    if is_of_sitemaps and len(np.unique(log.time)) < 2:
        allowed = (
            "all sitemaps are of the same time; put the day on which each was fetched into its "
            "name: sitemap-2025-01-06.xml"
        )
        raise ScenarioError("", MISSING, allowed, str(paths[0]))
    return replace(log, is_of_sitemaps=is_of_sitemaps)


def files_of(path: Path) -> list[Path]:
    """The file itself, or the files of a folder without hidden ones and marks of success."""
    try:
        if not path.is_dir() or is_parquet(path):
            return [path]
        files = sorted(file for file in path.iterdir() if file.is_file())
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise ScenarioError("", MISSING, f"cannot be read: {reason}", str(path)) from None
    files = [file for file in files if not file.name.startswith((".", "_"))]
    if not files:
        raise ScenarioError("", MISSING, "holds no file", str(path))
    return files


def _read_file(
    path: Path,
    form: str | None,
    kind: Kind | None,
    history: History,
    begun: Iterator[Block] | None,
) -> tuple[Kind | None, str]:
    """Read one file into the history.

    Returns
    -------
    kind : str or None
        What it holds; None if it is empty.
    form : str
        The format; that of CSV if it is empty.

    Raises
    ------
    ScenarioError
        If it cannot be read, or none of its rows can.
    """
    name = form or _PARQUET
    if is_parquet(path) and name in (_PARQUET, "csv"):
        found_kind, rows = read_parquet(path, kind)
    else:
        parts = begun or from_first_line(blocks(path, json=True))
        first = next(parts, None)
        if first is None:
            return None, "csv"
        name = form or form_of(first, path)
        found_kind, rows = FORMS[name].read(chain([first], parts), path, kind)
    _take(rows, path, history)
    return found_kind, name


def _take(rows: Iterator[Rows], path: Path, history: History) -> None:
    good = 0
    broken = 0
    first = ""
    for part in rows:
        good += len(part.time)
        broken += part.broken.count
        if not first and part.broken.lines:
            first = "; line {} {}".format(*part.broken.lines[0])
        history.add(part, path)
    if broken and not good:
        raise ScenarioError("", MISSING, f"no row can be read{first}", str(path))
