"""Experiments that measure crawlsim itself, or repeat those of the papers; no package needs them."""
