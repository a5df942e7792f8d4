"""Columns of a DataFrame become what a file of text with the same cells makes of them."""

import re
import unicodedata
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from branchwise import Preparation
from branchwise.data.columns import check_numbers_there
from branchwise.data.errors import UnreadableColumns
from branchwise.data.selection import Selection
from branchwise.data.table import as_table, make_table
from branchwise.io import read_table
from branchwise.pipeline import fit_pipeline

NUMBERS = [12.5, 11.0, 13.25, 9.5]


def framed(cells):
    return pd.DataFrame({"hb": cells, "crp": [1.5, 2.0, 3.0, 4.5]})


@pytest.mark.parametrize(
    "cells",
    [
        [12.5, "n/a", 13.25, 9.5],
        ["12.5", "n/a", "13.25", "9.5"],
        ["12.5", None, " 13.25", "unknown"],
        pd.array(["12.5", None, "13.25", "9.5"], dtype="string"),
        [12.5, "<5", 13.25, 9.5],
        ["12,5", "11,0", "13,25", "9,5"],
        ["12.5 g/dl", "11 g/dl", "13.25 g/dl", "9.5 g/dl"],
        ["low", "high", "low", "high"],
        ["007", "11", "12", "13"],
    ],
)
def test_columns_are_what_a_file_makes_of_them(tmp_path, cells):
    frame, path = framed(cells), tmp_path / "a.csv"
    frame.to_csv(path, index=False)

    def read(how, source):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                table = how(source)
                found = table.features, np.nan_to_num(table.X, nan=-1).tolist()
            except UnreadableColumns as error:
                found = str(error)
        told = [str(found), *(str(each.message) for each in said)]
        return [text.replace(str(path), "the DataFrame") for text in told]

    assert read(as_table, frame) == read(read_table, path)


def test_all_columns_that_cannot_be_read_are_told_at_once():
    frame = framed([12.5, "<5", 13.25, 9.5]).assign(alb=["40", "41", "?!", "39"])
    with pytest.raises(UnreadableColumns, match="2 columns are meant as numbers in the DataFrame"):
        fit_pipeline(frame)


@pytest.mark.parametrize(
    "options",
    [
        {"exclude": ["h?"]},
        {"include": ["crp", "alb"]},
        {"preparation": Preparation(categorical=["hb"])},
    ],
)
def test_named_columns_are_left_as_they_are(options):
    frame = pd.DataFrame(
        {
            "hb": np.where(np.arange(40) % 2, "<5", "6").astype(object),
            "crp": np.arange(40) % 7 + 0.5,
            "alb": np.arange(40) % 11 + 0.25,
        }
    )
    frame.loc[0::3, "hb"] = "7"
    with pytest.raises(UnreadableColumns, match="'hb'"):
        fit_pipeline(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_pipeline(frame, **options)


def test_a_model_reads_numbers_that_are_text():
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["hb", "crp"])
    model = fit_pipeline(numbers)
    known = model.place(numbers[:3])
    as_text = numbers[:3].astype({"hb": str}).assign(note=["<5", "6", "7"])
    pd.testing.assert_frame_equal(model.place(as_text), known)
    as_category = numbers[:3].astype({"hb": "category"})
    pd.testing.assert_frame_equal(model.place(as_category), known)
    with pytest.raises(UnreadableColumns, match=r"'<5' in data row 1\. Write a number"):
        model.place(numbers[:3].astype(object).assign(hb=["<5", 6, 7]))


def test_words_with_numbers_among_them_are_told_of_a_data_frame():
    frame = pd.DataFrame({"ldh": ["5", "6", "7", "8", "9", *["neg"] * 6], "crp": np.arange(11.0)})
    said = (
        r"'ldh' \(numbers in 5 of 11 known cells, but 'neg' in data row 6\) of the DataFrame is not"
    )
    with pytest.warns(UserWarning, match=said):
        assert as_table(frame).features == ["crp"]


def test_the_first_cell_that_is_not_a_number_is_told():
    about = pd.DataFrame({"crp": ["7.6", "n.d.", "3.6 mg/l"], "nr": [1, 2**62, 3]})
    table = make_table(np.ones((3, 1)), ["hb"], None, about, "m.csv")
    said = (
        "'crp' of m.csv must hold numbers, as in the fit, but has '3.6 mg/l' in data row 3, 'nr' "
        "of m.csv has '4611686018427387904' in data row 2, which has too many digits;"
    )
    with pytest.raises(ValueError, match=re.escape(said)):
        check_numbers_there(table, ["crp", "nr"])


def test_numbers_of_a_model_that_have_units_are_told_with_all_others():
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
    model = fit_pipeline(numbers)
    new = numbers[:3].astype(object).assign(a=["<5", 6, 7], b=["1 kg", "2 kg", "3 kg"], c="low")
    with pytest.raises(UnreadableColumns) as caught:
        model.place(new)
    for part in (
        "3 columns are",
        "limits such as '<5'",
        "units in 1 column ('b'): 3 of 3",
        "'low'",
    ):
        assert part in str(caught.value)


DECIMALS = [Decimal("1.5"), None, Decimal("2.5")]


@pytest.mark.parametrize("kind", ["object", "arrow", "polars"])
def test_decimals_are_numbers(kind):
    frame = pd.DataFrame({"hb": DECIMALS, "age": [1, 2, 3]})
    if kind == "arrow":
        pyarrow = pytest.importorskip("pyarrow")
        frame["hb"] = frame["hb"].astype(pd.ArrowDtype(pyarrow.decimal128(5, 2)))
    if kind == "polars":
        frame = pytest.importorskip("polars").DataFrame({"hb": DECIMALS, "age": [1, 2, 3]})
    table = as_table(frame)
    assert table.features == ["hb", "age"]
    np.testing.assert_array_equal(table.X, [[1.5, 1], [np.nan, 2], [2.5, 3]])


def test_numbers_as_names_of_columns_are_text_of_annotations_too():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)))
    frame[3] = list("ab") * 20
    assert list(as_table(frame).annotations.columns) == ["3"]
    model = fit_pipeline(frame, preparation=Preparation(categorical=["3"]))
    assert model.features == ["0", "1", "2", "3"]


def test_braces_in_names_and_cells_are_told_as_they_are():
    table = as_table(pd.DataFrame({"hb{x}": ["{high}", "low"], "crp": ["{}", None]}))
    said = (
        r"^'hb\{x\}' of .* must hold numbers, as in the fit, but has '\{high\}' in data row 1, "
        r"'crp' of .* has '\{\}' in data row 1; write numbers"
    )
    with pytest.raises(ValueError, match=said):
        check_numbers_there(table, ["hb{x}", "crp"])


def test_categories_of_numbers_are_told():
    frame = framed(pd.Categorical(NUMBERS)).assign(ward=pd.Categorical(list("abab")))
    with pytest.warns(UserWarning, match="'hb' of the DataFrame has the type category") as said:
        assert as_table(frame).features == ["crp"]
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_table(frame, Selection(exclude=["hb"]))
        as_table(frame[["crp", "ward"]])


def test_text_that_names_samples_is_not_a_feature():
    frame = framed(NUMBERS)
    frame.insert(0, "patient", ["1", "2", "3", "4"])
    assert as_table(frame).features == ["hb", "crp"]


def visits(text):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    return frame.assign(seen=[text.format(1 + k % 12, 1 + k % 7) for k in range(40)])


def test_dates_that_fit_both_ways_are_read_as_in_a_file(tmp_path):
    frame, preparation = visits("{}/{}/2020"), Preparation(dates=["seen"], standardize=True)
    with pytest.warns(UserWarning, match="month first, and were read with the day first.*date_or"):
        model = fit_pipeline(frame, preparation=preparation)
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.warns(UserWarning, match="fit both with day"):
        table = read_table(tmp_path / "a.csv", annotate=["seen"])
    same = fit_pipeline(table, preparation=preparation)
    np.testing.assert_array_equal(model.embedding, same.embedding)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the order is known now
        places = model.place(frame[:4])
        as_dates = frame.assign(seen=pd.to_datetime(frame["seen"], dayfirst=True))
        pd.testing.assert_frame_equal(places, model.place(as_dates[:4]))
        given = {"date_order": "mdy"}
        other = fit_pipeline(frame, preparation=preparation, reading=given)
    assert other.preparation.steps_["encode"].orders_by_column == {"seen": "mdy"}


def test_new_dates_that_fit_both_ways_are_day_first_where_the_model_does_not_know():
    frame, preparation = visits("2020-{:02}-{:02}"), Preparation(dates=["seen"], standardize=True)
    model = fit_pipeline(frame, preparation=preparation)
    new = frame[1:2].assign(seen="03/02/2020")
    with pytest.warns(UserWarning, match="read with the day first: 03/02/2020 is the 3rd day"):
        places = model.place(new)
    pd.testing.assert_frame_equal(places, model.place(new.assign(seen="2020-02-03")))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("is_file", [True, False])
def test_accents_may_be_written_in_two_ways(form, is_file, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["Hämoglobin", "Größe", "crp"])
    frame["Straße ö"] = ["Köln", "Bonn"] * 20

    def other(text):
        return unicodedata.normalize(form, text)

    def written(frame):
        frame = frame.rename(columns=other).assign(
            **{other("Straße ö"): frame["Straße ö"].map(other)}
        )
        if not is_file:
            return frame
        frame.to_csv(tmp_path / "a.csv", index=False)
        return read_table(tmp_path / "a.csv", annotate=["Straße ö"])

    prepared = Preparation(categorical=["Straße*"], standardize=True)
    model = fit_pipeline(frame, preparation=prepared)
    known = model.place(frame[:3])
    found = model.place(written(frame[:3]))
    pd.testing.assert_frame_equal(found.reset_index(drop=True), known.reset_index(drop=True))
    again = fit_pipeline(written(frame), preparation=prepared, exclude=[other("Größe")])
    assert again.features == ["Hämoglobin", "crp", "Straße ö"]
