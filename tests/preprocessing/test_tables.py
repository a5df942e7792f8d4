"""Tables as users have them, and what they are told about those that will not do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from branchwise import Preparation
from branchwise.preprocessing import complete_rows


@pytest.fixture
def frame(rng):
    names = [f"patient {k}" for k in range(20)]
    return pd.DataFrame(rng.gamma(2.0, size=(20, 3)), columns=["crp", "ldl", "hb"], index=names)


@pytest.fixture
def clinic(frame, rng):
    return pd.DataFrame(
        {"age": rng.normal(60, 9, size=20), "sex": ["f", "m"] * 10}, index=frame.index
    )


# Columns


def test_a_table_gives_a_table_with_its_index(frame, clinic):
    model = Preparation(adjust=["age"]).set_output(transform="pandas")
    prepared = model.fit_transform(frame, covariates=clinic)
    assert prepared.index.equals(frame.index)
    assert list(prepared.columns) == ["crp", "ldl", "hb"]
    assert list(model.feature_names_in_) == ["crp", "ldl", "hb"]
    swapped = model.transform(frame[["hb", "ldl", "crp"]][5:], covariates=clinic[5:])
    pd.testing.assert_frame_equal(swapped, prepared[5:])


def test_principal_components_have_names(frame):
    model = Preparation(pca=2).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == ["pca0", "pca1"]
    assert list(model.get_feature_names_out()) == ["pca0", "pca1"]


def test_polars_in_polars_out(frame, clinic):
    table, about = pl.from_pandas(frame), pl.from_pandas(clinic)
    model = Preparation(adjust=["age", "sex"], standardize=True).set_output(transform="polars")
    prepared = model.fit_transform(table, covariates=about)
    assert isinstance(prepared, pl.DataFrame)
    assert prepared.columns == ["crp", "ldl", "hb"]
    expected = Preparation(adjust=["age", "sex"], standardize=True).fit_transform(
        frame, covariates=clinic
    )
    np.testing.assert_array_equal(prepared.to_numpy(), expected)


def test_lacking_columns_are_named(frame):
    model = Preparation().fit(frame)
    message = r"X lacks 2 of the 3 columns that were there in fit: 'crp', 'hb'; add them, or name"
    with pytest.raises(ValueError, match=message):
        model.transform(frame[["ldl"]].assign(age=1))
    many = pd.DataFrame(np.ones((2, 9)), columns=list("abcdefghi"))
    with pytest.raises(ValueError, match="'a', 'b', 'c', 'd', 'e' and 4 more; add them"):
        Preparation().fit(many).transform(frame)


def test_columns_of_the_same_name_are_refused(frame):
    double = pd.concat([frame, frame[["crp"]]], axis=1)
    message = "X has 2 columns named 'crp', but names must be unique; rename or drop some"
    with pytest.raises(ValueError, match=message):
        Preparation().fit(double)
    with pytest.raises(ValueError, match=message):
        Preparation().fit(frame).transform(double)


def test_numbers_as_names_are_places(frame):
    numbered = frame.set_axis([0, 1, 2], axis=1)
    model = Preparation(standardize=True).set_output(transform="pandas").fit(numbered)
    assert not hasattr(model, "feature_names_in_")
    assert list(model.transform(numbered).columns) == ["x0", "x1", "x2"]
    assert model.transform(numbered).index.equals(frame.index)


def test_numbers_and_text_as_names_are_refused(frame):
    mixed = frame.set_axis(["crp", 1, 2], axis=1)
    with pytest.raises(TypeError, match=r"string names.*X\.columns\.astype\(str\)"):
        Preparation().fit(mixed)


def test_other_numbers_of_columns_are_refused(frame):
    model = Preparation().fit(frame.to_numpy())
    with pytest.raises(ValueError, match="X has 2 features, but Preparation is expecting 3"):
        model.transform(np.ones((4, 2)))


def test_columns_of_text_are_refused_in_fit(frame):
    with pytest.raises(ValueError, match=r"could not convert string.*X must hold numbers: drop"):
        Preparation().fit(frame.assign(site="rome"))


def test_what_is_not_fitted_says_so(frame):
    for method in ("transform", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(Preparation(), method)(frame)
    with pytest.raises(NotFittedError):
        Preparation().to_state()


# Values


def spoilt(frame):
    frame = frame.copy()
    frame.iloc[[2, 5, 7], 1] = np.nan
    frame.iloc[4, 0] = np.nan
    return frame


def test_missing_values_are_counted_by_column(frame):
    message = (
        r"X has 4 missing values \(NaN\) in 2 of 3 columns \('ldl': 3, 'crp': 1\), but every value "
        r"must be known; drop such rows, .*complete_rows marks.*, or set impute='model' or "
        r"impute='median'\.$"
    )
    with pytest.raises(ValueError, match=message):
        Preparation().fit(spoilt(frame))
    with pytest.raises(ValueError, match=message):
        Preparation().fit(frame).transform(spoilt(frame))
    with pytest.raises(ValueError, match=r"\(column 1: 3, column 0: 1\)"):
        Preparation().fit(sparse.csr_array(spoilt(frame).to_numpy()))
    with pytest.raises(ValueError, match=r"\('a': 2\)"):
        Preparation().fit(pd.DataFrame({"a": pd.array([1, None, None], dtype="Int64")}))
    with pytest.raises(ValueError, match=r"\('a': 1\)"):
        Preparation().fit(pl.DataFrame({"a": [1, None, 3]}))


def test_missing_values_among_objects_are_told_apart_from_text(frame):
    objects = pd.DataFrame({"a": [1, pd.NA, 3.0]})
    with pytest.raises(TypeError, match=r"NA in a column of objects: .* X.astype\(.Float64.\)"):
        Preparation(impute="median").fit(objects)
    prepared = Preparation(impute="median").fit_transform(objects.astype("Float64"))
    assert prepared[:, 0].tolist() == [1, 2, 3]


def test_rows_to_drop_are_for_the_caller_to_drop(frame, clinic):
    X, about = spoilt(frame), clinic.copy()
    about.loc["patient 9", "sex"] = None
    complete = complete_rows(X, about)
    assert np.flatnonzero(~complete).tolist() == [2, 4, 5, 7, 9]
    model = Preparation(impute="drop", adjust=["age", "sex"])
    with pytest.raises(ValueError, match=r"with impute='drop', drop such rows, .* before"):
        model.fit(X, covariates=about)
    prepared = model.fit_transform(X[complete], covariates=about[complete])
    assert prepared.shape == (15, 3)
    with pytest.raises(ValueError, match="with impute='drop', drop such rows"):
        model.transform(X, covariates=clinic)


@pytest.mark.parametrize(
    "container",
    [
        pytest.param(lambda X: X, id="pandas"),
        pytest.param(pl.from_pandas, id="polars"),
        pytest.param(lambda X: X.to_numpy(), id="numpy"),
        pytest.param(lambda X: sparse.csc_array(X.to_numpy()), id="sparse"),
    ],
)
def test_complete_rows_of_any_table(frame, container):
    assert np.flatnonzero(~complete_rows(container(spoilt(frame)))).tolist() == [2, 4, 5, 7]


def test_complete_rows_needs_covariates_for_all_rows(frame):
    with pytest.raises(ValueError, match="covariate 'age' has 1 values, but X has 20 rows"):
        complete_rows(frame, {"age": [3]})
    with pytest.raises(TypeError, match="covariates must be a DataFrame or a dict of columns, got"):
        complete_rows(frame, [3] * 20)


@pytest.mark.parametrize("impute", [None, "median", "drop"])
def test_infinite_values_are_located(frame, impute):
    frame.iloc[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"X\[3, 1\] is inf, but every value must be finite"):
        Preparation(impute=impute).fit(frame)


def test_values_whose_squares_overflow_are_refused(frame):
    with pytest.raises(ValueError, match=r"X holds a value of size 1e\+200"):
        Preparation(standardize=True).fit(frame * 0 + 1e200)


def test_columns_without_any_value_have_no_median(frame):
    frame[["ldl", "hb"]] = np.nan
    with pytest.raises(
        ValueError, match=r"impute='median' needs.*none in 2 \('ldl', 'hb'\); leave such columns"
    ):
        Preparation(impute="median").fit(frame)


@pytest.mark.parametrize("container", [lambda X: X, sparse.csr_array], ids=["dense", "sparse"])
def test_logarithms_need_values_above_minus_one(frame, container):
    frame.iloc[3, 2], frame.iloc[6, 1], frame.iloc[1, 1] = -1.0, -7.5, -0.99
    message = r"X holds -7.5 in '?(ldl'|column 1), row 6, but log1p=True needs values above -1; "
    with pytest.raises(ValueError, match=message):
        Preparation(log1p=True).fit(container(frame))
    model = Preparation(log1p=True).fit(container(frame.abs()))
    with pytest.raises(ValueError, match=message):
        model.transform(container(frame))


def test_components_are_at_most_samples_and_features(frame):
    message = r"pca=4 must be at most min\(n_samples, n_features\)=3 \(n_samples=20, n_features=3\)"
    with pytest.raises(ValueError, match=message):
        Preparation(pca=4).fit(frame)
    with pytest.raises(ValueError, match=r"pca=3 must be .*=2 \(n_samples=2"):
        Preparation(pca=3).fit(frame[:2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"impute": "mean"}, "'impute' parameter of Preparation must be"),
        ({"pca": 0}, "'pca' parameter of Preparation must be"),
        ({"log1p": "yes"}, "'log1p' parameter of Preparation must be"),
        ({"adjust": 1}, "'adjust' parameter of Preparation must be"),
        ({"adjust": [1]}, r"adjust=\[1\] must be a list of different names of covariates; pass"),
        ({"adjust": ["age", "age"]}, "must be a list of different names"),
    ],
)
def test_parameters_are_checked(frame, options, message):
    with pytest.raises(ValueError, match=message):
        Preparation(**options).fit(frame)


@pytest.mark.parametrize("options", [{"rank_normalize": True}, {"adjust": ["age"]}], ids=str)
def test_sparse_data_that_would_not_fit_as_dense_are_refused(options, monkeypatch):
    X = sparse.csr_array((50_000, 30_000))
    monkeypatch.setattr("branchwise._memory.available_bytes", lambda: 2**33)
    message = r"of 50,000 sparse samples of 30,000 features, which makes them dense, needs about 22"
    with pytest.raises(MemoryError, match=message):
        Preparation(**options).fit(X, covariates={"age": np.arange(50_000)})


# Covariates


@pytest.mark.parametrize(
    ("covariates", "error", "message"),
    [
        (None, ValueError, r"adjust=\['age', 'sex'\] needs covariates, which are missing; pass"),
        ([1] * 20, TypeError, "covariates must be a DataFrame or a dict of columns, got list"),
        (
            {"age": [1] * 20, "gender": ["f"] * 20},
            ValueError,
            "the table of covariates has no column 'sex'; it has 'age', 'gender'",
        ),
        (
            {"age": [1] * 19, "sex": ["f"] * 20},
            ValueError,
            "covariate 'age' has 19 values, but X has 20 rows; pass one value for each row",
        ),
        (
            {"age": [1] * 20, "sex": ["f"] * 18 + [None, np.nan]},
            ValueError,
            "covariate 'sex' is missing in 2 of 20 rows, first in row 18, but must be known for",
        ),
        (
            {"age": [1.0] * 19 + [np.inf], "sex": ["f"] * 20},
            ValueError,
            "covariate 'age' is inf in row 19, but must be finite; replace such values or drop",
        ),
        (
            {"age": np.array(["2020-01-01"] * 20, "datetime64[D]"), "sex": ["f"] * 20},
            TypeError,
            r"covariate 'age' has type datetime64\[D\], but must hold numbers, truth values, ",
        ),
        (
            {"age": [(1, 2)] * 20, "sex": ["f"] * 20},
            TypeError,
            r"covariate 'age' holds \(1, 2\), but must hold numbers, truth values, categories",
        ),
        (
            {"age": [1 + 2j] * 20, "sex": ["f"] * 20},
            TypeError,
            r"covariate 'age' holds \(1\+2j\), but must hold numbers",
        ),
        (
            {"age": [1e308] * 20, "sex": ["f"] * 20},
            ValueError,
            r"covariate 'age' holds a value of size 1e\+308, but values must be at most",
        ),
        (
            {"age": [10**400] * 20, "sex": ["f"] * 20},
            TypeError,
            "covariate 'age' must hold numbers, .*int too large to convert to float",
        ),
        ({"age": 60, "sex": ["f"] * 20}, TypeError, "A covariate must be a column with .* got 60"),
        (
            {"age": np.arange(20), "sex": list("abcdefghijklmnopqrst")},
            ValueError,
            "has 19 independent columns, which explain n_samples=20 completely and leave no resid",
        ),
    ],
    ids=lambda value: None,
)
def test_covariates_are_checked(frame, covariates, error, message):
    with pytest.raises(error, match=message):
        Preparation(adjust=["age", "sex"]).fit(frame, covariates=covariates)


def test_new_levels_and_new_kinds_are_refused(frame, clinic):
    model = Preparation(adjust=["age", "sex"]).fit(frame, covariates=clinic)
    with pytest.raises(
        ValueError, match="covariate 'sex' has the level 'x', but its levels in fit were 'f', 'm';"
    ):
        model.transform(frame, covariates=clinic.assign(sex="x"))
    with pytest.raises(TypeError, match="covariate 'age' must hold numbers, as it did in fit, but"):
        model.transform(frame, covariates=clinic.assign(age="old"))
    with pytest.raises(ValueError, match="needs covariates, which are missing"):
        model.transform(frame)


def test_rows_of_covariates_are_in_the_order_of_the_samples(frame, clinic):
    model = Preparation(adjust=["age"])
    message = "covariates have 'patient 19' in row 0, where X has 'patient 0'; pass covariates.loc"
    with pytest.raises(ValueError, match=message):
        model.fit(frame, covariates=clinic[::-1])
    expected = model.fit_transform(frame, covariates=clinic)
    numbered = clinic.reset_index(drop=True)
    np.testing.assert_array_equal(model.transform(frame, covariates=numbered), expected)
    with pytest.raises(ValueError, match="in row 0, where X has"):
        model.transform(frame[::-1], covariates=clinic)


def test_a_categorical_chooses_its_reference(frame, clinic):
    sex = pd.Categorical(clinic["sex"], categories=["x", "m", "f"])
    for column in (sex, pd.Series(sex)):
        model = Preparation(adjust=["sex"]).fit(frame, covariates={"sex": column})
        assert model.steps_["adjust"].levels == [["m", "f"]]
    expected = Preparation(adjust=["sex"]).fit_transform(frame, covariates=clinic)
    found = model.transform(frame, covariates=clinic)  # as text, in the new cohort
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    "column",
    [
        pytest.param(lambda v: v, id="list"),
        pytest.param(np.array, id="numpy"),
        pytest.param(lambda v: np.array(v, dtype=object), id="objects"),
        pytest.param(lambda v: pd.Series(v, dtype="Int64"), id="nullable"),
        pytest.param(lambda v: pd.Series(v, dtype="float32"), id="float32"),
        pytest.param(pl.Series, id="polars"),
    ],
)
def test_numbers_are_numbers_in_any_column(frame, column):
    model = Preparation(adjust=["age"])
    expected = model.fit_transform(frame, covariates={"age": np.arange(20.0)})
    found = model.fit_transform(frame, covariates={"age": column(list(range(20)))})
    assert model.steps_["adjust"].levels == [None]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("column", "levels"),
    [
        (pd.Series([True, False] * 10, dtype="boolean"), ["False", "True"]),
        (np.array([np.True_, np.False_] * 10, dtype=object), ["False", "True"]),
        (pl.Series([True, False] * 10), ["False", "True"]),
        (pd.Series([2, 1] * 10, dtype="category"), ["1", "2"]),
        (pd.Series([2.0, 1.0] * 10, dtype="category"), ["1", "2"]),
        (pd.Series(["b", "a"] * 10, dtype="string"), ["a", "b"]),
        (pl.Series(["b", "a"] * 10, dtype=pl.Categorical), ["a", "b"]),
        (pd.cut(pd.Series(range(20)), [-1, 9, 20]), ["(-1, 9]", "(9, 20]"]),
        (["b", 1] * 10, ["1", "b"]),
    ],
    ids=range(9),
)
def test_levels_of_any_column(frame, column, levels):
    model = Preparation(adjust=["group"]).fit(frame, covariates={"group": column})
    assert model.steps_["adjust"].levels == [levels]


def test_covariates_are_routed_through_a_pipeline(frame, clinic):
    expected = Preparation(adjust=["age"], standardize=True).fit_transform(frame, covariates=clinic)
    with sklearn.config_context(enable_metadata_routing=True):
        first = Preparation(adjust=["age"])
        first.set_fit_request(covariates=True).set_transform_request(covariates=True)
        pipeline = make_pipeline(first, StandardScaler()).fit(frame, covariates=clinic)
        found = pipeline.transform(frame, covariates=clinic)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_one_name_need_not_be_in_a_list(frame, clinic):
    alone = Preparation(adjust="age").fit(frame, covariates=clinic)
    assert alone.to_state()["parameters"]["adjust"] == ["age"]
    expected = Preparation(adjust=["age"]).fit_transform(frame, covariates=clinic)
    np.testing.assert_array_equal(alone.transform(frame, covariates=clinic), expected)
    visits = pd.DataFrame({"sex": ["f", "m", "m"], "seen": ["2024-01-01", "2024-01-09", None]})
    given = Preparation(categorical="sex", dates="seen", impute="median")
    listed = Preparation(categorical=["sex"], dates=["seen"], impute="median")
    np.testing.assert_array_equal(given.fit_transform(visits), listed.fit_transform(visits))


def test_an_empty_list_adjusts_for_nothing(frame):
    np.testing.assert_array_equal(Preparation(adjust=[]).fit_transform(frame), frame)


def test_numbers_with_an_odd_cell_are_not_adjusted_for_one_by_one():
    X, ages = np.arange(6.0).reshape(6, 1) ** 2, ["71", "64", "<30", "55", "64", "48"]
    message = "covariate 'age' seems to hold numbers, but 1 of 6 values are none, the first '<30'"
    with pytest.raises(ValueError, match=message):
        Preparation(adjust=["age"]).fit(X, covariates={"age": ages})
    grades = {"grade": ["1", "2a", "2b", "1", "2a", "2b"]}
    levels = Preparation(adjust=["grade"]).fit(X, covariates=grades).steps_["adjust"].levels
    assert levels == [["1", "2a", "2b"]]
