import js from "@eslint/js";
import globals from "globals";

// What would let text from the data become markup or code, or send it anywhere.
const UNSAFE = ["innerHTML", "outerHTML", "insertAdjacentHTML", "setHTMLUnsafe", "srcdoc"];
const NETWORK = ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "Worker", "importScripts"];

// Of the browser, what Node has too and needs no page.
const PLAIN = ["DecompressionStream", "Blob", "Response", "TextDecoder", "atob"];

export default [
  js.configs.recommended,
  {
    files: ["src/**/*.js"],
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
    rules: {
      "no-restricted-properties": [
        "error",
        ...UNSAFE.map((property) => ({ property, message: "Use textContent or h()." })),
        { object: "document", property: "write", message: "Use h()." },
        { object: "navigator", property: "sendBeacon", message: "The page is offline." },
      ],
      "no-restricted-globals": ["error", ...NETWORK],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-console": "error",
      eqeqeq: "error",
      "prefer-const": "error",
      "no-var": "error",
    },
  },
  {
    // Numbers only: what runs without a page can be tested without one.
    files: ["src/model/**/*.js"],
    languageOptions: {
      globals: Object.fromEntries(
        Object.keys(globals.browser)
          .filter((name) => !PLAIN.includes(name))
          .map((name) => [name, "off"]),
      ),
    },
  },
  {
    files: ["*.js", "*.mjs", "test/**/*.js"],
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.node },
    rules: { eqeqeq: "error", "prefer-const": "error" },
  },
];
