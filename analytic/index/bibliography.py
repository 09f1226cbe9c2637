"""Where formulas come from: full references of papers and books, and what was done to them."""

from __future__ import annotations

import tomllib
from importlib.resources import files

_GIVEN = tomllib.loads(files("analytic.index").joinpath("bibliography.toml").read_text("utf-8"))

ORIGINS: dict[str, str] = _GIVEN["origins"]
"""Where a formula comes from, as words for a reader."""

REFERENCES: dict[str, str] = _GIVEN["references"]
"""Where to read it."""
