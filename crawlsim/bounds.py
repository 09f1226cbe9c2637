"""Bounds on measures as users write them: ``loss_probability <= 0.01``."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from scenarios import ScenarioError


class WrittenBound(NamedTuple):
    """What stands on the two sides of a relation, and the relation.

    Attributes
    ----------
    name : str
        A measure, with its subject where it has several.
    relation : str
        "<", "<=", ">" or ">=".
    value : float
    """

    name: str
    relation: str
    value: float


def written_bound(text: str, key: str) -> WrittenBound:
    """The bound that a text states.

    Raises
    ------
    ScenarioError
        With this key, if it states none.
    """
    found = re.fullmatch(r"([^<>=]+)(<=|>=|<|>)(.+)", text)
    try:
        value = float(found[3]) if found else math.nan
    except ValueError:
        value = math.nan
    if found is None or not math.isfinite(value):
        allowed = "must be a measure with a bound, such as 'loss_probability <= 0.01'"
        raise ScenarioError(key, text, allowed)
    return WrittenBound(" ".join(found[1].split()), found[2], value)
