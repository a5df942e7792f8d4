"""Excel, SPSS, Stata and Feather: typed cells, labels, dates, and files that are not to be read."""

import datetime
import sys
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat
import pytest

from branchwise.data.errors import UnknownNameError, UnreadableColumns
from branchwise.io import InputError, read_table
from branchwise.io.raw import read_cells

HEADER = ["patient", "age", "crp", "stage", "zip", "seen", "smoker"]
DAY = datetime.datetime(2020, 1, 31)
ROWS = [
    ["P1", 71, 3.5, "I", "07766", DAY, True],
    ["P2", None, "n.d.", "II", "12345", None, False],
    ["P3", 60, "#N/A", None, "00001", DAY, True],
]


@pytest.fixture
def workbook(tmp_path):
    def write(rows, name="a.xlsx", **sheets):
        book = openpyxl.Workbook()
        book.active.title = "Visit1"
        for row in rows:
            book.active.append(row)
        for title, others in sheets.items():
            sheet = book.create_sheet(title)
            for row in others:
                sheet.append(row)
        book.save(tmp_path / name)
        return tmp_path / name

    return write


def test_cells_of_a_sheet_have_their_types(workbook):
    table = read_table(workbook([HEADER, *ROWS]))
    assert (table.samples, table.features) == (["P1", "P2", "P3"], ["age", "crp"])
    np.testing.assert_array_equal(table.X, [[71, 3.5], [np.nan, np.nan], [60, np.nan]])
    about = table.annotations
    assert about["zip"].tolist() == ["07766", "12345", "00001"]
    assert about["seen"].tolist() == [pd.Timestamp(DAY), pd.NaT, pd.Timestamp(DAY)]
    assert about["smoker"].tolist() == [True, False, True]
    assert about["stage"].isna().tolist() == [False, False, True]


def test_empty_rows_and_columns_without_name_or_value_are_skipped(workbook):
    rows = [[], ["a", "b", None], [], [1, "x", None], [2, "y", "  "], [None, " "], [None]]
    table = read_table(workbook(rows))
    assert (table.features, table.annotations["b"].tolist()) == (["a"], ["x", "y"])


def test_a_formula_has_the_value_that_was_computed(workbook):
    path = workbook([["a", "b"], [1, 2], [3, 4]])
    sheet = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    text = members[sheet].decode()
    members[sheet] = text.replace("<v>4</v>", "<f>A3+1</f><v>4</v>").encode()
    with zipfile.ZipFile(path, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)
    assert read_table(path).X.tolist() == [[1, 2], [3, 4]]


def test_a_sheet_by_its_name_and_a_word_about_others(workbook):
    path = workbook([["a"], [1], [2]], Visit2=[["b"], [3], [4]], Notes=[["read me"]])
    message = r"has 3 sheets, and the first, 'Visit1', was read; .*sheet='Visit2': 'Visit2', 'Not"
    with pytest.warns(UserWarning, match=message):
        assert read_table(path).features == ["a"]
    assert read_table(path, sheet="Visit2").features == ["b"]
    with pytest.raises(UnknownNameError, match="has no sheet 'Visit3'; did you mean 'Visit2'"):
        read_table(path, sheet="Visit3")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "sheet 'Visit1' of .* is empty; a table has a header"),
        ([["a", "b"]], "has a header but no rows"),
        ([[1.5, 2], [3, 4]], "the first row of sheet .* holds numbers where names of columns"),
        ([["Cohort of 2024"], ["a", "b"], [1, 2]], "column 2 of .* has no name; .* remove titles"),
        ([["a", "a"], [1, 2]], "column names of .* must be unique, but 'a' is repeated"),
        ([["a", "b"], ["x", "y"]], "has no numeric column to learn from"),
    ],
)
def test_what_is_wrong_with_a_sheet(workbook, rows, message):
    with pytest.raises(InputError, match=message):
        read_table(workbook(rows))


def test_cells_that_were_meant_as_numbers_are_told(workbook):
    path = workbook([["a", "crp", "weight"], [1, "<5", 61.5], [2, 7, "70 kg"], [3, 8, 66]])
    with pytest.raises(UnreadableColumns, match=r"(?s)limits such as '<5'.*units in 1 column"):
        read_table(path)


def test_a_file_that_is_no_workbook(tmp_path):
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(
        InputError, match=r"a\.xlsx cannot be read .* protected by a password or of"
    ):
        read_table(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.xml", "<a/>")
    with pytest.raises(InputError, match=r"a\.xlsx cannot be read as an Excel file"):
        read_table(path)


def test_a_workbook_that_would_fill_the_memory_is_refused(workbook, tmp_path):
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(2**20))
        for info in archive.infolist():
            info.file_size = 2**40  # what it says of itself
    with pytest.raises(InputError, match=r"would be 1,099,511,627,776 bytes when unpacked, but"):
        read_table(path)
    book = openpyxl.Workbook()
    book.active["A1"], book.active["A1048576"], book.active["XFD2"] = "a", 1, 2
    book.save(tmp_path / "far.xlsx")
    with zipfile.ZipFile(tmp_path / "far.xlsx") as old:
        members = {name: old.read(name) for name in old.namelist()}
    # Rows that are not there need no room, but those that are must not be that wide.
    rows = "".join(f'<row r="{k}"><c r="A{k}"><v>1</v></c></row>' for k in range(3, 20_000))
    sheet = members["xl/worksheets/sheet1.xml"].decode()
    members["xl/worksheets/sheet1.xml"] = sheet.replace(
        '<row r="1048576"', rows + '<row r="1048576"'
    ).encode()
    with zipfile.ZipFile(tmp_path / "far.xlsx", "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in members.items():
            new.writestr(name, content)
    with pytest.raises(InputError, match=r"declares a shape of \(19999, 16384\), but only"):
        read_table(tmp_path / "far.xlsx")


ENTITY = '<!DOCTYPE a [<!ENTITY b "c">]><a/>'


@pytest.mark.parametrize("name", ["xl/workbook.xml", "xl/workbook"])
@pytest.mark.parametrize(
    "content",
    [
        f'<?xml version="1.0"?>{ENTITY}',
        f"<!--{'x' * 100_000}-->{ENTITY}",
        f"<!--{'x' * 2_000_000}--><a/>",  # which may go on for ever
        f'<?xml version="1.0" encoding="UTF-16"?>{ENTITY}'.encode("utf-16"),
        f'<?xml version="1.0" encoding="UTF-7"?>{ENTITY}',
        f'<?xml version="1.0" encoding="nobody-knows"?>{ENTITY}',
    ],
    ids=["early", "late", "endless", "UTF-16", "UTF-7", "unknown"],
)
def test_entities_are_refused(content, name, tmp_path):
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
    with pytest.raises(InputError, match=r"xl/workbook.* in .* defines entities"):
        read_table(path)


def test_members_that_are_not_xml_are_let_be(workbook):
    path = workbook([HEADER, *ROWS])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/media/picture.png", b"\x89PNG <!DOCTYPE a>")
        archive.writestr("empty", b"")
    assert read_table(path).samples == ["P1", "P2", "P3"]


@pytest.mark.parametrize("name", ["a.xlsx", "a.sav", "a.dta"])
def test_whole_numbers_name_samples_as_they_are(tmp_path, name):
    frame = pd.DataFrame({"patient_id": [11, 12, 13], "x": [1.5, 2.5, 3.5]})
    if name == "a.xlsx":
        frame.to_excel(tmp_path / name, index=False)
    elif name == "a.sav":
        pyreadstat.write_sav(frame.astype(float), str(tmp_path / name))
    else:
        frame.astype(float).to_stata(tmp_path / name, write_index=False)
    table = read_table(tmp_path / name)
    assert (table.samples, table.features) == (["11", "12", "13"], ["x"])


# SPSS and Stata


FRAME = pd.DataFrame(
    {
        "patient_id": ["P1", "P2", "P3"],
        "age": [71.0, np.nan, 60.0],
        "sex": [1.0, 2.0, np.nan],
        "pain": [0.0, 7.0, 10.0],
        "ward": ["A", "", "B"],
        "code": ["07", "08", "9"],
        "seen": pd.to_datetime(["2020-01-31", None, "2021-02-28"]),
    }
)
LABELS = {"sex": {1: "female", 2: "male"}, "pain": {0: "none", 10: "worst"}}


def write(path, **options):
    if path.suffix == ".dta":
        pyreadstat.write_dta(FRAME, str(path), variable_value_labels=LABELS)
    else:
        options = {"compress": path.suffix == ".zsav", **options}
        pyreadstat.write_sav(FRAME, str(path), variable_value_labels=LABELS, **options)
    return path


@pytest.mark.parametrize("name", ["a.sav", "a.zsav", "a.dta", "A.SAV"])
def test_labels_are_categories_and_dates_dates(tmp_path, name):
    path = write(tmp_path / name.lower())
    path = path.rename(tmp_path / name)
    with pytest.warns(UserWarning, match=r"'pain' of .* has labels for some of its values only"):
        table = read_table(path)
    assert (table.samples, table.features) == (["P1", "P2", "P3"], ["age", "pain"])
    np.testing.assert_array_equal(table.X, [[71, 0], [np.nan, 7], [60, 10]])
    about = table.annotations
    assert about["sex"].astype(object).where(about["sex"].notna(), None).tolist() == [
        *("female", "male"),
        None,
    ]
    assert about["sex"].cat.categories.tolist() == ["female", "male"]
    assert about["seen"].dtype == "datetime64[ns]"
    assert about["seen"].iloc[0] == pd.Timestamp(2020, 1, 31)
    assert about["ward"].isna().tolist() == [False, True, False]
    assert about["code"].tolist() == ["07", "08", "9"]


def test_what_spss_declares_as_missing_is_missing(tmp_path):
    frame = pd.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 99.0, 3.0], "g": [1.0, 9.0, 2.0]})
    labels = {"x": {99: "refused"}, "g": {1: "yes", 2: "no", 9: "refused"}}
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "a.sav"),
        missing_ranges={"x": [99], "g": [{"lo": 8, "hi": 9}]},
        variable_value_labels=labels,
    )
    table = read_table(tmp_path / "a.sav")
    np.testing.assert_array_equal(table.X, [[1], [np.nan], [3]])
    assert table.annotations["g"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize("name", ["a.sav", "a.zsav", "a.dta"])
def test_a_damaged_file_of_spss_or_stata(tmp_path, name):
    path = write(tmp_path / name)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match=r"cannot be read as a file of SPSS or Stata \("):
        read_table(path)


def test_a_header_that_declares_what_is_not_stored(tmp_path):
    from types import SimpleNamespace

    from branchwise.io.labelled import check_size

    (tmp_path / "a.sav").write_bytes(bytes(1000))
    described = SimpleNamespace(variable_storage_width={"a": 8, "b": 255}, number_rows=10**9)
    with pytest.raises(InputError, match=r"declares a shape of .*, but only 1000 bytes are stored"):
        check_size(described, tmp_path / "a.sav")


# Feather


@pytest.mark.parametrize("pack", ["zstd", "lz4", "uncompressed"])
def test_feather(tmp_path, pack):
    frame = FRAME.assign(kind=pd.Categorical(["u", "v", "u"]), n=pd.array([1, None, 3], "Int64"))
    frame.to_feather(tmp_path / "a.feather", compression=pack)
    table = read_table(tmp_path / "a.feather")
    assert (table.samples, table.features) == (["P1", "P2", "P3"], ["age", "sex", "pain", "n"])
    np.testing.assert_array_equal(table.X[:, 3], [1, np.nan, 3])
    assert table.annotations["seen"].dtype.kind == "M"
    assert table.annotations["code"].tolist() == ["07", "08", "9"]


def test_a_feather_file_that_is_damaged_or_empty(tmp_path):
    path = tmp_path / "a.feather"
    FRAME.to_feather(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match=r"a\.feather cannot be read as Feather"):
        read_table(path)
    path.write_bytes(b"FEA1 of the first version")
    with pytest.raises(
        InputError, match=r"a\.feather cannot be read as Feather \(Not an Arrow file"
    ):
        read_table(path)
    FRAME[:0].to_feather(path)
    with pytest.raises(InputError, match="has no samples"):
        read_table(path)


def test_a_feather_file_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    from branchwise.io import safety

    monkeypatch.setattr(safety, "UNSTORED_BYTES", 2**20)
    path = tmp_path / "a.feather"
    pd.DataFrame({"a": np.zeros(10_000_000)}).to_feather(path, compression="zstd")
    with pytest.raises(InputError, match=r"declares a shape of .* is not read"):
        read_table(path)


# All of them


@pytest.mark.parametrize("name", ["a.xlsx", "a.sav", "a.zsav", "a.dta", "a.feather"])
def test_they_are_not_read_chunk_by_chunk(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(InputError, match="is of a format that cannot be read chunk by chunk"):
        read_table(tmp_path / name, lazy=True)


@pytest.mark.parametrize(
    ("library", "name"),
    [("openpyxl", "a.xlsx"), ("pyreadstat", "a.sav"), ("pyreadstat", "a.dta")],
)
def test_a_library_that_is_not_there_is_named(workbook, tmp_path, monkeypatch, library, name):
    (tmp_path / name).touch()
    if name == "a.xlsx":
        workbook([["a"], [1]])
    monkeypatch.setitem(sys.modules, library, None)
    ending = name[1:]
    message = rf"reading {ending} needs {library}; run: pip install '\.\[formats\]' in a clone"
    with pytest.raises(ImportError, match=message):
        read_table(tmp_path / name)


def test_a_sheet_is_for_excel(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match=r"sheet='x' is for Excel files \(.xlsx\), but .* is none"):
        read_table(tmp_path / "a.csv", sheet="x")


def test_numbers_stored_as_text_in_excel_are_read_as_in_csv(tmp_path):
    frame = pd.DataFrame(
        {"patient": ["7", "8"], "hb": ["12.5", " 11\u00a0"], "zip": ["07766", "1"], "x": [1.5, 2]}
    )
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    table = read_table(tmp_path / "t.xlsx")
    assert (table.samples, table.features) == (["7", "8"], ["hb", "x"])
    np.testing.assert_array_equal(table.X, [[12.5, 1.5], [11, 2]])
    assert table.annotations["zip"].tolist() == ["07766", "1"]


@pytest.mark.parametrize("name", ["t.dta", "t.sav", "t.feather", "t.parquet"])
def test_numbers_stored_as_text_are_told(name, tmp_path):
    rows = np.arange(12)
    frame = pd.DataFrame(
        {
            "hb": [f"{k + 0.5}" for k in rows],
            "ldh": [f" {k} " for k in rows],
            "cluster": [str(k % 3) for k in rows],
            "zip": [f"0{k}" for k in rows],
            "crp": rows + 0.25,
        }
    )
    path = tmp_path / name
    if name.endswith((".dta", ".sav")):
        getattr(pyreadstat, f"write_{name[2:]}")(frame, path)
    else:
        getattr(frame, f"to_{name[2:]}")(path)
    said = "'hb', 'ldh' of .* hold numbers stored as text and are not features; store them as numb"
    with pytest.warns(UserWarning, match=said) as notes:
        assert read_table(path).features == ["crp"]
    assert len(notes) == 1
    assert any("stored as text" in note for note in read_cells(path).notes)
    table = read_table(path, include=["hb", "crp"])
    assert table.features == ["hb", "crp"]
    np.testing.assert_array_equal(table.X[:, 0], rows + 0.5)
    with pytest.warns(UserWarning, match="'hb' of .* holds numbers stored as text and is not a f"):
        read_table(path, exclude="ldh")
