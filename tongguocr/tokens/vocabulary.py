"""A corpus and a tokenizer in, the characters that deserve a token of their own out.

Paper, section 3.2, "Character-Level Vocabulary Expansion". SentencePiece mines the candidates C_CJK from
the corpus, the selection rule compares them with the original tokenizer, and `grow` adds the selected ones
and the 24 transitions to it. docs/tokens.md says why each setting is what it is.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.characters import IDEOGRAPH_BLOCKS, ideograph_block, is_ideograph
from tongguocr.errors import InputError, MissingExtraError
from tongguocr.files import write_bytes
from tongguocr.tokens.base_tokenizer import BaseTokenizer, open_base
from tongguocr.tokens.corpus import corpus_files, count_ideographs, read_runs, text_files
from tongguocr.tokens.transitions import TRANSITIONS

if TYPE_CHECKING:
    from tokenizers import Tokenizer


MAX_CHARACTERS = 5_000_000
"""So many characters SentencePiece sees as running text; the rest of the corpus enters as counts."""
MAX_WEIGHT = 100
"""A count's largest weight. With a total below 2^25 the coverage, a 32-bit float, cannot reach 1.0
before the last rare character is in; beyond it the rarest are dropped without a word."""
MERGES = 16
"""Pieces of more than one character; the rule discards them all."""


def mine(corpora: Sequence[Path], max_characters: int = MAX_CHARACTERS) -> dict[str, int]:
    """The candidate characters of a corpus, and how often each occurs."""
    counts = count_ideographs(corpora)
    pieces = _train_pieces(_sentences(text_files(corpora), counts, max_characters), len(counts) + MERGES)
    candidates = {piece.removeprefix("\u2581") for piece in pieces}
    return {char: counts[char] for char in candidates if is_ideograph(char)}


def _sentences(files: Iterable[Path], counts: Counter[str], max_characters: int) -> Iterator[str]:
    """SentencePiece's input: `sentence<tab>weight`, running text first and then what it left out."""
    seen: Counter[str] = Counter()
    left = max_characters
    for run in (run for file in files for run in read_runs(file)):
        left -= len(run)
        if left < 0:
            break
        seen.update(run)
        yield f"{run}\t1"
    for char, count in (counts - seen).items():
        yield f"{char}\t{min(count, MAX_WEIGHT)}"


def _train_pieces(sentences: Iterator[str], size: int) -> list[str]:
    """The pieces of a BPE model trained on these, without its special tokens."""
    try:
        import sentencepiece
    except ImportError as error:
        raise MissingExtraError("Mining a vocabulary", "vocab") from error
    model = io.BytesIO()
    specials = 3
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=sentences,
        model_writer=model,
        model_type="bpe",
        input_format="tsv",
        vocab_size=size + specials,
        hard_vocab_limit=False,  # a corpus may be too small for the merges
        character_coverage=1.0,
        normalization_rule_name="identity",  # the default would fold compatibility ideographs
        add_dummy_prefix=False,
        byte_fallback=False,
        minloglevel=2,
    )
    trained = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    ids = range(trained.get_piece_size())
    return [trained.id_to_piece(i) for i in ids if not (trained.is_control(i) or trained.is_unknown(i))]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One mined character and what the original tokenizer makes of it."""

    char: str
    count: int
    added: bool
    """It satisfies the rule."""
    unknown: bool
    """The tokenizer has no token for it: it comes out as the unknown token, or as nothing."""
    comes_back: bool
    """decode(encode(char)) is char."""


def select(counts: Mapping[str, int], base: BaseTokenizer) -> list[Candidate]:
    """Apply the selection rule to every candidate, the most frequent first, then by code point."""
    order = sorted(counts, key=lambda char: (-counts[char], char))
    return [_apply_rule(char, counts[char], base) for char in order]


def _apply_rule(char: str, count: int, base: BaseTokenizer) -> Candidate:
    """The paper's rule: one ideograph, absent from V_0, and more than one token by Tok_0."""
    ids = base.encode(char)
    decoded = base.decode(ids)
    inside = char in base.vocabulary
    return Candidate(
        char=char,
        count=count,
        added=is_ideograph(char) and not inside and len(ids) > 1,
        unknown=not inside and (base.unknown in ids or not decoded),
        comes_back=decoded == char,
    )


def report(candidates: Sequence[Candidate]) -> str:
    """A table by Unicode block, and below it what the table does not show."""
    blocks = {
        name: [c for c in candidates if ideograph_block(c.char) == name] for name, *_ in IDEOGRAPH_BLOCKS
    }
    rows = [("block", "candidates", "added", "already one token")]
    for name, members in [*blocks.items(), ("all", list(candidates))]:
        added = sum(c.added for c in members)
        already = sum(not c.added and not c.unknown for c in members)
        if members or name == "all":
            rows.append((name, f"{len(members)}", f"{added}", f"{already}"))
    table = [f"{block:<35}  {total:>10}  {added:>7}  {already:>17}" for block, total, added, already in rows]
    return "\n".join([*table, *_remarks(candidates)])


def _remarks(candidates: Sequence[Candidate]) -> list[str]:
    unknown = sum(c.unknown and not c.added for c in candidates)
    added_unknown = sum(c.unknown and c.added for c in candidates)
    altered = [c for c in candidates if not c.comes_back]
    lost = sum(not c.added for c in altered)
    remarks = []
    if unknown:
        remarks.append(f"{unknown} not added are unknown to the tokenizer: a single unknown token, or none.")
    if added_unknown:
        remarks.append(f"{added_unknown} added are unknown to the tokenizer: a marker and an unknown token.")
    if altered:
        remarks.append(
            f"{len(altered)} do not come back as themselves from the tokenizer, {lost} of them not added."
        )
    return remarks


def check_request(output: Path, min_count: int) -> None:
    """Refuse what cannot be done before anything is read."""
    if min_count < 1:
        raise InputError(f"--min-count has to be 1 or more, not {min_count}.")
    if output.is_dir() or not output.parent.is_dir():
        raise InputError(f"{output}: cannot be written, because it is a folder or its folder does not exist.")


def make_vocabulary(corpora: Sequence[Path], tokenizer: Path, output: Path, min_count: int = 1) -> str:
    """The command `vocab`: write the added characters, one a line, and return the report."""
    check_request(output, min_count)
    if output.resolve() in {file.resolve() for corpus in corpora for file in corpus_files(corpus)}:
        raise InputError(f"{output}: is a file of the corpus and would be overwritten.")
    base = open_base(tokenizer)
    counts = {char: count for char, count in mine(corpora).items() if count >= min_count}
    try:
        candidates = select(counts, base)
    except Exception as error:  # for example an unknown token that the vocabulary lacks
        raise InputError(f"{tokenizer}: the tokenizer fails on a single character ({error}).") from error
    added = "".join(f"{candidate.char}\n" for candidate in candidates if candidate.added)
    write_bytes(added.encode(), output)
    return report(candidates)


def grow(tokenizer: Tokenizer, characters: Iterable[str], output: Path) -> dict[str, int]:
    """Save a copy of a tokenizer with the 24 transitions and these characters; return their ids.

    Transitions come first, so that their ids do not depend on the characters. All are plain tokens: special
    ones would vanish from `decode(skip_special_tokens=True)`, and normalised ones could be folded.
    """
    from tokenizers import AddedToken

    taken = set(tokenizer.get_vocab(with_added_tokens=True).values())
    grown: Tokenizer = type(tokenizer).from_str(tokenizer.to_str())
    tokens = list(dict.fromkeys([*TRANSITIONS, *characters]))
    new = [token for token in tokens if grown.token_to_id(token) is None]
    grown.add_tokens([AddedToken(token, special=False, normalized=False) for token in tokens])
    vocabulary = grown.get_vocab(with_added_tokens=True)
    ids = {token: vocabulary[token] for token in tokens}
    if not taken.isdisjoint(ids[token] for token in new):
        raise InputError(f"{output}: not written, because the tokenizer's ids have gaps that new ones hit.")
    write_bytes(grown.to_str(pretty=True).encode(), output)
    return ids
