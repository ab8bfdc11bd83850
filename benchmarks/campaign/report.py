"""The campaign's report, for the docs: what was tried, and what was found and mended."""

# ruff: noqa: E501 - rows of a table in Markdown cannot be broken

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.campaign.soak import LIMITS

_FOUND = Path(__file__).with_name("findings.md")


def write_report(path: Path, found: dict[str, dict[str, Any]]) -> None:
    """Write the page from the results of the parts."""
    head = _HEAD.format(points=found["faults"]["fault_points"])
    if len({one.get("sources") for one in found.values()}) > 1:
        head += _MIXED
    parts = [head, _faults(found["faults"]), _kills(found["kills"]), _hostile(found["hostile"])]
    parts += [_cluster(found["cluster"]), _soak(found["soak"]), _FOUND.read_text()]
    path.write_text("\n".join(part.rstrip() + "\n" for part in parts))


_HEAD = """# The campaign: faults, kills, hostile files

What the [promise](../explanation/durability.md) is worth: disks that fail at any change, kills at any moment, files that mean harm, and
a server that is never left alone. All of it is repeated, and this page written, by

<!-- not run: takes more than an hour -->
```console
make campaign POINTS={points}
```

which goes on where it was stopped, and without `POINTS` tries every fault point. A sample runs with the tests; one part alone: `python -m benchmarks.campaign --part faults --limit 200 --json`.
"""


_MIXED = """
The figures below are of its parts, each run by its command, and not all on the same sources.
"""


def _faults(found: dict[str, Any]) -> str:
    return f"""## Disks that fail

Every write, sync, rename, unlink and truncation of a command, SQLite's among them, is counted by a small library that is loaded before all
else. The command then runs again with a fault at the n-th. After each, somebody who knows the format and none of the code
that writes it looks at what is left; `visterm check`, searches and the next command must agree.

{found["fault_points"]:,} of {found["of"]:,} fault points, drawn at random, with power cuts after commands that had ended among them, were tried, and **{found["broken_promises"]} promises were broken**.

| command | points |
| --- | ---: |
{_rows(found["by_command"])}

| fault | points |
| --- | ---: |
{_rows({_FAULTS[name]: count for name, count in found["by_fault"].items()})}

Commands that write and were not tried, neither here nor by kills: `export` and `starter export`, which write files elsewhere, one by one and each whole.
`watch`, jobs of the server and a search of a new folder do what `add` and `train` do, and text spaces other than LSA's are written as that one is.
While an encoder is installed, the process that tries it is left out: it writes nothing. The server does captions and clicks itself here; the process that does them
otherwise calls the same function (`Collection.submit`), and is tried by the kills of the soak below.
"""


_FAULTS = {
    "io_error": "the change fails (EIO)",
    "gone": "all changes fail from there on, as of a drive that was pulled out",
    "full": "the disk is full from there on (ENOSPC)",
    "short": "a write takes half of the bytes",
    "tear": "half of the bytes, then a kill",
    "kill": "a kill before the change",
    "power": "a power cut: nothing that was never synced is left",
    "cache": "a power cut: some of what was never synced is left, in any order",
}


def _kills(found: dict[str, Any]) -> str:
    return f"""## Kills

{found["kills"]:,} commands were killed (SIGKILL) at seeded moments; {found["too_late"]:,} others ended before their kill and count as none.
**{found["broken_promises"]} promises were broken.**

| command | kills |
| --- | ---: |
{_rows(found["by_command"])}
"""


def _hostile(found: dict[str, Any]) -> str:
    rows = "\n".join(
        f"| {kind} | {one['read']:,} | {one['refused']:,} | {one['broken']:,} |"
        for kind, one in found["by_kind"].items()
    )
    return f"""## Hostile files

{found["hostile_files"]:,} files, damaged or made by a grammar. None may end the process that reads it, take more than ten seconds or 500 MB, or
be refused without a reason: **{found["broken_promises"]} did.** The slowest took {found["slowest_s"]} s, and the reader never more than
{found["largest_mb"]} MB.

| kind | read | refused with a reason | neither |
| --- | ---: | ---: | ---: |
{rows}
"""


def _cluster(found: dict[str, Any]) -> str:
    return f"""## A cluster whose parts die

Pictures are added and models trained on a Ray cluster of two nodes, and its shards answer searches, while somebody kills (SIGKILL) one of its
workers, a node with all that runs on it, the command itself, or a replica that searches. The collection must be what one machine makes that
nothing happened to, and every answer right or called partial. Of {found["kills"]:,} kills **{found["broken_promises"]} broke a promise**; {found["too_late"]:,} more came too late
and count as none.

| during, and who was killed | kills |
| --- | ---: |
{_rows(found["by_victim"])}
"""


def _soak(found: dict[str, Any]) -> str:
    equal = "equals" if found["catalogue_equals_replay"] else "does **not** equal"
    return f"""## A server that is never left alone

{found["clients"]} people searched, looked, clicked, captioned, added and trained for {found["seconds"] / 60:.1f} minutes, while the processes
that add, train, decode, and write captions and clicks for the server were killed (SIGKILL). Before that one of them was alone with the server for a tenth of the time: that is the quiet p99.

| | |
| --- | ---: |
| answers to searches | {found["answers"]:,} |
| captions and clicks | {found["captions"] + found["clicks"]:,} |
| kills of the writer while adding or training; of the writer otherwise; of decoders | {found["jobs_killed"]:,}; {found["changes_killed"]:,}; {found["decoders_killed"]:,} |
| declared refusals (busy, training, interrupted, decoder killed) | {found["declared_refusals"]:,} |
| other errors | {sum(found["undeclared"].values()):,} |
| p99 of a search, quiet and busy | {found["quiet_p99_ms"]} ms, {found["p99_ms"]} ms ({found["p99_ratio"]} ×) |
| memory of the server and its processes for changes and decoding: quiet; at most, once warm, a fifth into it; at most at the end | {found["quiet_memory_mb"]} MB; {found["memory_mb"][0]} MB; {found["memory_mb"][1]} MB ({found["memory_ratio"]} ×) |

The catalogue {equal} a replay of the acknowledged calls. {_limits(found["missed"])}
"""


def _limits(missed: list[str]) -> str:
    """Which limits the soak kept, and which not."""
    p99, memory = ("did **not** stay" if name in missed else "stayed" for name in LIMITS)
    return (
        f"The busy p99 {p99} within {LIMITS['p99_ratio']:g} × of the quiet one; "
        f"memory at the end {memory} within {LIMITS['memory_ratio']:g} × of the warm server's."
    )


def _rows(counts: dict[str, int]) -> str:
    return "\n".join(f"| {name} | {count:,} |" for name, count in sorted(counts.items()))
