"""IAPR TC-12: 19,627 travel pictures, each with labels and with sentences that describe it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from visterm.datasets.captioned_pictures import CaptionedPictures, read_tsv
from visterm.datasets.locations import data_folder, expect_files
from visterm.errors import BadInput


@dataclass(frozen=True)
class IaprTc12:
    """The two parts, each captioned twice: by its labels, and by its sentences, row for row."""

    folder: Path
    train_labels: CaptionedPictures
    train_captions: CaptionedPictures
    test_labels: CaptionedPictures
    test_captions: CaptionedPictures


def read_iaprtc12(folder: Path | str | None = None) -> IaprTc12:
    """Read the IAPR TC-12 folder: four tables, pictures under ``images/``.

    Parameters
    ----------
    folder
        The folder, or None to look where :func:`~visterm.datasets.locations` does.
    """
    found = data_folder("iaprtc12", folder)
    names = ("train_labels", "train_captions", "test_labels", "test_captions")
    expect_files(found, "iaprtc12", tuple(f"{name}.tsv" for name in names))
    tables = {name: read_tsv(found / f"{name}.tsv") for name in names}
    for part in ("train", "test"):
        if tables[f"{part}_labels"].paths != tables[f"{part}_captions"].paths:
            raise BadInput(
                f"{found}: {part}_labels.tsv and {part}_captions.tsv do not list the same "
                "pictures in the same order; fetch both anew from one source"
            )
    return IaprTc12(found, **tables)
