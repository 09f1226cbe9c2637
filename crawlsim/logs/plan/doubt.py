"""What in a log cannot be true, or cannot carry a promise: each a sentence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crawlsim.logs.plan.quantities import in_words
from crawlsim.logs.read.gaps import Gaps
from crawlsim.logs.read.log import ChangeLog, VisitLog
from scenarios.text import counted

_SEEN_OFTEN = 3
"""Visits from which on it is strange that a page had changed at each of them."""

_NEARLY_ALL = 0.95
_FEWEST_GAPS = 20
_MOST_CONTRADICTED = 0.01


class Doubt(NamedTuple):
    """Why a log carries no promise, empty where it does; all that is in doubt, in sentences."""

    reason: str
    notes: tuple[str, ...]


def always_changed(visits: ArrayLike, changes: ArrayLike) -> NDArray[np.bool_]:
    """Whether pages that were seen three times or more had changed at every visit."""
    seen = np.asarray(visits)
    found: NDArray[np.bool_] = (seen >= _SEEN_OFTEN) & (np.asarray(changes) == seen - 1)
    return found


def why_no_promise(log: VisitLog | ChangeLog, gaps: Gaps, interval: float) -> Doubt:
    """What speaks against a promise from a log.

    Parameters
    ----------
    log : VisitLog or ChangeLog
        Of the pages that are planned.
    gaps : Gaps
        Of the same.
    interval : float
        Seconds between two visits of a page, on average.
    """
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
    watched = gaps.end - gaps.begin
    if watched < interval:
        reasons.append(
            f"The log covers {in_words(watched)}, less than the {in_words(interval)} in which the "
            "budget visits each page once: what happens between two visits was never watched."
        )
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
