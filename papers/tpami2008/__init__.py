"""Grangier and Bengio, A discriminative kernel-based approach to rank images, IEEE TPAMI 2008."""
