"""Many pages: each is read and written by itself, once, and what is done is not done again.

listing   sources -> pages under names of their own
job       one page: what is to be done, what became of it
run       the job: pages in, results and outcomes out
pool      processes that work; one that dies or hangs costs one page
locks     which process reads which page, where several share a folder
record    what results were made from; other books and other settings do not count as done
results   files that come whole into place; the table of failures
terminal  the job on a terminal: a bar, what failed, a summary
book      the job whose result is one file
cluster   the same job with its processes on a Ray cluster
actor     what works there
"""

from tongguocr.batch.job import Cluster, Job, Outcome, ReadPage
from tongguocr.batch.listing import SourceListing, list_pages, list_sources
from tongguocr.batch.pool import share_cores
from tongguocr.batch.record import RECORD, describe_setup
from tongguocr.batch.results import FAILED, WARNINGS, parse_formats
from tongguocr.batch.run import run_job
from tongguocr.batch.terminal import run_with_progress

__all__ = [
    "FAILED",
    "RECORD",
    "WARNINGS",
    "Cluster",
    "Job",
    "Outcome",
    "ReadPage",
    "SourceListing",
    "describe_setup",
    "list_pages",
    "list_sources",
    "parse_formats",
    "run_job",
    "run_with_progress",
    "share_cores",
]
