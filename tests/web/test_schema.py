"""The API's own description, taken at its word: Schemathesis makes requests up from it."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

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

EXAMPLES = 8
HEADERS = {"Host": "127.0.0.1"}


@pytest.fixture
def app(taught_folder: Path, tmp_path: Path) -> Iterator[Guard]:
    """One a test: Schemathesis ends an app after the test, and an app begins once."""
    folder = tmp_path / "holidays"
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
    assert len(tried) >= 2 * 18, tried


LINKS = [
    ("/search", "get", "200", "/pictures/{picture}", "get", "results/0/picture"),
    ("/search", "get", "200", "/pictures/{picture}/why", "get", "results/0/picture"),
    ("/search", "get", "200", "/pictures/{picture}/captions", "put", "results/0/picture"),
    ("/feedback", "post", "201", "/feedback/{judgement}", "delete", "id"),
    ("/feedback", "get", "200", "/feedback/{judgement}", "delete", "judgements/0/id"),
]
"""What of an answer another call takes, besides what Schemathesis finds by the names of things."""


def test_calls_that_go_on_from_answers_keep_to_the_description(app: Guard) -> None:
    described = json.loads(json.dumps(app.app.openapi()))  # type: ignore[attr-defined]
    operations = {path.removeprefix("/api/v1"): one for path, one in described["paths"].items()}
    for path, method, status, to, verb, taken in LINKS:
        answer = operations[path][method]["responses"][status]
        target = operations[to][verb]
        value = {to.partition("{")[2].partition("}")[0]: f"$response.body#/{taken}"}
        link = {"operationId": target["operationId"], "parameters": value}
        answer.setdefault("links", {})[f"{verb} {to}"] = link
    del described["paths"]["/api/v1/train/events"]  # a stream lasts as long as its job
    schema = schemathesis.openapi.from_dict(described)
    schema.app = app
    followed: set[str] = set()

    class Calls(schema.as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, case: schemathesis.Case) -> dict[str, object]:
            return {"headers": HEADERS}

        def after_call(self, response: Any, case: schemathesis.Case) -> None:
            followed.add(f"{case.method} {case.operation.path} {response.status_code // 100}")

        def validate_response(self, response: Any, case: schemathesis.Case, **more: Any) -> None:
            excluded = [positive_data_acceptance]
            case.validate_response(response, excluded_checks=excluded, recorder=self.recorder)

    Calls.run(
        settings=settings(
            max_examples=12,
            stateful_step_count=6,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
    )
    gone_on = {one for one in followed if "{" in one and one.endswith(" 2")}
    assert len(gone_on) >= 2, followed


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
        "/files/{path}",
    }
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert operation["description"], f"{method} {path} says nothing about itself"
            assert any(code.startswith("2") for code in operation["responses"])
            assert "401" in operation["responses"]
    named = [one["operationId"] for some in described["paths"].values() for one in some.values()]
    assert len(set(named)) == len(named)
    assert all(name.isidentifier() and len(name) < 30 for name in named)
    assert described["security"] == [{"token": []}, {}]
    assert described["servers"]
