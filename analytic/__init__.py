"""What must come out: formulas, their predictions, and the verdict on a simulation."""

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
from analytic.indexing_queue import accuracy_of, exact_laws, points_of, relaxation_time_of
from analytic.law_check import LawComparison, check_laws, compare_laws, with_laws
from analytic.optimum import Optimum
from analytic.predict import FORMULAS, STATEMENTS, NotApplicable, exact_values, predict
from analytic.start_up import start_up_times, suggested_warmup
from analytic.targets import optimize, resolve

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
