"""The best rule for the robots: families of rules, bounds that they keep, and the search."""

from analytic.rules.bound import Bound
from analytic.rules.subject_to import best_within

__all__ = ["Bound", "best_within"]
