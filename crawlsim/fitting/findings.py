"""What the visits of a crawl log found: said by each row, or told by digests of the contents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scenarios.arrays import Array

DIGESTS = ("digest", "content_digest", "signature", "hash", "sha1", "md5", "etag")
"""Names of columns, in small letters, whose entries are equal where the contents are."""


def another_digest(
    page: NDArray[np.int32], time: Array, digests: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Whether each visit found another digest than the visit before of the same page.

    Parameters
    ----------
    page, time, digests : ndarray, shape (visits,)
        In any order. Visits of a page at the same time are taken in the order of their digests, so
        that the order of the rows changes nothing.

    Returns
    -------
    ndarray of bool, shape (visits,)
        False for the first visit of a page.
    """
    order = np.lexsort((digests, time, page))
    changed = np.zeros(len(page), dtype=bool)
    same_page = np.diff(page[order]) == 0
    other = digests[order][1:] != digests[order][:-1]
    changed[order[1:]] = same_page & other
    return changed


def is_first_visit(page: NDArray[np.int32], time: Array, pages: int) -> NDArray[np.bool_]:
    """Whether no visit of the same page was earlier, shape (visits,)."""
    first = np.full(pages, np.inf)
    np.minimum.at(first, page, time)
    earliest: NDArray[np.bool_] = time == first[page]
    return earliest
