"""What the addresses take and give, in words, for /openapi.json and the page /docs.

Bodies are received by our own code, which bounds them while they come in, so FastAPI cannot know their
fields: here they are described, in OpenAPI's own terms. Choices come from the tables that the code looks at.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from tongguocr.formats import FORMATS
from tongguocr.formats.style import DOUBTFUL, NOTES, SCRIPTS
from tongguocr.serve.upload import DIRECTIONS

Schema: TypeAlias = dict[str, Any]


def _text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def _number(description: str, kind: str = "integer", **more: Any) -> Schema:
    return {"type": kind, "description": description, **more}


def _yes_no(description: str, **more: Any) -> Schema:
    return {"type": "boolean", "description": description, **more}


def _list(description: str, items: Schema) -> Schema:
    return {"type": "array", "description": description, "items": items}


def _object(description: str, required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "description": description, "properties": properties, **needed}


def _pages(description: str, name: str, message: str) -> Schema:
    """Pages of a job of which there is something to say."""
    page = _number("Its number, from 1.")
    return _list(description, _object("A page.", page=page, name=_text(name), message=_text(message)))


def _file(description: str) -> Schema:
    return _text(description, format="binary")


STYLES: Schema = {
    "format": _text("The format of the answer.", enum=list(FORMATS), default="json"),
    "notes": _text(
        "How text and Markdown have double-row notes: each row a line, in brackets behind the text before"
        " them, or not at all.",
        enum=list(NOTES),
    ),
    "flow": _yes_no("Text without a line break after each line of the page.", default=False),
    "fold": _yes_no("Text with running titles and folio numbers.", default=False),
    "script": _text(
        "The characters of the text: as they are, or simplified.", enum=list(SCRIPTS), default="keep"
    ),
    "min_confidence": _number(
        "Characters that are less sure are not written as they were read.",
        "number",
        minimum=0,
        maximum=1,
        default=0,
    ),
    "doubtful": _text("What is written for them: 〓, or nothing.", enum=list(DOUBTFUL), default="mark"),
}
READINGS: Schema = {
    "direction": _text("How lines follow each other; without it, the page tells.", enum=list(DIRECTIONS)),
    "turn": _yes_no("Turn a page that lies on its side or upside down; without it, as the server does."),
}
OPENINGS: Schema = {**READINGS, "password": _text("What a PDF asks for before it opens.")}
NAME = _text("The file's name.", default="page")
IMAGE = _file("An image file; of a TIFF the first page is read.")
BOOK = _file("A PDF, a DjVu file, a ZIP or CBZ file of images, or an image.")
LINES = _text("The page's lines in our JSON, for an image of this size. Without it they are found.")
ID = _text("The job's name, as POST /v1/jobs gave it.")
PAGE_NUMBER = _number("The page, counted from 1.", minimum=1)
AS_BOOK = _yes_no("One file of all pages instead of a ZIP, in a format that can hold them.", default=False)

TOKEN = _object(
    "A token with its probability.",
    token=_text("The token as it was written; of engines that read pages, a character."),
    logprob=_number("The natural logarithm of its probability.", "number"),
    bytes=_list("Its bytes in UTF-8.", _number("A byte.")),
    top_logprobs=_list(
        "The likeliest tokens in its place, itself among them.",
        _object(
            "A token that it might have been.",
            token=_text("The other token."),
            logprob=_number("The logarithm of its probability.", "number"),
            bytes=_list("Its bytes in UTF-8.", _number("A byte.")),
        ),
    ),
)
CHAT = _object(
    "A chat with one picture.",
    ("messages",),
    model=_text("The model that GET /v1/models names, or nothing."),
    messages=_list(
        "The chat. Its words are not looked at; exactly one picture in it is read.",
        _object(
            "One message.",
            role=_text("Who speaks; not looked at."),
            content=_list(
                "The parts of the message.",
                _object(
                    "A part: a picture, or words.",
                    type=_text("image_url for the picture."),
                    image_url=_object(
                        "The picture.", url=_text("data:image/...;base64,...: nothing is fetched.")
                    ),
                    text=_text("Words; not looked at."),
                ),
            ),
        ),
    ),
    max_completion_tokens=_number("The longest answer, in tokens.", minimum=1),
    max_tokens=_number("The same under its old name.", minimum=1),
    logprobs=_yes_no("Tell the probability of each token.", default=False),
    top_logprobs=_number("So many other tokens beside each.", minimum=0, maximum=20),
    stream=_yes_no("Must be false: answers come whole.", default=False),
    n=_number("Must be 1: there is one answer.", default=1),
)
COMPLETION = _object(
    "The text of the picture.",
    id=_text("A name for this answer."),
    object=_text("chat.completion."),
    created=_number("When it was made, in seconds since 1970."),
    model=_text("The model that read."),
    choices=_list(
        "The one answer.",
        _object(
            "The answer.",
            index=_number("0."),
            message=_object(
                "What was read.",
                role=_text("assistant."),
                content=_text("The text."),
                refusal=_text("Nothing.", nullable=True),
            ),
            logprobs=_object(
                "Probabilities, if they were asked for and the engine has any.",
                content=_list("The tokens in their order.", TOKEN),
                refusal=_text("Nothing.", nullable=True),
            ),
            finish_reason=_text(
                "length: stopped at so many tokens, or because it ran in circles.", enum=["stop", "length"]
            ),
        ),
    ),
    usage=_object(
        "What it took.",
        prompt_tokens=_number("Tokens of the picture and the prompt."),
        completion_tokens=_number("Tokens of the answer."),
        total_tokens=_number("Both."),
    ),
)
MODELS = _object(
    "The models of this server.",
    object=_text("list."),
    data=_list(
        "The one model.",
        _object(
            "A model.",
            id=_text("Its name."),
            object=_text("model."),
            created=_number("When the server began, in seconds since 1970."),
            owned_by=_text("tongguocr."),
        ),
    ),
)
HEALTH = _object(
    "How the server is.",
    status=_text("ok."),
    model=_text("What reads."),
    requests=_number("Requests that are read or wait for it."),
)
JOB = _object(
    "A job and how far it is.",
    id=_text("Its name."),
    name=_text("The name of its file."),
    state=_text("How far it is.", enum=["waiting", "reading", "done", "cancelled"]),
    created=_number("When it came, in seconds since 1970.", "number"),
    finished=_number("When its last page was done, or it was cancelled.", "number", nullable=True),
    pages=_number("How many pages it has."),
    done=_number("How many have been read."),
    failed=_pages(
        "Pages that could not be read.", "What its result would be called.", "Why not, in a sentence."
    ),
    warnings=_pages(
        "Pages that were read, but have no text, or text that should not be trusted.",
        "What its result is called.",
        "What is to be said of it.",
    ),
)
ERROR = _object(
    "A refusal.",
    error=_object(
        "What was wrong.",
        message=_text("One sentence."),
        type=_text("The kind of refusal, in OpenAI's words."),
        param=_text("Nothing.", nullable=True),
        code=_number("The HTTP status."),
    ),
)
REFUSALS = {
    400: "Bad input.",
    401: "No key, or a wrong one.",
    404: "There is no such thing here.",
    408: "The request did not arrive in time.",
    409: "This page is not read yet.",
    413: "The request is too large.",
    422: "The page is too large, or could not be read.",
    503: "Too many requests are waiting, or the server is ending; Retry-After says when to try again.",
    504: "The time limit is over.",
}
READ_REFUSALS = (400, 401, 408, 413, 422, 503, 504)


def body(form: Schema | None = None, raw: Schema | None = None, json: Schema | None = None) -> Schema:
    """A request's body: a form, bytes as they are, or JSON."""
    kinds = {"multipart/form-data": form, "application/octet-stream": raw, "application/json": json}
    content = {kind: {"schema": schema} for kind, schema in kinds.items() if schema is not None}
    return {"requestBody": {"required": True, "content": content}}


def form(required: tuple[str, ...], **fields: Schema) -> Schema:
    """A form with these fields."""
    return _object("The file, with options as fields.", required, **fields)


def parameters(place: str = "query", **fields: Schema) -> Schema:
    """What stands in an address (`path`) or behind it (`query`)."""
    return {
        "parameters": [
            {
                "name": name,
                "in": place,
                "required": place == "path",
                "description": schema["description"],
                "schema": schema,
            }
            for name, schema in fields.items()
        ]
    }


def joined(*parts: Schema) -> Schema:
    """Several of these for one address."""
    whole: Schema = {}
    for part in parts:
        for key, value in part.items():
            whole[key] = whole[key] + value if key in whole else value
    return whole


def answers(
    description: str, schema: Schema | None, *refusals: int, status: int = 200
) -> dict[int | str, Any]:
    """What an address answers: JSON of this shape, without one a file in the wanted format; or a refusal."""
    kinds = sorted({format.media_type for format in FORMATS.values()})
    good = {"application/json": schema} if schema else dict.fromkeys(kinds, _file("The file."))
    found: dict[int | str, Any] = {status: _answer(description, good)}
    return found | refuses(*refusals)


def refuses(*codes: int) -> dict[int | str, Any]:
    """The refusals of an address."""
    return {code: _answer(REFUSALS[code], {"application/json": ERROR}) for code in codes}


def _answer(description: str, kinds: dict[str, Schema]) -> Schema:
    return {
        "description": description,
        "content": {kind: {"schema": schema} for kind, schema in kinds.items()},
    }


METRICS: dict[int | str, Any] = {
    200: _answer("Counters.", {"text/plain": _text("Prometheus's text format.")})
}
BOOKS: dict[int | str, Any] = {
    200: _answer(
        "A ZIP file with a file a page and failed.txt, if some failed; or one file of all pages.",
        dict.fromkeys(
            ("application/zip", *sorted({row.media_type for row in FORMATS.values() if row.book})),
            _file("The file."),
        ),
    )
}
READ = joined(
    parameters(name=NAME, **STYLES, **READINGS),
    body(form(("image",), image=IMAGE, lines=LINES, **STYLES, **READINGS), IMAGE),
)
