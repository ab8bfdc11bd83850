"""The API's own description, taken at its word: Schemathesis makes requests up from it."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

schemathesis = pytest.importorskip(
    "schemathesis", reason="schemathesis is not installed: the API is not fuzzed"
)

from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from hypothesis.errors import Unsatisfiable  # noqa: E402
from schemathesis import GenerationMode  # noqa: E402
from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

from visterm.web.app import make_app  # noqa: E402
from visterm.web.security import Guard, Rules  # noqa: E402

EXAMPLES = 12
HEADERS = {"Host": "127.0.0.1"}


@pytest.fixture(scope="module")
def app(taught_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    folder = tmp_path_factory.mktemp("fuzzed") / "holidays"
    shutil.copytree(taught_folder, folder)
    # No limit on writes, or most of them would be refused before they are looked at.
    made = make_app(folder, rules=Rules(writes_a_second=1e9, most_writes_at_once=10**9))
    yield made
    made.app.state.server.close()  # type: ignore[attr-defined]


def test_every_operation_keeps_to_its_description(app: Guard) -> None:
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers=HEADERS)
    tried: list[str] = []
    for found, mode in product(schema.get_all_operations(), GenerationMode):
        operation = found.ok()
        # A stream lasts as long as its job, and jobs are other tests' business.
        if operation.path.startswith("/api/v1/train"):
            continue

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def keeps(case: schemathesis.Case) -> None:
            # What a query may say is more than a schema can tell: valid strings may be refused.
            case.call_and_validate(headers=HEADERS, excluded_checks=[positive_data_acceptance])

        # An operation without parameters cannot be asked wrongly.
        with contextlib.suppress(Unsatisfiable):
            keeps()
        tried.append(f"{operation.method.upper()} {operation.path} {mode}")
    assert len(tried) >= 2 * 14, tried


def test_the_description_can_be_read_and_names_every_part(app: Guard) -> None:
    described = app.app.openapi()  # type: ignore[attr-defined]
    json.dumps(described)
    paths = {path.removeprefix("/api/v1") for path in described["paths"]}
    assert paths >= {
        "/search",
        "/pictures",
        "/pictures/{picture}",
        "/pictures/{picture}/thumbnail",
        "/pictures/{picture}/captions",
        "/pictures/{picture}/similar",
        "/pictures/{picture}/words",
        "/pictures/{picture}/why",
        "/words",
        "/feedback",
        "/feedback/{judgement}",
        "/status",
        "/train",
        "/train/events",
    }
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert operation["description"], f"{method} {path} says nothing about itself"
            assert any(code.startswith("2") for code in operation["responses"])
