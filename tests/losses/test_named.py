"""What a loss leaves in the dual (Sec. 3.2), and the best weight of a single edge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from branchwise.losses import Absolute, Hard, Squared, as_loss
from branchwise.solvers.spl import edge_violation, evaluate

from ..solvers.test_spl import problem, with_loss


@pytest.mark.parametrize("s", [0.0, 0.3, 0.99, 1.01, 4.0])
def test_each_loss_leaves_in_the_dual_what_its_slack_does(s):
    """min over ξ of U(ξ) − 2sξ, U being 2Cξ² or 2C|ξ| for both orders of a pair, on a wide grid."""
    C, reach = 1.0, 100.0
    xi = np.linspace(-reach, reach, 2_000_001)
    least = (2 * C * xi**2 - 2 * s * xi).min()
    assert least == pytest.approx(-Squared(C).cost(np.array([s])), abs=1e-8)
    least, absolute = (2 * C * np.abs(xi) - 2 * s * xi).min(), Absolute(C)
    assert absolute.cost(np.array([s])) == 0
    assert np.isinf(absolute.slack)
    assert least == pytest.approx(0 if s <= absolute.upper else -2 * (s - C) * reach, abs=1e-8)


def test_no_slack_at_any_price_is_the_hard_loss():
    assert as_loss("squared", np.inf) == as_loss("absolute", np.inf) == as_loss("hard", 1.0)


def test_violation_is_that_of_each_loss(rng):
    p = problem()
    s = rng.choice([0.0, 0.4, 1.5], size=len(p.phi))
    state = evaluate(with_loss(p, "hard"), s)
    excess = state.expected - p.phi
    expected = {
        "squared": excess - s / 3,
        "absolute": np.where(s == 1.5, 0, excess),
        "hard": excess,
        "equality": np.abs(excess),
    }
    for loss, violation in expected.items():
        np.testing.assert_allclose(edge_violation(with_loss(p, loss, 1.5), state), violation)


@pytest.mark.parametrize("slack", [1e-2, 1e3, np.inf])
def test_edgewise_maximiser_is_the_maximum(slack):
    a, phi = 0.7, 0.2
    s = as_loss("squared", slack).weights(np.array([a]), np.array([phi]))[0]

    def negative(t):
        return -(a * np.log(t) - 2 * phi * t - t**2 / (2 * slack))

    best = optimize.minimize_scalar(negative, bounds=(1e-6, 100), options={"xatol": 1e-10})
    assert s == pytest.approx(best.x, rel=1e-5)


@given(
    a=st.floats(0, 10),
    kappa=st.floats(1e-9, 1e6),
    phi=st.floats(1e-6, 1e3),
    slack=st.one_of(st.floats(1e-3, 1e6), st.just(np.inf)),
)
def test_edgewise_maximiser_with_a_data_term_is_the_maximum(a, kappa, phi, slack):
    s = as_loss("squared", slack).weights(*map(np.atleast_1d, (a, phi, kappa)))[0]
    slope = a / s + kappa / s**2 - 2 * phi - s / slack
    assert abs(slope) <= 1e-9 * (a / s + kappa / s**2)


def test_edgewise_maximiser_without_a_data_term_is_its_limit(rng):
    a, phi = rng.uniform(size=(2, 50))
    for slack in (1e-2, 1e3, np.inf):
        loss = as_loss("squared", slack)
        np.testing.assert_allclose(loss.weights(a, phi, np.zeros(50)), loss.weights(a, phi))


@pytest.mark.parametrize("kappa", [None, 0.3])
def test_edgewise_maximiser_in_the_box_is_the_maximum(kappa):
    a, phi, upper = 0.7, 0.2, 1.0
    data = None if kappa is None else np.array([kappa])
    args = np.array([a]), np.array([phi]), data
    assert Hard().weights(*args)[0] > upper
    s = Absolute(upper).weights(*args)[0]
    grid = np.linspace(1e-3, upper, 10_001)
    values = a * np.log(grid) - (kappa or 0.0) / grid - 2 * phi * grid
    assert s == grid[values.argmax()]
