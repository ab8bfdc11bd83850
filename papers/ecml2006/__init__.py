"""Grangier, Monay and Bengio, ECML 2006, and its report, IDIAP-RR 06-15."""
