"""Picture vectors of an installed network; of a dual encoder, in the space of its texts."""

from __future__ import annotations

import re
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from visterm.encoders import Encoder, open_encoder
from visterm.errors import BadInput
from visterm.estimator import clone
from visterm.features.cnn.network_extractor import in_threads
from visterm.features.extractor import Extractor
from visterm.features.picture_batches import Pictures, Pixels
from visterm.onnx_session import PROVIDERS
from visterm.progress import Progress, silent

_KEY = re.compile(r"encoder-1\(([\w.-]+)-([0-9a-f]{12})(?:,\w+)?\)")


class EncoderVectors(Extractor):
    """What an installed network, or the picture side of a dual encoder, gives, at unit length.

    Parameters
    ----------
    encoder : str
        Its name: ``visterm encoder list`` has those that are installed.
    provider : {"cpu", "cuda", "coreml", "openvino", "directml"}
        Where onnxruntime computes; vectors of one are never compared with those of another.
    n_jobs : int
        Processes that decode pictures and extract features.
    """

    name = "encoder"
    version = 1
    uses_threads = True
    facts = ("digest_", "reads_texts_")

    digest_: str
    reads_texts_: bool

    def __init__(self, encoder: str, provider: str = "cpu", n_jobs: int = 1) -> None:
        self.encoder = encoder
        self.provider = provider
        self.n_jobs = n_jobs

    @property
    def key(self) -> str:
        """Whether texts lie in the same space, its name, what tells its files from others, and
        where it is computed."""
        fitted = self if hasattr(self, "digest_") else clone(self).fit()
        kind = self.name if fitted.reads_texts_ else "network"
        where = "" if self.provider == "cpu" else f",{self.provider}"
        return f"{kind}-{self.version}({self.encoder}-{fitted.digest_[:12]}{where})"

    def fit(self, pictures: Pictures = (), y: Any = None, *, progress: Progress = silent) -> Self:
        """Open the encoder and remember it by its content; nothing is learnt."""
        manifest = self._opened().manifest
        self.digest_, self.reads_texts_ = manifest.digest, manifest.reads_texts
        return self

    def rows(self, pictures: list[Pixels]) -> NDArray[np.float32]:
        """Vectors of decoded pictures, one a row."""
        self._check_fitted()
        found = in_threads(self._opened().picture_rows, pictures, 1, self.n_jobs)
        return np.stack(found)

    @property
    def max_side(self) -> int:  # type: ignore[override]
        """Eight times what the encoder sees: what is made of a picture follows its file."""
        return self._opened().layout.preprocessing.max_side

    @property
    def gpus(self) -> int:
        return int(self.provider == "cuda")

    def _opened(self) -> Encoder:
        if self.provider not in PROVIDERS:
            raise BadInput(f"provider is one of {', '.join(PROVIDERS)}, not {self.provider!r}")
        return open_encoder(self.encoder, self.provider, getattr(self, "digest_", None))


def encoder_of(key: str | None) -> tuple[str, str] | None:
    """Name and digest of the dual encoder whose vectors a key stands for; None for other vectors.

    >>> encoder_of("encoder-1(clip-small-0123456789ab)"), encoder_of("cnn-1")
    (('clip-small', '0123456789ab'), None)
    """
    found = _KEY.fullmatch(key or "")
    return None if found is None else (found[1], found[2])
