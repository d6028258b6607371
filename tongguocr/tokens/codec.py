"""Lines to the target sequence and back: Y_trans = T(l_1) + r_1 + T(l_2) + ... of the paper, section 3.2.

Two ways out. `target_text` writes a string for a Hugging Face tokenizer that holds the 24 transitions as
plain added tokens, and `split_target` cuts such a string into lines again. `Codec` is the id table of our
own small model; its `decode` takes any integers a model can emit and says for each character which
positions of the sequence made it. Nothing here needs a tokenizer library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.files import read_bytes, write_bytes
from tongguocr.page import Line
from tongguocr.tokens.transitions import TRANSITIONS, joins_previous, transitions_of

SPECIALS = ("<pad>", "<bos>", "<eos>")
BYTES = tuple(f"<0x{value:02X}>" for value in range(256))
FIXED = (*SPECIALS, *TRANSITIONS, *BYTES)
"""The tokens that every table starts with; characters follow."""

FORMAT, VERSION = "tongguocr-codec", 1
UNREADABLE = "\ufffd"
LINE_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
"""Everything that `str.splitlines` breaks at."""

_TRANSITION = re.compile("|".join(map(re.escape, TRANSITIONS)))
_FIRST_TRANSITION = len(SPECIALS)
_FIRST_BYTE = _FIRST_TRANSITION + len(TRANSITIONS)
_FIRST_CHARACTER = len(FIXED)


def build_target(lines: Sequence[Line], width: float, height: float) -> list[str]:
    """The pieces of the target: text, transition, text ...; an image of this size holds the lines."""
    for line in lines:
        if fault := _fault(line.text):
            raise InputError(f"Line {line.id}: its text {fault}.")
    pieces = [line.text for line in lines for _ in range(2)][:-1]
    pieces[1::2] = transitions_of(lines, width, height)
    return pieces


def target_text(lines: Sequence[Line], width: float, height: float) -> str:
    """The target as one string. A text that spells out a transition cannot be told from one: InputError."""
    pieces = build_target(lines, width, height)
    for line in lines:
        if found := _TRANSITION.search(line.text):
            raise InputError(f"Line {line.id}: its text holds {found[0]}, which is a transition token.")
    return "".join(pieces)


def split_target(text: str) -> list[str]:
    """The lines of a target string; n transitions make n + 1 lines, some of them perhaps empty."""
    return _TRANSITION.split(text)


@dataclass(frozen=True, slots=True)
class DecodedChar:
    """One character as a reader sees it: a base and the marks or variation selectors on it."""

    text: str
    positions: tuple[int, ...]
    """Where in the id sequence its tokens stood, in order."""


@dataclass(frozen=True, slots=True)
class DecodedLine:
    chars: tuple[DecodedChar, ...] = ()
    transition: str | None = None
    """The token that ended the line; None for the last line."""
    transition_position: int | None = None

    @property
    def text(self) -> str:
        return "".join(char.text for char in self.chars)


@dataclass(frozen=True)
class Codec:
    """Ids for specials, transitions, the 256 bytes and then `characters`, in that order.

    A character outside the table goes out as the bytes of its UTF-8 form, so every text can be written.
    """

    characters: tuple[str, ...]
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    pad, bos, eos = range(len(SPECIALS))

    def __post_init__(self) -> None:
        ids = {char: _FIRST_CHARACTER + index for index, char in enumerate(self.characters)}
        for char in self.characters:
            if len(char) != 1 or _fault(char):
                raise ValueError(f"{char!a} is not a single character of text")
        if len(ids) < len(self.characters):
            raise ValueError("a character stands in the table twice")
        object.__setattr__(self, "_ids", ids)

    def __len__(self) -> int:
        return _FIRST_CHARACTER + len(self.characters)

    @property
    def tokens(self) -> tuple[str, ...]:
        """Every token's name, at the index that is its id."""
        return (*FIXED, *self.characters)

    def encode(self, text: str) -> list[int]:
        """The ids of one line's text, without specials."""
        if fault := _fault(text):
            raise InputError(f"The text {text[:20]!a} {fault}.")
        ids: list[int] = []
        for char in text:
            known = self._ids.get(char)
            ids += [known] if known is not None else [_FIRST_BYTE + byte for byte in char.encode()]
        return ids

    def encode_lines(self, lines: Sequence[Line], width: float, height: float) -> list[int]:
        """The ids of Y_trans, without bos and eos: who trains or scores frames them as it needs."""
        ids: list[int] = []
        for index, piece in enumerate(build_target(lines, width, height)):
            ids += [_FIRST_TRANSITION + TRANSITIONS.index(piece)] if index % 2 else self.encode(piece)
        return ids

    def decode(self, ids: Iterable[int]) -> list[DecodedLine]:
        """The lines that a sequence spells, whatever it holds: n transitions before eos make n + 1 lines."""
        lines: list[DecodedLine] = []
        run: list[tuple[int, int]] = []
        for position, token in self._until_eos(ids):
            if not _FIRST_TRANSITION <= token < _FIRST_BYTE:
                run.append((position, token))
                continue
            chars = self._chars(run)
            lines.append(DecodedLine(chars, TRANSITIONS[token - _FIRST_TRANSITION], position))
            run = []
        return [*lines, DecodedLine(self._chars(run))]

    def _until_eos(self, ids: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Positions and ids up to eos; pad and bos are as if they were not there."""
        for position, token in enumerate(map(int, ids)):
            if token == self.eos:
                return
            if token not in (self.pad, self.bos):
                yield position, token

    def _chars(self, run: Sequence[tuple[int, int]]) -> tuple[DecodedChar, ...]:
        chars: list[DecodedChar] = []
        for text, start, stop in self._read(run):
            positions = tuple(position for position, _ in run[start:stop])
            if chars and joins_previous(text):
                base = chars.pop()
                text, positions = base.text + text, base.positions + positions
            chars.append(DecodedChar(text, positions))
        return tuple(chars)

    def _read(self, run: Sequence[tuple[int, int]]) -> Iterator[tuple[str, int, int]]:
        """Each code point of one line's tokens, with the slice of `run` that spells it."""
        start = 0
        while start < len(run):
            token = run[start][1]
            text, stop = UNREADABLE, start + 1
            if _FIRST_BYTE <= token < _FIRST_CHARACTER:
                tokens = [token for _, token in run[start : start + 4]]
                text, taken = first_code_point(_leading_bytes(tokens))
                stop = start + taken
            elif _FIRST_CHARACTER <= token < len(self):
                text = self.characters[token - _FIRST_CHARACTER]
            yield text, start, stop
            start = stop

    def save(self, path: Path) -> None:
        """Write the table as JSON: format, version, and all tokens in the order of their ids."""
        table = {"format": FORMAT, "version": VERSION, "tokens": self.tokens}
        write_bytes((json.dumps(table, ensure_ascii=False, indent=0) + "\n").encode(), path)


def make_codec(*groups: Iterable[str]) -> Codec:
    """A table of the base vocabulary's characters and the added ones, in this order, each once."""
    return Codec(tuple(dict.fromkeys(char for group in groups for char in group)))


def load_codec(path: Path) -> Codec:
    """Read a table that `Codec.save` wrote."""
    try:
        table = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not a codec file, which is UTF-8 JSON.") from error
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise InputError(f'{path}: is not a codec file, which says "format": "{FORMAT}".')
    if table.get("version") != VERSION:
        raise InputError(f"{path}: is not a codec file of version {VERSION}, the only one known here.")
    tokens = table.get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise InputError(f'{path}: "tokens" has to be a list of strings.')
    if tuple(tokens[: len(FIXED)]) != FIXED:
        raise InputError(f"{path}: the first {len(FIXED)} tokens are not those of version {VERSION}.")
    try:
        return Codec(tuple(tokens[len(FIXED) :]))
    except ValueError as error:
        raise InputError(f"{path}: {error}.") from error


def _fault(text: str) -> str | None:
    """Why this cannot be the text of one line, or None."""
    if not LINE_BREAKS.isdisjoint(text):
        return "holds a line break"
    if any("\ud800" <= char <= "\udfff" for char in text):
        return "holds a lone surrogate, which is no character"
    return None


def _leading_bytes(tokens: Sequence[int]) -> bytes:
    """The byte tokens at the start of these, as bytes."""
    data = bytearray()
    for token in tokens:
        if not _FIRST_BYTE <= token < _FIRST_CHARACTER:
            break
        data.append(token - _FIRST_BYTE)
    return bytes(data)


def first_code_point(data: bytes) -> tuple[str, int]:
    """The code point at the start of `data` and its length in bytes.

    An invalid stretch is U+FFFD and as long as Python's errors="replace" would make it. So is a line break:
    a line never holds one.
    """
    lead = data[0]
    length = 1 if lead < 0xC2 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4 if lead < 0xF5 else 1
    try:
        char = data[:length].decode()
    except UnicodeDecodeError as error:
        return UNREADABLE, error.end
    return (UNREADABLE if char in LINE_BREAKS else char), length
