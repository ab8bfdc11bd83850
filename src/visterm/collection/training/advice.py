"""What would suit a model better than the features that pictures have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from visterm.collection.ingest.extractors import block_numbers, has_counts
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.training.pretrained import has_starter

if TYPE_CHECKING:
    from visterm.models import Model


def advice(catalogue: Catalogue, kind: type[Model], extractor: str) -> str | None:
    """A line for whoever trains a model on these features; None where they suit each other."""
    features = catalogue.get("features") or extractor
    if kind.takes == "counts" and not has_counts(catalogue):
        return (
            f"{kind.name} counts visterms, and the pictures are described by {features}; it does "
            "better after: visterm add --features visterm-counts"
        )
    if kind.takes == "blocks" and block_numbers(catalogue) is None:
        return (
            f"{kind.name} looks at a picture block by block, and {features} describes it as a "
            "whole; it does better after: visterm add --features block-counts"
        )
    if not kind.supports_warm_start and has_starter(extractor):
        return f"{kind.name} knows the words of your captions only; pamir knows the starter's too"
    return None
