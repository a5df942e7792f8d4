"""What columns of text hold: codes, dates, units, and what cannot be read, all told at once."""

import gzip
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise import Preparation
from branchwise._messages import for_command_line
from branchwise.data.errors import UnknownNameError, UnreadableColumns
from branchwise.data.selection import way_out
from branchwise.io import InputError, read_table


@pytest.fixture
def table_of(tmp_path):
    def read(content, name="a.csv", **options):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(tmp_path / name, **options)

    return read


# Which columns


CLINIC = "pid,age,stage,crp,tp53_mut,atm_mut\nP1,70,I,<5,0,0\nP2,80,II,7,R12C,0\nP3,60,I,6,0,K2\n"


def test_included_columns_are_the_only_features_whatever_the_others_hold(table_of):
    table = table_of(CLINIC, include=["age"])
    assert table.features == ["age"]
    assert list(table.annotations.columns) == ["pid", "stage", "crp", "tp53_mut", "atm_mut"]
    assert table.annotations["crp"].tolist() == ["<5", "7", "6"]
    assert table.chosen == {"include": ["age"]}


def test_patterns_choose_columns_and_what_is_excluded_is_not_included(table_of, tmp_path):
    (tmp_path / "names.txt").write_text("*_mut\ncrp\n")
    table = table_of(CLINIC, id="p*", include=["a*"], exclude=f"@{tmp_path / 'names.txt'}")
    assert (table.samples, table.features) == (["P1", "P2", "P3"], ["age"])
    assert table.chosen == {
        "id": "pid",
        "include": ["age", "atm_mut"],
        "exclude": ["crp", "tp53_mut", "atm_mut"],
    }


def test_columns_that_were_included_must_be_numbers(table_of):
    message = (
        r"(?s)2 columns are meant as numbers .*'crp'.*"
        r"words in 1 column \('stage'\).*exclude=\['stage'\]"
    )
    with pytest.raises(UnreadableColumns, match=message):
        table_of(CLINIC, include=["age", "stage", "crp"], exclude=["*_mut"])


def test_annotated_columns_come_back_as_they_were_written(table_of):
    text = "a,grade,seen,n,code\n1,2,2020-01-31,3,05\n2,unknown,2020-02-28,4,6\n"
    table = table_of(text, annotate=["grade", "seen", "n", "code"])
    assert table.features == ["a"]
    assert table.annotations["grade"].tolist() == ["2", "unknown"]
    assert table.annotations["code"].tolist() == ["05", "6"]
    assert table.annotations["n"].tolist() == [3, 4]
    assert table.annotations["seen"].dtype.kind == "M"
    assert table_of(CLINIC, annotate=["crp", "*_mut"]).annotations["crp"].tolist() == [
        "<5",
        "7",
        "6",
    ]


def test_misspelt_names_of_all_options_are_told_at_once(table_of):
    with pytest.raises(UnknownNameError, match=r"lacks 3 of the columns .*id 'pidd' \(did you"):
        table_of(CLINIC, id="pidd", exclude=["x"], include=["y*"])


@pytest.mark.parametrize("name", ["a.parquet", "a.npz", "a.h5ad"])
@pytest.mark.parametrize("lazy", [False, True])
def test_every_format_takes_them(tmp_path, name, lazy):
    import anndata

    frame = pd.DataFrame(np.eye(4), index=[*"pqrs"], columns=["a1", "a2", "b1", "b2"])
    if name == "a.parquet":
        frame.to_parquet(tmp_path / name)
    elif name == "a.npz":
        np.savez(tmp_path / name, X=frame, features=np.array(list(frame)), samples=[*"pqrs"])
    else:
        anndata.AnnData(frame).write_h5ad(tmp_path / name)
    if lazy and name == "a.npz":
        return
    table = read_table(tmp_path / name, include=["a*", "b1"], exclude=["b*"], lazy=lazy)
    assert table.features == ["a1", "a2"]
    assert table.annotations["b2"].tolist() == [0, 0, 0, 1]
    np.testing.assert_array_equal(np.asarray(table.X), frame[["a1", "a2"]])
    with pytest.raises(UnknownNameError, match="no column that fits 'z"):
        read_table(tmp_path / name, include=["z*"], lazy=lazy)


def test_annotations_of_cells_are_no_features(tmp_path):
    import anndata

    cells = anndata.AnnData(np.eye(3), obs=pd.DataFrame({"age": [1, 2, 3]}, index=[*"pqr"]))
    cells.write_h5ad(tmp_path / "a.h5ad")
    with pytest.raises(InputError, match=r"include names 'age', which .* among the annotations"):
        read_table(tmp_path / "a.h5ad", include=["age"])


# What cannot be read


def test_all_problems_of_all_columns_come_in_one_message_with_what_solves_each():
    from branchwise.data.cells import Odd
    from branchwise.data.unreadable import raise_unreadable

    odd = [Odd(f"g{k}_mut", "word", 10 + k, 99, "R12C", 3, 40) for k in range(20)]
    odd += [Odd("stage", "word", 3, 99, "4b", 7, 5), Odd("crp", "limit", 1, 99, "<5", 2, 30)]
    odd += [Odd("crea, mg", "comma", 99, 99, "1,5", 1, 30)]
    odd += [Odd("o2", "percent", 99, 99, "95 %", 1, 30), Odd("w", "unit", 1, 99, "61 kg", 9, 50)]
    with pytest.raises(UnreadableColumns) as caught:
        raise_unreadable(odd, ["age"], "a.csv", {"age": 2}, 99)
    assert caught.value.missing == {"age": 2}
    assert str(caught.value).splitlines() == [
        "25 columns are meant as numbers in a.csv, but cannot be read as such; nothing was read.",
        "- limits such as '<5' in 1 column ('crp'): 1 of 99 cells, the first '<5' in data row 2. "
        "Write a number in their place (half of the limit, for instance), or leave the cells "
        "empty, or leave the column out: exclude=['crp'].",
        "- decimal commas in 1 column ('crea, mg'): 99 of 99 cells, the first '1,5' in data row 1. "
        "Write the decimal sign as a point, or leave the column out: exclude=['crea, mg'].",
        "- per cent signs in 1 column ('o2'): 99 of 99 cells, the first '95 %' in data row 1. "
        "Write the number alone, or leave the column out: exclude=['o2'].",
        "- units in 1 column ('w'): 1 of 99 cells, the first '61 kg' in data row 9. "
        "Write the number alone, or leave the column out: exclude=['w'].",
        "- words among numbers in 21 columns ('g0_mut', 'g1_mut', 'g2_mut', 'g3_mut', 'g4_mut' and "
        "16 more): 'g0_mut' has 10 in 99 cells, the first 'R12C' in data row 3. Leave the cells "
        "empty where a value is missing, or leave the columns out: exclude=['*_mut', 'stage']. "
        "As categories: categorical=['stage'].",
    ]
    with pytest.raises(UnreadableColumns) as caught, for_command_line():
        raise_unreadable(odd, ["age"], "a.csv", {"age": 2}, 99)
    for option in (
        "--exclude crp.",
        "--exclude '\"crea, mg\"'.",
        "--exclude '*_mut,stage'. As categories: --categorical stage.",
    ):
        assert option in str(caught.value)


def test_what_the_message_says_to_exclude_makes_the_table_readable(table_of):
    rows = [[f"R{k}C" if j == k else "0" for j in range(30)] for k in range(5)]
    text = "age," + ",".join(f"g{j}_mut" for j in range(30)) + ",crp,z_mut_x\n"
    text += "".join(
        f"{k}," + ",".join(row) + f",{'<5' if k == 0 else k},{k}\n" for k, row in enumerate(rows)
    )
    with pytest.raises(UnreadableColumns, match=r"(?s)exclude=\['crp'\].*g0_mut") as caught:
        table_of(text)
    more = "exclude=['*_mut'] (with 25 columns that are the same in all rows)."
    assert more in str(caught.value)  # nothing can be learned from these
    assert table_of(text, exclude=["crp", "*_mut"]).features == ["age", "z_mut_x"]


def test_columns_that_vary_are_in_no_pattern_to_exclude(table_of):
    text = "a_mut,b_mut,c_mut,d_mut,e_mut\nR1C,R1C,R1C,1,0\n0,0,0,0,0\n0,0,0,0,0\n"
    with pytest.raises(UnreadableColumns, match=r"out: exclude=\['a_mut', 'b_mut', 'c_mut'\]\. As"):
        table_of(text)


def test_many_columns_of_words_are_not_to_be_categories(table_of):
    names = [f"{letter}x" for letter in "abcdefghijk"]
    text = ",".join(names) + ",y\n"
    text += "".join(",".join([cell] * 11) + ",1\n" for cell in ("low", "1", "1", "1"))
    with pytest.raises(UnreadableColumns) as caught:
        table_of(text)
    assert "words among numbers in 11 columns" in str(caught.value)
    assert "categorical" not in str(caught.value)


def test_a_name_that_begins_with_a_hyphen_is_no_option(table_of):
    said = pytest.raises(UnreadableColumns, match=r"leave the column out: --exclude=-lead\.")
    with said, for_command_line():
        table_of("-lead,b\n1,2\n<5,3\n4,5\n")
    assert way_out("exclude", ["-lead", "b*"]) == "exclude=['-lead', 'b*']"
    with for_command_line():
        assert way_out("exclude", ["-lead", "b*"]) == "--exclude='-lead,b*'"


def test_many_names_without_a_pattern_go_into_a_file(table_of):
    text = ",".join(f"{name}x" for name in "abcdefghijklmnop") + ",y\n"
    text += "".join(",".join(["<5" if k == 0 else "1"] * 16) + ",1\n" for k in range(4))
    with pytest.raises(
        UnreadableColumns,
        match=r"exclude='@FILE', a file with these names, one on each line: ax, bx",
    ):
        table_of(text)


def test_missing_values_of_the_other_columns_are_known_too(table_of):
    with pytest.raises(UnreadableColumns) as caught:
        table_of("a,b,c\n1,,<5\n2,unknown,6\n3,1,7\n")
    assert (caught.value.missing, caught.value.n_samples) == ({"b": 2}, 3)


# Codes


CODES = "name,zip,n\nx,07766,1\ny,12345,0\nz,,10\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (CODES, "a.csv"),
        (CODES.replace("\n", "\r"), "a.csv"),
        (CODES.replace("\n", "\r\n"), "a.csv"),
        (CODES.replace(",", "\t"), "a.tsv"),
        (CODES.replace(",", ";"), "a.csv"),
        (CODES.replace("07766", '"07766"'), "a.csv"),
        (CODES.replace("07766", "  07766 "), "a.csv"),
        (CODES.replace("07766", '" 07766 "'), "a.csv"),
        (gzip.compress(CODES.encode(), mtime=0), "a.csv.gz"),
        ("name,n,zip\nx,1,07766\ny,0,12345\nz,10,", "a.csv"),
        ("name,n,zip\nx,1,12345\ny,0,\nz,10,07766", "a.csv"),
        ("zip,name,n\n07766,x,1\n12345,y,0\n,z,10\n", "a.csv"),
    ],
)
def test_whole_numbers_that_begin_with_a_zero_are_codes(table_of, text, name):
    table = table_of(text, name)
    assert table.features == ["n"]
    codes = table.annotations["zip"].dropna().tolist()
    assert sorted(codes) == ["07766", "12345"]
    assert table.annotations["zip"].isna().sum() == 1
    for excluded in (["zip"], []):
        again = table_of(text, name, exclude=excluded, annotate=["zip"] * (not excluded))
        assert again.annotations["zip"].dropna().tolist() == codes


@pytest.mark.parametrize("cell", ["0", "0.5", "-0.5", "00.5", "0e5", "1", "100", "-05", "0,5"])
def test_other_numbers_with_a_zero_are_numbers(table_of, cell):
    assert table_of(f"a;b\n1;{cell}\n2;3\n").features == ["a", "b"]


def test_times_are_words(table_of):
    assert table_of("a,b\n1,00:30\n2,01:00\n").annotations["b"].tolist() == ["00:30", "01:00"]


def test_codes_beside_words_stay_as_they_are(table_of):
    table = table_of("a,b,c\n1,007,007\n2,008,unknown\n3,<5,9\n")
    assert table.annotations["b"].tolist() == ["007", "008", "<5"]
    assert table.annotations["c"].tolist() == ["007", "unknown", "9"]


@given(
    cells=st.lists(
        st.from_regex(r"(0{0,2}[0-9]{1,3}(\.[0-9])?)?", fullmatch=True), min_size=1, max_size=9
    )
)
def test_a_column_is_text_if_any_cell_is_a_code(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("codes") / "a.csv"
    path.write_text("x,a\n" + "".join(f"1,{cell}\n" for cell in cells))
    table = read_table(path)
    if any(cell.isdigit() and cell[0] == "0" and len(cell) > 1 for cell in cells):
        assert table.annotations["a"].fillna("").tolist() == cells
    else:
        numbers = [float(cell) if cell else np.nan for cell in cells]
        np.testing.assert_array_equal(table.X[:, 1], numbers)


def test_a_code_across_two_pieces_of_a_file_is_seen():
    import io

    from branchwise.io.text import Characters

    data = b"a,b\n1,2\n3,07766\n"
    for size in range(1, len(data) + 1):
        text = Characters(io.BytesIO(data), "utf-8", ord(","))
        assert "".join(iter(lambda text=text, size=size: text.read(size), "")) == data.decode()
        assert text.has_code


# Units


def test_units_are_told_also_where_no_other_column_is_left(tmp_path):
    path = tmp_path / "bmi.csv"
    path.write_text("id,bmi\n1,26.1 kg/m2\n2,27 kg/m2\n3,22 kg/m2\n")
    with (
        pytest.warns(UserWarning, match=r"'bmi'.*kg/m2"),
        pytest.raises(InputError, match=r"no numeric column .* its one column is an annotation or"),
    ):
        read_table(path)


@pytest.mark.parametrize(
    "cells",
    [
        ["26.1 kg/m2", "30.2 kg/m2"],
        ["120 mmHg", "130 mmHg", "n/a"],
        ["61kg", "154 lb", "70 kg"],
        ["5 mg", "6 mg", "7"],
        ["5.1 10^9/L", "6.0 10^9/L"],
        ["36.6 °C", "37 °C"],
        ["3 drinks", "5 drinks"],
    ],
)
def test_numbers_with_units_are_told(table_of, cells):
    text = "a,bmi\n" + "".join(f"{k},{cell}\n" for k, cell in enumerate(cells))
    message = (
        rf"'bmi' \('{cells[0].replace('^', '.')}' in data row 1\) of .*a\.csv has numbers with a "
        r"unit and is not a feature; write the number alone"
    )
    with pytest.warns(UserWarning, match=message) as caught:
        assert table_of(text).features == ["a"]
    assert ("Units differ" in str(caught[0].message)) == (cells[0] == "61kg" or cells[-1] == "7")
    assert table_of(text, exclude=["bmi"]).annotations["bmi"].tolist()[0] == cells[0]


@pytest.mark.parametrize(
    "cells", [["1A", "2B", "1B"], ["2nd", "3rd"], ["3q", "5p"], ["Her2", "Lum A"], ["1 of 3", "x"]]
)
def test_words_with_numbers_are_words(table_of, cells):
    text = "a,b\n" + "".join(f"{k},{cell}\n" for k, cell in enumerate(cells))
    assert table_of(text).annotations["b"].tolist() == cells


# Dates


def test_dates_are_annotations_and_dates(table_of):
    text = "a,seen,at,born\n1,2020-01-31,31.12.2020 08:30,\n2,,15.01.2021 09:00,3-Feb-1950\n"
    about = table_of(text).annotations
    assert [about[name].dtype.kind for name in about] == ["M", "M", "M"]
    assert about["seen"].isna().tolist() == [False, True]
    assert table_of(text, exclude=["seen"]).annotations["seen"].dtype.kind == "M"
    assert table_of(text, include=["a"]).annotations["born"].dtype.kind == "M"


def test_dates_that_fit_both_ways_are_told(table_of):
    text = "a,seen\n1,02/01/2020\n2,03/04/2020\n"
    message = r"dates in 'seen' of .* fit both .*read with the day first: 02/01/2020 is the 2nd day"
    with pytest.warns(UserWarning, match=message):
        assert table_of(text).annotations["seen"].iloc[0] == pd.Timestamp(2020, 1, 2)
    found = table_of(text, date_order="mdy").annotations["seen"]
    assert found.tolist() == [pd.Timestamp(2020, 2, 1), pd.Timestamp(2020, 3, 4)]
    with pytest.raises(InputError, match="date_order='ydm' must be"):
        table_of(text, date_order="ydm")


def test_each_column_has_its_own_order(table_of):
    text = "a,seen,born,at\n1,02/01/2020,01/31/1950,2020-01-02\n2,31/01/2020,03/04/1960,\n"
    found = table_of(text)
    assert found.chosen["date_order"] == {"seen": "dmy", "born": "mdy"}
    new = table_of("a,seen,born\n1,02/01/2020,02/01/1950\n", date_order=found.chosen["date_order"])
    assert new.annotations["seen"].tolist() == [pd.Timestamp(2020, 1, 2)]
    assert new.annotations["born"].tolist() == [pd.Timestamp(1950, 2, 1)]
    with pytest.warns(UserWarning, match="'31/01/2020' in data row 2, which is .* month first; it"):
        assert table_of(text, date_order="mdy").annotations["seen"].iloc[1] == "31/01/2020"


def test_an_order_that_was_asked_for_binds_columns_to_be_encoded(table_of):
    message = r"'seen' of .* '31/01/2020' in data row 1, which is not .* month first, as {0} says; "
    message += "write such dates as 2020-01-31, or leave {0} out to let"
    given = {"annotate": ["seen"], "date_order": "mdy"}
    with pytest.raises(InputError, match=message.format("date_order")):
        table_of("a,seen\n1,31/01/2020\n2,\n", **given)
    with pytest.raises(InputError, match=message.format("--date-order")), for_command_line():
        table_of("a,seen\n1,31/01/2020\n2,\n", **given)


def test_dates_in_both_orders_stay_text_and_are_told(table_of):
    with pytest.warns(UserWarning, match="'seen' of .* holds dates of which .*; it stays text"):
        assert (
            table_of("a,seen\n1,31/01/2020\n2,01/31/2020\n").annotations["seen"].iloc[0]
            == "31/01/2020"
        )


def test_a_column_may_have_any_name(table_of):
    assert table_of("a,self,seen\n1,unknown,x\n2,3,y\n", exclude=["self"]).features == ["a"]


def test_numbers_beyond_the_largest_are_told(table_of):
    with pytest.raises(InputError, match=r"\('a'\): 1 of 3 cells, the first '1e999'"):
        table_of("a,b\n1,2\n1e999,3\n4,5\n")
    with pytest.raises(InputError, match=r"numbers beyond 1.8e308 in 2 columns .*=\['a', 'b'\]"):
        table_of("a,b,c\n1,2,3\n1e999,1e400,4\n4,5,6\n")


LONG = [2**53 + 1, 2**53]


def test_long_codes_that_are_annotated_keep_their_digits_beside_gaps(table_of):
    text = f"a,code\n1,{LONG[0]}\n2,\n3, {LONG[1]}\n"
    codes = table_of(text, annotate=["code"]).annotations["code"]
    assert codes.dropna().tolist() == ["9007199254740993", "9007199254740992"]
    assert table_of("a,code\n1,5\n2,\n", annotate=["code"]).annotations["code"].dtype.kind == "f"


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_long_codes_of_arrow_keep_their_digits_beside_gaps(tmp_path, ending):
    frame = pd.DataFrame({"a": [1.0, 2, 3], "code": pd.array([*LONG, None], dtype="Int64")})
    path = tmp_path / f"a{ending}"
    frame.to_parquet(path) if ending == ".parquet" else frame.to_feather(path)
    found = read_table(path, annotate=["code"])
    assert found.annotations["code"].dropna().tolist() == LONG
    assert found.features == ["a"]


def test_long_codes_of_excel_are_refused_as_categories(tmp_path):
    path = tmp_path / "a.xlsx"
    pd.DataFrame({"a": [1.0, 2, 3, 4], "code": [*LONG, *LONG]}).to_excel(path, index=False)
    codes = read_table(path, annotate=["code"]).annotations
    with pytest.raises(ValueError, match="'code' is to be a category, but holds 90071992547409"):
        Preparation(categorical=["code"]).fit(codes)


def test_cells_of_several_kinds_in_one_column_are_counted_by_kind(tmp_path):
    rows = ["<5,1 234", '"1,5",2', '"2,5",3', *["3,4"] * 9]
    path = tmp_path / "t.csv"
    path.write_text("id,crp,plt\n" + "".join(f"P{k},{row}\n" for k, row in enumerate(rows)))
    with pytest.raises(InputError) as told:
        read_table(path)
    text = str(told.value)
    assert text.startswith("2 columns are meant as numbers")
    assert "limits such as '<5' in 1 column ('crp'): 1 of 12 cells, the first '<5' in data" in text
    assert "decimal commas in 1 column ('crp'): 2 of 12 cells, the first '1,5' in data" in text
    assert "signs between thousands in 1 column ('plt'): 1 of 12 cells" in text


def column_of(cells, name="ldh"):
    """A table of one column beside a measurement."""
    return f"{name},crp\n" + "".join(f"{cell},{k}\n" for k, cell in enumerate(cells))


@pytest.mark.parametrize(
    ("n_words", "word", "known"),
    [
        (5, "12 mg/l", "5 of 10 known cells, but '12 mg/l' in data row 6"),
        (5, "neg", "5 of 10 known cells, but 'neg' in data row 6"),
        (45, "hemolyzed", "5 of 50 known cells"),
        (46, "hemolyzed", None),
    ],
)
def test_words_with_numbers_among_them_are_told(table_of, n_words, word, known):
    text = column_of([1.5, 2.5, 3.5, 4.5, 5.5, *[word] * n_words])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table = table_of(text)
    assert (table.features, list(table.annotations.columns)) == (["crp"], ["ldh"])
    assert [known in str(each.message) for each in said] == ([] if known is None else [True])
    if known is not None:
        assert "is not a feature; write each number alone and leave" in str(said[0].message)
        assert str(said[0].message).endswith("no measurement by exclude=['ldh'].")


@pytest.mark.parametrize("options", [{"include": "crp"}, {"exclude": "ldh"}, {"annotate": "ldh"}])
def test_words_that_are_no_features_on_purpose_are_not_told(table_of, options):
    assert table_of(column_of([1, 2, 3, 4, 5, *["neg"] * 5]), **options).features == ["crp"]


def test_names_of_samples_with_numbers_among_them_are_not_told(table_of):
    cells = [1, 2, 3, 4, 5, "A1", "A2", "A3", "A4", "A5"]
    text = "crp,sample_id\n" + "".join(f"{k},{cell}\n" for k, cell in enumerate(cells))
    assert table_of(text).features == ["crp"]


@pytest.mark.parametrize("cell", ["60€", "$ 5", "5 (H)", "12 ± 3", "12 [10-14]", "5↑"])
def test_numbers_with_something_else_are_told(table_of, cell):
    said = rf"'ldh' \(numbers in 0 of 4 known cells, but '{re.escape(cell)}' in data row 1\)"
    with pytest.warns(UserWarning, match=said):
        assert table_of(column_of([cell] * 4)).features == ["crp"]


@pytest.mark.parametrize(
    ("cell", "kind"), [("1’000", "signs between thousands"), ("−0.5", "minus signs of print")]
)
def test_signs_of_print_are_told(table_of, cell, kind):
    said = rf"(?s){kind} in 1 column \('ldh'\): 4 of 4 cells, the first '{cell}' in data row 1"
    with pytest.raises(UnreadableColumns, match=said):
        table_of(column_of([cell] * 4))


def test_a_name_of_rows_that_repeats_is_told(table_of):
    text = "patient,crp\nP1,1\nP1,2\nP2,3\n"
    with pytest.warns(UserWarning, match=r"'patient' of .* some rows twice \('P1'\), so") as said:
        assert table_of(text).samples == ["0", "1", "2"]
    assert "pass id='patient' for an error" in str(said[0].message)
    with pytest.warns(UserWarning, match="it is an annotation.$"):
        table_of(text, features=["crp"])
    assert table_of(text, exclude="patient").features == ["crp"]


def test_a_pattern_of_the_command_line_for_names_of_samples_is_told_as_an_option(table_of):
    said = pytest.raises(InputError, match=r"^--id '\*' fits 2 columns of .* name that one\.$")
    with said, for_command_line():
        table_of("a,b\n1,2\n", id="*")


def test_a_name_with_a_comma_is_one_name(table_of):
    hint = "Column 'd,e' has a comma in its name: --include '\"d,e\"'.$"
    with pytest.raises(UnknownNameError, match=hint), for_command_line():
        table_of('a,"d,e"\n1,2\n', include=["d", "e"])
