"""Runs, qrels, topics and documents by URL: from a real S3 server and a web server, both on loopback."""

import asyncio
import gzip
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import spreading
from command import call
from kept import Kept

s3fs = pytest.importorskip("s3fs")
serving = pytest.importorskip("serving")

from aiohttp import ClientPayloadError  # noqa: E402

import cranfield as cf  # noqa: E402
from cranfield.base import files, spread  # noqa: E402
from cranfield.evaluate import reading  # noqa: E402

KITCHEN = spreading.ROOT / "collections/kitchen"
RUNS = sorted((KITCHEN / "runs").glob("*.run"))
QRELS = KITCHEN / "qrels.txt"


@pytest.fixture(scope="module")
def bucket() -> Iterator[serving.Bucket]:
    with serving.s3_server() as made:
        for run in RUNS:
            made.put(f"runs/{run.name}", run.read_bytes())
            made.put(f"packed/{run.name}.gz", gzip.compress(run.read_bytes()))
        for name in ("qrels.txt", "topics.trec", "documents.jsonl"):
            made.put(name, (KITCHEN / name).read_bytes())
        yield made


@pytest.fixture
def reached(bucket: serving.Bucket, monkeypatch: pytest.MonkeyPatch) -> serving.Bucket:
    for name, word in bucket.environment.items():
        monkeypatch.setenv(name, word)
    return bucket


@pytest.fixture
def site(tmp_path: Path) -> Iterator[serving.Site]:
    (tmp_path / "web").mkdir()
    with serving.web_server(tmp_path / "web") as made:
        yield made


def scores(*words: object, qrels: object = QRELS, **options: object) -> str:
    return call("evaluate", "--qrels", qrels, *words, "-f", "csv", **options).out


def hidden(text: str, site: serving.Site) -> str:
    """What was printed, without the port of a server."""
    return text.replace(site.url, "http://server")


@pytest.mark.parametrize("pattern", ["runs/*.run", "packed/*.gz"])
def test_runs_and_qrels_of_a_bucket_are_evaluated_as_files_are(reached, tmp_path: Path, pattern: str):
    there = scores(f"s3://bucket/{pattern}", qrels="s3://bucket/qrels.txt", folder=tmp_path)
    assert there == scores(*RUNS, folder=tmp_path)


def test_other_commands_and_python_take_urls_too(reached, tmp_path: Path):
    words = [f"s3://bucket/runs/{run.name}" for run in RUNS[:2]]
    here = call("compare", "--qrels", QRELS, *RUNS[:2], "-f", "csv", folder=tmp_path).out
    assert call("compare", "--qrels", "s3://bucket/qrels.txt", *words, "-f", "csv", folder=tmp_path).out == here
    frames = [
        cf.open_files(qrels=qrels, runs=runs, progress=False).evaluate("AP")
        for qrels, runs in ((QRELS, RUNS), ("s3://bucket/qrels.txt", "s3://bucket/runs/*"))
    ]
    pd.testing.assert_frame_equal(*frames, check_exact=True)


def test_a_collection_is_filled_from_a_bucket(reached, tmp_path: Path):
    call("init", "there", folder=tmp_path)
    call("corpus", "add", "s3://bucket/documents.jsonl", folder=tmp_path)
    call("corpus", "topics", "s3://bucket/topics.trec", folder=tmp_path)
    call("runs", "submit", "s3://bucket/runs/*.run", folder=tmp_path)
    call("qrels", "import", "s3://bucket/qrels.txt", "--name", "first", folder=tmp_path)
    listed = call("runs", "list", "-f", "csv", folder=tmp_path).out
    assert listed.count("\n") == len(RUNS) + 1
    key = reached.environment["AWS_SECRET_ACCESS_KEY"].encode()
    assert not any(key in path.read_bytes() for path in tmp_path.iterdir())


def test_workers_read_their_own_files(reached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "READ_AT_ONCE", 1)
    monkeypatch.setattr(reading, "MANY", spread.WORTH)
    fetched = []
    keep = reading.read_file
    monkeypatch.setattr(
        reading, "read_file", lambda source, *more, **how: fetched.append(source) or keep(source, *more, **how)
    )
    words = [f"s3://bucket/runs/{run.name}" for run in RUNS[:4]]
    there = scores(*words, "--jobs", 2, folder=tmp_path)
    assert not fetched, "files were read here"
    assert there == scores(*RUNS[:4], folder=tmp_path)


def test_a_wrong_key_and_a_missing_file_are_one_sentence_each(
    reached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    for word in (
        "s3://bucket/nothing.run",
        "s3://bucket/runs",
        "s3://bucket/runs/",
        "s3://bucket/nothing/*",
        "s3://nowhere/a.run",
        "nosuch://a/b",
    ):
        kept(call("evaluate", "--qrels", QRELS, word, status=1, folder=tmp_path).err)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-and-secret")
    s3fs.S3FileSystem.clear_instance_cache()
    said = call("--verbose", "evaluate", "--qrels", QRELS, "s3://bucket/runs/*", status=1, folder=tmp_path).err
    assert "wrong-and-secret" not in said
    assert reached.environment["AWS_ACCESS_KEY_ID"] not in said
    kept(call("evaluate", "--qrels", QRELS, "s3://bucket/qrels.txt", status=1, folder=tmp_path).err)
    s3fs.S3FileSystem.clear_instance_cache()


def test_a_connection_that_breaks_is_one_sentence_without_the_query(site, tmp_path: Path, kept: Kept):
    shutil.copy(RUNS[0], tmp_path / "web/a.run")
    word = f"{site.url}/a.run?Signature=secret"
    assert scores(word, folder=tmp_path) == scores(RUNS[0], folder=tmp_path)
    site.cut = 2000
    for one in (word, f"{site.url}/gone.run?Signature=secret", f"{site.url}/denied.run?Signature=secret"):
        said = call("evaluate", "--qrels", QRELS, one, status=1, folder=tmp_path).err
        assert "secret" not in said
        kept(hidden(said, site))


def test_a_bucket_that_breaks_off_again_and_again_is_one_sentence(
    site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    (tmp_path / "web/bucket").mkdir()
    shutil.copy(RUNS[0], tmp_path / "web/bucket/a.run")
    site.cut = 2000
    given = {"AWS_ENDPOINT_URL": site.url, "AWS_ACCESS_KEY_ID": "mine", "AWS_SECRET_ACCESS_KEY": "secret"}
    for name, word in given.items():
        monkeypatch.setenv(name, word)
    s3fs.S3FileSystem.clear_instance_cache()
    said = call("evaluate", "--qrels", QRELS, "s3://bucket/a.run", status=1, folder=tmp_path).err
    assert "secret" not in said
    assert len(site.asked) > 2, "it was not tried again"
    kept(said)
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize("word", ["set.parquet", "set.parquet#larder-bm25", "folder/"])
def test_a_set_in_a_bucket_that_cannot_be_reached_is_one_sentence(
    reached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept, word: str
):
    call("runs", "pack", *RUNS[:4], "-o", "set.parquet", folder=tmp_path)
    for key in ("set.parquet", "folder/set.parquet"):
        reached.put(key, (tmp_path / "set.parquet").read_bytes())
    words = ["evaluate", "--qrels", QRELS, f"s3://bucket/{word}"]

    def said() -> str:
        s3fs.S3FileSystem.clear_instance_cache()
        return call(*words, status=1, folder=tmp_path).err

    async def broken(*_: object, **__: object) -> bytes:
        raise ClientPayloadError("of https://bucket?X-Amz-Signature=secret")

    with monkeypatch.context() as breaking:
        breaking.setattr(s3fs.S3FileSystem, "_cat_file", broken)
        breaking.setattr(s3fs.core.S3File, "_fetch_range", lambda *_: asyncio.run(broken()))
        kept(said())
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    kept(said())
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    kept(said())
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize(
    "url",
    ["https://me:secret@127.0.0.1/a", "s3://key:sec/secret@bucket/a", "simplecache::http://secret@127.0.0.1/a"],
    ids=["password", "slash", "token"],
)
def test_a_password_in_a_url_is_refused_and_not_printed(tmp_path: Path, kept: Kept, url: str):
    said = call("evaluate", "--qrels", QRELS, url, status=2, folder=tmp_path).err
    assert "secret" not in said
    kept(said)


@pytest.mark.parametrize("url", ["https://127.0.0.1:9/a@b", "sftp://me@127.0.0.1/a", "abfs://store@account.dfs/a"])
def test_what_is_no_password_is_none(url: str):
    assert str(files.located(url)) == url


def test_the_query_of_a_url_is_neither_printed_nor_stored(site, tmp_path: Path):
    """Wherever a file is named, also where no URL is taken."""
    for name, text in {"a.run": "1 Q0 d 1 2 t\n", "q": "1 0 d 1\n", "list.toml": '[[run]]\nfile = "a.run"\n'}.items():
        (tmp_path / "web" / name).write_text(text)
    call("init", "-C", "c.db", folder=tmp_path)
    run, qrels, missing = (f"{site.url}/{name}?key=secret" for name in ("a.run", "q", "gone"))
    commands = [
        *(["runs", "check", f"{site.url}/list.toml?key=secret"], ["runs", "submit", run, "-C", "c.db"]),
        *(["runs", "submit", run, "--list", missing, "-C", "c.db"], ["qrels", "diff", qrels, qrels]),
        *(["qrels", "import", qrels, "-C", "c.db"], ["evaluate", run, "-C", "c.db", "-f", "json"]),
        *(["reuse", "--qrels", qrels, run, "--pool", missing], ["runs", "watch", missing]),
        *(["evaluate", "--qrels", qrels, run, "--duplicates", missing], ["init", "--from", missing, "-C", "n.db"]),
        *(["init", "-C", "n.db", "--scale", missing], ["init", "-C", "n.db", "--guidelines", missing]),
        *(["restore", missing, "-C", "c.db"], ["status", "-C", missing], ["judge", "merge", missing, "-C", "c.db"]),
        *(["check", "--against", missing, "-C", "c.db"], ["corpus", "outside", f"jsonl:{missing}", "-C", "c.db"]),
    ]
    for words in commands:
        ended = call("--verbose", *words, folder=tmp_path, status=None)
        assert ended.status in (0, 1, 2), words
        assert "secret" not in ended.out + ended.err, words
    assert not any(b"secret" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_runs_with_equal_tags_are_named_by_their_urls_without_the_query(site, tmp_path: Path):
    for folder in ("a", "b"):
        (tmp_path / "web" / folder).mkdir()
        shutil.copy(RUNS[0], tmp_path / "web" / folder / "x.run")
    found = scores(*(f"{site.url}/{folder}/x.run?key=secret" for folder in "ab"), folder=tmp_path)
    assert "secret" not in found
    assert f"{site.url}/a/x.run" in found


def test_what_a_file_names_is_never_contacted(site, tmp_path: Path):
    """A list of runs, and a collection whose runs, releases and qrels bear the names of URLs."""
    shutil.copy(RUNS[0], tmp_path / "web/a.run")
    (tmp_path / "runs.toml").write_text(f'[[run]]\nfile = "{site.url}/a.run"\n')
    call("runs", "check", "runs.toml", status=1, folder=tmp_path)
    call("init", "other", folder=tmp_path)
    call("runs", "submit", RUNS[0], folder=tmp_path)
    call("qrels", "import", QRELS, "--name", "first", folder=tmp_path)
    with sqlite3.connect(tmp_path / "collection.db") as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE runs SET name = ?", [f"{site.url}/a.run"])
    connection.close()
    call("evaluate", status=None, folder=tmp_path)
    call("runs", "list", status=None, folder=tmp_path)
    assert site.asked == []


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept):
    import fsspec

    def missing(url: str) -> None:
        raise ImportError("Install s3fs")

    monkeypatch.setattr(fsspec, "url_to_fs", missing)
    said = call("evaluate", "--qrels", QRELS, "s3://bucket/a.run", status=1, folder=tmp_path).err
    kept(said.partition(": pip install")[0])
