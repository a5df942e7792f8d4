import threading
from contextlib import suppress
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from branchwise import DDRTree, Preparation
from branchwise.pipeline import fit_pipeline
from branchwise.report import write_report

from .finding import FLAGS, MISSING, find_browser


@pytest.fixture(scope="module")
def browser():
    # One for the tests of a file, no longer: as long as it is open, Playwright's event loop runs in
    # this thread, and no other, such as Dask's, can be started.
    path = find_browser()
    if path is None:
        pytest.skip(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Page:
    """A report in a browser, with what it asked for and what went wrong."""

    def __init__(self, page, path):
        self.page, self.path = page, path
        self.requests, self.problems = [], []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._listen)

    def _listen(self, message):
        if message.type in {"error", "warning"} and "GPU stall" not in message.text:
            self.problems.append(message.text)

    def load(self):
        self.page.goto(self.path.resolve().as_uri())
        self.page.wait_for_selector("html[data-ready]")
        return self

    def run(self, script, argument=None):
        """What JavaScript says of the app."""
        return self.page.evaluate(
            f"(given) => {{ const app = window.branchwise; {script} }}", argument
        )

    def until(self, script):
        """Wait for what JavaScript says to be true; Playwright's own way is under the policy."""
        for _ in range(200):
            if self.run(script):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"this did not become true: {script}")

    def pixel(self, view, position):
        """Where a place of a view's scene is on the screen."""
        return self.run(
            """
            const plot = app.plots[given[0]], box = plot.element.getBoundingClientRect();
            const m = plot.camera.matrix(...plot.size), [x, y, z] = given[1];
            return [box.left + m[0] * x + m[1] * y + m[2] * z + m[3],
                    box.top + m[4] * x + m[5] * y + m[6] * z + m[7]];
            """,
            [view, position],
        )

    def row(self, view, i):
        """Where a row is on the screen."""
        script = (
            "return [...app.plots[given[0]].scene.positions.subarray(3*given[1], 3*given[1]+3)]"
        )
        return self.pixel(view, self.run(script, [view, i]))

    def node(self, view, node):
        """Where a node is on the screen."""
        script = """
            const {positions, ids} = app.plots[given[0]].scene.nodes, k = ids.indexOf(given[1]);
            return [...positions.subarray(3*k, 3*k+3)]
        """
        return self.pixel(view, self.run(script, [view, node]))


@pytest.fixture
def open_page(browser):
    """Open a report; at the end nothing may have gone wrong, nor anything been asked for."""
    opened = []

    def open_it(path, *, scripts=(), expects_problems=False, **options):
        """`expects_problems`: the test itself tries what is forbidden."""
        options.setdefault("viewport", {"width": 1280, "height": 720})
        context = browser.new_context(**options)
        for script in scripts:
            context.add_init_script(script)
        page = Page(context.new_page(), path)
        opened.append((context, page, expects_problems))
        return page.load()

    yield open_it
    for context, page, expects_problems in opened:
        requests, problems = list(page.requests), list(page.problems)
        context.close()
        # One for the page itself each time that it is loaded, and blobs of exported files.
        outside = [url for url in requests if url != page.path.resolve().as_uri()]
        outside = [url for url in outside if not url.startswith("blob:")]
        assert expects_problems or (outside, problems) == ([], [])


class Listener:
    """A server on this machine that remembers who called."""

    def __init__(self):
        self.calls = calls = []

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self):
                calls.append(self.client_address)

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def listener():
    made = Listener()
    # It does hear: a listener that never could would prove nothing.
    with suppress(OSError, HTTPException):
        urlopen(made.address, timeout=5)
    assert len(made.calls) == 1
    made.calls.clear()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="session")
def tumours():
    """Real tumours on a tree in three dimensions."""
    data = load_breast_cancer(as_frame=True)
    diagnosis = data.target.map(dict(enumerate(data.target_names))).rename("diagnosis")
    table = data.data.set_axis([f"P{k:03}" for k in range(len(data.data))])
    made = fit_pipeline(
        table.assign(diagnosis=diagnosis.to_numpy()),
        DDRTree(n_components=3, random_state=0),
        Preparation(standardize=True),
        root={"node": "T1"},
        prune=True,
    )
    return made, table, diagnosis.set_axis(table.index).to_frame()


@pytest.fixture(scope="session")
def report(tumours, tmp_path_factory):
    """The report of these tumours."""
    made, table, diagnosis = tumours
    path = tmp_path_factory.mktemp("report") / "tumours.html"
    rng = np.random.default_rng(0)
    site = pd.Series(rng.choice(["north", "south", None], len(table)), table.index)  # simulated
    write_report(
        path,
        made,
        features=table,
        annotations=diagnosis.assign(site=site),
        color="diagnosis",
        title="Breast tumours",
    )
    return path
