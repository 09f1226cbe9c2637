"""The best access frequencies, and the bounds that no schedule beats (coffman1998, sections 3, 4).

A host that wants s between the starts of its accesses allows at most 1/s of them per unit time, and
r robots with accesses of mean m make r/m. Whatever law, order and waiting: per unit time, no page
of rate x is fresher than one whose copy is renewed at equal distances 1/x.

Notation of the docstrings as in `obsolescence`; page i has weight c_i, ``w = c / mu`` and
``b = 1/h - 1``. A common factor of all w changes no frequency.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytic.machinery.transforms import exc, excess, lifted, log_transform, mean_time
from analytic.page_refresh.obsolescence import equal_spacing_bound, spaced_obsolescence
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Distribution

_TIED = 8 * np.finfo(float).eps
"""Values of w nearer than this, relatively, are equal: their quotients were rounded."""
_BLOCK = 2**15
"""Pages treated at a time, so that the numbers stay in the processor's cache."""
_TERMS = 14
_NEAR = 0.25
_FAR = 2.0
_ROUNDS = 60
_SETTLED = 1e-13
"""The sum of shares may be this far from 1 before they are divided by it."""
_ASTRAY = 1e-9
"""A bracket that misses a sum of 1 by more than this is a defect, and is never scaled away."""
_SATURATED = 20.0
"""From here on e^-V is lost beside 1 in some quotient."""
_NARROW = 1e-7
"""Relative width of a bracket below which sums are straight lines to the last digits."""
_WAVERING = 3.0
"""Of smooth sums Newton's steps leave less than this times the square of the last surplus."""
_STUCK = 0.1
"""Steps that leave more than this part of the surplus are held up by a jump of the sum."""
_MANY = 2**13
_SAMPLED = 16
_ROUGH = 1e-3
"""With many pages, start from a sample of every 16th."""
_LARGEST = 600.0
RARE = 1e-60
"""Changes per access time below which the best frequencies follow from their ratios alone."""


def _branch_series(terms: int) -> list[float]:
    """Coefficients of u in powers of s, where ``u - ln(1 + u) = s² / 2``.

    From ``u u' = s (1 + u)``, power by power.
    """
    a = [0.0, 1.0]
    for n in range(2, terms + 1):
        inner = sum(k * a[k] * a[n + 1 - k] for k in range(2, n))
        a.append((a[n - 1] - inner) / (n + 1))
    return a


SERIES = _branch_series(_TERMS)


def inverse_excess(v: ArrayLike) -> Array:
    """The u >= 0 with ``u - ln(1 + u) = v``, v >= 0.

    Equal to ``-1 - W_{-1}(-e^{-1 - v})`` of Lambert; here without its cancellation near v = 0, and
    without overflow. With ``v = -ln(1 - p)`` it is the p-quantile of the Erlang-2 law.

    Parameters
    ----------
    v : array_like
    """
    v = np.asarray(v, dtype=float)
    root = np.sqrt(2.0 * v)
    near = np.minimum(root, _FAR)
    u = np.zeros_like(near)
    for coefficient in reversed(SERIES):
        u = u * near + coefficient
    start = np.where(root > _FAR, v + np.log1p(v + np.log1p(v + np.log1p(v))), u)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(2):
            step = (start - np.log1p(start) - v) * (1.0 + start) / start
            start = start - step / (1.0 - step / (2.0 * start * (1.0 + start)))
    result: Array = np.where(root > _NEAR, start, u)
    return np.where(np.isinf(v), np.inf, result)


def best_shares(change_rates: ArrayLike, weights: ArrayLike, law: Distribution) -> Array:
    """Access frequencies of the least possible weighted obsolescence, shape (pages,).

    Parameters
    ----------
    change_rates, weights : array_like, shape (pages,)
        Change rates mu and weights c, >= 0.
    law : Distribution
        Law of one access time.

    Raises
    ------
    ValueError
        If a rate or weight is negative or not finite, or there are not as many of both.

    Notes
    -----
    coffman1998 (7)-(9) for any weights: ``x = l / u`` with ``P(2, u) = lambda / w``, and x = 0 iff
    ``w <= lambda``; P(2, ·) is the Erlang-2 distribution function and lambda makes the sum 1.
    Solved for V with ``lambda = w_max (1 - e^{-V})``: pages are told apart by the gaps
    ``1 - w / w_max`` even where lambda is w_max to the last bit. V lies between its values for all
    pages alike with the least and with the largest w. Pages without changes or weight get none; if
    all are such, shares are equal.
    """
    mu, c = _scaled_pages(change_rates, weights, law)
    asked = (mu > 0) & (c > 0)
    if not asked.any():
        return np.full(len(mu), 1.0 / len(mu))
    value = c[asked] / mu[asked]
    pages = PagesInMemory(log_transform(law, mu[asked]), *ratios(value, value.max()))
    shares: Array = np.zeros(len(mu))
    shares[asked] = _shares_between(bracket(pages), pages)
    shares /= shares.sum()
    return shares


class Sums(Protocol):
    """What the search for V needs to know of pages, wherever they are."""

    @property
    def exponents(self) -> float:
        """The sum of l."""

    @property
    def least(self) -> float:
        """The smallest ``w / w_max``."""

    def start(self) -> float:
        """Where to begin; infinite where nothing better than the upper end is known."""

    def sum_and_slope(self, log_bound: float) -> tuple[float, float]:
        """Logarithm of the sum of shares at one V, and its derivative by ln V."""

    def split(self, low: float, high: float, middle: float) -> Split | None:
        """Of pages that are active at one end only: None where there are none."""


class Split(NamedTuple):
    """Pages that are active at one end of a bracket only, and the sums of the others.

    Parameters
    ----------
    level, slope : float
        Of the others, in the middle of the bracket, as `Sums.sum_and_slope`.
    contested : PagesInMemory
    """

    level: float
    slope: float
    contested: PagesInMemory


class PagesInMemory(NamedTuple):
    """Pages with changes and weight.

    Parameters
    ----------
    exponent, ratio, gap : ndarray, shape (pages,)
        l, ``w / w_max`` and its gap to 1.
    """

    exponent: Array
    ratio: Array
    gap: Array

    @property
    def exponents(self) -> float:
        """The sum of l."""
        return float(self.exponent.sum())

    @property
    def least(self) -> float:
        """The smallest ``w / w_max``."""
        return float(self.ratio.min())

    def start(self) -> float:
        """Infinite for few pages, of many the solution for some of them."""
        return _sampled_start(*self) if len(self.exponent) >= _MANY else float(np.inf)

    def sum_and_slope(self, log_bound: float) -> tuple[float, float]:
        """Logarithm of the sum of shares, and its derivative by ln V."""
        return _sum_and_slope(log_bound, *self)

    def split(self, low: float, high: float, middle: float) -> Split | None:
        """The pages that are active at one end only apart from the others."""
        contested = _contested(low, high, self.ratio, self.gap)
        if not contested.any():
            return None
        others = _sum_and_slope(middle, *(each[~contested] for each in self))
        return Split(*others, PagesInMemory(*(each[contested] for each in self)))


def _shares_between(ends: tuple[float, float], pages: PagesInMemory) -> Array:
    """The shares that sum to 1 between those of two neighbouring values of V.

    A page whose w is lambda to the last bit can have any share up to some l / 40, and V does not
    tell which: it gets what the others leave. Pages of the same w get it in proportion to l.
    """
    if ends[0] == ends[1]:
        return shares_at(ends[0], *pages)
    more, less = (shares_at(end, *pages) for end in ends)
    part = part_of_more(float(more.sum()), float(less.sum()))
    shares: Array = part * more + (1.0 - part) * less
    return shares


def part_of_more(more: float, less: float) -> float:
    """The part x of the shares at the lower end of a bracket with ``x more + (1 - x) less = 1``.

    Parameters
    ----------
    more, less : float
        The sums of the shares at its two ends.
    """
    surplus = more - 1.0
    lack = 1.0 - less
    if min(surplus, lack) < -_ASTRAY:
        raise ArithmeticError(f"shares sum to {more!r} and {less!r} beside the optimum")
    if surplus <= 0.0 or lack <= 0.0:
        return 1.0 if abs(surplus) < abs(lack) else 0.0
    return lack / (surplus + lack)


def _checked(numbers: ArrayLike) -> Array:
    values = np.asarray(numbers, dtype=float)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("change rates and weights must be finite and >= 0")
    return values


def _checked_pages(change_rates: ArrayLike, weights: ArrayLike) -> tuple[Array, Array]:
    mu = _checked(change_rates)
    c = _checked(weights)
    if mu.ndim != 1 or mu.shape != c.shape or not len(mu):
        raise ValueError("change rates and weights must be as many as the pages, one at least")
    return mu, c


def _scaled_pages(
    change_rates: ArrayLike, weights: ArrayLike, law: Distribution
) -> tuple[Array, Array]:
    """Rates and weights with the same best frequencies, whose quotients and squares are numbers.

    Where all changes are rare a common factor of the rates changes no frequency; a page that is
    rarer by sixty orders of magnitude gets next to nothing.
    """
    mu, c = _checked_pages(change_rates, weights)
    changes = float(mu.max()) * mean_time(law)
    if 0.0 < changes < RARE:
        mu = mu * (RARE / changes)
    return lifted(law, mu)[0], c / (float(c.max()) or 1.0)


def ratios(w: Array, largest: float) -> tuple[Array, Array]:
    """``w / w_max`` and its gap to 1, where quotients that rounding tells apart count as equal."""
    gap = (largest - w) / largest
    gap[gap < _TIED] = 0.0
    ratio: Array = np.where(gap == 0.0, 1.0, w / largest)
    return ratio, gap


def shares_at(log_bound: float, exponent: Array, ratio: Array, gap: Array) -> Array:
    """``l / u`` of every page for one V, block by block; 0 outside of the active set."""
    shares = np.empty_like(exponent)
    for first in range(0, len(shares), _BLOCK):
        part = slice(first, first + _BLOCK)
        v = missing_exponent(log_bound, ratio[part], gap[part])
        shares[part] = exponent[part] / inverse_excess(v)
    return shares


def missing_exponent(log_bound: float, ratio: Array, gap: Array) -> Array:
    """``-ln(1 - lambda / w)``, infinite where w <= lambda."""
    taken = -np.expm1(-log_bound)
    left = np.exp(-log_bound)
    near = np.minimum(taken / ratio, 0.5)
    open_part = np.where(gap < 0.5, left - gap, ratio - taken)
    with np.errstate(divide="ignore"):
        far = -np.log(np.maximum(open_part, 0.0) / ratio)
    far = np.where(gap == 0.0, log_bound, far)
    result: Array = np.where(taken < 0.5 * ratio, -np.log1p(-near), far)
    return result


def bracket(pages: Sums, tolerance: float = _SETTLED) -> tuple[float, float]:
    """Neighbouring values of V, the sum of shares at least 1 at one and at most 1 at the other.

    The same value twice where the sum is 1 up to the tolerance. Newton's steps in the logarithms,
    kept inside the bracket; the last steps are overdone a little, so that they close it from both
    sides where the sum jumps. Where pages are about to be given up the slope says little about the
    next step, and the last one more.
    """
    total = pages.exponents
    high = total - float(np.log1p(total)) if total > _NEAR else float(_excess_of(total))
    least = pages.least
    low = -float(np.log1p(least * np.expm1(-high))) if least < 1.0 else high
    unsure = least < 1.0 and high > _SATURATED
    point = min(max(low, pages.start()), high)
    before = (point, np.inf)
    wavering = False
    for _ in range(_ROUNDS):
        surplus, slope = pages.sum_and_slope(point)
        if abs(surplus) <= tolerance:
            return point, point
        low, high = (point, high) if surplus > 0 else (low, point)
        unsure = unsure and surplus < 0
        if unsure and high - low <= _NARROW * high:
            low, unsure = _low_enough(low, pages), False
        if high - low <= 4e-16 * high:
            break
        if high - low <= _NARROW * high and abs(surplus) > _STUCK * abs(before[1]):
            middle = low + (high - low) / 2
            split = pages.split(low, high, middle)
            if split is not None:
                return _closed(low, high, middle, split)
        nearer = abs(surplus) < abs(before[1])
        wavering = wavering or (nearer and _WAVERING * before[1] ** 2 < abs(surplus))
        if wavering and nearer:
            slope = (surplus - before[1]) / float(np.log(point / before[0]))
        before = (point, surplus)
        step = -surplus / slope if slope < 0 else -np.inf
        step += float(np.copysign(min(abs(step), 1e-14), step))
        following = point * float(np.exp(step))
        if unsure and following <= low:
            low, unsure = _low_enough(low, pages), False
        point = following if low < following < high else _between(low, high)
    return low, high


def _between(low: float, high: float) -> float:
    """The middle of a bracket, of a wide one that of the logarithms."""
    wide = high > 4.0 * low > 0.0
    return float(np.sqrt(low) * np.sqrt(high)) if wide else low + (high - low) / 2


def _low_enough(low: float, pages: Sums) -> float:
    """A lower end with a sum of at least 1.

    With frequent changes it is the value at which the least page is just given up, to the last bit;
    its share, anything up to l / 40, is on the other side of it.
    """
    step = 4e-16
    while pages.sum_and_slope(low)[0] < 0.0 and step < 1.0:
        low *= 1.0 - step
        step *= 8.0
    return low


def _contested(low: float, high: float, ratio: Array, gap: Array) -> NDArray[np.bool_]:
    """Pages that are active at one end only: where their shares begin, the sum can jump."""
    contested = np.empty(len(ratio), dtype=bool)
    for first in range(0, len(ratio), _BLOCK):
        part = slice(first, first + _BLOCK)
        ends = (missing_exponent(end, ratio[part], gap[part]) for end in (low, high))
        contested[part] = np.logical_xor(*map(np.isfinite, ends))
    return contested


def _closed(low: float, high: float, middle: float, split: Split) -> tuple[float, float]:
    """A narrow bracket, closed by halving: the contested pages exactly, the others by their slope.

    What the slope leaves out is of the order of the square of the bracket, 1e-14; the ends are then
    put that much further apart.
    """
    for _ in range(_ROUNDS):
        point = low + (high - low) / 2
        others = float(np.exp(split.level)) * (1.0 + split.slope * (point - middle) / middle)
        enough = others + float(shares_at(point, *split.contested).sum()) > 1.0
        low, high = (point, high) if enough else (low, point)
        if high - low <= 4e-16 * high:
            break
    return low * (1.0 - _SETTLED), high * (1.0 + _SETTLED)


def _sampled_start(exponent: Array, ratio: Array, gap: Array) -> float:
    """The solution for some of many pages.

    Newton's steps come down from the upper end one by one; from here two or three are enough.
    """
    every = slice(None, None, _SAMPLED)
    some = PagesInMemory(exponent[every].copy(), ratio[every].copy(), gap[every].copy())
    return start_from(some, float(exponent.sum()))


def start_from(some: PagesInMemory, exponents: float) -> float:
    """The solution for some pages that stand for all, whose l sum to `exponents`."""
    share = some.exponents
    if share <= 0.0:
        return float(np.inf)
    return bracket(some._replace(exponent=some.exponent * (exponents / share)), _ROUGH)[1]


def _excess_of(u: float) -> float:
    """``u - ln(1 + u)`` by its series, u <= 1/4."""
    value = 0.0
    for order in range(40, 1, -1):
        value = (1.0 / order - value) * u
    return value * u


def _sum_and_slope(
    log_bound: float, exponent: Array, ratio: Array, gap: Array
) -> tuple[float, float]:
    """Logarithm of the sum of shares, and its derivative by ln V.

    ``d x / d V = -(l / u²) (1 + 1/u) e^{v - V} / (w / w_max)``, from ``d u / d v = 1 + 1/u``.
    """
    total = slope = 0.0
    for first in range(0, len(exponent), _BLOCK):
        part = slice(first, first + _BLOCK)
        v = missing_exponent(log_bound, ratio[part], gap[part])
        active = np.isfinite(v)
        v = v[active]
        l_active = exponent[part][active]
        u = inverse_excess(v)
        share = l_active / u
        total += float(share.sum())
        growth = (1.0 + 1.0 / u) * np.exp(v - log_bound) / ratio[part][active]
        slope -= float((share / u * growth).sum())
    if total == 0.0:
        return -float(np.inf), 0.0
    return float(np.log(total)), slope * log_bound / total


def schedule_bound(change_rates: ArrayLike, weights: ArrayLike, law: Distribution) -> float:
    """The weighted obsolescence that no schedule of one robot beats.

    coffman1998 (7) at its optimum (`best_shares`), for any weights.

    Parameters
    ----------
    change_rates : array_like, shape (pages,)
    weights : array_like, shape (pages,)
    law : Distribution
        Of the time of an access.
    """
    mu, c = _checked_pages(change_rates, weights)
    return float(c @ spaced_obsolescence(mu, best_shares(mu, c, law), law))


def proportional_bound(change_rates: ArrayLike, law: Distribution) -> float:
    """Least weighted obsolescence of any schedule where the weights are the change rates.

    coffman1998, Theorem 3.4 and (10): ``C >= nu (sum delta + exc(sum l))``, with frequencies
    ``l / sum l``; nu = 1/m.

    Parameters
    ----------
    change_rates : array_like, shape (pages,)
    law : Distribution
        Of the time of an access.
    """
    mu = _checked(change_rates)
    exponent = float(log_transform(law, mu).sum())
    return float((excess(law, mu).sum() + exc(exponent)) / mean_time(law))


def best_random_shares(change_rates: ArrayLike, weights: ArrayLike, law: Distribution) -> Array:
    """Probabilities of independent random choices with the least weighted obsolescence.

    Parameters
    ----------
    change_rates, weights : array_like, shape (pages,)
        Change rates mu and weights c, >= 0.
    law : Distribution
        Law of one access time.

    Raises
    ------
    ValueError
        If a rate or weight is negative or not finite, or there are not as many of both.

    Notes
    -----
    coffman1998 (12)-(15), and (11), (16) where c is proportional to mu: ``x = b N / S`` with
    ``N_i = sqrt(w_i) - sum_A b_j (sqrt(w_j) - sqrt(w_i))`` and ``S = sum_A sqrt(w) b``, where the
    active set A is the longest prefix by decreasing w with N > 0. The paper's formulas are the
    case in which A is all pages. Only positive terms are added. Pages with l above 600 count as
    if it were 600: their obsolescence rates are the same to 1e-260.
    """
    mu, c = _scaled_pages(change_rates, weights, law)
    asked = np.flatnonzero((mu > 0) & (c > 0))
    if not len(asked):
        return np.full(len(mu), 1.0 / len(mu))
    value = c[asked] / mu[asked]
    ratio, _ = ratios(value, value.max())
    order = np.argsort(-ratio, kind="stable")
    root = np.sqrt(ratio[order])
    missed = np.expm1(np.minimum(log_transform(law, mu[asked[order]]), _LARGEST))
    before = np.cumsum(missed)
    lost = np.concatenate([[0.0], np.cumsum(before[:-1] * (root[:-1] - root[1:]))])
    active = int(np.count_nonzero(root > lost))
    last = active - 1
    numerator = root[last] - lost[last] + (root[:active] - root[last]) * (1.0 + before[last])
    share = missed[:active] * (numerator / numerator.max())
    shares = np.zeros(len(mu))
    shares[asked[order[:active]]] = share / share.sum()
    return shares


class CappedShares(NamedTuple):
    """The best frequencies within the limits of hosts.

    Parameters
    ----------
    shares : ndarray, shape (pages,)
        Accesses of each page per access that the robots have time for; they may sum to less than 1.
    tight : ndarray of bool, shape (hosts,)
        The hosts at their limits.
    """

    shares: Array
    tight: NDArray[np.bool_]


def capped_shares(
    change_rates: ArrayLike,
    weights: ArrayLike,
    law: Distribution,
    hosts: ArrayLike,
    caps: ArrayLike,
) -> CappedShares:
    """Access frequencies of the least weighted obsolescence with at most `caps` for each host.

    Parameters
    ----------
    change_rates, weights : array_like, shape (pages,)
        Change rates mu and weights c, >= 0.
    law : Distribution
        Law of one access time.
    hosts : array_like of int, shape (pages,)
        The host of each page.
    caps : array_like, shape (hosts,)
        Largest sum of the frequencies of each host's pages; inf where there is no limit.

    Raises
    ------
    ValueError
        If a rate or weight is negative or not finite, or a cap is not positive.

    Notes
    -----
    coffman1998 (7) with host constraints, solved as in kolobov2019: without the caps first; hosts
    above theirs are tight, their pages share out the caps among themselves, and the rest is solved
    again with what is left. Costs are convex in each frequency and the caps are on disjoint groups
    inside one total: no host needs fewer accesses once others give theirs up, so that a tight host
    stays tight. ``B`` accesses in place of 1 are the problem with ``l / B`` in place of l.
    """
    mu = np.asarray(change_rates, dtype=float)
    c = np.asarray(weights, dtype=float)
    host = np.asarray(hosts, dtype=np.intp)
    cap = np.asarray(caps, dtype=float)
    if not np.all(cap > 0):
        raise ValueError("caps must be positive")
    shares = np.zeros(len(mu))
    tight = np.zeros(len(cap), dtype=bool)
    asked = (mu > 0) & (c > 0)
    exponent = log_transform(law, np.where(asked, mu, 1.0))
    weighted = np.divide(c, mu, out=np.zeros(len(mu)), where=asked) * exponent
    left = 1.0
    while True:
        free = asked & ~tight[host]
        if not free.any() or left <= 0.0:
            return CappedShares(shares, tight)
        rest = left * best_shares(exponent[free], weighted[free], Deterministic(value=1.0 / left))
        over = np.bincount(host[free], rest, len(cap)) > cap * (1 + 4e-16)
        if not over.any():
            shares[free] = rest
            return CappedShares(shares, tight)
        above = np.flatnonzero(free & over[host])
        above = above[np.argsort(host[above], kind="stable")]
        for pages in np.split(above, np.flatnonzero(np.diff(host[above])) + 1):
            limit = float(cap[host[pages[0]]])
            alone = Deterministic(value=1.0 / limit)
            shares[pages] = limit * best_shares(exponent[pages], weighted[pages], alone)
        tight |= over
        left -= float(cap[over].sum())


def in_time_bound(
    change_rates: ArrayLike, weights: ArrayLike, time: float, hosts: ArrayLike, caps: ArrayLike
) -> float:
    """The weighted obsolescence that no schedule in time beats, open or closed loop.

    Parameters
    ----------
    change_rates, weights : array_like, shape (pages,)
        Change rates mu and weights c, >= 0.
    time : float
        Mean time per access, all robots together.
    hosts : array_like of int, shape (pages,)
    caps : array_like, shape (hosts,)
        As for `capped_shares`.

    Notes
    -----
    Proof: between deliveries that lie G apart a page is out of date in the mean for
    ``G - (1 - e^{-mu G}) / mu``, whatever the deliveries go by, since they do not see the changes.
    This is convex in G, so at rate x a page is out of date for at least the fraction
    ``1 - (x/mu) (1 - e^{-mu/x})`` of the time, which is coffman1998, Theorem 3.3, for constant
    access times. It is convex in x; the rates sum to at most ``1 / time``, those of a host to
    ``caps / time``.
    """
    law = Deterministic(value=time)
    shares = capped_shares(change_rates, weights, law, hosts, caps).shares
    total = max(1.0, float(shares.sum()))
    return float(
        np.asarray(weights, dtype=float) @ equal_spacing_bound(change_rates, shares / total, law)
    )
