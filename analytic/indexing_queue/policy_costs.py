"""Cost of very many level-dependent numbers of robots at once, with the work on levels shared.

The level goes down one page at a time. What happens from a level until the level below is first
reached depends only on the robots at that level and above. So policies that agree from some level
upwards share the work on those levels: the policies form a tree from the top level downwards, and
the states of a level are eliminated once per node. The tagged page does not see the robots, so
that its sojourn is a reward of the states too.

Nothing is subtracted anywhere (Grassmann, Taksar and Heyman, 1985): at any load all terms of the
cost keep their relative digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytic.indexing_queue.chain import QueueChain, one_gone, rate_blocks
from analytic.indexing_queue.several_servers import ServersChain
from analytic.indexing_queue.sojourns import one_closer, position_times
from analytic.machinery.markov import closed_classes, stationary, until_exit
from scenarios.arrays import Array, Indices
from scenarios.sections import Costs

_LARGEST_PIECE = 1_000_000
"""Numbers of one level that are held at a time; more policies are taken in parts."""


@dataclass(frozen=True)
class LevelRates:
    """Rates and rewards of each level under each number of robots.

    Attributes
    ----------
    up : list of list of ndarray
        ``up[i][n]``, shape (numbers, states of level i, states of level i + n): rates from level
        i to i + n; the diagonal of ``up[i][0]`` is not used.
    down : list of ndarray
        ``down[i]``, shape (states of level i, states of level i - 1); no column for level 0.
    rewards : list of ndarray
        ``rewards[i]``, shape (numbers, states of level i, columns): time, cost per unit time, and
        where the response has a price the sojourn time of the pages that enter per unit time and
        will be served, and their number.
    response : float
        Price of the mean response.
    """

    up: list[list[Array]]
    down: list[Array]
    rewards: list[Array]
    response: float

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.down) - 1


def level_rates(chains: Sequence[QueueChain | ServersChain], costs: Costs) -> LevelRates:
    """Rates and rewards of the indexing queue for some numbers of robots.

    Parameters
    ----------
    chains : sequence of QueueChain, or of ServersChain
        One for each number, which is active at every level. Of several servers the response may
        have no price.
    costs : Costs
    """
    first = chains[0]
    served = _served_from(first) if costs.response and isinstance(first, QueueChain) else []
    each = [_of_number(chain, costs, served) for chain in chains]
    levels = range(len(each[0].down))
    return LevelRates(
        up=[
            [np.concatenate([one.up[i][n] for one in each]) for n in range(len(each[0].up[i]))]
            for i in levels
        ],
        down=each[0].down,
        rewards=[np.concatenate([one.rewards[i] for one in each]) for i in levels],
        response=costs.response,
    )


def _of_number(chain: QueueChain | ServersChain, costs: Costs, served: list[Array]) -> LevelRates:
    """The same for one number."""
    if isinstance(chain, ServersChain):
        deliveries, blocks = chain.deliveries, chain.blocks()
        rewards = [_rewards_of_servers(chain, n, costs)[None] for n in range(deliveries.top + 1)]
    else:
        deliveries, blocks = chain, rate_blocks(chain)
        rewards = [_rewards(chain, level, costs, served)[None] for level in range(chain.top + 1)]
    sizes = np.diff(chain.starts).tolist()
    top, farthest = deliveries.top, int(deliveries.accepted.max())
    up: list[list[Array]] = [
        [np.zeros((1, sizes[i], sizes[i + n])) for n in range(min(farthest, top - i) + 1)]
        for i in range(top + 1)
    ]
    down: list[Array] = [np.zeros((sizes[i], sizes[i - 1] if i else 0)) for i in range(top + 1)]
    for origin, target, block in blocks:
        rates = down[origin] if target < origin else up[origin][target - origin][0]
        rates += block
    return LevelRates(up=up, down=down, rewards=rewards, response=costs.response)


def _paid_by_phase(chain: QueueChain, level: int, costs: Costs) -> Array:
    """What robots, accesses, losses, starvation and whatever stands there cost, by their phase."""
    sizes = np.arange(chain.batch_rates.shape[1])
    lost = (sizes - chain.accepted[level])[1:] @ chain.batch_rates[level, 1:, :, 0]
    paid = costs.standing + costs.loss * lost + costs.robots * chain.active[level, :, 0]
    if costs.delivery:
        paid = paid + costs.delivery * (sizes[1:] @ chain.batch_rates[level, 1:, :, 0])
    return paid + costs.starvation * (level == 0)


def _rewards_of_servers(chain: ServersChain, level: int, costs: Costs) -> Array:
    """Time and cost per unit time in each state."""
    paid = _paid_by_phase(chain.deliveries, level, costs)
    paid = paid + costs.obsolescence * chain.obsolescence * chain.waiting(level)
    cost = np.repeat(paid, len(chain.busy[min(level, chain.servers)]))
    return np.stack([np.ones_like(cost), cost], axis=1)


def _rewards(chain: QueueChain, level: int, costs: Costs, served: list[Array]) -> Array:
    """Time and cost per unit time in each state, and the sojourn of what enters if priced."""
    cost = np.repeat(_paid_by_phase(chain, level, costs), chain.inner[level])
    if level > 1:
        gone = one_gone(chain.patience.exit_rates, level - 1).sum(axis=1)
        cost += costs.obsolescence * np.tile(gone, len(cost) // len(gone))
    columns = np.stack([np.ones_like(cost), cost], axis=1)
    if not costs.response:
        return columns
    return np.concatenate([columns, _sojourn_rewards(chain, level, served)], axis=1)


def _sojourn_rewards(chain: QueueChain, level: int, served: list[Array]) -> Array:
    """Sojourn time of the served pages among those that enter per unit time, and their number.

    A page that enters as the l-th of a batch at level i stands at position i + l, behind the pages
    of the state and l - 1 pages whose patience has just begun.
    """
    entering = np.zeros((chain.inner[level], 2))
    gains = [entering]
    for rank in range(1, int(chain.accepted[level].max()) + 1):
        entering = entering + _seen_from(chain, level, served[level + rank - 1], rank)
        gains.append(entering)
    rates = chain.batch_rates[level, 1:, :, 0]
    of_batches = np.stack([gains[entered] for entered in chain.accepted[level, 1:].tolist()])
    return np.einsum("kw,kic->wic", rates, of_batches).reshape(-1, 2)


def _seen_from(chain: QueueChain, level: int, values: Array, rank: int) -> Array:
    """Values at a position, averaged over the first phases of the `rank` pages that enter."""
    start = chain.patience.start
    columns = values.shape[-1]
    for _ in range(rank if level else rank - 1):
        values = np.einsum("stc,t->sc", values.reshape(-1, len(start), columns), start)
    return values if level else chain.service.start[None, :] @ values


def _served_from(chain: QueueChain) -> list[Array]:
    """Mean time of the pages that will be served, and their probability, for each position.

    Entry p has shape (service phases × patience phases^p, 2): the tagged page at position p + 1,
    the phases of those ahead and its own (docs/theory/indexing-queue.md, "Sojourn times").
    """
    served = chain.service.exit_rates
    time = np.zeros_like(served)
    positions: list[Array] = []
    for position in range(1, chain.top + 1):
        if position > 1:
            time, served = (one_closer(chain, position - 1) @ positions[-1]).T
        spent = position_times(chain, position)
        reach = spent @ served
        positions.append(np.stack([spent @ (time + reach), reach], axis=1))
    return positions


@dataclass(frozen=True)
class _Branch:
    """Policies given from a level upwards, and what is known of the levels above it.

    `robots` has shape (nodes,), the index of the number active at this level. Entry n of the lists
    is about n levels above: `falls`, from that level to the one below; `gains`, the rewards on the
    way, to be multiplied by 2 to the power of `exponents`.
    """

    level: int
    robots: Indices
    falls: list[Array]
    gains: list[Array]
    exponents: list[NDArray[np.int64]]

    def halves(self) -> tuple[_Branch, _Branch]:
        """The same in two halves, of which one can be finished and dropped before the other."""
        middle = len(self.robots) // 2
        return self._part(slice(middle)), self._part(slice(middle, None))

    def _part(self, part: slice) -> _Branch:
        return _Branch(
            self.level,
            self.robots[part].copy(),
            [each[part].copy() for each in self.falls],
            [each[part].copy() for each in self.gains],
            [each[part].copy() for each in self.exponents],
        )


def policy_costs(rates: LevelRates, follows: NDArray[np.bool_]) -> Array:
    """The cost per unit time of every policy.

    Parameters
    ----------
    rates : LevelRates
    follows : ndarray of bool, shape (numbers, numbers)
        Whether the second number may be active at the level below one where the first is.

    Returns
    -------
    ndarray, shape (policies,)
        In the order of the numbers at the top level, then at the level below it, and so on. NaN
        where there is no cost: the response has a price and nothing is served, or the chain does
        not forget where it started.

    Notes
    -----
    avrachenkov2011 (2), of all policies; the block elimination is that of the paper's section 3,
    from the top level downwards, with rewards.
    """
    todo = [_Branch(rates.top + 1, np.zeros(1, dtype=np.intp), [], [], [])]
    costs = []
    while todo:
        branch = todo.pop()
        most = _most_nodes(rates, branch.level, len(follows))
        if branch.level == 0:
            costs.append(branch.gains[0][:, 0, 0])
        elif len(branch.robots) > most:
            todo += branch.halves()[::-1]
        else:
            todo.append(_extended(rates, follows, branch))
    return np.concatenate(costs)


def _most_nodes(rates: LevelRates, level: int, numbers: int) -> int:
    """Nodes that are extended together from a level to the one below."""
    size, fewer = rates.down[max(level - 1, 0)].shape
    wide: int = size * (size + fewer + rates.rewards[0].shape[-1]) * numbers
    return max(1, _LARGEST_PIECE // wide)


def _extended(rates: LevelRates, follows: NDArray[np.bool_], branch: _Branch) -> _Branch:
    """The branch with every allowed number at the level below, too."""
    level = branch.level - 1
    if level == rates.top:
        chosen = np.arange(len(follows))
        parent = np.zeros_like(chosen)
    else:
        parent, chosen = np.nonzero(follows[branch.robots])
    within, gains, exponent = _censored(rates, branch, level, parent, chosen)
    if level == 0:
        cost = _stationary_cost(within, gains, rates.response)
        return _Branch(0, chosen, [], [cost[:, None, None]], [])
    down = np.broadcast_to(rates.down[level], (len(chosen), *rates.down[level].shape))
    rewards = until_exit(within, down.sum(axis=-1), np.concatenate([down, gains], axis=-1))
    falls, gains = np.split(rewards, [down.shape[-1]], axis=-1)
    shift = np.frexp(gains.max(axis=(1, 2)))[1].astype(np.int64)
    kept = max(len(steps) for steps in rates.up) - 2  # levels that a batch from below can reach
    return _Branch(
        level,
        chosen,
        [falls, *(each[parent] for each in branch.falls[:kept])],
        [np.ldexp(gains, -shift[:, None, None]), *(each[parent] for each in branch.gains[:kept])],
        [exponent + shift, *(each[parent] for each in branch.exponents[:kept])],
    )


def _censored(
    rates: LevelRates, branch: _Branch, level: int, parent: Indices, chosen: Indices
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Rates within a level and rewards there, both with all that happens above it."""
    exponent = np.zeros(len(parent), dtype=np.int64)
    for each in branch.exponents[: len(rates.up[level]) - 1]:
        exponent = np.maximum(exponent, each[parent])
    gains = np.ldexp(rates.rewards[level][chosen], -exponent[:, None, None])
    rising: Array | float = 0.0
    for step in range(len(rates.up[level]) - 1, 0, -1):
        rising = rates.up[level][step][chosen] + rising
        above = np.ldexp(
            branch.gains[step - 1][parent],
            (branch.exponents[step - 1][parent] - exponent)[:, None, None],
        )
        gains = gains + rising @ above
        rising = rising @ branch.falls[step - 1][parent]
    return rates.up[level][0][chosen] + rising, gains, exponent


def _stationary_cost(within: Array, gains: Array, response: float) -> Array:
    """The cost per unit time, from the chain censored to level 0 and the rewards in between."""
    totals = (_stationary_each(within)[:, None, :] @ gains)[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        cost: Array = totals[:, 1] / totals[:, 0]
        if response:
            cost = cost + response * totals[:, 2] / totals[:, 3]
    return cost


def _stationary_each(rates: Array) -> Array:
    """Stationary vectors of many small chains; NaN where a chain has several closed classes."""
    eliminated = rates.copy()
    count, size, _ = rates.shape
    weights = np.ones((count, size))
    with np.errstate(all="ignore"):
        for last in range(size - 1, 0, -1):
            onward = eliminated[:, last, :last]
            eliminated[:, :last, last] /= onward.sum(axis=-1)[:, None]
            into = eliminated[:, :last, last]
            eliminated[:, :last, :last] += into[:, :, None] * onward[:, None, :]
        for state in range(1, size):
            weights[:, state] = (weights[:, :state] * eliminated[:, :state, state]).sum(axis=-1)
        weights /= weights.sum(axis=-1, keepdims=True)
    for index in np.flatnonzero(~np.isfinite(weights).all(axis=-1)):
        one = len(closed_classes(rates[index])) == 1
        weights[index] = stationary(rates[index]) if one else np.nan
    return weights
