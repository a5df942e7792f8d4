import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from scipy.interpolate import make_smoothing_spline

from branchwise.graph.placement import Placement
from branchwise.trajectory.trends import (
    MIN_INTERVALS,
    diagonalise,
    hat_values,
    knots_along,
    penalties,
    roughness,
    smooth,
    straight_and_bent,
    tree_trends,
)

from .trees import forked, path, times

FORK = ["stem", "a", "b"]
RING = Placement(1, np.array([[0, 0]]), np.array([2.0]), np.zeros(40, int), np.arange(40) / 40)


def curve(table, feature=0):
    return table[table.feature == feature].set_index("branch")


def slow_penalty(placed, knots):
    """P by a loop over consecutive knots of all ways through the graph, in the data's units."""
    P = np.zeros((knots.n_knots, knots.n_knots))

    def chain(b):
        inner = list(range(knots.first[b], knots.first[b] + knots.n_intervals[b] - 1))
        return [knots.ends[b, 0], *inner, knots.ends[b, 1]]

    def bend(x, y, z, h, k):
        row = np.zeros(len(P))
        row[x] += 1 / h
        row[y] -= 1 / h + 1 / k
        row[z] += 1 / k
        P[...] += np.outer(row, row) / ((h + k) / 2)

    width = [placed.lengths[b] / max(knots.n_intervals[b], 1) for b in range(len(placed.edges))]
    real = [b for b in range(len(placed.edges)) if knots.n_intervals[b] > 0]
    for b in real:
        ways = chain(b)
        for x, y, z in zip(ways, ways[1:], ways[2:], strict=False):
            bend(x, y, z, width[b], width[b])
        for c in real:
            if knots.ends[b, 1] == knots.ends[c, 0]:
                bend(ways[-2], ways[-1], chain(c)[1], width[b], width[c])
    return P


def slow_trend(placed, y, n_knots, n_points, lam, level):
    """Penalised least squares and its posterior by one dense inverse."""
    knots = knots_along(placed, n_knots)
    B = hat_values(knots, placed.edge, placed.position).toarray()
    branch = np.repeat(np.arange(len(placed.edges)), n_points)
    at = hat_values(knots, branch, np.tile(np.linspace(0, 1, n_points), len(placed.edges)))
    P = lam * slow_penalty(placed, knots)
    S = np.linalg.inv(B.T @ B + P)
    f = S @ B.T @ y
    degrees = len(y) - (len(P) - np.linalg.matrix_rank(P, tol=1e-7 * np.linalg.norm(P, 2)))
    sigma2 = (np.sum((y - B @ f) ** 2) + f @ P @ f) / degrees
    half = stats.t.ppf((1 + level) / 2, degrees) * np.sqrt(
        sigma2 * np.einsum("ij,jk,ik->i", at.toarray(), S, at.toarray())
    )
    return at @ f, half


@pytest.mark.parametrize("lam", [1e-3, 0.1, 10.0])
def test_trend_and_band_are_those_of_dense_penalised_least_squares(lam):
    placed, start = forked(60)
    y = np.random.default_rng(1).normal(3.0, 1.0, 60)
    table = tree_trends(placed, start, FORK, y[:, None], n_points=7, n_knots=30, lam=lam, level=0.9)
    mean, half = slow_trend(placed, y, 30, 7, lam, 0.9)
    np.testing.assert_allclose(table["mean"], mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(table["upper"], mean + half, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(table["lower"], mean - half, rtol=1e-8, atol=1e-8)


def test_trend_on_a_ring_is_periodic_and_that_of_dense_least_squares():
    y = np.random.default_rng(0).standard_normal(40)
    table = tree_trends(RING, [0.0], ["ring"], y[:, None], n_points=9, n_knots=20, lam=0.01)
    mean, half = slow_trend(RING, y, 20, 9, 0.01, 0.95)
    np.testing.assert_allclose(table["mean"], mean, atol=1e-8)
    np.testing.assert_allclose(table["upper"], mean + half, atol=1e-8)
    np.testing.assert_allclose(table["mean"].iloc[0], table["mean"].iloc[-1], atol=1e-12)


def test_without_lam_the_trend_averages_over_penalties_by_their_likelihood():
    """The marginal density of y under each penalty, from the covariance of the samples."""
    placed, start = forked(40)
    rng = np.random.default_rng(2)
    y = np.sin(3 * times(placed, start)) + 0.3 * rng.standard_normal(40)
    knots = knots_along(placed, 30)
    B = hat_values(knots, placed.edge, placed.position)
    smoother = diagonalise(*straight_and_bent(roughness(knots)), B)
    grid = penalties(smoother.gain, 40 - smoother.free.shape[1])
    assert len(grid) == 25
    straight, bent = straight_and_bent(roughness(knots))
    X, Z = B @ straight, B @ bent
    contrasts = np.linalg.svd(X)[0][:, X.shape[1] :]
    log_density, means = [], []
    for lam in grid:
        # y = Xβ + Zw + noise with w ~ N(0, σ²/λ); σ² at its best for each λ.
        V = contrasts.T @ (np.eye(40) + Z @ Z.T / lam) @ contrasts
        r = contrasts.T @ y
        sigma2 = r @ np.linalg.solve(V, r) / len(r)
        log_density.append(stats.multivariate_normal(cov=sigma2 * V).logpdf(r))
        table = tree_trends(
            placed, start, FORK, y[:, None], n_points=5, n_knots=30, lam=lam * knots.scale**3
        )
        means.append(table["mean"])
    weight = np.exp(np.array(log_density) - max(log_density))
    expected = weight @ np.array(means) / weight.sum()
    table = tree_trends(placed, start, FORK, y[:, None], n_points=5, n_knots=30)
    np.testing.assert_allclose(table["mean"], expected, atol=1e-8)


@pytest.mark.parametrize(("n_knots", "error"), [(100, 1e-3), (200, 2.5e-4), (400, 6e-5)])
def test_on_a_path_the_trend_is_the_smoothing_spline_up_to_the_square_of_the_spacing(
    n_knots, error
):
    rng = np.random.default_rng(1)
    x = np.sort(rng.random(100))
    y = np.sin(6 * x) + 0.2 * rng.standard_normal(100)
    table = tree_trends(path(x, 3.0), [0.0], ["path"], y[:, None], n_knots=n_knots, lam=0.01)
    spline = make_smoothing_spline(3 * x, y, lam=0.01)
    # Outside the samples SciPy continues a cubic, not the spline's straight line.
    inside = table.pseudotime.between(3 * x[0], 3 * x[-1])
    difference = (table["mean"] - spline(table.pseudotime))[inside]
    assert np.abs(difference).max() < error


def test_bands_hold_about_the_nominal_part_of_simulated_smooth_curves():
    placed, start = forked(300)
    rng = np.random.default_rng(3)
    amplitude, phase = rng.standard_normal((2, 3, 200))
    departure = rng.standard_normal((2, 200))

    def truth(branch, time):
        waves = sum(amplitude[k] * np.sin((k + 1) * time[:, None] + phase[k]) for k in range(3))
        since = np.maximum(time - 1, 0)[:, None] ** 2
        return waves + since * np.vstack([np.zeros(200), departure])[branch]

    values = truth(placed.edge, times(placed, start)) + rng.standard_normal((300, 200))
    table = tree_trends(placed, start, FORK, values, n_points=20)
    branch, time = np.repeat([0, 1, 2], 20), table.pseudotime.to_numpy()[:60]
    true = truth(branch, time).T.ravel()
    covered = (table.lower <= true) & (true <= table.upper)
    assert 0.93 < covered.mean() < 0.98
    for name in FORK:
        assert 0.91 < covered[table.branch == name].mean() < 0.985


def test_trends_meet_at_the_fork_and_leave_it_in_the_same_direction():
    placed, start = forked(200)
    y = np.random.default_rng(0).standard_normal(200) + 3 * (placed.edge == 1) * placed.position
    jumps = []
    for n_knots in (100, 200, 400):
        table = tree_trends(
            placed, start, FORK, y[:, None], n_points=2001, n_knots=n_knots, lam=0.1
        )
        ends = []
        for name, side in (("stem", slice(-2, None)), ("a", slice(2)), ("b", slice(2))):
            part = curve(table).loc[name].iloc[side]
            ends.append(part["mean"].iloc[-1 if name == "stem" else 0])
            ends.append(np.diff(part["mean"]).item() / np.diff(part["pseudotime"]).item())
        assert np.ptp(ends[::2]) < 1e-12
        jumps.append(np.ptp(ends[1::2]))
    # The curve is a polygon, whose bend at the fork vanishes with the distance of its knots.
    assert jumps[0] > 1.8 * jumps[1] > 1.8**2 * jumps[2] > 0


def test_a_branch_with_two_samples_has_wide_bands():
    placed, start = forked(400, share=(0.5, 0.5, 0.0))
    placed.edge[:2] = 2
    placed.position[:2] = [0.3, 0.6]
    time = times(placed, start)
    y = np.sin(3 * time) + 0.1 * np.random.default_rng(0).standard_normal(400)
    rows = curve(tree_trends(placed, start, FORK, y[:, None]))
    assert rows.loc["b", "n_samples"].eq(2).all()
    width = (rows.upper - rows.lower).groupby(level=0, observed=True).mean()
    assert np.isfinite(width).all()
    assert width["b"] > 3 * width["a"]


@pytest.mark.parametrize("counts", [(30, 30, 1), (1, 1, 1), (0, 3, 0), (20, 3, 2)])
def test_branches_with_hardly_any_samples_continue_the_one_before(counts):
    edge = np.repeat([0, 1, 2], counts)
    rng = np.random.default_rng(0)
    placed = forked(0)[0]._replace(edge=edge, position=rng.random(len(edge)))
    table = tree_trends(placed, [0, 1, 1], FORK, rng.standard_normal((len(edge), 2)))
    assert table["mean"].notna().all()
    assert (table.n_samples.to_numpy().reshape(2, 3, -1)[:, :, 0] == counts).all()
    assert (table.lower <= table["mean"]).all()


def with_a_gap(n_samples=400, start=0.3, stop=0.6):
    """Samples on a fork, of which one branch lacks those between two places."""
    placed, start_time = forked(n_samples)
    there = (placed.edge != 1) | (placed.position < start) | (placed.position > stop)
    return placed._replace(edge=placed.edge[there], position=placed.position[there]), start_time


def test_empty_stretches_are_blank_and_nothing_else_changes():
    placed, start = with_a_gap()
    y = np.random.default_rng(0).standard_normal((len(placed.edge), 2))
    table = tree_trends(placed, start, FORK, y)
    blank = table["mean"].isna()
    gap = (table["branch"] == FORK[1]) & table["position"].between(0.33, 0.57)
    assert blank[gap].all()
    assert not blank[~((table["branch"] == FORK[1]) & table["position"].between(0.3, 0.6))].any()
    for column in ("lower", "upper"):
        np.testing.assert_array_equal(table[column].isna(), blank)
    assert table["pseudotime"].notna().all()
    knots = knots_along(placed, 200)
    B = hat_values(knots, placed.edge, placed.position)
    places = np.repeat(np.arange(3), 50), np.tile(np.linspace(0, 1, 50), 3)
    at = hat_values(knots, *places)
    smoother = diagonalise(*straight_and_bent(roughness(knots)), B)
    mean, half = smooth(smoother, B, at, y, 0.95)
    for column, expected in (("mean", mean), ("lower", mean - half), ("upper", mean + half)):
        found = table[column].to_numpy()[~blank]
        np.testing.assert_allclose(found, expected.T.ravel()[~blank], atol=1e-12)


def test_where_a_feature_has_no_values_it_is_blank_though_others_have():
    placed, start = forked(400)
    y = np.random.default_rng(0).standard_normal((400, 2))
    y[(placed.edge == 1) & (placed.position > 0.3) & (placed.position < 0.6), 1] = np.nan
    table = tree_trends(placed, start, FORK, y, ["all", "some"])
    blank = table["mean"].isna()
    assert not blank[table["feature"] == "all"].any()
    assert blank[(table["feature"] == "some") & (table["branch"] == FORK[1])].sum() > 8


def test_blank_cells_of_a_file_are_empty():
    placed, start = with_a_gap()
    y = np.zeros((len(placed.edge), 1))
    rows = tree_trends(placed, start, FORK, y).to_csv(index=False).splitlines()
    assert any(",,,," in row for row in rows)
    assert not any("nan" in row.lower() for row in rows)


def test_where_no_sample_tells_the_mean_it_is_missing():
    """Two branches from the root, one without samples; and a tree without samples."""
    edges = np.array([[0, 1], [0, 2], [3, 4]])
    placed = Placement(5, edges, np.ones(3), np.zeros(20, int), np.linspace(0, 1, 20))
    y = np.random.default_rng(0).standard_normal((20, 1))
    rows = curve(tree_trends(placed, [0, 0, 0], ["full", "bare", "lone"], y))
    assert rows.loc["full", "mean"].notna().all()
    # The start of the bare branch is the root, whose value is known.
    assert rows.loc["bare", "mean"].isna().tolist() == [False] + 49 * [True]
    assert rows.loc["lone", ["mean", "lower", "upper"]].isna().all(axis=None)
    empty = placed._replace(edge=np.array([], int), position=np.array([]))
    table = tree_trends(empty, [0, 0, 0], ["full", "bare", "lone"], np.zeros((0, 1)))
    assert table["mean"].isna().all()


def test_bands_are_missing_without_degrees_of_freedom():
    table = tree_trends(path([0.2, 0.7]), [0.0], ["path"], np.array([[1.0], [2.0]]))
    np.testing.assert_allclose(table["mean"], 1 + 2 * (table.position - 0.2), atol=1e-8)
    assert table.upper.isna().all()


def test_branches_without_length_are_points():
    edges = np.array([[0, 1], [1, 2], [2, 3], [4, 4]])
    lengths = np.array([1.0, 0.0, 1.0, 0.0])
    rng = np.random.default_rng(0)
    placed = Placement(5, edges, lengths, rng.integers(4, size=80), rng.random(80))
    y = rng.standard_normal((80, 1))
    rows = curve(tree_trends(placed, [0, 1, 1, 0], list("abcd"), y, lam=1.0))
    joint = rows.loc["a", "mean"].iloc[-1]
    np.testing.assert_allclose(rows.loc["b", "mean"], joint, atol=1e-12)
    assert rows.loc["c", "mean"].iloc[0] == pytest.approx(joint, abs=1e-12)
    lone = placed.edge == 3
    np.testing.assert_allclose(rows.loc["d", "mean"], y[lone].mean(), atol=1e-8)


def test_missing_values_are_left_out_feature_by_feature():
    placed, start = forked(90)
    rng = np.random.default_rng(0)
    values = rng.standard_normal((90, 4))
    values[:30, 1] = np.nan
    values[10:20, 3] = np.nan
    table = tree_trends(placed, start, FORK, values, list("wxyz"))
    for number, name in enumerate("wxyz"):
        there = ~np.isnan(values[:, number])
        part = placed._replace(edge=placed.edge[there], position=placed.position[there])
        alone = tree_trends(part, start, FORK, values[there, number][:, None], [name])
        found = table[table.feature == name]
        for column in ("mean", "lower", "upper", "n_samples"):
            np.testing.assert_allclose(found[column], alone[column], rtol=1e-9, atol=1e-9)
    values[:, 2] = np.nan
    table = tree_trends(placed, start, FORK, values)
    assert table[table.feature == 2]["mean"].isna().all()
    assert table[table.feature == 0]["mean"].notna().all()


def test_sparse_values_and_data_frames_give_the_same_trends():
    pd = pytest.importorskip("pandas")
    placed, start = forked(50)
    values = np.random.default_rng(0).poisson(0.5, (50, 6)).astype(float)
    names = [f"g{k}" for k in range(6)]
    expected = tree_trends(placed, start, FORK, values, names)
    frame = pd.DataFrame(values, columns=names)
    pd.testing.assert_frame_equal(tree_trends(placed, start, FORK, frame), expected)
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        found = tree_trends(placed, start, FORK, form(values), names)
        pd.testing.assert_frame_equal(found, expected)


def test_a_constant_feature_has_a_constant_trend():
    placed, start = forked(50)
    table = tree_trends(placed, start, FORK, np.full((50, 1), 0.1))
    for column in ("mean", "lower", "upper"):
        np.testing.assert_allclose(table[column], 0.1, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    scale=st.floats(1e-6, 1e6),
    shift=st.floats(-1e3, 1e3),
    stretch=st.floats(1e-3, 1e3),
)
def test_trends_follow_units_of_values_and_of_time(seed, scale, shift, stretch):
    rng = np.random.default_rng(seed)
    n_branches = int(rng.integers(1, 6))
    edges = np.array([[rng.integers(k + 1), k + 1] for k in range(n_branches)])
    lengths = rng.uniform(0.1, 1.0, n_branches)
    n = int(rng.integers(n_branches + 8, 40))
    placed = Placement(
        n_branches + 1, edges, lengths, rng.integers(n_branches, size=n), rng.random(n)
    )
    y = rng.standard_normal((n, 1))
    names = [str(k) for k in range(n_branches)]
    start = np.zeros(n_branches)
    plain = tree_trends(placed, start, names, y, n_points=6, n_knots=40)
    other = placed._replace(lengths=stretch * lengths)
    moved = tree_trends(other, start, names, scale * (y + shift), n_points=6, n_knots=40)
    for column in ("mean", "lower", "upper"):
        spread = np.nanmax(np.abs(plain[column]), initial=1.0)
        found = moved[column] / scale - shift
        np.testing.assert_allclose(found, plain[column], atol=1e-7 * spread)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n_knots=st.integers(1, 60))
def test_straight_functions_cost_nothing_and_bends_cost_their_square(seed, n_knots):
    rng = np.random.default_rng(seed)
    edges, lengths = np.array([[0, 1], [1, 2], [1, 3]]), rng.uniform(0.05, 1.0, 3)
    none = np.array([], int), np.array([])
    placed = Placement(4, edges, lengths, *none)
    knots = knots_along(placed, n_knots)
    assert (knots.n_intervals >= MIN_INTERVALS).all()
    time = np.zeros(knots.n_knots)
    start = np.array([0.0, lengths[0], lengths[0]])
    for b in range(3):
        steps = np.linspace(0, 1, knots.n_intervals[b] + 1)
        hats = hat_values(knots, np.full(len(steps), b), steps)
        time[hats.indices[hats.data > 0.5]] = start[b] + steps * lengths[b]
    time /= lengths.sum()
    D = roughness(knots)
    np.testing.assert_allclose(D @ (3 - 2 * time), 0, atol=1e-6 * np.abs(D).max())
    # ∫(t²)''² = 4·length, but for half an interval at each tip, and the fork counted per branch.
    width = knots.lengths / knots.n_intervals
    expected = 4 * (1 - width.sum() / 2 + width[0] / 2)
    np.testing.assert_allclose(np.sum((D @ time**2) ** 2), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lam": 0.0}, r"lam=0.0 must be a positive finite number; leave it out"),
        ({"level": 1.0}, r"level=1.0 must be between 0 and 1"),
        ({"n_points": 0}, r"n_points=0 must be a positive integer"),
        ({"n_knots": 2.5}, r"n_knots=2.5 must be a positive integer"),
        ({"start_time": [0.0]}, r"start_time has shape \(1,\) but must have one value for each"),
        ({"branch_names": ["a", "b"]}, r"branch_names has shape \(2,\) but must have one value"),
        ({"branch_names": ["a", "b", "a"]}, r"branch_names must differ from each other"),
        ({"values": np.zeros((9, 1))}, r"values has shape \(9, 1\) but must be .* n_samples=10"),
        ({"values": np.zeros((10, 0))}, r"values has shape \(10, 0\) .* at least one feature"),
        ({"values": np.full((10, 1), np.inf)}, r"values holds an infinite number, but every"),
        ({"values": np.full((10, 1), 1e200)}, r"values holds a value of size 1e\+200, but"),
        ({"feature_names": ["x", "y"]}, r"feature_names has 2 names, but values has 1 columns"),
        (
            {"values": np.zeros((10, 2)), "feature_names": ["x", "x"]},
            r"feature_names holds 'x' more than once, but names must differ",
        ),
    ],
)
def test_wrong_arguments_are_named(change, message):
    placed, start = forked(10)
    arguments = {"start_time": start, "branch_names": FORK, "values": np.zeros((10, 1))} | change
    with pytest.raises(ValueError, match=message):
        tree_trends(placed, **arguments)


def test_text_is_no_feature():
    placed, start = forked(2)
    with pytest.raises(TypeError, match="values must hold numbers, but could not convert"):
        tree_trends(placed, start, FORK, np.array([["x"], ["y"]]))


def test_a_table_too_large_for_memory_is_refused():
    placed, start = forked(10)
    with pytest.raises(MemoryError, match="pass fewer features or lower n_points"):
        tree_trends(placed, start, FORK, np.zeros((10, 1)), n_points=10**13)


def test_too_many_knots_for_memory_are_refused():
    placed, start = forked(10)
    with pytest.raises(MemoryError, match=r"Smoothing with .* knots needs about .*; lower n_knots"):
        tree_trends(placed, start, FORK, np.zeros((10, 1)), n_knots=10**8)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_any_graph_with_any_samples_has_trends(seed):
    """Forests, rings, loops, branches without length, and from no samples to some."""
    rng = np.random.default_rng(seed)
    n_nodes, n_branches = rng.integers(1, 6), rng.integers(1, 8)
    edges = rng.integers(n_nodes, size=(n_branches, 2))
    lengths = rng.choice([0.0, 1e-12, 1e-3, 1.0, 5.0], n_branches)
    n = int(rng.choice([0, 1, 2, 3, 10, 40]))
    position = rng.choice([0.0, 0.3, 1.0, rng.random()], n)
    placed = Placement(int(n_nodes), edges, lengths, rng.integers(n_branches, size=n), position)
    values = rng.standard_normal((n, 3)) * [1, 0, 1e6] + 7
    values[:, 2][rng.random(n) < 0.3] = np.nan
    names = [str(b) for b in range(n_branches)]
    table = tree_trends(placed, np.zeros(n_branches), names, values, n_points=4, n_knots=30)
    known = table[table["mean"].notna()]
    # Where there are samples, there is a trend.
    occupied = table[(table.n_samples > 0) & (table.feature == 0)].branch.unique()
    for name in occupied:
        at = position[placed.edge == int(name)]
        rows = known[(known.feature == 0) & (known.branch == name)]
        assert set(at[np.isin(at, [0.0, 1.0])]) <= set(rows.position)
    banded = known[known.lower.notna()]
    assert (banded.lower <= banded["mean"]).all()
    assert (banded["mean"] <= banded.upper).all()
    constant = known[known.feature == 1]
    np.testing.assert_allclose(constant["mean"], 7, rtol=1e-6)
