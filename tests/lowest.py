"""Print the lower bounds of both projects as exact pip constraints."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
requirements = []
for path in (ROOT / "pyproject.toml", ROOT / "paper" / "pyproject.toml"):
    found = tomllib.loads(path.read_text("utf-8"))
    requirements += [
        found["project"]["dependencies"],
        *found["project"].get("optional-dependencies", {}).values(),
        found["dependency-groups"].get("test", []),
    ]
for requirement in (item for group in requirements for item in group):
    match = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement)
    if match:
        print(f"{match[1]}=={match[2]}")
# The oldest matplotlib writes warnings about newer ones to standard error, where our tests look.
print("pyparsing<3.3")
