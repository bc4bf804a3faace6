"""Documents are fetched one by one from where they are: files, folders, tables, servers, data sets."""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from kept import Kept
from search_server import SearchServer, search_server

from cranfield.base.errors import CranfieldError, InputError, UsageError
from cranfield.base.records import Document, OutsideSource
from cranfield.corpus.outside import DocumentSource, Fetcher, Unavailable, open_source, parse_address
from cranfield.corpus.reading import read_documents

PANS = [
    {"id": "d1", "title": "Foxes", "text": "The quick brown fox."},
    {"id": "d2", "title": "Burnt pans", "text": "Soda.", "kind": "tip"},
    {"id": "é/3", "text": "Water\x00 \x1b[31m"},
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HOME", "IR_DATASETS_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def lines(path: Path, records: list[dict[str, object]] = PANS) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def table(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE docs (id TEXT PRIMARY KEY, title TEXT, text TEXT, kind TEXT)")
        database.executemany(
            "INSERT INTO docs VALUES (?, ?, ?, ?)",
            [(one["id"], one.get("title", ""), one["text"], one.get("kind")) for one in PANS],
        )
    return path


def opened(words: str, **columns: str) -> DocumentSource:
    source = open_source(parse_address(words, columns))
    source.prepare()
    return source


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with search_server({one["id"]: {**one} for one in PANS}) as running:
        for fields in running.documents.values():
            del fields["id"]
        yield running


class Pan(NamedTuple):
    """A document as ir_datasets has them."""

    doc_id: str
    title: str
    text: str

    def default_text(self) -> str:
        return f"{self.title} {self.text}"


@pytest.fixture
def data_set(tmp_path: Path, home: Path) -> Iterator[str]:
    ir_datasets = pytest.importorskip("ir_datasets")
    from ir_datasets.formats import JsonlDocs
    from ir_datasets.util import LocalDownload

    mapping = {"doc_id": "id", "title": "title", "text": "text"}
    file = LocalDownload(lines(tmp_path / "local.jsonl", [{"title": "", **one} for one in PANS]))
    documents = JsonlDocs(file, doc_cls=Pan, mapping=mapping, namespace="pans", count_hint=3)
    ir_datasets.registry.register("pans-of-this-test", ir_datasets.Dataset(documents))
    yield "irds:pans-of-this-test"
    del ir_datasets.registry._registered["pans-of-this-test"]


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte order mark"])
def test_a_line_is_the_document_that_would_be_loaded(tmp_path: Path, mark: str):
    file = lines(tmp_path / "pans.jsonl")
    file.write_text(mark + file.read_text(encoding="utf-8"), encoding="utf-8")
    source = opened(f"jsonl:{file}")
    loaded = [record for record in read_documents(file) if isinstance(record, Document)]
    assert [source.fetch(one.id) for one in loaded] == loaded
    assert source.fetch("d4") is None


def test_the_index_lies_beside_the_file_and_is_made_once(tmp_path: Path):
    file = lines(tmp_path / "pans.jsonl")
    opened(f"jsonl:{file}")
    index = tmp_path / "pans.jsonl.offsets"
    made = index.stat().st_mtime_ns
    assert opened(f"jsonl:{file}").prepare() == 3
    assert index.stat().st_mtime_ns == made
    assert index.stat().st_size == 512 + 16 * 3


def test_a_file_that_was_changed_is_indexed_anew_before_it_is_read(tmp_path: Path, kept: Kept):
    source = opened(f"jsonl:{lines(tmp_path / 'pans.jsonl')}")
    lines(tmp_path / "pans.jsonl", [{"id": "new", "text": "other"}, *PANS])
    with kept.raises(InputError):
        source.fetch("d2")
    assert source.prepare() == 4
    assert source.fetch("new") == Document("new", "other")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser writes everywhere")
def test_the_index_of_a_file_in_a_folder_that_cannot_be_written_is_in_the_cache(tmp_path: Path, home: Path):
    (tmp_path / "data").mkdir()
    file = lines(tmp_path / "data" / "pans.jsonl")
    (tmp_path / "data").chmod(0o555)
    assert opened(f"jsonl:{file}").fetch("d2") is not None
    assert len(list((home / "cranfield" / "offsets").iterdir())) == 1


@pytest.mark.parametrize("line", ['{"text": "x", "id"', '{"text": "no id"}', "[1]", "\x80"])
def test_a_line_that_is_no_document_is_named(tmp_path: Path, kept: Kept, line: str):
    (tmp_path / "bad.jsonl").write_bytes(b'{"id": "a", "text": "b"}\n' + line.encode("latin-1") + b"\n")
    with kept.raises(InputError):
        opened(f"jsonl:{tmp_path / 'bad.jsonl'}")


FIELDS = some.dictionaries(
    some.sampled_from(["_id", "id", "docid", "text"]), some.text('ab"é', max_size=2), min_size=1
)


@given(records=some.lists(FIELDS, min_size=1))
def test_every_document_of_a_file_is_found_under_its_id(tmp_path_factory: pytest.TempPathFactory, records):
    with_id = [one for one in records if next((one[name] for name in ("_id", "id", "docid") if name in one), "")]
    file = lines(tmp_path_factory.mktemp("some") / "some.jsonl", with_id)
    read = list(read_documents(file))
    first: dict[str, Document] = {}
    for one in read:
        if isinstance(one, Document):
            first.setdefault(one.id, one)
    source = opened(f"jsonl:{file}")
    assert {id: source.fetch(id) for id in first} == first


def test_a_file_of_a_folder_is_the_document_that_would_be_loaded(tmp_path: Path):
    folder = tmp_path / "texts"
    (folder / "in here").mkdir(parents=True)
    (folder / "in here" / "a b.txt").write_text("One line.\nMore.", encoding="utf-8")
    (folder / "page.html").write_text("<title>A page</title><p>Text.", encoding="utf-8")
    source = opened(f"folder:{folder}")
    loaded = [one for one in read_documents(folder) if isinstance(one, Document)]
    assert [source.fetch(one.id) for one in loaded] == loaded
    assert [one.id for one in loaded] == ["in%20here/a%20b.txt", "page.html"]


def test_nothing_outside_its_folder_is_read(tmp_path: Path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (folder / ".hidden.txt").write_text("secret")
    (folder / "other.db").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    source = opened(f"folder:{folder}")
    ids = ["../secret.txt", "%2E%2E/secret.txt", "..%2Fsecret.txt", str(tmp_path / "secret.txt"), ".hidden.txt"]
    ids += ["other.db", "link.txt", "x/../../secret.txt", "", "."]
    assert [id for id in ids if source.fetch(id) is not None] == []


def test_a_row_of_a_table_is_a_document(tmp_path: Path):
    source = opened(f"sqlite:{table(tmp_path / 'pans.db')}")
    assert source.fetch("d2") == Document("d2", "Soda.", "Burnt pans", {"kind": "tip"})
    assert source.fetch("' OR 1=1 --") is None


def test_a_column_of_numbers_has_no_other_id_than_their_digits(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "pans.db")) as connection, connection:
        connection.execute("CREATE TABLE pans (id INTEGER PRIMARY KEY, text)")
        connection.execute("INSERT INTO pans VALUES (7, 'seven')")
    source = opened(f"sqlite:{tmp_path / 'pans.db'}")
    assert source.fetch("7") == Document("7", "seven")
    assert source.fetch("007") is None


def test_a_table_is_named_where_there_are_several(tmp_path: Path, kept: Kept):
    with closing(sqlite3.connect(table(tmp_path / "pans.db"))) as database, database:
        database.execute("CREATE TABLE other (id PRIMARY KEY, body)")
        database.execute("CREATE TABLE slow (id, body)")
        database.execute("INSERT INTO other VALUES (7, 'seven')")
    with kept.raises(InputError):
        opened(f"sqlite:{tmp_path / 'pans.db'}")
    with kept.raises(CranfieldError):
        opened(f"sqlite:{tmp_path / 'pans.db'}#docz")
    with kept.raises(InputError):
        opened(f"sqlite:{tmp_path / 'pans.db'}#slow")
    other = opened(f"sqlite:{tmp_path / 'pans.db'}#other")
    assert (other.fetch("7"), other.fetch("8")) == (Document("7", "seven"), None)


def test_the_words_for_the_parts_can_be_named(tmp_path: Path):
    file = lines(tmp_path / "own.jsonl", [{"name": "a", "full": "text of a", "id": "not this"}])
    assert opened(f"jsonl:{file}", id="name", text="full").fetch("a") == Document(
        "a", "text of a", "", {"id": "not this"}
    )


def test_a_server_is_asked_for_one_document(server: SearchServer):
    source = open_source(parse_address(server.address))
    assert server.asked == []
    assert source.prepare() == 3
    assert source.fetch("d2") == Document("d2", "Soda.", "Burnt pans", {"kind": "tip"})
    assert source.fetch("é/3") is not None
    assert source.fetch("nobody's") is None
    assert server.asked == ["/docs/_count", "/docs/_doc/d2", "/docs/_doc/%C3%A9%2F3", "/docs/_doc/nobody%27s"]


def test_the_password_of_a_server_is_in_netrc_and_nowhere_else(server: SearchServer, home: Path, kept: Kept):
    server.password = "ann:secret"
    source = open_source(parse_address(server.address))
    with kept.raises(InputError):
        source.fetch("d2")
    (home / ".netrc").write_text("default login ann password secret\n")
    (home / ".netrc").chmod(0o600)
    with pytest.raises(InputError):  # a default is for every host, also one that a stranger names
        source.fetch("d2")
    (home / ".netrc").write_text("machine 127.0.0.1 login ann password secret\n")
    (home / ".netrc").chmod(0o600)
    assert source.fetch("d2") is not None
    with kept.raises(UsageError):
        parse_address("opensearch:http://ann:secret@127.0.0.1/docs")


def test_a_server_that_sends_elsewhere_is_not_followed(server: SearchServer, kept: Kept):
    with search_server({"d2": {"text": "another"}}) as other:
        server.redirect = other.address.removeprefix("opensearch:") + "/_doc/d2"
        with kept.raises(InputError):
            open_source(parse_address(server.address)).fetch("d2")
        assert other.asked == []


def test_a_server_without_the_index_and_one_that_is_gone_are_said(server: SearchServer, kept: Kept):
    with kept.raises(InputError):
        open_source(parse_address(f"{server.address}2")).fetch("d2")
    source = open_source(parse_address(server.address))
    server.over.set()
    server.shutdown()
    server.server_close()
    with pytest.raises(InputError):
        source.fetch("d2")


def test_a_document_of_a_data_set_comes_from_the_store_of_ir_datasets(data_set: str, kept: Kept):
    source = opened(data_set)
    assert source.prepare() == 3
    assert source.fetch("d2") == Document("d2", "Soda.", "Burnt pans")
    assert source.fetch("d9") is None
    with kept.raises(InputError):
        opened("irds:no-such-data-set")


@pytest.mark.parametrize(
    "words",
    [
        "documents.jsonl", "jsonl:", "no:thing", "opensearch:host/docs", "jsonl:a\nb",
        "jsonl:https://host/documents.jsonl?key=secret", "folder:s3://bucket/texts",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(kept: Kept, words: str):
    with kept.raises(UsageError):
        parse_address(words)


def test_hostile_text_is_made_storable(tmp_path: Path):
    found = opened(f"jsonl:{lines(tmp_path / 'pans.jsonl')}").fetch("é/3")
    assert found == Document("é/3", "Water\ufffd \x1b[31m")


# Fetching: nobody waits for a source longer than they want.


def waited(call: Callable[[], object]) -> float:
    started = time.monotonic()
    call()
    return time.monotonic() - started


def test_what_is_wanted_is_there_when_it_is_needed(server: SearchServer):
    fetcher = Fetcher([parse_address(server.address)])
    fetcher.want(["d1", "d2"])
    while len(server.asked) < 2:
        time.sleep(0.01)
    assert [fetcher.get(id).title for id in ("d1", "d2")] == ["Foxes", "Burnt pans"]
    assert len(server.asked) == 2


def test_a_slow_document_keeps_nobody_from_the_others(server: SearchServer, kept: Kept):
    server.slow = {"d1"}
    fetcher = Fetcher([parse_address(server.address)])
    fetcher.want(["d1", "d2"])
    late = fetcher.get("d1", patience=0.1)
    assert isinstance(late, Unavailable)
    kept(late.reason.replace(str(server.server_port), "PORT"))
    assert fetcher.get("d2").title == "Burnt pans"
    server.over.set()
    assert fetcher.get("d1").title == "Foxes"


def test_what_is_no_longer_wanted_is_not_asked_for(server: SearchServer):
    server.slow = {"s1", "s2", "s3", "s4"}
    fetcher = Fetcher([parse_address(server.address)])
    fetcher.want([*sorted(server.slow), "d1"])
    while len(server.asked) < 4:
        time.sleep(0.01)
    fetcher.want(["d2"])
    server.over.set()
    assert fetcher.get("d2").title == "Burnt pans"
    assert "/docs/_doc/d1" not in server.asked


def test_the_first_source_that_has_a_document_gives_it(tmp_path: Path, server: SearchServer):
    lines(tmp_path / "one.jsonl", [{"id": "d1", "text": "here"}])
    addresses = [parse_address(f"jsonl:{tmp_path / 'one.jsonl'}"), parse_address(server.address)]
    open_source(addresses[0]).prepare()
    fetcher = Fetcher(addresses)
    assert (fetcher.get("d1").text, fetcher.get("d2").text) == ("here", "Soda.")


def test_a_source_that_gives_another_document_is_not_believed(server: SearchServer, monkeypatch: pytest.MonkeyPatch):
    from cranfield.corpus.sources.opensearch import OpenSearch

    monkeypatch.setattr(OpenSearch, "fetch", lambda self, id: Document("d1", "wrong"))
    assert isinstance(Fetcher([parse_address(server.address)]).get("d2"), Unavailable)


def test_a_source_that_breaks_in_any_way_is_a_reason(
    server: SearchServer, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    from cranfield.corpus.sources.opensearch import OpenSearch

    def breaks(self: object, id: str) -> Document:
        raise ZeroDivisionError("of somebody else's")

    monkeypatch.setattr(OpenSearch, "fetch", breaks)
    found = Fetcher([parse_address(server.address)]).get("d2")
    assert isinstance(found, Unavailable)
    kept(found.reason.replace(str(server.server_port), "PORT"))


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("jsonl", "documents.jsonl"),
        ("folder", ".."),
        ("sqlite", "~/mail.db"),
        ("jsonl", "/a\0b"),
        ("jsonl", "/dev/zero"),
        ("opensearch", "file:///etc/passwd?"),
        ("opensearch", "http://ann:secret@127.0.0.1:9/docs"),
    ],
)
def test_an_address_that_no_command_writes_is_refused_where_it_is_approved(kept: Kept, kind: str, place: str):
    with kept.raises(CranfieldError):
        open_source(OutsideSource(kind, place, {})).prepare()


def test_an_index_that_somebody_has_changed_shows_no_other_document(tmp_path: Path):
    many = [{"id": f"d{number}", "text": f"text {number}"} for number in range(20)]
    address = parse_address(f"jsonl:{lines(tmp_path / 'docs.jsonl', many)}")
    open_source(address).prepare()
    index = tmp_path / "docs.jsonl.offsets"
    whole = index.read_bytes()
    keys, offsets = (np.frombuffer(whole[start : start + 160], "<u8").copy() for start in (512, 672))
    for wrong in (
        offsets[::-1],
        offsets + 3,
        offsets * 0,
        offsets + np.uint64(1 << 63),
        offsets + np.uint64(1 << 40),
    ):
        index.write_bytes(whole[:512] + keys.tobytes() + wrong.tobytes())
        for one in many:
            found = Fetcher([address]).get(one["id"])
            assert isinstance(found, Unavailable) or found == Document(one["id"], one["text"])
    # One key for all of them, so that each look would read every line.
    index.write_bytes(whole[:512] + np.full(20, keys[0]).tobytes() + offsets.tobytes())
    assert isinstance(Fetcher([address]).get("nobody"), Unavailable)
