"""The network's classes as weights over the CNN's vectors.

A class's logit is linear in the network's activations, and a vector is their square roots at unit
length, so the best logit of a word's classes is no linear function of a vector. A ridge regression
over pictures at large comes close to it where those pictures show such things; the mean of the
classes' own weights needs no picture. Standardised and added up, they rank IAPR's validation
pictures better than either, and better than the logits themselves.

Another network has no such classes: from its vectors the regression alone learns what the light
network's classifier says of the same pictures.
"""

from __future__ import annotations

import numpy as np
from build_assets.weights import classifier
from numpy.typing import NDArray

from starter.classes import Classes

Floats = NDArray[np.float32]

RIDGE = 0.1


def class_weights(vectors: Floats, activations: Floats, classes: Classes) -> Floats:
    """One row of weights a word of the classes, of unit spread over these pictures."""
    weights, biases = classifier()
    logits = activations @ weights.T + biases
    members = [list(numbers) for numbers in classes.words.values()]
    best = np.stack([logits[:, numbers].max(axis=1) for numbers in members], axis=1)
    best = (best - best.mean(axis=0)) / best.std(axis=0)
    centred = vectors - vectors.mean(axis=0)
    gram = centred.T @ centred + RIDGE * np.eye(vectors.shape[1], dtype=np.float32)
    fitted = np.linalg.solve(gram, centred.T @ best).T
    if vectors.shape[1] != weights.shape[1]:
        return of_unit_spread(fitted, vectors)
    own = np.stack([weights[numbers].mean(axis=0) for numbers in members])
    both = of_unit_spread(fitted, vectors) + of_unit_spread(own, vectors)
    return of_unit_spread(both, vectors)


def of_unit_spread(weights: Floats, vectors: Floats) -> Floats:
    """Weights whose scores over these pictures have standard deviation one, word by word."""
    spread = (vectors @ weights.T).std(axis=0)
    return (weights / np.maximum(spread, 1e-6)[:, None]).astype(np.float32)
