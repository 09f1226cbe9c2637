"""Systems over time: from the start, under interventions, in a periodic regime."""

from analytic.transient.formulas import FORMULAS

__all__ = ["FORMULAS"]
