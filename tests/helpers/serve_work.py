"""Work for the processes of the service, in a module that a new process imports: stand-ins that read."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from serve_models import fake_models

from tongguocr.errors import InputError, MissingExtraError
from tongguocr.serve.models import Models
from tongguocr.serve.queue import StatusError


def open_fakes(check: Callable[[], None]) -> Models:
    """Models whose lines say the text of their id, on the page of `make_page(3)`."""
    models = fake_models(found=True)
    # Where the work below finds it.
    object.__setattr__(models.reader, "check", check)
    return models


def refuse(check: Callable[[], None]) -> Models:
    raise InputError("weights: there are none.")


def break_down(check: Callable[[], None]) -> Models:
    raise RuntimeError("secret\ndetail")


def once(path: Path, check: Callable[[], None]) -> Models:
    """Models the first time, and a refusal ever after."""
    if path.exists():
        raise InputError("weights: they have gone.")
    path.touch()
    return open_fakes(check)


def only_once(path: Path) -> Callable[[Callable[[], None]], Models]:
    return partial(once, path)


def process(models: Models) -> int:
    return os.getpid()


def meet(models: Models, folder: Path, name: str, others: int) -> bool:
    """Whether so many are at work at the same time."""
    (folder / name).touch()
    while len(list(folder.iterdir())) < others:
        time.sleep(0.01)
    return True


def say_no(models: Models, kind: str) -> None:
    if kind == "input":
        raise InputError("page.png: bad.")
    if kind == "extra":
        raise MissingExtraError("Reading that", "pdf")
    if kind == "status":
        raise StatusError(422, "page.png: too large.")
    raise ZeroDivisionError("secret detail")


def die(models: Models, how: signal.Signals) -> None:
    os.kill(os.getpid(), how)


def until_stopped(models: Models, begun: Path) -> None:
    """Looks up again and again, as a full-size model does before each token."""
    begun.touch()
    while True:
        models.reader.check()
        time.sleep(0.01)


def cannot_be_sent(models: Models) -> object:
    return lambda: None
