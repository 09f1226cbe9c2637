"""Lines of words that blanks part, as columns of text: CDX files and crawl logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.read.csv_lines import MOST_SHOWN, Block, Broken
from scenarios.text import counted

_NEWLINE, _BLANK, _TAB, _NUL = 10, 32, 9, 0


def columns_of_words(
    block: Block, wanted: Sequence[int], fewest: int, most: int | None = None
) -> tuple[NDArray[np.int64], list[Any], Broken]:
    """Some words of each line of a block.

    Parameters
    ----------
    block : Block
    wanted : sequence of int
        Places of the words in a line, from 0.
    fewest : int
        Words that a line must have.
    most : int, optional
        Words that it may have.

    Returns
    -------
    lines : ndarray of int, shape (rows,)
        Number of each line in the file that has the words.
    columns : list of pandas.Series
        The words wanted.
    broken : Broken
        Lines with too few words or too many, or with a NUL byte; blank ones are not rows.
    """
    import pandas as pd

    text = block.text
    letters = np.frombuffer(text, np.uint8)
    newline = letters == _NEWLINE
    parting = newline | (letters == _BLANK) | (letters == _TAB)
    after_parting = np.concatenate([[True], parting[:-1]])
    begins = np.flatnonzero(after_parting & ~parting)
    ends = np.flatnonzero(~after_parting & parting)
    line_ends = np.flatnonzero(newline)
    line_begins = np.concatenate([[0], line_ends[:-1] + 1])
    first = np.searchsorted(begins, line_begins)
    words = np.searchsorted(begins, line_ends) - first
    good = words >= fewest
    if most is not None:
        good &= words <= most
    nul = np.zeros(len(line_ends), bool)
    if b"\0" in text:
        nul[np.searchsorted(line_ends, np.flatnonzero(letters == _NUL))] = True
    good &= ~nul
    ascii_text = text.decode("ascii") if text.isascii() else None
    columns = []
    for place in wanted:
        at = first[good] + place
        cuts = zip(begins[at].tolist(), ends[at].tolist(), strict=True)
        if ascii_text is not None:
            column = [ascii_text[begin:end] for begin, end in cuts]
        else:
            column = [text[begin:end].decode("utf-8", "backslashreplace") for begin, end in cuts]
        columns.append(pd.Series(column, dtype=object))
    broken = Broken()
    misshapen = np.flatnonzero(~good & (words > 0))
    needed = {None: f"{fewest} or more", fewest: f"{fewest}"}.get(most, f"{fewest} to {most}")
    shown = misshapen[:MOST_SHOWN]
    why = [
        "holds a NUL byte" if nul[place] else f"has {counted(number, 'word')}, {needed} are needed"
        for place, number in zip(shown.tolist(), words[shown].tolist(), strict=True)
    ]
    lines = (block.first + shown).tolist()
    broken.add(len(misshapen), list(zip(lines, why, strict=True)))
    return block.first + np.flatnonzero(good), columns, broken
