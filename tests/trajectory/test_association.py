import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from branchwise.graph.placement import Placement
from branchwise.trajectory.association import (
    associated_features,
    branch_differences,
    branch_markers,
    log_p_value,
    smooth_functions,
)

from .trees import forked, path, times

FORK = ["stem", "a", "b"]


def slow_f_test(null, alternative, y):
    """One feature by two least-squares fits of the full models."""
    rss, rank = [], []
    for model in (null, np.column_stack([null, alternative])):
        solution, _, r, _ = np.linalg.lstsq(model, y, rcond=1e-9)
        rss.append(np.sum((y - model @ solution) ** 2))
        rank.append(r)
    df_num, df_den = rank[1] - rank[0], len(y) - rank[1]
    statistic = (rss[0] - rss[1]) / df_num / (rss[1] / df_den)
    return statistic, df_num, df_den, stats.f.sf(statistic, df_num, df_den), 1 - rss[1] / rss[0]


def assert_rows_are(table, expected):
    columns = ["statistic", "df_num", "df_den", "p_value", "r_squared"]
    np.testing.assert_allclose(table[columns].to_numpy(float), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("method", ["linear", "rank"])
def test_association_is_the_f_test_of_two_least_squares_fits(method):
    placed, start = forked(120)
    rng = np.random.default_rng(1)
    time = times(placed, start)
    values = rng.standard_normal((120, 6)) + 5 + np.outer(np.sin(2 * time), np.linspace(0, 2, 6))
    table = associated_features(placed, start, values, method=method, sort=False)
    seen = stats.rankdata(values, axis=0) if method == "rank" else values
    basis, one = smooth_functions(placed, 8), np.ones((120, 1))
    assert_rows_are(table, [slow_f_test(one, basis, y) for y in seen.T])
    assert (table.df_num == 8).all()
    correlate = stats.spearmanr if method == "rank" else stats.pearsonr
    expected = [correlate(time, y).statistic for y in values.T]
    np.testing.assert_allclose(table.correlation, expected, atol=1e-12)
    fits = basis @ np.linalg.lstsq(basis, seen, rcond=None)[0]
    np.testing.assert_allclose(table.amplitude, np.ptp(fits, axis=0), rtol=1e-8)
    np.testing.assert_allclose(table.q_value, stats.false_discovery_control(table.p_value))


def test_the_smoothest_functions_of_a_path_are_cosines_beside_the_straight_lines():
    """With samples spread evenly: natural functions, orthonormal, with one more zero each."""
    placed = path((np.arange(400) + 0.5) / 400)
    basis = smooth_functions(placed, 5)
    np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-8)
    bent = basis[:, 2:]
    crossings = np.sum(np.diff(np.sign(bent), axis=0) != 0, axis=0)
    assert crossings.tolist() == [2, 3, 4, 5]


# The F distribution is exact for normal noise, and a limit for ranks.
@pytest.mark.parametrize(("method", "n_samples"), [("linear", 100), ("rank", 1000)])
def test_p_values_are_uniform_when_nothing_changes(method, n_samples):
    """5,000 simulated features, independent of pseudotime; for ranks, skewed ones."""
    placed, start = forked(n_samples)
    noise = np.random.default_rng(0).standard_normal((n_samples, 5000))
    values = noise if method == "linear" else np.exp(2 * noise)
    table = associated_features(placed, start, values, method=method)
    assert stats.kstest(table.p_value, "uniform").pvalue > 0.01
    differences = branch_differences(placed, start, FORK, values, fork=1, method=method)
    assert stats.kstest(differences.p_value, "uniform").pvalue > 0.01


def test_signals_are_found_and_noise_is_not():
    placed, start = forked(300)
    rng = np.random.default_rng(0)
    values = rng.standard_normal((300, 1000))
    time = times(placed, start)
    values[:, :50] += np.sin(3 * time)[:, None]
    values[:, 50:100] += ((placed.edge == 1) * placed.position)[:, None] * 4
    table = associated_features(placed, start, values)
    found = table.feature[table.q_value < 0.05]
    assert (found < 100).sum() >= 98
    assert (found >= 100).sum() <= 12
    differences = branch_differences(placed, start, FORK, values, fork=1)
    found = differences[differences.q_value < 0.05]
    assert found.feature.between(50, 99).sum() >= 45
    assert (~found.feature.between(50, 99)).sum() <= 7
    assert (found[found.feature.between(50, 99)].highest == "a").all()


def test_rows_are_sorted_by_p_value():
    placed, start = forked(60)
    values = np.random.default_rng(0).standard_normal((60, 20))
    plain = associated_features(placed, start, values, sort=False)
    table = associated_features(placed, start, values)
    assert plain.feature.tolist() == list(range(20))
    assert table.p_value.is_monotonic_increasing
    assert table.feature.tolist() == plain.p_value.argsort(kind="stable").tolist()


@pytest.mark.parametrize("df_num", [1, 3, 8, 60])
@pytest.mark.parametrize("df_den", [5, 12.3, 100, 10_000, 1e6])
def test_logarithms_of_small_p_values_are_those_of_the_p_values(df_num, df_den, monkeypatch):
    statistic = np.geomspace(0.1, 1e90, 1000)
    p_values = stats.f.sf(statistic, df_num, df_den)
    known = p_values > 1e-280
    expected = np.log(p_values[known])
    monkeypatch.setattr("branchwise.trajectory.association.LEAST_P", 1e-20)
    found = log_p_value(statistic, df_num, df_den)
    np.testing.assert_allclose(found[known], expected, rtol=1e-10)
    assert np.isfinite(found).all()
    assert (np.diff(found) <= 0).all()


@pytest.mark.parametrize("df_den", [10, 1000, 1_000_000])
def test_logarithms_of_p_values_too_small_for_numbers_are_exact(df_den):
    """With 2 and 4 degrees of freedom the incomplete beta function is elementary."""
    statistic, b = np.array([1e4, 1e8, 1e200]), df_den / 2
    for a in (1, 2):
        log_y = -np.log1p(a / b * statistic)
        sum_of_terms = 1 if a == 1 else 1 + b * -np.expm1(log_y)
        expected = b * log_y + np.log(sum_of_terms)
        np.testing.assert_allclose(log_p_value(statistic, 2 * a, df_den), expected, rtol=1e-10)
    assert log_p_value([np.inf, np.inf], 3, df_den).tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("method", ["linear", "rank"])
def test_features_come_by_strength_where_p_values_are_too_small_for_numbers(method):
    """The weakest come first in the table of values, as ties once did in the results."""
    placed, start = forked(3000)
    rng = np.random.default_rng(0)
    strength = np.linspace(0.0, 6.0, 25)
    time = times(placed, start)
    values = rng.standard_normal((3000, 1)) + np.outer(np.sin(time), strength)
    table = associated_features(placed, start, values, method=method)
    assert (table.p_value == 0).sum() > 10
    assert table.feature.tolist() == list(range(24, -1, -1))
    assert table.columns.tolist() == [
        *["feature", "statistic", "df_num", "df_den", "p_value", "q_value"],
        *["r_squared", "amplitude", "correlation", "n_samples"],
    ]


def test_a_larger_statistic_of_far_fewer_samples_is_weaker():
    placed, start = forked(3000)
    rng = np.random.default_rng(0)
    signal = np.sin(times(placed, start))
    signal /= signal.std()
    few = np.where(np.arange(3000) < 500, signal + 0.2 * rng.standard_normal(3000), np.nan)
    many = signal + 0.8 * rng.standard_normal(3000)
    table = associated_features(placed, start, np.column_stack([few, many]), ["few", "many"])
    assert table.feature.tolist() == ["many", "few"]
    assert (table.p_value == 0).all()
    assert table.statistic[1] > table.statistic[0]
    assert table.df_den[1] < table.df_den[0]


def test_differences_and_markers_come_by_strength_too():
    placed, start = forked(6000)
    rng = np.random.default_rng(0)
    strength = np.linspace(1.0, 9.0, 9)
    on_one = (placed.edge == 2).astype(float)
    values = rng.standard_normal((6000, 1)) + np.outer(on_one, strength)
    table = branch_differences(placed, start, FORK, values, fork=1)
    assert (table.p_value == 0).sum() > 5
    assert table.feature.tolist() == list(range(8, -1, -1))
    markers = branch_markers(placed, FORK, values)
    for _, of_branch in markers.groupby("branch"):
        sizes = of_branch.statistic.abs()
        assert (of_branch.p_value == 0).sum() > 3
        assert "log_p" not in of_branch
        if (of_branch.branch == "b").all():
            assert of_branch.feature.tolist() == list(range(8, -1, -1))
            assert sizes.is_monotonic_decreasing


def test_ties_keep_the_order_of_the_features():
    placed, start = forked(200)
    y = np.sin(times(placed, start)) + np.random.default_rng(0).standard_normal(200)
    values = np.column_stack([np.ones(200), y, y, np.full(200, np.nan), np.zeros(200)])
    assert associated_features(placed, start, values).feature.tolist() == [1, 2, 0, 4, 3]


def test_constant_features_have_p_value_one():
    placed, start = forked(60)
    values = np.column_stack([np.full(60, 0.1), np.zeros(60), np.full(60, 1e9 + 0.1)])
    for method in ("linear", "rank"):
        table = associated_features(placed, start, values, method=method)
        differences = branch_differences(placed, start, FORK, values, fork=1, method=method)
        markers = branch_markers(placed, FORK, values, method=method)
        for found in (table, differences, markers):
            assert (found.p_value == 1).all()
            assert (found.q_value == 1).all()
            assert (found.statistic == 0).all()
        assert (table[["r_squared", "amplitude", "correlation"]] == 0).all(axis=None)


def test_a_perfect_fit_has_p_value_zero():
    placed = path(np.linspace(0, 1, 30))
    table = associated_features(placed, [0.0], placed.position[:, None])
    assert table.p_value.item() < 1e-100
    assert table.r_squared.item() == pytest.approx(1)
    assert table.correlation.item() == pytest.approx(1)


@pytest.mark.parametrize("n_samples", [0, 1, 2, 3])
def test_too_few_samples_have_p_value_one(n_samples):
    placed, start = forked(n_samples)
    values = np.random.default_rng(0).standard_normal((n_samples, 2))
    for found in (
        associated_features(placed, start, values, df=3),
        branch_differences(placed, start, FORK, values, fork=1),
    ):
        assert found.statistic.isna().all()
        assert (found.p_value == 1).all()


def test_branches_with_one_or_two_samples_are_no_obstacle():
    placed, start = forked(40, share=(0.5, 0.5, 0.0))
    placed.edge[:2] = 2
    values = np.random.default_rng(0).standard_normal((40, 3))
    table = branch_differences(placed, start, FORK, values, fork=1)
    assert (table.df_num == 2).all()
    assert table.statistic.notna().all()
    assert associated_features(placed, start, values).statistic.notna().all()
    assert branch_markers(placed, FORK, values).statistic.notna().all()
    placed.edge[:2] = 1
    table = branch_differences(placed, start, FORK, values, fork=1)
    assert (table.p_value == 1).all()
    assert table.highest.isna().all()
    assert (branch_markers(placed, FORK, values).set_index("branch").loc["b", "p_value"] == 1).all()


@pytest.mark.parametrize("method", ["linear", "rank"])
def test_differences_are_the_f_test_of_one_curve_against_one_per_branch(method):
    placed, start = forked(150)
    rng = np.random.default_rng(2)
    values = rng.standard_normal((150, 5)) + np.outer(placed.edge == 2, np.arange(5) / 2) + 3
    table = branch_differences(placed, start, FORK, values, fork=1, method=method, sort=False)
    beyond = placed.edge > 0
    time = placed.position[beyond] * placed.lengths[placed.edge[beyond]]
    curve = smooth_functions(path(time / time.max(), time.max()), 3)
    seen = values[beyond]
    seen = stats.rankdata(seen, axis=0) if method == "rank" else seen
    on_a = placed.edge[beyond][:, None] == 1
    each = np.column_stack([curve * on_a, curve * ~on_a])
    assert_rows_are(table, [slow_f_test(curve, each, y) for y in seen.T])
    assert (table.df_num == 4).all()
    offset = np.linalg.lstsq(np.column_stack([on_a, curve]), seen, rcond=None)[0][0]
    np.testing.assert_allclose(table.difference, np.abs(offset), rtol=1e-8)
    assert (table.highest == np.where(offset > 0, "a", "b")).all()
    assert (table.lowest == np.where(offset > 0, "b", "a")).all()


def test_subtrees_belong_to_the_branch_that_leads_to_them():
    edges = np.array([[0, 1], [0, 2], [1, 3], [1, 4], [2, 4]])
    rng = np.random.default_rng(0)
    placed = Placement(5, edges, np.ones(5), rng.integers(5, size=200), rng.random(200))
    start, names = np.array([0, 0, 1, 1, 1.0]), list("abcde")
    values = rng.standard_normal((200, 1)) + 5 * (placed.edge == 2)[:, None]
    near = branch_differences(placed, start, names, values, fork=0, subtrees=False)
    whole = branch_differences(placed, start, names, values, fork=0)
    count = np.bincount(placed.edge)
    assert near.n_samples.item() == count[:2].sum()
    assert whole.n_samples.item() == 200
    assert near.p_value.item() > 0.01 > 1e-6 > whole.p_value.item()
    assert whole.highest.item() == "a"
    # Both ways lead to a last branch: it belongs to neither.
    joined = placed._replace(n_nodes=6, edges=np.vstack([edges, [[4, 5]]]), lengths=np.ones(6))
    joined.edge[:30] = 5
    table = branch_differences(joined, np.append(start, 2), [*names, "f"], values, fork=0)
    assert table.n_samples.item() == 170


def test_a_way_back_to_the_fork_does_not_lead_through_it():
    edges = np.array([[0, 1], [0, 2], [1, 0]])
    rng = np.random.default_rng(0)
    placed = Placement(3, edges, np.ones(3), rng.integers(3, size=60), rng.random(60))
    values = rng.standard_normal((60, 1)) + 9 * (placed.edge != 1)[:, None]
    table = branch_differences(placed, [0, 0, 1], list("abc"), values, fork=0)
    assert table.n_samples.item() == 60
    assert table.highest.item() == "a"
    assert table.difference.item() == pytest.approx(9, abs=1)


def test_markers_are_welch_tests_of_each_branch_against_the_rest():
    placed, _ = forked(80)
    values = np.random.default_rng(0).standard_normal((80, 4)) + 100
    values[:, 2] += placed.edge == 1
    table = branch_markers(placed, FORK, values, sort=False)
    assert table.branch.tolist() == np.repeat(FORK, 4).tolist()
    for number, name in enumerate(FORK):
        rows, inside = table[table.branch == name], placed.edge == number
        expected = stats.ttest_ind(values[inside], values[~inside], equal_var=False)
        np.testing.assert_allclose(rows.statistic, expected.statistic, rtol=1e-8)
        np.testing.assert_allclose(rows.p_value, expected.pvalue, rtol=1e-8)
        np.testing.assert_allclose(rows["mean"], values[inside].mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(rows.mean_rest, values[~inside].mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(rows.q_value, stats.false_discovery_control(rows.p_value))
        assert (rows.n_samples == inside.sum()).all()
    ranked = branch_markers(placed, FORK, values, method="rank", sort=False)
    again = branch_markers(placed, FORK, np.exp(values - 100), method="rank", sort=False)
    np.testing.assert_allclose(ranked.p_value, again.p_value, rtol=1e-10)


def test_sparse_values_give_the_same_tests():
    pd = pytest.importorskip("pandas")
    placed, start = forked(70)
    values = np.random.default_rng(0).poisson(0.4, (70, 9)).astype(float)
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        for method in ("linear", "rank"):
            pd.testing.assert_frame_equal(
                associated_features(placed, start, form(values), method=method),
                associated_features(placed, start, values, method=method),
            )
        pd.testing.assert_frame_equal(
            branch_differences(placed, start, FORK, form(values), fork=1),
            branch_differences(placed, start, FORK, values, fork=1),
        )


def test_results_do_not_depend_on_the_size_of_blocks(monkeypatch):
    pd = pytest.importorskip("pandas")
    placed, start = forked(70)
    values = np.random.default_rng(0).standard_normal((70, 9))
    values[3, 4] = np.nan
    whole = associated_features(placed, start, values)
    monkeypatch.setattr("branchwise.trajectory.checks.MAX_BLOCK", 140)
    pd.testing.assert_frame_equal(associated_features(placed, start, values), whole, rtol=1e-10)


def test_missing_values_are_left_out_feature_by_feature():
    placed, start = forked(90)
    rng = np.random.default_rng(0)
    values = rng.standard_normal((90, 3))
    values[:20, 0] = values[40:50, 2] = np.nan
    basis = smooth_functions(placed, 8)
    table = associated_features(placed, start, values, sort=False)
    expected = []
    for y in values.T:
        there = ~np.isnan(y)
        expected.append(slow_f_test(np.ones((there.sum(), 1)), basis[there], y[there]))
    assert_rows_are(table, expected)
    assert table.n_samples.tolist() == [70, 90, 80]
    values[:, 1] = np.nan
    table = associated_features(placed, start, values, sort=False)
    assert (table.n_samples[1], table.p_value[1]) == (0, 1)
    assert branch_differences(placed, start, FORK, values, fork=1, sort=False).p_value[1] == 1
    markers = branch_markers(placed, FORK, values)
    assert (markers[markers.feature == 1].p_value == 1).all()


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    scale=st.floats(1e-6, 1e6),
    shift=st.floats(-100, 100),
    stretch=st.floats(1e-3, 1e3),
)
def test_tests_depend_on_no_unit_and_no_order(seed, scale, shift, stretch):
    rng = np.random.default_rng(seed)
    placed, start = forked(60, seed)
    values = rng.standard_normal((60, 2))
    order = rng.permutation(60)
    other = placed._replace(
        edge=placed.edge[order], position=placed.position[order], lengths=stretch * placed.lengths
    )
    moved = scale * (values[order] + shift)
    columns = ["statistic", "p_value", "r_squared"]
    for test in (
        lambda where, times, y: associated_features(where, times, y, sort=False),
        lambda where, times, y: branch_differences(where, times, FORK, y, fork=1, sort=False),
    ):
        np.testing.assert_allclose(
            test(placed, start, values)[columns],
            test(other, stretch * start, moved)[columns],
            rtol=1e-5,
            atol=1e-9,
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "loess"}, "method='loess' must be one of 'linear', 'rank'"),
        ({"df": 0}, "df=0 must be a positive integer"),
        ({"fork": 0}, "fork=0 must be a milestone at which several branches start; choose from 1"),
        ({"fork": "x"}, "fork='x' must be a milestone"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    placed, start = forked(10)
    with pytest.raises(ValueError, match=message):
        branch_differences(placed, start, FORK, np.zeros((10, 1)), **{"fork": 1} | change)
    if "fork" not in change:
        with pytest.raises(ValueError, match=message):
            associated_features(placed, start, np.zeros((10, 1)), **change)


def test_a_tree_without_forks_has_no_differences():
    with pytest.raises(ValueError, match="but there is none; root the tree elsewhere"):
        branch_differences(path([0.5]), [0.0], ["path"], np.zeros((1, 1)), fork=1)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_any_graph_with_any_samples_has_tests(seed):
    """Forests, rings, loops, branches without length, and from no samples to some."""
    rng = np.random.default_rng(seed)
    n_branches = rng.integers(2, 8)
    edges = rng.integers(5, size=(n_branches, 2))
    edges[:2] = [[0, 1], [0, 2]]
    lengths = rng.choice([0.0, 1e-12, 1e-3, 1.0, 5.0], n_branches)
    n = int(rng.choice([0, 1, 2, 3, 10, 40]))
    position = rng.choice([0.0, 0.3, 1.0, rng.random()], n)
    placed = Placement(5, edges, lengths, rng.integers(n_branches, size=n), position)
    values = rng.standard_normal((n, 3)) * [1, 0, 1e6] + 7
    values[:, 2][rng.random(n) < 0.3] = np.nan
    names, start = [str(b) for b in range(n_branches)], np.zeros(n_branches)
    for table in (
        associated_features(placed, start, values),
        branch_differences(placed, start, names, values, fork=0),
        branch_markers(placed, names, values),
    ):
        assert table.p_value.between(0, 1).all()
        assert table.q_value.between(0, 1).all()
        assert (table.p_value[table.feature == 1] == 1).all()
        assert not (table.statistic[table.feature != 1].isna() & (table.p_value < 1)).any()
