"""What is kept beside the tests belongs to a test that is there."""

from pathlib import Path

import pytest
from kept import sections_of, users_in

FILES = sorted(Path(__file__).parents[1].glob("*/kept/*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parents[1].name}-{file.stem}")
def test_every_kept_text_has_its_test(file: Path):
    module = file.parents[1] / f"test_{file.stem}.py"
    assert module.exists(), f"nobody uses {file}"
    assert {name.split("[")[0] for name in sections_of(file)} <= users_in(module)
