// Read what the page holds, and show it.

import { App } from "./app.js";
import { decode } from "./model/codec.js";
import { buildPage } from "./ui.js";
import { fill, h } from "./view/dom.js";

async function start() {
  const root = document.getElementById("app");
  if (typeof DecompressionStream === "undefined") {
    fail(root, "This page needs a browser from 2023 or later, such as Firefox 113 or Safari 16.4.");
    return;
  }
  try {
    const state = await decode(document.getElementById("branchwise-data").textContent.trim());
    const app = new App(state);
    buildPage(app, root);
    // For whoever scripts the page, and for its tests.
    window.branchwise = app;
    document.documentElement.dataset.ready = "true";
  } catch (error) {
    fail(
      root,
      `This page cannot be shown (${error.message}); make it again with branchwise report.`,
    );
    throw error;
  }
}

function fail(root, words) {
  fill(root, h("p", { class: "problem", role: "alert" }, words));
}

start();
