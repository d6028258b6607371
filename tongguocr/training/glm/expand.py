"""Vocabulary expansion of GLM-OCR (paper 3.2, "Character-Level Vocabulary Expansion"; 4.3).

In: a model and the characters that `tongguocr vocab` chose. Out: the same model whose tokenizer has a token
for each of them and for the 24 transitions, and whose embedding tables have their rows. New rows get
the library's default values, as in the paper: all but equal, near the mean of the old ones. `spread` begins
instead where each character was: at the mean of its former byte pieces; transitions at the newline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import torch
from torch import Tensor

from tongguocr.characters import is_ideograph
from tongguocr.engines.glm.pretrained import PretrainedModel
from tongguocr.engines.glm.prompt import Prompt, make_prompt
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.tokens.transitions import TRANSITIONS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Start: TypeAlias = Literal["default", "spread"]
STARTS: tuple[Start, ...] = get_args(Start)
MULTIPLE = 64
"""Tables have a multiple of so many rows, which matrix units like."""
NOISE = 0.1
"""Noise on spread rows, in standard deviations of the old ones: characters of the same pieces in another
order must differ."""
SEED = 1
"""Of the new rows' values."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """What an expansion added."""

    characters: int
    known: int
    """Characters that were one token before and stay as they are."""
    transitions: int
    tokens: tuple[int, int]
    """Before and after."""
    rows: tuple[int, int]
    spare: int
    """New tokens on rows that were there already, as padding, and keep their values."""
    start: Start

    def describe(self) -> str:
        """A few lines for the user."""
        lines = [
            f"{self.characters} characters and {self.transitions} transitions added;"
            f" {self.known} characters are one token already.",
            f"Tokens: {self.tokens[0]} before, {self.tokens[1]} now. Embedding rows: {self.rows[0]} before,"
            f" {self.rows[1]} now; new values: {self.start}.",
        ]
        if self.spare and self.start == "default":
            lines.append(
                f"{self.spare} of the new tokens lie on rows that were there, and keep their values."
            )
        return "\n".join(lines)


def read_added(path: Path) -> list[str]:
    """The characters of a file that `tongguocr vocab` wrote, one a line."""
    rows = decode_utf8(read_bytes(path), path).split("\n")
    characters = [row.removesuffix("\r") for row in rows]
    for number, char in enumerate(characters, start=1):
        if char and not is_ideograph(char):
            raise InputError(f"{path}: line {number} is not one ideograph.")
    found = list(dict.fromkeys(char for char in characters if char))
    if not found:
        raise InputError(f"{path}: there are no characters here.")
    return found


def expand(
    pretrained: PretrainedModel,
    characters: Sequence[str],
    transitions: bool = True,
    start: Start = "default",
) -> tuple[PretrainedModel, Expansion]:
    """The model with tokens for these characters, and what was added; its tables are changed in place."""
    before = pretrained.prompt
    new = [char for char in characters if len(before.encode(char)) > 1]
    wanted = [*TRANSITIONS, *new] if transitions else list(new)
    if transitions and before.transitions:
        wanted = new
    grown = replace(pretrained, prompt=make_prompt(add_tokens(before.tokenizer, wanted), "the tokenizer"))
    tokens, rows = (len(before.spellings), len(grown.prompt.spellings)), pretrained.rows
    model = pretrained.model
    resize(model, tokens[1])
    if start == "spread":
        spread_rows(model, before, grown.prompt, wanted)
    check(grown.prompt, wanted)
    spare = max(min(rows, tokens[1]) - tokens[0], 0)
    count = len(wanted) - len(new)
    added = Expansion(len(new), len(characters) - len(new), count, tokens, (rows, grown.rows), spare, start)
    return grown, added


def add_tokens(tokenizer: Tokenizer, wanted: Sequence[str]) -> Tokenizer:
    """A copy with these tokens: plain ones, since special ones vanish when a server decodes."""
    from tokenizers import AddedToken

    grown: Tokenizer = type(tokenizer).from_str(tokenizer.to_str())
    taken = set(grown.get_vocab(with_added_tokens=True).values())
    grown.add_tokens([AddedToken(token, special=False, normalized=False) for token in wanted])
    if not taken.isdisjoint(grown.token_to_id(token) for token in wanted):
        raise InputError("The tokenizer's ids have gaps that new tokens would fall into; nothing was added.")
    return grown


def resize(model: Any, tokens: int) -> None:
    """Rows for so many tokens, with the library's own values; never fewer rows than there were."""
    if tokens <= model.get_input_embeddings().weight.shape[0]:
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        model.resize_token_embeddings(tokens, pad_to_multiple_of=MULTIPLE)
    # The library forgets this one.
    model.model.language_model.vocab_size = model.config.text_config.vocab_size


@torch.no_grad()
def spread_rows(model: Any, before: Prompt, after: Prompt, wanted: Sequence[str]) -> None:
    """Start each new token where its text was, on the input side and, if it is another table, the output."""
    newline = before.encode("\n")
    pieces = [newline if token in TRANSITIONS else before.encode(token) for token in wanted]
    ids = [after.tokenizer.token_to_id(token) for token in wanted]
    tables = {id(table): table for table in _tables(model)}
    for table in tables.values():
        rng = torch.Generator().manual_seed(SEED)
        old = table[: len(before.spellings)]
        noise = torch.randn(len(ids), table.shape[1], generator=rng) * NOISE * old.float().std()
        means = torch.stack([table[piece].float().mean(0) for piece in pieces]) if ids else noise
        table[ids] = (means + noise).to(table.dtype)


def _tables(model: Any) -> list[Tensor]:
    return [model.get_input_embeddings().weight, model.get_output_embeddings().weight]


def check(prompt: Prompt, wanted: Sequence[str]) -> None:
    """Every new token is one token and comes back as itself."""
    for token in wanted:
        ids = prompt.encode(token)
        if len(ids) != 1 or prompt.tokenizer.decode(ids, skip_special_tokens=True) != token:
            raise InputError(f"The tokenizer does not take {token!r} as one token; nothing was written.")
