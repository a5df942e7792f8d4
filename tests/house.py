"""The five layers, who imports whom, and the map of it in CONTRIBUTING: `python -m tests.house`."""

import ast
from html import escape
from pathlib import Path

import branchwise

PACKAGE = Path(branchwise.__file__).parent
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "map.svg"
LAYERS = {
    "foundations": [
        "_compat", "_typing", "_docs", "_messages", "_parallel", "_memory", "_kdtree", "_writing",
        "data",
    ],
    "mathematics": ["linalg", "neighbors", "graph", "structures", "losses", "solvers"],
    "estimators": ["estimators", "preprocessing", "model_selection", "metrics", "datasets"],
    "analysis": ["trajectory", "placing", "pipeline"],
    "interfaces": ["io", "persistence", "plotting", "report", "scverse", "cli", "__main__"],
}  # fmt: skip
LAYER = {module: k for k, modules in enumerate(LAYERS.values()) for module in modules}

# Sizes of the map, in pixels.
WIDTH, LEFT, GAP, LINE = 1000, 118, 40, 14
# The box of the modules whose names start with an underscore.
COMMON = "_*.py"


def files():
    """Every file of the package with the parts of its dotted name."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, path.relative_to(PACKAGE).with_suffix("").parts


def imported(path):
    """Modules and sub-packages of branchwise that a file imports, anywhere in it."""
    depth = len(path.relative_to(PACKAGE).parts)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            module = (node.module or "").split(".")[0]
            yield from [module] if module else [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("branchwise."):
            yield node.module.split(".")[1]


def uses():
    """For each module those of higher layers that its files import."""
    found = {module: set() for module in LAYER}
    for path, parts in files():
        if parts[0] in LAYER:
            found[parts[0]] |= {m for m in imported(path) if LAYER.get(m, 9) < LAYER[parts[0]]}
    return found


def nearest(used):
    """The same without what a module also reaches through another one that it imports."""

    def reached(module):
        return used[module].union(*(reached(name) for name in used[module]))

    return {module: names - set().union(*map(reached, names)) for module, names in used.items()}


def purpose(module):
    """The first sentence of a module's docstring."""
    path = PACKAGE / module / "__init__.py"
    path = path if path.exists() else PACKAGE / f"{module}.py"
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")[0]


def rooms(module):
    """The files of a sub-package, by name."""
    paths = [path for path in (PACKAGE / module).glob("*.py") if path.stem != "__init__"]
    paths += [path.parent for path in (PACKAGE / module).glob("*/__init__.py")]
    return sorted(path.stem for path in paths)


def wrapped(words, n_letters):
    """Words in lines of at most so many letters."""
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) + 1 > n_letters and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def words(module):
    """What a box says: what the module is for, and its files."""
    if module == COMMON:
        about = "Helpers that every layer uses; no lines are drawn to them"
        return about, [m for m in LAYERS["foundations"] if m.startswith("_")]
    return purpose(module), rooms(module)


def boxes():
    """For each layer its boxes, as left, width and lines with colours; wider for more files."""
    for k, modules in enumerate(LAYERS.values()):
        shown = [m for m in modules if not m.startswith("_")]
        shown = [COMMON, *shown] if k == 0 else shown
        sizes = [max(7 + len(words(m)[1]), 0.8 * len(m)) for m in shown]
        left, found = float(LEFT), {}
        for module, size in zip(shown, sizes, strict=True):
            width = (WIDTH - LEFT - 6) * size / sum(sizes)
            about, names = words(module)
            n_letters = int((width - 12) / 6.0)
            lines = [(text, "#222222") for text in wrapped(about.rstrip(".").split(), n_letters)]
            lines += [(text, "#5a6f82") for text in wrapped(names, n_letters)]
            found[module] = (left, width - 8, lines)
            left += width
        yield found


def box(module, x, y, width, height, lines):
    """One module: its name, what it is for, its files."""
    yield (
        f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{height}" rx="5" '
        'fill="#ffffff" stroke="#34506b"/>'
    )
    yield f'<text x="{x + 6:.0f}" y="{y + 16}" font-weight="bold">{module}</text>'
    for j, (text, color) in enumerate(lines):
        yield (
            f'<text x="{x + 6:.0f}" y="{y + 17 + LINE * (j + 1)}" font-size="10.5" '
            f'fill="{color}">{escape(text)}</text>'
        )


def line(start, end):
    """From the top of a box to the bottom of one above it."""
    (x, y), (u, v) = start, end
    bend = (y - v) / 2
    return (
        f'<path d="M{x:.0f},{y:.0f} C{x:.0f},{y - bend:.0f} {u:.0f},{v + bend:.0f} {u:.0f},{v:.0f}"'
        ' fill="none" stroke="#6d8499"/>'
    )


def drawn():
    """The map as SVG: a band for each layer, a box for each module, lines for imports."""
    top, bands, shown, upper, lower = 0, [], [], {}, {}
    for k, (name, found) in enumerate(zip(LAYERS, boxes(), strict=True)):
        height = 26 + LINE * max(len(lines) for _, _, lines in found.values())
        bands.append(
            f'<rect y="{top}" width="{WIDTH}" height="{height + 16}" rx="8" fill="#e8eef3"/>'
            f'<text x="10" y="{top + 24}" font-weight="bold">{k + 1} {name}</text>'
        )
        for module, (x, width, lines) in found.items():
            shown += box(module, x, top + 8, width, height, lines)
            upper[module], lower[module] = (
                (x + width / 2, top + 8),
                (x + width / 2, top + 8 + height),
            )
        top += height + 16 + GAP
    edges = [
        line(upper[module], lower[name])
        for module, names in nearest(uses()).items()
        for name in sorted(names & lower.keys())
        if module in upper
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top - GAP}" '
        'font-family="sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{top - GAP}" fill="#ffffff"/>'
    )
    return "\n".join([head, *bands, *edges, *shown, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(drawn(), "utf-8")
