"""Experiments that measure crawlsim, or repeat those of the papers; no package needs them."""
