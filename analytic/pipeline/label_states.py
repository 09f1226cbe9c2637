"""Waiting pages by their labels: states, and what becomes of the pages in each of them."""

from __future__ import annotations

from typing import NamedTuple

Label = tuple[int, int]

STALE = (-2, 0)
FRESH = (-1, 0)
"""Labels of a waiting copy of the page that is followed; others are (class, number)."""
OTHER = (-3, 0)
"""The label in service of any other page: which one does not matter."""
NOBODY = (-4, 0)


class PageClass(NamedTuple):
    """Pages that are alike: how many, their change rate, and the share of each."""

    pages: int
    changes: float
    share: float


class LabelledRules(NamedTuple):
    """What the buffer does beyond first come first served.

    Attributes
    ----------
    drops_changed : bool
        All waiting copies of a page are dropped when it changes.
    replaces : bool
        A delivered page takes the place of its waiting older copy.
    last_first : bool
        The newest waiting page is served next.
    pushes_out : bool
        A full buffer loses its oldest waiting page.
    """

    drops_changed: bool = False
    replaces: bool = False
    last_first: bool = False
    pushes_out: bool = False


class LabelledState(NamedTuple):
    """Waiting labels in order of the queue; label in service; is the index current; phases."""

    waiting: tuple[Label, ...]
    serving: Label
    current: bool
    arrivals: int
    phase: int


class Fates(NamedTuple):
    """Pages per unit time by what becomes of them: as both engines count them.

    Attributes
    ----------
    delivered : float
    lost : float
        Refused by a full buffer, or pushed out of it. A delivery that finds its own older copy in
        a full buffer takes its place: nothing is lost.
    dropped : float
        Because their originals changed.
    replaced : float
        Older copies that newer ones superseded.
    served : float
    """

    delivered: float
    lost: float
    dropped: float
    replaced: float
    served: float


def replaced_by(label: Label, waiting: tuple[Label, ...]) -> tuple[Label, ...]:
    """Labels of the waiting copies that a delivered page would take the place of."""
    older = (FRESH, STALE) if label == FRESH else (label,)
    return tuple(each for each in older if each in waiting)


def renumbered(waiting: tuple[Label, ...]) -> tuple[Label, ...]:
    """Pages of a class numbered by first appearance: which they are does not matter."""
    names: dict[Label, Label] = {}
    counts: dict[int, int] = {}
    for label in waiting:
        kind = label[0]
        if kind >= 0 and label not in names:
            names[label] = (kind, counts.get(kind, 0))
            counts[kind] = counts.get(kind, 0) + 1
    return tuple(names.get(label, label) for label in waiting)
