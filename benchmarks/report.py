"""How smoothly the report moves, how large it is and how long it takes, beside Plotly.

`python benchmarks/report.py` writes the figures into docs/report.md. Pages are opened in Chromium
with software rendering (SwiftShader), as on a machine without a graphics card. The camera is moved
in every frame; what counts is the time from one frame to the next, which at 60 Hz cannot be less
than 16.7 ms. Plotly draws the same points by its own WebGL and is moved by the range of an axis.
All data are simulated.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from playwright.sync_api import sync_playwright

from branchwise import DDRTree
from branchwise.datasets import make_tree
from branchwise.report import write_report
from branchwise.report.page import read_static
from branchwise.trajectory import Trajectory
from render import between_markers

sys.path.append(str(Path(__file__).parents[1]))
from tests.browser.finding import FLAGS, MISSING, find_browser

PAGE = Path(__file__).parents[1] / "docs" / "report.md"
SIZES = (2_000, 10_000, 50_000, 200_000, 500_000, 1_000_000)
N_FRAMES, SKIPPED = 65, 5
# Blocks WebGL, so that the canvas has to do.
NO_WEBGL = """
    const real = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
      return kind === "webgl2" ? null : real.call(this, kind, ...more);
    };
"""
# Times from one frame to the next, and what drawing takes of each before the card has it.
FRAMES = """async ({n, turns}) => {
    const plot = window.branchwise.plots.embedding, times = [], spent = [];
    let last = await new Promise(requestAnimationFrame);
    for (let k = 0; k < n; k += 1) {
        const start = performance.now();
        if (turns) plot.camera.turn(3, 1);
        else plot.camera.move(k % 2 ? 5 : -5, 2);
        plot.draw();
        spent.push(performance.now() - start);
        const now = await new Promise(requestAnimationFrame);
        times.push(now - last);
        last = now;
    }
    return {times, spent};
}"""
PLOTLY_FRAMES = """async ({n}) => {
    const graph = document.querySelector(".js-plotly-plot"), times = [], spent = [];
    const [low, high] = graph.layout.xaxis.range;
    let last = await new Promise(requestAnimationFrame);
    for (let k = 0; k < n; k += 1) {
        const start = performance.now(), shift = (high - low) * (k % 2 ? 0.01 : -0.01);
        await Plotly.relayout(graph, {"xaxis.range": [low + shift, high + shift]});
        spent.push(performance.now() - start);
        const now = await new Promise(requestAnimationFrame);
        times.push(now - last);
        last = now;
    }
    return {times, spent};
}"""
TIMED = """async (script) => {
    const app = window.branchwise, rows = [];
    for (let i = 0; i < app.nRows; i += 3) rows.push(i);
    const tasks = {
        recolour: () => app.setColor("pseudotime"),
        root: () => app.setRoot(app.tree.milestones[1].node),
        select: () => app.select(rows, "third"),
        hover: () => app.plots.embedding.under(300, 200),
    };
    const times = [];
    for (let k = 0; k < 7; k += 1) {
        if (script === "recolour") app.setColor("branch");
        await new Promise(requestAnimationFrame);
        const start = performance.now();
        tasks[script]();
        times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[3];
}"""


def simulate(n_samples: int) -> tuple[Trajectory, Any, Any]:
    """A tree with noise, learned in three dimensions, and two columns."""
    data = make_tree(n_samples, 8, noise=0.15, random_state=0)
    rows = slice(0, min(n_samples, 50_000))
    model = DDRTree(n_components=3, random_state=0, max_iter=20, tol=1e-3).fit(data.X[rows])
    points = model.embedding_ if n_samples <= 50_000 else model.transform(data.X)
    rng = np.random.default_rng(0)
    notes = pd.DataFrame(
        {"site": rng.choice(["a", "b", "c"], n_samples), "age": rng.uniform(20, 90, n_samples)}
    )
    names = [f"cell {k}" for k in range(n_samples)]
    return Trajectory.from_estimator(model, points=points, names=names), data.X, notes


def open_page(browser: Any, path: Path, *, blocked: bool = False, ready: str) -> tuple[Any, float]:
    """A page, and the seconds until it is ready."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    if blocked:
        context.add_init_script(NO_WEBGL)
    page = context.new_page()
    start = time.perf_counter()
    page.goto(path.as_uri())
    page.wait_for_selector(ready)
    return page, time.perf_counter() - start


def frames(measured: dict[str, list[float]]) -> str:
    """Median and 95th percentile of frames, and the median of the program's own part, in ms."""
    kept, own = np.array(measured["times"][SKIPPED:]), np.median(measured["spent"][SKIPPED:])
    return f"{np.median(kept):.0f} ({np.quantile(kept, 0.95):.0f}; {own:.1f})"


def plotly_page(trajectory: Trajectory, notes: Any, path: Path) -> None:
    """The same points with names to hover over, without tree, panels or new samples."""
    points, codes = trajectory.view.points, pd.factorize(notes["site"])[0]
    figure = go.Figure(
        go.Scattergl(
            x=points[:, 0],
            y=points[:, 1],
            mode="markers",
            marker={"color": codes, "size": 4, "colorscale": "Viridis"},
            text=trajectory.names_,
        ),
        {"width": 908, "height": 380, "xaxis": {"range": [points[:, 0].min(), points[:, 0].max()]}},
    )
    figure.write_html(path, include_plotlyjs=True)


def measure(browser: Any, n_samples: int, folder: Path) -> dict[str, Any]:
    """One row of the table."""
    trajectory, X, notes = simulate(n_samples)
    path = folder / f"{n_samples}.html"
    start = time.perf_counter()
    write_report(path, trajectory, features=X, annotations=notes, color="site")
    row: dict[str, Any] = {"samples": n_samples, "make": time.perf_counter() - start}
    row["size"] = path.stat().st_size / 1e6
    page, row["load"] = open_page(browser, path, ready="html[data-ready]")
    row["drawn"] = page.evaluate("window.branchwise.nRows")
    row["flat"] = page.evaluate(FRAMES, {"n": N_FRAMES, "turns": False})
    for task in ("recolour", "select", "hover", "root"):
        row[task] = page.evaluate(TIMED, task)
    page.get_by_role("radio", name="3-D").click()
    row["solid"] = page.evaluate(FRAMES, {"n": N_FRAMES, "turns": True})
    page.context.close()
    page, _ = open_page(browser, path, blocked=True, ready="html[data-ready]")
    row["canvas"] = page.evaluate(FRAMES, {"n": N_FRAMES, "turns": False})
    page.context.close()
    peer = folder / f"plotly-{n_samples}.html"
    plotly_page(trajectory, notes, peer)
    row["plotly size"] = peer.stat().st_size / 1e6
    page, row["plotly load"] = open_page(browser, peer, ready=".js-plotly-plot .main-svg")
    row["plotly"] = page.evaluate(PLOTLY_FRAMES, {"n": N_FRAMES})
    page.context.close()
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """The figures as text."""
    head = (
        "| samples | drawn | page, MB | made in, s | opens in, s | frame, 2-D | frame, 3-D | "
        "frame, canvas | recolour | select | find under pointer | new root |\n"
    )
    lines = [head, "| --- " * 12 + "|\n"]
    for row in rows:
        kind = "bins" if row["drawn"] < row["samples"] else "points"
        times = " | ".join(f"{row[task]:.0f}" for task in ("recolour", "select", "hover", "root"))
        lines.append(
            f"| {row['samples']:,} | {row['drawn']:,} {kind} | {row['size']:.1f} | "
            f"{row['make']:.1f} | {row['load']:.2f} | {frames(row['flat'])} | "
            f"{frames(row['solid'])} | {frames(row['canvas'])} | {times} |\n"
        )
    lines.append(
        "\nBeside Plotly (`scattergl`, the same points and names, no tree, no panels, no new "
        "samples), in the same run:\n\n| samples | frame, Plotly | ours / Plotly's | "
        "page, Plotly, MB | ours / Plotly's | opens in, s | ours / Plotly's |\n"
        + "| --- " * 7
        + "|\n"
    )
    for row in rows:
        ratio = np.median(row["flat"]["times"]) / np.median(row["plotly"]["times"])
        lines.append(
            f"| {row['samples']:,} | {frames(row['plotly'])} | {ratio:.2f} | "
            f"{row['plotly size']:.1f} | {row['size'] / row['plotly size']:.2f} | "
            f"{row['plotly load']:.2f} | {row['load'] / row['plotly load']:.2f} |\n"
        )
    return "".join(lines)


def main() -> None:
    """Measure, and write the page."""
    browser_path = find_browser()
    if browser_path is None:
        raise SystemExit(MISSING)
    own = sum(len(read_static(name).encode()) for name in ("report.js", "report.css"))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        version = browser.version
        rows = []
        for n_samples in SIZES:
            rows.append(measure(browser, n_samples, Path(folder)))
            print(table(rows[-1:]), flush=True)
        browser.close()
    text = (
        f"Chromium {version}, software rendering, two shared cores, window of 1280 × 720 pixels; "
        f"frames: median of {N_FRAMES - SKIPPED} (95th percentile; the program's own part) in "
        "milliseconds, both views being shown and one moved; other times in milliseconds. "
        "The page without its data has "
        f"{own / 1e6:.2f} MB. All data are simulated.\n\n{table(rows)}"
    )
    PAGE.write_text(between_markers(PAGE.read_text("utf-8"), text), "utf-8")


if __name__ == "__main__":
    main()
