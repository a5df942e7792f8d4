import os

# As in branchwise's own tests: SciPy reads it when imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from branchwise.cli import main

settings.register_profile("branchwise", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("branchwise")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def one_thread():
    """As in a fit: threads of the linear algebra only get in each other's way on small arrays."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def branchwise(capsys):
    """Run a command; return its exit code, standard output and standard error."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def branching(n_samples, n_features, *, noise=0.25, n_branches=3, seed=0):
    """Simulated points on straight branches that leave the origin, with Gaussian noise."""
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.normal(size=(n_features, n_branches)))[0].T
    branch = rng.integers(n_branches, size=n_samples)
    time = rng.uniform(size=(n_samples, 1))
    return 3 * time * directions[branch] + noise * rng.normal(size=(n_samples, n_features))
