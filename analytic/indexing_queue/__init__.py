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
from analytic.indexing_queue.formulas import FORMULAS, chain_of, relaxation_time_of
from analytic.indexing_queue.measures import (
    control_cost,
    fate_rates,
    level_probabilities,
    queue_measures,
    sojourn_moments,
)

__all__ = [
    "FORMULAS",
    "NO_TIMER",
    "QueueChain",
    "accepted_pages",
    "birth_death_levels",
    "chain_of",
    "control_cost",
    "controlled_chain",
    "count_states",
    "fate_rates",
    "level_probabilities",
    "mm1k_levels",
    "queue_measures",
    "relaxation_time_of",
    "sojourn_moments",
    "switching_chain",
]
