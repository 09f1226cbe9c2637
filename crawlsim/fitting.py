"""From logs to scenarios: the names of `crawlsim.logs.fit` for programs of users."""

from crawlsim.logs.fit import (
    Fit,
    Options,
    Parameter,
    Trace,
    fit,
    fitted_scenario,
    read_trace,
    replaced_keys,
)

__all__ = [
    "Fit",
    "Options",
    "Parameter",
    "Trace",
    "fit",
    "fitted_scenario",
    "read_trace",
    "replaced_keys",
]
