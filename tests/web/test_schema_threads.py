"""The schema of answers is made by one thread at a time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pydantic._internal import _fields

from visterm.web import client
from visterm.web.app import make_app
from visterm.web.schemas import PictureDetails, Ranking, ServerStatus


def test_docstrings_of_fields_are_parsed_by_one_thread_at_a_time(
    tmp_path: Path, monkeypatch
) -> None:
    parse = _fields.extract_docstrings_from_cls
    parsing, overlaps, calls = threading.Lock(), [], []

    def watched(kind, use_inspect=False):
        calls.append(kind)
        if not parsing.acquire(blocking=False):
            overlaps.append(kind)
            return parse(kind, use_inspect)
        try:
            time.sleep(0.005)  # so that another thread comes, where one can
            return parse(kind, use_inspect)
        finally:
            parsing.release()

    monkeypatch.setattr(_fields, "extract_docstrings_from_cls", watched)
    client._ADAPTERS.clear()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with ThreadPoolExecutor(4) as threads:
        apps = [threads.submit(make_app, tmp_path / name) for name in ("a", "b")]
        kinds = (PictureDetails, Ranking, ServerStatus)
        adapters = [threads.submit(client._adapter, kind) for kind in kinds]
        for made in (*apps, *adapters):
            made.result()
    assert calls, "some class is described by its docstrings"
    assert not overlaps
