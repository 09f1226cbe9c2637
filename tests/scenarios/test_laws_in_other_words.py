"""Laws by the parameters of other books and programs: what is to be written instead."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from systems import queue

from scenarios import ScenarioError
from scenarios.laws import (
    Deterministic,
    Erlang,
    Exponential,
    Hyperexponential,
    Lognormal,
    Pareto,
    Uniform,
    Weibull,
)
from scenarios.laws.law import Law, sd_of

ANY_SD = "gamma = {{ mean = {0:g}, sd = {1:g} }} takes any, as do lognormal and weibull"


@pytest.mark.parametrize(
    ("law", "given", "said"),
    [
        (Deterministic, {"mean": 2.5}, "write deterministic = { value = 2.5 }"),
        (
            Deterministic,
            {"mean": 2.0, "sd": 0.5},
            "deterministic takes no mean and sd; " + ANY_SD.format(2, 0.5),
        ),
        (Deterministic, {"sd": 0.5}, None),
        (Exponential, {"scale": 4.0}, "write exponential = { mean = 4 }"),
        (Exponential, {"value": 0.5}, "write exponential = { mean = 0.5 }"),
        (Exponential, {"scale": 4.0, "value": 4.0}, None),
        (
            Exponential,
            {"mean": 3.0, "variance": 4.0},
            "exponential takes no mean and sd; " + ANY_SD.format(3, 2),
        ),
        (
            Erlang,
            {"shape": 3.0, "scale": 0.5},
            "mean is that of the sum: write erlang = { shape = 3, mean = 1.5 }",
        ),
        (
            Erlang,
            {"k": 4.0, "rate": 8.0},
            "mean is that of the sum: write erlang = { shape = 4, mean = 0.5 }",
        ),
        (Erlang, {"k": 4.0}, None),
        (Erlang, {"rate": 8.0}, None),
        (
            Erlang,
            {"mean": 2.0, "var": 1.0},
            "(mean / sd)² would have to be whole: the nearest is erlang = { shape = 4, mean = 2 }; "
            + ANY_SD.format(2, 1),
        ),
        (
            Erlang,
            {"mean": 2000.0, "sd": 1.0},
            "(mean / sd)² would have to be whole: "
            "the nearest is erlang = { shape = 1000000, mean = 2000 }; " + ANY_SD.format(2000, 1),
        ),
        (
            Erlang,
            {"mean": 1.0, "sd": 5.0},
            "(mean / sd)² would have to be whole: the nearest is erlang = { shape = 1, mean = 1 }; "
            + ANY_SD.format(1, 5),
        ),
        (Hyperexponential, {"mean": 1.0}, None),
        (Hyperexponential, {"sd": 1.0}, None),
        (
            Hyperexponential,
            {"mean": 2.0, "cv": 1.0},
            "the sd of hyperexponential times is above the mean; " + ANY_SD.format(2, 2),
        ),
        (
            Lognormal,
            {"shape": 0.5, "scale": 2.0},
            "it takes no shape: write lognormal = { mean = …, sd = … }, both of the time",
        ),
        (Lognormal, {"sigma": 0.5}, None),
        (Lognormal, {"sigma": 5.5, "mu": 1.0}, None),
        (Lognormal, {"sigma": 1.0, "mu": 201.0}, None),
        (Lognormal, {"mean": 3.0, "scv": 4.0}, "write lognormal = { mean = 3, sd = 6 }"),
        (Pareto, {"mean": 2.0, "min": 2.0}, "the least time must be below the mean"),
        (Pareto, {"mean": 2.0, "low": 1.5}, "write pareto = { mean = 2, shape = 4 }"),
        (
            Pareto,
            {"alpha": 1.0, "xm": 1.0},
            "with this shape the mean is infinite; the shape must be > 1",
        ),
        (Pareto, {"mean": 2.0, "a": 3.0}, "write pareto = { mean = 2, shape = 3 }"),
        (Pareto, {"alpha": 3.0}, None),
        (Pareto, {"xm": 3.0}, None),
        (Pareto, {"mean": 2.0, "var": 1.0}, "write pareto = { mean = 2, sd = 1 }"),
        (Weibull, {"mean": 2.0, "std": 1.0}, "write weibull = { mean = 2, sd = 1 }"),
        (Weibull, {"k": 0.04, "lambda": 1.0}, None),
        (Weibull, {"k": 2.0}, None),
        (Weibull, {"lambda": 2.0}, None),
        (Uniform, {"mean": 2.0, "cv": 0.5}, "write uniform = { mean = 2, sd = 1 }"),
    ],
)
def test_what_is_said_of_parameters_of_other_programs(
    law: type[Law], given: dict[str, float], said: str | None
) -> None:
    assert law.translated(given) == said


def _numbers(said: str | None) -> dict[str, float]:
    """The parameters in the words of a scenario file."""
    assert said is not None
    inner = said.partition("{")[2].partition("}")[0]
    return {
        key.strip(): float(value) for key, value in (each.split("=") for each in inner.split(","))
    }


@pytest.mark.parametrize("given", [{"mu": 0.7, "sigma": 0.4}, {"mu": -3.0, "s": 2.0}])
def test_a_lognormal_law_by_its_logarithm_has_the_moments_of_the_time(
    given: dict[str, float],
) -> None:
    sigma = given.get("sigma", given.get("s", math.nan))
    law = stats.lognorm(sigma, scale=math.exp(given["mu"]))
    found = _numbers(Lognormal.translated(given))
    assert found == pytest.approx({"mean": law.mean(), "sd": law.std()}, rel=1e-10)
    of_logarithm = Lognormal(mean=found["mean"], sd=found["sd"]).of_logarithm
    assert of_logarithm == pytest.approx((given["mu"], sigma), rel=1e-9)


@pytest.mark.parametrize("name", ["median", "scale"])
def test_a_lognormal_law_by_its_median_is_that_of_its_logarithm(name: str) -> None:
    by_median = Lognormal.translated({name: math.exp(0.7), "sigma": 0.4})
    assert by_median == Lognormal.translated({"mu": 0.7, "sigma": 0.4})


@pytest.mark.parametrize(("shape", "scale"), [("shape", "scale"), ("k", "lambda")])
def test_a_weibull_law_by_its_scale_has_its_mean(shape: str, scale: str) -> None:
    found = _numbers(Weibull.translated({shape: 1.7, scale: 3.0}))
    assert found == pytest.approx({"mean": stats.weibull_min(1.7, scale=3.0).mean(), "shape": 1.7})
    assert Weibull(mean=found["mean"], shape=1.7).scale == pytest.approx(3.0)


def test_a_hyperexponential_law_by_its_sd_has_balanced_means() -> None:
    said = Hyperexponential.translated({"mean": 2.0, "cv": 1.5})
    assert said is not None
    given = said.removeprefix("balanced means: ")
    lists = given.replace("{", "[").split("[")
    shares, rates = (np.array(each.partition("]")[0].split(","), float) for each in lists[-2:])
    assert shares.sum() == pytest.approx(1.0)
    assert shares / rates == pytest.approx([1.0, 1.0])  # half of the mean each
    second = 2.0 * float((shares / rates**2).sum())
    assert math.sqrt(second - 4.0) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("given", "sd"),
    [
        ({"sd": 2.0}, 2.0),
        ({"std": 2.0}, 2.0),
        ({"stddev": 2.0}, 2.0),
        ({"sigma": 2.0}, 2.0),
        ({"variance": 9.0}, 3.0),
        ({"var": 9.0}, 3.0),
        ({"mean": 5.0, "cv": 0.2}, 1.0),
        ({"mean": 5.0, "scv": 0.04}, 1.0),
        ({"mean": 5.0}, None),
    ],
)
def test_a_standard_deviation_has_many_names(given: dict[str, float], sd: float | None) -> None:
    assert sd_of(given) == (sd if sd is None else pytest.approx(sd))


@pytest.mark.parametrize(("ratio", "is_law"), [(0.9e-6, False), (1.1e-6, True), (0.9e6, True)])
def test_a_lognormal_law_is_refused_where_it_is_next_to_constant(
    ratio: float, is_law: bool
) -> None:
    law = {"lognormal": {"mean": 2.0, "sd": 2.0 * ratio}}
    if is_law:
        assert queue({"buffer.service": law}).buffer is not None
        return
    with pytest.raises(ScenarioError) as caught:
        queue({"buffer.service": law})
    assert caught.value.key == "buffer.service.lognormal.sd"
    assert caught.value.allowed == "must be between 1e-06 and 1e+06 times the mean (2.0)"
