"""What is masked, or NA, is missing: no way in ignores a mask."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from branchwise import SPL, DDRTree, DRTree, Preparation, learn_trajectory
from branchwise.data.checks import check_numbers
from branchwise.data.gaps import missing_by_column
from branchwise.data.table import as_table
from branchwise.pipeline import fit_pipeline

X = np.random.default_rng(0).normal(size=(40, 3))
GAP = (7, 1)


def masked():
    values = X.copy()
    values[GAP] = -999.0
    return np.ma.masked_equal(values, -999.0)


def whole_numbers():
    values = (10 * X).astype(int)
    values[GAP] = -999
    return np.ma.masked_equal(values, -999)


def frame(dtype):
    values = pd.DataFrame(X.round(1), columns=[*"abc"])
    values.iloc[GAP] = np.nan
    return values.round().astype(dtype) if "nt" in dtype else values.astype(dtype)


def truth_values():
    values = pd.DataFrame(X > 0, columns=[*"abc"]).astype("boolean")
    values.iloc[GAP] = pd.NA
    return values


GIVEN = {
    "masked": masked,
    "masked whole numbers": whole_numbers,
    "rows that are masked": lambda: list(masked()),
    "Float64": lambda: frame("Float64"),
    "Int64": lambda: frame("Int64"),
    "arrow": lambda: frame("double[pyarrow]"),
    "arrow whole numbers": lambda: frame("int64[pyarrow]"),
    "boolean": truth_values,
}


@pytest.mark.parametrize("given", GIVEN)
def test_the_gate_of_all_estimators_takes_it_for_missing(given):
    found = np.isnan(check_numbers(GIVEN[given]()))
    assert np.argwhere(found).tolist() == [list(GAP)]


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("fit", [DDRTree().fit, DRTree().fit, SPL().fit, learn_trajectory])
def test_what_needs_all_values_says_that_one_is_missing(fit, given):
    with pytest.raises(ValueError, match=r"X\[7, 1\] is NaN, but every value must be finite"):
        fit(GIVEN[given]())


@pytest.mark.parametrize("given", GIVEN)
def test_a_preparation_fills_it_in(given):
    made = Preparation(impute="median").fit_transform(GIVEN[given]())
    plain = check_numbers(GIVEN[given]())
    assert made[GAP] == np.nanmedian(plain[:, 1])
    with pytest.raises(ValueError, match="missing"):
        Preparation().fit(GIVEN[given]())


def test_a_mask_without_a_masked_value_changes_nothing():
    np.testing.assert_array_equal(check_numbers(np.ma.masked_array(X)), X)


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "double[pyarrow]", "object"])
def test_a_table_of_pandas_own_types_has_features_with_gaps(dtype):
    given = frame("Float64") if dtype == "object" else frame(dtype)
    given = given.astype(object) if dtype == "object" else given
    table = as_table(given.assign(word="w"))
    assert (table.features, missing_by_column(table)) == ([*"abc"], {"b": 1})
    assert table.X.dtype == np.float64
    made = fit_pipeline(given, preparation=Preparation(impute="median"))
    assert made.features == [*"abc"]


def test_a_covariate_that_is_masked_is_missing():
    age = np.ma.masked_equal(np.where(np.arange(40) == 7, -1, 50), -1)
    with pytest.raises(ValueError, match=r"'age' is missing in 1 of 40 rows, first in row 7"):
        Preparation(adjust=["age"]).fit(X, covariates={"age": age})


@pytest.mark.parametrize("has_masked_meta", [True, False])
def test_masked_blocks_of_dask_are_missing(has_masked_meta):
    lazy = da.from_array(masked(), chunks=(10, 3), asarray=False)
    if not has_masked_meta:
        lazy = lazy.map_blocks(lambda block: block, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match=r"NaN"):
        DDRTree().fit(lazy)
    with pytest.raises(ValueError, match=r"NaN|missing"):
        Preparation(standardize=True).fit(lazy)


def test_new_samples_that_are_masked_are_not_placed_by_what_is_below_the_mask():
    path = learn_trajectory(X, support=0)
    new = masked()[5:9]
    empty = np.where(new.mask, np.nan, new.data)
    places = path.place(new)
    assert places["missing"].tolist() == new.mask.sum(axis=1).tolist()
    assert places["missing"].any()
    np.testing.assert_array_equal(places["pseudotime"], path.place(empty)["pseudotime"])
    with pytest.raises(ValueError, match="NaN"):
        path.estimator_.transform(masked()[5:9])
