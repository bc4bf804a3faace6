"""What can go wrong, and how it is worded."""

import inspect

from kept import Kept

from cranfield.base import errors
from cranfield.base.errors import (
    CranfieldError,
    MissingExtra,
    Problem,
    ProblemsFound,
    SourceError,
    UnknownName,
    UsageError,
    nearest,
    quoted,
)


def test_the_tree_in_the_docstring_is_the_tree():
    classes = {
        name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)
    }
    assert {name for name in classes if name not in (errors.__doc__ or "")} == set()
    assert all(issubclass(getattr(errors, name), CranfieldError) for name in classes)


def test_a_wrong_call_leaves_with_status_two_and_bad_data_with_one():
    assert (UsageError.exit_status, UnknownName.exit_status) == (2, 2)
    assert (SourceError.exit_status, ProblemsFound.exit_status) == (1, 1)


def test_an_unknown_name_lists_the_known_and_the_nearest(kept: Kept):
    known = ["jsonl", "trec", "csv"]
    kept(str(UnknownName("run format", "JSNOL", known)))
    kept(str(UnknownName("run format", "xyz", known)))
    kept(str(UnknownName("run", "x", [])))


def test_a_good_guess_among_many_names_stands_alone(kept: Kept):
    many = [f"measure-{number}" for number in range(21)]
    kept(str(UnknownName("measure", "mesure-20", many)))
    assert "known:" not in str(UnknownName("measure", "mesure-20", many))
    assert "known: measure-0, measure-1," in str(UnknownName("measure", "xyz", many))


def test_a_problem_begins_with_its_place(kept: Kept):
    problem = Problem("code", "something is wrong", lines=(3, 5))
    kept(str(problem))
    kept(str(problem.at("file.txt")))
    kept(str(Problem("code", "something is wrong")))


def test_problems_found_lists_all_of_them(kept: Kept):
    found = ProblemsFound("two problems", [Problem("a", "one", file="f"), Problem("b", "two")])
    kept(str(found))
    assert [problem.code for problem in found.problems] == ["a", "b"]


def test_a_source_error_carries_its_problem():
    assert SourceError("f", "is broken", 7).problem == Problem("unreadable", "is broken", file="f", lines=(7,))
    assert str(SourceError("f", "is broken")) == "f: is broken"


def test_a_missing_extra_says_how_to_get_it(kept: Kept):
    kept(str(MissingExtra("latent semantic analysis", "baselines")))


def test_quotes_shorten_and_disarm():
    assert quoted("a\x1b[2J") == "'a\\x1b[2J'"
    assert quoted("x" * 100, limit=10) == f"'{'x' * 9}…'"


def test_the_nearest_words_are_found_whatever_the_case():
    assert nearest("NDCG", ["nDCG", "AP"]) == ["nDCG"]
    assert nearest("zzz", ["nDCG", "AP"]) == []
