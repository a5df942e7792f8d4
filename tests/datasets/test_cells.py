"""Simulated cells: the tree of log expression, moments of the counts, and memory."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from branchwise.datasets import cells, make_cells, random_tree_topology


def expected_moments(mu, phi, half):
    """Mean and variance of a negative binomial count that is lost with probability K/(K + μ)."""
    kept = mu / (half + mu)
    mean = kept * mu
    return mean, kept * (mu + phi * mu**2 + mu**2) - mean**2


@settings(max_examples=30)
@given(st.integers(1, 8), st.integers(0, 2**32 - 1), st.floats(0, np.pi), st.floats(0.05, 1))
def test_log_expression_is_on_a_tree_of_arcs(n_tips, seed, curvature, responding):
    topology = random_tree_topology(n_tips, seed)
    made = make_cells(
        30,
        40,
        topology=topology,
        curvature=curvature,
        responding=responding,
        lengths=0.5,
        random_state=seed,
    )
    truth, log = made.truth, np.log(made.clean)
    nodes = np.log(made.milestones)
    # A chord is ℓ·sinc of half the angle between its ends; lengths are per √n_genes.
    for end, part in ((0, truth.position), (1, 1 - truth.position)):
        step = log - nodes[truth.edges[truth.edge, end]]
        chord = np.sqrt(np.mean(step**2, axis=1))
        expected = part * truth.lengths[truth.edge] * np.sinc(curvature * part / (2 * np.pi))
        np.testing.assert_allclose(chord, expected, rtol=0, atol=1e-8)
    n_responding = max(2, round(40 * responding))
    for curve in made.curve:
        changed = np.ptp(np.log(curve), axis=0) > 1e-12
        assert changed.sum() == n_responding


@pytest.mark.parametrize("phi", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("half", [0.0, 0.5])
def test_counts_have_the_mean_and_variance_of_the_model(phi, half):
    mu, n = np.array([0.05, 1.0, 7.0, 150.0]), 100_000
    rng = np.random.default_rng(0)
    drawn = cells._draw_counts(rng, np.tile(mu, (n, 1)), np.full(4, phi), half).astype(float)
    mean, variance = expected_moments(mu, phi, half)
    centred = drawn - mean
    # Five standard errors, which the sample itself tells.
    np.testing.assert_array_less(np.abs(centred.mean(axis=0)), 5 * np.sqrt(variance / n))
    error = (centred**2).std(axis=0) / np.sqrt(n)
    np.testing.assert_array_less(np.abs((centred**2).mean(axis=0) - variance), 5 * error)


def test_counts_have_the_distribution_of_the_model():
    mu, phi, half, n = 3.0, 0.5, 0.4, 200_000
    rng = np.random.default_rng(1)
    drawn = cells._draw_counts(rng, np.full((n, 1), mu), np.array([phi]), half).ravel()
    kept = mu / (half + mu)
    values = np.arange(20)
    chance = kept * stats.nbinom.pmf(values, 1 / phi, 1 / (1 + phi * mu))
    chance[0] += 1 - kept
    chance = np.append(chance, 1 - chance.sum())
    found = np.bincount(np.minimum(drawn, 20), minlength=21)
    assert stats.chisquare(found, n * chance).pvalue > 1e-3


@pytest.mark.parametrize("block", [2**21, 5000])
def test_counts_of_cells_scatter_around_their_expression(monkeypatch, block):
    monkeypatch.setattr(cells, "BLOCK", block)
    dispersion = np.linspace(0, 1, 100)
    made = make_cells(3000, 100, dispersion=dispersion, dropout=0.2, random_state=0)
    mu = made.clean * made.size_factors[:, None]
    mean, variance = expected_moments(mu, dispersion, 0.2)
    z = (made.X - mean) / np.sqrt(variance)
    # 300,000 values of variance one: five standard errors of their mean, of each gene and of all.
    assert abs(z.mean()) < 5 / np.sqrt(z.size)
    assert np.abs(z.mean(axis=0)).max() < 5 / np.sqrt(3000)
    error = (z**2).std() / np.sqrt(z.size)
    assert abs((z**2).mean() - 1) < 5 * error


def test_library_sizes_are_log_normal_with_mean_one():
    sizes = make_cells(50_000, 6, library_sd=0.5, random_state=0).size_factors
    assert abs(np.log(sizes).std() - 0.5) < 0.01
    # The standard error of the mean is √(e^0.25 − 1)/√50000, 0.0024.
    assert abs(sizes.mean() - 1) < 0.012
    equal = make_cells(10, 6, library_sd=0, random_state=0).size_factors
    np.testing.assert_array_equal(equal, np.ones(10))


@pytest.mark.parametrize("mean_count", [0.1, 20.0])
def test_mean_expression_is_as_asked_over_the_tree(mean_count):
    made = make_cells(40_000, 60, topology="binary", mean_count=mean_count, random_state=0)
    per_cell = made.clean.mean(axis=1)
    error = per_cell.std() / np.sqrt(len(per_cell))
    assert abs(per_cell.mean() - mean_count) < 5 * error
    assert error < 0.01 * mean_count
    # Genes differ by a log-normal factor: the standard error of σ is 1/√120, 0.09.
    assert abs(np.log(made.clean.mean(axis=0)).std() - 1) < 0.4


def test_sparse_counts_are_the_dense_ones():
    dense = make_cells(200, 50, random_state=3)
    made = make_cells(200, 50, sparse=True, random_state=3)
    assert sparse.issparse(made.X)
    assert made.X.format == "csr"
    assert made.X.dtype == dense.X.dtype == np.int32
    np.testing.assert_array_equal(made.X.toarray(), dense.X)
    assert made.clean is None
    kept = make_cells(200, 50, sparse=True, keep_means=True, random_state=3)
    np.testing.assert_array_equal(kept.clean, dense.clean)
    assert make_cells(200, 50, keep_means=False, random_state=3).clean is None


@pytest.mark.parametrize("dtype", [np.uint16, np.int64, np.float32, "float64"])
def test_counts_have_the_type_asked_for(dtype):
    made = make_cells(50, 20, dtype=dtype, random_state=0)
    assert made.X.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(made.X, make_cells(50, 20, random_state=0).X)


def test_sparse_counts_never_have_a_dense_copy():
    n_samples, n_genes = 20_000, 1000
    tracemalloc.start()
    made = make_cells(n_samples, n_genes, mean_count=0.02, sparse=True, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The counts, twice while their blocks are joined, and seven arrays of one block.
    counts = made.X.data.nbytes + made.X.indices.nbytes
    assert peak < 2 * counts + 7 * 8 * cells.BLOCK + 2**24
    assert peak < n_samples * n_genes * 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 0}, "n_samples=0 must be a positive integer"),
        ({"n_genes": 0}, "n_genes=0 must be a positive integer"),
        ({"n_genes": 5}, "n_genes=5 must be at least twice the number of branches, 6"),
        ({"topology": "oak"}, "topology='oak' must be one of"),
        ({"curvature": -1}, "curvature=-1 must be a number from 0 to 3.14159"),
        ({"responding": 0}, "responding=0 must be a finite number above 0 and at most 1"),
        ({"mean_count": 0}, "mean_count=0 must be a finite number above 0"),
        ({"mean_count": 1e15}, r"mean_count=1e\+15 gives a gene of mean"),
        ({"mean_count": 1e4, "dtype": np.int8}, "is above 127, the largest of dtype=int8"),
        ({"lengths": 1000}, "lengths up to 1000 change the log mean expression of a gene by"),
        ({"dispersion": -0.1}, "dispersion holds -0.1, but each value must be"),
        ({"dispersion": [0.1, 0.2]}, r"dispersion has shape \(2,\), but there are 200 genes"),
        ({"dropout": -1}, "dropout=-1 must be a finite number of at least 0"),
        ({"library_sd": 4}, "library_sd=4 must be a number from 0 to 3"),
        ({"sparse": "yes"}, "sparse='yes' must be True or False"),
        ({"keep_means": 1}, "keep_means=1 must be True or False"),
        ({"dtype": "text"}, "dtype='text' must be a type of numbers"),
        ({"dtype": bool}, "dtype=bool must be a type of integers or floats"),
    ],
)
def test_bad_arguments_of_cells_get_one_clear_sentence(change, message):
    with pytest.raises(ValueError, match=message):
        make_cells(**{"random_state": 0, **change})
