"""What holds for the repository as a whole: its name, and which project knows which."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# In parts, so that this file does not have it.
OLD_NAME = "ram" + "ify"


@pytest.fixture(scope="module")
def tracked():
    """Paths of all files that are kept, below the root."""
    found = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if found.returncode:
        pytest.skip("not a clone: nothing says which files are kept")
    return [name for name in found.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_the_old_name_is_nowhere(tracked):
    pattern = re.compile(OLD_NAME.encode(), re.IGNORECASE)
    assert [name for name in tracked if OLD_NAME in name.lower()] == []
    assert [name for name in tracked if pattern.search((ROOT / name).read_bytes())] == []


def test_the_product_does_not_know_the_paper_s_project(tracked):
    product = [name for name in tracked if re.fullmatch(r"src/branchwise/.*\.py", name)]
    assert product
    assert [
        name for name in product if "branchwise_paper" in (ROOT / name).read_text("utf-8")
    ] == []


def test_the_makefile_names_tests_that_exist():
    text = (ROOT / "Makefile").read_text("utf-8")
    named = re.findall(r"(?:^|\s)(tests/[\w/.]+)", text)
    assert named
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "paper" / name).exists(), name


@pytest.mark.parametrize("package", ["src/branchwise", "paper/src/branchwise_paper"])
def test_types_are_shipped(package):
    assert (ROOT / package / "py.typed").is_file()
