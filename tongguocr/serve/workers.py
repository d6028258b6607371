"""Processes that read for the service: work in, its result or a refusal out; one that dies is replaced.

Each process opens models of its own and does one thing at a time. The thread that leads it sends a function
of a module with what it wants, and waits; when the request's time is over it tells the process, whose work
looks up now and then. `Processes` and `Models` have the same `call`, so nothing else knows where reading
happens.
"""

from __future__ import annotations

import pickle
import signal
import traceback
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from tongguocr.batch.pool import KILL_TIMEOUT, exit_reason, isolate
from tongguocr.errors import InputError
from tongguocr.serve.models import Models
from tongguocr.serve.queue import StatusError

P = ParamSpec("P")
T = TypeVar("T")

Check: TypeAlias = Callable[[], None]
"""Raises where the work that is being done should stop."""
Prepare: TypeAlias = Callable[[Check], Models]
"""Opens the models in a process; it is sent there, so it is a function of a module, or a `partial` of one."""
LOOK_SECONDS = 0.1
"""Between two looks whether the request still has time."""


class Readers(Protocol):
    """What reads for the service, wherever."""

    @property
    def name(self) -> str:
        """What clients call the model."""

    @property
    def finds_lines(self) -> bool:
        """Whether pages can be read whose lines nobody knows."""

    def call(self, work: Callable[Concatenate[Models, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` makes of the models and these arguments."""


class WorkerError(RuntimeError):
    """A fault of the program in another process; the message holds that one's traceback."""


class Processes:
    """Processes that read, each with models of its own, all of them open when this is made."""

    def __init__(self, prepare: Prepare, count: int, check: Check = lambda: None) -> None:
        self._check = check
        self._workers = [_Worker(prepare) for _ in range(count)]
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        try:
            for worker in self._workers:
                worker.start()
            for worker in self._workers:
                self.name, self.finds_lines = worker.wait_until_ready()
                self._idle.put(worker)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def call(self, work: Callable[Concatenate[Models, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` makes of an idle process's models and these arguments; called in a thread a process."""
        worker = self._idle.get()
        try:
            result: T = worker.ask((work, args, kwargs), self._check)
            return result
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """End all processes, whatever they do."""
        for worker in self._workers:
            worker.kill()


class _Worker:
    """One process, seen from outside."""

    def __init__(self, prepare: Prepare) -> None:
        self.prepare = prepare
        # Fresh processes, on every system: a forked one may inherit a lock that a thread of ours held.
        self.context = get_context("spawn")
        self.stop = self.context.Event()
        self.pipe: Connection[Any, Any] | None = None
        self.closed = False

    def start(self) -> None:
        self.pipe, theirs = self.context.Pipe()
        self.process = self.context.Process(
            target=_worker_main, args=(theirs, self.prepare, self.stop), daemon=True
        )
        self.process.start()
        theirs.close()

    def wait_until_ready(self, check: Check = lambda: None) -> tuple[str, bool]:
        """The name of what it opened and whether it finds lines, or its refusal."""
        opened: tuple[str, bool] = self._receive(check)
        return opened

    def ask(self, task: tuple[Any, ...], check: Check) -> Any:
        """The result of a task; whoever has no time left waits until the process is free for others."""
        if self.pipe is None:
            self._replace(check)
        # Whatever cannot be sent fails here, before the process has seen any of it.
        message = pickle.dumps(task)
        self.stop.clear()
        assert self.pipe is not None
        try:
            self.pipe.send_bytes(message)
        except OSError:
            # It died while it had nothing to do.
            self._replace(check)
            self.pipe.send_bytes(message)
        return self._receive(check)

    def _replace(self, check: Check) -> None:
        self._drop()
        self.start()
        if self.closed:
            self._drop()
            raise StatusError(503, "The server is going down.")
        try:
            self.wait_until_ready(check)
        except InputError as error:
            raise StatusError(getattr(error, "status", 503), str(error)) from None

    def _receive(self, check: Check) -> Any:
        assert self.pipe is not None
        late: StatusError | None = None
        try:
            while not self.pipe.poll(LOOK_SECONDS):
                try:
                    check()
                except StatusError as error:
                    late = error
                    self.stop.set()
            word, value = self.pipe.recv()
        except (EOFError, OSError):
            reason = exit_reason(self.process)
            self._drop()
            raise StatusError(500, f"The process that read this has ended ({reason}).") from None
        if late is not None:
            raise late
        if word == "refused":
            status, sentence = value
            raise StatusError(status, sentence) if status else InputError(sentence)
        if word == "fault":
            raise WorkerError(value)
        return value

    def _drop(self) -> None:
        if self.pipe is not None:
            self.pipe.close()
            self.pipe = None
            self.process.kill()
            self.process.join(KILL_TIMEOUT)

    def kill(self) -> None:
        """End the process for good; the thread that waits for it is told so."""
        self.closed = True
        if self.pipe is not None:
            self.process.kill()
            self.process.join(KILL_TIMEOUT)


def _worker_main(pipe: Connection[Any, Any], prepare: Prepare, stop: Any) -> None:
    """What a process does: open the models, then one task after the other until the pipe is closed."""
    # Ctrl-C and a service manager's SIGTERM: the server lets readings come to their end.
    isolate(signal.SIGINT, signal.SIGTERM)

    def check() -> None:
        if stop.is_set():
            raise StatusError(504, "The request has no time left.")

    models: Models | None = None

    def open_models() -> tuple[str, bool]:
        nonlocal models
        models = prepare(check)
        return models.name, models.finds_lines

    pipe.send_bytes(_answer(open_models))
    while models is not None:
        try:
            work, args, kwargs = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send_bytes(_answer(partial(work, models, *args, **kwargs)))


def _answer(work: Callable[[], Any]) -> bytes:
    """The result, or what is to be said instead, in words: not every exception survives a pipe."""
    try:
        return pickle.dumps(("done", work()))
    except InputError as error:
        return pickle.dumps(("refused", (getattr(error, "status", 0), str(error))))
    except Exception:
        return pickle.dumps(("fault", traceback.format_exc()))
