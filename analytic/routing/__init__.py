"""Open-loop routing to parallel servers without buffers (altman2000)."""

from analytic.routing.formulas import FORMULAS
from analytic.routing.losses import (
    map_loss,
    non_preemptive_loss,
    phase_type_loss,
    random_loss,
    random_non_preemptive_loss,
    renewal_loss,
)
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
    "average_loss",
    "cyclic_distances",
    "least_rotation",
    "map_loss",
    "non_preemptive_loss",
    "phase_type_loss",
    "primitive_length",
    "random_loss",
    "random_non_preemptive_loss",
    "renewal_loss",
    "server_losses",
    "words_of_length",
]
