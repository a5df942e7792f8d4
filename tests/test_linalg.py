import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from branchwise.linalg import (
    block_cg,
    column_signs,
    complete_basis,
    extend_basis,
    largest_eigenpairs,
    top_eigenvectors,
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """As in the estimators: for small matrices more threads only wait for each other."""
    with threadpool_limits(limits=1):
        yield


def leading(apply, start, n_components, **options):
    """The wanted eigenpairs of an exact operator, without the guards that follow them."""
    values, vectors, coefficients = top_eigenvectors(
        lambda V, accuracy: apply(V), start, n_components, **options
    )
    return values, vectors[:, :n_components], coefficients[:, :n_components]


def orthonormal(n_rows, n_columns, rng):
    return np.linalg.qr(rng.normal(size=(n_rows, n_columns)))[0]


def with_spectrum(values, rng):
    """A dense symmetric matrix with these eigenvalues; its eigenvectors in the same order."""
    U = orthonormal(len(values), len(values), rng)
    A = (U * values) @ U.T
    return (A + A.T) / 2, U


def assert_orthonormal(V):
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-12)


def assert_eigenpairs(A, values, vectors):
    """Orthonormal vectors, residuals as small as asked for, the largest values in order."""
    assert vectors.shape == (len(A), len(values))
    assert_orthonormal(vectors)
    expected = np.linalg.eigvalsh(A)[::-1][: len(values)]
    residual = np.linalg.norm(A @ vectors - vectors * values, axis=0)
    assert residual.max() <= 1.01e-10 * expected[0]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10 * expected[0])
    assert (np.diff(values) <= 0).all()


class Recorder:
    """An operator that remembers the columns it was applied to."""

    def __init__(self, A):
        self.A = A
        self.columns = []

    def __call__(self, V):
        self.columns.append(V.copy())
        return self.A @ V


# top_eigenvectors


@given(
    n=st.integers(1, 25),
    rank=st.integers(1, 25),
    n_components=st.integers(1, 25),
    seed=st.integers(0, 2**32 - 1),
)
def test_top_eigenvectors_match_a_dense_eigensolver(n, rank, n_components, seed):
    rng = np.random.default_rng(seed)
    n_components = min(n_components, n)
    Y = rng.normal(size=(min(rank, n), n))
    A = Y.T @ Y
    start = orthonormal(n, n_components, rng)
    values, vectors, _ = leading(lambda V: A @ V, start, n_components)
    assert_eigenpairs(A, values, vectors)


@pytest.mark.parametrize("n_components", [1, 3, 8])
def test_top_eigenvectors_of_a_large_operator_match_a_dense_eigensolver(n_components, rng):
    A, _ = with_spectrum(rng.uniform(size=300) ** 3, rng)
    start = orthonormal(300, n_components, rng)
    values, vectors, _ = leading(lambda V: A @ V, start, n_components)
    assert_eigenpairs(A, values, vectors)


@pytest.mark.parametrize("n_components", [1, 2, 3, 4, 5])
def test_top_eigenvectors_of_equal_eigenvalues_span_their_space(n_components, rng):
    values = np.array([4.0, 4.0, 2.0, 2.0, 2.0] + 25 * [1.0])
    A, U = with_spectrum(values, rng)
    start = orthonormal(30, n_components, rng)
    found, vectors, _ = leading(lambda V: A @ V, start, n_components)
    assert_eigenpairs(A, found, vectors)
    # The vectors of a full group of equal eigenvalues have one projector in common.
    for last in (2, 5):
        if n_components >= last:
            np.testing.assert_allclose(
                vectors[:, :last] @ vectors[:, :last].T, U[:, :last] @ U[:, :last].T, atol=1e-8
            )


def test_top_eigenvectors_of_the_identity_are_those_of_the_start(rng):
    start = orthonormal(20, 3, rng)
    values, vectors, _ = leading(lambda V: V.copy(), start, 3)
    np.testing.assert_allclose(values, 1.0, rtol=1e-12)
    assert_orthonormal(vectors)


@pytest.mark.parametrize("n_components", [1, 4, 10])
def test_top_eigenvectors_of_a_zero_operator_are_orthonormal(n_components, rng):
    start = orthonormal(10, n_components, rng)
    values, vectors, coefficients = leading(np.zeros_like, start, n_components)
    np.testing.assert_array_equal(values, 0.0)
    assert_orthonormal(vectors)
    assert_orthonormal(coefficients)


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_top_eigenvectors_may_be_all_of_them(n, rng):
    A, _ = with_spectrum(rng.uniform(1, 2, size=n), rng)
    values, vectors, _ = leading(lambda V: A @ V, np.eye(n), n)
    assert_eigenpairs(A, values, vectors)
    np.testing.assert_allclose((vectors * values) @ vectors.T, A, atol=1e-12)


@pytest.mark.parametrize("n_components", [1, 3])
def test_top_eigenvectors_improve_on_a_start_with_more_columns(n_components, rng):
    A, _ = with_spectrum(np.linspace(0, 1, 40) ** 2, rng)
    values, vectors, _ = leading(lambda V: A @ V, orthonormal(40, 6, rng), n_components)
    assert_eigenpairs(A, values, vectors)


@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("bulk", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("top", [1.2, 2.0])
def test_top_eigenvectors_leave_an_invariant_subspace_that_is_not_the_leading_one(n, bulk, top):
    # The start is an exact eigenvector, and orthogonal to the leading one.
    diagonal = bulk * np.random.default_rng(0).uniform(size=n)
    diagonal[:2] = 1.0, top
    values, vectors, _ = leading(lambda V: diagonal[:, np.newaxis] * V, np.eye(n)[:, :1], 1)
    assert values[0] == pytest.approx(top, rel=1e-12)
    assert np.abs(vectors[1, 0]) == pytest.approx(1.0, rel=1e-12)


def test_top_eigenvectors_replace_the_wrong_part_of_an_invariant_subspace(rng):
    values = np.concatenate([[9.0, 8.0, 7.0, 6.0], np.linspace(0, 3, 196)])
    A, U = with_spectrum(values, rng)
    found, vectors, _ = leading(lambda V: A @ V, U[:, [0, 2, 3]], 3)
    np.testing.assert_allclose(found, [9, 8, 7], rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(vectors * U[:, :3], axis=0)), 1.0, rtol=1e-12)


def test_top_eigenvectors_of_an_operator_with_a_null_start_are_found(rng):
    A, U = with_spectrum(np.concatenate([[5.0, 4.0], np.zeros(58)]), rng)
    values, vectors, _ = leading(lambda V: A @ V, U[:, 10:12], 2)
    assert_eigenpairs(A, values, vectors)


@given(n=st.integers(2, 30), n_components=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_top_eigenvectors_never_capture_less_than_the_start(n, n_components, seed):
    rng = np.random.default_rng(seed)
    n_components = min(n_components, n)
    A, U = with_spectrum(np.sort(rng.uniform(size=n))[::-1], rng)
    noise = 10.0 ** rng.integers(-16, 1) * rng.normal(size=(n, n_components))
    start = np.linalg.qr(U[:, :n_components] + noise)[0]
    # However early the iteration stops.
    for rtol in (1e-10, 1e-2, 1.0):
        values, vectors, _ = leading(lambda V: A @ V, start, n_components, rtol=rtol)
        captured = np.trace(start.T @ A @ start)
        assert values.sum() >= captured * (1 - 1e-14 * n)
        assert values.sum() == pytest.approx(np.trace(vectors.T @ A @ vectors), rel=1e-12)


@given(n=st.integers(1, 30), n_components=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
def test_top_eigenvectors_coefficients_reproduce_the_vectors(n, n_components, seed):
    rng = np.random.default_rng(seed)
    n_components = min(n_components, n)
    A, _ = with_spectrum(rng.uniform(size=n), rng)
    apply = Recorder(A)
    _, vectors, coefficients = leading(apply, orthonormal(n, n_components, rng), n_components)
    passed = np.hstack(apply.columns)
    assert coefficients.shape == (passed.shape[1], n_components)
    np.testing.assert_allclose(passed @ coefficients, vectors, atol=1e-13)
    assert_orthonormal(passed)


def test_top_eigenvectors_stop_at_once_from_the_solution(rng):
    A, U = with_spectrum(np.concatenate([[10.0, 9.0], np.full(98, 1.0)]), rng)
    apply = Recorder(A)
    values, _, _ = leading(apply, U[:, :2], 2)
    np.testing.assert_allclose(values, [10, 9], rtol=1e-12)
    assert len(apply.columns) == 1


def test_top_eigenvectors_of_a_few_distinct_eigenvalues_need_a_few_columns(rng):
    A, _ = with_spectrum(np.concatenate([[10.0, 9.0], np.full(198, 1.0)]), rng)
    apply = Recorder(A)
    values, vectors, _ = leading(apply, orthonormal(200, 2, rng), 2)
    assert_eigenpairs(A, values, vectors)
    assert np.hstack(apply.columns).shape[1] <= 12  # three distinct values, blocks of 2 + 2


@pytest.mark.parametrize("scale", [2.0**-500, 2.0**500])
def test_top_eigenvectors_do_not_depend_on_the_scale_of_the_operator(scale, rng):
    A, _ = with_spectrum(rng.uniform(size=30), rng)
    start = orthonormal(30, 2, rng)
    values, vectors, _ = leading(lambda V: A @ V, start, 2)
    scaled_values, scaled_vectors, _ = leading(lambda V: scale * (A @ V), start, 2)
    np.testing.assert_allclose(scaled_values / scale, values, rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(vectors * scaled_vectors, axis=0)), 1.0, rtol=1e-12)


def test_top_eigenvectors_need_late_products_less_accurately(rng):
    A, _ = with_spectrum(0.9 ** np.arange(60), rng)
    accuracies = []

    def apply(V, accuracy):
        accuracies.append(accuracy)
        noise = rng.normal(size=V.shape)
        return A @ V + accuracy * noise / np.linalg.norm(noise, axis=0)

    values, vectors, _ = top_eigenvectors(apply, orthonormal(60, 2, rng), 2)
    assert_eigenpairs(A, values, vectors[:, :2])
    assert accuracies[0] == 1e-12
    assert accuracies[-1] > 1e-6


def test_top_eigenvectors_are_the_same_in_every_call(rng):
    A, _ = with_spectrum(rng.uniform(size=50), rng)
    start = orthonormal(50, 3, rng)
    before = start.copy()
    first, second = (leading(lambda V: A @ V, start, 3) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(start, before)


# extend_basis and complete_basis


@given(
    n=st.integers(1, 15),
    n_old=st.integers(0, 15),
    n_new=st.integers(1, 20),
    seed=st.integers(0, 2**32 - 1),
)
def test_extend_basis_adds_the_new_directions(n, n_old, n_new, seed):
    rng = np.random.default_rng(seed)
    n_old = min(n_old, n)
    V, new = orthonormal(n, n_old, rng), rng.normal(size=(n, n_new))
    basis = extend_basis(V, new)
    assert basis.shape == (n, min(n, n_old + n_new))
    assert_orthonormal(basis)
    np.testing.assert_array_equal(basis[:, :n_old], V)
    np.testing.assert_allclose(basis @ (basis.T @ new), new, atol=1e-10)


def test_extend_basis_adds_nothing_that_the_span_holds_already(rng):
    V = orthonormal(20, 5, rng)
    np.testing.assert_array_equal(extend_basis(V, V @ rng.normal(size=(5, 3))), V)
    np.testing.assert_array_equal(extend_basis(V, np.zeros((20, 3))), V)


def test_extend_basis_adds_dependent_directions_once(rng):
    V, direction = orthonormal(20, 5, rng), rng.normal(size=(20, 1))
    new = np.hstack([direction, np.zeros((20, 1)), -3 * direction, V[:, :1], direction + V[:, :1]])
    basis = extend_basis(V, new)
    assert basis.shape == (20, 6)
    assert_orthonormal(basis)


@pytest.mark.parametrize("size", [1e-150, 1e-12, 1e12, 1e150])
def test_extend_basis_judges_directions_not_lengths(size, rng):
    V, new = orthonormal(20, 5, rng), rng.normal(size=(20, 2))
    basis = extend_basis(V, new * [size, 1.0])
    assert basis.shape == (20, 7)
    assert_orthonormal(basis)


def test_extend_basis_stays_orthonormal_for_directions_nearly_in_the_span(rng):
    V = orthonormal(30, 5, rng)
    hidden = orthonormal(30, 2, rng)
    basis = extend_basis(V, V[:, :2] + 1e-8 * hidden)
    assert basis.shape == (30, 7)
    assert_orthonormal(basis)
    outside = hidden - V @ (V.T @ hidden)
    np.testing.assert_allclose(basis @ (basis.T @ outside), outside, atol=1e-6)


def test_extend_basis_of_a_full_basis_is_that_basis(rng):
    V = orthonormal(6, 6, rng)
    np.testing.assert_array_equal(extend_basis(V, rng.normal(size=(6, 2))), V)


@given(n=st.integers(1, 20), n_old=st.integers(0, 20), n_columns=st.integers(0, 20))
def test_complete_basis_appends_orthonormal_columns(n, n_old, n_columns):
    n_old, n_columns = min(n_old, n), min(n_columns, n)
    V = orthonormal(n, n_old, np.random.default_rng(1))
    basis = complete_basis(V, n_columns)
    assert basis.shape == (n, max(n_old, n_columns))
    assert_orthonormal(basis)
    np.testing.assert_array_equal(basis[:, :n_old], V)
    np.testing.assert_array_equal(basis, complete_basis(V, n_columns))


def test_complete_basis_of_a_basis_that_holds_its_own_candidates_goes_on():
    # The first candidates are in the span already, and others have to be drawn.
    V = complete_basis(np.empty((9, 0)), 3)
    basis = complete_basis(V, 6)
    assert basis.shape == (9, 6)
    assert_orthonormal(basis)


# column_signs


def test_column_signs_make_the_largest_entry_of_each_column_positive():
    W = np.array([[1.0, -1.0, 0.5, 0.0], [-3.0, 0.5, 0.5, 0.0], [2.0, 0.9, -0.4, 0.0]])
    np.testing.assert_array_equal(column_signs(W), [-1, -1, 1, 1])


@given(n=st.integers(1, 10), d=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
def test_column_signs_undo_any_change_of_signs(n, d, seed):
    rng = np.random.default_rng(seed)
    W, flip = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], size=d)
    fixed = W * column_signs(W)
    assert (np.abs(fixed).max(axis=0) == fixed.max(axis=0)).all()
    np.testing.assert_array_equal(W * flip * column_signs(W * flip), fixed)


# block_cg


def spd(n, rng, *, condition=100.0):
    return with_spectrum(np.geomspace(1.0, condition, n), rng)[0]


@given(n=st.integers(1, 30), n_columns=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_block_cg_matches_a_dense_solve(n, n_columns, seed):
    rng = np.random.default_rng(seed)
    A, B = spd(n, rng), rng.normal(size=(n, n_columns))
    X = block_cg(lambda V: A @ V, B, np.copy)
    np.testing.assert_allclose(X, np.linalg.solve(A, B), rtol=1e-8, atol=1e-10)


def test_block_cg_with_a_preconditioner_matches_a_dense_solve(rng):
    diagonal = np.geomspace(1e-4, 1e4, 60)
    A = spd(60, rng, condition=10.0) * np.sqrt(np.outer(diagonal, diagonal))
    B = diagonal[:, np.newaxis] * rng.normal(size=(60, 3))
    steps = []

    def apply(V):
        steps.append(V)
        return A @ V

    X = block_cg(apply, B, lambda V: V / diagonal[:, np.newaxis])
    expected = np.linalg.solve(A, B)
    np.testing.assert_allclose(X, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    assert len(steps) <= 60


def test_block_cg_with_the_exact_inverse_takes_one_step(rng):
    A, B = spd(20, rng), rng.normal(size=(20, 2))
    steps = []

    def apply(V):
        steps.append(V)
        return A @ V

    X = block_cg(apply, B, lambda V: np.linalg.solve(A, V))
    np.testing.assert_allclose(X, np.linalg.solve(A, B), rtol=1e-9, atol=1e-12)
    assert len(steps) == 1


@pytest.mark.parametrize("n", [2, 30])
def test_block_cg_takes_no_more_steps_if_the_preconditioner_returns_its_argument(n, rng):
    A, B = spd(n, rng), rng.normal(size=(n, 3))
    steps = {"itself": 0, "copy": 0}

    def counting(name):
        def apply(V):
            steps[name] += 1
            return A @ V

        return apply

    itself = block_cg(counting("itself"), B, lambda V: V)
    copy = block_cg(counting("copy"), B, np.copy)
    np.testing.assert_array_equal(itself, copy)
    np.testing.assert_allclose(itself, np.linalg.solve(A, B), rtol=1e-9, atol=1e-11)
    assert steps["itself"] == steps["copy"]


@pytest.mark.parametrize("position", [0, 1, 2])
def test_block_cg_solves_beside_a_zero_column(position, rng):
    A, B = spd(25, rng), rng.normal(size=(25, 3))
    B[:, position] = 0.0
    X = block_cg(lambda V: A @ V, B, np.copy)
    np.testing.assert_array_equal(X[:, position], 0.0)
    np.testing.assert_allclose(X, np.linalg.solve(A, B), rtol=1e-8, atol=1e-10)


def test_block_cg_of_zeros_never_applies_the_operator():
    def fails(V):
        raise AssertionError("nothing to solve")

    X = block_cg(fails, np.zeros((5, 2)), np.copy)
    np.testing.assert_array_equal(X, np.zeros((5, 2)))


def test_block_cg_columns_of_different_size_do_not_disturb_each_other(rng):
    A, B = spd(40, rng), rng.normal(size=(40, 3))
    scale = np.array([1e-9, 1.0, 1e9])
    X = block_cg(lambda V: A @ V, B * scale, np.copy)
    np.testing.assert_allclose(X / scale, np.linalg.solve(A, B), rtol=1e-8, atol=1e-10)


def test_block_cg_of_one_column_is_that_column_of_a_block(rng):
    A, B = spd(30, rng), rng.normal(size=(30, 4))
    X = block_cg(lambda V: A @ V, B, np.copy)
    for j in range(4):
        alone = block_cg(lambda V: A @ V, B[:, [j]], np.copy)
        np.testing.assert_allclose(alone, X[:, [j]], rtol=1e-9, atol=1e-11)


def test_block_cg_leaves_the_right_hand_side_unchanged(rng):
    A, B = spd(20, rng), rng.normal(size=(20, 2))
    before = B.copy()
    block_cg(lambda V: A @ V, B, lambda V: V)
    np.testing.assert_array_equal(B, before)


def test_block_cg_stops_after_max_iter_steps_with_a_smaller_error(rng):
    A, B = spd(50, rng, condition=1e4), rng.normal(size=(50, 2))
    expected = np.linalg.solve(A, B)

    def energy(X):
        return np.einsum("ij,ij->j", X - expected, A @ (X - expected))

    errors = [energy(block_cg(lambda V: A @ V, B, np.copy, max_iter=k)) for k in (0, 1, 5, 20)]
    assert (np.diff(errors, axis=0) < 0).all()
    assert (errors[-1] > 1e-6 * errors[0]).all()


def test_block_cg_from_a_guess_reaches_the_same_solution_in_fewer_steps(rng):
    A, B = with_spectrum(np.linspace(1, 50, 60), rng)[0], rng.normal(size=(60, 3))
    exact = np.linalg.solve(A, B)
    steps = []

    def apply(V):
        steps.append(1)
        return A @ V

    X = block_cg(apply, B, np.copy)
    from_nothing, steps[:] = len(steps), []
    close = exact + 1e-8 * rng.normal(size=exact.shape)
    guess = close.copy()
    Y = block_cg(apply, B, np.copy, guess=guess)
    assert len(steps) < from_nothing
    np.testing.assert_allclose(X, exact, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(Y, exact, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(guess, close)  # it is not written to


def test_guards_are_orthonormal_and_make_a_warm_start(rng):
    """A second call that starts from the first one's block needs fewer columns."""
    A, _ = with_spectrum(np.linspace(1, 50, 80), rng)
    start = orthonormal(80, 2, rng)
    values, block, coefficients = top_eigenvectors(lambda V, _: A @ V, start, 2)
    assert block.shape == (80, 4)
    np.testing.assert_allclose(block.T @ block, np.eye(4), atol=1e-10)
    columns = []

    def apply(V):
        columns.append(V.shape[1])
        return A @ V

    again, same, _ = top_eigenvectors(lambda V, _: apply(V), block, 2)
    np.testing.assert_allclose(again, values, rtol=1e-10)
    assert same.shape == block.shape
    assert sum(columns) < len(coefficients)


@pytest.mark.parametrize("n", [3, 10, 40, 100])
@pytest.mark.parametrize("n_pairs", [1, 2, 3])
def test_largest_eigenpairs_are_found_among_equal_ones(n, n_pairs, rng):
    """Of a centred identity LAPACK's routine for a few returns none at some sizes, as 40."""
    symmetric = rng.normal(size=(n, n))
    for A in (np.eye(n) - 1 / n, np.eye(n), np.zeros((n, n)), symmetric + symmetric.T):
        values, vectors = largest_eigenpairs(A, n_pairs)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[-n_pairs:], atol=1e-12)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_pairs), atol=1e-12)
        np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-10)
