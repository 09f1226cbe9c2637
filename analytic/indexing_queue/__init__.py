"""The finite indexing queue with obsolescence and controlled robots (avrachenkov2011)."""

from analytic.indexing_queue.chain import QueueChain, controlled_chain
from analytic.indexing_queue.exact_laws import ExactLaw, NoLaw, cycle_cdf, exact_laws, points_of
from analytic.indexing_queue.formulas import (
    FORMULAS,
    accuracy_of,
    birth_death_levels,
    empty_probability,
    mm1k_levels,
    relaxation_time_of,
    stays_of,
)
from analytic.indexing_queue.large_buffers import closure
from analytic.indexing_queue.levels_and_fates import (
    fate_rates,
    level_probabilities,
    levels_at_arrivals,
)
from analytic.indexing_queue.measures import chain_of, control_cost
from analytic.indexing_queue.sojourns import (
    sojourn_cdf,
    sojourn_moments,
    sojourn_quantiles,
    sojourn_transform,
)
from analytic.indexing_queue.solution import NotConvergedError, solve_chain

__all__ = [
    "FORMULAS",
    "ExactLaw",
    "NoLaw",
    "NotConvergedError",
    "QueueChain",
    "accuracy_of",
    "birth_death_levels",
    "chain_of",
    "closure",
    "control_cost",
    "controlled_chain",
    "cycle_cdf",
    "empty_probability",
    "exact_laws",
    "fate_rates",
    "level_probabilities",
    "levels_at_arrivals",
    "mm1k_levels",
    "points_of",
    "relaxation_time_of",
    "sojourn_cdf",
    "sojourn_moments",
    "sojourn_quantiles",
    "sojourn_transform",
    "solve_chain",
    "stays_of",
]
