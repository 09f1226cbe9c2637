"""The finite indexing queue with obsolescence and controlled robots (avrachenkov2011)."""

from analytic.indexing_queue.arrival_levels import levels_at_arrivals
from analytic.indexing_queue.chain import (
    NO_TIMER,
    QueueChain,
    accepted_pages,
    controlled_chain,
    count_states,
    switching_chain,
)
from analytic.indexing_queue.closed_forms import birth_death_levels, mm1k_levels
from analytic.indexing_queue.cycle_laws import cycle_cdf, cycle_rate
from analytic.indexing_queue.exact_laws import ExactLaw, NoLaw, exact_laws, points_of
from analytic.indexing_queue.formulas import (
    FORMULAS,
    accuracy_of,
    empty_probability,
    relaxation_time_of,
    stays_of,
)
from analytic.indexing_queue.iteration import NotConvergedError
from analytic.indexing_queue.large_buffers import Closed, ClosureError, closure
from analytic.indexing_queue.marginals import Marginals, marginals_of
from analytic.indexing_queue.measures import (
    control_cost,
    fate_rates,
    level_probabilities,
    queue_measures,
)
from analytic.indexing_queue.sojourn_laws import sojourn_cdf, sojourn_transform
from analytic.indexing_queue.solution import Solution, solve_chain
from analytic.indexing_queue.solved import Accuracy, chain_of
from analytic.indexing_queue.tagged import sojourn_moments

__all__ = [
    "FORMULAS",
    "NO_TIMER",
    "Accuracy",
    "Closed",
    "ClosureError",
    "ExactLaw",
    "Marginals",
    "NoLaw",
    "NotConvergedError",
    "QueueChain",
    "Solution",
    "accepted_pages",
    "accuracy_of",
    "birth_death_levels",
    "chain_of",
    "closure",
    "control_cost",
    "controlled_chain",
    "count_states",
    "cycle_cdf",
    "cycle_rate",
    "empty_probability",
    "exact_laws",
    "fate_rates",
    "level_probabilities",
    "levels_at_arrivals",
    "marginals_of",
    "mm1k_levels",
    "points_of",
    "queue_measures",
    "relaxation_time_of",
    "sojourn_cdf",
    "sojourn_moments",
    "sojourn_transform",
    "solve_chain",
    "stays_of",
    "switching_chain",
]
