"""Find words and captions for pictures: the product that ranks pictures, read the other way."""

import tempfile

import numpy as np

from visterm import CNN, Cca, Index, Lsa, Pamir, Vocabulary
from visterm.datasets import draw_scenes

with tempfile.TemporaryDirectory() as folder:
    drawn = draw_scenes(folder, 180, size=(96, 64))
    vectors = CNN().fit_transform([path for path, _ in drawn])
captions = [" ".join(words) for _, words in drawn]
train, new = slice(0, 176), slice(176, 180)

# In the space of words, a picture's row says how much it shows of each.
words = Vocabulary.from_captions(captions[train], min_captions=5)
model = Pamir(max_iter=20_000).fit(vectors[train], words.counts(captions[train]))
rows = model.transform(vectors[new])

# In a dense space, such as LSA's, whole captions lie beside the pictures that they fit.
space = Lsa(n_components=20)
texts = space.fit_transform(captions[train])
aligned = Cca(n_components=10).fit(vectors[train], texts)
nearest, _ = Index(texts).search(aligned.transform(vectors[new]), k=1)

for seen, row, (caption,) in zip(captions[new], rows, nearest, strict=True):
    likely = " ".join(words.words[word] for word in np.argsort(-row)[:4])
    print(f"shows {seen}\n   words    {likely}\n   caption  {captions[caption]}")
