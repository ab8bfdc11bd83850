"""The states that the campaign's commands find, each made from another one by commands."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.features.own_features import use_function

_PICTURES = 16
_WORDS = ("sky", "tree", "sea", "snow")
ENCODERS = "encoders"
"""The folder of the encoders, in that of the pictures."""
TRAIN = ("train", "--force", "--model", "pamir(max_iter=200,C=0.1)")


def grid(pictures: list[Any]) -> list[NDArray[np.float32]]:
    """Features that cost nothing: a picture's colours, top and bottom."""
    halves = [half for pixels in pictures for half in np.array_split(pixels, 2)]
    means = np.array([half.mean(axis=(0, 1)) for half in halves], np.float32) / 255
    return list(means.reshape(len(pictures), 6))


FEATURES = f"own:{use_function(grid)}"


def command(*arguments: str, stdin: str = "") -> int:
    """A command as a person types it, in this process; returns its exit code."""
    from visterm.cli import main

    before = sys.argv, sys.stdin
    sys.argv, sys.stdin = ["visterm", *arguments], io.StringIO(stdin)
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.argv, sys.stdin = before
    return 0


def _pictures(root: Path) -> None:
    """A few small pictures, drawn without help so that nothing else need be loaded."""
    from PIL import Image

    dice = np.random.default_rng(7)
    root.mkdir(parents=True)
    for number in range(_PICTURES):
        colours = dice.integers(0, 255, (2, 2, 3), np.uint8)
        picture = Image.fromarray(colours).resize((16, 16))
        picture.save(root / f"{number:02d}.png")
    lines = (f"{n:02d}.png\t{_WORDS[n % 4]} {_WORDS[(n // 2) % 4]}\n" for n in range(_PICTURES))
    (root / "captions.tsv").write_text("".join(lines))


def _added(root: Path) -> None:
    _check(command("add", "-C", str(root), "--features", FEATURES))


def _captioned(root: Path) -> None:
    _check(command("caption", "--from", str(root / "captions.tsv"), "-C", str(root)))


def _trained(root: Path) -> None:
    _check(command(*TRAIN, "-C", str(root)))


def _clicked(root: Path) -> None:
    for answer, query, picture in (("yes", "sky", 3), ("no", "sky tree", 5), ("yes", "zebra", 6)):
        _check(
            command("feedback", answer, query, str(root / f"{picture:02d}.png"), "-C", str(root))
        )


def _spoken(root: Path) -> None:
    _check(command("caption", str(root / "03.png"), "a pond", "-C", str(root)))


def listed(*arguments: str) -> Callable[[Path], int]:
    """A command about a list of pictures, of which some were spoken of before."""

    def work(root: Path) -> int:
        lines = "".join(f"{root}/{number:02d}.png\n" for number in (1, 3, 5, 6))
        return command(*arguments, "--list", "-", "-C", str(root), stdin=lines)

    return work


caption_list = listed("caption", "a lake")
feedback_list = listed("feedback", "no", "sky")


def _backed_up(root: Path) -> None:
    """A backup, of which something was forgotten since, and something said otherwise."""
    _check(command("export", "--as", "backup", "--to", f"{root}/backup.jsonl", "-C", str(root)))
    _check(command("caption", str(root / "02.png"), "a lake", "-C", str(root)))
    _check(command("feedback", "undo", "-C", str(root)))
    _check(command("feedback", "no", "sky", str(root / "03.png"), "-C", str(root)))


def _sentences(root: Path) -> None:
    """As many captioned pictures as sentences need, with a few more words."""
    from PIL import Image

    for number in range(10):
        colours = np.full((16, 16, 3), 20 * number, np.uint8)
        Image.fromarray(colours).save(root / f"more-{number}.png")
    said = ("a boat on the sea", "a tree in the snow", "a house under the sky", "boats and snow")
    lines = (f"more-{number}.png\t{said[number % 4]}\n" for number in range(10))
    (root / "more.tsv").write_text("".join(lines))
    _check(command("add", "-C", str(root)))
    _check(command("caption", "--from", str(root / "more.tsv"), "-C", str(root)))


def _sentences_changed(root: Path) -> None:
    """So many captions were given since sentences were learnt that they are learnt again."""
    _check(command("search", "sky", "--space", "lsa", "-C", str(root)))
    for number in range(6):
        _check(command("caption", f"{root}/{number:02d}.png", "a lake and a boat", "-C", str(root)))


def _shared(root: Path) -> None:
    """Two starters from elsewhere, and pictures that nobody has captioned."""
    _check(command("starter", "export", str(root / "first.starter"), "-C", str(root)))
    for number in range(4):
        _check(command("caption", f"{root}/{number:02d}.png", "a lake", "-C", str(root)))
    _trained(root)
    _check(command("starter", "export", str(root / "other.starter"), "-C", str(root)))
    shutil.rmtree(root / ".visterm")
    _added(root)


def _started(root: Path) -> None:
    _check(command("starter", "use", str(root / "first.starter"), "-C", str(root)))


def _encoder_files(root: Path) -> None:
    """Files of two encoders."""
    from benchmarks.drawn_encoder import write

    write(root / "first")
    write(root / "other", precision="int8")


def _encoder(root: Path) -> None:
    os.environ["VISTERM_ENCODERS"] = str(root / ENCODERS)
    _check(command("encoder", "add", str(root / "first"), "--name", "mine"))


def _grown(root: Path) -> None:
    """Pictures came, went, moved and changed, and one has a sidecar; nobody has looked yet."""
    for number in range(6):
        content = (root / f"{number:02d}.png").read_bytes()
        (root / f"new-{number}.png").write_bytes(content + bytes([number]))
    (root / "new-1.txt").write_text("a boat")
    (root / "deep").mkdir()
    (root / "07.png").rename(root / "deep" / "07.png")
    (root / "08.png").unlink()


def _turn_a_byte(root: Path, pattern: str) -> None:
    path = sorted((root / ".visterm").glob(pattern))[0]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def _columns_harmed(root: Path) -> None:
    """A word was asked for, and its column, kept however short it is, is not what was written."""
    from visterm.index import columns

    columns._KEPT_FROM = 0
    _check(command("search", "sky", "-C", str(root)))
    _turn_a_byte(root, "features/*/*/columns/*")


BASES: dict[str, tuple[str | None, Callable[[Path], None]]] = {
    "pictures": (None, _pictures),
    "added": ("pictures", _added),
    "captioned": ("added", _captioned),
    "trained": ("captioned", _trained),
    "clicked": ("trained", _clicked),
    "grown": ("clicked", _grown),
    "columns-harmed": ("clicked", _columns_harmed),
    "features-harmed": ("clicked", lambda root: _turn_a_byte(root, "features/*/*/codes")),
    "model-harmed": ("clicked", lambda root: _turn_a_byte(root, "models/*/model.safetensors")),
    "spoken": ("clicked", _spoken),
    "list-captioned": ("spoken", lambda root: _check(caption_list(root))),
    "list-clicked": ("spoken", lambda root: _check(feedback_list(root))),
    "backed-up": ("clicked", _backed_up),
    "sentences": ("captioned", _sentences),
    "sentences-changed": ("sentences", _sentences_changed),
    "shared": ("trained", _shared),
    "started": ("shared", _started),
    "encoder-files": ("pictures", _encoder_files),
    "encoder": ("encoder-files", _encoder),
}


def make_base(name: str, folder: Path) -> Path:
    """A state, made in a folder of that name unless it is there."""
    root = folder / name / "pictures"
    if not root.exists():
        before, change = BASES[name]
        part = folder / f"{name}.making" / "pictures"
        shutil.rmtree(part.parent, ignore_errors=True)
        part.parent.mkdir(parents=True)
        if before is not None:
            shutil.copytree(make_base(before, folder), part)
        change(part)
        part.parent.rename(folder / name)
    return root


def _check(code: int) -> None:
    if code:
        raise SystemExit(f"a command that prepares trials ended with {code}")
