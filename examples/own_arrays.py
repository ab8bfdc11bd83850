"""Rank pictures from arrays of your own: one vector a picture, and captions for some of them."""

import numpy as np

from visterm import Index, Pamir, Vocabulary, evaluate, rank
from visterm.datasets import draw_scene

# Stand-ins for your data: small pictures, and the captions that people wrote for them.
scenes = [draw_scene(seed=0, index=number, size=(48, 32)) for number in range(400)]
captions = [" ".join(scene.words) for scene in scenes]

# Any vectors do. These are means and deviations of the colours in a grid of 8 × 8 cells.
cells = np.array([scene.pixels.reshape(8, 4, 8, 6, 3) for scene in scenes])
vectors = np.stack([cells.mean(axis=(2, 4)), cells.std(axis=(2, 4))], axis=1).reshape(400, -1)
vectors -= vectors[:300].mean(axis=0)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

# PAMIR learns from 300 captioned pictures what words look like.
words = Vocabulary.from_captions(captions[:300], min_captions=10)
model = Pamir(max_iter=20_000).fit(vectors[:300], words.counts(captions[:300]))

# Rank the other hundred, which it has never seen.
queries = ["snow", "night sky", "sea beach"]
ids, scores = rank(model, queries, vectors[300:], k=3, text_space=words)
for query, found in zip(queries, ids, strict=True):
    print(f"{query}: " + ", ".join(f"#{number} ({captions[300 + number]})" for number in found))

# The same from an index, which keeps the mapped pictures for many searches to come.
index = Index(model.transform(vectors[300:]))
assert np.array_equal(index.search(words.query_vectors(queries), k=3)[0], ids)

# How good is it? A picture is relevant to the words that its caption holds.
held = words.counts(captions[300:])
measured = evaluate(model.transform(vectors[300:]).T, held.T, ["AvgP", "P@10"])
print({name: round(100 * value, 1) for name, value in measured.mean().items()}, "over all words")
