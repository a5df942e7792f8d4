import sys

import pytest

from ramify._compat import import_pandas


def test_a_table_without_pandas_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas; run: pip install 'ramify\[trajectory\]'"):
        import_pandas()
