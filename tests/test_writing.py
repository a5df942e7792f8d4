import pytest

from branchwise._writing import write_table


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
