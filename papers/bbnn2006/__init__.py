"""Grangier and Bengio, A neural network to retrieve images from text queries, 2006."""
