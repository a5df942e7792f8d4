"""Dask arrays are prepared as the same rows are in memory, chunk by chunk."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from branchwise import DDRTree, Preparation
from branchwise.data.dask_errors import ChunkError
from branchwise.preprocessing import dask as chunked
from branchwise.preprocessing.dask import (
    MomentsInUnits,
    block_moments,
    iterated_eigenpairs,
    merge_in_units,
)

from ..conftest import branching

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

N, D = 60, 6
ALL_STEPS = [
    {},
    {"log1p": True},
    {"standardize": True},
    {"log1p": True, "standardize": True},
    {"pca": 3},
    {"standardize": True, "pca": 3},
    {"log1p": True, "standardize": True, "pca": 3},
]


def counts(n_samples=N, n_features=D, seed=0):
    """Simulated values, most of them zero, whose principal axes are far from ambiguous."""
    rng = np.random.default_rng(seed)
    return rng.poisson(0.7, size=(n_samples, n_features)) * rng.gamma(
        2.0, 2.0 ** np.arange(n_features), size=(n_samples, n_features)
    )


X = counts()


def as_dask(table, chunks=17):
    """Chunks of a table; those of a sparse matrix are sparse."""
    if sparse.issparse(table):
        return da.from_array(table.toarray(), chunks=(chunks, -1)).map_blocks(type(table))
    return da.from_array(table, chunks=(chunks, -1))


def dense(table):
    return table.toarray() if sparse.issparse(table) else table


def assert_same_steps(one, other, rtol=1e-9):
    assert one.steps_.keys() == other.steps_.keys()
    for name, step in one.steps_.items():
        assert type(step) is type(other.steps_[name])
        for learned, expected in zip(step, other.steps_[name], strict=True):
            assert isinstance(learned, np.ndarray | bool | None)  # nothing lazy
            assert (learned is None) == (expected is None)
            if learned is None:
                continue
            np.testing.assert_allclose(learned, expected, rtol=rtol, atol=rtol)


def no_scheduler(*args, **options):
    raise AssertionError("something was computed")


def lazily(method, *args):
    """What comes back without a single task being run."""
    with dask.config.set(scheduler=no_scheduler):
        return method(*args)


# The same as in memory


@pytest.mark.parametrize("steps", ALL_STEPS, ids=str)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_dask_and_memory_agree(steps, kind, scheduler):
    table = kind(X)
    in_memory = Preparation(**steps).fit(table)
    with dask.config.set(scheduler=scheduler):
        model = Preparation(**steps).fit(as_dask(table))
        assert_same_steps(model, in_memory)
        lazy = lazily(model.transform, as_dask(table, 23))
        assert isinstance(lazy, da.Array)
        assert lazy.chunks == ((23, 23, 14), (steps.get("pca", D),))
        made = lazy.compute()
    expected = in_memory.transform(table)
    assert type(made) is type(expected)
    assert type(lazy._meta) is type(expected)
    assert made.dtype == lazy.dtype == expected.dtype
    np.testing.assert_allclose(dense(made), dense(expected), rtol=1e-9, atol=1e-9)
    # Estimators know the samples that they were fitted to by the bits of their rows.
    np.testing.assert_array_equal(dense(made), dense(model.transform(table)))
    again = Preparation(**steps).fit_transform(as_dask(table))
    np.testing.assert_array_equal(dense(again.compute()), dense(made))


@given(
    chunks=st.lists(st.integers(0, 30), min_size=1, max_size=8).filter(any),
    steps=st.sampled_from(ALL_STEPS),
    is_sparse=st.booleans(),
    seed=st.integers(0, 99),
)
def test_chunks_make_no_difference(chunks, steps, is_sparse, seed):
    table = counts(max(sum(chunks), 8), seed=seed)
    table[:, 1] = seed  # a constant
    chunks = (*chunks, len(table) - sum(chunks))
    table = sparse.csr_array(table) if is_sparse else table
    in_memory = Preparation(**steps).fit(table)
    with dask.config.set(scheduler="synchronous"):
        model = Preparation(**steps)
        lazy = model.fit_transform(as_dask(table, chunks))
        assert lazy.chunks[0] == chunks
        made = lazy.compute()
    assert_same_steps(model, in_memory, 1e-7)
    np.testing.assert_allclose(dense(made), dense(in_memory.transform(table)), rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool", "float16"])
def test_precision_is_that_in_memory(dtype):
    table = X.round().clip(0, 1000).astype(dtype)
    in_memory = Preparation(standardize=True, pca=2).fit(table)
    model = Preparation(standardize=True, pca=2).fit(as_dask(table))
    assert_same_steps(model, in_memory)
    made = model.transform(as_dask(table))
    assert made.dtype == made.compute().dtype == in_memory.transform(table).dtype


def test_large_means_cost_no_digits(rng):
    table = rng.normal(size=(1000, 4)) * [1.0, 3.0, 1e-3, 10.0] + [1e6, -3e6, 1e3, 0.0]
    # Means that differ between the chunks, too.
    table[500:] += [20.0, 0.0, 0.01, -5.0]
    # Both in extended precision, which has three digits more.
    exact = table.astype(np.longdouble)
    mean, scale = exact.mean(axis=0), exact.std(axis=0)
    for kind in (np.asarray, sparse.csr_array):
        model = Preparation(standardize=True, pca=3).fit(as_dask(kind(table), 101))
        learned = model.steps_["standardize"]
        np.testing.assert_allclose(learned.mean, mean.astype(float), rtol=1e-13)
        np.testing.assert_allclose(learned.scale, scale.astype(float), rtol=1e-10)
        Y = ((exact - mean) / scale).astype(float)
        values = np.linalg.eigvalsh(Y.T @ Y)[:0:-1]
        np.testing.assert_allclose(
            model.steps_["pca"].variance_ratio, values / (4 * 1000), rtol=1e-9
        )


@pytest.mark.parametrize("size", [1e-200, 1e-160, 1.0, 1e140])
def test_no_square_vanishes_or_overflows(size):
    table = size * X
    scales = Preparation(standardize=True).fit(table).steps_["standardize"]
    learned = Preparation(standardize=True, pca=3).fit(as_dask(table)).steps_
    np.testing.assert_allclose(learned["standardize"].scale, scales.scale, rtol=1e-12)
    plain = Preparation(pca=3).fit(as_dask(table)).steps_["pca"]
    expected = Preparation(pca=3).fit(X).steps_["pca"]
    np.testing.assert_allclose(plain.components, expected.components, atol=1e-9)
    np.testing.assert_allclose(plain.variance_ratio, expected.variance_ratio, rtol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_constants_have_no_scale_by_the_same_rule(rng, kind):
    table = rng.normal(size=(50, 5))
    table[:, 0] = 0.1
    table[:, 1] = 0.0
    table[:, 2] = 1e8 + np.arange(50) % 2 * 2e-8  # rounding
    table[:, 3] = np.arange(50) < 25  # constant in each chunk, not in all
    in_memory = Preparation(standardize=True).fit(kind(table)).steps_["standardize"]
    learned = Preparation(standardize=True).fit(as_dask(kind(table), 25)).steps_["standardize"]
    assert (learned.scale == 0).tolist() == [True, True, True, False, False]
    np.testing.assert_array_equal(learned.scale == 0, in_memory.scale == 0)
    model = Preparation(standardize=True).fit(as_dask(kind(table), 25))
    new = kind(table + rng.normal(size=table.shape))
    assert (dense(model.transform(as_dask(new)).compute())[:, :3] == 0).all()


@given(cuts=st.lists(st.integers(1, 39), max_size=6), seed=st.integers(0, 99))
def test_moments_of_parts_are_those_of_the_whole(cuts, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 3)) * 10.0 ** rng.integers(-30, 30, size=(40, 1))
    parts = [part for part in np.split(rows, sorted(cuts)) if len(part)]
    merged = block_moments(parts[0], 1.0, True)
    for part in parts[1:]:
        merged = merge_in_units(merged, block_moments(part, 1.0, True))
    unit, moments = merged.unit, merged.moments
    assert moments.n_rows == 40
    np.testing.assert_array_equal(moments.low * unit, rows.min(axis=0))
    np.testing.assert_array_equal(moments.high * unit, rows.max(axis=0))
    mean = rows.mean(axis=0)
    np.testing.assert_allclose(moments.mean * unit, mean, rtol=1e-12, atol=0)
    Y = (rows - mean) / unit
    np.testing.assert_allclose(moments.products, Y.T @ Y, atol=1e-12)


def test_data_are_zero_along_axes_beyond_their_rank(rng):
    table = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 5))
    in_memory = Preparation(pca=4).fit(table).steps_["pca"]
    model = Preparation(pca=4).fit(as_dask(table))
    axes = model.steps_["pca"]
    np.testing.assert_allclose(axes.components[:2], in_memory.components[:2], atol=1e-9)
    np.testing.assert_allclose(axes.components @ axes.components.T, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(axes.variance_ratio, in_memory.variance_ratio, atol=1e-12)
    np.testing.assert_allclose(model.transform(as_dask(table)).compute()[:, 2:], 0, atol=1e-12)
    same = np.ones((10, 3))
    axes = Preparation(pca=2).fit(as_dask(same)).steps_["pca"]
    np.testing.assert_allclose(axes.components @ axes.components.T, np.eye(2), atol=1e-12)
    assert (axes.variance_ratio == 0).all()


def test_more_features_than_rows():
    table = counts(12, 40)[:, :20]
    assert_same_steps(Preparation(pca=5).fit(as_dask(table, 5)), Preparation(pca=5).fit(table))


def test_raw_input_to_tree_is_one_pipeline():
    table = np.expm1(branching(300, 8) + 5)
    steps = Preparation(log1p=True, standardize=True, pca=4)
    prepared = steps.fit_transform(as_dask(table, 70))
    model = DDRTree(2, n_centers=20, random_state=0).fit(prepared)
    assert model.transform(steps.transform(as_dask(table[:50], 20))).compute().shape == (50, 2)


def test_what_was_fitted_in_memory_fills_gaps_and_ranks_lazily():
    table = X.copy()
    table[[3, 20], [1, 4]] = np.nan
    for kind in (np.asarray, sparse.csr_matrix):
        model = Preparation(impute="median", rank_normalize=True, standardize=True)
        expected = model.fit_transform(kind(table))
        lazy = lazily(model.transform, as_dask(kind(table)))
        assert isinstance(lazy._meta, np.ndarray)
        np.testing.assert_array_equal(lazy.compute(), expected)
    model = Preparation(impute="drop").fit(X)
    np.testing.assert_array_equal(model.transform(as_dask(X)).compute(), X)


@pytest.mark.parametrize("steps", [{"pca": 3}, {"standardize": True, "pca": 3}], ids=str)
def test_dense_and_sparse_rows_land_in_the_same_place(steps):
    tables = [X, sparse.csr_matrix(X)]
    expected = Preparation(**steps).fit_transform(X)
    for fitted in tables + [as_dask(table) for table in tables]:
        model = Preparation(**steps).fit(fitted)
        for table in tables:
            np.testing.assert_allclose(model.transform(table), expected, atol=1e-9)
            made = model.transform(as_dask(table)).compute()
            np.testing.assert_allclose(made, expected, atol=1e-9)


@pytest.mark.parametrize("fitted", [X, sparse.csr_matrix(X)], ids=["dense", "sparse"])
def test_scaled_rows_are_the_same_however_they_are_stored(fitted):
    """As the table of the fit was treated, also without axes that would make up for a mean."""
    expected = dense(Preparation(standardize=True).fit_transform(fitted))
    for training in (fitted, as_dask(fitted)):
        model = Preparation(standardize=True).fit(training)
        for table in (X, sparse.csr_matrix(X)):
            made = [model.transform(table), lazily(model.transform, as_dask(table)).compute()]
            for rows in made:
                assert sparse.issparse(rows) <= sparse.issparse(fitted)
                np.testing.assert_allclose(dense(rows), expected, rtol=1e-12, atol=1e-12)


def test_states_of_both_are_alike():
    model = Preparation(log1p=True, standardize=True, pca=2).fit(as_dask(X))
    copy = Preparation.from_state(model.to_state())
    np.testing.assert_array_equal(copy.transform(as_dask(X)).compute(), model.transform(X))


def test_output_containers_do_not_apply():
    model = Preparation(standardize=True).set_output(transform="pandas").fit(as_dask(X))
    assert isinstance(lazily(model.transform, as_dask(X)), da.Array)
    assert isinstance(model.fit_transform(as_dask(X)), da.Array)
    assert isinstance(model.transform(X), pd.DataFrame)


@pytest.fixture
def client():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=True, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_on_a_cluster(client, monkeypatch):
    for kind in (np.asarray, sparse.csr_matrix):
        for limit in (chunked.MAX_COVARIANCES, 2):
            monkeypatch.setattr(chunked, "MAX_COVARIANCES", limit)
            model = Preparation(log1p=True, standardize=True, pca=3, random_state=0)
            made = model.fit_transform(as_dask(kind(X)))
            in_memory = Preparation(log1p=True, standardize=True, pca=3).fit(kind(X))
            assert_same_steps(model, in_memory, 1e-7)
            np.testing.assert_array_equal(made.compute(), model.transform(kind(X)))
    spoilt = X.copy()
    spoilt[20, 3] = np.nan
    with pytest.raises(ChunkError, match=r"X\[20, 3\] is NaN, in row 3 of chunk 1"):
        Preparation(standardize=True).fit(as_dask(spoilt))
    with pytest.raises(ChunkError, match=r"X\[20, 3\] is NaN, in row 3 of chunk 1"):
        model.transform(as_dask(spoilt)).compute()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_large_chunks_are_worked_on_in_parts(monkeypatch, kind):
    for limit in (chunked.MAX_COVARIANCES, 2):
        monkeypatch.setattr(chunked, "MAX_COVARIANCES", limit)
        model = Preparation(log1p=True, standardize=True, pca=3, random_state=0)
        made = model.fit_transform(as_dask(kind(X), 31)).compute()
        with monkeypatch.context() as smaller:
            smaller.setattr(chunked, "BLOCK", 8)
            smaller.setattr(chunked, "MAX_BLOCK", 7 * D)
            parts = Preparation(log1p=True, standardize=True, pca=3, random_state=0)
            np.testing.assert_allclose(
                parts.fit_transform(as_dask(kind(X), 31)).compute(), made, atol=1e-9
            )
        assert_same_steps(parts, model)


# Many features


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("steps", [{}, {"log1p": True, "standardize": True}], ids=str)
def test_iterated_axes_are_the_exact_ones(monkeypatch, kind, steps):
    table = kind(signal(300, 80))
    in_memory = Preparation(pca=4, **steps).fit(table)
    monkeypatch.setattr(chunked, "MAX_COVARIANCES", 10)
    for chunks in (300, 41):
        model = Preparation(pca=4, random_state=1, **steps).fit(as_dask(table, chunks))
        assert_same_steps(model, in_memory, 1e-7)


def signal(n_samples, n_features, rank=6):
    """Simulated non-negative values of some directions that stand out from noise."""
    rng = np.random.default_rng(0)
    sources = rng.gamma(1.0, np.arange(rank) + 2.0, size=(n_samples, rank))
    loadings = rng.gamma(0.5, size=(rank, n_features))
    return rng.poisson(sources @ loadings).astype(float)


def test_iteration_never_forms_the_covariances(monkeypatch):
    shapes = []

    def noted(*args, **options):
        sums = reduce_chunks(*args, **options)
        is_first = isinstance(sums, MomentsInUnits)
        shapes.append(sums.moments.products.shape if is_first else sums.shape)
        return sums

    reduce_chunks = chunked.reduce_chunks
    monkeypatch.setattr(chunked, "MAX_COVARIANCES", 10)
    monkeypatch.setattr(chunked, "reduce_chunks", noted)
    Preparation(pca=4, random_state=0).fit(as_dask(signal(300, 80)))
    assert shapes[:2] == [(80,), (80, 36)]
    assert len(shapes) <= 1 + chunked.MAX_PASSES
    assert all(shape[1] <= 36 for shape in shapes[1:])


def test_iteration_starts_as_random_state_says(monkeypatch, rng):
    table = as_dask(rng.normal(size=(200, 150)))  # noise, of which no iteration sees the end soon
    monkeypatch.setattr(chunked, "MAX_COVARIANCES", 10)
    monkeypatch.setattr(chunked, "MAX_PASSES", 2)
    axes = [
        Preparation(pca=2, random_state=seed).fit(table).steps_["pca"].components
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(axes[0], axes[1])
    assert np.abs(axes[0] - axes[2]).max() > 0.01


def test_iteration_without_variance_or_with_little_of_it(monkeypatch, rng):
    monkeypatch.setattr(chunked, "MAX_COVARIANCES", 1)
    low = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 30))
    for table in (low, 1e-200 * low, np.ones((50, 30))):
        axes = Preparation(pca=3, random_state=0).fit(as_dask(table)).steps_["pca"]
        np.testing.assert_allclose(axes.components @ axes.components.T, np.eye(3), atol=1e-9)
        assert axes.variance_ratio.sum() == pytest.approx(float(np.ptp(table) > 0))


@pytest.mark.parametrize("n_pairs", [1, 7, 30])
def test_iterated_eigenpairs_of_small_matrices_are_exact(rng, n_pairs):
    Y = rng.normal(size=(200, 30))
    values, vectors = iterated_eigenpairs(lambda V: Y.T @ (Y @ V), rng.standard_normal, 30, n_pairs)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(Y.T @ Y)[::-1][:n_pairs], rtol=1e-10)
    np.testing.assert_allclose(Y.T @ (Y @ vectors), vectors * values, atol=1e-6)


# DataFrames


@pytest.fixture
def frame():
    return pd.DataFrame(X[:, :3].copy(), columns=["crp", "ldl", "hb"])


def as_frame(frame, n=3):
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(frame, npartitions=n)


def test_columns_are_found_by_name(frame):
    model = Preparation(log1p=True, standardize=True)
    prepared = model.fit_transform(as_frame(frame))
    expected = Preparation(log1p=True, standardize=True).fit(frame)
    assert list(model.feature_names_in_) == ["crp", "ldl", "hb"]
    assert_same_steps(model, expected)
    assert isinstance(prepared, da.Array)
    assert prepared.chunks[0] == (20, 20, 20)
    np.testing.assert_array_equal(prepared.compute(), model.transform(frame))
    swapped = as_frame(frame[["hb", "crp", "ldl"]].assign(site="rome"))
    np.testing.assert_array_equal(model.transform(swapped).compute(), model.transform(frame))
    np.testing.assert_array_equal(expected.transform(swapped).compute(), expected.transform(frame))
    assert list(model.get_feature_names_out()) == ["crp", "ldl", "hb"]


def test_columns_that_will_not_do_are_named(frame):
    model = Preparation().fit(as_frame(frame))
    with pytest.raises(ValueError, match=r"X lacks 1 of the 3 columns that .* in fit: 'hb'; add"):
        model.transform(as_frame(frame[["ldl", "crp"]]))
    with pytest.raises(TypeError, match=r"X has columns that are not numbers \('site'\); drop"):
        Preparation().fit(as_frame(frame.assign(site="rome")))
    double = as_frame(pd.concat([frame, frame[["crp"]]], axis=1))
    with pytest.raises(ValueError, match="X has 2 columns named 'crp', but names must be unique"):
        Preparation().fit(double)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.transform(as_dask(frame.to_numpy()))


def test_single_precision_of_a_frame_stays(frame):
    model = Preparation(standardize=True)
    assert model.fit_transform(as_frame(frame.astype("float32"))).compute().dtype == np.float32
    assert model.fit_transform(as_frame(frame.round().astype("int32"))).dtype == np.float64


# What is told


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ({"impute": "median"}, r"impute='median' is for .* fit the preparation to a sample"),
        ({"impute": "drop"}, r"impute='drop' is for .* drop rows that lack a value first"),
        ({"rank_normalize": True}, r"rank_normalize=True is for .* a sample of the rows in memory"),
        ({"adjust": ["age"]}, r"adjust is for tables in memory, but X is a Dask array; leave it"),
    ],
)
def test_steps_that_need_the_whole_table_are_refused(frame, steps, message):
    for table in (as_dask(X), as_frame(frame)):
        with pytest.raises(ValueError, match=message):
            Preparation(**steps).fit(table)
        with pytest.raises(ValueError, match=message):
            Preparation(**steps).fit_transform(table)


def test_adjusted_features_need_covariates_in_memory():
    ages = {"age": np.arange(N)}
    model = Preparation(adjust=["age"]).fit(X, covariates=ages)
    with pytest.raises(ValueError, match=r"adjust needs a table in memory, .* X\[:100_000\]"):
        model.transform(as_dask(X), covariates=ages)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("value", "told"), [(np.nan, "NaN"), (np.inf, "inf")])
@pytest.mark.parametrize("steps", [{}, {"standardize": True}, {"pca": 2}], ids=str)
def test_missing_values_are_named_by_chunk_and_row(kind, value, told, steps):
    table = X.copy()
    table[40, 2] = value
    spoilt = as_dask(kind(table))
    message = rf"X\[40, 2\] is {told}, in row 6 of chunk 2, but every value must be finite; drop"
    with pytest.raises(ChunkError, match=message):
        Preparation(**steps).fit(spoilt)
    lazy = lazily(Preparation(**steps).fit(kind(X)).transform, spoilt)
    assert lazy[:30].compute().shape[0] == 30
    with pytest.raises(ChunkError, match=message):
        lazy.compute()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_values_without_logarithm_are_named(kind, frame):
    table = X.copy()
    table[25, 1] = -2.5
    message = (
        r"X holds -2.5 in column 1, row 25 \(row 8 of chunk 1\), but log1p=True needs values above "
        "-1; leave log1p out"
    )
    with pytest.raises(ChunkError, match=message):
        Preparation(log1p=True).fit(as_dask(kind(table)))
    lazy = lazily(Preparation(log1p=True).fit(kind(X)).transform, as_dask(kind(table)))
    with pytest.raises(ChunkError, match=message):
        lazy.compute()
    frame.loc[25, "ldl"] = -1
    with pytest.raises(ChunkError, match=r"X holds -1 in 'ldl', row 25 \(row 5 of chunk 1\)"):
        Preparation(log1p=True).fit(as_frame(frame))


def test_too_many_components_are_refused():
    message = r"pca=7 must be at most min\(n_samples, n_features\)=6 \(n_samples=60, n_features=6\)"
    with pytest.raises(ValueError, match=message):
        Preparation(pca=7).fit(as_dask(X))
    with pytest.raises(ValueError, match=r"pca=5 must be at most .*=4 \(n_samples=4"):
        Preparation(pca=5).fit(as_dask(X[:4]))


def test_huge_values_are_refused():
    table = X.copy()
    table[33, 0] = 1e200
    with pytest.raises(ValueError, match=r"X holds a value of size 1e\+200, but .* divide X by"):
        Preparation(standardize=True).fit(as_dask(table))
    with pytest.raises(ValueError, match=r"X holds a value of size 1e\+200"):
        Preparation().fit(X).transform(as_dask(table)).compute()


def test_tables_without_rows_or_columns_are_refused():
    for table, message in [
        (da.empty((0, 3)), r"0 sample\(s\) .* required by Preparation; add samples"),
        (da.empty((5, 0)), r"0 feature\(s\) .* required by Preparation; add features"),
    ]:
        with pytest.raises(ValueError, match=message):
            Preparation().fit(table)


def test_shapes_that_will_not_do_are_told():
    rows = as_dask(X)
    with pytest.raises(ValueError, match=r"chunks of unknown size.*X.compute_chunk_sizes\(\)"):
        Preparation().fit(rows[rows[:, 0] >= 0])
    with pytest.raises(ValueError, match="a Dask array of 1 dimensions but must have two"):
        Preparation().fit(rows[:, 0])
    with pytest.raises(TypeError, match="a Dask array of object but must hold numbers"):
        Preparation().fit(rows.astype(object))
    model = Preparation().fit(rows)
    with pytest.raises(ValueError, match="X has 2 features, but Preparation is expecting 6"):
        model.transform(rows[:, :2])
    with pytest.raises(NotFittedError):
        Preparation().transform(rows)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_chunks_split_along_features_are_put_together(kind):
    split = da.from_array(X, chunks=(20, 4)).map_blocks(kind)
    model = Preparation(standardize=True, pca=2)
    made = model.fit_transform(split)
    assert_same_steps(model, Preparation(standardize=True, pca=2).fit(kind(X)))
    np.testing.assert_array_equal(made.compute(), model.transform(kind(X)))


def test_blocks_of_other_kinds_than_said():
    hidden = as_dask(X).map_blocks(sparse.csr_matrix, meta=np.empty((0, 0)))
    message = r"chunk \d of X is a sparse matrix, but X is said .* X.map_blocks\(scipy.sparse"
    for steps in ({"standardize": True}, {"pca": 2}):
        with pytest.raises(ChunkError, match=message):
            Preparation(**steps).fit(hidden)
        with pytest.raises(ChunkError, match=message):
            Preparation(**steps).fit(X).transform(hidden).compute()
    said = hidden.map_blocks(sparse.csr_array)
    in_memory = Preparation(standardize=True).fit(sparse.csr_array(X))
    assert_same_steps(Preparation(standardize=True).fit(said), in_memory)
    # The other way round nothing is lost.
    meta = sparse.csr_array((0, 0))
    some = as_dask(X).map_blocks(lambda block: block, meta=meta)
    assert_same_steps(Preparation(standardize=True).fit(some), in_memory)


@pytest.mark.parametrize("log1p", [False, True])
def test_entries_stored_twice_are_summed(log1p):
    entries = (np.array([1.0, 3.0, 1.0, 1.0]), np.array([0, 0, 1, 1]), np.array([0, 2, 4]))
    twice = sparse.csr_array(entries, shape=(2, 2))
    blocks = as_dask(np.ones((4, 2)), 2).map_blocks(lambda block: twice, meta=twice[:0])
    model = Preparation(log1p=log1p, standardize=True, pca=1)
    made = model.fit_transform(blocks).compute()
    once = np.array([[4.0, 0.0], [0.0, 2.0]] * 2)
    expected = Preparation(log1p=log1p, standardize=True, pca=1).fit(sparse.csr_array(once))
    assert_same_steps(model, expected)
    np.testing.assert_allclose(made, expected.transform(sparse.csr_array(once)), atol=1e-12)
    assert twice.data.tolist() == [1, 3, 1, 1]  # what others may use stays as it is


def test_a_failed_fit_changes_nothing():
    model = Preparation(standardize=True).fit(as_dask(X))
    before = model.steps_
    for method in (model.fit, model.fit_transform):
        with pytest.raises(ValueError, match="NaN"):
            method(as_dask(np.full((4, 2), np.nan)))
    assert model.steps_ is before
    assert model.n_features_in_ == D


def test_blocks_that_cannot_be_read_are_named():
    def broken(block, block_id=None):
        if block_id and block_id[0] == 2:
            raise OSError("no such file")
        return block

    spoilt = as_dask(X).map_blocks(broken, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ChunkError, match=r"chunk 2 \(rows 34 to 50 of X\).*no such file.*mend"):
        Preparation(standardize=True).fit(spoilt)


def test_a_matrix_of_an_annotated_file(tmp_path):
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(sparse.csr_matrix(X)).write_h5ad(tmp_path / "counts.h5ad")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "counts.h5ad") as file:
        has_new = hasattr(anndata.experimental, "read_elem_lazy")  # from anndata 0.12 on
        name = "read_elem_lazy" if has_new else "read_elem_as_dask"
        lazy = getattr(anndata.experimental, name)(file["X"], chunks=(20, D))
        model = Preparation(log1p=True, standardize=True)
        made = model.fit_transform(lazy).compute()
    expected = Preparation(log1p=True, standardize=True).fit(sparse.csr_matrix(X))
    assert_same_steps(model, expected)
    np.testing.assert_allclose(made.toarray(), expected.transform(sparse.csr_matrix(X)).toarray())
