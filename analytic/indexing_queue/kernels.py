"""Compiled passes over the states of the indexing queue, level by level, without a matrix.

The index of a state within its level runs over arrival phase, service phase and the patience
phases of the waiting pages, the oldest first. The flow into a level is added up factor by factor
of the Kronecker products; nothing is subtracted. Imported inside functions: numba takes its time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from analytic.indexing_queue.chain import QueueChain
from analytic.machinery.elimination import eliminate, substitute
from scenarios.arrays import Array
from scenarios.kernels import compiled, part

Floats = NDArray[Any]
Integers = NDArray[Any]


class Tables(NamedTuple):
    """A chain as the passes read it.

    `order`, `phases` and `patience_phases` count the phases of arrivals, service and one page's
    patience. `begins` and `served` are start and exit rates of the service, `service` its rates
    between phases; `gone` and `patience` are exit rates and rates between phases of the patience.
    `powers` holds the Kronecker powers of its start vector, one after the other from
    `power_starts` on. `enters` and `turns` number the matrices over arrival phases, by level, pages
    that enter and service phase after the event; -1 where there are none. `pointer`, `source` and
    `rate` hold those matrices by columns. `leaves` is the rate out of the level from an arrival and
    a service phase, obsolescences apart; `expires` that out of a phase of patience. `blocks` is
    where the mean times of each level begin (`block_times`). Passes begin at the level `lowest`.
    `settled` is the arrival phase after an obsolescence that leads to a level.
    """

    starts: Integers
    order: int
    phases: int
    patience_phases: int
    begins: Floats
    served: Floats
    service: Floats
    gone: Floats
    patience: Floats
    powers: Floats
    power_starts: Integers
    enters: Integers
    turns: Integers
    pointer: Integers
    source: Integers
    rate: Floats
    leaves: Floats
    expires: Floats
    blocks: Integers
    lowest: int
    settled: Integers


def tables_of(chain: QueueChain, lowest: int = 0) -> Tables:
    """The chain as the passes read it; they begin at level `lowest`."""
    service = chain.service
    patience = chain.patience
    largest = max(max(moves, default=0) for moves in chain.arrivals)
    powers: list[Array] = [np.ones(1)]
    for _ in range(largest):
        powers.append(np.kron(powers[-1], patience.start))
    matrices, enters, turns = _numbered(chain)
    return Tables(
        chain.starts,
        chain.order,
        chain.service_phases,
        chain.patience_phases,
        np.ascontiguousarray(service.start, dtype=float),
        service.exit_rates,
        _off_diagonal(service.generator),
        patience.exit_rates,
        _off_diagonal(patience.generator),
        np.concatenate(powers),
        np.cumsum([0, *map(len, powers)], dtype=np.int64),
        enters,
        turns,
        *_by_columns(matrices),
        _leaves(chain),
        patience.exit_rates + _off_diagonal(patience.generator).sum(axis=1),
        _block_starts(chain),
        lowest,
        _settled(chain),
    )


def _settled(chain: QueueChain) -> NDArray[np.int64]:
    """Of a chain where obsolescence leaves the arrival phase alone, that phase itself."""
    if chain.settled is None:
        return np.tile(np.arange(chain.order, dtype=np.int64), (chain.top + 1, 1))
    return chain.settled.astype(np.int64)


def _block_starts(chain: QueueChain) -> NDArray[np.int64]:
    """Where the mean times of each level begin in one array, and its length."""
    inner = chain.order * chain.service_phases
    sizes = [chain.order**2]
    sizes += [level ** (chain.patience_phases - 1) * inner**2 for level in range(1, chain.top + 1)]
    return np.cumsum([0, *sizes], dtype=np.int64)


def _off_diagonal(matrix: Array) -> Array:
    return np.ascontiguousarray(matrix * (1.0 - np.eye(len(matrix))), dtype=float)


def _numbered(chain: QueueChain) -> tuple[list[Array], NDArray[np.int64], NDArray[np.int64]]:
    """The different matrices over arrival phases, and which of them is where."""
    numbers: dict[bytes, int] = {}
    matrices: list[Array] = []

    def number(matrix: Array) -> int:
        key = matrix.tobytes()
        if key not in numbers:
            numbers[key] = len(matrices)
            matrices.append(matrix)
        return numbers[key]

    phases = chain.service_phases
    largest = max(max(m, default=0) for m in chain.arrivals)
    enters = np.full((chain.top + 1, largest + 1, phases), -1, dtype=np.int64)
    turns = np.zeros((chain.top + 1, phases), dtype=np.int64)
    for level, moves in enumerate(chain.arrivals):
        for entering, each in moves.items():
            enters[level, entering] = [number(matrix) for matrix in each] * (phases // len(each))
        each = chain.turnover[level]
        turns[level] = [number(matrix) for matrix in each] * (phases // len(each))
    return matrices, enters, turns


def _by_columns(matrices: list[Array]) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Pointers, rows and entries of the matrices that are not zero, column by column."""
    order = len(matrices[0])
    together = scipy.sparse.csc_array(np.hstack(matrices))
    columns = order * np.arange(len(matrices))[:, None] + np.arange(order + 1)
    pointers = together.indptr[columns].astype(np.int64)
    return pointers, together.indices.astype(np.int64), together.data


def _leaves(chain: QueueChain) -> Array:
    """Rate out of the level from each arrival and service phase, obsolescences apart."""
    order = chain.order
    phases = chain.service_phases
    leaves = np.zeros((chain.top + 1, order, phases))
    leaves[1:] += chain.service.exit_rates
    for level, moves in enumerate(chain.arrivals):
        for entering, matrices in moves.items():
            if entering > 0:
                leaves[level] += matrices.sum(axis=2).T
    empty = leaves[0] @ chain.service.start
    flat = leaves.reshape(chain.top + 1, -1)
    flat[0, :order] = empty
    return flat


def working_space(chain: QueueChain) -> tuple[Array, Array, NDArray[np.int32]]:
    """For the flow into a level, for service completions, and for numbers of patience phases."""
    vectors: int = chain.patience_phases ** max(chain.top - 1, 0)
    largest = int(np.diff(chain.starts).max())
    return np.empty(largest), np.empty(chain.order * vectors), np.empty(vectors, dtype=np.int32)


@part
def _add_batch(t: Tables, probabilities: Floats, level: int, entering: int, flow: Floats) -> None:
    """Deliveries of which `entering` pages enter and make the level."""
    origin = level - entering
    width = t.patience_phases ** max(origin - 1, 0)
    added = entering if origin > 0 else entering - 1
    spread = t.patience_phases**added
    drawn = t.powers[t.power_starts[added] : t.power_starts[added] + spread]
    for phase in range(t.phases):
        matrix = t.enters[origin, entering, phase]
        if matrix < 0:
            continue
        share = 1.0 if origin > 0 else t.begins[phase]
        for after in range(t.order):
            low = t.pointer[matrix, after]
            high = t.pointer[matrix, after + 1]
            target = (after * t.phases + phase) * width * spread
            for ahead in range(width if high > low else 0):
                total = 0.0
                for entry in range(low, high):
                    state = t.source[entry]
                    if origin > 0:
                        state = (state * t.phases + phase) * width + ahead
                    total += t.rate[entry] * probabilities[t.starts[origin] + state]
                total *= share
                for place in range(spread):
                    flow[target + ahead * spread + place] += total * drawn[place]


@part
def _add_emptied(t: Tables, probabilities: Floats, flow: Floats) -> None:
    """Service completions that leave the system empty."""
    matrix = t.turns[1, 0]
    for after in range(t.order):
        for entry in range(t.pointer[matrix, after], t.pointer[matrix, after + 1]):
            base = t.starts[1] + t.source[entry] * t.phases
            for phase in range(t.phases):
                flow[after] += t.rate[entry] * t.served[phase] * probabilities[base + phase]


@part
def _add_served(t: Tables, above: Floats, level: int, flow: Floats, spare: Floats) -> None:
    """Service completions at the level above; the phase of the oldest waiting page is dropped."""
    width = t.patience_phases ** (level - 1)
    for before in range(t.order):
        done = spare[before * width : (before + 1) * width]
        done[:] = 0.0
        for phase in range(t.phases):
            for dropped in range(t.patience_phases):
                base = ((before * t.phases + phase) * t.patience_phases + dropped) * width
                rate = t.served[phase]
                for place in range(width if rate > 0 else 0):
                    done[place] += rate * above[base + place]
    for phase in range(t.phases):
        matrix = t.turns[level + 1, phase]
        for after in range(t.order if t.begins[phase] > 0 else 0):
            target = (after * t.phases + phase) * width
            for entry in range(t.pointer[matrix, after], t.pointer[matrix, after + 1]):
                rate = t.begins[phase] * t.rate[entry]
                base = t.source[entry] * width
                for place in range(width):
                    flow[target + place] += rate * spare[base + place]


@part
def _drop_one(above: Floats, gone: Floats, axes: int, kept: int, flow: Floats) -> None:
    """Add flows by obsolescence of one of the first `axes - kept` of `axes` waiting pages.

    `above` has one entry per vector of the patience phases of all pages, `flow` of all but one.
    """
    phases = len(gone)
    if phases == 1:
        flow[0] += gone[0] * (axes - kept) * above[0]
        return
    after = len(flow)
    for _ in range(axes - kept):
        for before in range(len(flow) // after):
            target = before * after
            for phase in range(phases):
                rate = gone[phase]
                base = (before * phases + phase) * after
                for place in range(after if rate > 0 else 0):
                    flow[target + place] += rate * above[base + place]
        after //= phases


@compiled
def from_above(
    t: Tables, above: Floats, level: int, kept: int, flow: Floats, spare: Floats
) -> None:
    """Add what flows into a level from 1 on from the one above; `spare` is working space.

    Services, and obsolescences of the waiting pages but the last `kept`.
    """
    _add_served(t, above, level, flow, spare)
    width = t.patience_phases ** (level - 1)
    for group in range(t.order * t.phases):
        base = group * width * t.patience_phases
        after = t.settled[level, group // t.phases] * t.phases + group % t.phases
        here = flow[after * width : (after + 1) * width]
        _drop_one(above[base : base + width * t.patience_phases], t.gone, level, kept, here)


@compiled
def inflow(t: Tables, probabilities: Floats, level: int, flow: Floats, spare: Floats) -> None:
    """Flow into each state of a level from the other levels; `spare` is working space."""
    flow[:] = 0.0
    for entering in range(1, min(level, t.enters.shape[1] - 1) + 1):
        _add_batch(t, probabilities, level, entering, flow)
    if level + 2 >= len(t.starts):
        return
    if level == 0:
        _add_emptied(t, probabilities, flow)
    else:
        above = probabilities[t.starts[level + 1] : t.starts[level + 2]]
        from_above(t, above, level, 0, flow, spare)


@compiled
def number_phases(patience_phases: int, radix: int, width: int, code: Integers) -> None:
    """A number for each vector of patience phases that says how many pages are in each phase."""
    done = 1
    code[0] = 0
    while done < width:
        step = 0
        for phase in range(patience_phases):
            step = 1 if phase == 1 else step * radix
            for place in range(done):
                code[phase * done + place] = code[place] + step
        done *= patience_phases


@part
def _phase_moves(t: Tables, level: int, moves: Floats) -> None:
    """Rates between the arrival and service phases of a level, patience phases unchanged."""
    moves[:, :] = 0.0
    inner = t.phases if level > 0 else 1
    for phase in range(inner):
        matrix = t.enters[level, 0, phase]
        for after in range(t.order if matrix >= 0 else 0):
            for entry in range(t.pointer[matrix, after], t.pointer[matrix, after + 1]):
                moves[t.source[entry] * inner + phase, after * inner + phase] += t.rate[entry]
    for group in range(len(moves) if level > 0 else 0):
        base = group - group % inner
        phase = group % inner
        for other in range(inner):
            moves[group, base + other] += t.service[phase, other]


@compiled
def block_times(t: Tables, level: int, waiting: int, shift: float = 0.0) -> Floats:
    """Mean times in the arrival and service phases of a level before anything else happens.

    Parameters
    ----------
    t : Tables
    level, waiting : int
    shift : float
        One more rate out of every state.

    Returns
    -------
    ndarray, shape (numbers, groups, groups)
        From each start, for each number that `number_phases` gives a vector of patience phases.
    """
    groups = t.order * (t.phases if level > 0 else 1)
    times = np.zeros(((waiting + 1) ** (t.patience_phases - 1), groups, groups))
    moves = np.empty((groups, groups))
    _phase_moves(t, level, moves)
    band = np.zeros((groups, 2 * groups - 1))
    totals = np.empty(groups)
    for number in range(len(times)):
        rest = number
        first = waiting
        rate = shift
        for phase in range(1, t.patience_phases):
            count = rest % (waiting + 1)
            rest //= waiting + 1
            first -= count
            rate += count * t.expires[phase]
        if first < 0:
            continue
        ends = t.leaves[level, :groups] + (rate + first * t.expires[0])
        for group in range(groups):
            band[group, groups - 1 - group : 2 * groups - 1 - group] = moves[group]
        eliminate(band, groups - 1, ends)
        for group in range(groups):
            totals[:] = 0.0
            totals[group] = 1.0
            substitute(band, groups - 1, totals)
            times[number, :, group] = totals
    return times


@compiled
def relax(
    t: Tables, here: Floats, flow: Floats, times: Floats, code: Integers, upward: bool
) -> float:
    """One pass of Gauss-Seidel within a level, given what flows into it; the largest change.

    The states that share all patience phases are solved together. `times` is of
    `block_times`; `code` is working space.
    """
    groups = times.shape[1]
    width = len(here) // groups
    change = 0.0
    local = np.empty(groups)
    moving = t.patience.max() > 0
    for step in range(width):
        place = step if upward else width - 1 - step
        for group in range(groups):
            local[group] = flow[group * width + place]
        stride = 1
        rest = place
        while moving and stride < width:
            phase = rest % t.patience_phases
            rest //= t.patience_phases
            for other in range(t.patience_phases):
                rate = t.patience[other, phase]
                if rate > 0:
                    source = place + (other - phase) * stride
                    for group in range(groups):
                        local[group] += rate * here[group * width + source]
            stride *= t.patience_phases
        for group in range(groups):
            new = 0.0
            for other in range(groups):
                new += local[other] * times[code[place], other, group]
            if new > 0:
                change = max(change, abs(new - here[group * width + place]) / new)
            here[group * width + place] = new
    return change


@compiled
def sweep(
    t: Tables,
    probabilities: Floats,
    times: Floats,
    work: tuple[Floats, Floats, Integers],
    upward: bool,
) -> float:
    """One pass over the levels from `lowest` on; the largest relative change of a probability."""
    flow, spare, code = work
    levels = len(t.starts) - 1
    change = 0.0
    for place in range(t.lowest, levels):
        level = place if upward else levels - 1 - place + t.lowest
        first = t.starts[level]
        last = t.starts[level + 1]
        row = flow[: last - first]
        inflow(t, probabilities, level, row, spare)
        waiting = max(level - 1, 0)
        groups = t.order * (t.phases if level > 0 else 1)
        numbers = (waiting + 1) ** (t.patience_phases - 1)
        block = t.blocks[level]
        size = numbers * groups * groups
        mine = times[block : block + size].reshape(numbers, groups, groups)
        number_phases(t.patience_phases, waiting + 1, t.patience_phases**waiting, code)
        change = max(change, relax(t, probabilities[first:last], row, mine, code, upward))
    return change


@compiled
def add_within(t: Tables, here: Floats, level: int, rates: Floats, flow: Floats) -> None:
    """Add what flows between the states of a level; fill in their rates out, to anywhere."""
    groups = t.order * (t.phases if level > 0 else 1)
    width = len(here) // groups
    moves = np.empty((groups, groups))
    _phase_moves(t, level, moves)
    for group in range(groups):
        common = t.leaves[level, group] + moves[group].sum()
        for other in range(groups):
            rate = moves[other, group]
            for place in range(width if rate > 0 else 0):
                flow[group * width + place] += rate * here[other * width + place]
        for place in range(width):
            state = group * width + place
            stride = 1
            rest = place
            rates[state] = common
            while stride < width:  # never where patience has one phase
                phase = rest % t.patience_phases
                rest //= t.patience_phases
                rates[state] += t.expires[phase]
                for other in range(t.patience_phases):
                    source = state + (other - phase) * stride
                    flow[state] += t.patience[other, phase] * here[source]
                stride *= t.patience_phases
            if t.patience_phases == 1 and level > 1:
                rates[state] += t.expires[0] * (level - 1)


@compiled
def imbalance(t: Tables, probabilities: Floats, work: tuple[Floats, Floats, Floats]) -> float:
    """Largest difference of flow in and out of a state, relative to the largest flow."""
    flow, spare, rates = work
    worst = 0.0
    largest = 0.0
    for level in range(len(t.starts) - 1):
        first = t.starts[level]
        last = t.starts[level + 1]
        row = flow[: last - first]
        here = probabilities[first:last]
        inflow(t, probabilities, level, row, spare)
        add_within(t, here, level, rates, row)
        for state in range(last - first):
            out = rates[state] * here[state]
            worst = max(worst, abs(row[state] - out))
            largest = max(largest, out)
    return worst / largest if largest > 0 else 0.0


@compiled
def step(
    t: Tables, probabilities: Floats, work: tuple[Floats, Floats, Floats], rate: float
) -> None:
    """One jump of the uniformised chain of the tagged page, in place."""
    flow, spare, rates = work
    levels = len(t.starts) - 1
    for level in range(1, levels):
        first = t.starts[level]
        last = t.starts[level + 1]
        row = flow[: last - first]
        here = probabilities[first:last]
        row[:] = 0.0
        if level + 1 < levels:
            above = probabilities[last : t.starts[level + 2]]
            from_above(t, above, level, 1, row, spare)
        add_within(t, here, level, rates, row)
        for state in range(last - first):
            here[state] = here[state] * max(0.0, 1 - rates[state] / rate) + row[state] / rate
