"""What browser and server say to each other. TypeScript's types are made of these, by FastAPI's OpenAPI.

Boxes are pixels of the page as it is shown, upright, top left first. A character is one entry of `chars`: a
base character with its marks and variation selectors.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat

from tongguocr.page import Direction, Kind

MAX_EDITS = 10_000
"""Of one call."""
MAX_CHARS = 100_000
"""Of one line or one insertion."""

State: TypeAlias = Literal["unread", "reading", "read", "proofread", "failed"]


def _writable(text: str) -> str:
    """The text, if every format can hold it: no line break, no control character, no half of a pair."""
    for char in text:
        if char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff" or char in "\ufffe\uffff":
            raise ValueError(f"a text holds U+{ord(char):04X}, which is no written character")
    return text


Text = Annotated[str, Field(max_length=MAX_CHARS), AfterValidator(_writable)]
OneChar = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_writable)]
"""One character with its marks."""
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_writable)]
"""An id of a line, unique on its page."""
Who = Annotated[str, Field(max_length=100), AfterValidator(_writable)]
Coordinate = Annotated[FiniteFloat, Field(ge=-1e9, le=1e9)]
BoxData: TypeAlias = tuple[Coordinate, Coordinate, Coordinate, Coordinate]
PointData: TypeAlias = tuple[Coordinate, Coordinate]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class CharData(_Model):
    """One character."""

    text: OneChar
    box: BoxData
    confidence: Share | None = None
    """None where nobody said how sure it is."""
    candidates: list[tuple[Text, Share]] = []
    """Other readings, best first."""
    picture: Text | None = None
    """What the picture alone says, where the language model chose another of the candidates."""
    surprise: FiniteFloat | None = None
    """How unlikely the language model finds it in its place, in bits, if that is a lot."""
    doubt: bool = False
    """Whether it should be looked at; the server tells, and takes no notice of what it is told."""


class LineData(_Model):
    """One line; every character of `text` has an entry in `chars`."""

    id: Name
    box: BoxData
    points: Annotated[list[PointData], Field(min_length=3, max_length=10_000)] | None = None
    kind: Kind = "main"
    direction: Direction = "top-to-bottom"
    column: int | None = None
    """Which column of the page it belongs to, from 0; the server tells."""
    row: int | None = None
    """1 for the second row of a double-row note, else 0; the server tells."""
    text: Text = ""
    confidence: Share | None = None
    chars: Annotated[list[CharData], Field(max_length=MAX_CHARS)] = []
    """In an edit it may be left out: then the characters of `text` are spread over the box."""


class PageData(_Model):
    """A page."""

    width: int
    height: int
    lines: list[LineData]


class TextEdit(_Model):
    """Replaces `count` characters from `at` on."""

    op: Literal["text"]
    line: Name
    at: Annotated[int, Field(ge=0)]
    count: Annotated[int, Field(ge=0)]
    insert: Annotated[list[OneChar], Field(max_length=MAX_CHARS)]
    keep: bool = False
    """The confidence of what is replaced stays: the doubt is not settled."""


class LineEdit(_Model):
    """Changes a line; its characters' boxes move with its box."""

    op: Literal["line"]
    line: Name
    box: BoxData | None = None
    points: Annotated[list[PointData], Field(max_length=10_000)] | None = None
    """An empty list takes the outline away."""
    kind: Kind | None = None
    direction: Direction | None = None


class SetEdit(_Model):
    """Sets a line to exactly this, in its place: the inverse of any edit of one line."""

    op: Literal["set"]
    line: LineData


class AddEdit(_Model):
    """A new line, before another or at the end."""

    op: Literal["add"]
    line: LineData
    before: Name | None = None


class DeleteEdit(_Model):
    """Takes a line away."""

    op: Literal["delete"]
    line: Name


class SplitEdit(_Model):
    """The characters from `at` on become a line of their own right behind it."""

    op: Literal["split"]
    line: Name
    at: Annotated[int, Field(ge=0)]
    new_line: Annotated[Name, Field(alias="newLine")]

    model_config = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)


class JoinEdit(_Model):
    """The characters of `next` are appended to `line`, and `next` goes."""

    op: Literal["join"]
    line: Name
    next: Name


class MoveEdit(_Model):
    """Another place in reading order: before a line, or at the end."""

    op: Literal["move"]
    line: Name
    before: Name | None = None


class RestoreEdit(_Model):
    """Sets all lines of the page. It touches every line: `set`, `add` and `delete` get in nobody's way."""

    op: Literal["restore"]
    lines: Annotated[list[LineData], Field(max_length=100_000)]


Edit = Annotated[
    TextEdit | LineEdit | SetEdit | AddEdit | DeleteEdit | SplitEdit | JoinEdit | MoveEdit | RestoreEdit,
    Field(discriminator="op"),
]


class PageEntry(_Model):
    """A page in the list of a book."""

    number: int
    name: str
    width: int
    height: int
    """0 as long as nobody looked."""
    state: State
    doubts: int
    version: int
    message: str | None = None
    """Why it failed."""


class Settings(_Model):
    """What pages are read with."""

    engine: str
    weights: str
    """One of `weightsChoices`."""
    can_read: Annotated[bool, Field(alias="canRead")]
    engines: list[str]
    weights_choices: Annotated[list[str], Field(alias="weightsChoices")]
    """`package`, `given` (--weights), and tuned weights in the book's folder, by their folders' names."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)


class BookData(_Model):
    """A book."""

    title: str
    id: str
    pages: list[PageEntry]
    settings: Settings
    formats: list[str]
    ready_for_training: Annotated[int, Field(alias="readyForTraining")]
    """Pages marked as proofread."""
    train_command: Annotated[str, Field(alias="trainCommand")]

    model_config = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)


class PageAnswer(_Model):
    """A page with its state."""

    number: int
    version: int
    state: State
    page: PageData
    machine: PageData | None
    """What was read last, before all edits."""
    undoable: bool
    """Whether there were edits: `versions/{v}` has what was before each."""


class EditsRequest(_Model):
    """Edits, to be applied in their order, all or none."""

    base: Annotated[int, Field(ge=0)]
    """The version that the client had."""
    client: Name
    """Who of several tabs: unique, made by the client."""
    who: Who = ""
    id: Annotated[str, Field(max_length=100), AfterValidator(_writable)] = ""
    """Of this call: sent again, with the same id, it is not applied twice."""
    edits: Annotated[list[Edit], Field(min_length=1, max_length=MAX_EDITS)]


class EditsAnswer(_Model):
    """The page after the edits."""

    version: int
    page: PageData
    inverse: list[Edit]
    """Edits that take these back; none where the call had been answered before."""


class Record(_Model):
    """One entry of a page's history."""

    version: int
    kind: Literal["edits", "read", "state", "file"]
    """Edits; a reading; the mark of a proofread page; a file that another program changed."""
    time: str
    who: str = ""
    client: str = ""
    edits: list[Edit] = []
    proofread: bool | None = None


class Conflict(_Model):
    """Others changed the same lines since `base`: nothing was applied."""

    version: int
    page: PageData
    others: list[Record]


class StateRequest(_Model):
    """Whether the page is proofread."""

    proofread: bool
    who: Who = ""
    client: Annotated[str, Field(max_length=200), AfterValidator(_writable)] = ""


class StateAnswer(_Model):
    """The page's state."""

    version: int
    state: State


class ReadRequest(_Model):
    """The page is to be read again."""

    keep_lines: Annotated[bool, Field(alias="keepLines")] = True
    engine: Annotated[str, Field(max_length=100)] | None = None
    weights: Annotated[str, Field(max_length=200)] | None = None
    """One of `weightsChoices`."""
    others: bool = False
    """Whether every other page is read again, too, if nobody has corrected it or marked it as proofread."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)


class Hit(_Model):
    """A place where a text was found."""

    page: int
    line: str
    start: int
    length: int
    """In characters; what reaches beyond the line's end goes on in the next one."""
    context: tuple[str, str, str]


class Hits(_Model):
    """The first places where a text was found, and how many there are."""

    total: int
    hits: list[Hit]


class Tiles(_Model):
    """A pyramid of tiles."""

    width: int
    height: int
    size: int
    levels: int
    """Level 0 fits one tile; each next one is twice as large; the last is the scan itself."""
    version: str
    """Changes with the picture."""


class Problem(_Model):
    """Why not, in one sentence."""

    detail: str


class Event(_Model):
    """What the server tells by itself."""

    type: Literal["progress", "changed", "book"]
    page: int | None = None
    state: State | None = None
    doubts: int | None = None
    version: int | None = None
    client: str | None = None
    who: str | None = None
    message: str | None = None
