import gzip
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from branchwise.cli.console import as_json
from branchwise.cli.info import as_facts
from branchwise.cli.profiles import describe_table
from branchwise.data.profile import EXCLUDED, FEATURE, ID, STOPS
from branchwise.io import InputError, read_table
from branchwise.io.raw import profile_cells, read_cells


def looked_at(path, **reading):
    """The cells and the profiles by name."""
    cells = read_cells(path, **reading)
    return cells, {found.name: found for found in profile_cells(cells)}


@pytest.mark.parametrize(
    ("content", "names", "problem"),
    [
        (b"a,b,a\n1,2,3\n4,5,6\n", ["a", "b", "a-1"], "'a' is repeated"),
        (b"a,b\n1,2\n3\n4,5,6\n", ["a", "b", "column 3"], "has 1 value,"),
        (b"a,b\n", ["a", "b"], "has a header but no rows"),
        (b"", [], "is empty"),
        (b" \n\n", [], "is empty"),
        (b"a,b\nx,y\nu,v\n", ["a", "b"], "no numeric column"),
        (b"1,2\n0.5,3\n", ["1", "2"], "numbers where names of columns should be"),
        ("größe;x\n1,5;2\n2,5;3\n".encode("latin-1"), ["größe", "x"], "is not UTF-8"),
        ("größe,x\n1,2\n".encode("utf-16"), ["größe", "x"], "UTF-16"),
        ("größe,x\n1,2\n".encode("utf-16-le"), ["größe", "x"], "zero byte"),
        (b'a,b\n1,"x\n2,3\n4,5\n', ["a", "b"], "quotation mark"),
        (b"a,,c\n1,2,3\n", ["a", "column 2", "c"], "has no name"),
        (b"a,b\n1,x\n<5,y\n3,z\n", ["a", "b"], "is meant as numbers"),
        (b"a,b\n1,inf\n2,3\n", ["a", "b"], "infinite"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_what_a_fit_refuses_is_looked_at(content, names, problem, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    cells, found = looked_at(path)
    assert list(found) == names
    assert problem in cells.problem
    with pytest.raises(InputError) as refused:
        read_table(path)
    assert str(refused.value) == cells.problem


def test_cells_of_another_encoding_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("id;größe;Tod\nA;1,5;ja\nB;2,5;nein\nC;3,5;ja\n".encode("cp1252"))
    _, found = looked_at(path)
    assert found["größe"].median == 2.5
    assert (found["Tod"].type, found["Tod"].is_outcome_like) == ("yes/no", True)
    assert found["id"].fate == ID


def test_the_first_cell_that_is_not_a_number(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("hb,ward\n13.1,A\n,B\n<5,A\n12,A\n1.2.3,B\n11,B\n")
    _, found = looked_at(path)
    assert found["hb"].unreadable == ("<5", 3, 2, "limit")
    assert (found["hb"].type, found["hb"].fate) == ("mixed", STOPS)
    assert "exclude=['hb']" in found["hb"].remedy
    assert looked_at(path, exclude=["hb"])[1]["hb"].fate == EXCLUDED


def test_a_column_comes_under_the_kind_that_most_of_its_cells_have(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("crp,age\nhemolyzed,1\n<0.5,2\n<0.5,3\n4,4\n5,5\n6,6\n7,7\n")
    _, found = looked_at(path)
    assert found["crp"].unreadable == ("<0.5", 2, 3, "limit")
    assert found["crp"].remedy.startswith("limits such as '<0.5': write a number in their place")


def test_leading_zeros_are_kept(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,zip,y\n1,07766,0.5\n2,10115,0.25\n3,01234,0\n")
    _, found = looked_at(path)
    assert found["zip"].type == "code"
    assert found["zip"].examples[0] == "07766"
    assert [found[name].type for name in "xy"] == ["whole number", "number"]


def test_an_unknown_name_is_a_problem_beside_the_profile(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("crp,hb\n1,2\n3,4\n")
    cells, found = looked_at(path, exclude=["crpp"])
    assert "did you mean 'crp'?" in cells.problem
    assert list(found) == ["crp", "hb"]


def test_an_id_with_repeats_stops_the_fit(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("case,hb\nA,2\nA,4\n")
    _, found = looked_at(path, id="case")
    assert found["case"].fate == STOPS
    assert "'A' is repeated" in found["case"].remedy


def test_what_cannot_be_opened_is_one_sentence(tmp_path):
    for name, content, says in (
        ("b.csv", bytes(range(256)) * 9, "zero byte"),
        ("g.csv.gz", b"no gzip", "cannot be unpacked"),
        ("t.doc", b"a,b\n1,2\n", "is not known by its name"),
        ("t.xls", b"a,b\n1,2\n", "or of Parquet files; save it as .xlsx."),
        ("n.npz", b"no zip", "cannot be read as a NumPy file"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=says):
            read_cells(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_cells(tmp_path / "nothing.csv")


def test_a_packed_file_that_is_cut_short_is_looked_at_as_far_as_it_goes(tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(f"{a},{b}\n" for a, b in rng.random((5000, 2)))
    packed = gzip.compress(f"a,b\n{rows}".encode())
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed[: len(packed) // 2])
    cells, found = looked_at(path)
    assert "cannot be unpacked" in cells.problem
    assert list(found) == ["a", "b"]
    assert 1000 < len(cells.frame) < 5000


def test_matrices_that_a_fit_refuses_are_looked_at(tmp_path):
    np.save(tmp_path / "inf.npy", np.array([[np.inf, 1], [2, 3]]))
    np.savez(tmp_path / "twice.npz", X=np.ones((3, 2)), features=np.array(["a", "a"]))
    np.save(tmp_path / "complex.npy", np.ones((2, 2), dtype=complex))
    np.save(tmp_path / "cube.npy", np.ones((2, 2, 2)))
    cells, found = looked_at(tmp_path / "inf.npy")
    assert "infinite values in '0'" in cells.problem
    assert (found["0"].n_infinite, found["0"].fate, found["1"].fate) == (1, STOPS, FEATURE)
    cells = read_cells(tmp_path / "twice.npz")
    assert "'a' is repeated" in cells.problem
    assert [each.name for each in profile_cells(cells)] == ["a", "a"]
    assert "complex128" in read_cells(tmp_path / "complex.npy").problem
    assert profile_cells(read_cells(tmp_path / "cube.npy")) == []


def test_matrices_have_profiles_of_features_and_annotations(tmp_path):
    X = sparse.random(30, 4, 0.3, format="csr", random_state=0)
    sparse.save_npz(tmp_path / "s.npz", X)
    assert [p.fate for p in profile_cells(read_cells(tmp_path / "s.npz"))] == [FEATURE] * 4
    np.savez(tmp_path / "d.npz", X=X.toarray(), y=np.array(["a", "b", "c"] * 10))
    found = profile_cells(read_cells(tmp_path / "d.npz"))
    assert [(p.name, p.type, p.position) for p in found][-1] == ("label", "category", 4)


def test_other_formats_are_looked_at(tmp_path):
    frame = pd.DataFrame({"patient": ["A", "B", "C"], "crp": ["1", "<5", "3"], "hb": [1.5, 2, 3]})
    frame.to_excel(tmp_path / "t.xlsx", index=False, sheet_name="lab")
    frame.to_feather(tmp_path / "t.feather")
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_sav(frame, tmp_path / "t.sav")
    for name in ("t.xlsx", "t.feather", "t.sav"):
        cells, found = looked_at(tmp_path / name)
        assert [each.fate for each in found.values()] == [ID, STOPS, FEATURE]
        assert found["crp"].unreadable == ("<5", 2, 1, "limit")
        assert found["crp"].remedy.endswith("or leave the column out: exclude=['crp'].")
        assert "is meant as numbers" in cells.problem


def test_a_sheet_with_a_title_and_names_that_repeat_is_looked_at(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    for name, rows, says, names in (
        ("title", [["Study"], ["id", "a"], ["P1", 1]], "has no name", ["Study", "column 2"]),
        ("twice", [["a", "a"], [1, 2.5], ["<5", 3]], "'a' is repeated", ["a", "a-1"]),
        ("empty", [], "is empty", []),
        ("header", [["a", "b"]], "has a header but no rows", ["a", "b"]),
    ):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(tmp_path / f"{name}.xlsx")
        cells, found = looked_at(tmp_path / f"{name}.xlsx")
        assert says in cells.problem
        assert list(found) == names
        # There are no such names in the file.
        assert not any("exclude" in each.remedy for each in found.values() if each.unreadable)


def test_other_sheets_are_told(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        for name in ("lab", "notes"):
            pd.DataFrame({name: [1.5, 2]}).to_excel(book, sheet_name=name, index=False)
    cells, found = looked_at(tmp_path / "t.xlsx")
    assert list(found) == ["lab"]
    assert "has 2 sheets" in cells.notes[0]
    cells, found = looked_at(tmp_path / "t.xlsx", sheet="notes")
    assert (list(found), cells.notes) == (["notes"], [])


def test_columns_are_chosen_as_by_a_fit(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe,a_mut,b_mut,w\n1.5,0,H1,x\n2.5,R1,0,x\n".encode("latin-1"))
    given = {"include": ["gr*"], "exclude": ["b_*"], "encoding": "latin-1"}
    cells, found = looked_at(path, **given)
    assert cells.problem is None
    assert [each.fate for each in found.values()] == [FEATURE, "annotation", EXCLUDED, "annotation"]
    assert cells.table.features == read_table(path, **given).features
    assert looked_at(path, include=["w"], encoding="latin-1")[1]["w"].fate == STOPS


def test_parquet_is_taken_at_its_word(tmp_path):
    frame = pd.DataFrame(
        {"zip": ["07766", "10115"], "hb": [1.5, None], "on": pd.to_datetime(["2024-01-31"] * 2)}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    _, found = looked_at(tmp_path / "t.parquet")
    assert [each.type for each in found.values()] == ["code", "number", "date"]
    assert [each.fate for each in found.values()] == ["annotation", "feature", "annotation"]


NAMES = st.sampled_from(["id", "patient", "hb", "hb_mut", "crp", "death", "", " ", "1", "größe"])
CELLS = st.one_of(
    st.sampled_from(["", "NA", "1", "2", "2.5", "-999", "007", "<5", "1,5", "12 %", "3 mg/l"]),
    st.sampled_from(["2024-01-31", "31.1.2024", "yes", "no", "unknown", "inf", "1e400", "A"]),
    st.text(max_size=6),
)


@settings(max_examples=150)
@given(data=st.data())
def test_no_table_is_too_odd_and_the_fates_are_those_of_a_fit(data, tmp_path_factory):
    tmp_path = tmp_path_factory.getbasetemp()
    n_columns = data.draw(st.integers(1, 5))
    width = st.integers(n_columns, n_columns) if data.draw(st.booleans()) else st.integers(0, 6)
    header = data.draw(st.lists(NAMES, min_size=n_columns, max_size=n_columns))
    rows = [
        data.draw(st.lists(CELLS, min_size=size, max_size=size))
        for size in data.draw(st.lists(width, max_size=8))
    ]
    text = "\n".join(",".join(row) for row in [header, *rows])
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8", "utf-16", "cp1252"]))
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding, errors="replace"))
    if b"\0" in path.read_bytes() and encoding != "utf-16":
        return  # a binary file
    cells = read_cells(path)
    found = profile_cells(cells)
    assert all(json.loads(as_json(as_facts(each)))["name"] == each.name for each in found)
    facts = {"table": "t.csv", "samples": 1, "sample names": [], "id": None, "fit": None}
    screen = describe_table(facts, found, 80)
    assert max(map(len, screen.splitlines())) <= 80
    assert (cells.table is None) == (cells.problem is not None)
    if cells.table is not None:
        fates = {each.name: each.fate for each in found}
        empty = {each.name for each in found if each.type == "empty"}
        features = [n for n in fates if fates[n] == FEATURE or (n in empty and fates[n] == STOPS)]
        assert features == cells.table.features
        assert [n for n in fates if fates[n] == "annotation"] == [*cells.table.annotations.columns]
    elif cells.frame is not None and "numbers in" in cells.problem:
        assert STOPS in {each.fate for each in found}


def test_a_few_zero_bytes_do_not_hide_the_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 400 + b"3,\x004\n")
    cells, found = looked_at(path)
    assert "line 402 of" in cells.problem
    assert list(found) == ["a", "b"]
    assert (found["b"].minimum, found["b"].maximum) == (2, 4)


def test_rows_that_are_longer_than_the_header_are_looked_at(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("patient,sex,hb,crp\nP1,f,12,5,3,4\nP2,m,11,7,2,9\n")
    cells, found = looked_at(path)
    assert "line 2 of" in cells.problem
    assert "has 6 values" in cells.problem
    assert list(found) == ["patient", "sex", "hb", "crp", "column 5", "column 6"]


def test_text_of_another_encoding_than_the_named_one_is_looked_at(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("patient,hb\nP1,12\nP2,11\n")
    cells, found = looked_at(path, encoding="utf-16")
    assert "is not text in the encoding utf-16" in cells.problem
    assert list(found) == ["patient", "hb"]
