"""Pages that come and go: what exists, what is known of it, and what is fresh in the index."""

from analytic.page_set.drawn_pages import drawn_pages, many_pages
from analytic.page_set.formulas import FORMULAS, list_relaxation, only_grows
from analytic.page_set.known_pages import becoming_known, existing_pages, known_share

__all__ = [
    "FORMULAS",
    "becoming_known",
    "drawn_pages",
    "existing_pages",
    "known_share",
    "list_relaxation",
    "many_pages",
    "only_grows",
]
