"""The finite indexing queue with obsolescence and controlled robots (avrachenkov2011)."""

from analytic.indexing_queue.chain import (
    NO_TIMER,
    QueueChain,
    accepted_pages,
    controlled_chain,
    count_states,
    switching_chain,
)
from analytic.indexing_queue.closed_forms import birth_death_levels, mm1k_levels
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
    "Marginals",
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
    "empty_probability",
    "fate_rates",
    "level_probabilities",
    "marginals_of",
    "mm1k_levels",
    "queue_measures",
    "relaxation_time_of",
    "sojourn_cdf",
    "sojourn_moments",
    "sojourn_transform",
    "solve_chain",
    "stays_of",
    "switching_chain",
]
