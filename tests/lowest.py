"""Print pyproject.toml's lower bounds as exact pip constraints."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
requirements = [
    project["project"]["dependencies"],
    *project["project"]["optional-dependencies"].values(),
    project["dependency-groups"]["test"],
]
for requirement in (item for group in requirements for item in group):
    match = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement)
    if match:
        print(f"{match[1]}=={match[2]}")
# The oldest matplotlib writes warnings about newer ones to standard error, where our tests look.
print("pyparsing<3.3")
