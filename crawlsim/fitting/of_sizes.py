"""A fit of sizes or times: a law that has a formula for everything."""

from __future__ import annotations

from typing import Any

from crawlsim.fitting.fit import Fit, Options
from crawlsim.fitting.hyper_erlang import HyperErlang
from crawlsim.fitting.service_times import SizeFit, fit_sizes, law_parameters, mean_of
from crawlsim.fitting.trace import Trace
from crawlsim.fitting.words import counted
from scenarios import ScenarioError

_KEYS = {
    "service": "buffer.service",
    "obsolescence": "buffer.obsolescence",
    "access_time": "robots.access_time",
}


def fit_of_sizes(trace: Trace, options: Options) -> Fit:
    """The best law of the observations, scaled to times where this is asked for.

    Raises
    ------
    ScenarioError
        If there are fewer than three observations, or all are equal.
    """
    try:
        found = fit_sizes(trace.values)
    except ValueError as error:
        raise ScenarioError("trace", counted(trace.rows, "size"), str(error)) from None
    best = found.best
    factor = _factor(options, found.sample.moments[0])
    law = best.law.scaled(factor)
    section = options.section or "service"
    parameters = [mean_of(trace.values)]
    if best.how == "maximum likelihood":
        parameters += law_parameters(found.sample, best.law)
    entry = law.entry()
    return Fit(
        kind="sizes",
        section=section,
        trace=trace,
        parameters=tuple(parameters),
        summary=_summary(found, factor),
        notes=tuple(_notes(found, factor)),
        changes={_KEYS[section]: entry},
        system=_around(section, entry, law.moment(1)),
        details=found,
    )


def _summary(found: SizeFit, factor: float) -> dict[str, Any]:
    best = found.best
    return {
        "observations": int(found.sample.count),
        "squared_coefficient_of_variation": found.sample.variation,
        "moments": list(found.sample.moments),
        "law": best.name,
        "how": best.how,
        "log_likelihood": best.log_likelihood,
        "kolmogorov_smirnov": found.quality._asdict(),
        "scaled_by": factor,
        "candidates": [
            {
                "law": each.name,
                "how": each.how,
                "log_likelihood": each.log_likelihood,
                "criterion": each.criterion,
                "mean": each.law.moment(1),
                "squared_coefficient_of_variation": _variation(each.law),
            }
            for each in found.candidates
        ],
    }


def _variation(law: HyperErlang) -> float:
    """Squared coefficient of variation."""
    return law.moment(2) / law.moment(1) ** 2 - 1.0


def _factor(options: Options, mean: float) -> float:
    """Time per unit of size."""
    if options.mean is not None:
        return options.mean / mean
    return 1.0 / options.rate if options.rate is not None else 1.0


def _around(section: str, entry: dict[str, Any], mean: float) -> dict[str, Any]:
    """A smallest scenario: the fitted law, and exponential laws around it."""
    times = {
        "service": {"exponential": {"mean": mean}},
        "obsolescence": {"exponential": {"mean": 5 * mean}},
        "access_time": {"exponential": {"mean": 2 * mean}},
        section: entry,
    }
    if section == "access_time":
        times["service"] = {"exponential": {"mean": mean / 2}}
    return {
        "robots": {"available": 1, "access_time": times["access_time"]},
        "buffer": {
            "waiting_places": 5,
            "service": times["service"],
            "obsolescence": times["obsolescence"],
        },
        "run": {"horizon": 600_000 * mean, "warmup": 1000 * mean},
    }


def _notes(found: SizeFit, factor: float) -> list[str]:
    best = found.best
    sample = found.sample
    second = _variation(best.law)
    notes = [
        f"{best.name} by {best.how}, the least BIC of {len(found.candidates)} candidates; "
        f"squared coefficient of variation {second:.4g}, that of the data {sample.variation:.4g}.",
        *found.notes(),
    ]
    if abs(second - sample.variation) > 0.2 * sample.variation:
        notes.append(
            "A queue depends on the variation more than on the likelihood: the candidates by two "
            "or three moments have that of the data (--json lists them)."
        )
    if factor != 1.0:
        notes.append(f"Sizes become times by the factor {factor:.6g}; the numbers above are sizes.")
    return notes
