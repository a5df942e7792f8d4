import subprocess
import sys

import pytest


def test_importing_stays_light():
    """No plotting, AnnData or Dask comes along, also when an estimator is used."""
    code = (
        "import sys, branchwise; branchwise.DDRTree(); "
        "print([m for m in ('matplotlib', 'anndata', 'dask', 'plotly') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_scikit_learn_is_loaded_with_the_first_estimator():
    code = (
        "import sys, branchwise; print('sklearn' in sys.modules, hasattr(branchwise, 'SPL'), "
        "'sklearn' in sys.modules, set(dir(branchwise)) > set(branchwise.__all__))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False True True True"


def test_unknown_names_are_reported_as_usual():
    import branchwise

    with pytest.raises(AttributeError, match="module 'branchwise' has no attribute 'Tree'"):
        branchwise.Tree  # noqa: B018


@pytest.mark.parametrize(
    "name",
    ["datasets", "metrics", "preprocessing", "report", "structures", "trajectory"],
)
def test_subpackages_need_no_import_of_their_own_and_no_extra(name):
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pandas', 'networkx', 'tqdm'])); "
        f"import branchwise; print(branchwise.{name}.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"branchwise.{name}"


def test_everything_can_be_imported_without_extras():
    extras = ["pandas", "networkx", "tqdm", "matplotlib", "anndata", "h5py", "zarr", "pyarrow"]
    code = f"import sys; sys.modules.update(dict.fromkeys({extras})); from branchwise import *"
    code += "; print(DDRTree.__name__, 'pl' in dir())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "DDRTree False"
