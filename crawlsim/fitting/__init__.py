"""From traces to a scenario: change rates, weekly rates, deliveries, sizes, each with error bars.

`read_trace` reads a log, `fit` gives parameters and notes, `fitted_scenario` the file that can be
simulated, solved and optimised. Not imported with `analytic`, since reading loads pandas.
"""

from crawlsim.fitting.choosing import SECTIONS, fit, fitted_scenario, replaced_keys
from crawlsim.fitting.fit import Fit, Options
from crawlsim.fitting.intervals import Parameter
from crawlsim.fitting.reading import read_trace
from crawlsim.fitting.trace import Trace

__all__ = [
    "SECTIONS",
    "Fit",
    "Options",
    "Parameter",
    "Trace",
    "fit",
    "fitted_scenario",
    "read_trace",
    "replaced_keys",
]
