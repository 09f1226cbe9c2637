"""From traces to a scenario: change rates, weekly rates, deliveries, sizes, each with error bars.

`read_trace` reads a log, `fit` gives parameters and notes, `fitted_scenario` the file that can be
simulated, solved and optimised. Not imported with `crawlsim`, since reading loads pandas.
"""

from crawlsim.logs.fit.intervals import Parameter
from crawlsim.logs.fit.result import Fit, Options
from crawlsim.logs.fit.to_scenario import fit, fitted_scenario, replaced_keys
from crawlsim.logs.fit.trace import Trace, read_trace

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
