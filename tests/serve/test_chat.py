"""Chat completions: what is a question, what is refused, and that our own client reads the answers."""

from __future__ import annotations

import base64
import contextlib
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serve_models import question

from tongguocr.engines.chat_protocol import parse_answer, parse_complaint
from tongguocr.errors import InputError
from tongguocr.serve.bounded import load_picture
from tongguocr.serve.chat import (
    CompletionRequest,
    parse_request,
    render_completion,
    render_error,
    render_models,
)
from tongguocr.serve.models import Reply, Token
from tongguocr.serve.queue import Bounds, StatusError

PIXELS = np.arange(48, dtype=np.uint8).reshape(6, 8)


def changed(**more: Any) -> bytes:
    return question(PIXELS, **more)


def about(*addresses: object) -> bytes:
    parts = [{"type": "image_url", "image_url": address} for address in addresses]
    return json.dumps({"messages": [{"role": "user", "content": parts}]}).encode()


def test_a_question_is_understood() -> None:
    asked = parse_request(changed(model="toy", temperature=0, max_tokens=99), "toy")
    assert (asked.max_tokens, asked.logprobs, asked.alternatives) == (99, False, 0)
    assert (load_picture(asked.picture, "picture", Bounds()).pixels == PIXELS).all()
    assert parse_request(changed(), "toy", Bounds(tokens=50)).max_tokens == 50
    assert parse_request(changed(max_tokens=10**9), "toy", Bounds(tokens=50)).max_tokens == 50
    assert parse_request(changed(max_tokens=9, max_completion_tokens=7), "toy").max_tokens == 7
    told = parse_request(changed(logprobs=True, top_logprobs=4, stream=False, n=1), "toy")
    assert (told.logprobs, told.alternatives) == (True, 4)
    bare = "data:image/png;base64," + base64.b64encode(b"x").decode()
    assert parse_request(about(bare), "toy").picture == b"x", "some clients leave the object out"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "UTF-8"),
        (b"[]", "JSON object"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"messages": NaN}', "not JSON"),
        (b"{}", "list of objects"),
        (b'{"messages": ["x"]}', "list of objects"),
        (b'{"messages": [{"content": "read it"}]}', "here are 0"),
        (about("data:image/png;base64,eA==", {"url": "data:image/png;base64,eA=="}), "here are 2"),
        (about({"url": "http://127.0.0.1/secret.png"}), "nothing is fetched"),
        (about({"url": "file:///etc/passwd"}), "nothing is fetched"),
        (about({"url": "data:text/plain;base64,eA=="}), "nothing is fetched"),
        (about({"url": "data:image/png;base64,*"}), "not base64"),
        (about({"url": "data:image/png;base64,天"}), "not base64"),
        (about({"url": 7}), "object with"),
        (about(None), "object with"),
        (changed(stream=True), "come whole"),
        (changed(n=2), "ask for 1"),
        (changed(max_tokens=0), "max_tokens"),
        (changed(max_tokens=True), "max_tokens"),
        (changed(max_tokens="9"), "max_tokens"),
        (changed(logprobs=5), "logprobs"),
        (changed(top_logprobs=3), "needs logprobs"),
        (changed(logprobs=True, top_logprobs=21), "at most 20"),
    ],
)
def test_bad_questions_get_one_sentence(body: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        parse_request(body, "toy")
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    assert getattr(caught.value, "status", 400) == 400


def test_another_model_is_not_here() -> None:
    with pytest.raises(StatusError, match=r"'gpt'.*'toy'") as caught:
        parse_request(changed(model="gpt"), "toy")
    assert caught.value.status == 404


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = ("model", "messages", "stream", "n", "logprobs", "top_logprobs", "max_tokens")


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(NAMES), JSON))
def test_any_json_is_a_question_or_a_sentence(body: dict[str, Any]) -> None:
    with contextlib.suppress(InputError):
        parse_request(json.dumps(body).encode(), "toy")


TOKENS = st.lists(
    st.builds(
        lambda text, sure: Token(text, text.encode(), sure, (("口", "口".encode(), sure / 2),)),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3),
        st.floats(0, 1),
    ),
    max_size=8,
).map(tuple)


@settings(max_examples=100)
@given(TOKENS, st.booleans())
def test_our_client_reads_what_is_rendered(tokens: tuple[Token, ...], cut: bool) -> None:
    text = "".join(token.text for token in tokens)
    reply = Reply(text, tokens, cut, 10)
    rendered = render_completion(reply, CompletionRequest(b"", 9, True, 2), "toy")
    answer = parse_answer(json.dumps(rendered, allow_nan=False).encode())
    assert (answer.text, answer.cut) == (text, cut)
    sure = [token.probability for token in tokens for _ in token.text]
    assert [mark[0] for mark in answer.marks] == pytest.approx(sure, abs=2e-4)
    used = rendered["usage"]
    assert used["total_tokens"] == used["prompt_tokens"] + used["completion_tokens"] == 10 + len(tokens)


def test_probabilities_only_where_asked_for_and_known() -> None:
    token = Token("天", "天".encode(), 0.5, (("夫", "夫".encode(), 0.25), ("大", "大".encode(), 0.0)))
    reply = Reply("天", (token,))

    def told(reply: Reply, *options: Any) -> Any:
        return render_completion(reply, CompletionRequest(b"", 9, *options), "toy")["choices"][0]["logprobs"]

    assert told(reply) is None and told(Reply("天", (token,), has_probabilities=False), True, 3) is None
    (entry,) = told(reply, True, 3)["content"]
    assert entry["logprob"] == pytest.approx(math.log(0.5)) and entry["bytes"] == list("天".encode())
    assert [other["token"] for other in entry["top_logprobs"]] == ["天", "夫", "大"]
    assert entry["top_logprobs"][2]["logprob"] == -9999.0
    assert told(reply, True, 0)["content"][0]["top_logprobs"] == []


def test_models_and_errors_have_openais_shape() -> None:
    assert render_models("toy", 5)["data"] == [
        {"id": "toy", "object": "model", "created": 5, "owned_by": "tongguocr"}
    ]
    for status, kind in ((400, "invalid_request_error"), (503, "overloaded_error"), (504, "server_error")):
        error = render_error(status, "So it is.")
        assert error["error"]["type"] == kind
        assert parse_complaint(json.dumps(error).encode()) == "So it is"
