"""Make the pictures of the report in docs/images: `make report-pictures`."""

import sys
from pathlib import Path

import pandas as pd
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer

from branchwise.cli import main as branchwise

from .finding import FLAGS, MISSING, find_browser

IMAGES = Path(__file__).parents[2] / "docs" / "images"
DEMO = Path("branchwise-demo")


def new_patient() -> str:
    """A made-up row near a real one, as a CSV text."""
    table = load_breast_cancer(as_frame=True).data
    row = pd.DataFrame(table.iloc[[5]].to_numpy() * 1.05, ["new patient"], table.columns)
    return str(row.to_csv(index_label="patient"))


def shoot(browser, scheme, path, *steps):
    """The demo's report after some steps, as a picture."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 720}, color_scheme=scheme, device_scale_factor=1.5
    )
    page = context.new_page()
    page.goto((DEMO / "report.html").resolve().as_uri())
    page.wait_for_selector("html[data-ready]")
    for step in steps:
        step(page)
    page.wait_for_timeout(600)
    page.screenshot(path=path)
    context.close()
    print(path)


def main() -> None:
    browser_path = find_browser()
    if browser_path is None:
        raise SystemExit(MISSING)
    if code := branchwise(["demo", "-o", str(DEMO)]):
        sys.exit(code)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        shoot(
            browser,
            "light",
            IMAGES / "report.png",
            lambda page: page.get_by_role("tab", name="Feature").click(),
        )
        shoot(
            browser,
            "dark",
            IMAGES / "report-dark.png",
            lambda page: page.get_by_label("Colour by").select_option(label="pseudotime"),
            lambda page: page.get_by_role("tab", name="New sample").click(),
            lambda page: page.locator("textarea").fill(new_patient()),
            lambda page: page.get_by_role("button", name="Place on the tree").click(),
        )
        browser.close()


if __name__ == "__main__":
    main()
