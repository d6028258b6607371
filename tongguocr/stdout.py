"""Standard output and standard error that behave, whatever they are joined to.

In: bytes and sentences. Out: the same, in UTF-8 whatever the terminal's or the redirection's own encoding is.
A reader that went away is a BrokenPipeError, which ends a command quietly; a full disk is a sentence.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from tongguocr.files import write_error

NAME = "standard output"
STOPPED = 130
"""The exit code of what was interrupted, as shells have it."""
CLOSED = 141
"""The exit code where whoever read the output went away, as shells have it."""


def use_utf8() -> None:
    """Write UTF-8: GBK and cp1252 have not the characters of these books. What is no character is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def write_out(data: bytes) -> None:
    """Bytes onto standard output, at once."""
    try:
        if (buffer := getattr(sys.stdout, "buffer", None)) is None:
            sys.stdout.write(data.decode())
        else:
            sys.stdout.flush()
            buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise write_error(NAME, error) from None


def say(sentence: str) -> None:
    """A line that is no result, such as a summary: if nobody reads it, nothing is lost."""
    try:
        write_out(f"{sentence}\n".encode(errors="backslashreplace"))
    except BrokenPipeError:
        discard()


def complain(sentence: str) -> None:
    """One sentence on standard error; nothing where nobody reads that."""
    with suppress(BrokenPipeError):
        print(f"tongguocr: {sentence}", file=sys.stderr, flush=True)


def discard() -> None:
    """Let what is still to be written go nowhere: Python would complain of the closed pipe when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
