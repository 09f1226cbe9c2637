"""The waiting pages in the order of the queue, chained through the slots that hold them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim.compiled_engine.jit import at, inner
from sim.compiled_engine.world import NONE

_NOBODY = at(np.int64(NONE))


class Chain(NamedTuple):
    """Where the chain of waiting pages begins and ends, and where that of free slots begins.

    Attributes
    ----------
    oldest, newest, free : uint
    """

    oldest: Any
    newest: Any
    free: Any


@inner
def chain_of(state: Any) -> Chain:
    """The one that the state of a buffer holds."""
    return Chain(at(state.oldest), at(state.newest), at(state.free))


@inner
def keep_chain(state: Any, chain: Chain) -> None:
    """Let the state of a buffer hold it."""
    state.oldest = chain.oldest
    state.newest = chain.newest
    state.free = chain.free


@inner
def with_newest(items: Any, chain: Chain) -> Chain:
    """The first free slot takes the newest place in the queue."""
    slot = chain.free
    oldest = slot if chain.newest == _NOBODY else chain.oldest
    free = at(items[slot].newer)
    items[slot].older = chain.newest
    items[slot].newer = _NOBODY
    if chain.newest != _NOBODY:
        items[chain.newest].newer = slot
    return Chain(oldest, slot, free)


@inner
def with_next_after(items: Any, chain: Chain, ahead: Any) -> Chain:
    """The first free slot takes the place behind a page, or the first one of the queue."""
    slot = chain.free
    free = at(items[slot].newer)
    oldest, newest = chain.oldest, chain.newest
    behind = chain.oldest if ahead == _NOBODY else at(items[ahead].newer)
    items[slot].older = ahead
    items[slot].newer = behind
    if ahead == _NOBODY:
        oldest = slot
    else:
        items[ahead].newer = slot
    if behind == _NOBODY:
        newest = slot
    else:
        items[behind].older = slot
    return Chain(oldest, newest, free)


@inner
def without(items: Any, chain: Chain, slot: Any) -> Chain:
    """The page of a slot waits no longer; what else the slot says stays to be read."""
    older = at(items[slot].older)
    newer = at(items[slot].newer)
    oldest, newest = chain.oldest, chain.newest
    if older == _NOBODY:
        oldest = newer
    else:
        items[older].newer = newer
    if newer == _NOBODY:
        newest = older
    else:
        items[newer].older = older
    items[slot].newer = chain.free
    return Chain(oldest, newest, slot)
