import csv

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from branchwise._writing import guarded, unguarded, write_table

SIGNS = tuple("=+-@\t\r\n")
# Rich in what is dangerous, or looks as if it were guarded.
TEXTS = st.text(st.sampled_from("=+-@\t\r\n'\"1.5eEa, ")) | st.text()


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return not text[-1:].isspace()


def test_a_failed_write_leaves_the_old_table(tmp_path):
    path = tmp_path / "table.csv"
    write_table(path, ["a"], [(1,)])

    def rows():
        yield (2,)
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        write_table(path, ["a"], rows())
    assert path.read_text() == "a\n1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"away is not a folder to write table.csv into"):
        write_table(tmp_path / "away" / "table.csv", ["a"], [(1,)])


def test_names_with_commas_are_quoted(tmp_path):
    write_table(tmp_path / "t.csv", ["name"], [("a, b",)])
    assert (tmp_path / "t.csv").read_text() == 'name\n"a, b"\n'


@given(TEXTS)
@example("'-5")
@example("'" * 3 + "=")
@example("-5")
@example("+1e-3")
@example("-5\n")
def test_no_text_is_a_formula_and_every_text_comes_back(text):
    cell = guarded(text)
    assert not cell.startswith(SIGNS) or is_number(cell)
    assert unguarded(cell) == text


@given(TEXTS, TEXTS)
def test_different_texts_stay_different(one, other):
    assert (guarded(one) == guarded(other)) == (one == other)


@pytest.mark.parametrize("cell", ["-2.5", "+7", "-.5", "-1e-9", "5", "P01", "it's", "'quoted'", ""])
def test_numbers_and_harmless_texts_are_left_alone(cell):
    assert guarded(cell) == cell


@pytest.mark.parametrize("cell", ["-", "+", "-1-1", "=1", "@SUM(1)", "-inf", "-１", "-1,5", "+1e"])
def test_what_is_no_number_is_guarded(cell):
    assert guarded(cell) == f"'{cell}"


def test_a_table_has_no_formula(tmp_path):
    write_table(tmp_path / "t.csv", ["=a", "b"], [("@x", -1), ("y", 2.5)])
    with (tmp_path / "t.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["'=a", "b"], ["'@x", "-1"], ["y", "2.5"]]


def test_a_return_begins_no_new_cell(tmp_path):
    write_table(tmp_path / "t.csv", ["a", "b"], [("x\r=1", 2)])
    with (tmp_path / "t.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["a", "b"], ["x\r=1", "2"]]
