"""How often the copies of pages are out of date, without a buffer (coffman1998).

`obsolescence` has the obsolescence rates of given schedules, `golden` those of the golden-ratio
policy, `optimum` the best frequencies and the bounds, `out_of_core` those of pages that do not fit
into memory, `hosts` what a scenario says of its hosts,
`frequencies` the best frequencies of a scenario, `formulas` the index.
"""

from analytic.index.page_rows import stale_answers
from analytic.page_refresh.formulas import FORMULAS
from analytic.page_refresh.frequencies import (
    FrequencySearch,
    index_numbers,
    notes_on_unaccessed,
    optimal_frequencies,
)
from analytic.page_refresh.golden import (
    WORST_GOLDEN_RATIO,
    golden_guarantee,
    many_pages_cost,
    worst_golden_cost,
)
from analytic.page_refresh.obsolescence import (
    crawl_rates,
    cyclic_obsolescence,
    equal_spacing_bound,
    erlang_two,
    exponential_robots_obsolescence,
    interaccess_obsolescence,
    random_rounds_obsolescence,
    randomized_obsolescence,
    robots_in_step_obsolescence,
    sequence_obsolescence,
    slot_distances,
)
from analytic.page_refresh.optimum import (
    CappedShares,
    best_random_shares,
    best_shares,
    capped_shares,
    in_time_bound,
    inverse_excess,
    proportional_bound,
    schedule_bound,
)

__all__ = [
    "FORMULAS",
    "WORST_GOLDEN_RATIO",
    "CappedShares",
    "FrequencySearch",
    "best_random_shares",
    "best_shares",
    "capped_shares",
    "crawl_rates",
    "cyclic_obsolescence",
    "equal_spacing_bound",
    "erlang_two",
    "exponential_robots_obsolescence",
    "golden_guarantee",
    "in_time_bound",
    "index_numbers",
    "interaccess_obsolescence",
    "inverse_excess",
    "many_pages_cost",
    "notes_on_unaccessed",
    "optimal_frequencies",
    "proportional_bound",
    "random_rounds_obsolescence",
    "randomized_obsolescence",
    "robots_in_step_obsolescence",
    "schedule_bound",
    "sequence_obsolescence",
    "slot_distances",
    "stale_answers",
    "worst_golden_cost",
]
