"""Page locks: which process reads which page, for processes and machines that share a folder of results.

In: the folder for results. Out: `acquire`, which gives a page to one process alone, and a place for files
that are not finished. A lock is a file in a hidden folder that only one process can create (a link, over NFS
too). It lasts as long as its process is alive: that one touches a file every few seconds, and on the same
machine its process number must be in use. A dead process's lock is never removed under another's hands, but
topped by one of the next generation, which again only one can create. Pages that failed are recorded, so that
no other process tries them again in this run. When the last process ends, the folder goes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import socket
import threading
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from types import TracebackType

from tongguocr.errors import InputError
from tongguocr.files import make_folder, write_bytes

FOLDER = ".tongguocr"
HEARTBEAT = 15.0
"""Seconds between two signs of life."""
STALE = 300.0
"""Seconds without one, after which a process of another machine counts as dead: NFS may show times late."""


RESERVE = 1 << 18
"""Bytes: more than a thousand rows of the report."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A page that was not read."""

    page: str
    file: str
    reason: str
    owner: str = ""
    """The process that tried."""


class PageLocks:
    """The pages that this process has, in a job that several may share."""

    def __init__(self, out: Path) -> None:
        self.folder = out / FOLDER
        self.owner = f"{_machine()}.{os.getpid()}.{secrets.token_hex(4)}"
        self.alive = self.folder / f"{self.owner}.alive"
        self.unfinished = self.folder / self.owner
        """Files of this process until they are whole."""
        self.held: dict[str, int] = {}
        self.failed_here: dict[str, Failure] = {}
        """What this process recorded, should there be no room to record it."""
        self._clock = 0.0
        self._closed = threading.Event()
        self._register()
        self.alone = not self._clear_dead()
        """Whether no other process was at work when this one came."""
        if self.alone:
            for path in self.folder.glob("*.failed"):
                path.unlink(missing_ok=True)
        threading.Thread(target=self._keep_alive, daemon=True).start()

    def __enter__(self) -> PageLocks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of everything; the last one takes the folder with it."""
        self._closed.set()
        for name in list(self.held):
            self.release(name)
        with contextlib.suppress(OSError):
            shutil.rmtree(self.unfinished, ignore_errors=True)
            self._now()
            self.alive.unlink(missing_ok=True)
            # Only what is there now is removed: if another process comes meanwhile, the folder stays for it.
            entries = list(self.folder.iterdir())
            if not self._clear_dead():
                for entry in entries:
                    _remove(entry)
                self.folder.rmdir()

    def acquire(self, name: str) -> bool:
        """Whether the page is this process's now; not if another that is alive has it."""
        for generation in count(1):
            path = self._path(name, f"{generation}.claim")
            try:
                self._create(path)
            except FileExistsError:
                if self._is_held(path):
                    return False
                continue
            self.held[name] = generation
            return True
        raise AssertionError("there is always a next generation")

    def release(self, name: str) -> None:
        """Let go of the page, after its results are in place or its failure is recorded."""
        for generation in range(self.held.pop(name), 0, -1):
            with contextlib.suppress(OSError):
                self._path(name, f"{generation}.claim").unlink(missing_ok=True)

    def record_failure(self, page: str, file: str, reason: str) -> None:
        """Tell all processes of this run that the page was tried, and why it failed."""
        failure = self.failed_here[page] = Failure(page, file, reason, self.owner)
        write_bytes(json.dumps(asdict(failure)).encode(), self._path(page, "failed"))

    def failure(self, name: str) -> Failure | None:
        """Why the page failed, if a process of this run tried it already."""
        path = self._path(name, "failed")
        return _read_failure(path) if path.exists() else None

    def failures(self) -> list[Failure]:
        """All failures of this run, of all processes."""
        found = [_read_failure(path) for path in self.folder.glob("*.failed")]
        every = self.failed_here | {failure.page: failure for failure in found if failure}
        return sorted(every.values(), key=lambda failure: failure.page)

    def reserve(self) -> None:
        """Keep room for the report of a job that ends because the disk is full."""
        write_bytes(os.urandom(RESERVE), self.unfinished / "reserve")

    def free_reserve(self) -> None:
        """Give the room back."""
        (self.unfinished / "reserve").unlink(missing_ok=True)

    def _path(self, name: str, suffix: str) -> Path:
        return self.folder / f"{hashed_name(name)}.{suffix}"

    def _create(self, lock: Path) -> None:
        """Make a lock that is ours, or raise FileExistsError. It is there with its owner or not at all."""
        try:
            os.link(self.alive, lock)
        except FileExistsError:
            raise
        except OSError:
            # A file system without links: who is killed between the two steps leaves a lock of nobody.
            with lock.open("x", encoding="utf-8") as file:
                file.write(self.owner)

    def _register(self) -> None:
        for attempt in range(10):
            make_folder(self.folder)
            try:
                with self.alive.open("x", encoding="utf-8") as file:
                    file.write(self.owner)
                self.unfinished.mkdir()
                return
            except FileNotFoundError:
                # The last process of a job that has just ended took the folder away.
                if attempt == 9:
                    raise InputError(f"{self.folder}: the folder vanishes as soon as it is made.") from None
            except OSError as error:
                raise InputError(f"{self.folder}: nothing can be written there ({error.strerror}).") from None

    def _keep_alive(self) -> None:
        while not self._closed.wait(HEARTBEAT):
            with contextlib.suppress(OSError):
                os.utime(self.alive)

    def _clear_dead(self) -> list[str]:
        """The other processes that live; what dead ones left goes, but for their locks, which are topped."""
        living = []
        for path in self.folder.glob("*.alive"):
            owner = path.name.removesuffix(".alive")
            if owner == self.owner:
                continue
            if self._is_alive(owner):
                living.append(owner)
                continue
            for record in self.folder.glob("*.failed"):
                failure = _read_failure(record)
                if failure is None or failure.owner == owner:
                    record.unlink(missing_ok=True)
            shutil.rmtree(self.folder / owner, ignore_errors=True)
            path.unlink(missing_ok=True)
        return living

    def _is_held(self, lock: Path) -> bool:
        """Whether the owner of this lock is alive."""
        try:
            owner = lock.read_text(encoding="utf-8")
            # Without an owner (`_create`) it is being written now, or its writer was killed just then.
            return self._is_alive(owner) if owner else self._now() - lock.stat().st_mtime < STALE
        except FileNotFoundError:
            return True  # Let go at this moment: the page is done, or free at the next look.
        except (OSError, ValueError):
            return True

    def _is_alive(self, owner: str) -> bool:
        if owner == self.owner:
            return True
        try:
            seen = (self.folder / f"{owner}.alive").stat().st_mtime
        except FileNotFoundError:
            return False
        machine, _, pid = owner.rpartition(".")[0].rpartition(".")
        if machine == _machine() and pid.isdecimal() and not _is_running(int(pid)):
            return False
        return self._now() - seen < STALE

    def _now(self) -> float:
        """The time by the clock of the file system, which is the only one that all machines share."""
        with contextlib.suppress(OSError):
            os.utime(self.alive)
            self._clock = self.alive.stat().st_mtime
        return self._clock


def hashed_name(page: str) -> str:
    """A page's name for files about it: the name itself may be too long, and some systems take A for a."""
    return hashlib.sha256(page.encode(errors="surrogatepass")).hexdigest()[:24]


def _read_failure(path: Path) -> Failure | None:
    try:
        return Failure(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _remove(entry: Path) -> None:
    if entry.is_dir():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        entry.unlink(missing_ok=True)


def _machine() -> str:
    """This machine and its set of process numbers: containers may share a name and not the numbers."""
    try:
        numbers = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        numbers = ""
    return "".join(char for char in socket.gethostname() + numbers if char.isalnum() or char in "-.")


def _is_running(pid: int) -> bool:
    if os.name == "nt":
        return True  # There is no harmless way to ask; the signs of life decide.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
