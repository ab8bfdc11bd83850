"""Grangier, Monay and Bengio, A discriminative approach for the retrieval of images, 2006."""
