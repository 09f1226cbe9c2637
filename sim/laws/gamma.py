"""Gamma times, Erlang times among them."""

from __future__ import annotations

import math
from typing import Any

from scenarios.laws import Erlang, Gamma


def parameters(law: Gamma | Erlang) -> tuple[float, float]:
    """Shape and scale."""
    return law.shape_parameter, law.mean / law.shape_parameter


def draw(stream: Any, shape: float, scale: float) -> float:
    """A gamma time.

    Below shape 1 the draw is ``G(shape + 1) · U ** (1 / shape)``: numpy's own draw for such
    shapes is not the same to the last bit in compiled code.
    """
    if shape >= 1.0:
        return stream.standard_gamma(shape) * scale
    larger = stream.standard_gamma(shape + 1.0)
    return larger * math.pow(stream.random(), 1.0 / shape) * scale


def draws_and_mean(law: Gamma | Erlang) -> tuple[float, float]:
    """Numbers drawn for one time, and its mean."""
    return 1.0, law.mean
