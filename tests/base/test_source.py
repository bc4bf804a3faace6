"""How bytes enter."""

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
from hashlib import sha256
from pathlib import Path

import pytest
import zstandard
from kept import Kept

from cranfield.base import files as source_module
from cranfield.base.errors import SourceError, UsageError
from cranfield.base.files import Source

TEXT = "".join(f"line {number} é\n" for number in range(3000))
PACKERS = {"gzip": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zstd": zstandard.compress}


@pytest.fixture
def written(tmp_path):
    def write(data: bytes, name: str = "file") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def content(path: Path, **options: str) -> bytes:
    with Source(path, **options).open() as stream:
        return stream.read()


@pytest.mark.parametrize("packer", PACKERS)
def test_compression_is_recognised_by_its_first_bytes(written, packer):
    assert content(written(PACKERS[packer](TEXT.encode()), "no-suffix")) == TEXT.encode()


def test_a_suffix_alone_means_nothing(written):
    assert content(written(TEXT.encode(), "not-really.gz")) == TEXT.encode()


@pytest.mark.parametrize("packer", PACKERS)
def test_members_behind_each_other_are_one_file(written, packer):
    pack = PACKERS[packer]
    assert content(written(pack(b"one\n") + pack(b"") + pack(b"two\n") * 500)) == b"one\n" + b"two\n" * 500


@pytest.mark.parametrize("packer", PACKERS)
def test_zeros_behind_a_member_are_padding(written, packer):
    assert content(written(PACKERS[packer](b"one\n") + bytes(10_000))) == b"one\n"


@pytest.mark.parametrize("packer", PACKERS)
def test_anything_else_behind_a_member_is_an_error(written, packer):
    with pytest.raises(SourceError, match="file: the compressed data is damaged or followed by other data"):
        content(written(PACKERS[packer](b"one\n") + b"garbage and more garbage"))


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("missing", [1, 5, 100])
def test_a_file_that_was_cut_off_is_an_error_that_names_it(written, packer, missing, kept: Kept):
    path = written(PACKERS[packer](TEXT.encode())[:-missing])
    with kept.raises(SourceError):
        content(path)


@pytest.mark.parametrize("packer", PACKERS)
def test_a_second_member_that_was_cut_off_is_an_error(written, packer, kept: Kept):
    pack = PACKERS[packer]
    with kept.raises(SourceError):
        content(written(pack(b"one\n") + pack(TEXT.encode())[:-4]))


@pytest.mark.parametrize("packer", ["gzip", "bz2", "xz"])
def test_damaged_data_is_an_error(written, packer):
    packed = bytearray(PACKERS[packer](TEXT.encode()))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(SourceError, match=r"damaged|truncated"):
        content(written(bytes(packed)))


def test_a_zstd_file_may_begin_with_a_skippable_frame(written):
    frame = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd"
    assert content(written(frame + zstandard.compress(b"one\n"))) == b"one\n"


def test_lines_are_numbered_and_lose_their_ends_and_the_byte_order_mark(written):
    path = written(b"\xef\xbb\xbfone\r\ntwo\n\nlone\rcr\nlast")
    assert list(Source(path).lines()) == [(1, "one"), (2, "two"), (3, ""), (4, "lone\rcr"), (5, "last")]
    assert next(Source(path).byte_lines()) == (1, b"one\r\n")


def test_bytes_that_are_not_utf_8_are_an_error_with_their_line(written, kept: Kept):
    with kept.raises(SourceError) as caught:
        list(Source(written(b"one\ncaf\xe9\n")).lines())
    assert caught.value.problem.lines == (2,)


def test_a_line_beyond_the_limit_is_an_error_and_the_lines_behind_it_keep_their_numbers(
    written, monkeypatch, kept: Kept
):
    monkeypatch.setattr(source_module, "LONGEST_LINE", 10)
    path = written(b"short\n" + b"x" * 100 + b"\nend\n")
    assert list(Source(path).byte_lines()) == [(1, b"short\n"), (2, b"x" * 11), (3, b"end\n")]
    with kept.raises(SourceError):
        list(Source(path).lines())


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "UTF8"])
def test_other_encodings_leave_as_utf_8(written, encoding):
    assert content(written(TEXT.encode(encoding)), encoding=encoding) == TEXT.encode()


def test_what_does_not_fit_the_named_encoding_is_an_error_with_its_line(written, kept: Kept):
    with kept.raises(SourceError):
        content(written(b"one\ncaf\xe9"), encoding="ascii")


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "zlib", "base64", "", "a\0b"])
def test_an_unknown_encoding_is_a_wrong_call(written, encoding, kept: Kept):
    with kept.raises(UsageError):
        content(written(b"x"), encoding=encoding)


def test_the_head_is_decompressed_and_without_a_byte_order_mark(written):
    assert Source(written(gzip.compress(b"\xef\xbb\xbfabcdef"))).head(6) == b"abc"


def test_what_cannot_be_opened_is_an_error_that_names_it(tmp_path, written):
    with pytest.raises(SourceError, match="absent: no such file"):
        Source(tmp_path / "absent").open()
    with pytest.raises(SourceError, match="this is a folder; a file is expected"):
        Source(tmp_path).open()
    with pytest.raises(SourceError, match="cannot be opened"):
        Source(tmp_path / ("x" * 5000)).open()
    with pytest.raises(SourceError, match=r"no such file|cannot be opened"):
        Source(Path("a\0b")).open()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_says_so(written):
    path = written(b"x")
    path.chmod(0)
    with pytest.raises(SourceError, match="Permission denied"):
        Source(path).open()


def test_names_lose_compression_and_format_suffixes():
    assert [Source(Path(name)).stem for name in ("a/run.txt.gz", "b.bm25.zst", "c", ".gz")] == [
        "run",
        "b.bm25",
        "c",
        ".gz",
    ]
    assert Source(Path("a/run.txt.gz")).bare_name == "run.txt"
    assert Source(Path("-")).name == "standard input"


def test_the_hash_and_size_are_those_of_the_file_as_it_lies_there(written):
    packed = gzip.compress(b"one\n", mtime=0)
    source = Source(written(packed))
    assert source.file_sha256 == sha256(packed).hexdigest()
    assert source.size == len(packed)


def test_standard_input_can_be_read_more_than_once(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT.encode()))))
    source = Source(Path("-"))
    assert source.head(4) == b"line"
    assert source.size is None
    assert source.is_piped
    for _ in range(2):
        with source.open() as stream:
            assert stream.read() == TEXT.encode()
    copy = source.spooled
    assert copy.exists()
    del source, stream
    assert not copy.exists()


def test_a_pipe_can_be_read_more_than_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(TEXT.encode(),))
    writer.start()
    source = Source(path)
    assert source.head(4) == b"line"
    writer.join()
    assert [line for _, line in source.lines()] == TEXT.splitlines()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_who_watches_is_told_how_much_of_the_file_was_read(written, pack):
    seen: list[int] = []
    source = Source(written(pack(TEXT.encode() * 100)), watch=seen.append)
    with source.open() as stream:
        stream.read()
    assert seen == sorted(seen)
    assert seen[-1] == source.size


def test_sources_for_the_same_path_are_equal_whoever_watches():
    assert Source(Path("a"), watch=print) == Source(Path("a"))


# Bounds: what never ends, or is much larger inside than outside, ends at a stated limit.


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_device_is_refused(device, kept: Kept):
    with kept.raises(SourceError):
        Source(Path(device)).head()


@pytest.mark.parametrize("packer", PACKERS)
def test_blank_lines_without_end_in_a_small_file_end_at_a_limit(written, packer, kept: Kept):
    path = written(PACKERS[packer](b"one\n" + b"\n" * (4 * source_module.MOST_BLANK)), "blank")
    with kept.raises(SourceError):
        sum(1 for _ in Source(path).blocks())


@pytest.mark.parametrize("packer", PACKERS)
def test_a_small_file_that_decompresses_to_a_huge_one_ends_at_a_limit(written, packer, kept: Kept, monkeypatch):
    monkeypatch.setattr(source_module, "GROWN", 1 << 22)
    path = written(PACKERS[packer](b"one two\n" * (1 << 20)), "grown")
    assert path.stat().st_size * source_module.GROWTH < 1 << 23
    with kept.raises(SourceError):
        sum(1 for _ in Source(path).blocks())


@pytest.mark.parametrize("packer", PACKERS)
def test_a_file_that_compresses_as_runs_do_may_be_of_any_size(written, packer, monkeypatch):
    monkeypatch.setattr(source_module, "GROWN", 1 << 10)
    run = "".join(
        f"{row // 1000} Q0 d{row * 7919 % 99991} {row % 1000} {1 / (1 + row)} tag\n" for row in range(20_000)
    )
    assert content(written(PACKERS[packer](run.encode()))) == run.encode()


def test_a_pipe_without_end_ends_at_a_limit_and_leaves_no_copy(tmp_path, monkeypatch, kept: Kept):
    monkeypatch.setattr(source_module, "LARGEST_PIPE", 1 << 22)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Path("/dev/zero").open("rb") as endless:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(endless))
        with kept.raises(SourceError):
            Source(Path("-")).head()
        assert list(tmp_path.iterdir()) == []


def test_a_short_file_that_is_long_is_refused(written, monkeypatch, kept: Kept):
    monkeypatch.setattr(source_module, "LONGEST_LINE", 100)
    assert Source(written(b"a = 1\r\nb = 2", "short.toml")).text() == "a = 1\nb = 2\n"
    with kept.raises(SourceError):
        Source(written(b"a = 1\n" * 20, "long.toml")).text()
