"""What the service tells of itself: metrics, a log, its description, and to whom browsers may bring it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families
from recognise_pages import make_page
from serve_models import ask, complaint, fake_models, in_thread, png

from tongguocr.serve.jobs import JobStore
from tongguocr.serve.upload import OPENINGS, OPTIONS, STYLES


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def url(tmp_path: Path, lines: list[str]) -> Iterator[str]:
    models, store = fake_models(found=True), JobStore(tmp_path)
    with in_thread(models, store=store, log=lines.append, origins=("https://a.example",)) as url:
        yield url


def picture() -> bytes:
    pixels = make_page(3).pixels
    assert pixels is not None
    return png(pixels)


def metrics(url: str) -> dict[tuple[str, ...], float]:
    status, data = ask(f"{url}/metrics")
    assert status == 200
    families = text_string_to_metric_families(data.decode())
    samples = [sample for family in families for sample in family.samples]
    return {(sample.name, *sample.labels.values()): sample.value for sample in samples}


def test_metrics_count_what_was_done(url: str) -> None:
    assert [ask(f"{url}/v1/read", body)[0] for body in (picture(), picture(), b"junk")] == [200, 200, 400]
    ask(f"{url}/v1/jobs/one")
    ask(f"{url}/v1/jobs/two")
    ask(f"{url}/nowhere/{'x' * 50}")
    found = metrics(url)
    assert found["tongguocr_requests_total", "/v1/read", "POST", "200"] == 2
    assert found["tongguocr_requests_total", "/v1/read", "POST", "400"] == 1
    assert found["tongguocr_requests_total", "/v1/jobs/{id}", "GET", "404"] == 2
    assert found["tongguocr_requests_total", "other", "GET", "404"] == 1
    assert found["tongguocr_request_seconds_count", "/v1/read", "POST"] == 3
    assert found["tongguocr_received_bytes_total",] == 2 * len(picture()) + 4
    assert found["tongguocr_sent_bytes_total",] > 0
    assert (found["tongguocr_pages_total", "read"], found["tongguocr_pages_total", "refused"]) == (2, 1)
    assert found["tongguocr_reading_seconds_count",] == 3
    assert (found["tongguocr_workers",], found["tongguocr_requests_pending",]) == (1, 0)
    assert found["tongguocr_jobs_reading",] == 0


def test_two_servers_count_apart() -> None:
    with in_thread(fake_models(found=True)) as one, in_thread(fake_models(found=True)) as other:
        ask(f"{one}/health")
        assert ("tongguocr_requests_total", "/health", "GET", "200") in metrics(one)
        assert ("tongguocr_requests_total", "/health", "GET", "200") not in metrics(other)


def test_metrics_want_the_key() -> None:
    with in_thread(fake_models(found=True), key="k1") as url:
        assert complaint(ask(f"{url}/metrics"))[0] == 401
        assert ask(f"{url}/metrics", None, {"Authorization": "Bearer k1"})[0] == 200


def test_a_line_in_the_log_for_each_request(url: str, lines: list[str]) -> None:
    body = picture()
    status, answer = ask(f"{url}/v1/read?format=txt&name=secret.png", body)
    ask(f"{url}/a%0Ab%20c", None, {"Authorization": "Bearer secret"})
    # A line is written once the answer is on its way; the next request's comes after it.
    ask(f"{url}/health")
    first, second, *_ = lines
    when, client, *rest, seconds = first.split(" ")
    assert when.endswith("Z") and client == "127.0.0.1" and float(seconds) >= 0
    assert rest == ["POST", "/v1/read", str(status), str(len(body)), str(len(answer))]
    assert second.split(" ")[2:5] == ["GET", "/a%0Ab%20c", "404"]
    assert not any("secret" in line for line in lines)


def test_faults_are_logged_and_counted(lines: list[str]) -> None:
    def broken(block: object) -> object:
        raise ZeroDivisionError

    with in_thread(fake_models(broken, found=True), log=lines.append) as url:  # type: ignore[arg-type]
        assert ask(f"{url}/v1/read", picture())[0] == 500
        assert metrics(url)["tongguocr_pages_total", "failed"] == 1
    assert " 500 " in lines[0]


def headers(url: str, method: str, **sent: str) -> tuple[int, dict[str, str]]:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=300)
    try:
        connection.request(method, parts.path, headers={k.replace("_", "-"): v for k, v in sent.items()})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def test_browsers_are_let_in_from_where_it_says(url: str) -> None:
    allow = "access-control-allow-origin"
    assert headers(f"{url}/health", "GET", Origin="https://a.example")[1][allow] == "https://a.example"
    assert allow not in headers(f"{url}/health", "GET", Origin="https://b.example")[1]
    asked = {"Access_Control_Request_Method": "DELETE", "Access_Control_Request_Headers": "Authorization"}
    status, told = headers(f"{url}/v1/jobs/x", "OPTIONS", Origin="https://a.example", **asked)
    assert status == 200 and "DELETE" in told["access-control-allow-methods"]
    assert headers(f"{url}/v1/jobs/x", "OPTIONS", Origin="https://b.example", **asked)[0] == 400
    with in_thread(fake_models()) as other:
        assert allow not in headers(f"{other}/health", "GET", Origin="https://a.example")[1]


def undescribed(schema: Any, where: str) -> list[str]:
    """Places below this one that have fields or things without a description."""
    if isinstance(schema, list):
        return [place for k, one in enumerate(schema) for place in undescribed(one, f"{where}[{k}]")]
    if not isinstance(schema, dict):
        return []
    places = []
    if "type" in schema and isinstance(schema["type"], str) and not schema.get("description"):
        places.append(where)
    return places + [p for key, one in schema.items() for p in undescribed(one, f"{where}.{key}")]


def test_every_field_of_every_address_is_described(url: str) -> None:
    api = json.loads(ask(f"{url}/openapi.json")[1])
    assert undescribed(api, "") == []
    for address, methods in api["paths"].items():
        for operation in methods.values():
            assert operation["description"].endswith("."), address
            assert all(one["description"] for one in operation.get("parameters", ())), address
            assert not any("{" in one["name"] for one in operation.get("parameters", ()))
            assert all(answer["description"] for answer in operation["responses"].values())
    assert set(api["paths"]) == {
        "/health",
        "/metrics",
        "/v1/models",
        "/v1/read",
        "/v1/chat/completions",
        "/v1/jobs",
        "/v1/jobs/{id}",
        "/v1/jobs/{id}/pages/{number}",
        "/v1/jobs/{id}/result",
    }


def names(operation: dict[str, Any]) -> tuple[set[str], set[str]]:
    """The fields behind an address, and those of its form."""
    form = operation.get("requestBody", {}).get("content", {}).get("multipart/form-data", {})
    behind = {one["name"] for one in operation["parameters"] if one["in"] == "query"}
    return behind, set(form.get("schema", {}).get("properties", ()))


def test_the_description_has_the_options_that_there_are(url: str) -> None:
    paths = json.loads(ask(f"{url}/openapi.json")[1])["paths"]
    assert names(paths["/v1/read"]["post"]) == ({"name", *OPTIONS}, {"image", "lines", *OPTIONS})
    assert names(paths["/v1/jobs"]["post"]) == ({"name", *OPENINGS}, {"file", *OPENINGS})
    assert names(paths["/v1/jobs/{id}/pages/{number}"]["get"])[0] == set(STYLES)
    assert names(paths["/v1/jobs/{id}/result"]["get"])[0] == {"book", *STYLES}


def test_every_answer_has_the_fields_that_are_described(url: str) -> None:
    paths = json.loads(ask(f"{url}/openapi.json")[1])["paths"]

    def described(address: str, method: str, status: str) -> set[str]:
        content = paths[address][method]["responses"][status]["content"]
        return set(content["application/json"]["schema"]["properties"])

    job = json.loads(ask(f"{url}/v1/jobs?name=page.png", picture())[1])
    assert set(job) == described("/v1/jobs", "post", "202") == described("/v1/jobs/{id}", "get", "200")
    assert set(json.loads(ask(f"{url}/health")[1])) == described("/health", "get", "200")
    assert set(json.loads(ask(f"{url}/v1/models")[1])) == described("/v1/models", "get", "200")
    refusal = json.loads(ask(f"{url}/v1/jobs/x")[1])
    assert set(refusal) == described("/v1/jobs/{id}", "get", "404")


class Addresses(HTMLParser):
    """Everything that a page would fetch, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched, self.text = list[str](), ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href", "action")]
        assert tag not in ("script", "iframe", "img", "link")

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_of_documentation_fetches_nothing(url: str) -> None:
    status, data = ask(f"{url}/docs")
    page = Addresses()
    page.feed(data.decode())
    assert status == 200 and page.fetched == ["openapi.json"]
    assert "POST /v1/jobs" in page.text and "double-row notes" in page.text
