"""What in a log cannot be true, so that no rate or promise can rest on it: each a sentence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crawlsim.logs.read.gaps import Gaps
from crawlsim.logs.read.log import ChangeLog, VisitLog
from scenarios.text import counted

_SEEN_OFTEN = 3
"""Visits from which on it is strange that a page had changed at each of them."""

_NEARLY_ALL = 0.95
_FEWEST_GAPS = 20
_MOST_CONTRADICTED = 0.01


class Doubt(NamedTuple):
    """Why nothing can rest on a log, empty where it can; all that is in doubt, in sentences."""

    reason: str
    notes: tuple[str, ...]


def always_changed(visits: ArrayLike, changes: ArrayLike) -> NDArray[np.bool_]:
    """Whether pages that were seen three times or more had changed at every visit."""
    seen = np.asarray(visits)
    return (seen >= _SEEN_OFTEN) & (np.asarray(changes) == seen - 1)


def doubt_of(log: VisitLog | ChangeLog, gaps: Gaps) -> Doubt:
    """What speaks against rates and promises from a log of pages, and its gaps."""
    reasons = []
    notes = []
    if isinstance(log, VisitLog):
        if log.is_of_sitemaps:
            reasons.append(
                "Sitemaps hold what their owner says of changes, which is not an observation: no "
                "promise is made from them alone."
            )
        if reason := _changed_at_every_visit(gaps):
            reasons.append(reason)
        if log.contradicted:
            sentence = (
                "digest and changed contradict one another at "
                f"{log.contradicted} of {counted(log.compared, 'visit')}"
            )
            if log.contradicted > _MOST_CONTRADICTED * log.compared:
                reasons.append(f"{sentence}: one of the two columns is wrong.")
            else:
                notes.append(f"{sentence}; changed is believed.")
    return Doubt(" ".join(reasons), (*reasons, *notes))


def _changed_at_every_visit(gaps: Gaps) -> str:
    """Why nearly all pages cannot have changed at every visit; empty if they have not."""
    often = gaps.visits >= _SEEN_OFTEN
    every = int(always_changed(gaps.visits, gaps.changes).sum())
    number = int(often.sum())
    seen = int((gaps.visits[often] - 1).sum())
    if seen < _FEWEST_GAPS or every < _NEARLY_ALL * number:
        return ""
    return (
        f"Of {counted(number, 'page')} seen three times or more {every} had "
        "changed at every visit: an index from which equal answers were left out, or contents that "
        "differ at each fetch (tokens, dates), look so; how often the pages change is unknown."
    )
