"""Reads hostile files as visterm does, and says before and after each how it goes.

A program of its own: what a file does to it, it does to nobody else. Lines are
``reading NAME``, then ``read BYTES``, ``refused BYTES REASON`` or ``broken BYTES WHAT``; the bytes
are the most memory it ever took.
"""

from __future__ import annotations

import io
import resource
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

from visterm.errors import VistermError

_PRELOADED = (
    "visterm.collection.sources.shards",
    "visterm.collection.sources.tables",
    "visterm.features.cnn.embedder",
    "visterm.index.columns",
    "visterm.models",
    "visterm.pictures.reader",
    "visterm.starter.starter",
    "visterm.text.query",
    "onnxruntime",
    "pyarrow.parquet",
)
_BESIDE = (".jpg", ".json")
_STOP = 8 << 30  # far above what is allowed, so that a fault does not take the whole machine


def read_as_picture(path: Path) -> list[str]:
    from visterm.pictures.sandbox import read_picture

    problems = read_metadata(path)
    read_picture(path, max_side=64)
    return problems


def read_metadata(path: Path) -> list[str]:
    from visterm.pictures.sandbox import captions_of

    problems: list[str] = []
    if path.suffix in (".xmp", ".txt"):  # it is found by the picture that it lies beside
        path = path.with_suffix(".jpg")
        path.write_bytes(_picture())
    captions_of(path, problems=problems)
    return problems


@cache
def _picture() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "JPEG")
    return file.getvalue()


def read_table(path: Path) -> list[str]:
    from visterm.collection.sources.tables import table_rows

    for _ in table_rows(path.parent, path.name):
        pass
    return []


def read_model(path: Path) -> list[str]:
    from visterm.models import load_model

    load_model(path)
    return []


def read_network(path: Path) -> list[str]:
    from visterm.features import OnnxEmbedder

    path.with_suffix(".json").write_text('{"size": 8, "mean": [0, 0, 0], "std": [1, 1, 1]}')
    OnnxEmbedder(path).fit([])
    return []


def read_a_starter(path: Path) -> list[str]:
    from visterm.starter.starter import read_starter

    read_starter(path).model()
    return []


def read_a_column(path: Path) -> list[str]:
    from visterm.index.columns import is_sound, read_column

    read_column(path).sum()
    return [] if is_sound(path) else ["it counts as none"]


def read_checkpoint(path: Path) -> list[str]:
    from visterm.models.selection import Checkpoint

    return [] if Checkpoint(path, "a").runs else ["it counts as none"]


def read_shard(path: Path) -> list[str]:
    from visterm.collection.sources.shards import shard_listings

    found = list(shard_listings(path.parent, path.name, {}, set()))
    return [one.problem or one.unusable[0][1] for one in found if one.problem or one.unusable]


def read_query(path: Path) -> list[str]:
    from visterm.text.query import parse_query

    parse_query(path.read_bytes().decode("utf-8", "surrogatepass"))
    return []


READERS: dict[str, Callable[[Path], list[str]]] = {
    **dict.fromkeys(("xmp", "txt"), read_metadata),
    **dict.fromkeys(("csv", "jsonl", "parquet"), read_table),
    "safetensors": read_model,
    "onnx": read_network,
    "starter": read_a_starter,
    "column": read_a_column,
    "checkpoint": read_checkpoint,
    "tar": read_shard,
    "query": read_query,
}
"""By kind; all others are pictures."""


def outcome(path: Path) -> tuple[str, str]:
    """What became of a file: read, refused with a reason, or broken where neither."""
    from visterm.pictures.formats import Refused

    kind = path.stem.split("-")[1]
    try:
        problems = READERS.get(kind, read_as_picture)(path)
    except (VistermError, Refused) as error:
        reason = " ".join(str(error).split())
        return ("refused", reason) if reason else ("broken", "refused without a reason")
    except BaseException as error:
        return "broken", f"{type(error).__name__}: {error}"
    return ("refused", problems[0]) if problems else ("read", "")


def peak_memory() -> int:
    """Bytes. Linux hands a parent's peak down in ``getrusage``, so its own page is asked."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def main(folder: Path, first: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_STOP, _STOP))
    for name in _PRELOADED:  # what a file costs is not what loading costs
        import_module(name)
    for path in sorted(folder.iterdir()):
        if path.name >= first and path.suffix not in _BESIDE:
            print(f"reading\t{path.name}", flush=True)
            word, reason = outcome(path)
            line = "".join(one if one.isprintable() else "?" for one in reason)[:300]
            print(f"{word}\t{peak_memory()}\t{line!a}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
