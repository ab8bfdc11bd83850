"""visterm finds pictures from words, and learns what words look like from who owns the pictures.

Every model, extractor and text space is here by name, and what a notebook needs beside them:

>>> from visterm import Pamir, Vocabulary, rank
>>> captions, X = ["snow on trees", "a tree", "snow"], [[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
>>> words = Vocabulary.from_captions(captions, stop_words=["on", "a"])
>>> model = Pamir(max_iter=100).fit(X, words.counts(captions))
>>> ids, scores = rank(model, ["snow", "snowy trees"], X, k=2, text_space=words)
>>> ids.tolist()
[[0, 2], [0, 1]]
"""

from __future__ import annotations

# isort: skip_file
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Imported as itself, a name is public for type checkers.
    from visterm.collection import (
        Collection as Collection,
        SearchRequest as SearchRequest,
        SearchResponse as SearchResponse,
        SearchResult as SearchResult,
    )
    from visterm.errors import (
        UnreadablePicture as UnreadablePicture,
        VistermError as VistermError,
    )
    from visterm.evaluation import (
        Evaluation as Evaluation,
        Table as Table,
        best_of as best_of,
        compare as compare,
        evaluate as evaluate,
        evaluate_rows as evaluate_rows,
        measures_table as measures_table,
    )
    from visterm.features import (
        CNN as CNN,
        Blobs as Blobs,
        BlockCounts as BlockCounts,
        Blocks as Blocks,
        CNNPyramid as CNNPyramid,
        Combined as Combined,
        DenseSift as DenseSift,
        EncoderVectors as EncoderVectors,
        OnnxEmbedder as OnnxEmbedder,
        OwnFeatures as OwnFeatures,
        Sift as Sift,
        VistermCounts as VistermCounts,
        parse_features as parse_features,
    )
    from visterm.index.memory_index import Index as Index
    from visterm.index.model_ranking import (
        rank as rank,
    )
    from visterm.models import (
        Bbnn as Bbnn,
        Bitr as Bitr,
        Cca as Cca,
        Cmrm as Cmrm,
        Cmtt as Cmtt,
        ConceptSvm as ConceptSvm,
        Contrastive as Contrastive,
        KernelPamir as KernelPamir,
        KernelRidge as KernelRidge,
        Pamir as Pamir,
        Plsa as Plsa,
        Ridge as Ridge,
        WeightedKnn as WeightedKnn,
        Wsabie as Wsabie,
        load_model as load_model,
    )
    from visterm.pictures.sandbox import read_picture as read_picture
    from visterm.text import (
        Relevance as Relevance,
        Vocabulary as Vocabulary,
        relevance_from_captions as relevance_from_captions,
    )
    from visterm.text.spaces import (
        EncoderTexts as EncoderTexts,
        Glove as Glove,
        Lsa as Lsa,
        Sentences as Sentences,
        Topics as Topics,
        Words as Words,
        load_space as load_space,
    )

__version__ = "0.3.0"

# The public names by the package they come from. Packages load when a name is first used, so that
# `import visterm` and commands that need no model stay quick.
PUBLIC_NAMES = {
    "collection": "Collection SearchRequest SearchResponse SearchResult",
    "errors": "UnreadablePicture VistermError",
    "evaluation": "Evaluation Table best_of compare evaluate evaluate_rows measures_table",
    "features": (
        "CNN Blobs BlockCounts Blocks CNNPyramid Combined DenseSift EncoderVectors OnnxEmbedder "
        "OwnFeatures Sift VistermCounts parse_features"
    ),
    "index.memory_index": "Index",
    "index.model_ranking": "rank",
    "models": (
        "Bbnn Bitr Cca Cmrm Cmtt ConceptSvm Contrastive KernelPamir KernelRidge Pamir Plsa "
        "Ridge WeightedKnn Wsabie load_model"
    ),
    "pictures.sandbox": "read_picture",
    "text": "Relevance Vocabulary relevance_from_captions",
    "text.spaces": "EncoderTexts Glove Lsa Sentences Topics Words load_space",
}
_PACKAGE_OF = {name: package for package, names in PUBLIC_NAMES.items() for name in names.split()}

__all__ = sorted(_PACKAGE_OF)


def __getattr__(name: str) -> object:
    if name not in _PACKAGE_OF:
        raise AttributeError(f"module 'visterm' has no attribute {name!r}")
    return getattr(import_module(f"visterm.{_PACKAGE_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
