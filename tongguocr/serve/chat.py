"""OpenAI's chat completions: a request's JSON in, the picture and options out; a reply in, its JSON out.

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
from tongguocr.serve.models import Reply, Token
from tongguocr.serve.queue import Bounds, StatusError

MAX_ALTERNATIVES = 20
"""Of `top_logprobs`, by OpenAI's own rule."""
IMPOSSIBLE = -9999.0
"""The logarithm of nothing, as OpenAI writes it: JSON has no infinity."""


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """What a client wants to know about one picture."""

    picture: bytes
    max_tokens: int
    logprobs: bool = False
    alternatives: int = 0
    """Other tokens that are told beside each, OpenAI's `top_logprobs`."""


def parse_request(data: bytes, model: str, bounds: Bounds = Bounds()) -> CompletionRequest:
    """What a client asks for, if it is for this model and can be done."""
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
    max_tokens = _whole(body, "max_completion_tokens", 1) or _whole(body, "max_tokens", 1) or bounds.tokens
    alternatives = _whole(body, "top_logprobs", 0) or 0
    if alternatives > MAX_ALTERNATIVES or (alternatives and not logprobs):
        raise InputError(f"top_logprobs must be at most {MAX_ALTERNATIVES}, and needs logprobs.")
    return CompletionRequest(_picture(body), min(max_tokens, bounds.tokens), logprobs, alternatives)


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


def render_completion(reply: Reply, request: CompletionRequest, model: str) -> dict[str, Any]:
    """The reply as a chat completion."""
    message = {"role": "assistant", "content": reply.text, "refusal": None}
    logprobs = {"content": [_entry(t, request.alternatives) for t in reply.tokens], "refusal": None}
    choice = {
        "index": 0,
        "message": message,
        "logprobs": logprobs if request.logprobs and reply.has_probabilities else None,
        "finish_reason": "length" if reply.truncated else "stop",
    }
    written = len(reply.tokens)
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [choice],
        "usage": {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": written,
            "total_tokens": reply.prompt_tokens + written,
        },
    }


def _entry(token: Token, alternatives: int) -> dict[str, Any]:
    """A token with its alternatives; OpenAI counts it among them."""
    likely = [(token.text, token.data, token.probability), *token.alternatives][:alternatives]
    return _logprob(token.text, token.data, token.probability) | {
        "top_logprobs": [_logprob(*one) for one in likely]
    }


def _logprob(text: str, data: bytes, probability: float) -> dict[str, Any]:
    logprob = math.log(probability) if probability > 0 else IMPOSSIBLE
    return {"token": text, "logprob": logprob, "bytes": list(data)}


def render_models(model: str, created: int) -> dict[str, Any]:
    """The list of models, in OpenAI's shape: the one that is served."""
    entry = {"id": model, "object": "model", "created": created, "owned_by": "tongguocr"}
    return {"object": "list", "data": [entry]}


def render_error(status: int, sentence: str) -> dict[str, Any]:
    """A refusal in OpenAI's shape, which our client and others look for the sentence in."""
    kinds = {401: "authentication_error", 404: "not_found_error", 503: "overloaded_error"}
    kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": sentence, "type": kind, "param": None, "code": status}}
