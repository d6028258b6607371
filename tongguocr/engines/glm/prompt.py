"""What the model is asked and what its tokens say: prompt and answer as ids, and ids as lines of characters.

In: a byte-level tokenizer. Out: the text-recognition prompt of GLM-OCR's own chat template, the ids of an
answer (paper 3.2: text with transitions), and for any ids that a model can emit the lines that they spell,
each character with the tokens that made it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tongguocr.errors import InputError
from tongguocr.tokens.codec import UNREADABLE, DecodedChar, DecodedLine, first_code_point
from tongguocr.tokens.transitions import TRANSITIONS, joins_previous

if TYPE_CHECKING:
    from tokenizers import Tokenizer

IMAGE = "<|image|>"
BEFORE = "[gMASK]<sop><|user|>\n<|begin_of_image|>"
AFTER = "<|end_of_image|>Text Recognition:<|assistant|>\n"
"""The prompt around the image tokens."""
ENDS = ("<|endoftext|>", "<|user|>")
"""Tokens that end an answer; the first one is taught, and fills up."""
SPECIALS = (
    *("<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>"),
    *("<|assistant|>", "<|observation|>", "<|begin_of_image|>", "<|end_of_image|>", "<|begin_of_video|>"),
    *("<|end_of_video|>", "<|image|>", "<|video|>"),
)
"""Those of the published tokenizer's special tokens that the model or its prompt needs, in its order."""
NEWLINE = "\n"


@dataclass(frozen=True)
class Prompt:
    """The prompt and the answers to it, in the ids of one tokenizer."""

    tokenizer: Tokenizer
    before: tuple[int, ...]
    after: tuple[int, ...]
    image: int
    ends: tuple[int, ...]
    transitions: dict[int, str]
    """Those that the tokenizer has; all 24 or none."""
    spellings: tuple[bytes | None, ...] = field(repr=False)
    """What each token spells; None for special ones, which spell nothing."""

    @property
    def end(self) -> int:
        """The end token that is taught."""
        return self.ends[0]

    @property
    def pad(self) -> int:
        """The token that fills up sequences."""
        return self.ends[0]

    def encode(self, text: str) -> list[int]:
        """The ids of a text, nothing added."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def ids(self, image_tokens: int) -> list[int]:
        """The ids of the prompt about a picture of so many tokens."""
        return [*self.before, *[self.image] * image_tokens, *self.after]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """How many characters begin in each token."""
        return tuple(sum(byte & 0xC0 != 0x80 for byte in spelling or b"") for spelling in self.spellings)

    def ends_line(self, token: int) -> bool:
        """Whether a token parts two lines: a transition or a newline."""
        return token in self.transitions or self.spelling(token) == b"\n"

    def spelling(self, token: int) -> bytes | None:
        """The bytes of a token; of a row that no token has, an unreadable character."""
        return self.spellings[token] if 0 <= token < len(self.spellings) else UNREADABLE.encode()

    def decode(self, ids: Iterable[int]) -> list[DecodedLine]:
        """The lines of any ids up to an end token: transitions and newlines part them, nothing else does."""
        lines: list[DecodedLine] = []
        run: list[tuple[int, int]] = []
        for position, token in enumerate(map(int, ids)):
            if token in self.ends:
                break
            if token in self.transitions:
                *whole, rest = _split(run)
                lines += [DecodedLine(chars) for chars in whole]
                lines.append(DecodedLine(rest, self.transitions[token], position))
                run = []
            else:
                run += [(byte, position) for byte in self.spelling(token) or b""]
        return [*lines, *(DecodedLine(chars) for chars in _split(run))]


def _split(run: Sequence[tuple[int, int]]) -> list[tuple[DecodedChar, ...]]:
    """Bytes and the positions of their tokens -> characters, parted at newlines."""
    lines: list[list[DecodedChar]] = [[]]
    for text, positions in _code_points(run):
        if text == NEWLINE:
            lines.append([])
        elif lines[-1] and joins_previous(text):
            base = lines[-1].pop()
            lines[-1].append(DecodedChar(base.text + text, _merge_positions(base.positions, positions)))
        else:
            lines[-1].append(DecodedChar(text, positions))
    return [tuple(line) for line in lines]


def _merge_positions(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _code_points(run: Sequence[tuple[int, int]]) -> Iterator[tuple[str, tuple[int, ...]]]:
    start = 0
    while start < len(run):
        data = bytes(byte for byte, _ in run[start : start + 4])
        text, taken = (NEWLINE, 1) if data[:1] == b"\n" else first_code_point(data)
        yield text, tuple(dict.fromkeys(position for _, position in run[start : start + taken]))
        start += taken


def make_prompt(tokenizer: Tokenizer, name: str) -> Prompt:
    """The prompt of a tokenizer; `name` is what a sentence about it begins with."""
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    lacking = [token for token in SPECIALS if token not in vocabulary]
    if lacking:
        raise InputError(f"{name}: this is not GLM-OCR's tokenizer, it has no token {lacking[0]}.")
    if json.loads(tokenizer.to_str()).get("decoder", {}).get("type") != "ByteLevel":
        raise InputError(f"{name}: this is not a byte-level tokenizer, as GLM-OCR's is.")
    found = {vocabulary[token]: token for token in TRANSITIONS if token in vocabulary}
    if found and len(found) < len(TRANSITIONS):
        raise InputError(f"{name}: the tokenizer has {len(found)} of the {len(TRANSITIONS)} transitions.")
    before, after = (tuple(tokenizer.encode(t, add_special_tokens=False).ids) for t in (BEFORE, AFTER))
    ends = tuple(vocabulary[token] for token in ENDS)
    return Prompt(tokenizer, before, after, vocabulary[IMAGE], ends, found, _spellings(tokenizer))


def _spellings(tokenizer: Tokenizer) -> tuple[bytes | None, ...]:
    added = tokenizer.get_added_tokens_decoder()
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    spelled: list[bytes | None] = [None] * (max(vocabulary.values()) + 1)
    alphabet = byte_alphabet()
    for token, number in vocabulary.items():
        if number not in added:
            spelled[number] = bytes(alphabet[char] for char in token)
        elif not added[number].special:
            spelled[number] = token.encode()
    return tuple(spelled)


def byte_alphabet() -> dict[str, int]:
    """The visible characters by which byte-level tokenizers write bytes: printable ones are themselves."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + k): byte for k, byte in enumerate(hidden)}
