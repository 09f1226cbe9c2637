"""What signals of changes are worth, from visits beside them: precision, and rates of each page.

Between two visits t apart with n signals a page has not changed with probability
``(1 - p)^n exp(-a t)``: p is the precision of the signals, a the rate of the changes that have no
signal. The pages of a folder share p, and the mean of a among pages that signal alike: pages that
signal often change often, and a prior that does not know it takes some of what the signals say for
changes without one. Folders differ around their host, and hosts around one mean of all. All of it
is computed on grids (docs/theory/signals.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import interpolate, special

from crawlsim.logs.fit.shared_prior import Groups
from crawlsim.logs.read.gaps import YEAR, Gaps
from crawlsim.logs.read.signals import Heard
from scenarios.arrays import Array

_COARSE = 0.5
_LOGITS = np.arange(-5.0, 6.01, _COARSE)
"""Of the precision."""
_LEVELS = np.arange(-6.0, 5.01, _COARSE)
"""Logarithms of the mean rate of silent changes in a folder, over a typical one."""
_STEP = 0.25
_RATES = np.arange(-10.0, 6.01, _STEP)
"""Logarithms of the rate of silent changes of a page, over what its signals let expect."""
_FINE = 121
_POINTS = 64

_SHAPES = (0.3, 0.5, 0.8, 1.3, 2.0, 4.0, 8.0, 32.0)
_SHAPES_OF_COUNTS = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0)
_POWERS = (0.0, 0.5, 1.0)
"""How the rate of silent changes grows with that of signals: not at all, to in proportion."""
_SPREADS = (0.2, 0.7, 1.5)
_MOST_PAGES = 2000
_MOST_ROWS = 20_000
_MOST_SAMPLED = 2000
_RUN = 200
_MOST_FOLDERS = 1000
_MOST_REFINED = 30
"""Folders of which each may be known so well that it lies between the points of a coarse grid."""
_TINY = 1e-300
_FURTHEST = 18.0


class Beside(NamedTuple):
    """Visits with the signals beside them.

    Attributes
    ----------
    gaps : Gaps
        While signals were listened to, and those of the two years before the end of the log.
    signals : ndarray of int, shape (gaps,)
        Those within each gap; -1 where nobody listened.
    heard : ndarray of int, shape (pages,)
        Signals of each page since its first visit.
    listened : ndarray, shape (pages,)
        For how long, in seconds.
    """

    gaps: Gaps
    signals: NDArray[np.int64]
    heard: NDArray[np.int64]
    listened: Array

    def of(self, pages: NDArray[np.int64]) -> Beside:
        """The same of some pages, numbered anew."""
        index = np.zeros(self.gaps.pages, bool)
        index[pages] = True
        signals = self.signals[index[self.gaps.page]]
        return Beside(self.gaps.of(pages), signals, self.heard[pages], self.listened[pages])


def signals_beside(gaps: Gaps, heard: Heard, recent: float = 2 * YEAR) -> Beside:
    """The gaps of visits, and the signals within each.

    Parameters
    ----------
    gaps : Gaps
    heard : Heard
        Of the same pages, in the same unit of time. Those before the first visit of a page say
        nothing; those after the last one say how often it signals.
    recent : float
        How long before the end of the log visits count too beside which nobody listened.
    """
    own = gaps.rows(
        ((gaps.start >= heard.begin) & (gaps.start + gaps.length <= heard.end))
        | (gaps.start >= gaps.end - recent)
    )
    since = np.maximum(gaps.first, heard.begin)
    counted = heard.time > since[heard.page]
    page = heard.page[counted]
    time = heard.time[counted]
    # One number for page and time, so that all gaps are looked up at once.
    begin = float(min(heard.begin, gaps.begin))
    span = max(heard.end, gaps.end) - begin + 1.0

    def number_by(pages: NDArray[np.int32], times: Array) -> NDArray[np.int64]:
        return np.searchsorted(
            page * span + (time - begin), pages * span + (times - begin), "right"
        )

    ends = own.start + own.length
    within = number_by(own.page, ends) - number_by(own.page, own.start)
    within[(own.start < heard.begin) | (ends > heard.end)] = -1
    listened = np.where(np.isfinite(since), np.maximum(heard.end - since, 0.0), 0.0)
    return Beside(own, within, np.bincount(page, minlength=gaps.pages), listened)


@dataclass(frozen=True)
class Draws:
    """Draws from the posterior of all pages together.

    Attributes
    ----------
    precision, silent, heard : ndarray, shape (pages, draws)
        Share of the signals that are true; changes without a signal, and signals, per second.
    """

    precision: Array
    silent: Array
    heard: Array

    @property
    def true(self) -> Array:
        """Changes with a signal, per second."""
        return self.precision * self.heard

    @property
    def changes(self) -> Array:
        """All changes, per second."""
        return self.silent + self.true


class _Counts(NamedTuple):
    """Gamma posteriors of the rates of signals: shape + count, over means and times."""

    shape: float
    means: Array
    posterior_shape: Array
    posterior_rate: Array

    def of(self, pages: NDArray[np.int64]) -> _Counts:
        """The same of some pages."""
        rows = (self.means, self.posterior_shape, self.posterior_rate)
        return _Counts(self.shape, *(each[pages] for each in rows))

    @property
    def expected(self) -> Array:
        """Rates of the signals of each page."""
        return self.posterior_shape / self.posterior_rate


def _counts(beside: Beside, folder: NDArray[np.int64]) -> _Counts:
    """The rates of signals: each a gamma variable around the mean of its folder."""
    folders = int(folder.max()) + 1
    heard = np.bincount(folder, beside.heard, folders)
    time = np.bincount(folder, beside.listened, folders)
    means = ((heard + 0.5) / np.maximum(time, _TINY))[folder]
    shapes = np.array(_SHAPES_OF_COUNTS)[:, None]
    expected = means * beside.listened
    logs = (
        special.gammaln(shapes + beside.heard)
        - special.gammaln(shapes)
        - shapes * np.log1p(expected / shapes)
        - beside.heard * np.log1p(shapes / np.maximum(expected, _TINY))
    ).sum(axis=1)
    shape = float(shapes[np.argmax(logs), 0])
    return _Counts(shape, means, shape + beside.heard, shape / means + beside.listened)


def _page_likelihoods(beside: Beside, scale: Array, expected: Array) -> Array:
    """Log-likelihoods of each page, shape (pages, precisions, rates).

    Parameters
    ----------
    beside : Beside
    scale : ndarray, shape (pages,)
        Of the rates of silent changes.
    expected : ndarray, shape (pages,)
        Rates of the signals, which stand for those where nobody listened.
    """
    gaps = beside.gaps
    factors = np.exp(_RATES)
    kept = ~gaps.changed
    time = np.bincount(gaps.page[kept], gaps.length[kept], gaps.pages) * scale
    pulled = _pulled(beside, np.flatnonzero(kept), expected)
    logs = np.zeros((gaps.pages, len(_LOGITS), len(_RATES)))
    for place, each in enumerate(pulled.T):
        logs[:, place] -= np.bincount(gaps.page[kept], each, gaps.pages)[:, None]
    logs -= time[:, None, None] * factors
    rows = np.flatnonzero(gaps.changed)
    for first in range(0, len(rows), _MOST_ROWS):
        part = rows[first : first + _MOST_ROWS]
        page = gaps.page[part]
        length = (gaps.length[part] * scale[page]).astype(np.float32)
        of_signals = _pulled(beside, part, expected).astype(np.float32)
        exponent = of_signals[:, :, None] + length[:, None, None] * factors.astype(np.float32)
        change = np.log(-np.expm1(-np.maximum(exponent, np.float32(1e-30))))
        ends = np.flatnonzero(np.diff(page, prepend=-1))
        logs[page[ends]] += np.add.reduceat(change, ends, axis=0)
    return logs


def _pulled(beside: Beside, rows: NDArray[np.int64], expected: Array) -> Array:
    """What the signals of some gaps take off the logarithm of being fresh, for each precision."""
    worth = np.logaddexp(0.0, _LOGITS)  # -ln(1 - p)
    signals = beside.signals[rows, None]
    mean = expected[beside.gaps.page[rows]] * beside.gaps.length[rows]
    return np.where(signals >= 0, signals * worth, mean[:, None] * special.expit(_LOGITS))


def _rates_given_levels(shapes: Array) -> Array:
    """Gamma probabilities of the rates of the grid, shape (shapes, levels, rates)."""
    steps = round(_COARSE / _STEP)
    lowest = _RATES[0] - _LEVELS[-1] - _STEP / 2
    apart = lowest + _STEP * np.arange(len(_RATES) + 1 + steps * (len(_LEVELS) - 1))
    below = special.gammainc(shapes[:, None], shapes[:, None] * np.exp(apart))
    first = steps * (len(_LEVELS) - 1 - np.arange(len(_LEVELS)))
    cells = below[:, first[:, None] + np.arange(len(_RATES) + 1)]
    cells[:, :, 0] = 0.0
    cells[:, :, -1] = 1.0
    return np.asarray(np.maximum(np.diff(cells, axis=2), 1e-12))


class _Kind(NamedTuple):
    """How rates of silent changes follow from those of signals."""

    shape: float
    power: float

    def shapes(self, counts: _Counts) -> Array:
        """Of the gamma prior of each page: less sharp where its signals were few."""
        unsure = self.power**2 / counts.posterior_shape
        return 1 / (1 / self.shape + (1 + 1 / self.shape) * unsure)

    def scale(self, counts: _Counts, typical: float) -> Array:
        """What the signals of each page let expect."""
        return typical * (counts.expected / counts.means) ** self.power


def _of_pages(logs: Array, shapes: Array) -> Array:
    """Log-likelihood of each page, shape (pages, precisions, levels)."""
    known, back = np.unique(np.round(shapes, 6), return_inverse=True)
    given = _rates_given_levels(known)
    largest = logs.max(axis=(1, 2), keepdims=True)
    likelihood = np.exp(logs - largest)
    together = np.einsum("ipx,ilx->ipl", likelihood, given[back], optimize=True)
    return np.log(np.maximum(together, _TINY)) + largest


def _kernel(grid: Array, sd: float) -> Array:
    logs = -((grid[:, None] - grid) ** 2) / (2 * sd**2)
    weights = np.exp(logs)
    return weights / weights.sum(axis=1, keepdims=True)


class _Tree(NamedTuple):
    """Log-likelihoods over (precisions, levels) of folders, hosts and all.

    The prior of the precision is uniform.
    """

    logits: Array
    levels: Array
    folders: float
    hosts: float
    of_folder: Array
    of_host: Array
    of_all: Array

    @property
    def evidence(self) -> float:
        """Log-probability of the log, the spreads having normal priors."""
        penalty = (np.log(self.folders) ** 2 + np.log(self.hosts) ** 2) / 4
        return float(special.logsumexp(self.logs)) - penalty

    @property
    def logs(self) -> Array:
        """Log-probability of the log and of each cell of the means of all."""
        density = special.log_expit(self.logits) + special.log_expit(-self.logits)
        cell = (self.logits[1] - self.logits[0]) * (self.levels[1] - self.levels[0])
        return np.asarray(self.of_all + density[:, None] + np.log(cell))


def _above(logs: Array, logits: Array, levels: Array, sd: float) -> Array:
    """Log-likelihoods of the means above, from those of each folder or host below."""
    largest = logs.max(axis=(1, 2), keepdims=True)
    mean = _kernel(logits, sd) @ np.exp(logs - largest) @ _kernel(levels, sd).T
    return np.log(np.maximum(mean, _TINY)) + largest


def _tree(
    of_folder: Array, groups: Groups, logits: Array, levels: Array, folders: float, hosts: float
) -> _Tree:
    number = int(groups.host.max()) + 1
    of_host = np.zeros((number, *of_folder.shape[1:]))
    np.add.at(of_host, groups.host, _above(of_folder, logits, levels, folders))
    of_all = _above(of_host, logits, levels, hosts).sum(axis=0)
    return _Tree(logits, levels, folders, hosts, of_folder, of_host, of_all)


def _sums(rows: Array, index: NDArray[np.int64], number: int) -> Array:
    result = np.zeros((number, *rows.shape[1:]))
    np.add.at(result, index, rows)
    return result


class _Way(NamedTuple):
    """One way in which the pages may hang together, and how likely it is."""

    evidence: float
    kind: _Kind
    folders: float
    hosts: float


def _ways(beside: Beside, groups: Groups, counts: _Counts, typical: float) -> list[_Way]:
    """All kinds with all spreads."""
    folders = len(groups.host)
    of_folders = _SPREADS if folders > int(groups.host.max()) + 1 else (1.0,)
    of_hosts = _SPREADS if groups.host.max() > 0 else (1.0,)
    found = []
    for power in _POWERS:
        logs = _page_likelihoods(beside, _Kind(1.0, power).scale(counts, typical), counts.expected)
        for shape in _SHAPES:
            kind = _Kind(shape, power)
            of_folder = _sums(_of_pages(logs, kind.shapes(counts)), groups.folder, folders)
            grids = _LOGITS, _LEVELS, of_folder
            if folders <= _MOST_REFINED:
                grids = _refined(of_folder)
            for spreads in product(of_folders, of_hosts):
                tree = _tree(grids[2], groups, *grids[:2], *spreads)
                found.append(_Way(tree.evidence, kind, *spreads))
    return found


def _refined(of_folder: Array) -> tuple[Array, Array, Array]:
    """The same on finer grids, where there is something to see: precisions, levels, values."""
    splines = [interpolate.RectBivariateSpline(_LOGITS, _LEVELS, each) for each in of_folder]
    wide = (np.arange(_LOGITS[0], _LOGITS[-1] + 0.01, 0.1), np.arange(_LEVELS[0], 5.01, 0.1))
    grids = []
    values = np.stack([spline(*wide) for spline in splines])
    values -= values.max(axis=(1, 2), keepdims=True)
    for axis, grid in zip((2, 1), wide, strict=True):
        seen = np.flatnonzero((values.max(axis=axis) > -_FURTHEST).any(axis=0))
        ends = grid[max(seen[0] - 1, 0)], grid[min(seen[-1] + 1, len(grid) - 1)]
        grids.append(np.linspace(*ends, _FINE))
    return grids[0], grids[1], np.stack([spline(*grids) for spline in splines])


def posterior_draws(beside: Beside, groups: Groups, number: int, rng: np.random.Generator) -> Draws:
    """Draws of the rates of all pages together.

    Parameters
    ----------
    beside : Beside
        With at least one gap.
    groups : Groups
        Of the pages.
    number : int
        Of the draws.
    rng : Generator

    Notes
    -----
    How alike pages, folders and hosts are, and whether silent changes go with signals, is drawn
    too: of a small log the most likely answer alone would make the intervals too narrow.
    """
    groups = _of_few_folders(groups)
    gaps = beside.gaps
    counts = _counts(beside, groups.folder)
    share = np.clip((gaps.changed.sum() + 0.5) / (len(gaps.changed) + 1), 0.01, 0.95)
    typical = float(-np.log1p(-share) / gaps.length.mean())
    some = _sampled(gaps.pages)
    ways = _ways(beside.of(some), groups.of(some), counts.of(some), typical)
    ends = np.cumsum(special.softmax([way.evidence for way in ways]))
    asked = (np.arange(number) + rng.random()) / number
    chosen = np.bincount(np.minimum(np.searchsorted(ends, asked), len(ways) - 1))
    parts = [
        _draws_by(ways[place], int(draws), beside, groups, counts, typical, rng)
        for place, draws in enumerate(chosen)
        if draws
    ]
    return Draws(*(np.concatenate(each, axis=1) for each in zip(*parts, strict=True)))


def _of_few_folders(groups: Groups) -> Groups:
    """The same with each host as one folder, or all, where there would be too many."""
    if len(groups.host) <= _MOST_FOLDERS:
        return groups
    folder = groups.host[groups.folder]
    hosts = int(groups.host.max()) + 1
    if hosts <= _MOST_FOLDERS:
        return Groups(folder, np.arange(hosts))
    return Groups(np.zeros_like(folder), np.zeros(1, np.int64))


def _sampled(pages: int) -> NDArray[np.int64]:
    """All pages, or runs of neighbours, which are in few folders."""
    if pages <= _MOST_SAMPLED:
        return np.arange(pages)
    begins = np.linspace(0, pages - _RUN, _MOST_SAMPLED // _RUN).astype(np.int64)
    return np.unique(begins[:, None] + np.arange(_RUN))


def _draws_by(
    way: _Way,
    number: int,
    beside: Beside,
    groups: Groups,
    counts: _Counts,
    typical: float,
    rng: np.random.Generator,
) -> tuple[Array, Array, Array]:
    """Draws where the pages hang together in one way: precisions, silent changes, signals."""
    scale = way.kind.scale(counts, typical)
    shapes = way.kind.shapes(counts)
    of_folder = np.zeros((len(groups.host), len(_LOGITS), len(_LEVELS)))
    for pages, some in _blocks(beside):
        logs = _page_likelihoods(some, scale[pages], counts.expected[pages])
        np.add.at(of_folder, groups.folder[pages], _of_pages(logs, shapes[pages]))
    logits, levels, fine = _refined(of_folder)
    tree = _tree(fine, groups, logits, levels, way.folders, way.hosts)
    logit, level = _drawn_means(tree, groups, number, rng)
    silent = np.empty((len(scale), number))
    heard = np.empty((len(scale), number))
    for pages, some in _blocks(beside):
        logs = _page_likelihoods(some, scale[pages], counts.expected[pages])
        for page, of_page in zip(range(pages.start, pages.stop), logs, strict=True):
            folder = groups.folder[page]
            rates = _drawn_rates(of_page, logit[folder], level[folder], shapes[page], rng)
            silent[page] = scale[page] * rates
            relative = silent[page] / (typical * np.exp(level[folder]))
            heard[page] = _heard_given(relative, counts, page, way.kind, rng)
    return special.expit(logit)[groups.folder], silent, heard


def _blocks(beside: Beside) -> Iterator[tuple[slice, Beside]]:
    """Runs of pages with their gaps."""
    for pages, rows in beside.gaps.blocks(_MOST_PAGES, _MOST_ROWS):
        gaps = beside.gaps.rows(rows)
        own = replace(
            gaps,
            page=gaps.page - np.int32(pages.start),
            first=gaps.first[pages],
            visits=gaps.visits[pages],
        )
        yield pages, Beside(own, beside.signals[rows], beside.heard[pages], beside.listened[pages])


def _drawn_rates(
    logs: Array, logit: Array, level: Array, shape: float, rng: np.random.Generator
) -> Array:
    """Draws of the rate of silent changes of one page, over its scale, one for each mean."""
    place = np.clip((logit - _LOGITS[0]) / _COARSE, 0, len(_LOGITS) - 1.001)
    left = place.astype(int)
    inside = (place - left)[:, None]
    likelihood = (1 - inside) * logs[left] + inside * logs[left + 1]
    apart = _RATES - level[:, None]
    cell = _drawn_cells(likelihood + shape * (apart - np.exp(apart)), rng)
    return np.exp(_RATES[cell] + _STEP * (rng.random(len(cell)) - 0.5))


def _drawn_cells(logs: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """A place in each row, by the logarithms of their probabilities."""
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    ends = np.cumsum(weights, axis=1)
    return (ends < (rng.random(len(ends)) * ends[:, -1])[:, None]).sum(axis=1)


def _heard_given(
    relative: Array, counts: _Counts, page: int, kind: _Kind, rng: np.random.Generator
) -> Array:
    """Draws of the rate of signals of a page, given its silent changes, which tell of it too."""
    shares = (np.arange(_POINTS) + 0.5) / _POINTS
    rates = special.gammaincinv(counts.posterior_shape[page], shares)
    rates /= counts.posterior_rate[page]
    ratio = relative[:, None] / (rates / counts.means[page]) ** kind.power
    cell = _drawn_cells(kind.shape * (np.log(ratio) - ratio), rng)
    return np.interp((cell + rng.random(len(cell))) / _POINTS, shares, rates)


def _drawn_means(
    tree: _Tree, groups: Groups, number: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draws of the logit of the precision, and of the level, of each folder; (folders, number)."""

    def of_one(logs: Array, above: NDArray[np.int64], sd: float) -> NDArray[np.int64]:
        """Cells of a folder or host, one given each cell above."""
        weights = np.exp(logs - logs.max())
        rows, columns = np.unravel_index(above, logs.shape)
        kernels = _kernel(tree.logits, sd)[rows], _kernel(tree.levels, sd)[columns]
        found = np.empty(number, np.int64)
        for draw, share in enumerate(_covering(number, rng)):
            given = kernels[0][draw][:, None] * weights * kernels[1][draw]
            found[draw] = _cell_at(given, share)
        return found

    top = tree.logs
    weights = np.exp(top - top.max())
    of_all = np.array([_cell_at(weights, share) for share in _covering(number, rng)])
    of_hosts = [of_one(logs, of_all, tree.hosts) for logs in tree.of_host]
    of_folders = [
        of_one(logs, of_hosts[host], tree.folders)
        for host, logs in zip(groups.host, tree.of_folder, strict=True)
    ]
    places = np.unravel_index(np.array(of_folders), top.shape)
    logit, level = (
        grid[place] + (grid[1] - grid[0]) * (rng.random(place.shape) - 0.5)
        for grid, place in zip((tree.logits, tree.levels), places, strict=True)
    )
    return logit, level


def _covering(number: int, rng: np.random.Generator) -> Array:
    """Shares from 0 to 1 in any order, one in each of as many equal parts."""
    return np.asarray((rng.permutation(number) + rng.random(number)) / number)


def _cell_at(weights: Array, share: float) -> int:
    """The cell below which a share of all weights lies."""
    ends = np.cumsum(weights)
    return min(int(np.searchsorted(ends, share * ends[-1])), len(ends) - 1)
