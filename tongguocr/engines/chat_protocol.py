"""The protocol that OpenAI's servers speak: a picture and a prompt -> a question; an answer -> its text.

With the text comes, for every code point, how sure the model was of it.

vLLM, SGLang, Ollama and llama.cpp all take a POST to /v1/chat/completions with the picture as a data address.
Servers that tell the probability of tokens do so token by token; a token may be several characters, or a part
of one. A code point gets the product over the tokens that hold its bytes. Anything that is no completion is
a `NonsenseError`; probabilities that do not fit the text are left out. Nothing is sent here: server.py does.
"""

from __future__ import annotations

import base64
import json
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image

from tongguocr.page import Char, Pixels
from tongguocr.tokens.codec import LINE_BREAKS
from tongguocr.tokens.transitions import TRANSITIONS, joins_previous

PATH = "/chat/completions"
ALTERNATIVES = 4
"""Other tokens that the server is asked for with each one."""
UNLIKELY = 0.01
"""Other tokens less likely than this are not mentioned."""
LONGEST_COMPLAINT = 200

_NOWHERE = (0.0, 0.0, 0.0, 0.0)
_BREAK = re.compile("|".join([*map(re.escape, TRANSITIONS), f"[{re.escape(''.join(sorted(LINE_BREAKS)))}]"]))
_FENCE = re.compile(r"```\w*")


def find_endpoint(url: str) -> str:
    """The address to ask, from what users write: the server, its /v1, or the whole."""
    plain = url.split("#")[0].split("?")[0].rstrip("/")
    if plain.endswith(PATH):
        return plain
    return plain + (PATH if plain.rsplit("/", 1)[-1] == "v1" else f"/v1{PATH}")


def make_question(model: str, prompt: str, picture: str, max_tokens: int, with_logprobs: bool) -> bytes:
    """The JSON that asks a model about a picture, which is given as a data address."""
    content = [
        {"type": "image_url", "image_url": {"url": picture}},
        {"type": "text", "text": prompt},
    ]
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "user", "content": content}],
        "temperature": 0,
        "max_tokens": max_tokens,
    }
    if with_logprobs:
        body |= {"logprobs": True, "top_logprobs": ALTERNATIVES}
    return json.dumps(body).encode()


def encode_picture(pixels: Pixels) -> str:
    """Pixels as a PNG in a data address."""
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=3)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


class NonsenseError(Exception):
    """The server answered, and it is no completion."""


Mark = tuple[float | None, tuple[tuple[str, float], ...]]
"""How sure a code point is, and what else it may be."""
UNMARKED: Mark = (None, ())


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote."""

    text: str
    marks: tuple[Mark, ...] = ()
    """One for each code point of the text; none at all where the server does not tell."""
    cut: bool = False
    """Whether it was stopped at the number of tokens it might write."""

    def lines(self) -> list[list[Char]]:
        """The lines as written, between line breaks or transition tokens; characters have no boxes yet.

        White space goes, and so do the fences that models put around a text.
        """
        lines, start = [], 0
        for end, following in [
            *((m.start(), m.end()) for m in _BREAK.finditer(self.text)),
            (len(self.text), 0),
        ]:
            if not _FENCE.fullmatch(self.text[start:end].strip()):
                lines.append(self._chars(start, end))
            start = following
        return lines

    def _chars(self, start: int, end: int) -> list[Char]:
        chars: list[Char] = []
        for k in range(start, end):
            char, (sure, others) = self.text[k], self.marks[k] if self.marks else UNMARKED
            if chars and joins_previous(char):
                base = chars.pop()
                both = None if base.confidence is None or sure is None else round(base.confidence * sure, 4)
                chars.append(Char(base.text + char, _NOWHERE, both))
            elif not char.isspace() and unicodedata.category(char) != "Cc":
                chars.append(Char(char, _NOWHERE, sure, others))
        return chars


def parse_answer(data: bytes) -> Answer:
    """The first choice of a chat completion."""
    try:
        choice = json.loads(data)["choices"][0]
        content = choice["message"]["content"]
        cut = choice.get("finish_reason") == "length"
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise NonsenseError("no chat completion") from None
    text = _text_of(content)
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    return Answer(text, _marks(text, tokens) if isinstance(tokens, list) else (), cut)


def _text_of(content: Any) -> str:
    """The text, which some servers give in parts; null is no text. A lone surrogate is no character."""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        content = "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    if content is None:
        return ""
    if not isinstance(content, str):
        raise NonsenseError("a completion without text")
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in content)


def parse_complaint(data: bytes) -> str:
    """What a server says of its refusal, fit for a sentence; empty where it says nothing of use."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    for key in ("error", "message", "detail"):
        said = said.get(key, said) if isinstance(said, dict) else said
    if not isinstance(said, str):
        return ""
    plain = " ".join("".join(char if char.isprintable() else " " for char in said).split())
    return (plain if len(plain) <= LONGEST_COMPLAINT else f"{plain[:LONGEST_COMPLAINT]}…").rstrip(". ")


@dataclass(frozen=True, slots=True)
class _Token:
    data: bytes
    sure: float
    others: tuple[tuple[str, float], ...]


def _marks(text: str, written: Sequence[Any]) -> tuple[Mark, ...]:
    """A mark for each code point; none where the tokens do not spell the text."""
    tokens = [_token(entry) for entry in written]
    known = [token for token in tokens if token is not None]
    at = b"".join(token.data for token in known).find(text.encode())
    if at < 0 or len(known) < len(tokens):
        return ()
    ends = _ends(known)
    marks, k = [], 0
    for char in text:
        stop = at + len(char.encode())
        while ends[k] <= at:
            k += 1
        last = k
        while ends[last] < stop:
            last += 1
        sure = round(math.prod(token.sure for token in known[k : last + 1]), 4)
        alone = known[k].data == char.encode()
        marks.append((sure, tuple(other for other in known[k].others if other[0] != char) if alone else ()))
        at = stop
    return tuple(marks)


def _ends(tokens: Sequence[_Token]) -> list[int]:
    ends, total = [], 0
    for token in tokens:
        total += len(token.data)
        ends.append(total)
    return ends


def _token(entry: Any) -> _Token | None:
    """One token of the list, or None if it is not as it should be."""
    try:
        data, sure = entry.get("bytes"), _probability(entry["logprob"])
        spelled = bytes(data) if data is not None else entry["token"].encode()
        pairs = [
            (other["token"], _probability(other["logprob"])) for other in entry.get("top_logprobs") or ()
        ]
    except (AttributeError, LookupError, TypeError, ValueError):
        return None
    others = tuple((token, p) for token, p in pairs if p >= UNLIKELY and _is_character(token))
    return _Token(spelled, sure, others)


def _probability(value: Any) -> float:
    number = float(value)
    if math.isnan(number):
        raise ValueError("not a number")
    return round(math.exp(min(number, 0.0)), 4)


def _is_character(token: Any) -> bool:
    return isinstance(token, str) and len(token) == 1 and token.isprintable() and not token.isspace()
