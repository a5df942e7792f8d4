import sys

import pytest

from branchwise._compat import import_networkx, import_pandas


@pytest.mark.parametrize(
    ("name", "imported"), [("pandas", import_pandas), ("networkx", import_networkx)]
)
def test_without_an_extra_the_message_says_how_to_get_it(monkeypatch, name, imported):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"{name}; run: pip install 'branchwise\[trajectory\]'"):
        imported()
