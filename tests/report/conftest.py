import pytest

from branchwise.report import page

STATIC = {
    "report.js": 'document.getElementById("app").textContent = "ready";\n',
    "report.css": "body { margin: 0 }\n",
}


@pytest.fixture
def static(monkeypatch):
    """A small program in the place of the one that is built from web/."""
    monkeypatch.setattr(page, "read_static", STATIC.__getitem__)
    return STATIC
