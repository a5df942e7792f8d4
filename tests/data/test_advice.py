import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import spearmanr
from sklearn import datasets

import branchwise.datasets as simulated
from branchwise.data.advice import (
    advise_on_prepared,
    advise_on_size,
    advise_on_table,
    agree_by_chance,
    find_copies,
    moments_of,
)
from branchwise.data.profile import profile_matrix


def named(X):
    return [f"m{j}" for j in range(X.shape[1])]


def normal(*shape):
    """Simulated."""
    return np.random.default_rng(0).normal(size=shape)


# One column carries most


def test_a_column_in_another_unit_carries_most_of_the_variance():
    X = normal(80, 5) * [1, 2, 60, 1, 3]
    (said,) = advise_on_prepared(X, list("abcde"))
    assert said.startswith("'c' carries 99 % of the variance of all 5 numeric features")
    assert "(standardize=True)" in said


def test_counts_are_better_taken_as_logarithms():
    rng = np.random.default_rng(0)
    X = rng.poisson(1, size=(60, 30)).astype(float)
    X[:, 7] = rng.poisson(rng.exponential(500, size=60))
    (said,) = advise_on_prepared(sparse.csr_array(X), named(X))
    assert said.startswith("'m7' carries")
    assert "(log1p=True)" in said
    assert "standardize=True" not in said


@pytest.mark.parametrize(
    "X",
    [
        normal(80, 5),
        normal(80, 2) * [1, 5],  # of two columns one always has more than half
        normal(80, 1),
        np.c_[normal(80, 2) * [1, 5], np.ones(80)],  # and a constant is not a third
        normal(80, 4) * [1.8, 1, 1, 1],  # one unit, like the petals of iris
        datasets.load_iris().data,
        datasets.load_digits().data,
        datasets.load_diabetes().data,
        datasets.load_linnerud().data,
        normal(80, 8) * [1, 1, 1, 1, 1, 1, 1, 0.01],  # nearly constant
        normal(80, 12) * 1.3 ** np.arange(12),  # no gap between the spreads
    ],
    ids=[
        "like",
        "two",
        "one",
        "constant",
        "wider",
        "iris",
        "digits",
        "diabetes",
        "linnerud",
        "narrow",
        "even",
    ],
)
def test_columns_of_one_unit_are_no_reason_to_warn(X):
    assert advise_on_prepared(X, named(X)) == []


@given(st.integers(-100, 100), st.integers(0, 4))
def test_the_part_of_a_column_does_not_depend_on_the_unit_of_all(power, column):
    X = normal(30, 5)
    X[:, column] *= 20
    said = advise_on_prepared(X, named(X))
    assert said == advise_on_prepared(X * 2.0**power, named(X))
    assert said[0].startswith(f"'m{column}' carries")


def test_a_few_columns_in_other_units_carry_most_of_the_variance():
    X = normal(80, 8) * [1, 2, 90, 1, 60, 1, 2, 1]
    (said,) = advise_on_prepared(X, ["hb", "crp", "ldh", "k", "platelets", "na", "ca", "mg"])
    assert said.startswith(
        "'ldh', 'platelets' together carry nearly all of the variance of all 8 numeric features, "
        "so that the tree shows little but these; "
    )
    assert "(standardize=True)" in said


@pytest.mark.parametrize(
    ("n_wide", "n_columns", "times"), [(4, 6, 30), (3, 6, 1000), (8, 20, 100), (1, 2, 1000)]
)
def test_two_groups_of_columns_in_different_units_are_told(n_wide, n_columns, times):
    X = normal(80, n_columns) * np.repeat([times, 1], [n_wide, n_columns - n_wide])
    (said,) = advise_on_prepared(X, named(X))
    carry = "carries" if n_wide == 1 else "together carry"
    assert f"{carry} nearly all of the variance of all {n_columns} numeric features" in said
    assert "'m0'" in said


# Copies


def test_copies_that_were_both_rounded_are_copies():
    """Heights in cm and in inches; two others are alike but for one outlier in both."""
    rng = np.random.default_rng(0)
    cm = rng.normal(172, 9, size=200)
    X = np.c_[cm.round(), (cm / 2.54).round(1), rng.normal(13, 2, size=(200, 2)).round(1)]
    X[7, 2:] = 5000
    assert np.corrcoef(X[:, 2], X[:, 3])[0, 1] > 0.999
    assert find_copies(X, moments_of(X)) == [[0, 1]]


@pytest.mark.parametrize("decimals", [0, 1, 3])
@pytest.mark.parametrize("n_rows", [30, 170, 2000])
def test_whole_inches_are_copies_of_centimetres(decimals, n_rows):
    """Their correlation is 0.997."""
    rng = np.random.default_rng(n_rows)
    cm = rng.normal(170, 10, size=n_rows)
    X = np.c_[
        rng.normal(13, 2, size=n_rows), cm.round(decimals), -(cm.round(decimals) / 2.54).round()
    ]
    assert abs(np.corrcoef(X[:, 1], X[:, 2])[0, 1]) < 0.999
    assert find_copies(X, moments_of(X)) == [[1, 2]]
    X[4, 2] += 2
    assert find_copies(X, moments_of(X)) == []


def test_what_is_nearly_alike_is_no_copy():
    """Measured twice, with errors beyond the last digit; and two observers of one grade."""
    rng = np.random.default_rng(0)
    weight, grade = rng.normal(70, 12, size=400), rng.integers(1, 6, size=400).astype(float)
    again = weight + rng.normal(0, 0.8, size=400)
    X = np.c_[weight.round(1), again.round(1), weight, again, grade, grade]
    X[:3, 5] = 6 - X[:3, 5]
    X[3, 5] = X[3, 4] % 5 + 1
    assert min(np.corrcoef(X[:, [k, k + 1]].T)[0, 1] for k in (0, 2)) > 0.99
    assert find_copies(X[:, [0, 1, 4, 5]], moments_of(X[:, [0, 1, 4, 5]])) == []
    assert find_copies(X[:, 2:], moments_of(X[:, 2:])) == []


def test_copies_in_wide_tables_are_found_if_they_are_exact():
    X = normal(30, 1500)
    X[:, 1200] = 40 - 1.8 * X[:, 3]
    assert moments_of(X).products is None
    assert find_copies(X, moments_of(X)) == [[3, 1200]]


def test_copies_are_named_in_one_message():
    X = normal(50, 6)
    X[:, 3] = X[:, 0]
    X[:, 4] = 1.8 * X[:, 1] + 32
    X[:, 5] = -X[:, 0]
    (said,) = advise_on_table(X, ["weight", "celsius", "hb", "again", "fahrenheit", "minus"])
    assert said.startswith("3 features are copies of others (up to unit, offset and rounding)")
    assert "'again', 'minus' of 'weight', 'fahrenheit' of 'celsius'" in said
    assert "(exclude)" in said


@settings(max_examples=50)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(12, 60),
    decimals=st.integers(0, 3),
    factor=st.sampled_from([-1000.0, -1.0, 0.001, 2.54]),
    offset=st.sampled_from([0.0, 32.0, -273.15]),
)
def test_copies_are_found_as_by_all_correlations(seed, n_rows, decimals, factor, offset):
    """Rounded and tied data, too, with every pair looked at."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 7)).round(decimals)
    X[:, 5] = factor * X[:, 2] + offset
    X[rng.random(n_rows) < 0.1, 6] = np.nan
    found = {tuple(group) for group in find_copies(X, moments_of(X))}
    expected = set()
    for i in range(6):
        for j in range(i + 1, 6):
            tied = [n_rows - np.unique(X[:, k], return_counts=True)[1].max() for k in (i, j)]
            by_value = abs(np.corrcoef(X[:, i], X[:, j])[0, 1])
            by_rank = abs(spearmanr(X[:, i], X[:, j]).statistic)
            is_likely = 21 * agree_by_chance(X[:, i]) > 0.01
            if min(tied) >= 5 and by_value >= 0.999 and by_rank >= 0.99 and not is_likely:
                expected.add((i, j))
    assert found == expected


def test_copies_with_the_same_gaps_are_copies():
    X = normal(40, 3)
    X[3:9, 0] = np.nan
    X[:, 2] = 2 * X[:, 0]
    assert find_copies(X, moments_of(X)) == [[0, 2]]


@pytest.mark.parametrize("shape", [(40, 4), (3000, 4), (60, 1500)])
def test_gaps_do_not_hide_copies(shape):
    """Of both, or of one only; where the largest value is missing, too."""
    X = np.exp(normal(*shape))
    X[:, 2] = X[:, 0] / 10
    X[np.argmax(X[:, 0]), 2] = np.nan
    for table in (X, sparse.csr_array(X)):
        assert find_copies(table, moments_of(table)) == [[0, 2]]
    X[3:9, 0] = np.nan
    assert find_copies(X, moments_of(X)) == [[0, 2]]
    X[20:30, 0] += 3
    assert find_copies(X, moments_of(X)) == []


def test_columns_that_share_few_rows_are_not_copies():
    X = normal(60, 3)
    X[:, 2] = X[:, 0]
    X[:25, 0], X[35:, 2] = np.nan, np.nan
    assert find_copies(X, moments_of(X)) == []


@pytest.mark.parametrize("seed", range(5))
def test_two_values_in_few_rows_agree_by_chance(seed):
    X = np.random.default_rng(seed).integers(0, 2, size=(12, 300)).astype(float)
    assert find_copies(X, moments_of(X)) == []
    X = np.random.default_rng(seed).integers(0, 2, size=(80, 300)).astype(float)
    X[:, 7] = 1 - X[:, 3]
    assert find_copies(X, moments_of(X)) == [[3, 7]]


def test_copies_far_from_zero_are_told_from_like_columns():
    X = normal(200, 3) + 1e6
    X[:, 2] = X[:, 0] + 1
    assert find_copies(X, moments_of(X)) == [[0, 2]]


def test_rare_values_agree_by_chance():
    X = np.zeros((100, 30))
    X[np.arange(30) // 2, np.arange(30)] = 1  # each in one row, of two columns
    for table in (X, sparse.csr_array(X)):
        assert find_copies(table, moments_of(table)) == []
    X[40:50, 3] = X[40:50, 17] = X[1, 17] = 1
    X[8, 17] = 0
    for table in (X, sparse.csr_array(X)):
        assert find_copies(table, moments_of(table)) == [[3, 17]]


def test_many_copies_of_one_column():
    X = np.repeat(normal(30, 2), 40, axis=1)
    assert find_copies(X, moments_of(X)) == [list(range(40)), list(range(40, 80))]


# Outcomes, codes, size


def test_outcomes_among_the_features():
    X = np.c_[normal(40, 2), np.arange(40) % 2, np.arange(40)[::-1]]
    (said,) = advise_on_table(X, ["hb", "crp", "death", "days_to_event"])
    assert said.startswith("'death', 'days_to_event' look like outcomes or times of follow-up")
    assert "leave them out (exclude)" in said
    # A score below zero is neither.
    assert advise_on_table(normal(40, 2), ["death", "events"]) == []


def test_what_the_tree_may_be_to_explain_is_told_more_mildly():
    X = np.c_[np.abs(normal(40, 2)), np.arange(40) % 2]
    (said,) = advise_on_table(X, ["crp", "age_at_diagnosis", "diagnosis"])
    assert said == (
        "'diagnosis' may be what the tree is to explain, but is a feature; if so, leave it out "
        "(exclude)."
    )


def test_a_time_with_codes_for_missing_values_is_an_outcome():
    """As in the profile of the same column."""
    X = normal(40, 2)
    X[:, 1] = np.abs(X[:, 1]) * 12
    X[:3, 1] = -99
    said = advise_on_table(X, ["hb", "os_months"])
    assert [each.split(" (")[0].split(" look")[0] for each in said] == ["'os_months'"] * 2
    (hb, months) = profile_matrix(X, ["hb", "os_months"])
    assert (hb.is_outcome_like, months.is_outcome_like) == (False, True)


def test_numbers_of_samples_among_the_features():
    rng = np.random.default_rng(0)
    X = np.c_[rng.permutation(40) + 1000, np.arange(40), rng.permutation(40), normal(40)]
    (said,) = advise_on_table(X, ["patient_id", "unnamed", "weight", "hb"])
    assert said.startswith("'patient_id', 'unnamed' seem to number the samples rather than")
    assert said.endswith("leave them out (exclude), or make such a column the index.")
    assert advise_on_table(sparse.csr_array(X), ["patient_id", "unnamed", "weight", "hb"]) == [said]
    X[3, 0] = X[5, 0]
    (said,) = advise_on_table(X, ["patient_id", "unnamed", "weight", "hb"])
    assert said.startswith("'unnamed' seems to number")


def test_constants_among_the_features():
    X = normal(40, 3)
    X[:, 1] = 7
    X[3, 1] = np.nan
    (said,) = advise_on_table(X, ["hb", "site", "crp"])
    assert said == (
        "1 feature has the same value in all rows and tells nothing: 'site'; leave it out "
        "(exclude)."
    )


def test_codes_among_the_features():
    X = np.abs(normal(40, 3))
    X[:3, 1] = -999
    (said,) = advise_on_table(X, ["hb", "crp", "ldh"])
    assert said.startswith("'crp' (-999 in 3) has a value far from all others")
    assert "empty these cells" in said
    (same,) = advise_on_table(sparse.csr_array(X), ["hb", "crp", "ldh"])
    assert same == said


def test_values_in_a_wrong_unit_among_the_features():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(13, 2, 200), rng.lognormal(1, 1.2, 200), rng.normal(60, 9, 200)].round(1)
    X[17, 0], X[30, 2], X[31, 2] = 135, -7000, -6900
    X[5, :] = np.nan
    names = ["hb", "crp", "weight"]
    (said,) = advise_on_table(X, names)
    low, high = np.nanmin(np.delete(X[:, 0], 17)), np.nanmax(np.delete(X[:, 0], 17))
    assert said.startswith(
        f"'hb' (135 in data row 18, elsewhere {low:.4g} to {high:.4g}), 'weight' (-7000 in data "
        "row 31, elsewhere "
    )
    assert advise_on_table(sparse.csr_array(X[:, :2]), names[:2])[0].startswith("'hb' (135 in data")
    assert advise_on_table(X[:17], names) == []


@pytest.mark.parametrize("value", [999, 9999, 99.9, 998.5, 2147483647])
def test_one_value_that_may_be_a_code_or_a_slip_is_told(value):
    """A code above all others is one only if it repeats."""
    X = np.random.default_rng(0).uniform(10, 17, size=(40, 1)).round(1)
    X[17] = value
    (said,) = advise_on_table(X, ["hb"])
    assert said.startswith(f"'hb' ({value:.4g} in ")


def test_far_more_features_than_samples():
    assert advise_on_size(100, 1000) == []
    (said,) = advise_on_size(100, 1001)
    assert said.startswith("There are 1,001 features of 100 samples, 10 to 1")
    assert "pca=6" in said


# Quiet where nothing is wrong


@pytest.mark.parametrize(
    "make", ["make_tree", "make_forest", "make_ring", "make_cells", "make_helix"]
)
@pytest.mark.parametrize("seed", range(3))
def test_simulated_data_give_no_advice(make, seed):
    X = getattr(simulated, make)(random_state=seed).X
    X = X if sparse.issparse(X) else np.asarray(X)
    assert advise_on_table(X, named(X)) == []
    assert advise_on_prepared(X, named(X)) == []
    assert advise_on_size(*X.shape) == []


@pytest.mark.parametrize("seed", range(5))
def test_of_simulated_counts_of_cells_logarithms_are_advised_or_nothing(seed):
    """Of raw counts one gene may have most of the variance; of their logarithms none has."""
    rng = np.random.default_rng(seed)
    rate = np.exp(rng.normal(-1, 1.5, size=1000))
    X = rng.negative_binomial(2, 2 / (2 + rate), size=(200, 1000)).astype(float)
    for table in (X, sparse.csr_array(X)):
        assert advise_on_table(table, named(X)) == []
        assert all("(log1p=True)" in said for said in advise_on_prepared(table, named(X)))
        assert advise_on_prepared(np.log1p(table), named(X)) == []


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "diabetes"])
def test_real_measurements_have_neither_codes_nor_copies_nor_outcomes(name):
    data = getattr(datasets, f"load_{name}")()
    assert advise_on_table(data.data, [str(each) for each in data.feature_names]) == []


@settings(max_examples=100)
@given(st.data())
def test_any_table_can_be_advised_on(data):
    n_rows, n_columns = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 6))
    cells = st.sampled_from([0.0, 1.0, -1.0, 99.0, -999.0, 1e-300, 1e150, -1e150, np.nan, 0.1])
    row = st.lists(cells, min_size=n_columns, max_size=n_columns)
    X = np.array(data.draw(st.lists(row, min_size=n_rows, max_size=n_rows)))
    for table in (X, sparse.csr_array(X)):
        said = [*advise_on_table(table, named(X)), *advise_on_prepared(table, named(X))]
        assert all(isinstance(each, str) for each in said)
