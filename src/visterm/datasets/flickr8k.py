"""Flickr8k: 8,000 pictures of people and animals, five sentences each, in its published split."""

from __future__ import annotations

from pathlib import Path

from visterm.datasets.captioned_dataset import CaptionedDataset, QueryOptions, read_dataset
from visterm.datasets.locations import dataset_folder

_TABLES = ("train_captions.tsv", "test_captions.tsv", "dev_captions.tsv")


def read_flickr8k(folder: Path | str | None = None) -> CaptionedDataset:
    """Read the Flickr8k folder: three tables, one row a sentence.

    Queries are pairs of words at most, and what a quarter of all pictures say asks for nothing:
    the five sentences of a picture hold forty words.
    """
    found = dataset_folder("flickr8k", folder, _TABLES)
    queries = QueryOptions(min_captions=5, max_share=0.25, max_words=2)
    return read_dataset(*(found / table for table in _TABLES), queries=queries, name="flickr8k")
