import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from branchwise.trajectory.summaries import branch_summaries, wilson_interval

from .trees import forked, path

pd = pytest.importorskip("pandas")
FORK = ["stem", "a", "b"]


def simulated(n_samples=200, seed=0):
    """Simulated clinical columns of every type, some values missing."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "relapse": rng.random(n_samples) < 0.3,
            "stage": pd.Categorical(
                rng.choice(["I", "II", "III"], n_samples), ["III", "II", "I", "IV"]
            ),
            "sex": rng.choice(["f", "m"], n_samples),
            "age": rng.normal(60, 10, n_samples),
            "visits": rng.poisson(3, n_samples),
        },
        index=[f"patient {k}" for k in rng.permutation(n_samples)],
    )
    data.loc[data.index[::7], ["age", "sex", "stage"]] = None
    return data


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@given(n=st.integers(1, 300), part=st.floats(0, 1))
def test_rates_have_the_interval_of_wilson(level, n, part):
    count = round(part * n)
    expected = stats.binomtest(count, n).proportion_ci(level, method="wilson")
    np.testing.assert_allclose(wilson_interval(count, n, level), expected, atol=1e-12)


def test_the_table_is_that_of_loops_over_branches_bins_and_columns():
    placed, start = forked(200)
    data = simulated()
    table = branch_summaries(placed, start, FORK, data, n_bins=3, level=0.9)
    keyed = table.set_index(["branch", "bin", "column", "level"]).sort_index()
    assert len(table) == 3 * 4 * (1 + 4 + 2 + 1 + 1)
    for number, name in enumerate(FORK):
        for label, low, high in (
            ("all", 0, 1.1),
            ("1", 0, 1 / 3),
            ("2", 1 / 3, 2 / 3),
            ("3", 2 / 3, 1.1),
        ):
            inside = (placed.edge == number) & (placed.position >= low) & (placed.position < high)
            part = data[inside]
            for column, wanted in [
                ("relapse", True),
                ("stage", "II"),
                ("stage", "IV"),
                ("sex", "f"),
            ]:
                row = keyed.loc[(name, label, column, wanted)].squeeze()
                known = part[column].dropna()
                count = int((known == wanted).sum())
                interval = stats.binomtest(count, len(known)).proportion_ci(0.9, method="wilson")
                assert (row["n"], row["n_missing"]) == (len(known), len(part) - len(known))
                assert row["count"] == count
                np.testing.assert_allclose(
                    row[["estimate", "lower", "upper"]].astype(float),
                    [count / len(known), *interval],
                    atol=1e-12,
                )
            for column in ("age", "visits"):
                rows = table[(table.branch == name) & (table.bin == label)]
                row = rows[rows.column == column].squeeze()
                known = part[column].dropna()
                interval = stats.ttest_1samp(known, 0).confidence_interval(0.9)
                assert (row["n"], row["n_missing"]) == (len(known), len(part) - len(known))
                assert row["level"] is None or np.isnan(row["level"])
                np.testing.assert_allclose(
                    row[["estimate", "lower", "upper", "sd", "q25", "median", "q75"]].astype(float),
                    [
                        known.mean(),
                        *interval,
                        known.std(),
                        *known.quantile([0.25, 0.5, 0.75]),
                    ],
                    rtol=1e-10,
                )


def test_bins_divide_the_branch_and_its_time():
    placed = path([0.0, 0.24, 0.25, 0.5, 0.99, 1.0], length=8.0)
    data = pd.DataFrame({"x": np.arange(6.0)})
    table = branch_summaries(placed, [2.0], ["path"], data, n_bins=4)
    assert table.bin.tolist() == ["all", "1", "2", "3", "4"]
    assert table.n.tolist() == [6, 2, 1, 1, 2]
    assert table.from_position.tolist() == [0, 0, 0.25, 0.5, 0.75]
    assert table.to_position.tolist() == [1, 0.25, 0.5, 0.75, 1]
    assert table.from_pseudotime.tolist() == [2, 2, 4, 6, 8]
    assert table.to_pseudotime.tolist() == [10, 4, 6, 8, 10]


def test_few_samples_have_wide_intervals_and_empty_bins_stay():
    placed, start = forked(3)
    placed = placed._replace(edge=np.array([0, 1, 1]), position=np.array([0.1, 0.1, 0.1]))
    data = pd.DataFrame({"x": [1.0, 2.0, 4.0], "y": [True, True, False]})
    table = branch_summaries(placed, start, FORK, data, n_bins=2)
    numbers, rates = (table[table.column == name] for name in "xy")
    one, two = (numbers[(numbers.branch == name) & (numbers.bin == "1")] for name in FORK[:2])
    assert one.n.item() == 1
    assert one.estimate.item() == 1
    assert one[["lower", "upper", "sd"]].isna().all(axis=None)
    assert two.upper.item() - two.lower.item() > 20
    empty = table[table.n == 0]
    assert len(empty) == 2 * (2 + 3)
    assert empty[["count", "estimate", "lower", "upper"]].isna().all(axis=None)
    single = rates[(rates.branch == "stem") & (rates.bin == "1")].squeeze()
    assert (single.lower, single.upper) == pytest.approx((0.2065, 1.0), abs=1e-4)


def test_below_min_samples_there_is_only_the_number():
    placed, start = forked(60)
    table = branch_summaries(placed, start, FORK, simulated(60), min_samples=8)
    few = table.n < 8
    assert 0 < few.sum() < len(table)
    assert table.estimate.isna().equals(few)
    assert table["count"].notna().equals(~few & table.level.notna())


def test_only_the_columns_asked_for_are_summarised():
    placed, start = forked(20)
    data = simulated(20)
    for columns, expected in (("age", ["age"]), (["sex", "age"], ["sex", "age"])):
        table = branch_summaries(placed, start, FORK, data, columns)
        assert list(table.column.unique()) == expected


def test_truth_values_with_gaps_give_the_rate_of_true():
    placed = path([0.1, 0.2, 0.3, 0.4])
    for values in (
        pd.Series([True, None, False, True]),
        pd.Series([True, None, False, True], dtype="boolean"),
    ):
        row = branch_summaries(placed, [0.0], ["path"], pd.DataFrame({"x": values})).iloc[0]
        assert (row.level, row.n, row.n_missing, row["count"]) == (True, 3, 1, 2)


@pytest.mark.parametrize("kind", ["int8", "float64", "Int64"])
def test_outcomes_written_as_0_and_1_give_the_rate_of_1(kind):
    placed, start = forked(60)
    events = np.where(placed.edge == 1, 0, np.arange(60) % 2)
    written, told = (
        branch_summaries(placed, start, FORK, pd.DataFrame({"dead": values}))
        for values in (pd.Series(events).astype(kind), events == 1)
    )
    pd.testing.assert_frame_equal(written.drop(columns="level"), told.drop(columns="level"))
    assert set(written.level) == {1}
    assert (written.upper[(written.branch == "a") & (written.n > 0)] > 0).all()


def test_nullable_numbers_are_numbers():
    placed = path([0.1, 0.2, 0.3])
    data = pd.DataFrame({"x": pd.array([1, None, 4], dtype="Int64")})
    row = branch_summaries(placed, [0.0], ["path"], data).iloc[0]
    assert (row.n, row.n_missing, row.estimate) == (2, 1, 2.5)


def test_the_table_survives_a_file():
    placed, start = forked(30)
    table = branch_summaries(placed, start, FORK, simulated(30))
    text = io.StringIO(table.to_csv(index=False))
    again = pd.read_csv(text, dtype={"bin": str, "count": "Int64"})
    numbers = table.select_dtypes("number").columns
    pd.testing.assert_frame_equal(again[numbers], table[numbers])
    assert (again.branch == table.branch).all()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"columns": ["age", "weight"]},
            ValueError,
            "columns names 'weight', which data does not "
            "have; choose from relapse, stage, sex, age, visits",
        ),
        ({"data": np.zeros((10, 2))}, TypeError, "data must be a DataFrame, got ndarray"),
        ({"data": simulated(9)}, ValueError, "data has 9 rows, but there are n_samples=10"),
        (
            {"data": pd.DataFrame(np.zeros((10, 2)), columns=["x", "x"])},
            ValueError,
            "data has columns of the same name",
        ),
        (
            {"data": pd.DataFrame({"x": np.full(10, np.inf)})},
            ValueError,
            "column 'x' holds an infinite number",
        ),
        (
            {"data": pd.DataFrame({"x": pd.date_range("2020", periods=10)})},
            TypeError,
            "column 'x' has type datetime64.*, but must hold truth values",
        ),
        ({"n_bins": 0}, ValueError, "n_bins=0 must be a positive integer"),
        ({"min_samples": -1}, ValueError, "min_samples=-1 must be a positive integer"),
        ({"level": 95}, ValueError, "level=95 must be between 0 and 1"),
        ({"branch_names": ["a"]}, ValueError, r"branch_names has shape \(1,\)"),
    ],
)
def test_wrong_arguments_are_named(change, error, message):
    placed, start = forked(10)
    arguments = {"start_time": start, "branch_names": FORK, "data": simulated(10)} | change
    with pytest.raises(error, match=message):
        branch_summaries(placed, **arguments)


def test_names_of_samples_are_no_levels():
    placed, start = forked(60)
    data = pd.DataFrame({"id": [f"p{k}" for k in range(60)]})
    with pytest.raises(ValueError, match="column 'id' has 60 levels but must have at most 50"):
        branch_summaries(placed, start, FORK, data)
