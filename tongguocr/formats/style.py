"""How a page's text is written: what the formats leave to the one who asks.

`notes` and `flow` act on plain text and Markdown, `script` on every format. The other formats hold lines and
notes as they are, whatever the style.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from tongguocr.errors import InputError

Notes: TypeAlias = Literal["lines", "inline", "omit"]
"""Double-row notes: as lines of their own, in 〔〕 behind the text before them, or left out."""
Script: TypeAlias = Literal["keep", "simplified"]
"""Characters as they were read, or each in its simplified form."""
NOTES: tuple[Notes, ...] = get_args(Notes)
SCRIPTS: tuple[Script, ...] = get_args(Script)


@dataclass(frozen=True, slots=True)
class Style:
    notes: Notes | None = None
    """None: as suits the format, lines of their own in plain text and brackets in Markdown."""
    flow: bool = False
    """Lines that follow each other and are of one kind become one."""
    script: Script = "keep"

    def __post_init__(self) -> None:
        if self.notes is not None and self.notes not in NOTES:
            raise InputError(f"notes: {self.notes!r} is not one of {', '.join(NOTES)}.")
        if self.script not in SCRIPTS:
            raise InputError(f"script: {self.script!r} is not one of {', '.join(SCRIPTS)}.")
