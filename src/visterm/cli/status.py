"""visterm status: how much there is of everything."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.cli.messages import counted
from visterm.cli.options import Folder, Json, Ray, Store, opened
from visterm.cli.output import show

if TYPE_CHECKING:
    from visterm.collection import ClusterStatus, Status


def status(
    collection: Folder = Path("."), store: Store = None, ray: Ray = None, json: Json = False
) -> None:
    """Show pictures, captions, words, model, index and sizes."""
    with opened(collection, store) as found:
        counted, where = found.status(), found.store
    named, shown = _lines(counted), asdict(counted)
    if ray is not None:
        from visterm.collection import cluster_status

        there = cluster_status(ray, where)
        named += _cluster_lines(there)
        shown["cluster"] = asdict(there)
    show(shown, *(f"{name:<10} {value}" for name, value in named), json=json)


def _cluster_lines(there: ClusterStatus) -> list[tuple[str, str]]:
    shards = [("shard", f"{one}: {counted(n, 'replica')}") for one, n in there.shards.items()]
    return [
        ("cluster", f"{counted(there.nodes, 'node')}, {counted(there.cores, 'core')}"),
        *(shards or [("shards", "none: visterm serve --ray begins some")]),
    ]


def _named(counted: Status) -> str:
    both = "files and folders"
    return {"none": "", "both": both}.get(counted.names, counted.names)


def _lines(counted: Status) -> list[tuple[str, str]]:
    sources = ", ".join(f"{source} {count:,}" for source, count in counted.sources.items())
    lines = [
        ("folder", counted.folder + ("" if counted.up_to_date else " (has changed: visterm add)")),
        *(("follows", one) for one in counted.followed if one),
        ("pictures", f"{counted.pictures:,} in {counted.files:,} files"),
        ("vanished", f"{counted.vanished:,}"),
        ("skipped", f"{counted.skipped:,}"),
        ("captioned", f"{counted.captioned:,}" + (f" ({sources})" if sources else "")),
        *([("names", f"those of {names} count as words")] if (names := _named(counted)) else []),
        ("features", f"{counted.features or 'none'}, {counted.described:,} pictures"),
    ]
    if counted.model is None or counted.index is None:
        lines.append(("model", "none yet: visterm train learns from captions"))
    else:
        model, index = counted.model, counted.index
        quality = "" if model["avgp"] is None else f", AvgP {100 * model['avgp']:.1f} %"
        learnt = f"{model['words']:,} words"
        if model["learnt_from"]:
            learnt += f" from {model['learnt_from']:,} pictures"
        lines.append(("model", f"{model['name']} {model['version']}, {learnt}{quality}"))
        pictures = index.get("problem") or f"{index['pictures']:,} pictures"
        lines.append(("index", pictures))
    sizes = ", ".join(f"{part} {size / 1e6:,.1f} MB" for part, size in counted.bytes.items())
    aside = [("set aside", f"{one}; say it again if it still counts") for one in counted.set_aside]
    return [*lines, ("sizes", sizes), *aside]
