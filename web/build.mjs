// Bundle src/ into the two files that the Python package ships.
// `node build.mjs` writes them; `node build.mjs --check` fails if they are not what src/ gives.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.join(here, "..", "src", "branchwise", "report", "static");

const shared = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  charset: "utf8",
  legalComments: "none",
  write: false,
  logLevel: "warning",
};

/** The text of one bundle; the same sources give the same bytes on any machine. */
async function bundle(entry, options) {
  const result = await build({ ...shared, ...options, entryPoints: [entry] });
  return result.outputFiles[0].text;
}

const files = {
  "report.js": await bundle("src/main.js", { format: "iife", target: "es2022" }),
  "report.css": await bundle("src/style.css", {}),
};

const isCheck = process.argv.includes("--check");
let stale = false;
for (const [name, text] of Object.entries(files)) {
  const file = path.join(out, name);
  if (isCheck) {
    const shipped = await readFile(file, "utf8").catch(() => "");
    if (shipped !== text) {
      stale = true;
      console.error(`${name} is not what web/src gives; run make web and commit the result.`);
    }
  } else {
    await writeFile(file, text);
    console.log(`${name}  ${(Buffer.byteLength(text) / 1024).toFixed(1)} kB`);
  }
}
process.exitCode = stale ? 1 : 0;
