"""The training of contrastive maps in torch: AdamW over batches, one cycle of learning rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.models._bbnn_network import torch_for
from visterm.progress import Progress

Tensor: TypeAlias = Any
_DENSE = 0.25  # a column with more entries than this share of the texts is multiplied as dense
_LARGEST_SCALE = 100.0  # of 1 / temperature
_WARM_UP = 0.1  # share of the steps until the learning rate is largest


@dataclass(frozen=True, eq=False)
class TrainingPairs:
    """Pictures once each, texts, the picture of each text, and the mean that pictures lack."""

    pictures: NDArray[np.float32]
    owners: NDArray[np.int64]
    texts: csr_array
    mean: NDArray[np.float32]
    device: str

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """All columns of texts, the dense ones first."""
        return np.concatenate([np.flatnonzero(self._is_dense), np.flatnonzero(~self._is_dense)])

    @cached_property
    def _is_dense(self) -> NDArray[np.bool_]:
        entries = np.bincount(self.texts.indices, minlength=self.texts.shape[1])
        found: NDArray[np.bool_] = entries > _DENSE * self.texts.shape[0]
        return found

    @cached_property
    def dense_part(self) -> NDArray[np.float32]:
        """Columns such as a sentence vector's, for one product of dense matrices."""
        return self.texts[:, np.flatnonzero(self._is_dense)].toarray().astype(np.float32)

    @cached_property
    def sparse_part(self) -> csr_array:
        """Columns such as words': only those that a batch holds are touched."""
        return csr_array(self.texts[:, np.flatnonzero(~self._is_dense)], dtype=np.float32)


class Maps:
    """Both maps and the temperature, as torch parameters drawn by the seed."""

    def __init__(self, pairs: TrainingPairs, settings: Mapping[str, Any], torch: Any) -> None:
        self.torch, self.settings, self.device = torch, settings, pairs.device
        self.random = torch.Generator().manual_seed(int(settings["random_state"]))
        inputs, hidden = pairs.pictures.shape[1], int(settings["hidden_units"])
        outputs = int(settings["n_components"])
        self.hidden = self._layer(inputs, hidden)
        self.picture = self._layer(hidden or inputs, outputs)
        weights, bias = self._layer(pairs.texts.shape[1], outputs)
        wide = pairs.dense_part.shape[1]
        # Two parameters, so that the words' gradient is not copied beside the sentences'.
        self.dense_text, self.sparse_text, self.text_bias = (
            part.detach().clone().requires_grad_()
            for part in (weights[:wide], weights[wide:], bias)
        )
        scale = torch.tensor(float(np.log(1 / settings["temperature"])), device=self.device)
        self.log_scale = scale.requires_grad_()

    @property
    def parameters(self) -> list[Tensor]:
        layers = [*self.hidden, *self.picture, self.dense_text, self.sparse_text, self.text_bias]
        return [one for one in (*layers, self.log_scale) if one.numel()]

    def pictures(self, rows: Tensor) -> Tensor:
        """A batch's pictures in the common space, with dropout."""
        functional = self.torch.nn.functional
        rows = self._dropped(rows, "picture_dropout")
        if self.hidden[0].shape[1]:
            rows = functional.gelu(rows @ self.hidden[0] + self.hidden[1])
            rows = self._dropped(rows, "hidden_dropout")
        return functional.normalize(rows @ self.picture[0] + self.picture[1], dim=1)

    def texts(self, rows: NDArray[np.float32], words: csr_array) -> Tensor:
        """A batch's texts in the common space, with dropout."""
        torch = self.torch
        found = self._dropped(self._put(rows), "text_dropout") @ self.dense_text + self.text_bias
        if words.nnz:
            at = words.tocoo()
            places = self._put(np.stack([at.row, at.col]).astype(np.int64))
            values = self._dropped(self._put(at.data), "text_dropout")
            table = torch.sparse_coo_tensor(places, values, words.shape, check_invariants=False)
            found = found + torch.sparse.mm(table, self.sparse_text)
        return torch.nn.functional.normalize(found, dim=1)

    def loss(self, pictures: Tensor, texts: Tensor, owners: Tensor) -> Tensor:
        """InfoNCE both ways; all captions of a picture in the batch share the target."""
        scores = pictures @ texts.T * self.log_scale.exp().clamp(max=_LARGEST_SCALE)
        own = (owners[:, None] == owners[None, :]).float()
        own = own / own.sum(1, keepdim=True)
        both = scores.log_softmax(1) + scores.T.log_softmax(1)
        return -(own * both).sum(1).mean()

    def fitted(self, columns: NDArray[np.int64]) -> dict[str, NDArray[np.float32]]:
        """The maps as arrays; rows of the texts' map in the order of the given columns."""
        ordered = self.torch.cat([self.dense_text, self.sparse_text])
        text_map = np.empty(ordered.shape, np.float32)
        text_map[columns] = _array(ordered)
        layers = {"hidden": self.hidden, "picture": self.picture}
        found = {"text_map_": text_map, "text_bias_": _array(self.text_bias)}
        for name, (weights, bias) in layers.items():
            found |= {f"{name}_map_": _array(weights), f"{name}_bias_": _array(bias)}
        return found

    def _layer(self, inputs: int, outputs: int) -> tuple[Tensor, Tensor]:
        """Weights and biases uniform in ±1/√inputs, the same on any device."""
        drawn = self.torch.rand(inputs + 1, outputs, generator=self.random) * 2 - 1
        drawn = (drawn / inputs**0.5).to(self.device)
        return drawn[:-1].clone().requires_grad_(), drawn[-1].clone().requires_grad_()

    def _dropped(self, values: Tensor, share: str) -> Tensor:
        rate = self.settings[share]
        if not rate:
            return values
        kept = self.torch.rand(values.shape, generator=self.random).to(self.device) >= rate
        return values * kept / (1 - rate)

    def _put(self, array: NDArray[Any]) -> Tensor:
        return self.torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


def learn(
    pairs: TrainingPairs, settings: Mapping[str, Any], progress: Progress
) -> dict[str, NDArray[np.float32]]:
    """The maps that these settings learn from the pairs."""
    torch = torch_for(pairs.device)
    maps = Maps(pairs, settings, torch)
    size = min(int(settings["batch_size"]), len(pairs.owners))
    epochs = int(settings["max_iter"])
    steps = epochs * (len(pairs.owners) // size)
    highest = settings["learning_rate"]
    optimiser = torch.optim.AdamW(
        maps.parameters, lr=highest, weight_decay=settings["weight_decay"], fused=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, highest, total_steps=steps + 1, pct_start=_WARM_UP
    )
    pictures, owners = maps._put(pairs.pictures), maps._put(pairs.owners)
    for step, batch in enumerate(_batches(len(pairs.owners), size, epochs, maps.random, torch)):
        of = owners[batch.to(pairs.device)]
        rows = batch.numpy()
        texts = maps.texts(pairs.dense_part[rows], pairs.sparse_part[rows])
        loss = maps.loss(maps.pictures(pictures[of]), texts, of)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        progress("training", step + 1, steps)
    return maps.fitted(pairs.columns)


def _batches(n: int, size: int, epochs: int, random: Any, torch: Any) -> Iterator[Tensor]:
    """Numbers of the pairs of each batch; an epoch leaves out the few that fill none."""
    for _ in range(epochs):
        order = torch.randperm(n, generator=random)
        for at in range(0, n - size + 1, size):
            yield order[at : at + size]


def _array(tensor: Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=np.float32)
