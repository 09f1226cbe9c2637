"""Open-loop routing to parallel servers without buffers, and visiting sequences (altman2000).

`losses` has the probabilities f_m(n), `words` periodic orders, `spacing` what a visit costs by its
distance, for servers and for pages; `two_servers`, `certified`, `bounds` and `heuristics` look for
the best order, `searching` puts them together, `choosing` reads a scenario; `multimodularity` holds
the theory by which the paper gets there; `formulas` is the index.
"""

from analytic.routing.bounds import linear_bound, smooth_bound
from analytic.routing.certified import certified_word, charges
from analytic.routing.choosing import (
    optimal_routing,
    optimal_template,
    routing_costs,
    template_costs,
)
from analytic.routing.formulas import FORMULAS
from analytic.routing.heuristics import best_random_shares, descended_word, index_word
from analytic.routing.losses import (
    map_loss,
    non_preemptive_loss,
    phase_type_loss,
    random_loss,
    random_non_preemptive_loss,
    renewal_loss,
)
from analytic.routing.searching import WordSearch, best_word
from analytic.routing.spacing import SpacingCosts, loss_costs, visit_costs
from analytic.routing.two_servers import block_length, two_servers
from analytic.routing.visits import dependent_obsolescence
from analytic.routing.words import (
    average_loss,
    cyclic_distances,
    least_rotation,
    primitive_length,
    server_losses,
    words_of_length,
)

__all__ = [
    "FORMULAS",
    "SpacingCosts",
    "WordSearch",
    "average_loss",
    "best_random_shares",
    "best_word",
    "block_length",
    "certified_word",
    "charges",
    "cyclic_distances",
    "dependent_obsolescence",
    "descended_word",
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
    "renewal_loss",
    "routing_costs",
    "server_losses",
    "smooth_bound",
    "template_costs",
    "two_servers",
    "visit_costs",
    "words_of_length",
]
