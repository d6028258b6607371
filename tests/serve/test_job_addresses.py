"""Jobs over real sockets: a book in, its pages out while it is read, by whoever comes back for them."""

from __future__ import annotations

import io
import json
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pikepdf
import pytest
from recognise_pages import make_page, read_as
from serve_models import TEXTS, as_jpeg, ask, complaint, dct_streams, fake_models, form, in_thread, png

from tongguocr.engines.base import BlockInput, BlockReading
from tongguocr.formats import FORMATS
from tongguocr.formats.page_json import parse_json
from tongguocr.formats.pdf import write_pdf
from tongguocr.page import turn_pixels
from tongguocr.serve.jobs import JobStore
from tongguocr.serve.models import Models
from tongguocr.serve.queue import Bounds

PAGE = make_page(3)
TEXT = "\n".join(TEXTS.values()) + "\n"


def zipped(pages: int) -> bytes:
    assert PAGE.pixels is not None
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for number in range(1, pages + 1):
            archive.writestr(f"{number}.png", png(PAGE.pixels))
    return data.getvalue()


class Gate:
    """Lets so many pages through, and then more."""

    def __init__(self, free: int) -> None:
        self.places = threading.Semaphore(free)

    def __call__(self, block: BlockInput) -> BlockReading:
        assert self.places.acquire(timeout=300)
        return read_as(block, TEXTS)

    def open(self, pages: int) -> None:
        self.places.release(pages)


@contextmanager
def served(folder: Path, models: Models | None = None, **more: Any) -> Iterator[str]:
    bounds = more.pop("bounds", Bounds())
    with in_thread(models or fake_models(found=True), bounds, store=JobStore(folder, bounds), **more) as url:
        yield url


def post(url: str, body: bytes, query: str = "?name=book.zip", **headers: str) -> dict[str, Any]:
    status, data = ask(f"{url}/v1/jobs{query}", body, headers)
    assert status == 202, data
    job: dict[str, Any] = json.loads(data)
    return job


def call(url: str, method: str) -> tuple[int, bytes]:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=300)
    try:
        connection.request(method, parts.path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def wait_for(url: str, job: dict[str, Any], done: int) -> dict[str, Any]:
    """The job when so many of its pages are done."""
    while True:
        status, data = ask(f"{url}/v1/jobs/{job['id']}")
        told: dict[str, Any] = json.loads(data)
        assert status == 200 and told["state"] in ("waiting", "reading", "done")
        if told["done"] + len(told["failed"]) >= done:
            return told
        time.sleep(0.01)


def files(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_pages_can_be_had_while_others_are_still_read(tmp_path: Path) -> None:
    gate = Gate(2)
    with served(tmp_path, fake_models(gate, found=True)) as url:
        job = post(url, zipped(4))
        assert (job["name"], job["pages"], job["finished"]) == ("book.zip", 4, None)
        told, where = wait_for(url, job, 2), f"{url}/v1/jobs/{job['id']}"
        assert (told["state"], told["done"], told["failed"]) == ("reading", 2, [])
        status, data = ask(f"{where}/pages/1?format=txt")
        assert (status, data.decode()) == (200, TEXT)
        assert parse_json(ask(f"{where}/pages/2")[1], Path("2")).image == "2.png"
        assert complaint(ask(f"{where}/pages/3")) == (409, "Page 3 is not read yet.")
        assert set(files(ask(f"{where}/result?format=txt")[1])) == {"1.txt", "2.txt"}
        gate.open(2)
        assert wait_for(url, job, 4)["state"] == "done"
        assert set(files(ask(f"{where}/result?format=md")[1])) == {f"{n}.md" for n in range(1, 5)}


def test_single_pages_are_read_between_those_of_a_job(tmp_path: Path) -> None:
    assert PAGE.pixels is not None
    gate = Gate(1)
    with served(tmp_path, fake_models(gate, found=True)) as url:
        job = post(url, zipped(50))
        wait_for(url, job, 1)
        answers = list[int]()
        single = threading.Thread(target=lambda: answers.append(ask(f"{url}/v1/read", png(PAGE.pixels))[0]))
        single.start()
        while json.loads(ask(f"{url}/health")[1])["requests"] < 1 and not answers:
            time.sleep(0.01)
        gate.open(3)
        single.join()
        assert answers == [200] and json.loads(ask(f"{url}/v1/jobs/{job['id']}")[1])["done"] < 5
        gate.open(100)


def test_a_job_is_taken_at_once_however_busy_the_readers_are(tmp_path: Path) -> None:
    gate = Gate(0)
    with served(tmp_path, fake_models(gate, found=True)) as url:
        first, second = post(url, zipped(2)), post(url, zipped(3))
        assert (first["pages"], second["pages"]) == (2, 3)
        told = json.loads(ask(f"{url}/v1/jobs/{second['id']}")[1])
        assert (told["done"], told["failed"]) == (0, [])
        gate.open(5)
        assert [wait_for(url, job, job["pages"])["done"] for job in (first, second)] == [2, 3]


def test_a_password_for_what_is_no_pdf_is_refused(tmp_path: Path) -> None:
    with served(tmp_path) as url:
        file = ("file", "book.zip", zipped(1))
        answer = ask(f"{url}/v1/jobs", *form([file, ("password", None, b"word")]))
        assert complaint(answer) == (400, "password is for PDFs, and book.zip is none.")
        assert ask(f"{url}/v1/jobs", *form([file, ("password", None, b"")]))[0] == 202, "none is given"


def test_a_pdf_with_a_password(tmp_path: Path) -> None:
    write_pdf([PAGE], tmp_path / "plain.pdf")
    with pikepdf.open(tmp_path / "plain.pdf") as pdf:
        pdf.save(tmp_path / "locked.pdf", encryption=pikepdf.Encryption(owner="o", user="洪荒"))
    file, jobs = ("file", "b.pdf", (tmp_path / "locked.pdf").read_bytes()), tmp_path / "jobs"
    with served(jobs) as url:
        for words, said in (((), "needs a password"), ((b"x",), "has another password")):
            answer = ask(f"{url}/v1/jobs", *form([file, *(("password", None, word) for word in words)]))
            assert complaint(answer) == (400, f"b.pdf: the PDF {'is encrypted and ' * (not words)}{said}.")
        job = json.loads(ask(f"{url}/v1/jobs", *form([file, ("password", None, "洪荒".encode())]))[1])
        told = wait_for(url, job, 1)
        assert told["state"] == "done" and not told["failed"] and "洪荒" not in str(told)
    with served(jobs) as url:
        assert ask(f"{url}/v1/jobs/{job['id']}/pages/1?format=pdf")[0] == 200, "the next server has it, too"


@pytest.mark.parametrize("turned", [0, 90])
def test_jpegs_go_into_pdfs_as_they_are(tmp_path: Path, turned: int) -> None:
    picture, page = as_jpeg(PAGE, turned)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("1.jpg", picture)
    with served(tmp_path, fake_models(found=True, page=page)) as url:
        for name, body in (("page.jpg", picture), ("book.zip", packed.getvalue())):
            job = post(url, body, f"?name={name}&turn=true")
            assert not wait_for(url, job, 1)["failed"]
            where = f"{url}/v1/jobs/{job['id']}"
            assert dct_streams(ask(f"{where}/pages/1?format=pdf")[1]) == [picture]
            assert dct_streams(ask(f"{where}/result?format=pdf&book=true")[1]) == [picture]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_of_a_zip_and_of_a_pdf(tmp_path: Path, format: str) -> None:
    write_pdf([PAGE, PAGE], tmp_path / "two.pdf")
    with served(tmp_path / "jobs") as url:
        for name, body in (("book.zip", zipped(2)), ("book.pdf", (tmp_path / "two.pdf").read_bytes())):
            job = post(url, *form([("file", name, body)])[:1], "", **form([])[1])
            wait_for(url, job, 2)
            where = f"{url}/v1/jobs/{job['id']}"
            status, page = ask(f"{where}/pages/2?format={format}")
            assert status == 200
            found = files(ask(f"{where}/result?format={format}")[1])
            ending = FORMATS[format].ending
            stems = ("1", "2") if name == "book.zip" else ("book-0001", "book-0002")
            assert set(found) == {f"{stem}{ending}" for stem in stems}
            assert found[f"{stems[1]}{ending}"] == page or format in ("page", "alto", "pdf")
            status, book = ask(f"{where}/result?format={format}&book=true")
            assert status == (200 if FORMATS[format].book else 400)
            if format == "pdf":
                with pikepdf.open(io.BytesIO(book)) as pdf:
                    assert len(pdf.pages) == 2


def test_a_page_that_was_turned_has_its_picture_upright(tmp_path: Path) -> None:
    assert PAGE.pixels is not None
    lying = png(turn_pixels(PAGE.pixels, 270))
    with served(tmp_path) as url:
        job = post(url, lying, "?name=page.png&turn=true")
        wait_for(url, job, 1)
        where = f"{url}/v1/jobs/{job['id']}/pages/1"
        assert parse_json(ask(where)[1], Path("1")).angle == 90
        for format in ("overlay", "pdf"):
            assert ask(f"{where}?format={format}")[0] == 200


def test_results_survive_the_server_and_it_goes_on(tmp_path: Path) -> None:
    gate = Gate(1)
    with served(tmp_path, fake_models(gate, found=True)) as url:
        job = post(url, zipped(3))
        wait_for(url, job, 1)
    gate.open(2)
    with served(tmp_path) as url:
        assert wait_for(url, job, 3)["state"] == "done"
        found = files(ask(f"{url}/v1/jobs/{job['id']}/result?format=txt")[1])
        assert {data.decode() for data in found.values()} == {TEXT} and len(found) == 3


def test_cancel_and_remove(tmp_path: Path) -> None:
    gate = Gate(1)
    with served(tmp_path, fake_models(gate, found=True)) as url:
        job = post(url, zipped(3))
        wait_for(url, job, 1)
        where = f"{url}/v1/jobs/{job['id']}"
        status, data = call(where, "DELETE")
        assert (status, json.loads(data)["state"]) == (200, "cancelled")
        gate.open(3)
        assert ask(f"{where}/pages/1?format=txt") == (200, TEXT.encode())
        assert complaint(ask(f"{where}/pages/3")) == (409, "Page 3 was not read.")
        assert set(files(ask(f"{where}/result?format=txt")[1])) == {"1.txt"}
        assert call(where, "DELETE")[0] == 200
        assert complaint(ask(where))[0] == complaint(call(where, "DELETE"))[0] == 404
        assert not list(tmp_path.iterdir())


def test_bad_pages_are_told_and_do_not_hide(tmp_path: Path) -> None:
    data = io.BytesIO(zipped(2))
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("3.png", b"junk")
    with served(tmp_path) as url:
        job = post(url, data.getvalue())
        told = wait_for(url, job, 3)
        (failed,) = told["failed"]
        assert (told["state"], failed["page"], failed["name"]) == ("done", 3, "3")
        assert failed["message"].startswith("book.zip/3.png: ")
        where = f"{url}/v1/jobs/{job['id']}"
        assert complaint(ask(f"{where}/pages/3")) == (422, failed["message"])
        assert files(ask(f"{where}/result")[1])["failed.txt"].decode() == f"3: {failed['message']}\n"


def test_what_is_no_book_gets_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    bounds = Bounds(body=1000, job_body=20_000, jobs=0)
    with served(tmp_path) as url:
        where = f"{url}/v1/jobs"
        for status, said, answer in (
            (400, "the file is empty", ask(where, b"")),
            (400, "not a ZIP archive", ask(where, b"PK\3\4")),
            (400, "no option 'format'", ask(f"{where}?format=txt", zipped(1))),
            (400, "no option 'lines'", ask(where, *form([("file", "a", b"x"), ("lines", None, b"[]")]))),
            (400, "no file named", ask(where, *form([("turn", None, b"1")]))),
            (404, "no such job", ask(f"{where}/abc")),
            (404, "no such", ask(f"{where}/..%2f..%2fetc/pages/1")),
            (405, "another method", ask(where)),
        ):
            found = complaint(answer)
            assert found[0] == status and said in found[1], found
        job = post(url, zipped(1))
        wait_for(url, job, 1)
        for number, status in (("0", 404), ("2", 404), ("x", 400), ("1e1", 400), ("9" * 40, 400)):
            assert complaint(ask(f"{where}/{job['id']}/pages/{number}"))[0] == status
        assert complaint(ask(f"{where}/{job['id']}/pages/1?format=docx"))[0] == 400
        assert complaint(ask(f"{where}/{job['id']}/result?format=hocr&book=1"))[0] == 400
    with served(tmp_path / "small", bounds=bounds) as url:
        assert complaint(ask(f"{url}/v1/jobs", zipped(1)))[0] == 503
    with served(tmp_path / "small", bounds=Bounds(job_body=1000)) as url:
        assert complaint(ask(f"{url}/v1/jobs", zipped(1))) == (413, "The request is larger than 0.001 MB.")
    assert not list((tmp_path / "small").iterdir())


def test_without_a_detector_there_are_no_jobs(tmp_path: Path) -> None:
    with served(tmp_path, fake_models()) as url:
        assert complaint(ask(f"{url}/v1/jobs", zipped(1))) == (
            400,
            "This server has no detector, and jobs need one.",
        )
    assert not list(tmp_path.iterdir())


def test_jobs_want_the_key_too(tmp_path: Path) -> None:
    with served(tmp_path, key="k1") as url:
        assert complaint(ask(f"{url}/v1/jobs", zipped(1)))[0] == 401
        job = post(url, zipped(1), Authorization="Bearer k1")
        for address in ("", "/pages/1", "/result"):
            assert complaint(ask(f"{url}/v1/jobs/{job['id']}{address}"))[0] == 401


def test_names_of_any_kind(tmp_path: Path) -> None:
    with served(tmp_path) as url:
        job = post(url, zipped(1), "?name=..%2F..%2F%E5%A4%A7%E5%AD%B8%20%3A.zip")
        assert job["name"] == "大學 :.zip"
        wait_for(url, job, 1)
        assert ask(f"{url}/v1/jobs/{job['id']}/result")[0] == 200
