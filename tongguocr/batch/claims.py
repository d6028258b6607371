"""Who reads which page: claims in a hidden folder of the results, for processes and machines that share it.

In: the folder for results. Out: `take`, which gives a page to one process alone, and a place for unfinished
files. A claim is a file that only one can create (O_EXCL, over NFS too). It lasts as long as its process
shows that it is alive: it touches a file every few seconds, and on the same machine its number must be in
use. A dead one's claim is never removed under another's hands, but topped by a claim of the next generation,
which again only one can create. Pages that failed are noted, so that no other process tries them again in
this run. When the last process ends, the folder goes.
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
BEAT = 15.0
"""Seconds between two signs of life."""
STALE = 300.0
"""Seconds without one, after which a process of another machine counts as dead: NFS may show times late."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A page that was not read."""

    page: str
    file: str
    reason: str
    owner: str = ""
    """The process that tried."""


class Claims:
    """This process's part in the job that fills a folder."""

    def __init__(self, out: Path) -> None:
        self.folder = out / FOLDER
        self.owner = f"{_machine()}.{os.getpid()}.{secrets.token_hex(4)}"
        self.alive = self.folder / f"{self.owner}.alive"
        self.unfinished = self.folder / self.owner
        """Files of this process until they are whole."""
        self.held: dict[str, int] = {}
        self._clock = 0.0
        self._over = threading.Event()
        self._register()
        self.alone = not self._clear_dead()
        """Whether no other process was at work when this one came."""
        if self.alone:
            for path in self.folder.glob("*.failed"):
                path.unlink(missing_ok=True)
        threading.Thread(target=self._beat, daemon=True).start()

    def __enter__(self) -> Claims:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of everything; the last one takes the folder with it."""
        self._over.set()
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

    def take(self, name: str) -> bool:
        """Whether the page is ours now; not if it is another's who lives."""
        for generation in count(1):
            path = self._path(name, f"{generation}.claim")
            try:
                handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            except FileExistsError:
                if self._is_held(path):
                    return False
                continue
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(self.owner)
            self.held[name] = generation
            return True
        raise AssertionError("there is always a next generation")

    def release(self, name: str) -> None:
        """Let go of the page, after its results are in place or its failure is noted."""
        for generation in range(self.held.pop(name), 0, -1):
            with contextlib.suppress(OSError):
                self._path(name, f"{generation}.claim").unlink(missing_ok=True)

    def note_failure(self, page: str, file: str, reason: str) -> None:
        record = json.dumps(asdict(Failure(page, file, reason, self.owner)))
        write_bytes(record.encode(), self._path(page, "failed"))

    def failure(self, name: str) -> Failure | None:
        """What another process noted about this page in this run."""
        path = self._path(name, "failed")
        return _read_failure(path) if path.exists() else None

    def failures(self) -> list[Failure]:
        """All of this run, of all processes."""
        found = (_read_failure(path) for path in self.folder.glob("*.failed"))
        return sorted((failure for failure in found if failure), key=lambda failure: failure.page)

    def _path(self, name: str, suffix: str) -> Path:
        return self.folder / f"{short_name(name)}.{suffix}"

    def _register(self) -> None:
        for attempt in range(10):
            make_folder(self.folder)
            try:
                self.alive.touch(exist_ok=False)
                self.unfinished.mkdir()
                return
            except FileNotFoundError:
                # The last process of a job that has just ended took the folder away.
                if attempt == 9:
                    raise InputError(f"{self.folder}: the folder vanishes as soon as it is made.") from None
            except OSError as error:
                raise InputError(f"{self.folder}: nothing can be written there ({error.strerror}).") from None

    def _beat(self) -> None:
        while not self._over.wait(BEAT):
            with contextlib.suppress(OSError):
                os.utime(self.alive)

    def _clear_dead(self) -> list[str]:
        """The other processes that live; what dead ones left goes, but for their claims, which are topped."""
        living = []
        for path in self.folder.glob("*.alive"):
            owner = path.name.removesuffix(".alive")
            if owner == self.owner:
                continue
            if self._lives(owner):
                living.append(owner)
                continue
            for record in self.folder.glob("*.failed"):
                failure = _read_failure(record)
                if failure is None or failure.owner == owner:
                    record.unlink(missing_ok=True)
            shutil.rmtree(self.folder / owner, ignore_errors=True)
            path.unlink(missing_ok=True)
        return living

    def _is_held(self, claim: Path) -> bool:
        """Whether the claim's owner lives."""
        try:
            owner = claim.read_text(encoding="utf-8")
            # Without an owner it is being written at this moment, or its writer was killed just then.
            return self._lives(owner) if owner else self._now() - claim.stat().st_mtime < STALE
        except FileNotFoundError:
            return True  # Let go at this moment: the page is done, or free at the next look.
        except (OSError, ValueError):
            return True

    def _lives(self, owner: str) -> bool:
        if owner == self.owner:
            return True
        try:
            seen = (self.folder / f"{owner}.alive").stat().st_mtime
        except FileNotFoundError:
            return False
        machine, _, pid = owner.rpartition(".")[0].rpartition(".")
        if machine == _machine() and pid.isdecimal() and not _runs(int(pid)):
            return False
        return self._now() - seen < STALE

    def _now(self) -> float:
        """The time by the clock of the file system, which is the only one that all machines share."""
        with contextlib.suppress(OSError):
            os.utime(self.alive)
            self._clock = self.alive.stat().st_mtime
        return self._clock


def short_name(page: str) -> str:
    """For files about a page. Its own name may be too long with a suffix, and some systems take A for a."""
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


def _runs(pid: int) -> bool:
    if os.name == "nt":
        return True  # There is no harmless way to ask; the signs of life decide.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
