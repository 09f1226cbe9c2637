"""What must come out: formulas, their predictions, and the verdict on a simulation.

A part of crawlsim.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from analytic.companions import require

require("scenarios")

if TYPE_CHECKING:
    from analytic.course.answers import Course, course_of
    from analytic.crosscheck import (
        Comparison,
        check_course,
        check_scenario,
        compare,
        overall,
        scope_of,
    )
    from analytic.formula import Formula, Prediction, Statement
    from analytic.indexing_queue.exact_laws import exact_laws, points_of
    from analytic.indexing_queue.formulas import accuracy_of, relaxation_time_of
    from analytic.law_check import LawComparison, check_laws, compare_laws, with_laws
    from analytic.optimum import Optimum
    from analytic.predictions import FORMULAS, NotApplicable, exact_values, predict
    from analytic.start_up import start_up_times, suggested_warmup
    from analytic.statements import STATEMENTS
    from analytic.targets import optimize, resolve

_HOMES = {
    "Comparison": "analytic.crosscheck",
    "Course": "analytic.course.answers",
    "FORMULAS": "analytic.predictions",
    "Formula": "analytic.formula",
    "LawComparison": "analytic.law_check",
    "NotApplicable": "analytic.predictions",
    "Optimum": "analytic.optimum",
    "Prediction": "analytic.formula",
    "STATEMENTS": "analytic.statements",
    "Statement": "analytic.formula",
    "accuracy_of": "analytic.indexing_queue.formulas",
    "check_course": "analytic.crosscheck",
    "check_laws": "analytic.law_check",
    "check_scenario": "analytic.crosscheck",
    "compare": "analytic.crosscheck",
    "compare_laws": "analytic.law_check",
    "course_of": "analytic.course.answers",
    "exact_laws": "analytic.indexing_queue.exact_laws",
    "exact_values": "analytic.predictions",
    "optimize": "analytic.targets",
    "overall": "analytic.crosscheck",
    "points_of": "analytic.indexing_queue.exact_laws",
    "predict": "analytic.predictions",
    "relaxation_time_of": "analytic.indexing_queue.formulas",
    "resolve": "analytic.targets",
    "scope_of": "analytic.crosscheck",
    "start_up_times": "analytic.start_up",
    "suggested_warmup": "analytic.start_up",
    "with_laws": "analytic.law_check",
}

__all__ = [
    "FORMULAS",
    "STATEMENTS",
    "Comparison",
    "Course",
    "Formula",
    "LawComparison",
    "NotApplicable",
    "Optimum",
    "Prediction",
    "Statement",
    "accuracy_of",
    "check_course",
    "check_laws",
    "check_scenario",
    "compare",
    "compare_laws",
    "course_of",
    "exact_laws",
    "exact_values",
    "optimize",
    "overall",
    "points_of",
    "predict",
    "relaxation_time_of",
    "resolve",
    "scope_of",
    "start_up_times",
    "suggested_warmup",
    "with_laws",
]


def __getattr__(name: str) -> object:
    """Load a name when it is asked for: a simulation needs few of the formulas."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
