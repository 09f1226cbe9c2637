"""Open-loop routing to parallel servers without buffers, and orders of accesses (altman2000).

`words` has periodic orders, `spacing` what an access costs by its distance from the last one,
`losses` these costs for servers, with the probabilities f_m(n), `given_costs` those of a file, and
`accesses` those of pages; `orders`,
`bounds` and `certified` look for the best order and for proofs, `search` puts them together for a
scenario; `multimodularity` is the paper's own way; `formulas` is the index.
"""

from analytic.routing.accesses import access_costs, dependent_obsolescence
from analytic.routing.bounds import linear_bound
from analytic.routing.certified import certified_word, charges
from analytic.routing.formulas import FORMULAS, STATEMENTS
from analytic.routing.given_costs import (
    geometric_power_mean,
    random_spacing_cost,
    spacing_cost,
    spacing_costs,
)
from analytic.routing.losses import (
    loss_costs,
    map_loss,
    non_preemptive_loss,
    phase_type_loss,
    random_loss,
    random_non_preemptive_loss,
    renewal_loss,
)
from analytic.routing.orders import (
    best_random_shares,
    block_length,
    descended_word,
    index_word,
    two_servers,
)
from analytic.routing.search import (
    WordSearch,
    best_word,
    optimal_routing,
    optimal_template,
    routing_costs,
    template_costs,
)
from analytic.routing.spacing import SpacingCosts
from analytic.routing.words import (
    average_loss,
    cyclic_distances,
    least_rotation,
    primitive_length,
    server_losses,
)

__all__ = [
    "FORMULAS",
    "STATEMENTS",
    "SpacingCosts",
    "WordSearch",
    "access_costs",
    "average_loss",
    "best_random_shares",
    "best_word",
    "block_length",
    "certified_word",
    "charges",
    "cyclic_distances",
    "dependent_obsolescence",
    "descended_word",
    "geometric_power_mean",
    "index_word",
    "least_rotation",
    "linear_bound",
    "loss_costs",
    "map_loss",
    "non_preemptive_loss",
    "optimal_routing",
    "optimal_template",
    "phase_type_loss",
    "primitive_length",
    "random_loss",
    "random_non_preemptive_loss",
    "random_spacing_cost",
    "renewal_loss",
    "routing_costs",
    "server_losses",
    "spacing_cost",
    "spacing_costs",
    "template_costs",
    "two_servers",
]
