"""Measures of pages and clients as functions of totals."""

from __future__ import annotations

from scenarios import Scenario
from scenarios.page_data import page_weights
from scenarios.sections import Pages
from sim.estimates.totals import Totals, Values, numbered, single


def page_measures(totals: Totals, scenario: Scenario) -> Values:
    """Obsolescence rate, access rate and share of the accesses of each page, and their cost."""
    assert isinstance(scenario.pages, Pages)
    part = totals.parts["pages"]
    window = totals.own["window"]
    stale = part["stale_time"] / window[:, None]
    rates = part["deliveries"] / window[:, None]
    shares = part["deliveries"] / part["deliveries"].sum(axis=1, keepdims=True)
    return {
        "weighted_obsolescence": single(stale @ page_weights(scenario.pages)),
        "obsolescence_rate": numbered(stale),
        "crawl_rate": numbered(rates),
        "crawl_frequency": numbered(shares),
    }


def age_measures(totals: Totals) -> Values:
    """Mean age of the copy of each page in the index."""
    return {"index_age": numbered(totals.parts["ages"]["age_time"] / totals.own["window"][:, None])}


def client_measures(totals: Totals) -> Values:
    """Share of the queries that were answered from an out-of-date copy."""
    part = totals.parts["clients"]
    return {"stale_answer_probability": single(part["stale"] / part["queries"])}
