"""avrachenkov2011, computed anew."""

from __future__ import annotations

from collections.abc import Mapping

from crawlsim.ledger.computed import Experiment, Figure, Number

NUMBERS: Mapping[str, Number] = {}
EXPERIMENTS: Mapping[str, Experiment] = {}
FIGURES: Mapping[str, Figure] = {}
