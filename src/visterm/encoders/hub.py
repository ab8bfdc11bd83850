"""Encoders of a hub: files of one repository, fetched by ``huggingface_hub`` into its own cache.

The cache, the offline mode and the endpoint are those of its environment variables.
"""

from __future__ import annotations

from pathlib import Path

from visterm.encoders.layout import OFFERED, check_size, names_of
from visterm.errors import BadInput, MissingExtra
from visterm.onnx_session import one_line
from visterm.progress import Progress


def from_hub(repository: str, precision: str | None, progress: Progress) -> Path:
    """A folder with the files of ``ORG/NAME``, of a branch or commit after an @ if there is one."""
    try:
        import huggingface_hub
        from huggingface_hub.constants import HF_HUB_OFFLINE
    except ImportError:
        raise MissingExtra(
            "hf: needs huggingface_hub; install it: pip install visterm[encoders]"
        ) from None
    name, _, revision = repository.partition("@")
    if name.count("/") != 1:
        raise BadInput(f"hf:{repository} is no repository; write hf:ORG/NAME")
    version = revision or "main"
    try:
        if HF_HUB_OFFLINE:
            return Path(huggingface_hub.snapshot_download(name, revision=version))
        about = huggingface_hub.HfApi().model_info(name, revision=version, files_metadata=True)
        there = {one.rfilename: one.size or 0 for one in about.siblings or []}
        wanted = names_of({n: there[n] for n in OFFERED if n in there}, precision)
        check_size({n: there[n] for n in wanted})
        for number, file in enumerate(wanted):
            progress("fetching", number, len(wanted))
            path = Path(huggingface_hub.hf_hub_download(name, file, revision=version))
        progress("fetching", len(wanted), len(wanted))
    except BadInput:
        raise
    except Exception as error:  # its exceptions come from several libraries
        raise BadInput(f"cannot fetch hf:{repository}: {one_line(error)}") from None
    return path.parents[file.count("/")]
