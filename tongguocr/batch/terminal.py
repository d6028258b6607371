"""A job as the user sees it: a bar on a terminal, a line for each page that failed, a summary, a code."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from tongguocr.batch.job import Job, Outcome, ReadPage
from tongguocr.batch.results import FAILED, WARNINGS
from tongguocr.batch.run import run_job
from tongguocr.progress import PageBar, page_bar
from tongguocr.sources import SourcePage
from tongguocr.stdout import STOPPED, complain, say


def run_with_progress(
    pages: Sequence[SourcePage],
    prepare: Callable[[], ReadPage],
    job: Job,
    problems: Sequence[tuple[str, str]] = (),
    quiet: bool = False,
) -> int:
    """Run a job on a terminal; 0 if every page is done, 1 if some failed, 130 if it was stopped."""
    counts: Counter[str] = Counter()
    stopped = False
    total = len(pages) + len(problems)
    with page_bar(total, not quiet) as bar, _stop_gently():
        try:
            with closing(run_job(pages, prepare, job, problems)) as outcomes:
                for outcome in outcomes:
                    counts[outcome.state] += 1
                    counts["characters"] += outcome.characters
                    counts["disk full"] += outcome.disk_full
                    counts["doubtful" if outcome.characters else "empty"] += bool(outcome.warning)
                    _show(outcome, bar)
        except KeyboardInterrupt:
            stopped = True
    if not quiet:
        say(summary(counts, job))
    if counts["disk full"]:
        left = total - sum(counts[state] for state in ("read", "done", "elsewhere"))
        complain(
            f"{job.out}: the disk is full; {left} pages are left, and the same command goes on from here."
        )
    if stopped:
        complain("stopped; the same command goes on from here.")
        return STOPPED
    return 1 if counts["failed"] else 0


def _show(outcome: Outcome, bar: PageBar) -> None:
    if outcome.state in ("done", "elsewhere"):
        bar.drop()
    else:
        bar.step(outcome.characters)
    # On a full disk one page's reason is every page's, and stands at the end.
    if outcome.reason and not outcome.disk_full:
        bar.say(f"tongguocr: {outcome.reason}")
    if outcome.warning:
        bar.say(f"tongguocr: page {outcome.name}: {outcome.warning}")


def summary(counts: Counter[str], job: Job) -> str:
    """The line that ends a job: pages read, done before, failed, and where the results are."""
    parts = [f"{counts['read']} read ({counts['characters']} characters)"]
    if counts["converted"]:
        parts.append(f"{counts['converted']} written from their JSON")
    parts.append(f"{counts['done']} done before")
    if counts["elsewhere"]:
        parts.append(f"{counts['elsewhere']} read by another process")
    parts.append(f"{counts['failed']} failed")
    where = f"; {job.out / FAILED} says why" if counts["failed"] else ""
    for state, words in (("empty", "without text"), ("doubtful", "not to be trusted")):
        if counts[state]:
            parts.append(f"{counts[state]} {words}")
    if counts["empty"] or counts["doubtful"]:
        where += f"; {job.out / WARNINGS} names them"
    return f"Pages: {', '.join(parts)}: {job.out}{where}"


@contextmanager
def _stop_gently() -> Iterator[None]:
    """A request to end, as batch systems send it, is taken like Ctrl-C: nothing is left half done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
