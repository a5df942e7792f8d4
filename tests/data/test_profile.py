import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from branchwise.data.profile import facts_of_numbers, profile_columns, profile_matrix
from branchwise.data.selection import EVERYTHING
from branchwise.io.frames import Framed
from branchwise.io.raw import judge


def profiles(frame):
    """Profiles of columns as they are read from a file of text."""
    verdicts, _ = judge(Framed(frame, typed=False), "t.csv", EVERYTHING, None)
    return profile_columns(frame, verdicts)


def profile(values):
    # Not the first column, which may be names.
    return profiles(pd.DataFrame({"first": 0.5, "x": pd.Series(values)}))[1]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, 2.5, None], "number"),
        ([1.0, 2.0, None], "whole number"),
        ([0, 1, 1], "yes/no"),
        (["yes", "No", None], "yes/no"),
        (["ja", "nein", "ja"], "yes/no"),
        ([True, False, None], "yes/no"),
        (["n", "n", "n"], "category"),
        (["a", "b", "a", "c"] * 3, "category"),
        ([f"text {k}" for k in range(9)], "text"),
        (["2024-01-31", "2024-02-01", None], "date"),
        (["31.1.2024", "1.2.2024", "3.4.2023"], "date"),
        (["01/31/2024", "02/01/2024", "02/01/2024"], "date"),
        (["2024-01-31 12:30", "2024-02-01T08:00:00Z", "2024-02-01"], "date"),
        (["31 Jan 2024", "1 Feb 2024"], "date"),
        ([20240131, 20240201, 20231224], "date"),
        ([pd.Timestamp("2024-01-31")] * 2, "date"),
        ([pd.Timestamp("2024-01-31", tz="Europe/Berlin")] * 2, "date"),
        ([pd.Timestamp("2024-01-31").date()] * 2, "date"),
        (["07766", "10115", "00001"], "code"),
        ([None, None], "empty"),
        ([np.nan, np.nan], "empty"),
        (["12", "low", "3", "high"], "mixed"),
        (["26.1 kg/m2", "31 kg/m2", "19 kg/m2"], "mixed"),
        ([[1], [2, 3], None], "category"),
        (["1.2.3", "1.2.4", "2.0.1"], "text"),
        (["31.31.2024", "32.1.2024", "45.9.2024"], "text"),
    ],
    ids=str,
)
def test_types(values, kind):
    assert profile(values).type == kind


def test_missing_distinct_and_range():
    found = profile([3.5, None, 1.0, 3.5, 8.0])
    assert (found.missing, found.distinct) == (1, 3)
    assert (found.minimum, found.median, found.maximum) == (1, 3.5, 8)
    dates = profile(["2024-01-31", None, "2020-05-01", "2022-01-01"])
    assert (dates.minimum, dates.median, dates.maximum) == (
        "2020-05-01",
        "2022-01-01",
        "2024-01-31",
    )


@pytest.mark.parametrize(
    ("number", "unit", "told"),
    [(10**15, "ms", "33658-09-27"), (10**12, "s", "33658-09-27"), (-(10**12), "s", "-29719-04-05")],
)
def test_days_of_years_that_python_lacks_are_told(number, unit, told):
    values = pd.Series(np.array([number, 0, 0], dtype="int64").view(f"datetime64[{unit}]"))
    found = profile(values)
    assert found.type == "date"
    assert told in (found.minimum, found.maximum)


def test_what_is_odd():
    frame = pd.DataFrame(
        {
            "crp": [-999.0, *np.arange(19) / 10],
            "same": [4] * 20,
            "case": range(100, 120),
            "mrn": np.random.default_rng(0).permutation(20) * 1000,
            "death": [0, 1] * 10,
            "bmi": [f"{k + 18}.5 kg/m2" for k in range(20)],
            "platelets": np.random.default_rng(0).permutation(20) + 200,
            "limit": [np.inf, *range(19)],
        }
    )
    found = {each.name: each for each in profiles(frame)}
    assert found["crp"].sentinels == ((-999, 1),)
    assert found["same"].is_constant
    assert [name for name in found if found[name].is_id_like] == ["case", "mrn"]
    assert [name for name in found if found[name].is_outcome_like] == ["death"]
    assert found["bmi"].units == ("kg/m2",)
    assert found["limit"].n_infinite == 1
    assert found["limit"].fate == "stops"
    assert [each.position for each in found.values()] == list(range(8))


def test_a_score_below_zero_is_not_an_outcome():
    (found,) = profile_columns(pd.DataFrame({"event": [-1.2, 0.3, 0.5]}))
    assert not found.is_outcome_like


VALUES = st.sampled_from([0.0, 1.0, -1.0, 2.5, 99.0, -999.0, np.nan, np.inf, -np.inf, 1e300])


@given(st.lists(VALUES, max_size=30))
def test_counts_and_quantiles_are_those_of_pandas(values):
    column = pd.Series(values, dtype=float)
    facts = facts_of_numbers(column.to_numpy()[None])
    assert facts.missing[0] == column.isna().sum()
    if column.notna().any():
        assert facts.distinct[0] == column.nunique()
        assert facts.low[0] == column.min()
        assert facts.high[0] == column.max()
        if np.isfinite(column.dropna()).all():
            assert facts.median[0] == pytest.approx(column.median())


@given(st.lists(st.lists(VALUES, min_size=3, max_size=3), min_size=1, max_size=12))
def test_a_sparse_matrix_has_the_profile_of_a_dense_one(rows):
    X = np.array(rows)
    dense = profile_matrix(X, ["a", "b", "c"])
    held = profile_matrix(sparse.csr_array(X), ["a", "b", "c"])
    for one, other in zip(dense, held, strict=True):
        assert repr(one).replace("-0.0", "0.0") == repr(other).replace("-0.0", "0.0")


CELLS = st.one_of(
    st.none(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.booleans(),
    st.text(max_size=12),
    st.dates(),
    st.datetimes(),
    st.lists(st.integers(), max_size=2),
    st.sampled_from(["007", "1,5", "<5", "2024-13-45", "3 mg", "n.d.", "NaN", "yes", "31.12.99"]),
)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=12))
def test_any_frame_has_a_profile(rows):
    frame = pd.DataFrame(rows, columns=["a", "a"], dtype=object)
    found = profile_columns(frame)
    assert [each.name for each in found] == ["a", "a"]
    for each, missing in zip(found, frame.isna().sum(), strict=True):
        assert each.missing == missing
