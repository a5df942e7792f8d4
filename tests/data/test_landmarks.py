"""A few rows that stand for all."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats
from scipy.spatial.distance import cdist

from branchwise.data.dask_errors import ChunkError
from branchwise.data.landmarks import Leaders, choose_landmarks, joined, race, rounds, uniform
from branchwise.data.moments import extremes
from branchwise.data.row_order import canonical_keys, shift_and_range

da = pytest.importorskip("dask.array")

SEEDS = st.integers(0, 2**32 - 1)


def points(n_rows, n_features=3, seed=0):
    """Simulated rows, some of them equal."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * rng.exponential(size=(n_rows, 1))
    return X[rng.integers(n_rows, size=n_rows)]


def slow_landmarks(X, n_landmarks, seed):
    """The same choice, row by row: a race in each round."""
    shift, size = shift_and_range(*extremes(X))
    keys = canonical_keys(X, shift, size)
    salts = np.random.RandomState(seed).randint(2**63, size=3, dtype=np.int64)
    half = -(-n_landmarks // 2)
    quarter = -(-(n_landmarks - half) // 2)
    chosen = []
    for salt, n_rows in zip(salts, (half, quarter, n_landmarks - half - quarter), strict=True):
        arrivals = {}
        for i, key in enumerate(keys):
            if key in keys[chosen] or key in keys[:i]:
                continue
            weight = min((np.sum((X[i] - X[j]) ** 2) for j in chosen), default=size**2) / size**2
            arrivals[i] = -np.log(uniform(keys[i : i + 1], salt)[0]) / weight
        chosen += sorted(arrivals, key=arrivals.get)[:n_rows]
    return sorted(chosen)


@given(st.integers(1, 40), st.integers(2, 30), SEEDS)
def test_the_choice_is_that_of_a_race_row_by_row(n_rows, n_landmarks, seed):
    X = points(n_rows, seed=seed)
    _, numbers = choose_landmarks(X, n_landmarks, random_state=seed)
    assert numbers.tolist() == slow_landmarks(X, n_landmarks, seed)


@given(st.lists(st.integers(0, 60), max_size=6), st.integers(1, 30), SEEDS)
def test_chunks_do_not_matter(cuts, n_landmarks, seed):
    X = points(60, seed=seed)
    sizes = tuple(np.diff([0, *sorted(cuts), 60]).tolist())
    chunks = da.from_array(X).rechunk((sizes, 2))
    rows, numbers = choose_landmarks(chunks, n_landmarks, random_state=seed)
    expected, expected_numbers = choose_landmarks(X, n_landmarks, random_state=seed)
    np.testing.assert_array_equal(numbers, expected_numbers)
    np.testing.assert_array_equal(rows, expected, strict=True)
    np.testing.assert_array_equal(rows, X[numbers])


@given(st.permutations(range(50)), st.integers(1, 25), SEEDS)
def test_order_and_units_do_not_matter(order, n_landmarks, seed):
    X = points(50, seed=seed)
    other = 1000 * X[order]
    rows, _ = choose_landmarks(X, n_landmarks, random_state=seed)
    chunks = da.from_array(other, chunks=(13, 3))
    again, numbers = choose_landmarks(chunks, n_landmarks, random_state=seed)
    np.testing.assert_array_equal(np.sort(numbers), numbers)
    np.testing.assert_allclose(np.unique(1000 * rows, axis=0), np.unique(again, axis=0), rtol=1e-12)


@given(st.integers(1, 30), st.integers(1, 40), SEEDS)
def test_there_are_as_many_distinct_rows_as_asked_for_or_all(n_rows, n_landmarks, seed):
    X = points(n_rows, seed=seed)
    chunks = da.from_array(X, chunks=(7, 3))
    rows, numbers = choose_landmarks(chunks, n_landmarks, random_state=seed)
    distinct, first = np.unique(X, axis=0, return_index=True)
    assert len(rows) == len(np.unique(rows, axis=0)) == min(n_landmarks, len(distinct))
    # Of equal rows, the first.
    assert set(numbers.tolist()) <= set(first.tolist())


def test_equal_rows_are_one_row():
    rows, numbers = choose_landmarks(da.ones((20, 2), chunks=6), 5, random_state=0)
    np.testing.assert_array_equal(rows, [[1.0, 1.0]])
    assert numbers.tolist() == [0]


def test_seeds_are_honoured():
    X = points(200)
    choices = [choose_landmarks(X, 20, random_state=seed)[1].tolist() for seed in (0, 0, 1, 2)]
    assert choices[0] == choices[1]
    assert len({tuple(choice) for choice in choices}) == 3
    drawn = np.random.RandomState(0)
    assert choose_landmarks(X, 20, random_state=drawn)[1].tolist() == choices[0]
    assert choose_landmarks(X, 20, random_state=drawn)[1].tolist() != choices[0]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint8", "bool"])
def test_the_type_is_kept(dtype):
    X = np.abs(10 * points(80)).astype(dtype)
    rows, numbers = choose_landmarks(da.from_array(X, chunks=(30, 3)), 6, random_state=0)
    np.testing.assert_array_equal(rows, X[numbers], strict=True)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_chunks_give_the_same_rows_as_dense_ones(kind):
    X = points(80, 5).round()
    chunks = da.from_array(X, chunks=(30, 5)).map_blocks(kind)
    rows, numbers = choose_landmarks(chunks, 12, random_state=0)
    assert sparse.issparse(rows)
    np.testing.assert_array_equal(rows.toarray(), X[numbers])
    np.testing.assert_array_equal(numbers, choose_landmarks(X, 12, random_state=0)[1])
    np.testing.assert_array_equal(numbers, choose_landmarks(kind(X), 12, random_state=0)[1])


def test_the_numbers_of_the_hash_are_uniform_and_those_of_two_rounds_independent():
    keys = canonical_keys(points(20_000), np.zeros(3), 1.0)
    u, v = uniform(np.unique(keys), 1), uniform(np.unique(keys), 2)
    assert stats.kstest(u, "uniform").pvalue > 0.01
    table = np.histogram2d(u, v, bins=8, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(table.ravel()).pvalue > 0.01


def test_rows_are_drawn_with_the_stated_probabilities():
    """One row uniformly, the next by its squared distance, the third by that from both."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [-2.0, -1.0]])
    squares = cdist(X, X, "sqeuclidean")
    # rounds(4) is 2, 1, 1: pairs first, each as likely as any other.
    expected = {}
    for pair in itertools.combinations(range(5), 2):
        w = squares[list(pair)].min(axis=0)
        for third in set(range(5)) - set(pair):
            w2 = squares[[*pair, third]].min(axis=0)
            for fourth in set(range(5)) - {*pair, third}:
                left_out = (set(range(5)) - {*pair, third, fourth}).pop()
                p = 0.1 * w[third] / w.sum() * w2[fourth] / w2.sum()
                expected[left_out] = expected.get(left_out, 0.0) + p
    assert sum(expected.values()) == pytest.approx(1)
    n_draws = 2000
    counts = np.zeros(5)
    for seed in range(n_draws):
        counts[np.setdiff1d(range(5), choose_landmarks(X, 4, random_state=seed)[1])] += 1
    test = stats.chisquare(counts, [n_draws * expected[i] for i in range(5)])
    assert test.pvalue > 0.01
    # The test would notice if all were as likely.
    assert stats.chisquare(counts).pvalue < 1e-6


def test_a_race_is_a_draw_without_replacement():
    """P(i, then j) = w_i/W · w_j/(W − w_i), the weights being squared distances from the first."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    w = np.array([1.0, 4.0, 9.0])
    given = {"n_rows": 2, "first": np.array([0]), "shift": np.array([1.5]), "size": 3.0}
    taken = canonical_keys(X[:1], given["shift"], 3.0)
    counts = dict.fromkeys(itertools.permutations(range(1, 4), 2), 0)
    n_draws = 3000
    salts = np.random.default_rng(0).integers(2**63, size=n_draws)
    for salt in salts:
        found = race(X, 0, salt=int(salt), landmarks=X[:1], taken=taken, **given)
        counts[tuple(found.number.tolist())] += 1
    expected = {
        (i, j): n_draws * w[i - 1] / w.sum() * w[j - 1] / (w.sum() - w[i - 1]) for i, j in counts
    }
    assert stats.chisquare(list(counts.values()), list(expected.values())).pvalue > 0.01


def test_a_rare_branch_is_kept():
    """Simulated: 0.2 % of the points on a far branch."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5))
    rare = rng.choice(20_000, 40, replace=False)
    X[rare] = 0.1 * rng.normal(size=(40, 5)) + np.linspace(8, 20, 40)[:, None] * np.eye(5)[0]
    chunks = da.from_array(X, chunks=(6000, 5))
    for seed in range(5):
        _, numbers = choose_landmarks(chunks, 400, random_state=seed)
        kept = X[np.intersect1d(numbers, rare), 0]
        # Of 400 rows drawn uniformly, 0.8 are expected there.
        assert len(kept) >= 4
        assert kept.max() - kept.min() > 7


def test_half_of_the_landmarks_follow_the_density():
    """Simulated: 9 of 10 points in one of two equally wide groups."""
    rng = np.random.default_rng(0)
    side = rng.random(4000) < 0.9
    X = rng.normal(size=(4000, 2)) + np.where(side, 0.0, 30.0)[:, None]
    shares = [
        side[choose_landmarks(X, 200, random_state=seed)[1]][:200].mean() for seed in range(5)
    ]
    assert 0.7 < np.mean(shares) < 0.9


def test_only_so_many_rows_leave_a_chunk(monkeypatch):
    sizes = []
    merge = Leaders.__call__

    def watched(self, a, b):
        sizes.append((self.n_rows, len(a.row), len(b.row)))
        return merge(self, a, b)

    monkeypatch.setattr(Leaders, "__call__", watched)
    choose_landmarks(da.from_array(points(300), chunks=(100, 3)), 10, random_state=0)
    assert sizes == [(n, n, n) for n in rounds(10) for _ in range(2)]


@given(st.integers(1, 10_000))
def test_rounds_share_the_landmarks(n_landmarks):
    sizes = rounds(n_landmarks)
    assert sum(sizes) == n_landmarks
    assert sizes[0] >= sizes[1] >= sizes[2] >= 0
    assert sizes[0] - n_landmarks / 2 <= 0.5


def test_equal_rows_of_two_chunks_meet_as_one():
    X = points(40)
    given = {"n_rows": 50, "salt": 1, "first": np.array([0, 40]), "landmarks": None, "taken": None}
    given |= dict(zip(("shift", "size"), shift_and_range(*extremes(X)), strict=True))
    a, b = race(X, 0, **given), race(X[::-1], 1, **given)
    both = Leaders(50)(b, a)
    assert len(joined(a, b).key) == 2 * len(both.key)
    np.testing.assert_array_equal(both.number, a.number)


def test_bad_values_are_told():
    X = points(30)
    for wrong in (0, -3, 2.5, True, "all"):
        with pytest.raises(ValueError, match=r"n_landmarks=.* must be a positive integer; pass 1"):
            choose_landmarks(X, wrong)
    with pytest.raises(ValueError, match="X has no rows but must have one at least"):
        choose_landmarks(da.empty((0, 3)), 5)
    X[17, 2] = np.nan
    with pytest.raises(ChunkError, match=r"X\[17, 2\] is NaN, in row 7 of chunk 1, but"):
        choose_landmarks(da.from_array(X, chunks=(10, 3)), 5)
    with pytest.raises(ChunkError, match=r"X\[17, 2\] is NaN, in row 17 of chunk 0, but"):
        choose_landmarks(X, 5)
    with pytest.raises(ValueError, match="chunks of unknown size"):
        choose_landmarks(da.from_array(X)[da.from_array(X)[:, 0] > 0], 5)
