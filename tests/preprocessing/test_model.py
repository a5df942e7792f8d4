"""impute="model": gaps go through the other steps, and a tree fills them before the axes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import branchwise
from branchwise import Preparation
from branchwise.datasets import make_tree
from branchwise.pipeline import fit_pipeline
from branchwise.preprocessing.steps import TreeMeans


@pytest.fixture(scope="module")
def whole():
    """A simulated tree of patients."""
    X = make_tree(150, 8, topology="bifurcation", noise=0.05, random_state=0).X
    return pd.DataFrame(np.exp(X), columns=list("abcdefgh"), index=[f"P{k}" for k in range(150)])


@pytest.fixture(scope="module")
def cohort(whole):
    is_gap = np.random.default_rng(0).random(whole.shape) < 0.2
    return whole.mask(is_gap)


@pytest.fixture(scope="module")
def fitted(cohort):
    return Preparation(impute="model", log1p=True, standardize=True, pca=3).fit(cohort)


def test_it_comes_after_the_other_steps_and_before_the_axes(fitted):
    assert list(fitted.steps_) == ["log1p", "standardize", "impute", "pca"]
    assert isinstance(fitted.steps_["impute"], TreeMeans)


def test_scales_are_those_of_the_known_values(fitted, cohort):
    logs = np.log1p(cohort.to_numpy())
    np.testing.assert_allclose(fitted.steps_["standardize"].mean, np.nanmean(logs, axis=0))
    np.testing.assert_allclose(fitted.steps_["standardize"].scale, np.nanstd(logs, axis=0))


def test_axes_are_centred_where_the_filled_rows_are(fitted, cohort):
    np.testing.assert_allclose(fitted.transform(cohort).mean(axis=0), 0, atol=1e-9)


def test_known_values_stay_and_the_others_are_near_the_truth(whole, cohort):
    filled = Preparation(impute="model").fit_transform(cohort)
    known = cohort.notna().to_numpy()
    np.testing.assert_array_equal(filled[known], cohort.to_numpy()[known])
    apart = (filled - whole.to_numpy())[~known] / np.tile(whole.std(), (150, 1))[~known]
    medians = (cohort.fillna(cohort.median()) - whole).to_numpy()[~known]
    medians = medians / np.tile(whole.std(), (150, 1))[~known]
    assert np.mean(apart**2) < 0.5 * np.mean(medians**2)


def test_a_row_becomes_the_same_in_any_company(fitted, cohort):
    together = fitted.transform(cohort)
    model = Preparation(impute="model", log1p=True, standardize=True, pca=3)
    np.testing.assert_array_equal(model.fit_transform(cohort), together)
    for k in (0, 5, 149):
        np.testing.assert_array_equal(fitted.transform(cohort.iloc[[k]])[0], together[k])


def test_single_precision_stays(cohort):
    model = Preparation(impute="model").fit(cohort.astype(np.float32))
    assert model.transform(cohort.astype(np.float32)).dtype == np.float32


def test_contrasts_get_their_conditional_means(cohort):
    sex = np.where(cohort["a"].fillna(1.0) > 1, "f", "m")
    table = cohort.assign(sex=pd.Series(sex, cohort.index).mask(np.arange(150) % 9 == 0))
    found = Preparation(impute="model", categorical=["sex"], standardize=True)
    found = found.set_output(transform="pandas").fit_transform(table)
    assert not found.isna().to_numpy().any()
    # Those of low values are rather men.
    lacking, (name,) = table["sex"].isna(), [name for name in found if "=" in name]
    sign = 1 if name == "sex=f" else -1
    assert sign * np.corrcoef(found[name][lacking], found["a"][lacking])[0, 1] > 0.5


def flags(shares):
    """Simulated: three numbers and columns of 0 and 1, with such shares of 0, along a tree."""
    rng = np.random.default_rng(0)
    X = make_tree(120, 19, noise=0.1, random_state=0).X
    frame = pd.DataFrame(X[:, :3]).add_prefix("x")
    latent = X[:, 3:] + 0.5 * X[:, 3:].std(axis=0) * rng.normal(size=(120, 16))
    for j, column in enumerate(latent.T):
        frame[f"b{j}"] = 1.0 * (column > np.quantile(column, shares[j]))
    return frame.mask(rng.random(frame.shape) < 0.15)


def as_words(frame):
    """The same, with words for 0 and 1."""
    words = {name: frame[name].map({0.0: "no", 1.0: "yes"}) for name in frame if name[0] == "b"}
    return frame.assign(**words)


def test_categories_of_two_levels_are_learned_as_numbers():
    """A noise for each column: two columns for one category would be two measurements of it."""
    table = flags(np.linspace(0.3, 0.7, 16))
    numbers = Preparation(impute="model", standardize=True)
    categories = Preparation(impute="model", standardize=True, categorical=["b*"])
    filled = numbers.fit_transform(table)
    found = categories.fit_transform(as_words(table))
    sign = np.r_[1, 1, 1, [1 if table[f"b{j}"].mean() <= 0.5 else -1 for j in range(16)]]
    assert (sign < 0).sum() > 3
    np.testing.assert_allclose(found, sign * filled, atol=1e-6)
    noise = [model.steps_["impute"].noise for model in (categories, numbers)]
    np.testing.assert_allclose(*noise, rtol=1e-6)


def test_noise_around_a_tree_of_categories_of_two_levels_is_that_of_numbers():
    """But for one factor, as rows that are held out are drawn in an order of their values.

    Here 1 is the rarer one, also of a part of the rows.
    """
    table = flags(np.linspace(0.6, 0.8, 16)).fillna(0.0)
    numbers = fit_pipeline(table, preparation=Preparation(standardize=True))
    preparation = Preparation(standardize=True, categorical=["b*"])
    categories = fit_pipeline(as_words(table), preparation=preparation)
    ratio = categories.reference.noise / numbers.reference.noise
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    assert abs(ratio[0] - 1) < 0.1


def test_rare_levels_are_not_outlying():
    """Beside a rarer level most values are not all equal; so far beyond them is a number."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(make_tree(100, 3, noise=0.1, random_state=0).X).add_prefix("x")
    table["ward"] = rng.permutation(np.repeat(["a", "b", "c"], [93, 4, 3]))
    table.iloc[::9, 0] = np.nan
    fitted = Preparation(impute="model", categorical=["ward"], standardize=True).fit(table)
    step = fitted.steps_["impute"]
    assert np.isinf(step.low[3:]).all()
    assert np.isinf(step.high[3:]).all()
    assert np.isfinite(step.high[:3]).all()


def test_rows_without_any_known_value_are_named_with_medians_too(cohort):
    table = cohort.copy()
    table.iloc[[3, 8]] = np.nan
    with pytest.warns(UserWarning, match=r"in rows 'P3', 'P8', so that they are .* the medians"):
        Preparation(impute="median").fit_transform(table)
    table.iloc[3] = 1.0
    with pytest.warns(UserWarning, match=r"in row 'P8', so that it is filled with the medians"):
        Preparation(impute="median").fit_transform(table)


def test_a_single_known_row_is_too_few_to_learn_a_tree(cohort):
    table = cohort.fillna(0.0)
    table.iloc[1:] = np.nan
    with pytest.raises(ValueError, match="two rows or more with a known value, but 1 of 150 rows"):
        Preparation(impute="model").fit_transform(table)


def test_values_whose_squares_vanish_are_told_with_gaps_too(cohort):
    with pytest.raises(ValueError, match=r"at least 1e-153 in size.*standardise them \(stand"):
        Preparation(impute="model").fit_transform(cohort * 1e-158)


def test_rows_without_any_known_value_are_named_and_get_one_mean(cohort, fitted):
    table = cohort.copy()
    table.iloc[[3, 8]] = np.nan
    with pytest.warns(UserWarning, match=r"no known value in rows 'P3', 'P8', so that .* leave"):
        made = fitted.transform(table)
    np.testing.assert_array_equal(made[3], made[8])
    with pytest.warns(UserWarning, match="no known value in row 0, so"):
        fitted.transform(table.iloc[[3]].reset_index(drop=True))


def test_a_column_without_any_known_value_is_an_error(cohort):
    table = cohort.assign(b=np.nan)
    with pytest.raises(ValueError, match=r"impute='model' needs a known value .* \('b'\); leave"):
        Preparation(impute="model").fit(table)


def test_sparse_tables_are_refused(cohort, fitted):
    X = sparse.csr_array(cohort.to_numpy())
    with pytest.raises(ValueError, match=r"is for dense tables, but X is .*; pass X.toarray\(\)"):
        Preparation(impute="model").fit(X)
    with pytest.raises(ValueError, match="is for dense tables, but X is a sparse matrix"):
        Preparation(impute="model").fit(cohort.to_numpy()).transform(X)


def test_dask_arrays_are_refused(cohort, fitted):
    da = pytest.importorskip("dask.array")
    X = da.from_array(cohort.to_numpy(), chunks=(50, 8))
    with pytest.raises(ValueError, match="impute='model' is for tables in memory, but X is a Dask"):
        Preparation(impute="model").fit(X)
    with pytest.raises(ValueError, match="fills the gaps of tables in memory, but X is a Dask arr"):
        Preparation(impute="model").fit(cohort.to_numpy()).transform(X)


def test_it_says_to_scikit_learn_that_gaps_are_welcome():
    tags = Preparation(impute="model").__sklearn_tags__().input_tags
    assert tags.allow_nan
    assert not tags.sparse


def test_covariates_are_adjusted_for_in_what_is_known(cohort):
    about = {"age": np.linspace(30, 80, 150)}
    model = Preparation(impute="model", adjust=["age"], rank_normalize=True)
    made = model.fit_transform(cohort, covariates=about)
    assert np.isfinite(made).all()
    np.testing.assert_array_equal(model.transform(cohort, covariates=about), made)


def test_a_pipeline_fills_later_tables_and_keeps_it_in_its_file(cohort, whole, tmp_path):
    made = fit_pipeline(cohort, preparation=Preparation(impute="model", standardize=True))
    made.save(tmp_path / "tree.branchwise")
    again = branchwise.load(tmp_path / "tree.branchwise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = made.place(cohort)
    pd.testing.assert_frame_equal(again.place(cohort), expected)


def test_what_learns_from_gaps_says_how_to_fill_them(cohort):
    with pytest.raises(ValueError, match=r'is NaN, .*impute="median" or impute="model" fills in'):
        branchwise.learn_trajectory(cohort)
