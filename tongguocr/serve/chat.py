"""OpenAI's chat completions: a request's JSON in, the picture and the wishes out; a reply in, its JSON out.

The one picture of the messages is read; their words are not looked at, since the models know one task. It
must be a data address: nothing is ever fetched for a client. Reading is greedy, so temperature and seed
change nothing. What cannot be done (streams, several choices) is refused rather than passed over.
"""

from __future__ import annotations

import base64
import binascii
import math
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongguocr.errors import InputError
from tongguocr.formats.page_json import load_json
from tongguocr.serve.answers import Reply, Token
from tongguocr.serve.turns import Bounds, StatusError

MOST_RIVALS = 20
"""Of `top_logprobs`, by OpenAI's own rule."""
IMPOSSIBLE = -9999.0
"""The logarithm of nothing, as OpenAI writes it: JSON has no infinity."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is wanted of one picture."""

    picture: bytes
    most: int
    """Tokens."""
    logprobs: bool = False
    rivals: int = 0


def parse_question(data: bytes, model: str, bounds: Bounds = Bounds()) -> Question:
    """The question in a request, if it is one for this model."""
    body = load_json(data, Path("The request"))
    if not isinstance(body, dict):
        raise InputError("The request must be a JSON object.")
    if (asked := body.get("model", model)) != model:
        raise StatusError(404, f"There is no model {str(asked)[:80]!r} here; take {model!r}.")
    if body.get("stream"):
        raise InputError("stream: answers come whole from this server; ask without it.")
    if body.get("n") not in (None, 1):
        raise InputError("n: there is one answer, the likeliest; ask for 1.")
    logprobs = body.get("logprobs") or False
    if not isinstance(logprobs, bool):
        raise InputError("logprobs must be true or false.")
    most = _whole(body, "max_completion_tokens", 1) or _whole(body, "max_tokens", 1) or bounds.tokens
    rivals = _whole(body, "top_logprobs", 0) or 0
    if rivals > MOST_RIVALS or (rivals and not logprobs):
        raise InputError(f"top_logprobs must be at most {MOST_RIVALS}, and needs logprobs.")
    return Question(_picture(body), min(most, bounds.tokens), logprobs, rivals)


def _whole(body: dict[str, Any], name: str, least: int) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} must be a whole number from {least}.")
    return value


def _picture(body: dict[str, Any]) -> bytes:
    """The file in the one picture of the messages."""
    addresses = list(_addresses(body.get("messages")))
    if len(addresses) != 1:
        raise InputError(f"messages: one picture is read at a time, and here are {len(addresses)}.")
    head, _, data = addresses[0].partition(",")
    if not head.startswith("data:image/") or not head.endswith(";base64"):
        raise InputError(
            "image_url: the picture must be in the request, as data:image/…;base64,…; nothing is fetched."
        )
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("image_url: what follows base64 is not base64.") from None


def _addresses(messages: Any) -> Iterator[str]:
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise InputError("messages must be a list of objects.")
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, dict) or part.get("type") != "image_url":
                continue
            image = part.get("image_url")
            address = image.get("url") if isinstance(image, dict) else image
            if not isinstance(address, str):
                raise InputError('image_url must be an object with "url".')
            yield address


def render_completion(reply: Reply, question: Question, model: str) -> dict[str, Any]:
    """The reply as a chat completion."""
    message = {"role": "assistant", "content": reply.text, "refusal": None}
    told = {"content": [_entry(t, question.rivals) for t in reply.tokens], "refusal": None}
    choice = {
        "index": 0,
        "message": message,
        "logprobs": told if question.logprobs and reply.sure else None,
        "finish_reason": "length" if reply.cut else "stop",
    }
    written = len(reply.tokens)
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [choice],
        "usage": {
            "prompt_tokens": reply.asked,
            "completion_tokens": written,
            "total_tokens": reply.asked + written,
        },
    }


def _entry(token: Token, rivals: int) -> dict[str, Any]:
    """A token with its rivals; OpenAI counts it among them."""
    likely = [(token.text, token.data, token.sure), *token.others][:rivals]
    return _probability(token.text, token.data, token.sure) | {
        "top_logprobs": [_probability(*one) for one in likely]
    }


def _probability(text: str, data: bytes, sure: float) -> dict[str, Any]:
    logprob = math.log(sure) if sure > 0 else IMPOSSIBLE
    return {"token": text, "logprob": logprob, "bytes": list(data)}


def render_models(model: str, created: int) -> dict[str, Any]:
    entry = {"id": model, "object": "model", "created": created, "owned_by": "tongguocr"}
    return {"object": "list", "data": [entry]}


def render_error(status: int, sentence: str) -> dict[str, Any]:
    """A refusal in OpenAI's shape, which our client and others look for the sentence in."""
    kinds = {401: "authentication_error", 404: "not_found_error", 503: "overloaded_error"}
    kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": sentence, "type": kind, "param": None, "code": status}}
