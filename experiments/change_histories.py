"""Histories of the changes of a site's pages: made up, or read from files.

A made-up site has what real ones have and a Poisson model has not: sessions of several edits, pages
that change less as they grow old, folders that sleep and wake, sweeps that touch many pages at
once, and pages that appear. A history is a `ChangeLog`; the first time of a page is its creation.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crawlsim.logs.read.gaps import YEAR
from crawlsim.logs.read.log import ChangeLog
from scenarios.arrays import Array

_START = 1388534400.0
"""2014-01-01T00:00:00Z, when the made-up sites begin."""

_DAY = 1 / 365.25
_ASLEEP = 0.05
"""Of its sessions, those that a page of a sleeping folder still has."""


@dataclass(frozen=True)
class Site:
    """How a made-up site lives; times in years.

    Attributes
    ----------
    pages, hosts, folders : int
    years : float
        How long it is watched.
    sessions : float
        Sessions of work per year on a new page, on average over the pages.
    shape : float
        Of the gamma distribution of this rate among the pages of a folder.
    hosts_differ, folders_differ : float
        Standard deviations of the logarithm of the mean rates of hosts and folders.
    edits : float
        Changes of a session, on average; geometric.
    ageing : float
        Rates fall as ``(1 + age) ** -ageing``.
    from_start : float
        Share of the pages that are there from the start; the others appear at any time.
    sleeping : float
        Probability that a folder sleeps until some time.
    sweeps : float
        Sweeps per year over a folder, a host or the site, each as likely.
    swept : float
        Probability that a sweep changes a page in its way.
    """

    pages: int = 500
    hosts: int = 3
    folders: int = 18
    years: float = 10.0
    sessions: float = 1.2
    shape: float = 0.6
    hosts_differ: float = 0.4
    folders_differ: float = 0.8
    edits: float = 2.0
    ageing: float = 0.7
    from_start: float = 0.4
    sleeping: float = 0.25
    sweeps: float = 1.0
    swept: float = 0.4


STEADY = Site()
RESTLESS = Site(pages=600, years=12.0, ageing=1.2, from_start=0.2, sleeping=0.6, sweeps=3.0)
"""Work moves from folder to folder, and sweeps make most of the changes."""


def made_up(site: Site, seed: int = 1) -> ChangeLog:
    """A history of a site.

    Parameters
    ----------
    site : Site
    seed : int
    """
    rng = np.random.default_rng(seed)
    host = rng.integers(site.hosts, size=site.folders)
    effects = site.hosts_differ * rng.standard_normal(site.hosts)[host]
    effects += site.folders_differ * rng.standard_normal(site.folders)
    mean = np.exp(effects - (site.hosts_differ**2 + site.folders_differ**2) / 2)
    folder = np.sort(rng.choice(site.folders, site.pages, p=rng.dirichlet(np.ones(site.folders))))
    rate = rng.gamma(site.shape, site.sessions * mean[folder] / site.shape)
    early = rng.random(site.pages) < site.from_start
    created = np.where(early, 0.0, site.years * rng.random(site.pages))
    sleeps = rng.random(site.folders) < site.sleeping
    wakes = np.where(sleeps, site.years * rng.uniform(0.2, 0.95, site.folders), 0.0)

    sessions = rng.poisson(rate * (site.years - created))
    page = np.repeat(np.arange(site.pages), sessions)
    time = created[page] + (site.years - created[page]) * rng.random(len(page))
    woke = wakes[folder[page]]
    age = time - np.maximum(created[page], woke)
    happens = np.where(time < woke, _ASLEEP, (1 + np.maximum(age, 0.0)) ** -site.ageing)
    kept = rng.random(len(page)) < happens
    page, time = _with_bursts(page[kept], time[kept], site.edits, rng)

    pages = [np.arange(site.pages), page]
    times = [created, time]
    for when in site.years * rng.random(rng.poisson(site.sweeps * site.years)):
        chosen = rng.integers(site.folders)
        ways = (folder == chosen, host[folder] == host[chosen], np.ones(site.pages, bool))
        touched = ways[rng.integers(3)] & (created < when) & (rng.random(site.pages) < site.swept)
        pages.append(np.flatnonzero(touched))
        times.append(when + _DAY * rng.random(int(touched.sum())))
    names = np.array(
        [
            f"https://host-{host[own]:02d}.example/folder-{own:02d}/page-{number:04d}"
            for number, own in enumerate(folder.tolist())
        ],
        object,
    )
    return _history(names, np.concatenate(pages), np.concatenate(times), site.years)


def _with_bursts(
    page: np.ndarray, time: Array, edits: float, rng: np.random.Generator
) -> tuple[np.ndarray, Array]:
    """The changes of sessions that begin at these times: more of them, a day apart on average."""
    number = rng.geometric(1 / edits, len(page))
    later = _DAY * rng.exponential(size=int(number.sum()))
    first = np.cumsum(number) - number
    later[first] = 0.0
    since = np.cumsum(later)
    since -= np.repeat(since[first], number)
    return np.repeat(page, number), np.repeat(time, number) + since


def _history(names: np.ndarray, page: np.ndarray, time: Array, years: float) -> ChangeLog:
    """Rows in order, in whole seconds, none after the end."""
    order = np.argsort(names)
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    inside = time < years
    seconds = np.floor(_START + time[inside] * YEAR)
    rows = np.unique(np.stack([place[page[inside]], seconds]), axis=1)
    return ChangeLog(names[order], rows[0].astype(np.int32), rows[1])


def read_history(path: Path) -> ChangeLog:
    """A history from a CSV file with the columns ``page,time``, plain or compressed.

    Parameters
    ----------
    path : Path
        Times are dates of ISO 8601, in UTC unless they say otherwise.
    """
    import pandas as pd

    rows = pd.read_csv(path, dtype={"page": str}, keep_default_na=False)
    page, names = pd.factorize(rows["page"], sort=True)
    dates = pd.to_datetime(rows["time"], utc=True, format="ISO8601")
    seconds = (dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy(float)
    unique = np.unique(np.stack([page, seconds]), axis=1)
    return ChangeLog(np.asarray(names, object), unique[0].astype(np.int32), unique[1])
