"""What can go wrong, and how it is worded."""

import inspect

from cranfield import errors
from cranfield.errors import (
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


def test_an_unknown_name_lists_the_known_and_the_nearest():
    known = ["jsonl", "trec", "csv"]
    assert str(UnknownName("run format", "JSNOL", known)) == (
        "unknown run format 'JSNOL'; did you mean 'jsonl'? (known: csv, jsonl, trec)"
    )
    assert str(UnknownName("run format", "xyz", known)) == "unknown run format 'xyz' (known: csv, jsonl, trec)"
    assert str(UnknownName("run", "x", [])) == "unknown run 'x'"


def test_a_good_guess_among_many_names_stands_alone():
    many = [f"measure-{number}" for number in range(21)]
    assert str(UnknownName("measure", "mesure-20", many)).startswith(
        "unknown measure 'mesure-20'; did you mean 'measure-20'"
    )
    assert "known:" not in str(UnknownName("measure", "mesure-20", many))
    assert "known: measure-0, measure-1," in str(UnknownName("measure", "xyz", many))


def test_a_problem_begins_with_its_place():
    problem = Problem("code", "something is wrong", lines=(3, 5))
    assert str(problem) == "3: something is wrong"
    assert str(problem.at("file.txt")) == "file.txt:3: something is wrong"
    assert str(Problem("code", "something is wrong")) == "something is wrong"


def test_problems_found_lists_all_of_them():
    found = ProblemsFound("two problems", [Problem("a", "one", file="f"), Problem("b", "two")])
    assert str(found) == "two problems\n  f: one\n  two"
    assert [problem.code for problem in found.problems] == ["a", "b"]


def test_a_source_error_carries_its_problem():
    assert SourceError("f", "is broken", 7).problem == Problem("unreadable", "is broken", file="f", lines=(7,))
    assert str(SourceError("f", "is broken")) == "f: is broken"


def test_a_missing_extra_says_how_to_get_it():
    assert str(MissingExtra("latent semantic analysis", "baselines")) == (
        "latent semantic analysis needs the extra 'baselines': pip install 'cranfield[baselines]'"
    )


def test_quotes_shorten_and_disarm():
    assert quoted("a\x1b[2J") == "'a\\x1b[2J'"
    assert quoted("x" * 100, limit=10) == f"'{'x' * 9}…'"


def test_the_nearest_words_are_found_whatever_the_case():
    assert nearest("NDCG", ["nDCG", "AP"]) == ["nDCG"]
    assert nearest("zzz", ["nDCG", "AP"]) == []
