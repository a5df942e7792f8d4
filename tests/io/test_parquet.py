"""Parquet files."""

import decimal

import numpy as np
import pandas as pd
import pytest

from branchwise.io import InputError, read_table


def test_parquet_keeps_its_types(tmp_path):
    frame = pd.DataFrame(
        {
            "sample": ["p", "q", "r"],
            "count": pd.array([1, None, 3], dtype="Int64"),
            "price": [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")],
            "cluster": ["0", "1", "0"],
            "kind": pd.Categorical(["1", "2", "1"]),
            "seen": pd.to_datetime(["2020-01-01", "2020-01-02", None]),
            "well": [True, False, None],
        }
    )
    frame.to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table.samples == ["p", "q", "r"]
    assert table.features == ["count", "price"]
    np.testing.assert_array_equal(table.X, [[1, 1.5], [np.nan, np.nan], [3, 2.25]])
    assert list(table.annotations.columns) == ["cluster", "kind", "seen", "well"]
    assert table.annotations["cluster"].tolist() == ["0", "1", "0"]


def test_index_of_parquet_names_the_samples(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["p", "q"])
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").samples == ["p", "q"]


def test_several_levels_of_an_index_become_annotations(tmp_path):
    levels = pd.MultiIndex.from_arrays([["p", "q"], ["u", "u"]], names=["sample", "site"])
    frame = pd.DataFrame({"a": [1.0, 2.0], "spectrum": [[1, 2], [3]]}, index=levels)
    frame.to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert (table.samples, table.features) == (["p", "q"], ["a"])
    assert list(table.annotations.columns) == ["site", "spectrum"]


def test_lists_are_no_names_of_samples(tmp_path):
    pd.DataFrame({"id": [[1], [2]], "a": [1.0, 2.0]}).to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").samples == ["0", "1"]


def test_text_of_numbers_with_an_odd_cell_is_an_error_in_parquet_too(tmp_path):
    pd.DataFrame({"a": ["1.5", "2.5", "<5"], "b": [1, 2, 3]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(
        InputError, match=r"(?s)1 column is .* \('a'\): .* the first '<5' in data row 3"
    ):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1 and nothing else"], ids=["empty", "cut off"])
def test_broken_files_get_one_sentence(tmp_path, content):
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_table(tmp_path / "a.parquet")


def test_what_is_learned_about_names_and_dates_is_the_same_chunk_by_chunk(tmp_path):
    frame = pd.DataFrame({"patient": ["p", "q"], "seen": ["1/2/2020", "1/30/2020"], "hb": [1.0, 2]})
    frame.to_parquet(tmp_path / "a.parquet")
    now, later = (read_table(tmp_path / "a.parquet", lazy=lazy) for lazy in (False, True))
    assert (later.id, later.chosen) == (now.id, now.chosen)
    assert (now.id, now.chosen["date_order"]) == ("patient", {"seen": "mdy"})
