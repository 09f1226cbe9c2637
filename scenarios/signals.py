"""Signals that a page may have changed: sitemaps, pings, feeds. They miss changes and cry wolf."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from scenarios.arrays import Array
from scenarios.base import ByType, NonNegative, OneKey, Section
from scenarios.columns import Column, given_entries
from scenarios.errors import refused
from scenarios.laws import Distribution
from scenarios.validity import check_length

Share = Annotated[float, Field(strict=True, ge=0, le=1)]

Shares = Annotated[Share | tuple[Share, ...] | Annotated[Column, OneKey()], ByType()]
"""A share: one for all pages, one for each, or a column of a CSV file."""

Rates = Annotated[NonNegative | tuple[NonNegative, ...] | Annotated[Column, OneKey()], ByType()]
"""A rate: one for all pages, one for each, or a column of a CSV file."""


class Signals(Section):
    """What is heard of changes: how many of them (recall), and how many signals are true.

    Instead of the precision the rate of false signals may be given. A delay is the time from a
    change, or from a false cause, until its signal is heard.
    """

    recall: Shares
    precision: Shares | None = None
    false_rate: Rates | None = None
    delay: Distribution | None = None

    @model_validator(mode="after")
    def _valid(self) -> Signals:
        if (self.precision is None) == (self.false_rate is None):
            raise refused("must have exactly one of the keys precision or false_rate")
        for key in ("recall", "precision"):
            entries = np.ravel(_entries(getattr(self, key), 0.0))
            for place in np.flatnonzero(entries > 1):
                raise refused(f"number {place}: must be <= 1", key=key, value=float(entries[place]))
        if np.any(_entries(self.precision, 1.0) == 0) and np.any(_entries(self.recall, 0.0) > 0):
            allowed = "must be > 0: where changes have signals, some signals are true"
            raise refused(allowed, key="precision", value=0.0)
        return self

    def check_lengths(self, pages: int) -> None:
        """Refuse lists that have not one entry for each page."""
        for key in ("recall", "precision", "false_rate"):
            given = given_entries(getattr(self, key))
            if isinstance(given, tuple):
                check_length(f"signals.{key}", given, pages, "page")


class SignalRates(NamedTuple):
    """What each page does, in independent Poisson processes; all of shape (pages,).

    Attributes
    ----------
    silent, true, false : ndarray of float
        Rates of changes without a signal, of changes with one, and of signals without a change.
    """

    silent: Array
    true: Array
    false: Array

    @property
    def heard(self) -> Array:
        """Rate of all signals."""
        return self.true + self.false

    @property
    def precision(self) -> Array:
        """Share of the signals that are true; 1 of pages that have none."""
        heard = self.heard
        return np.divide(self.true, heard, out=np.ones_like(heard), where=heard > 0)


def signal_rates(given: Signals, change_rates: Array) -> SignalRates:
    """The rates of pages that have signals.

    Parameters
    ----------
    given : Signals
    change_rates : ndarray of float, shape (pages,)
    """
    recall = np.broadcast_to(_entries(given.recall, 0.0), change_rates.shape)
    true = recall * change_rates
    if given.false_rate is not None:
        false = np.broadcast_to(_entries(given.false_rate, 0.0), change_rates.shape).copy()
    else:
        precision = np.maximum(_entries(given.precision, 1.0), np.finfo(float).tiny)
        false = np.where(true > 0, true * (1.0 - precision) / precision, 0.0)
    return SignalRates(change_rates - true, true, false)


def _entries(given: Any, missing: float) -> Array:
    """Numbers as given, 0-dimensional where one stands for all pages."""
    entries = given_entries(given)
    return np.array(missing if entries is None else entries, dtype=float)
