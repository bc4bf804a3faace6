"""How a part is found by its name."""

import os
import sys
from importlib import metadata
from importlib.metadata import EntryPoint

import pytest
from kept import Kept

from cranfield.base.errors import UnknownName
from cranfield.base.registry import Registry


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with one module that registers one part."""
    folder = tmp_path / "parts_for_test"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from cranfield.base.registry import Registry\n"
        "parts = Registry('part', package='parts_for_test', group='parts.for.test')\n"
    )
    (folder / "one.py").write_text(
        "from parts_for_test import parts\n\n@parts.register('one', 'uno', 'ein')\ndef one():\n    return 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield "parts_for_test"
    for name in [name for name in sys.modules if name.startswith("parts_for_test")]:
        del sys.modules[name]


def parts_of(package: str) -> Registry:
    return __import__(package).parts


def test_modules_are_imported_at_the_first_look_up_and_not_before(package):
    parts = parts_of(package)
    assert f"{package}.one" not in sys.modules
    assert parts.get("one")() == 1
    assert f"{package}.one" in sys.modules


def test_a_part_is_found_under_its_aliases_but_listed_once(package):
    parts = parts_of(package)
    assert parts.get("uno") is parts.get("one")
    assert parts.names() == ["one"]
    assert parts.aliases("one") == ["ein", "uno"]
    assert [name for name, _ in parts.items()] == ["one"]


def test_the_case_of_a_name_does_not_matter_unless_it_makes_the_difference(package):
    parts = parts_of(package)
    assert (parts.get("ONE"), parts.canonical("Uno")) == (parts.get("one"), "one")
    parts.register("One")(parts.get("one"))
    assert (parts.canonical("One"), "ONE" in parts) == ("One", False)


def test_an_unknown_name_lists_names_and_aliases(package, kept: Kept):
    with kept.raises(UnknownName):
        parts_of(package).get("on")


def test_two_parts_of_one_name_are_a_mistake(package, kept: Kept):
    parts = parts_of(package)
    parts.names()
    with kept.raises(ValueError):
        parts.register("two", "uno")(print)


def test_a_strangers_part_comes_through_an_entry_point_and_does_not_replace_ours(package, monkeypatch):
    entries = [
        EntryPoint("far", "os.path:join", "parts.for.test"),
        EntryPoint("one", "os.path:split", "parts.for.test"),
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda group: [e for e in entries if e.group == group])
    parts = parts_of(package)
    assert parts.names() == ["far", "one"]
    assert parts.get("one")() == 1
    assert parts.get("far")("a", "b") == "a/b"


def test_a_format_that_recognises_a_file_is_looked_for_among_ours_first(package, monkeypatch):
    entries = [EntryPoint("far", "os.path:join", "parts.for.test")]
    asked = []
    monkeypatch.setattr(metadata, "entry_points", lambda group: asked.append(group) or entries)
    parts = parts_of(package)
    parts.get("one").sniff = lambda head, name: b"ours" in head
    monkeypatch.setattr(os.path.join, "sniff", lambda head, name: b"theirs" in head, raising=False)

    def recognised(text):
        return next((part for part in parts.in_turn() if part.sniff(text.encode(), "file")), None)

    assert recognised("ours")() == 1
    assert asked == []
    assert recognised("theirs")("a", "b") == "a/b"
    assert recognised("of nobody") is None


def test_a_name_is_there_or_not(package):
    parts = parts_of(package)
    assert ("one" in parts, "uno" in parts, "on" in parts) == (True, True, False)
