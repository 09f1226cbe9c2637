"""Small tables that go with a schedule: weights of URLs, budgets of hosts."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from crawlsim.logs.read.csv_lines import blocks
from crawlsim.logs.read.page_names import site_key, spelled
from scenarios import ScenarioError
from scenarios.text import counted

_URLS = ("url", "page")
_WEIGHTS = ("weight", "views", "page_views", "pageviews", "count", "importance")
_HOSTS = ("host",)
_VISITS = ("visits",)


def read_weights(path: str) -> dict[str, float]:
    """Importance of URLs from the columns ``url,weight``; several rows of a URL are added up.

    Raises
    ------
    ScenarioError
        If the file cannot be read, or a weight is no number, negative, or all are 0.
    """
    weights: dict[str, float] = {}
    for line, name, text in _rows("--weights", path, _URLS, _WEIGHTS):
        url = spelled(name)
        value = _number(text) + weights.get(url, 0.0)
        if not (math.isfinite(value) and value >= 0):
            allowed = f"in line {line} of {path} must be a number, 0 or more"
            raise ScenarioError("weight", text, allowed)
        weights[url] = value
    if not any(weights.values()):
        raise ScenarioError("--weights", path, "holds no weight above 0")
    return weights


def read_classes(path: str) -> list[tuple[str, str]]:
    """Names of classes and patterns of URLs (``*``, ``?``), from the columns ``class,pattern``.

    Raises
    ------
    ScenarioError
        If the file cannot be read or has no rows.
    """
    rows = [(name, glob) for _, name, glob in _rows("--classes", path, ("class",), ("pattern",))]
    if not rows:
        raise ScenarioError("--classes", path, "holds no class")
    return rows


def of_site_keys(weights: Mapping[str, float], urls: Sequence[str]) -> dict[str, float]:
    """The weights of URLs, those of all spellings of one page added up under the name it has."""
    names = {site_key(url): url for url in urls}
    added: dict[str, float] = {}
    for url, weight in weights.items():
        name = names.get(site_key(url), url)
        added[name] = added.get(name, 0.0) + weight
    return added


def read_host_visits(path: str) -> dict[str, str]:
    """Visits per unit of time of hosts, from the columns ``host,visits``.

    Raises
    ------
    ScenarioError
        If the file cannot be read or has no rows.
    """
    visits = {host: text for _, host, text in _rows("--host-visits", path, _HOSTS, _VISITS)}
    if not visits:
        raise ScenarioError("--host-visits", path, "holds no host")
    return visits


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _rows(
    option: str, path: str, keys: Sequence[str], values: Sequence[str]
) -> Iterator[tuple[int, str, str]]:
    """Line number, key and value of each row of a CSV file with a header, plain or gz."""
    lines = _lines(path)
    try:
        rows = csv.reader(lines)
        header = [name.strip().lower() for name in next(rows, [])]
        key, value = (_place(header, names) for names in (keys, values))
        if key is None or value is None:
            allowed = f"needs a header with the columns {keys[0]},{values[0]}"
            raise ScenarioError(option, path, allowed)
        for row in rows:
            if len(row) > max(key, value):
                yield rows.line_num, row[key].strip(), row[value].strip()
            elif row:
                has = counted(len(row), "column")
                allowed = f"line {rows.line_num} has {has}, and the header {len(header)}"
                raise ScenarioError(option, path, allowed)
    except csv.Error as error:
        raise ScenarioError(option, path, f"is no CSV file: {error}") from None


def _place(header: Sequence[str], names: Sequence[str]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _lines(path: str) -> Iterator[str]:
    for block in blocks(Path(path)):
        yield from block.text.decode("utf-8", "replace").splitlines(keepends=True)
