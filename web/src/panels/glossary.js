// What the words of the page mean, and headers that lead there.

import { h } from "../view/dom.js";

/** Words by name, in the order of the alphabet. */
export const GLOSSARY = {
  "adjusted p-value":
    "The p-value, raised because many features are looked at (Benjamini and Hochberg): of all features with an adjusted p-value below 0.05, at most about 5 % are expected to be there by chance, if the groups were not chosen by looking.",
  after:
    "The branch that time comes from on its way from the root. A dash: the branch starts at the root.",
  bin: "Samples that lie close together on one branch, drawn as one disc where there are too many to draw each.",
  branch:
    "A stretch of the tree between two of its tips, forks and roots, named by them: T1-F1 leads from T1 to F1.",
  difference:
    "The mean in the first group less the mean in the second, in the units of the feature.",
  distance:
    "How far a sample lies from the nearest place on the tree, in units of the data. The tree says little of samples that are far from it.",
  "effect d":
    "The difference of two means, divided by the standard deviation of the samples within the groups (Cohen's d). 0: no difference; 0.2 is small, 0.8 large. The sign tells which mean is larger.",
  "evidence (p)":
    "Whether a branch is there: where a tree forks, samples leave a gap between its branches. p is the probability of a gap as empty as the one found if there were no fork; a small p is evidence of the branch.",
  fork: "A place where the tree splits into branches: F1, F2, …",
  length: "The way along a branch from its start to its end, in units of the data.",
  misfit:
    "How far a sample lies from the nearest place on the tree, column by column in units of what samples scatter there: about 1 for samples like those of the fit.",
  occupied: "The part of a branch that has samples; the rest leads through a gap.",
  pseudotime:
    "The way along the tree from the root to a sample, in units of the data. It puts samples in an order; it is not a time on a clock.",
  "p of a new sample":
    "The part of samples like those of the fit that lie as far from the tree as this one, measured by samples that were held out of the fit. At 0.05 or less a sample is far; of 100 samples like those of the fit about 5 are, by chance.",
  "probability of a branch":
    "How likely a new sample belongs to a branch, given the columns that are known of it. The fewer are known, the more branches are possible. It takes for granted that the sample is like those of the fit.",
  "pseudotime interval":
    "Where along the tree a new sample lies with 95 % probability, given the columns that are known of it. The yellow band in the views shows for each branch where on it, within that interval, and is fainter on branches that are less likely.",
  "p-value":
    "The probability of a difference of the means at least as large if there were none (Welch's t-test, two-sided). Groups that were chosen by looking differ anyway: take p-values as a ranking of the features.",
  root: "Where pseudotime starts. Another root changes times and the names of branches, but not the tree.",
  share: "The part of all samples that are on the branch.",
  support:
    "How often a branch is found again if the tree is learned again from a part of the samples, drawn by chance (a resample). Below 80 % it is not sure.",
  tip: "An end of the tree: T1, T2, … T1 and T2 are the ends of the longest path.",
};

const SORTED = Object.keys(GLOSSARY).sort((a, b) => a.localeCompare(b, "en"));

/** Gives the app `openGlossary(term)`; the drawer is in the page while it is open. */
export function glossaryDrawer(app) {
  app.openGlossary = (term = null) => {
    const entries = SORTED.flatMap((name) => [
      h("dt", { tabindex: name === term ? "-1" : null, "data-term": name }, name),
      h("dd", {}, GLOSSARY[name]),
    ]);
    const drawer = h(
      "dialog",
      { class: "drawer glossary", "aria-labelledby": "glossary-title" },
      h(
        "header",
        {},
        h("h2", { id: "glossary-title" }, "Glossary"),
        h("button", { type: "button", onclick: () => drawer.close(), "aria-label": "Close" }, "✕"),
      ),
      h("dl", {}, entries),
    );
    drawer.addEventListener("click", (event) => {
      if (event.target === drawer) drawer.close();
    });
    // The browser gives the focus back to where it was.
    drawer.addEventListener("close", () => drawer.remove());
    document.getElementById("app").append(drawer);
    drawer.showModal();
    if (term) drawer.querySelector(`[data-term="${CSS.escape(term)}"]`).focus();
  };
}

/** A word that says what it means under the pointer, and in the glossary when it is clicked. */
export function explained(app, words, term) {
  return h(
    "button",
    {
      type: "button",
      class: "link explained",
      title: GLOSSARY[term],
      "data-key": `explained ${words}`,
      onclick: () => app.openGlossary(term),
    },
    words,
  );
}

/**
 * The head of a table.
 * @param {object} app
 * @param {(string | [string, string])[]} columns words, or words and their term in the glossary
 */
export function tableHead(app, columns) {
  const cells = columns.map((column) =>
    h(
      "th",
      { scope: "col" },
      typeof column === "string" ? column : explained(app, column[0], column[1]),
    ),
  );
  return h("thead", {}, h("tr", {}, cells));
}
