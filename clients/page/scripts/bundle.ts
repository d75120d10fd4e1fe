// Bundles the page into three files that need nothing else: index.html, page.js and page.css. The same sources always
// make the same bytes, because dist/ is committed and checked.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";

const page = join(import.meta.dirname, "..");
/** Another folder can be named, to compare. */
const dist = process.argv[2] ?? join(page, "dist");
mkdirSync(dist, { recursive: true });

await build({
  input: join(page, "src/main.tsx"),
  platform: "browser",
  tsconfig: join(page, "tsconfig.json"),
  // For browsers that know light-dark() of CSS, which the page needs anyway.
  transform: { target: "es2023" },
  output: { file: join(dist, "page.js"), format: "esm", minify: true, comments: false },
  logLevel: "warn",
});

/** Takes comments and the space that is only for readers out of a style sheet. */
const small = (css: string) =>
  css
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/\s+/g, " ")
    .replace(/ ?([{};,>]) ?/g, "$1")
    .replace(/: /g, ":")
    .replaceAll(";}", "}")
    .trim();
const sheets = [join(page, "../../node_modules/uplot/dist/uPlot.min.css"), join(page, "src/page.css")];
writeFileSync(
  join(dist, "page.css"),
  `${sheets.map((file) => small(readFileSync(file, "utf8"))).join("\n")}\n`,
);
copyFileSync(join(page, "src/index.html"), join(dist, "index.html"));
