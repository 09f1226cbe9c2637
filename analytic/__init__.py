"""What must come out: formulas, their predictions, and the verdict on a simulation.

A part of crawlsim.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from analytic.companions import require

require("scenarios")

if TYPE_CHECKING:
    from analytic.index.formula import Formula, Prediction, Statement
    from analytic.index.optimum import Optimum
    from analytic.index.predictions import (
        FORMULAS,
        STATEMENTS,
        NotApplicable,
        exact_values,
        predict,
    )
    from analytic.index.targets import optimize, resolve
    from analytic.indexing_queue.exact_laws import exact_laws, points_of
    from analytic.indexing_queue.formulas import accuracy_of, relaxation_time_of
    from analytic.transient.answers import Course, course_of, window_from_empty
    from analytic.transient.start_up import start_up_times, suggested_warmup
    from analytic.verdicts.crosscheck import (
        Comparison,
        check_course,
        check_scenario,
        compare,
        overall,
        scope_of,
    )
    from analytic.verdicts.law_check import LawComparison, check_laws, compare_laws, with_laws

_NAMES = {
    "analytic.index.formula": ("Formula", "Prediction", "Statement"),
    "analytic.index.optimum": ("Optimum",),
    "analytic.index.predictions": (
        "FORMULAS",
        "NotApplicable",
        "STATEMENTS",
        "exact_values",
        "predict",
    ),
    "analytic.index.targets": ("optimize", "resolve"),
    "analytic.indexing_queue.exact_laws": ("exact_laws", "points_of"),
    "analytic.indexing_queue.formulas": ("accuracy_of", "relaxation_time_of"),
    "analytic.transient.answers": ("Course", "course_of", "window_from_empty"),
    "analytic.transient.start_up": ("start_up_times", "suggested_warmup"),
    "analytic.verdicts.crosscheck": (
        "Comparison",
        "check_course",
        "check_scenario",
        "compare",
        "overall",
        "scope_of",
    ),
    "analytic.verdicts.law_check": ("LawComparison", "check_laws", "compare_laws", "with_laws"),
}
"""What each module defines of these."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names}

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
    "window_from_empty",
    "with_laws",
]


def __getattr__(name: str) -> object:
    """Load a name when it is asked for: a simulation needs few of the formulas."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
