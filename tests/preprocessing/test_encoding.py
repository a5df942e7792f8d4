"""Categories, ordered ones, dates and ages as features: weights, gaps, and what is refused."""

import datetime
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from branchwise import Preparation
from branchwise._messages import for_command_line
from branchwise.preprocessing import complete_rows
from branchwise.preprocessing.core import learn_steps
from branchwise.preprocessing.encoding import Encoding, Plan

LEVELS = ["low", "mid", "high"]


def clinic(n=60, seed=0):
    """Simulated: two numbers in different units, categories, an ordered one, and three dates."""
    rng = np.random.default_rng(seed)
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), "D")
    seen = pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 700, n), "D")
    frame = pd.DataFrame(
        {
            "crp": rng.gamma(2.0, 4.0, n),
            "sex": rng.choice(["f", "m"], n),
            "hb": rng.normal(13, 1.5, n),
            "site": rng.choice(["bonn", "oslo", "rome"], n, p=[0.6, 0.3, 0.1]),
            "grade": rng.choice(LEVELS, n),
            "smoker": rng.random(n) < 0.4,
            "born": born.strftime("%Y-%m-%d"),
            "seen": seen.strftime("%Y-%m-%d"),
        },
        index=[f"P{k}" for k in range(n)],
    )
    frame.iloc[:3, frame.columns.get_loc("site")] = ["bonn", "oslo", "rome"]
    frame.iloc[:2, frame.columns.get_loc("sex")] = ["f", "m"]
    frame.iloc[:2, frame.columns.get_loc("smoker")] = [True, False]
    return frame


STEPS_OF_NUMBERS = [
    {"standardize": True},
    {"rank_normalize": True},
    {"log1p": True, "rank_normalize": True, "standardize": True},
]
ALL = {
    "categorical": ["sex", "site", "smoker"],
    "ordinal": {"grade": LEVELS},
    "dates": ["seen"],
    "ages": {"age": ("born", "seen")},
}
NAMES = [
    *("crp", "sex=f", "hb", "site=oslo", "site=rome", "grade", "smoker=True", "seen", "age"),
]


def squared_distances(X):
    return ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)


# Weights


def indicators(column):
    """Of each level, divided by the root of its share, centred: slow, by the definition."""
    columns = []
    for level in sorted(set(column)):
        indicator = np.array([float(value == level) for value in column])
        columns.append((indicator - indicator.mean()) / np.sqrt(indicator.mean()))
    return np.column_stack(columns)


def famd(numbers, categories):
    """Principal coordinates by the definition: a singular value decomposition of the whole table.

    Numbers are standardised, indicators divided by the roots of their shares, all centred, rows
    weighted by 1/N.
    """
    standardised = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    Z = np.hstack([standardised, *map(indicators, categories)])
    U, s, _ = np.linalg.svd(Z / np.sqrt(len(Z)), full_matrices=False)
    return np.sqrt(len(Z)) * U * s, s**2


@pytest.mark.parametrize("seed", range(5))
def test_principal_axes_are_those_of_factor_analysis_of_mixed_data(seed):
    frame = clinic(40, seed)[["crp", "sex", "hb", "site"]]
    model = Preparation(categorical=["sex", "site"], standardize=True, pca=4)
    found = model.fit_transform(frame)
    wanted, values = famd(frame[["crp", "hb"]].to_numpy(), [frame["sex"], frame["site"]])
    np.testing.assert_allclose(found.var(axis=0), values[:4], atol=1e-10)
    np.testing.assert_allclose(model.steps_["pca"].variance_ratio, values[:4] / 5, atol=1e-10)
    wanted = wanted[:, :4]
    wanted = wanted * np.sign((wanted * found).sum(axis=0))
    np.testing.assert_allclose(found, wanted, atol=1e-8)


@st.composite
def categories(draw):
    """The level of each row, of shares that are equal or far apart; all levels occur."""
    counts = draw(st.lists(st.integers(1, 4) | st.integers(1, 60), min_size=2, max_size=8))
    codes = np.repeat(np.arange(len(counts)), counts)
    return np.random.default_rng(draw(st.integers(0, 99))).permutation(codes)


def encoded_category(codes):
    frame = pd.DataFrame({"x": [f"level {k}" for k in codes]})
    step = Encoding.fit(frame, Plan(["x"], {}, [], {}))
    return step.names, step.apply(frame)


@pytest.mark.filterwarnings("ignore:category 'x' has")
@given(categories())
def test_distances_are_those_of_factor_analysis_of_mixed_data(codes):
    assume(codes.max() < max(20, len(codes) / 2))
    wanted = squared_distances(indicators(codes))
    np.testing.assert_allclose(squared_distances(encoded_category(codes)[1]), wanted, atol=1e-10)


@given(categories())
def test_contrasts_are_orthonormal(codes):
    _, X = encoded_category(codes)
    assert X.shape[1] == codes.max()
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(X.T @ X / len(X), np.eye(codes.max()), atol=1e-10)


@given(categories())
def test_a_level_is_set_against_those_that_are_more_frequent(codes):
    names, X = encoded_category(codes)
    counts = np.bincount(codes)
    # Sorting is stable: equals stay in their own order.
    order = sorted(range(len(counts)), key=lambda k: -counts[k])
    assert names == [f"x=level {k}" for k in order[1:]]
    for column, j in zip(X.T, range(1, len(order)), strict=True):
        assert (column[np.isin(codes, order[j + 1 :])] == 0).all()
        assert (column[codes == order[j]] > 0).all()
        more = column[np.isin(codes, order[:j])]
        assert (more < 0).all()
        assert np.ptp(more) == 0


def test_a_rare_level_has_a_column_of_its_own():
    codes = np.repeat([0, 1, 2, 3], [40, 2, 30, 28])
    names, X = encoded_category(codes)
    assert names == ["x=level 2", "x=level 3", "x=level 1"]
    assert (X[codes == 1, :2] == 0).all()
    assert np.unique(X[codes != 1, 2]).size == 1
    # All but the two rows of that level: a column that has nothing to do with the rest.
    np.testing.assert_allclose(X[:, 2], (1.0 * (codes == 1) - 0.02) / np.sqrt(0.02 * 0.98))


@given(st.integers(0, 2**32 - 1), st.integers(5, 30))
def test_a_category_of_two_levels_is_a_standardised_number(seed, n):
    rng = np.random.default_rng(seed)
    flag = rng.integers(0, 2, n)
    flag[:2] = [0, 1]
    as_number = Preparation(standardize=True).fit_transform(pd.DataFrame({"x": flag.astype(float)}))
    model = Preparation(categorical=["x"], standardize=True)
    as_category = model.fit_transform(pd.DataFrame({"x": np.array(["f", "m"])[flag]}))
    # That of the rarer level.
    sign = 1 if 2 * flag.sum() <= n else -1
    assert model.get_feature_names_out().tolist() == ["x=m" if sign > 0 else "x=f"]
    np.testing.assert_allclose(as_category, sign * as_number, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_a_category_has_variance_k_minus_1_and_at_most_1_in_any_direction(seed, n_levels):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_levels), rng.integers(0, n_levels, 30)])
    frame = pd.DataFrame({"x": [f"level {k}" for k in codes]})
    X = Preparation(categorical=["x"]).fit_transform(frame)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    variances = np.linalg.eigvalsh(X.T @ X / len(X))
    np.testing.assert_allclose(variances, [1] * (n_levels - 1), atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"rank_normalize": True}, {"log1p": True}], ids=str)
def test_without_standardize_a_category_weighs_as_much_as_the_average_number(options):
    frame = clinic()[["crp", "hb", "sex", "site"]]
    X = Preparation(categorical=["sex", "site"], **options).fit_transform(frame)
    numbers = X[:, :2]
    unit = np.mean(numbers.var(axis=0))
    np.testing.assert_allclose(X[:, 2:3].var(axis=0).sum(), unit, rtol=1e-12)
    np.testing.assert_allclose(X[:, 3:].var(axis=0).sum(), 2 * unit, rtol=1e-12)


def test_weights_do_not_depend_on_the_unit_of_the_numbers():
    frame = clinic()[["crp", "hb", "site"]]
    model = Preparation(categorical=["site"])
    small = frame.assign(crp=frame["crp"] / 1000, hb=frame["hb"] / 1000)
    np.testing.assert_allclose(
        model.fit_transform(frame), 1000 * model.fit_transform(small), rtol=1e-12
    )


def test_categories_without_numbers_have_weights_of_their_own():
    frame = clinic()[["sex", "site"]]
    both = [Preparation(categorical=["s*"], standardize=way) for way in (True, False)]
    np.testing.assert_array_equal(*(model.fit_transform(frame) for model in both))


def test_steps_leave_alone_what_they_are_not_for():
    frame = clinic()
    plain = Preparation(**ALL).fit(frame)
    encoded = pd.DataFrame(plain.steps_["encode"].apply(frame), columns=NAMES)
    contrasts = [name for name in NAMES if "=" in name]
    kept = pd.DataFrame(Preparation(**ALL, log1p=True, standardize=True).fit_transform(frame))
    kept.columns = NAMES
    np.testing.assert_allclose(kept[contrasts], encoded[contrasts])
    logs = Preparation(**ALL, log1p=True).fit(frame).transform(frame)
    np.testing.assert_array_equal(logs[:, NAMES.index("age")], encoded["age"])
    np.testing.assert_array_equal(logs[:, NAMES.index("crp")], np.log1p(frame["crp"]))
    ranked = Preparation(**ALL, rank_normalize=True, standardize=True).fit_transform(frame)
    np.testing.assert_allclose(ranked[:, [NAMES.index(n) for n in contrasts]], encoded[contrasts])
    assert (Preparation(**ALL, rank_normalize=True).fit_transform(frame)[:, -1] < 3).all()


@pytest.mark.parametrize("options", STEPS_OF_NUMBERS, ids=str)
def test_values_of_categories_go_back_as_they_are(options):
    """Levels have no ranks and no logarithms, and an unusual one stops nobody."""
    frame = clinic()[["crp", "hb", "site"]]
    model = Preparation(categorical=["site"], **options).fit(frame)
    X = model.transform(frame)
    raw = [model.raw_values(X[:, j], np.full(60, j)) for j in range(4)]
    np.testing.assert_allclose(raw[:2], frame[["crp", "hb"]].T, rtol=1e-9)
    encoded = model.encode(frame)[:, 2:]
    weigh = model.steps_.get("weigh")
    scale = np.ones(2) if weigh is None else weigh.scale[2:]
    np.testing.assert_allclose(np.transpose(raw[2:]) * scale, encoded, rtol=1e-9)


# Ordered categories, dates and ages


def test_ordered_levels_are_counted():
    frame = pd.DataFrame({"grade": ["mid", "low", "high", None, " "], "x": 1.0})
    X = Preparation(ordinal={"grade": LEVELS}, impute="median").fit_transform(frame)
    assert X[:, 0].tolist() == [1, 0, 2, 1, 1]
    numbers = pd.DataFrame({"stage": [2.0, 1.0, 4.0]})
    model = Preparation(ordinal={"stage": [1, 2, 3, 4]})
    assert model.fit_transform(numbers).ravel().tolist() == [1, 0, 3]
    assert model.transform(pd.DataFrame({"stage": [3, 4]})).ravel().tolist() == [2, 3]


@pytest.mark.parametrize(
    "dates",
    [
        pytest.param(["2024-01-03", "2024-01-01", "2024-01-31T12:00"], id="ISO"),
        pytest.param(["03.01.2024", "01.01.2024", "31.01.2024 12:00"], id="points"),
        pytest.param(["3/1/2024", "1/1/2024", "31/1/2024 12:00"], id="slashes"),
        pytest.param(["1/3/2024", "1/1/2024", "1/31/2024 12:00"], id="month first"),
        pytest.param(["3 Jan 2024", "01-JAN-2024", "31 January 2024 12:00"], id="names"),
        pytest.param(
            pd.DatetimeIndex(["2024-01-03T00", "2024-01-01T00", "2024-01-31T12"]), id="times"
        ),
        pytest.param(
            pd.DatetimeIndex(["2024-01-03T02", "2024-01-01T02", "2024-01-31T14"]).tz_localize(
                "Etc/GMT-2"
            ),
            id="zone",
        ),
        pytest.param(
            [
                datetime.date(2024, 1, 3),
                datetime.date(2024, 1, 1),
                datetime.datetime(2024, 1, 31, 12),
            ],
            id="objects",
        ),
    ],
)
def test_dates_are_days_since_the_first_in_training(dates):
    model = Preparation(dates=["seen"])
    found = model.fit_transform(pd.DataFrame({"seen": dates})).ravel()
    assert found.tolist() == [2, 0, 30.5]
    assert model.steps_["encode"].firsts == ["2024-01-01"]
    before = model.transform(pd.DataFrame({"seen": ["2023-12-30"]}))
    assert before.tolist() == [[-2]]


def test_the_order_of_day_and_month_is_that_of_the_fit():
    model = Preparation(dates=["seen"]).fit(pd.DataFrame({"seen": ["1/3/2024", "1/31/2024"]}))
    assert model.transform(pd.DataFrame({"seen": ["2/1/2024"]})).tolist() == [[29]]
    assert model.transform(pd.DataFrame({"seen": ["1.2.2024"]})).tolist() == [[29]]
    with pytest.raises(ValueError, match=r"'seen' holds '13/1/2024' in data row 1, .* month first"):
        model.transform(pd.DataFrame({"seen": ["13/1/2024"]}))


def test_both_orders_in_one_column_are_refused():
    with pytest.raises(ValueError, match=r"first \('1/31/2024' in data row 2\); write"):
        Preparation(dates=["seen"]).fit(pd.DataFrame({"seen": ["31/1/2024", "1/31/2024"]}))


def test_a_column_named_self_may_have_a_new_level():
    old, new = pd.DataFrame({"self": ["f", "m"]}), pd.DataFrame({"self": ["x", "m"]})
    model = Preparation(categorical=["self"]).fit(old)
    assert model.steps_["encode"].with_known_levels(new)["self"].isna().tolist() == [True, False]


def test_ages_are_years_between_two_dates():
    frame = pd.DataFrame(
        {
            "born": ["2000-01-01", "1960-05-01", None],
            "seen": pd.to_datetime(["2004-01-01", "1960-05-01", "2020-01-01"]),
        }
    )
    model = Preparation(ages={"age": ("born", "seen")}, impute="median")
    assert model.fit_transform(frame).tolist() == [[4], [0], [2]]
    assert model.get_feature_names_out().tolist() == ["age"]
    both = Preparation(dates=["seen"], ages={"age": ("born", "seen")}, impute="median").fit(frame)
    assert both.get_feature_names_out().tolist() == ["seen", "age"]


def test_negative_ages_are_told_with_the_first_row():
    frame = pd.DataFrame(
        {"born": ["2000-01-01", "2030-01-01", "2040-01-01"], "seen": ["2024-01-01"] * 3},
        index=["P1", "P2", "P3"],
    )
    message = "age 'age' is negative in 2 of 3 rows, first in 'P2', where 'seen' is before 'born'"
    with pytest.warns(UserWarning, match=message):
        Preparation(ages={"age": ("born", "seen")}).fit(frame)


def test_decimals_are_probably_no_category():
    frame = pd.DataFrame(
        {"x": np.tile(np.arange(11) + 0.5, 4), "y": np.tile(np.arange(10), 5)[:44]}
    )
    with pytest.warns(UserWarning, match="'x' is named in categorical, but holds 11 different num"):
        Preparation(categorical=["x"]).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Preparation(categorical=["x", "y"]).fit(frame[frame["x"] < 9])


def test_an_age_may_be_named_by_a_pattern_of_one_column():
    frame = clinic()
    found = Preparation(ages={"age": ("bo*", "seen")}).fit(frame[["born", "seen"]])
    assert found.steps_["encode"].ages == [["age", "born", "seen"]]
    refused(frame[["born", "seen"]], r"pattern '\*n', which fits 2 columns \('born', 'seen'\), but",
            ages={"age": ("*n", "seen")})  # fmt: skip


# Names, levels and tables


def test_names_and_order_of_the_columns():
    frame = clinic()
    model = Preparation(**ALL, standardize=True).fit(frame)
    assert model.get_feature_names_out().tolist() == NAMES
    assert model.n_features_in_ == 8
    assert model.feature_names_in_.tolist() == list(frame)


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (pd.Categorical(["m", "f", "m"], categories=["x", "m", "f"]), ["m", "f"]),
        ([True, False, True], ["False", "True"]),
        (pd.array([True, False, None], dtype="boolean"), ["False", "True"]),
        ([2.0, 1.0, np.nan], ["1", "2"]),
        ([10, 2, 1.5], ["1.5", "2", "10"]),
        (["grade 10", "grade 9", "  "], ["grade 9", "grade 10"]),
    ],
    ids=range(6),
)
def test_levels_are_those_that_occur_in_the_order_of_people(values, levels):
    frame = pd.DataFrame({"x": values, "y": range(3)})
    model = Preparation(categorical=["x"], impute="median").fit(frame)
    assert model.steps_["encode"].levels[0] == levels


def test_whole_numbers_are_the_same_level_as_1_and_as_1_0():
    model = Preparation(categorical=["x"], standardize=True)
    X = model.fit_transform(pd.DataFrame({"x": [1, 2, 1]}))
    for again in ([1.0, 2.0, 1.0], ["1", "2", "1"], [np.float32(1), 2, True + 0]):
        np.testing.assert_array_equal(model.transform(pd.DataFrame({"x": again})), X)


@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_truth_values_are_the_same_levels_as_words_and_as_numbers(kind):
    """A file of text has True and False where one of Stata or SPSS has 1 and 0."""
    words, numbers = pd.DataFrame({"x": ["True", "FALSE", "True"]}), pd.DataFrame({"x": [1, 0, 1]})
    levels = {"ordinal": ([False, True], [0, 1]), "categorical": (["x"], ["x"])}[kind]
    for known, new, of in ((words, numbers, levels[0]), (numbers, words, levels[1])):
        model = Preparation(**{kind: of if kind == "categorical" else {"x": of}})
        X = model.fit_transform(known)
        for again in (new, pd.DataFrame({"x": [True, False, True]}), new.astype(object)):
            np.testing.assert_array_equal(model.transform(again), X)
            assert model.steps_["encode"].with_known_levels(again)["x"].notna().all()


@pytest.mark.parametrize(
    ("known", "new", "said"),
    [
        (["no", "yes"], [0, 1], " Are 0 and 1 of 'x' no and yes? Write them so."),
        (["No", "Yes"], [1, 1], " Are 0 and 1 of 'x' No and Yes? Write them so."),
        (["Y", "N"], [True, False], " Are false and true of 'x' N and Y? Write them so."),
        (["0", "1"], ["Yes", None], " Are no and yes of 'x' 0 and 1? Write them so."),
        (["f", "m"], [0, 1], " of these levels."),
        (["no", "yes"], [0, 2], " of these levels."),
        (["no", "yes", "maybe"], [0, 1], " of these levels."),
        (["False", "True", "maybe"], [0, 1], " of these levels."),
        (["No", "no", "yes"], [0, 1], " of these levels."),
    ],
    ids=range(9),
)
@pytest.mark.filterwarnings("ignore:category 'x' has levels that differ in capitals")
def test_other_ways_to_write_yes_and_no_are_asked_for(known, new, said):
    model = Preparation(categorical=["x"]).fit(pd.DataFrame({"x": known}))
    with pytest.raises(ValueError, match="that the fit did not know") as told:
        model.transform(pd.DataFrame({"x": new}))
    assert str(told.value).endswith(said)


def test_a_column_may_be_named_twice_with_one_order():
    ordinal = {"gra*": LEVELS, "grade": tuple(LEVELS)}
    model = Preparation(ordinal=ordinal).fit(clinic()[["crp", "grade"]])
    assert model.settings()["ordinal"] == {"grade": LEVELS}


def test_blanks_around_a_level_do_not_count():
    model = Preparation(categorical=["x"], standardize=True)
    X = model.fit_transform(pd.DataFrame({"x": ["LumA ", "LumA", "LumB"]}))
    assert model.steps_["encode"].levels == [["LumA", "LumB"]]
    again = pd.DataFrame({"x": ["LumA", " LumA", "LumB "]})
    np.testing.assert_array_equal(model.transform(again), X)


def test_levels_that_differ_in_capitals_only_are_told():
    frame = pd.DataFrame({"x": ["Male", "female", "male", "Male"]})
    with pytest.warns(UserWarning, match=r"differ in capitals only \('Male', 'male'\)"):
        Preparation(categorical=["x"]).fit(frame)


def test_na_as_text_is_a_gap():
    model = Preparation(categorical=["x"], impute="median")
    model.fit(pd.DataFrame({"x": ["a", "NA", "b", "n/a"]}))
    assert model.steps_["encode"].levels == [["a", "b"]]
    assert np.isnan(model.encode(pd.DataFrame({"x": ["NA", "null"]}))).all()
    refused(pd.DataFrame({"x": ["a", "b"]}), "the level 'NA', but such cells are missing values",
            ordinal={"x": ["NA", "a", "b"]})  # fmt: skip


def test_unknown_is_a_gap_among_dates():
    model = Preparation(dates=["seen"], impute="median")
    X = model.fit_transform(pd.DataFrame({"seen": ["2024-01-01", "Unknown", "2024-01-03", "-"]}))
    assert X.ravel().tolist() == [0, 1, 2, 1]


LONG = [2**53 + 1, 2**53]


def test_codes_of_many_digits_stay_different_or_are_refused():
    model = Preparation(categorical=["x"], impute="median")
    for column in (
        pd.array([*LONG, *LONG, None], dtype="Int64"),
        [*map(str, [*LONG, *LONG]), None],
        pd.Series([*LONG, *LONG, None], dtype=object),
        pd.array([*LONG, *LONG, None], dtype="int64[pyarrow]"),
    ):
        frame = pd.DataFrame({"x": column})
        model.fit(frame)
        assert model.steps_["encode"].levels == [["9007199254740992", "9007199254740993"]]
    model.fit(pl.DataFrame({"x": [*LONG, *LONG, None]}))
    assert model.steps_["encode"].levels == [["9007199254740992", "9007199254740993"]]
    message = "'x' is to be a category, but holds 9007199254740992, a number of more digits than"
    refused(pd.DataFrame({"x": [*LONG, *LONG, None]}), message, categorical=["x"], impute="median")
    with pytest.raises(ValueError, match=message):
        model.transform(pd.DataFrame({"x": [*LONG, None]}))


def test_patterns_and_files_name_columns(tmp_path):
    frame = clinic().rename(columns={"sex": "sex_kind", "site": "site_kind"})
    (tmp_path / "names.txt").write_text("# of the ward\n*_kind\n\nsmoker\n")
    frame = frame.drop(columns=["born", "seen", "grade"])
    model = Preparation(categorical=[f"@{tmp_path / 'names.txt'}"]).fit(frame)
    assert model.settings()["categorical"] == ["sex_kind", "site_kind", "smoker"]
    assert model.categorical == [f"@{tmp_path / 'names.txt'}"]


def test_adjust_takes_patterns():
    frame = clinic()
    about = frame[["site", "sex"]].rename(columns=lambda name: f"{name}_kind")
    model = Preparation(adjust=["*_kind"]).fit(frame[["crp"]], covariates=about)
    assert model.steps_["adjust"].names == ["site_kind", "sex_kind"]
    named = Preparation(adjust=["sex_kind", "site_kind"]).fit(frame[["crp"]], covariates=about)
    assert named.steps_["adjust"].names == ["sex_kind", "site_kind"]


@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"rank_normalize": True, "pca": 3}])
def test_a_row_does_not_depend_on_the_others(options):
    frame = clinic()
    frame.iloc[5, [0, 1, 4, 7]] = None
    model = Preparation(**ALL, impute="median", **options)
    X = model.fit_transform(frame)
    np.testing.assert_array_equal(model.transform(frame), X)
    shuffled = frame[frame.columns[::-1]].iloc[[9, 5, 2]].assign(note="x")
    np.testing.assert_array_equal(model.transform(shuffled), X[[9, 5, 2]])


def test_bad_dates_of_polars_are_told():
    for cells, said in (
        (["2020-01-31", None, "soon"], "column 'seen' .* 'soon' in data row 3"),
        (["1/31/2020", None, "31/1/2020"], r"day first \('31/1/2020' in data row 3\), others only"),
    ):
        with pytest.raises(ValueError, match=said):
            Preparation(dates=["seen"]).fit(pl.DataFrame({"hb": [1.0, 2, 3], "seen": cells}))


def test_pandas_and_polars_agree():
    frame = clinic()
    model = Preparation(**ALL, standardize=True)
    X = model.fit_transform(frame)
    table = pl.from_pandas(frame)
    np.testing.assert_array_equal(model.transform(table), X)
    as_polars = clone(model).set_output(transform="polars").fit_transform(table)
    assert as_polars.columns == NAMES
    np.testing.assert_array_equal(as_polars.to_numpy(), X)
    typed = table.with_columns(
        pl.col("born", "seen").str.to_date(), pl.col("sex").cast(pl.Categorical)
    )
    np.testing.assert_array_equal(clone(model).fit_transform(typed), X)


def test_clones_pickles_outputs_and_pipelines():
    frame = clinic()
    model = Preparation(**ALL, standardize=True)
    X = model.fit_transform(frame)
    np.testing.assert_array_equal(clone(model).fit_transform(frame), X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(frame), X)
    prepared = clone(model).set_output(transform="pandas").fit_transform(frame)
    assert prepared.columns.tolist() == NAMES
    assert prepared.index.equals(frame.index)
    whole = make_pipeline(clone(model), FunctionTransformer())
    np.testing.assert_array_equal(whole.fit_transform(frame), X)
    assert model.__sklearn_tags__().input_tags.categorical
    with pytest.raises(NotFittedError):
        clone(model).transform(frame)


# Gaps


def test_a_missing_category_is_neither_of_its_levels():
    frame = clinic()
    frame.iloc[3, [1, 3]] = None
    model = Preparation(**ALL, impute="median", standardize=True)
    row = dict(zip(NAMES, model.fit_transform(frame)[3], strict=True))
    assert [row[name] for name in NAMES if name.startswith(("sex", "site"))] == [0] * 3


def test_gaps_are_counted_by_the_columns_of_the_table():
    frame = clinic()
    frame.iloc[[3, 4, 5], 1] = [None, " ", ""]
    frame.iloc[3, 7] = None
    message = (
        r"X has 5 missing values \(NaN\) in 3 of 8 columns \('sex': 3, 'seen': 1, 'age': 1\), but "
        "every value must be known; drop such rows"
    )
    with pytest.raises(ValueError, match=message):
        Preparation(**ALL).fit(frame)
    assert np.flatnonzero(~complete_rows(frame)).tolist() == [3, 4, 5]
    model = Preparation(**ALL, impute="drop").fit(frame[complete_rows(frame)])
    with pytest.raises(ValueError, match="with impute='drop', drop such rows"):
        model.transform(frame)


STEPS = [
    {},
    {"standardize": True},
    {"log1p": True, "standardize": True},
    {"rank_normalize": True},
    {"log1p": True, "rank_normalize": True, "adjust": ["ward", "risk"], "standardize": True},
]


@pytest.mark.parametrize("options", STEPS, ids=str)
@pytest.mark.parametrize("impute", [None, "median", "drop"])
def test_rows_with_gaps_are_prepared_as_far_as_they_are_known(options, impute):
    frame = clinic()
    rng = np.random.default_rng(0)
    about = {"ward": rng.choice(["a", "b"], 60), "risk": rng.normal(size=60)}
    covariates = about if "adjust" in options else None
    model = Preparation(**ALL, impute=impute, **options, pca=3).fit(frame, covariates=covariates)
    whole = Preparation(**ALL, impute=impute, **options).fit(frame, covariates=covariates)
    wanted = whole.transform(frame, covariates=covariates)
    np.testing.assert_array_equal(model.transform_known(frame, covariates=covariates), wanted)
    gaps = frame.copy()
    gaps.iloc[2, [0, 1]] = None
    gaps.iloc[4, 6] = None
    found = model.transform_known(gaps, covariates=covariates)
    wanted[2, :2] = np.nan
    wanted[4, -1] = np.nan
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("options", STEPS, ids=str)
def test_steps_are_learned_from_the_known_values_of_each_column(options):
    """As they are for impute="model", which fills gaps behind them."""
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(40, 3))
    X[:, 2] = 3.0
    about = pd.DataFrame({"ward": rng.choice(["a", "b"], 40), "risk": rng.normal(size=40)})
    covariates = about if "adjust" in options else None
    gaps = X.copy()
    gaps[:9, 1] = np.nan
    gaps[3, 2] = np.nan
    steps = learn_steps(Preparation(impute="model", **options), gaps, covariates, None)
    for column, rows in ((0, slice(0, 40)), (1, slice(9, 40))):
        known = None if covariates is None else covariates.iloc[rows].reset_index(drop=True)
        alone = Preparation(**options).fit(X[rows, [column]].reshape(-1, 1), covariates=known)
        together = Preparation(**options).fit(X, covariates=covariates)
        together.steps_ = steps
        wanted = alone.transform_known(X[:, [column]], covariates=covariates)
        found = together.transform_known(gaps, covariates=covariates)
        lacks = np.isnan(gaps[:, column])
        assert np.isnan(found[lacks]).all(axis=0)[column]
        if "adjust" in options and column == 1:  # up to where the covariates are centred
            np.testing.assert_allclose(
                np.diff(found[~lacks, column]), np.diff(wanted[~lacks, 0]), atol=1e-9
            )
        else:
            np.testing.assert_allclose(found[~lacks, column], wanted[~lacks, 0], atol=1e-12)
    constant = together.transform_known(gaps, covariates=covariates)[:, 2]
    assert np.isnan(constant[3])
    assert np.ptp(np.delete(constant, 3)) == 0


def test_gaps_that_are_carried_need_a_known_value_in_each_column():
    X = np.array([[1.0, np.nan], [2.0, np.nan]])
    with pytest.raises(ValueError, match=r"impute='model' needs .* none in 1 \(column 1\); leave"):
        learn_steps(Preparation(impute="model"), X, None, None)


# What is refused


def refused(frame, message, error=ValueError, **options):
    with pytest.raises(error, match=message):
        Preparation(**options).fit(frame)


def test_unseen_levels_are_told_in_one_sentence():
    frame = clinic()
    model = Preparation(**ALL).fit(frame)
    new = frame.iloc[:5].copy()
    new.iloc[[1, 3], 1] = ["x", "y"]
    new.iloc[3, 3] = "paris"
    new.iloc[4, 4] = "huge"
    message = (
        r"^3 of 5 rows have levels that the fit did not know: 'sex' has 'x', 'y' in 2 rows, first "
        r"in data row 2 \(known: 'f', 'm'\), 'site' has 'paris' in 1 row, first in data row 4 "
        r"\(known: 'bonn', 'oslo', 'rome'\), 'grade' has 'huge' in 1 row, first in data row 5 "
        r"\(known: 'low', 'mid', 'high'\); mend these cells, empty them if the value is not known, "
        r"leave the rows out, or fit again with samples of these levels\.$"
    )
    with pytest.raises(ValueError, match=message):
        model.transform(new)


def test_all_that_is_wrong_with_columns_is_told_in_one_message():
    frame = clinic()
    model = Preparation(**ALL).fit(frame)
    frame = frame.reset_index(drop=True).astype({"crp": object})
    frame.loc[2, "seen"] = "soon"
    frame.loc[3, ["sex", "grade", "crp"]] = ["x", "huge", "low"]
    with pytest.raises(ValueError, match=r"'sex' has 'x'.*'grade' .*'soon'.*'crp' must hold"):
        model.transform(frame)
    frame["site"] = [f"P{k}" for k in range(60)]
    frame["born"] = "early"
    told = r"'site' .* Also: .*'huge'.* Also: .*'early'.*'soon'.* Also: 'crp' must hold numbers"
    refused(frame, told, **ALL)


def test_levels_that_are_not_among_the_given_are_told_at_the_fit():
    message = (
        r"20 of 60 rows have levels that ordinal does not name: 'grade' has 'high' in 20 rows, "
        r"first in data row \d+ \(given: 'low', 'mid'\); mend these cells, .* or name these levels "
        "in ordinal, too, in their place"
    )
    frame = clinic().assign(grade=LEVELS * 20)[["crp", "grade"]]
    refused(frame, message, ordinal={"grade": ["low", "mid"]})


def test_names_and_measurements_are_not_categories():
    frame = clinic()[["crp", "hb"]].assign(name=[f"P{k}" for k in range(60)])
    message = r"'name' is named in categorical, but has 60 levels in 60 rows \('P0', 'P1', 'P2' and"
    refused(frame, message, categorical=["name"])
    refused(frame.drop(columns="name"), "almost one for each, as names or", categorical=["crp"])


def test_many_levels_are_told_and_a_single_one():
    frame = pd.DataFrame({"x": [f"{k % 51}" for k in range(300)], "y": np.arange(300.0)})
    with pytest.warns(
        UserWarning, match="category 'x' has 51 levels, and counts as much as 50 num"
    ):
        Preparation(categorical=["x"]).fit(frame)
    with pytest.warns(UserWarning, match="'x' has one level only, 'a', and tells no samples apart"):
        X = Preparation(categorical=["x"], impute="median").fit_transform(
            pd.DataFrame({"x": ["a", "a", None], "y": [1.0, 2.0, 3.0]})
        )
    assert X[:, 0].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "dates",
    [["2024-01-03", "2023-01-03"], pd.to_datetime(["2024-01-03", "2024-01-04"])],
    ids=["text", "times"],
)
def test_dates_are_never_categories(dates):
    message = (
        r"categorical names 'seen', which holds dates, and dates are never categories; name such "
        r"columns in dates, .* or in ages,"
    )
    refused(pd.DataFrame({"seen": dates}), message, categorical=["seen"])


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["2024-01-01", "soon", "later"], r"'soon' in data row 2, which is not a date \(2 such"),
        (["2024-01-01", "2024-02-30", None], "'2024-02-30' in data row 2, which is not a date; wr"),
        (
            ["2024-01-01", "9999-12-31", None],
            "'9999-12-31' in data row 2, whose year is not between",
        ),
        (
            ["03/04/2024", "05/06/2024", None],
            r"'03/04/2024' in data row 1, of which the day and th",
        ),
        ([44197.0, 44198.0, None], "holds '44197' in data row 1, which is not a date"),
        ([None, None, None], "'seen' is named in dates or ages, but none of its 3 cells has a val"),
        (
            np.array(["2024-01-01", "NaT", "1500-01-01"], "datetime64[s]"),
            "'1500-01-01' in data row 3, whose year is not between 1800 and 2199",
        ),
        (
            ["12/23/2016", "23/12/2016", "24/12/2016"],
            r"can only have the day first \('23/12/2016' in data row 2\), others only the month "
            r"first \('12/23/2016' in data row 1\); write dates as",
        ),
    ],
    ids=range(8),
)
def test_what_is_not_a_date_is_told_with_its_row(cells, message):
    refused(pd.DataFrame({"seen": cells, "x": 1.0}), message, dates=["seen"], impute="median")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"categorical": 1}, ValueError, "'categorical' parameter of Preparation must be"),
        (
            {"categorical": [1]},
            ValueError,
            r"categorical=\[1\] must be a list of names or patterns",
        ),
        ({"categorical": ["sexx"]}, ValueError, "X has no column 'sexx'; did you mean 'sex'"),
        ({"dates": ["visit_*"]}, ValueError, r"X has no column that fits 'visit_\*'"),
        ({"ordinal": {"grade": "low"}}, ValueError, "ordinal has 'low' for 'grade', but must have"),
        ({"ordinal": {"grade": ["a"]}}, ValueError, "the levels 'a', but must give two or more"),
        ({"ordinal": {"grade": ["a", "a"]}}, ValueError, "must give two or more different ones"),
        (
            {"ages": {"age": ("born",)}},
            ValueError,
            r"ages has \('born',\) for 'age', but must have",
        ),
        ({"ages": {"age": ("born", "x")}}, ValueError, "X has no column 'x'"),
        ({"ages": {"crp": ("born", "seen")}}, ValueError, "ages has the new name 'crp', but the"),
        (
            {"ages": {"age": ("born", "bor*")}},
            ValueError,
            "ages has 'age' from 'born' to 'born', the same column, and an age is between two dat",
        ),
        (
            {"ordinal": {"gra*": LEVELS, "grade": LEVELS[::-1]}},
            ValueError,
            "ordinal gives column 'grade' two orders, 'low', 'mid', 'high' and 'high', 'mid', "
            "'low', the second by 'grade'; name it once",
        ),
        (
            {"categorical": ["grade"], "ordinal": {"grade": LEVELS}},
            ValueError,
            "column 'grade' is named in categorical and ordinal, but a column is encoded in one",
        ),
        (
            {"categorical": ["sex"]},
            ValueError,
            "'site', 'grade', 'born', 'seen' must hold numbers, but hold something else, such as "
            "'bonn'; name what is a category in categorical or ordinal, and what is a date in",
        ),
    ],
    ids=range(14),
)
def test_parameters_are_checked(options, error, message):
    refused(clinic(), message, error, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ordinal": {"grade": "low"}}, "^--ordinal has 'low' for 'grade', but must have a list"),
        ({"ordinal": {"grade": ["a", "NA"]}}, "^--ordinal gives 'grade' the level 'NA', but such"),
        ({"ages": {"age": ("born",)}}, r"^--age has \('born',\) for 'age', but must have two"),
        (
            {"categorical": ["sex"]},
            "name what is a category in --categorical or --ordinal, and what is a date in --date, "
            "or exclude it",
        ),
        (
            {"ages": {"y": ("born", "none")}},
            "'none' is named in --date or --age, but none of its 60 cells has a value",
        ),
    ],
    ids=range(5),
)
def test_messages_name_the_options_of_the_command_line(options, message):
    with for_command_line():
        refused(clinic().assign(none=None), message, **options)


def test_a_category_without_values_is_refused():
    frame = pd.DataFrame({"x": [None, None, None], "y": 1.0})
    refused(frame, "'x' is named in categorical, but none of its 3 cells has", categorical=["x"])


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame({"sex": ["f", "m"], "sex=m": [1.0, 2.0]})
    refused(frame, "makes two columns of the name 'sex=m'; rename", categorical=["sex"])


def test_infinite_numbers_are_told_with_their_column():
    frame = clinic()[["crp", "sex"]]
    frame.iloc[4, 0] = np.inf
    refused(frame, "column 'crp' is inf in data row 5, but every value", categorical=["sex"])


@pytest.mark.parametrize(
    "X",
    [np.ones((4, 2)), sparse.csr_array(np.ones((4, 2))), pd.DataFrame(np.ones((4, 2)))],
    ids=["array", "sparse", "no names"],
)
def test_encoding_is_for_a_data_frame(X):
    message = "categorical, ordinal, dates and ages are for a DataFrame in memory, whose columns"
    refused(X, message, TypeError, categorical=["sex"])
    model = Preparation(categorical=["sex"]).fit(clinic()[["sex", "crp"]])
    with pytest.raises(TypeError, match=message):
        model.transform(X)


def test_encoding_is_not_for_dask():
    dask = pytest.importorskip("dask.dataframe")
    frame = clinic()[["crp", "sex"]]
    lazy = dask.from_pandas(frame, npartitions=2)
    with pytest.raises(ValueError, match="encoding is for tables in memory, but X is a Dask array"):
        Preparation(categorical=["sex"]).fit(lazy)
    model = Preparation(categorical=["sex"]).fit(frame)
    with pytest.raises(ValueError, match="categories, dates and ages are encoded in a table in"):
        model.transform(lazy)


def test_logarithms_are_asked_of_numbers_only():
    frame = clinic()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Preparation(**ALL, log1p=True).fit(frame)
    frame.iloc[3, 2] = -4.0
    refused(frame, r"X holds -4 in 'hb', row 3, but log1p=True needs", **ALL, log1p=True)
