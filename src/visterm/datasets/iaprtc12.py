"""IAPR TC-12: 19,627 travel pictures, each with labels and with sentences that describe it."""

from __future__ import annotations

from pathlib import Path

from visterm.datasets.captioned_dataset import CaptionedDataset, QueryOptions, read_dataset
from visterm.datasets.locations import dataset_folder

_TABLES = ("train_captions.tsv", "test_captions.tsv", "train_labels.tsv", "test_labels.tsv")


def read_iaprtc12(folder: Path | str | None = None) -> CaptionedDataset:
    """Read the IAPR TC-12 folder: four tables, pictures under ``images/``; queries are labels.

    Parameters
    ----------
    folder
        The folder, or None to look where :func:`~visterm.datasets.data_folder` does.
    """
    found = dataset_folder("iaprtc12", folder, _TABLES)
    train, test, *labels = (found / table for table in _TABLES)
    queries = QueryOptions(language=None, max_words=2)
    return read_dataset(train, test, labels=labels, queries=queries, name="iaprtc12")
