"""Words of servers, for exhaustive searches."""

from __future__ import annotations

from collections.abc import Iterator

from analytic.routing.words import Word


def words_of_length(length: int, servers: int) -> Iterator[Word]:
    """Every word of that length, up to rotation, without those that repeat a shorter one.

    Notes
    -----
    The Lyndon words of that length, by Duval's algorithm: for exhaustive searches of short words.
    """
    word = [-1]
    while word:
        word[-1] += 1
        if len(word) == length:
            yield tuple(word)
        word = [word[slot % len(word)] for slot in range(length)]
        while word and word[-1] == servers - 1:
            word.pop()
