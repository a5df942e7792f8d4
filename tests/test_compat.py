import re
import sys
from pathlib import Path

import pytest

from branchwise._compat import import_networkx, import_pandas

ROOT = Path(__file__).parent.parent

# The package index has no release of branchwise yet: what it would install is a stranger's.
INDEX = re.compile(r"pip install (--?[\w-]+ )*['\"]?branchwise|['\"`]branchwise\[")


@pytest.mark.parametrize(
    ("name", "imported"), [("pandas", import_pandas), ("networkx", import_networkx)]
)
def test_without_an_extra_the_message_says_how_to_get_it(monkeypatch, name, imported):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError) as caught:
        imported()
    hint = f"{name}; run: pip install '.[trajectory]' in a clone of branchwise"
    assert str(caught.value).endswith(hint)


def test_every_install_hint_is_for_a_clone():
    """Of what people read and run; what the extras in pyproject.toml call one another is not."""
    folders = [ROOT / name for name in ("src", "docs", "examples", "paper")]
    files = [path for folder in folders for path in folder.rglob("*")]
    texts = [path for path in files if path.suffix in {".py", ".md", ".html", ".js"}]
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in [*texts, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        if "node_modules" not in path.parts
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if INDEX.search(line)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "is_for_the_index"),
    [
        ("run: pip install 'branchwise[cli]'", True),
        ("`pip install branchwise`", True),
        ("pip install --upgrade branchwise", True),
        ("install ``branchwise[plot]``", True),
        ("run: pip install '.[cli]' in a clone of branchwise", False),
    ],
)
def test_a_hint_for_the_index_is_recognised(text, is_for_the_index):
    assert bool(INDEX.search(text)) is is_for_the_index
