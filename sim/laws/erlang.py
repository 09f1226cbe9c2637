"""Erlang times: gamma times of a whole shape."""

from __future__ import annotations

from sim.laws.gamma import draw as draw
from sim.laws.gamma import draws_and_mean as draws_and_mean
from sim.laws.gamma import parameters as parameters
