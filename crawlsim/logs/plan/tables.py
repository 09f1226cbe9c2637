"""Small tables that go with a schedule: weights and sizes of URLs, budgets of hosts."""

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
_SIZES = ("bytes", "size", "content_length", "length")
_HOSTS = ("host",)
_VISITS = ("visits",)


def read_weights(path: str) -> dict[str, float]:
    """Importance of URLs from the columns ``url,weight``; several rows of a URL are added up.

    Raises
    ------
    ScenarioError
        If the file cannot be read, or a weight is not a number, negative, or all are 0.
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


def read_sizes(path: str) -> dict[str, float]:
    """Bytes of URLs from the columns ``url,bytes``; of several rows of a URL the last one counts.

    Raises
    ------
    ScenarioError
        If the file cannot be read, has no rows, or a size is not a number above 0.
    """
    sizes: dict[str, float] = {}
    for line, name, text in _rows("--sizes", path, _URLS, _SIZES):
        value = _number(text)
        if not (math.isfinite(value) and value > 0):
            allowed = f"in line {line} of {path} must be a number above 0"
            raise ScenarioError("bytes", text, allowed)
        sizes[spelled(name)] = value
    if not sizes:
        raise ScenarioError("--sizes", path, "holds no page")
    return sizes


def read_robots(folder: str) -> dict[str, float]:
    """Seconds between two visits of a host by the Crawl-delay of its robots.txt for all robots.

    Parameters
    ----------
    folder : str
        Has a file for each host: ``HOST``, ``HOST.txt`` or ``HOST/robots.txt``.

    Raises
    ------
    ScenarioError
        If it is not a folder, cannot be read, or no file of it has such a line.
    """
    place = Path(folder)
    try:
        files = {each.name.removesuffix(".txt"): each for each in place.iterdir() if each.is_file()}
        files |= {each.parent.name: each for each in place.glob("*/robots.txt")}
        found = {host: _crawl_delay(each.read_bytes()) for host, each in sorted(files.items())}
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ScenarioError("--robots", folder, f"cannot be read: {reason}") from None
    delays = {host: delay for host, delay in found.items() if delay}
    if not delays:
        allowed = "holds no file HOST.txt with a line Crawl-delay for all robots"
        raise ScenarioError("--robots", folder, allowed)
    return delays


def _crawl_delay(text: bytes) -> float:
    """Seconds, of the group of all robots; 0 where there is none that is a number."""
    is_of_all = False
    is_open = False  # lines of robots one below the other begin one group
    delay = 0.0
    for line in text.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition("#")[0].partition(":")
        name = name.strip().lower()
        if name == "user-agent":
            is_of_all = (is_open and is_of_all) or value.strip() == "*"
        elif name == "crawl-delay" and is_of_all:
            seconds = _number(value.strip())
            delay = max(delay, seconds) if math.isfinite(seconds) else delay
        is_open = name == "user-agent" or (is_open and not name)
    return delay


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


def under_site_keys(sizes: Mapping[str, float], urls: Sequence[str]) -> dict[str, float]:
    """The sizes of URLs under the names that their pages have; of several spellings the last."""
    names = {site_key(url): url for url in urls}
    return {names.get(site_key(url), url): size for url, size in sizes.items()}


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
        raise ScenarioError(option, path, f"is not a CSV file: {error}") from None


def _place(header: Sequence[str], names: Sequence[str]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _lines(path: str) -> Iterator[str]:
    for block in blocks(Path(path)):
        yield from block.text.decode("utf-8", "replace").splitlines(keepends=True)
