import numpy as np
import pytest

from branchwise import DDRTree
from branchwise import _memory as memory

from .conftest import branching


@pytest.fixture
def system(tmp_path, monkeypatch):
    """The two places that the kernel tells it in, empty."""
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CONTROL_GROUP", tmp_path)
    return tmp_path


def test_without_a_kernel_that_tells_nothing_is_known(system):
    assert memory.available_bytes() is None
    memory.check_memory(1e30, "anything", "nothing")


def test_available_memory_is_the_kernel_s(system):
    (system / "meminfo").write_text("MemTotal: 900 kB\nMemAvailable:     300 kB\n")
    assert memory.available_bytes() == 300 * 1024
    assert memory.fits(300 * 1024)
    assert not memory.fits(300 * 1024 + 1)


def test_a_control_group_may_allow_less(system):
    (system / "meminfo").write_text("MemAvailable: 300 kB\n")
    (system / "memory.max").write_text("max\n")
    assert memory.available_bytes() == 300 * 1024
    (system / "memory.max").write_text("100000\n")
    (system / "memory.current").write_text("60000\n")
    (system / "memory.stat").write_text("active_file 5\ninactive_file 1000\n")
    assert memory.available_bytes() == 41_000


def test_too_little_memory_is_said_with_an_estimate_and_a_remedy(system):
    (system / "meminfo").write_text("MemAvailable: 1048576 kB\n")
    message = "^This needs about 2.5 GiB of memory, but 1.0 GiB are available; do that.$"
    with pytest.raises(MemoryError, match=message):
        memory.check_memory(2.5 * 2**30, "This", "do that")


def test_a_fit_that_cannot_fit_says_so_before_it_starts(system):
    (system / "meminfo").write_text("MemAvailable: 100 kB\n")
    records = []
    message = (
        "DDRTree on 300 samples of 50 features needs about .* lower n_centers=300 or the number "
        "of features, for instance with sklearn.decomposition.PCA"
    )
    with pytest.raises(MemoryError, match=message):
        DDRTree(2, n_centers=None, callback=records.append).fit(branching(300, 50))
    assert records == []


def test_a_room_is_used_again_and_grows():
    workspace = memory.Workspace()
    first = workspace.take("numbers", 4, np.int32)
    first[:] = [1, 2, 3, 4]
    assert workspace.take("numbers", 2, np.int32) is first
    assert workspace.take("other", 2).dtype == np.float64
    larger = workspace.take("numbers", 9, np.int32, keep=3)
    assert len(larger) == 9
    np.testing.assert_array_equal(larger[:3], [1, 2, 3])
    assert workspace.take("numbers", 4, np.int32) is larger
