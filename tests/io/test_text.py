"""Text as people write it: what is read, and what is said of the rest."""

import gzip
import hashlib
import sys

import numpy as np
import pytest

from branchwise.data.categories import SPREADSHEET_ERRORS
from branchwise.io import InputError, file_hash, read_table


@pytest.fixture
def table_of(tmp_path):
    """Write text (or bytes) under a name, and read it as a table."""

    def read(content, name="a.csv", **options):
        content = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(content)
        return read_table(tmp_path / name, **options)

    return read


def test_numbers_are_features_and_the_rest_are_annotations(table_of):
    table = table_of(
        "patient,age,crp,ward,smoker,seen\n"
        "P1,71,3.5,A,True,2020-01-31\n"
        'P2,64,,"B, left",False,2021-02-28\n'
    )
    assert table.features == ["age", "crp"]
    assert table.samples == ["P1", "P2"]
    assert list(table.annotations.columns) == ["ward", "smoker", "seen"]
    assert table.annotations.loc["P2", "ward"] == "B, left"
    np.testing.assert_array_equal(table.X, [[71, 3.5], [64, np.nan]])
    assert table.X.dtype == np.float64


@pytest.mark.filterwarnings("ignore:.*as R writes them")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv", b"id,a,t\nx,1,u\ny,2.5,v\n"),
        ("windows.csv", b"\xef\xbb\xbfid,a,t\r\nx,1,u\r\ny,2.5,v\r\n"),
        ("macintosh.csv", b"id,a,t\rx,1,u\ry,2.5,v\r"),
        ("german.csv", b"id;a;t\nx;1;u\ny;2,5;v\n"),
        ("semicolons.csv", b"id;a;t\nx;1;u\ny;2.5;v\n"),
        ("tabs.csv", b"id\ta\tt\nx\t1\tu\ny\t2.5\tv\n"),
        ("tabs.tsv", b"id\ta\tt\nx\t1\tu\ny\t2.5\tv\n"),
        ("tabs.txt", b"id\ta\tt\nx\t1\tu\ny\t2.5\tv\n"),
        ("UPPER.CSV", b"id,a,t\nx,1,u\ny,2.5,v\n"),
        ("packed.csv.gz", gzip.compress(b"id,a,t\nx,1,u\ny,2.5,v\n", mtime=0)),
        ("packed.tsv.gz", gzip.compress(b"id\ta\tt\nx\t1\tu\ny\t2.5\tv\n", mtime=0)),
        ("row-names-of-r.tsv", b"a\tt\nx\t1\tu\ny\t2.5\tv\n"),
        ("index-of-pandas.csv", b",a,t\nx,1,u\ny,2.5,v\n"),
        ("blank-lines.csv", b"\nid,a,t\n\nx,1,u\ny,2.5,v\n\n"),
        ("spaces.csv", b"id, a,t\nx, 1,u\ny, 2.5,v\n"),
        ("empty-rows-at-the-end.csv", b"id,a,t\nx,1,u\ny,2.5,v\n,,\n,,\n"),
        ("quoted-by-r.csv", b'"","a","t"\n"x",1,"u"\n"y",2.5,"v"\n'),
        ("trailing-separators.csv", b"id,a,t,\nx,1,u,\ny,2.5,v,\n"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_dialects_of_one_table(table_of, name, content):
    table = table_of(content, name)
    assert (table.samples, table.features) == (["x", "y"], ["a"])
    np.testing.assert_array_equal(table.X, [[1], [2.5]])
    assert table.annotations["t"].tolist() == ["u", "v"]


MISSING = ["", "NA", "n/a", "NaN", "null", ".", "-", "?", " na ", "None", "missing"]


@pytest.mark.parametrize("cell", [*MISSING, *sorted(SPREADSHEET_ERRORS)])
def test_usual_spellings_of_missing_values(table_of, cell):
    table = table_of(f"a,b\n1,2\n3,{cell}\n5,6\n")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, np.nan], [5, 6]])


def test_words_that_mean_missing_among_numbers_are_words_among_words(table_of):
    table = table_of("a,therapy\n1,None\n2,surgery\n3,NA\n")
    assert table.annotations["therapy"].tolist()[:2] == ["None", "surgery"]
    assert table.annotations["therapy"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize("cell", ["<5", '"1,5"', "5 %", "3.4.5", "12a"])
def test_a_column_of_numbers_with_an_odd_cell_is_an_error(table_of, cell):
    message = (
        r"(?s)1 column is meant as numbers in .*a\.csv, .* in 1 column \('crp'\): 1 of 4 cells, "
        rf"the first '{cell.strip(chr(34))}' in data row 3\. .* or leave the column out"
    )
    text = f"age,crp\n71,3\n72,4\n73,{cell}\n74,5\n"
    with pytest.raises(InputError, match=message):
        table_of(text)
    assert table_of(text, exclude=["crp"]).features == ["age"]


def test_values_below_the_limit_of_detection_are_no_annotation_however_many(table_of):
    with pytest.raises(InputError, match=r"3 of 4 cells, the first '<5' in data row 1"):
        table_of("age,crp\n71,<5\n72,<5\n73,<5\n74,7\n")


def test_commas_that_may_stand_between_thousands_are_an_error(table_of):
    with pytest.raises(InputError, match="the first '1,500' in data row 1"):
        table_of("a;b\n1,500;2\n2,750;3\n")


def test_points_stand_between_thousands_where_decimals_have_commas(table_of):
    text = "a;b;c;d\n1,5;1.234;12.345,6;unknown\n2,25;22.345;7;1,5\n"
    with pytest.warns(UserWarning, match=r"'b', 'c' of .* have points .*: '1.234' was read"):
        table = table_of(text)
    assert table.X[:, :3].tolist() == [[1.5, 1234, 12345.6], [2.25, 22345, 7]]
    assert table.X[1, 3] == 1.5
    assert np.isnan(table.X[0, 3])


def test_a_number_with_both_signs_tells_the_decimal_comma(table_of):
    with pytest.warns(UserWarning, match="points between thousands: '1.234' was read as 1234; if"):
        assert table_of("a;b\n1.234;12.345,678\n2.345;1,500\n").X.tolist() == [
            [1234, 12345.678],
            [2345, 1.5],
        ]
    assert table_of("a;b\n1.234;5\n2.345;6\n").X[:, 0].tolist() == [1.234, 2.345]


@pytest.mark.filterwarnings("ignore:.*between thousands")
@pytest.mark.parametrize(
    ("cell", "usual", "number"),
    [
        ("236.200", ",", 236200),
        ("236.200", None, 236.2),
        ("236.200", ".", 236.2),
        ("1,234", ",", 1.234),
        ("236.2", ",", 236.2),
        ("236,2", ".", 236.2),
    ],
)
def test_the_usual_decimal_sign_is_for_files_that_do_not_tell(table_of, cell, usual, number):
    assert table_of(f"a;b\n{cell};1\n", decimal=usual).X[0, 0] == number


def test_a_decimal_sign_is_a_point_or_a_comma(table_of):
    with pytest.raises(InputError, match="decimal=';' must be"):
        table_of("a;b\n1;2\n", decimal=";")
    assert table_of("a;b\n1,5;2\n").chosen == {"decimal": ","}


def test_commas_in_quoted_cells_stand_between_thousands_if_all_fit(table_of):
    text = 'a,cost\n1,"3,360"\n2,950\n3,"1,234,567.5"\n4,\n'
    with pytest.warns(UserWarning, match="'cost' of .* has commas .*: '3,360' was read as 3360"):
        assert table_of(text).X[:3, 1].tolist() == [3360, 950, 1234567.5]
    with pytest.raises(InputError, match="the first '3,360' in data row 1"):
        table_of('a,cost\n1,"3,360"\n2,"3,36"\n')
    with pytest.raises(InputError, match="the first '0,567' in data row 1"):
        table_of('a,cost\n1,"0,567"\n2,"1,234"\n')
    assert table_of(text, annotate=["cost"]).annotations["cost"].iloc[0] == "3,360"


def test_names_with_leading_zeros_stay(table_of):
    assert table_of("patient_id,a\n007,1\n008,2\n").samples == ["007", "008"]


@pytest.mark.filterwarnings("ignore:.*names some rows twice")
@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ("sample,a\ns1,1\ns2,2\n", ["s1", "s2"]),
        ("Cell Barcode,a\nAC,1\nGT,2\n", ["AC", "GT"]),
        ("study_id,a\n11,1\n12,2\n", ["11", "12"]),
        ("Unnamed: 0,a\n5,1\n6,2\n", ["5", "6"]),
        ("age,a\n11,1\n12,2\n", ["0", "1"]),
        ("patient,a\ns1,1\ns1,2\n", ["0", "1"]),
        ("id,a\n0.5,1\n0.7,2\n", ["0", "1"]),
        ("ward,a\nA,1\nB,2\n", ["0", "1"]),
        ("a,sample\n1,s1\n2,s2\n", ["0", "1"]),
    ],
)
def test_which_column_names_the_samples(table_of, text, samples):
    table = table_of(text)
    assert table.samples == samples
    assert table.annotations.index.tolist() == samples
    assert len(table.features) + table.annotations.shape[1] == 1 + (samples == ["0", "1"])


@pytest.mark.filterwarnings("ignore:.*names some rows twice")
@pytest.mark.parametrize(
    "text",
    ["patient,crp\n1,3.5\n1,4\n2,5\n", "patient_id,crp\n7,3.5\n,4\n8,5\n"],
    ids=["repeated", "missing"],
)
def test_numbers_of_patients_are_never_learned_from(table_of, text):
    table = table_of(text)
    assert table.features == ["crp"]
    assert table.samples == ["0", "1", "2"]
    assert table.annotations.iloc[0].tolist() == [text[text.index("\n") + 1]]


def test_any_column_can_be_chosen_to_name_the_samples(table_of):
    table = table_of("a,code\n1,05\n2,06\n", id="code")
    assert (table.samples, table.features) == (["05", "06"], ["a"])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "is empty; a table has a header"),
        (" \n\n", {}, "is empty; a table has a header"),
        ("a,b\n", {}, "has a header but no rows"),
        ("a,b\n,\n,\n", {}, "has a header but no rows"),
        ("5,2,3\n4,5,6\n", {}, "holds numbers where names of columns should be; add a header"),
        ("s1,0.5,0.2\ns2,5,6\n", {}, "holds numbers where names of columns should be"),
        ("a,b,a\n1,2,3\n", {}, "column names of .* must be unique, but 'a' is repeated"),
        ("a,,c\n1,2,3\n", {}, "column 2 of .* has no name; give it one"),
        ("a,b,c\n1,2,3\n1,2\n", {}, "line 3 of .* has 2 values, but the header names 3 columns"),
        ("a,b\n1,2\n1,2,3\n", {}, "line 3 of .* has 3 values, but the header names 2 columns"),
        ('a,b\n1,2\n"x\ny",2,3\n', {}, "line 4 of .* has 3 values"),
        ('a,b\n1,"2\n3,4\n', {}, "cannot be read as a table .* quotation mark without its partner"),
        (
            '"a,b\n' + "1,2\n" * 50000,
            {},
            "has a cell of more than 131,072 .* quotation mark",
        ),
        ("a,b\nx,y\n", {}, "has no numeric column to learn from: its 2 columns are annotations"),
        ("a,b\n1,2\n", {"exclude": ["a", "b"]}, "has no numeric column to learn from"),
        ("a,b\n1,2\n3,inf\n", {}, "has infinite values in 'b', the first for sample '1'"),
        ("id,a\nx,1\nx,2\n", {"id": "id"}, "names of samples in column 'id' .* 'x' is repeated"),
        ("id,a\nx,1\n,2\n", {"id": "id"}, "column 'id' .* is empty in 1 of 2 rows, first in data"),
        (",a\nx,1\nx,2\n", {}, "in the first column of .*, without a name, must be unique"),
        ("name,a\nx,1\ny,2\n", {"id": "nme"}, "has no column 'nme'; did you mean 'name'"),
        ("a,b\n1,2\n", {"exclude": ["age"]}, "has no column 'age'; it has 'a', 'b'"),
        ("a,b\n1,2\n", {"use_rep": "X_pca"}, "use_rep='X_pca' is for AnnData files"),
        ("a,b\n1,2\n", {"layer": "counts"}, "layer='counts' is for AnnData files"),
    ],
    ids=lambda value: value[:20].replace("\n", "/") if isinstance(value, str) else "",
)
def test_what_is_wrong_is_said_in_a_sentence(table_of, text, options, message):
    with pytest.raises(InputError, match=message):
        table_of(text, **options)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (
            "a,b\n1,2\n".encode("utf-16"),
            "a.csv",
            r"is UTF-16 text; read it with encoding='utf-16', or save",
        ),
        ("a,b\n1,2\n".encode("utf-16-le"), "a.csv", "line 1 of .* holds a zero byte, which text"),
        (b"PK\x03\x04\x00\x00", "a.csv", "a zero byte, .* binary file under a wrong name"),
        ("name,a\nMär,1\n".encode("latin-1"), "a.csv", "line 2 of .* is not UTF-8 .* Latin-1"),
        (
            b"a,b\n1,2\n3,\x00\n",
            "a.csv",
            r"line 3 of .* a zero byte, .* \(it is damaged",
        ),
        (b"a,b\n1,2\n", "a.csv.gz", "cannot be unpacked .* not a gzip file"),
        (
            gzip.compress(b"a,b\n1,2\n" * 5000, mtime=0)[:-9],
            "a.csv.gz",
            "cannot be unpacked .* cut short",
        ),
    ],
    ids=["utf-16", "utf-16-le", "binary", "latin-1", "zero", "not-gzip", "cut-gzip"],
)
def test_bytes_that_are_no_text_are_told_apart(table_of, content, name, message):
    with pytest.raises(InputError, match=message):
        table_of(content, name)


def test_header_of_numbers_that_pandas_wrote_is_accepted(table_of):
    assert table_of("0,1,2\n4,5,6\n").features == ["0", "1", "2"]
    assert table_of("s,400.5,401,401.5\nx,5,6,7\n").features == ["400.5", "401", "401.5"]


def test_a_column_that_is_empty_throughout_is_a_feature_without_values(table_of):
    table = table_of("a,b\n1,\n2,\n")
    assert table.features == ["a", "b"]
    assert np.isnan(table.X[:, 1]).all()


def test_excluded_columns_can_still_be_coloured_by(table_of):
    table = table_of("x,age,site\n1,70,A\n2,80,B\n", exclude=["age", "site"])
    assert table.features == ["x"]
    assert table.annotations["age"].tolist() == [70, 80]
    assert table.annotations["site"].tolist() == ["A", "B"]


def test_gaps_do_not_make_words_of_the_numbers_of_an_excluded_column(table_of):
    text = "a,age,grade\n1,71,1\n2,unknown,2b\n3,64,x\n"
    annotations = table_of(text, exclude=["age", "grade"]).annotations
    np.testing.assert_array_equal(annotations["age"], [71.0, np.nan, 64.0])
    assert annotations["grade"].tolist() == ["1", "2b", "x"]


def test_digits_are_kept_to_the_last(table_of):
    values = np.random.default_rng(0).normal(size=200)
    text = "\n".join(["a", *map(repr, map(float, values))])
    np.testing.assert_array_equal(table_of(text).X[:, 0], values)


def test_endings_may_be_in_capitals(tmp_path):
    path = tmp_path / "A.TSV.GZ"
    path.write_bytes(gzip.compress(b"a\tb\n1\t2\n"))
    assert read_table(path).X.tolist() == [[1.0, 2.0]]


def test_of_equally_good_separators_the_first_is_taken(table_of):
    """Not by the order of a set, which changes from run to run."""
    assert table_of("a;b\tc\n1;2\t3\n").features == ["a"]


def test_features_of_an_earlier_table_leave_the_rest_as_annotations(table_of):
    text = "x,age,crp\n1,70,<5\n2,80,<5\n"
    table = table_of(text, features=["x"])
    assert table.features == ["x"]
    assert list(table.annotations.columns) == ["age", "crp"]
    with pytest.raises(InputError, match="lacks 1 of 2 features as columns of numbers: 'bmi'"):
        table_of(text, features=["x", "bmi"])


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
@pytest.mark.parametrize("n_rows", [3, 60_000])  # in one piece of the file, and in several
def test_a_file_is_opened_once_and_hashed_on_the_way(name, n_rows, tmp_path):
    path = tmp_path / name
    separator = "\t" if ".tsv" in name else ","
    lines = [separator.join(("id", "a", "b"))]
    lines += [separator.join((f"s{k}", f"{k / 7}", "")) for k in range(n_rows)]
    text = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    opened = []

    def watch(event, arguments):  # cannot be taken away, and so looks for this file only
        if event == "open" and str(arguments[0]) == str(path):
            opened.append(event)

    sys.addaudithook(watch)
    table = read_table(path)
    assert len(opened) == 1
    assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest() == file_hash(path)
    assert table.X.shape == (n_rows, 2)
    assert read_table(path).X[-1, 0] == (n_rows - 1) / 7


@pytest.mark.parametrize(
    ("text", "n_values", "n_names"),
    [
        ("patient,sex,hb,crp\nP1,f,12,5,3,4\nP2,m,11,7,2,9\n", 6, 4),
        ("a,b\n1,2,3,4\n5,6,7,8\n", 4, 2),
        ("patient,age,hb\nP1,71,12,5\nP2,60,11,7\n", 4, 3),  # not names of rows
    ],
)
def test_rows_that_are_longer_than_the_header_are_refused(table_of, text, n_values, n_names):
    message = f"line 2 of .* has {n_values} values, but the header names {n_names} columns; add or"
    with pytest.raises(InputError, match=message):
        table_of(text)


def test_a_longer_row_is_found_below_an_empty_cell_too_many(table_of):
    with pytest.raises(InputError, match=r"line 3 of .* has 4 values, but the header names 3 col"):
        table_of("patient,age,hb\nP1,71,12,\nP2,60,11,7\n")


def test_a_cell_too_many_beside_one_name_is_refused(table_of):
    with pytest.raises(InputError, match=r"line 2 .* has 2 values, but the header names 1 column;"):
        table_of("hb\n12,5\n11,7\n")


@pytest.mark.parametrize("end", ["", ",", ",,,"])
def test_empty_cells_after_the_last_column_are_nothing(table_of, end):
    table = table_of(f"patient,age,hb\nP1,71,12{end}\nP2,60,{end}\n")
    assert table.features == ["age", "hb"]
    np.testing.assert_array_equal(table.X, [[71, 12], [60, np.nan]])


def test_names_of_rows_without_a_name_are_told(table_of):
    with pytest.warns(UserWarning, match="have 3 cells, but the header has 2 names; the first"):
        assert table_of("age,hb\nP1,71,12\nP2,60,11\n").samples == ["P1", "P2"]


def test_rows_of_blanks_at_the_end_are_no_samples(table_of):
    assert table_of("patient,hb\nP1,12\nP2,11\n , \n,\n").samples == ["P1", "P2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ward 3\npatient,hb\nP1,12\n", "has 2 values, but the header names 1 column; the first"),
        ("Ward 3,,\n,patient,hb\n1,P1,12\n", "column 2 of .* has no name; the first line may be"),
        ("a,b\n1,2\n3\n", "line 3 of .* has 1 value, but the header names 2 columns; add"),
    ],
)
def test_a_title_is_told_from_a_header(table_of, text, message):
    with pytest.raises(InputError, match=message):
        table_of(text)


def test_an_encoding_that_a_file_does_not_have_is_told(table_of):
    with pytest.raises(InputError, match=r"line 1 of .* is not text in the encoding utf-16; name"):
        table_of("patient,hb\nP1,12\n", encoding="utf-16")
