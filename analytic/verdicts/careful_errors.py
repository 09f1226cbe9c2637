"""Standard errors of comparisons, where too little may have been seen to show its own variance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from analytic.index.formula import Prediction
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.measures import MEASURES, QUANTILE_MEASURES, Subject
from scenarios.page_groups import is_tenth
from scenarios.rare import share_dispersion
from scenarios.results import Estimate, Results

_PAGE_RATES = ("arrival_rate", "loss_rate", "throughput")


class Context:
    """What a comparison knows beside its own row.

    Parameters
    ----------
    predictions : sequence of Prediction
        All that are compared.
    results : Results
    prices : mapping measure -> float
        What a unit of each measure adds to the control cost.
    """

    def __init__(
        self, predictions: Sequence[Prediction], results: Results, prices: Mapping[str, float]
    ) -> None:
        self.results = results
        self.prices = prices
        self._first: dict[tuple[str, Subject], Prediction] = {}
        for each in predictions:
            self._first.setdefault((each.measure, each.subject), each)

    def estimate_of(self, prediction: Prediction) -> Estimate:
        """The estimate of what is predicted; `ValueError` where there is none."""
        estimate = self.results.rows.find(prediction.measure, prediction.subject)
        if estimate is None:
            subjects = [row.subject for row in self.results.rows.of_measure(prediction.measure)]
            if (
                subjects and prediction.measure in QUANTILE_MEASURES
            ):  # of a class or page never seen
                return Estimate(prediction.measure, prediction.subject, *[math.nan] * 4)
            known = f"; its subjects: {', '.join(map(repr, subjects[:12]))}" if subjects else ""
            name = f"{prediction.measure} with subject {prediction.subject!r}"
            raise ValueError(f"the results of {self.results.scenario} have no {name}{known}")
        return estimate

    def predicted(self, measure: str) -> Prediction | None:
        """The first prediction of a measure of the whole system."""
        return self._first.get((measure, None))

    @cached_property
    def arrivals(self) -> float:
        """Predicted arrival rate; the estimated one where none is predicted."""
        predicted = self.predicted("arrival_rate")
        if predicted is not None:
            return predicted.value
        rate = self.results.rows.find("arrival_rate")
        return rate.estimate if rate else 0.0

    @cached_property
    def crawls(self) -> float:
        """Predicted accesses of all pages per unit time."""
        rates = {
            subject: p.value for (name, subject), p in self._first.items() if name == "crawl_rate"
        }
        tenths = [value for subject, value in rates.items() if is_tenth(subject)]
        return math.fsum(tenths or rates.values())

    def unit_of(self, measure: str) -> float:
        """What a share is one of: 1, the arrival rate, the rate of all accesses; 0 for others."""
        if MEASURES[measure].is_fraction:
            return 1.0
        if measure == "crawl_rate":
            return self.crawls
        return self.arrivals if measure in _PAGE_RATES else 0.0


def prices_of(scenario: Scenario, predictions: Sequence[Prediction]) -> dict[str, float]:
    """What a unit of each measure adds to the control cost, of those that rare events make.

    Parameters
    ----------
    scenario : Scenario
    predictions : sequence of Prediction
        Obsolete pages have a price each; their share is one of the predicted arrivals.
    """
    arrivals = next((p.value for p in predictions if p.measure == "arrival_rate"), 0.0)
    costs = scenario.prices
    return {
        "loss_rate": costs.loss,
        "obsolescence_probability": costs.obsolescence * arrivals,
        "starvation_probability": costs.starvation,
        "switch_rate": costs.switch,
    }


def careful_errors(
    predictions: Sequence[Prediction], estimates: Sequence[Estimate], context: Context
) -> list[float]:
    """Standard errors of estimates if the predictions hold; nan where nothing is known of one.

    That of the estimate, or more: a share was seen so often that its error may be an accident, and
    has at least the variance of `scenarios.rare.dispersion` at its predicted value. What holds for
    a share holds for what is made of it: the throughput, which the pages lost and dropped are
    missing from, and the control cost.

    Parameters
    ----------
    predictions : sequence of Prediction
    estimates : sequence of Estimate
        Of the same measures and subjects.
    context : Context
    """
    pairs = list(zip(predictions, estimates, strict=True))
    samples = [_sample(prediction, estimate, context) for prediction, estimate in pairs]
    as_shares = _errors_of_shares(predictions, estimates, samples).tolist()
    errors = []
    for (prediction, estimate), sample, as_share in zip(pairs, samples, as_shares, strict=True):
        error = as_share if sample else _plain_error(prediction, estimate)
        if prediction.measure == "throughput":
            error = max(error, _error_of_throughput(prediction, context))
        elif prediction.measure == "control_cost":
            error = max([error, *_errors_of_terms(context)])
        errors.append(error)
    return errors


def _sample(prediction: Prediction, simulated: Estimate, context: Context) -> float:
    """The sample behind a share or a rate; 0 for what is neither, or where it is not known."""
    events = context.results.events
    measure = prediction.measure
    if simulated.sample or MEASURES[measure].is_fraction:
        return simulated.sample or float(events)
    if measure == "loss_rate" or (measure in _PAGE_RATES and simulated.estimate == 0):
        return events / context.arrivals if context.arrivals else 0.0
    return 0.0


def _errors_of_shares(
    predictions: Sequence[Prediction], estimates: Sequence[Estimate], samples: Sequence[float]
) -> Array:
    """Of the rarer side, as the prediction has it: a share and its complement err alike."""
    share = np.array([each.value for each in predictions])
    seen = np.array([each.estimate for each in estimates])
    error = np.array([each.standard_error for each in estimates])
    commoner = np.array([MEASURES[each.measure].is_fraction for each in predictions], dtype=bool)
    commoner &= share > 0.5
    share, seen = np.where(commoner, 1.0 - share, share), np.where(commoner, 1.0 - seen, seen)
    known = np.where(np.array(samples) > 0, samples, 1.0)
    spread = share_dispersion(np.maximum(seen, 0.0), error, known)
    least = np.sqrt(spread) * np.sqrt(np.maximum(share, 0.0))  # of no share so small that it is 0
    return np.where(least > error, least, error)


def _plain_error(prediction: Prediction, simulated: Estimate) -> float:
    """Larger where the estimate is below the prediction: there was less to vary."""
    predicted = prediction.value
    estimate = simulated.estimate
    if 0 < estimate < predicted:
        return simulated.standard_error * math.sqrt(predicted / estimate)
    if estimate == 0 and simulated.standard_error == 0 and predicted > 0:
        return math.nan
    return simulated.standard_error


def _error_of_throughput(prediction: Prediction, context: Context) -> float:
    """What the share of indexed pages contributes, if both are predicted."""
    simulated = context.results.rows.find("success_probability")
    if simulated is None or not context.arrivals:
        return 0.0
    share = min(prediction.value / context.arrivals, 1.0)
    indexed = Prediction("success_probability", None, share, prediction.kind, prediction.source)
    sample = simulated.sample or float(context.results.events)
    if not sample:
        return 0.0
    return context.arrivals * float(_errors_of_shares([indexed], [simulated], [sample])[0])


def _errors_of_terms(context: Context) -> list[float]:
    """What each term of the control cost contributes."""
    errors = []
    for measure, price in context.prices.items():
        predicted = context.predicted(measure)
        simulated = context.results.rows.find(measure)
        if price and predicted is not None and simulated is not None:
            errors.append(price * careful_errors([predicted], [simulated], context)[0])
    return errors
