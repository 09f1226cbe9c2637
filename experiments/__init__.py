"""Experiments that measure crawlsim; those of the papers are in `papers`. No package needs them."""
