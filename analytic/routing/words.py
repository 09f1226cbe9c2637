"""Periodic words of servers or pages, and the distances between the slots of each.

A word is the period of a routing or of a sequence of accesses: which server gets each of n packets,
or which page each of n accesses fetches, again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Word = tuple[int, ...]

Loss = Callable[[int, int], float]
"""f_m(n) as a function of the server m and the distance n."""


def check_word(word: Sequence[int], count: int, subject: str = "server") -> None:
    """Refuse a word of no letters, and one that names a server or page that there is not.

    Raises
    ------
    ValueError
    """
    _check_letters(word)
    for each in set(word):
        if not isinstance(each, int | np.integer) or not 0 <= each < count:
            raise ValueError(f"{subject} {each!r}: must be a whole number in 0 … {count - 1}")


def _check_letters(word: Sequence[int]) -> None:
    if not len(word):
        raise ValueError("the word is empty: a period has at least one letter")


def cyclic_distances(word: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """The distances ``delta_1, …, delta_d`` of each server that a periodic word uses.

    delta_j is the number of packets from the server's j-th slot of the period to its next one,
    across the end of the period where need be; they sum to the length of the word (altman2000 (6)).

    Parameters
    ----------
    word : sequence of int
        The server of each packet of a period.
    """
    slots: dict[int, list[int]] = {}
    for slot, server in enumerate(word):
        slots.setdefault(server, []).append(slot)
    return {
        server: tuple(np.diff([*own, own[0] + len(word)]).tolist())
        for server, own in sorted(slots.items())
    }


def primitive_length(word: Sequence[int]) -> int:
    """Smallest n after which a periodic word repeats: 2 for 0, 1, 0, 1.

    Parameters
    ----------
    word : sequence of int
    """
    _check_letters(word)
    length = len(word)
    whole = tuple(word)
    divisors = (n for n in range(1, length + 1) if length % n == 0)
    return next(n for n in divisors if whole[:n] * (length // n) == whole)


def server_losses(word: Sequence[int], loss: Loss) -> dict[int, float]:
    """Fraction of each server's own packets that are lost: the mean of ``f_m(delta_j^m)``.

    Parameters
    ----------
    word : sequence of int
        The server of each packet of a period.
    loss : callable
        From a server m and distances to probabilities f_m that a packet is lost.
    """
    return {
        server: sum(loss(server, distance) for distance in distances) / len(distances)
        for server, distances in cyclic_distances(word).items()
    }


def average_loss(word: Sequence[int], loss: Loss) -> float:
    """Fraction of all packets that are lost: ``g = (1/n) sum_m sum_j f_m(delta_j^m)``.

    Parameters
    ----------
    word : sequence of int
        The period: server of each of n packets.
    loss : callable
        f_m(n) of a server m and a distance n.

    Notes
    -----
    altman2000 (6). A server that the word does not use loses nothing.
    """
    _check_letters(word)
    distances = cyclic_distances(word)
    total = sum(loss(server, each) for server, own in distances.items() for each in own)
    return total / len(word)


def least_rotation(word: Sequence[int]) -> Word:
    """The word once, not repeated, rotated to come first in alphabetical order.

    Two starts are compared letter by letter; the loser moves on past the part that was equal,
    within which no better start can lie. That takes two or three steps per letter.

    Parameters
    ----------
    word : sequence of int
    """
    once = tuple(word)[: primitive_length(word)]
    twice = once + once
    first = 0
    second = 1
    equal = 0
    while max(first, second) + equal < len(twice) and max(first, second) < len(once):
        here = twice[first + equal]
        there = twice[second + equal]
        if here == there:
            equal += 1
            continue
        if here > there:
            first += equal + 1
        else:
            second += equal + 1
        second += first == second
        equal = 0
    start = min(first, second)
    return twice[start : start + len(once)]


def are_rotations(word: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two words are the same order, rotated or repeated."""
    once, again = (tuple(each)[: primitive_length(each)] for each in (word, other))
    text = "".join(f" {letter}," for letter in again)
    return len(once) == len(again) and text in "".join(f" {letter}," for letter in 2 * once)
