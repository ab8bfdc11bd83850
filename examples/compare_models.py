"""Compare three models and one of your own on the same queries, as a table for a paper."""

import tempfile

import visterm as vt
from visterm.datasets import draw_scenes


class Prototypes:
    """Your model: a word looks like the mean of its pictures. It needs `fit` and `transform`."""

    def fit(self, X, Y, validation=None):
        self.means_ = Y.T @ X / Y.sum(axis=0)[:, None]
        return self

    def transform(self, X):
        return X @ self.means_.T


# Stand-ins for a benchmark: captioned pictures, in three parts.
with tempfile.TemporaryDirectory() as folder:
    drawn = draw_scenes(folder, 180, size=(96, 64))
    vectors = vt.CNN().fit_transform([path for path, _ in drawn])
captions = [" ".join(words) for _, words in drawn]
words = vt.Vocabulary.from_captions(captions[:110], min_captions=5)
train, held, test = (
    (vectors[part], words.counts(captions[part]))
    for part in (slice(0, 110), slice(110, 140), slice(140, 180))
)

# Every model learns from the same pictures, and chooses its parameters on the same others.
models = {"mine": Prototypes(), "k-NN": vt.WeightedKnn(), "CCA": vt.Cca(), "PAMIR": vt.Pamir()}
queries = vt.relevance_from_captions(test[1], words.idf, max_words=2)
results = {
    name: vt.evaluate_rows(model.fit(*train, validation=held).transform(test[0]), queries)
    for name, model in models.items()
}
print(vt.measures_table(f"{len(queries)} queries on drawn scenes", results).to_latex())
against = vt.compare(results["PAMIR"], results["mine"])
print(f"PAMIR − mine: {100 * against.difference:+.1f} AvgP, p = {against.p_value:.2g}")
