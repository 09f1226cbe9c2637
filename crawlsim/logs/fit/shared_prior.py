"""Posterior distributions of change rates, with a prior that pages of a host and folder share.

Changes of a page are Poisson within a window of the log, and a visit says only whether there was
one since the last visit. The rate of a page is gamma distributed around the mean of its folder;
the logarithms of these means are normal around that of their host, and those of the hosts around
one mean of all. All of it is computed on a grid of rates and a grid of means, where the tree of
folders and hosts is summed exactly. What is drawn of all pages together may be lognormal instead:
the sum over many pages hangs on the few of the highest rates, of which a log that found a change
at each visit says nothing but by the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from crawlsim.logs.read.gaps import Gaps
from scenarios.arrays import Array

_STEP = 0.2
"""Between grid points of the logarithm of a rate."""

MOST_PAGES = 8192
MOST_GAPS = 100_000
"""How many pages and gaps have their posteriors computed at once."""

LARGEST_SHAPE = 4.0
"""Pages of a folder are taken to differ at least as much as with this shape of the prior."""

_SHAPES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.4, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
_SPREADS = (0.1, 0.3, 0.7, 1.4)
_NODES = 60
_FINER = 4
"""Mean rates of a few folders, drawn together with all else, to a rate of the grid."""
_FEW_FOLDERS = 300
_SAMPLED_BLOCKS = 10
_SAMPLED_PAGES = 1000
_FEWEST_PAGES = 3
_MOST_FOLDERS = 10_000
_TABLED = 16
"""Steps of the table of likelihoods to one of the logarithm of a rate."""
_NEIGHBOURS = np.arange(-2, 4)
_TINY = 1e-300
_TRACE = 1e-12
_SHARP = 0.35
_NEWTON_STEPS = 12
_LARGEST_EXPONENT = 500.0


@dataclass(frozen=True)
class Groups:
    """Which folder each page is in, and which host each folder.

    Attributes
    ----------
    folder : ndarray of int, shape (pages,)
    host : ndarray of int, shape (folders,)
    """

    folder: NDArray[np.int64]
    host: NDArray[np.int64]

    def of(self, pages: NDArray[np.int64]) -> Groups:
        """The groups of some pages, numbered anew."""
        used, folder = np.unique(self.folder[pages], return_inverse=True)
        _, host = np.unique(self.host[used], return_inverse=True)
        return Groups(folder, host)


def groups_of(urls: Sequence[str] | NDArray[np.object_]) -> Groups:
    """Host and folder of each URL; a name without a host counts its first folder as one.

    Two pages are in one folder if their URLs are the same up to the last slash of the path, the
    scheme and the query left aside.
    """
    import pandas as pd

    names = pd.Series(np.asarray(urls, object)).str.replace(r"^[A-Za-z][\w+.-]*://", "", regex=True)
    paths = names.str.replace(r"[?#].*$", "", regex=True, flags=re.DOTALL)
    cut = paths.str.rpartition("/")
    folder, folders = pd.factorize(cut[0].to_numpy(object))
    hosts = pd.Series(np.asarray(folders, object)).str.partition("/")[0]
    host = pd.factorize(hosts.to_numpy(object))[0].astype(np.int64)
    return _without_small_ones(Groups(folder.astype(np.int64), host))


def _without_small_ones(groups: Groups) -> Groups:
    """The same with small folders of a host joined, and small hosts.

    What a folder of one or two pages says of them is next to nothing, and a million of folders
    would not fit into memory.
    """
    pages = np.bincount(groups.folder)
    sizes = np.sort(pages)[::-1]
    fewest = _FEWEST_PAGES if len(pages) <= _MOST_FOLDERS else sizes[_MOST_FOLDERS] + 1
    small = pages < max(fewest, _FEWEST_PAGES)
    of_host = np.bincount(groups.host[small], pages[small], int(groups.host.max()) + 1)
    host = np.where(small & (of_host[groups.host] < fewest), -1, groups.host)
    own = np.where(small, -2 - host, np.arange(len(pages)))  # below 0: what is left of a host
    _, folder = np.unique(own, return_inverse=True)
    _, first = np.unique(folder, return_index=True)
    _, new_host = np.unique(host[first], return_inverse=True)
    return Groups(folder[groups.folder], new_host)


def rate_grid(gaps: Gaps) -> Array:
    """Rates from one that no log of this length shows to one that no visit of it resolves.

    Returns
    -------
    ndarray, shape (points,)
        Per second, logarithmically spaced.
    """
    longest = max(gaps.end - gaps.begin, 1.0)
    shortest = float(np.quantile(gaps.length, 0.05)) if len(gaps.length) else longest
    points = int(np.ceil(np.log(20.0 * longest / shortest / 1e-3) / _STEP)) + 1
    return 1e-3 / longest * np.exp(_STEP * np.arange(points))


def log_likelihoods(gaps: Gaps, pages: slice, grid: Array, starts: Sequence[float]) -> list[Array]:
    """Log-likelihood of each rate for each page, from the gaps that begin in nested windows.

    Parameters
    ----------
    gaps : Gaps
    pages : slice
        Of the pages that are asked for; `gaps` holds theirs only.
    grid : ndarray, shape (points,)
    starts : sequence of float
        When each window begins, the shortest window first.

    Returns
    -------
    list of ndarray, each of shape (pages, points)

    Notes
    -----
    Of a gap with a change it is ``ln(1 - e^(-rate length))``, a function of the sum of two
    logarithms. It is taken from a table of that sum in steps of 0.0125, by the polynomial through
    six neighbours, which is off by less than 1e-12.
    """
    number = pages.stop - pages.start
    total = np.zeros((number, len(grid)))
    result = []
    until = np.inf
    for start in starts:
        ring = (gaps.start >= start) & (gaps.start < until)
        until = start
        page = gaps.page[ring] - pages.start
        length = gaps.length[ring]
        changed = gaps.changed[ring]
        total -= np.outer(np.bincount(page[~changed], length[~changed], number), grid)
        page = page[changed]
        length = length[changed]
        for first in range(0, len(page), MOST_GAPS):
            part = slice(first, first + MOST_GAPS)
            total += _of_changes(page[part], length[part], grid, number)
        result.append(total.copy())
    return result


def _of_changes(page: NDArray[np.int64], length: Array, grid: Array, number: int) -> Array:
    """Log-likelihood of each rate for each page, from gaps that end with a change."""
    place = np.log(length) * (_TABLED / _STEP)
    left = np.floor(place).astype(np.int64)
    begin = int(left.min()) + _NEIGHBOURS[0]
    size = int(left.max()) + _NEIGHBOURS[-1] + 1 - begin
    entries = begin + np.arange(size + _TABLED * (len(grid) - 1))
    table = np.log(-np.expm1(-grid[0] * np.exp(entries * (_STEP / _TABLED))))
    of_lengths = np.lib.stride_tricks.sliding_window_view(table, size)[::_TABLED].T
    columns = (left - begin)[:, None] + _NEIGHBOURS
    ends = len(_NEIGHBOURS) * np.searchsorted(page, np.arange(number + 1))
    weights = _weights_of_neighbours(place - left)
    of_pages = sparse.csr_array((weights.ravel(), columns.ravel(), ends), (number, size))
    result: Array = of_pages @ np.ascontiguousarray(of_lengths)
    return result


def _weights_of_neighbours(places: Array) -> Array:
    """Lagrange's weights of the neighbours of places from 0 to 1, shape (places, neighbours)."""
    weights = np.ones((len(places), len(_NEIGHBOURS)))
    for column, node in enumerate(_NEIGHBOURS):
        for other in np.delete(_NEIGHBOURS, column):
            weights[:, column] *= (places - other) / (node - other)
    return weights


class Within(NamedTuple):
    """A law of the rates of the pages of a folder.

    Attributes
    ----------
    shape : float
        The square of the mean over the variance.
    is_lognormal : bool
        Whether it is lognormal, with a heavier tail, and not gamma.
    """

    shape: float
    is_lognormal: bool = False

    def below(self, logs: Array) -> Array:
        """Probability of a rate below the mean times the exponential of each number."""
        if not self.is_lognormal:
            return np.asarray(special.gammainc(self.shape, self.shape * np.exp(logs)))
        return np.asarray(special.ndtr(logs / self._sd + self._sd / 2))

    def unseen(self, changes: Array) -> tuple[Array, Array]:
        """Logarithms: that a page does not change where the mean is so many changes; and its slope.

        The slope is that of the probability of a change, by the logarithm of the mean.
        """
        if not self.is_lognormal:
            logs = -self.shape * np.log1p(changes / self.shape)
            return logs, np.log(changes) + logs - np.log1p(changes / self.shape)
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        rates = changes[:, None] * np.exp(self._sd * nodes - self._sd**2 / 2)
        weights = weights / weights.sum()
        still = np.exp(-rates)
        both = np.maximum([still @ weights, (rates * still) @ weights], _TINY)
        return np.log(both[0]), np.log(both[1])

    @property
    def _sd(self) -> float:
        return float(np.sqrt(np.log1p(1.0 / self.shape)))


@dataclass(frozen=True)
class Hierarchy:
    """How alike the pages of a folder are, the folders of a host, and the hosts.

    Attributes
    ----------
    shape : float
        Of the gamma distribution of rates within a folder.
    folders, hosts : float
        Standard deviations of the logarithm of the mean rate of the folders of a host, and of
        hosts.
    """

    shape: float
    folders: float
    hosts: float


@dataclass(frozen=True)
class Prior:
    """The prior that all pages together give each of them.

    Attributes
    ----------
    hierarchy : Hierarchy
    rates : ndarray, shape (means, points)
        Probability of each rate of the grid, given the mean rate of the folder.
    means : ndarray, shape (folders, means)
        Posterior probability of each mean rate of each folder.
    """

    hierarchy: Hierarchy
    rates: Array
    means: Array


def rates_given_means(within: Within, points: int, finer: int = 1) -> Array:
    """Probabilities of the rates of a grid, given each mean.

    Parameters
    ----------
    within : Within
    points : int
        Of the grid.
    finer : int
        Means to a rate of the grid; the first of them is the lowest rate.

    Returns
    -------
    ndarray, shape (finer * points, points)
        Rows sum to one.

    Notes
    -----
    No rate is impossible: without a trace of each, a page that changes every second among pages
    that never do would have no posterior.
    """
    means = finer * points
    ends = _STEP * (np.arange(1 - means, means + 1) / finer - 0.5)  # logs, of cells for mean 1
    apart = finer * np.arange(points + 1) - np.arange(means)[:, None]
    below = within.below(ends)[apart + means - 1]
    below[:, 0] = 0.0
    cells = np.diff(below, axis=1) + _TRACE / points
    normalised: Array = cells / cells.sum(axis=1, keepdims=True)
    return normalised


def cell_edges(grid: Array) -> Array:
    """Ends of the cells of rates around the grid points, shape (points + 1,); the first is 0.

    The last cell has no end in the prior, and its number here only serves to draw its inside.
    """
    edges: Array = grid[0] * np.exp(_STEP * (np.arange(len(grid) + 1) - 0.5))
    edges[0] = 0.0
    return edges


def _normalised(logs: Array) -> Array:
    """Probabilities from their logarithms, each row by itself."""
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _product_with(values: Array, matrix: Array) -> Array:
    """``log(exp(values) @ matrix)`` row by row without underflow."""
    largest = values.max(axis=-1, keepdims=True)
    product = np.exp(values - largest) @ matrix
    return np.log(np.maximum(product, _TINY)) + largest


@lru_cache(maxsize=16)
def _spread(sd: float, means: int, step: float = _STEP) -> Array:
    """Probability of each mean below, given each mean above, shape (means, means)."""
    apart = step * (np.arange(means)[:, None] - np.arange(means))
    return _normalised(-(apart**2) / (2 * sd**2))


@lru_cache(maxsize=16)
def _log_spread(sd: float, means: int, step: float) -> Array:
    """Logarithms of `_spread`."""
    return np.log(np.maximum(_spread(sd, means, step), _TINY))


@lru_cache(maxsize=16)
def _spreads(sds: tuple[float, ...], means: int, step: float) -> Array:
    """Probability of each mean below, for each spread and each mean above, side by side."""
    return np.hstack([_spread(sd, means, step).T for sd in sds])


def _above(of_each: Array, *sds: float, step: float = _STEP) -> list[Array]:
    """Log-likelihoods of the mean above for each spread, from those of folders or hosts.

    All spreads are one product of matrices, since many small ones would take far longer.
    """
    together = _product_with(of_each, _spreads(sds, of_each.shape[1], step))
    return np.split(together, len(sds), axis=1)


def means_of_folders(of_folder: Array, groups: Groups, hierarchy: Hierarchy) -> Array:
    """Posterior of the mean rate of each folder, from its own pages and from all others."""
    (from_folder,) = _above(of_folder, hierarchy.folders)
    of_host = _sums(from_folder, groups.host, int(groups.host.max()) + 1)
    (from_host,) = _above(of_host, hierarchy.hosts)
    means = of_folder.shape[1]
    other_hosts = _normalised(from_host.sum(axis=0) - from_host)
    prior_host = np.log(np.maximum(other_hosts @ _spread(hierarchy.hosts, means), _TINY))
    other_folders = _normalised((prior_host + of_host)[groups.host] - from_folder)
    prior_folder = np.log(np.maximum(other_folders @ _spread(hierarchy.folders, means), _TINY))
    return _normalised(prior_folder + of_folder)


def _sums(rows: Array, index: NDArray[np.int64], number: int) -> Array:
    """Sums of the rows of each index, shape (number, columns)."""
    ones = np.ones(len(index), rows.dtype)
    pick = sparse.csc_array((ones, index, np.arange(len(index) + 1)), shape=(number, len(index)))
    return pick @ rows


def _scaled_likelihood(logs: Array) -> Array:
    """Likelihoods relative to the largest of each page."""
    return np.exp(logs - logs.max(axis=1, keepdims=True))


def _of_page(likelihood: Array, given: Array) -> Array:
    """Probability of what each page showed, given each mean, shape (pages, means)."""
    product: Array = likelihood @ given.T
    return product


def fitted_hierarchy(logs: Array, groups: Groups, grid: Array, largest_shape: float) -> Hierarchy:
    """The hierarchy that the data make likely: the mean logarithm of each of its numbers.

    Parameters
    ----------
    logs : ndarray, shape (pages, points)
        Log-likelihoods.
    groups : Groups
        Of these pages.
    grid : ndarray, shape (points,)
    largest_shape : float
        Pages of a folder are taken to differ at least as much as with this shape.

    Notes
    -----
    The spreads have normal priors of their logarithms, with mean 0 and variance 2: with one host
    or one folder nothing else would hold them.
    """
    laws = [Within(shape) for shape in _SHAPES if shape <= largest_shape]
    given = {within: rates_given_means(within, len(grid)) for within in laws}
    trees = _trees(_scaled_likelihood(logs), groups, given)
    equally_likely = {within: np.zeros(len(grid)) for within in laws}
    numbers = [(tree.within.shape, tree.folders, tree.hosts) for tree in trees]
    mean = _posterior_of(trees, equally_likely) @ np.log(numbers)
    return Hierarchy(*np.exp(mean).tolist())


class _Tree(NamedTuple):
    """Log-likelihoods of the mean rates of folders, hosts and of all, under one hierarchy."""

    within: Within
    folders: float
    hosts: float
    of_folder: Array
    of_host: Array
    of_all: Array
    step: float

    @property
    def penalty(self) -> float:
        """What the normal priors of the logarithms of the spreads take off."""
        return float((np.log(self.hosts) ** 2 + np.log(self.folders) ** 2) / 4)

    def means(self, groups: Groups, prior: Array, shares: _Shares) -> NDArray[np.int64]:
        """A draw of the mean rate of each folder, all from one draw of the mean of all."""
        number = len(self.of_all)
        top = _quantiles(_normalised(self.of_all + prior)[None], shares.top)[0]
        above = _log_spread(self.hosts, number, self.step)[top]
        host = _quantiles(_normalised(above + self.of_host), shares.hosts)
        spread = _log_spread(self.folders, number, self.step)
        below = _normalised(spread[host[groups.host]] + self.of_folder)
        return _quantiles(below, shares.folders)


def _posterior_of(trees: Sequence[_Tree], of_mean: Mapping[Within, Array]) -> Array:
    """Posterior probability of each hierarchy, from the log prior of the mean of all by law."""
    of_all = np.array([tree.of_all + of_mean[tree.within] for tree in trees])
    return _normalised(np.logaddexp.reduce(of_all, axis=1) - [tree.penalty for tree in trees])


class _Shares(NamedTuple):
    """Where in its distribution each draw of one set lies, from 0 to 1."""

    top: Array
    hosts: Array
    folders: Array
    pages: Array


def _shares_of_draws(groups: Groups, number: int, rng: np.random.Generator) -> list[_Shares]:
    """For each of some sets of draws; those of one mean or rate cover all of its distribution."""

    def covering(rows: int) -> Array:
        places = rng.permuted(np.tile(np.arange(number), (rows, 1)), axis=1)
        return np.asarray((places + rng.random((rows, number))) / number)

    hosts = int(groups.host.max()) + 1
    rows = [covering(each) for each in (1, hosts, len(groups.host), len(groups.folder))]
    return [_Shares(*(each[:, draw] for each in rows)) for draw in range(number)]


def _quantiles(weights: Array, shares: Array) -> NDArray[np.int64]:
    """Where in each row of probabilities a share of them lies below."""
    ends = np.cumsum(weights, axis=1)
    return (ends < (shares * ends[:, -1])[:, None]).sum(axis=1)


def _trees(likelihood: Array, groups: Groups, given: Mapping[Within, Array]) -> list[_Tree]:
    """The hierarchies of each law, with each spread of folders and of hosts that there can be.

    All laws go through one product of matrices with their folders, and one with their hosts.
    """
    laws = len(given)
    means, points = next(iter(given.values())).shape
    step = _STEP * points / means
    hosts = int(groups.host.max()) + 1
    of_hosts = _SPREADS if hosts > 1 else (1.0,)
    of_folders = _SPREADS if len(groups.host) > hosts else of_hosts[:1]  # no more than of hosts
    of_folder = np.concatenate(
        [
            _sums(np.log(_of_page(likelihood, each)), groups.folder, len(groups.host))
            for each in given.values()
        ]
    )
    host = (groups.host + hosts * np.arange(laws)[:, None]).ravel()
    of_host = np.concatenate(
        [_sums(above, host, hosts * laws) for above in _above(of_folder, *of_folders, step=step)]
    )
    above_hosts = np.stack(_above(of_host, *of_hosts, step=step))
    of_all = above_hosts.reshape(len(of_hosts), len(of_folders), laws, hosts, means).sum(axis=3)
    of_folder = of_folder.reshape(laws, -1, means)
    of_host = of_host.reshape(len(of_folders), laws, hosts, means)
    return [
        _Tree(
            within,
            between_folders,
            between_hosts,
            of_folder[w],
            of_host[f, w],
            of_all[h, f, w],
            step,
        )
        for w, within in enumerate(given)
        for f, between_folders in enumerate(of_folders)
        for h, between_hosts in enumerate(of_hosts)
    ]


def _prior_of_mean(within: Within, grid: Array, gap: float) -> Array:
    """Logarithm of Jeffreys' prior of the mean rate, from a page seen after one gap; sums to one.

    Of the probability p that a page has changed the prior has the density ``(p (1 - p))^(-1/2)``:
    the same for each law, so that a log that does not tell laws apart prefers none. For a gamma law
    ``p = 1 - (1 + m gap / shape)^-shape``.
    """
    logs, slope = within.unseen(grid * gap)
    density = slope - (np.log(-np.expm1(logs)) + logs) / 2
    return density - special.logsumexp(density)


def joint_draws(
    logs: Sequence[Array],
    groups: Groups,
    grid: Array,
    gap: float,
    number: int,
    rng: np.random.Generator,
) -> NDArray[np.uint8]:
    """Draws of the rates of all pages together, as indices into the grid.

    Parameters
    ----------
    logs : sequence of ndarray, shape (pages, points)
        Log-likelihoods of each window of the log.
    groups : Groups
        Of these pages.
    grid : ndarray, shape (points,)
    gap : float
        Seconds between two visits of a page, on average.
    number : int
        Of the draws by one window.
    rng : Generator

    Returns
    -------
    ndarray of int, shape (pages, windows * number)

    Notes
    -----
    What all pages share, the hierarchy and the means of hosts and folders, is drawn first: a mean
    over pages is as uncertain as these are, however many pages there are. The mean of all has
    Jeffreys' prior, since a log without a change says nothing against a rate of 0; the shape, from
    0.1 to 12, is as likely in each cell of a grid of its logarithm, of gamma and of lognormal laws
    alike: gamma laws alone promised sums of lognormal rates that were too low by a tenth. Where
    many pages are in few folders they know the mean far better than a step of the grid of rates, so
    that the means have a finer one: else a shape would count by how near its means are to what was
    seen.
    """
    finer = _FINER if len(groups.host) <= _FEW_FOLDERS else 1
    means = grid[0] * np.exp(_STEP / finer * np.arange(finer * len(grid)))
    laws = [Within(shape, tail) for tail in (False, True) for shape in _SHAPES]
    priors = {within: _prior_of_mean(within, means, gap) for within in laws}
    given = {within: rates_given_means(within, len(grid), finer) for within in laws}
    drawn = []
    for likelihood in map(_scaled_likelihood, logs):
        trees = _trees(likelihood, groups, given)
        ends = np.cumsum(_posterior_of(trees, priors))
        asked = (np.arange(number) + rng.random()) / number
        places = np.minimum(np.searchsorted(ends, asked), len(ends) - 1)
        for place, shares in zip(places, _shares_of_draws(groups, number, rng), strict=True):
            within = trees[place].within
            of_folders = trees[place].means(groups, priors[within], shares)
            weights = likelihood * given[within][of_folders][groups.folder]
            drawn.append(_quantiles(weights, shares.pages).astype(np.uint8))
    return np.stack(drawn, axis=1)


def stratified(weights: Array, number: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Stratified draws from each row of probabilities, turned by a random number of strata.

    So the draws of one page cover its posterior evenly, and those of two pages at the same place
    are independent.
    """
    pages, points = weights.shape
    row = np.arange(pages)[:, None]
    ends = np.minimum(np.cumsum(weights, axis=1), 1.0) + row
    ends[:, -1] = np.arange(1, pages + 1)
    turned = (np.arange(number) + rng.integers(number, size=(pages, 1))) % number
    asked = (turned + rng.random((pages, 1))) / number + row
    nodes = np.searchsorted(ends.ravel(), asked.ravel()).reshape(pages, number) - row * points
    return np.minimum(nodes, points - 1).astype(np.uint8)


def fitted_priors(
    gaps: Gaps,
    groups: Groups,
    grid: Array,
    starts: Sequence[float],
    largest_shapes: Sequence[float],
) -> list[Prior]:
    """The prior of each of some nested windows, the shortest first.

    Parameters
    ----------
    gaps : Gaps
    groups : Groups
    grid : ndarray, shape (points,)
    starts, largest_shapes : sequence of float
        When each window begins, and the largest shape allowed in it.

    Notes
    -----
    The three numbers of a hierarchy come from at most ten runs of a thousand neighbouring
    pages each; the means of the folders from all pages.
    """
    sample = sampled(gaps.pages)
    some = gaps.of(sample)
    some_groups = groups.of(sample)
    logs = log_likelihoods(some, slice(0, len(sample)), grid, starts)
    hierarchies = [
        fitted_hierarchy(each, some_groups, grid, largest)
        for each, largest in zip(logs, largest_shapes, strict=True)
    ]
    rates = [rates_given_means(Within(each.shape), len(grid)) for each in hierarchies]
    of_folder = [np.zeros((len(groups.host), len(grid))) for _ in starts]
    for pages, rows in gaps.blocks(MOST_PAGES, MOST_GAPS):
        logs = log_likelihoods(gaps.rows(rows), pages, grid, starts)
        for each, given, sums in zip(logs, rates, of_folder, strict=True):
            of_page = np.log(_of_page(_scaled_likelihood(each), given))
            sums += _sums(of_page, groups.folder[pages], len(sums))
    return [
        Prior(hierarchy, given, means_of_folders(sums, groups, hierarchy))
        for hierarchy, given, sums in zip(hierarchies, rates, of_folder, strict=True)
    ]


def shared_rates(gaps: Gaps, groups: Groups) -> Estimates:
    """Change rates over a whole log under the prior that its pages share.

    Parameters
    ----------
    gaps : Gaps
        Of which at least one page has some.
    groups : Groups
    """
    grid = rate_grid(gaps)
    whole = [gaps.begin]
    (prior,) = fitted_priors(gaps, groups, grid, whole, [LARGEST_SHAPE])
    every = Estimates(*(np.empty(gaps.pages) for _ in range(3)))
    for pages, rows in gaps.blocks(MOST_PAGES, MOST_GAPS):
        some = gaps.rows(rows)
        (logs,) = log_likelihoods(some, pages, grid, whole)
        weights = posterior(prior, logs, groups.folder[pages])
        every.take(pages, block_estimates(weights, grid, some, pages, prior))
    return every


def block_estimates(
    weights: Array, grid: Array, gaps: Gaps, pages: slice, prior: Prior
) -> Estimates:
    """The estimates of some pages from their posteriors, exact where the grid is too coarse."""
    rough = estimates(weights, grid)
    return sharpened(rough, weights, grid, gaps, pages, prior.hierarchy.shape)


def sampled(pages: int) -> NDArray[np.int64]:
    """Pages from which a hierarchy is fitted: all of them, or runs of neighbours."""
    if pages <= _SAMPLED_BLOCKS * _SAMPLED_PAGES:
        return np.arange(pages)
    begins = np.linspace(0, pages - _SAMPLED_PAGES, _SAMPLED_BLOCKS).astype(np.int64)
    return np.unique(begins[:, None] + np.arange(_SAMPLED_PAGES))


def posterior(prior: Prior, logs: Array, folder: NDArray[np.int64]) -> Array:
    """Posterior probability of each rate of the grid, page by page.

    Parameters
    ----------
    prior : Prior
    logs : ndarray, shape (pages, points)
        Log-likelihoods.
    folder : ndarray of int, shape (pages,)

    Returns
    -------
    ndarray, shape (pages, points)

    Notes
    -----
    The mean of a folder has its posterior given all pages, this one included; given the mean, the
    rate of the page is independent of all others.
    """
    likelihood = _scaled_likelihood(logs)
    of_page = _of_page(likelihood, prior.rates)
    weights: Array = ((prior.means[folder] / of_page) @ prior.rates) * likelihood
    return weights / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Estimates:
    """Change rates per second, page by page: posterior means with 95 % intervals."""

    rates: Array
    low: Array
    high: Array

    def take(self, pages: slice, of: Estimates) -> None:
        """Put the estimates of some pages in their places."""
        self.rates[pages] = of.rates
        self.low[pages] = of.low
        self.high[pages] = of.high


def estimates(weights: Array, grid: Array) -> Estimates:
    """Means and central 95 % intervals of posteriors on a grid.

    Parameters
    ----------
    weights : ndarray, shape (pages, points)
        Rows sum to one.
    grid : ndarray, shape (points,)
    """
    rates = weights @ grid
    edges = cell_edges(grid)
    below = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(weights, axis=1)], axis=1)
    ends = []
    row = np.arange(len(weights))
    for share in (0.025, 0.975):
        cell = np.clip((below <= share).sum(axis=1) - 1, 0, len(grid) - 1)
        inside = (share - below[row, cell]) / np.maximum(weights[row, cell], _TINY)
        width = edges[cell + 1] - edges[cell]
        ends.append(np.where(cell > 0, edges[cell] + width * np.clip(inside, 0.0, 1.0), 0.0))
    return Estimates(rates, ends[0], ends[1])


def sharpened(
    rough: Estimates, weights: Array, grid: Array, gaps: Gaps, pages: slice, shape: float
) -> Estimates:
    """The estimates of pages whose posterior is narrower than the grid can show, made exact.

    Parameters
    ----------
    rough : Estimates
        By the grid.
    weights, grid
        As of `estimates`.
    gaps : Gaps
        Of these pages only.
    pages : slice
    shape : float
        Of the gamma prior, whose scale matters no longer.

    Notes
    -----
    In the logarithm of the rate the posterior has one peak, found by Newton's method; a gamma
    distribution with the same peak and curvature stands for it.
    """
    variance = weights @ grid**2 - rough.rates**2
    sharp = np.flatnonzero(variance < (_SHARP * rough.rates) ** 2)
    if not len(sharp):
        return rough
    index = np.full(len(rough.rates), -1)
    index[sharp] = np.arange(len(sharp))
    page = index[gaps.page - pages.start]
    kept = page >= 0
    page = page[kept]
    length = gaps.length[kept]
    changed = gaps.changed[kept]
    unchanged = np.bincount(page[~changed], length[~changed], len(sharp))
    page = page[changed]
    length = length[changed]
    rates = rough.rates[sharp]
    prior_scale = rates / shape
    for _ in range(_NEWTON_STEPS):
        hidden = np.expm1(np.minimum(rates[page] * length, _LARGEST_EXPONENT))
        pull = np.bincount(page, length / hidden, len(sharp)) - unchanged - 1 / prior_scale
        bend = np.bincount(page, (length / hidden) ** 2 * (hidden + 1), len(sharp))
        slope = rates * pull + shape
        curvature = rates * pull - rates**2 * bend
        rates = rates * np.exp(np.clip(-slope / np.minimum(curvature, -_TINY), -1.0, 1.0))
    shapes = np.maximum(-curvature, 1.0)
    means = rough.rates.copy()
    low = rough.low.copy()
    high = rough.high.copy()
    means[sharp] = rates
    low[sharp] = special.gammaincinv(shapes, 0.025) * (rates / shapes)
    high[sharp] = special.gammaincinv(shapes, 0.975) * (rates / shapes)
    return Estimates(means, low, high)
