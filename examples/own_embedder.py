"""Describe the pictures of a folder by an embedder of your own: any Python function will do."""

import tempfile

import numpy as np

from visterm import Collection
from visterm.datasets import draw_scenes


def colour_cells(pictures):
    """A list of pictures in (height × width × 3 bytes), a row for each out.

    A network of yours would stand here. This one takes means and deviations in 8 × 8 cells.
    """
    cells = np.array([pixels[:64, :96].reshape(8, 8, 8, 12, 3) for pixels in pictures])
    rows = np.concatenate([cells.mean(axis=(2, 4)), cells.std(axis=(2, 4))], axis=-1)
    rows = rows.reshape(len(pictures), -1) / 128 - 0.5
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


with tempfile.TemporaryDirectory() as folder:
    drawn = draw_scenes(folder, 150, size=(96, 64))
    truth = {path.name: " ".join(words) for path, words in drawn}
    with Collection.open(folder) as collection:
        added = collection.add(features=colour_cells)  # its vectors are stored under its name
        collection.caption_from(f"{folder}/captions.tsv")
        trained = collection.train()
        print(f"described {added.new} pictures, learnt {trained.words} words")

    # Whoever opens the collection later searches without the function.
    with Collection.open(folder) as collection:
        for result in collection.search("night sea", k=3).results:
            print(f"{result.score:5.2f}  {result.path.name}  {truth[result.path.name]}")
        print("features:", collection.status().features)

    # Vectors that you have already can be given as they are, a row for each file.
    mine = np.random.default_rng(0).normal(size=(150, 64))  # or np.load("mine.npy")
    with Collection.open(folder) as collection:
        added = collection.add([path for path, _ in drawn], vectors=mine, features="mine")
        print(f"stored {added.extracted} vectors of {collection.status().features}")
