// Each link of each document to something in this repository leads to an existing file or folder, and to an existing
// heading in it. Links to other sites are not followed.

import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
/** Installed packages, and what is built, contain foreign documents. */
const exclude = [
  "**/.venv/**",
  "**/node_modules/**",
  "**/target/**",
  ".git/**",
  "api/**",
  "build/**",
  "dist/**",
];
const documents = globSync(["**/*.md", ".*/**/*.md"], { cwd: root, exclude });
/** How a page that is read elsewhere names a file of this repository. */
const OURS = /^https:\/\/github\.com\/rowlock\/rowlock\/(?:blob|tree)\/main\//;

/** The anchors that GitHub generates for a document's headings. */
function anchorsOf(text: string): string[] {
  const headings = [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => heading as string);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

const withoutCode = (text: string) =>
  text.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, (code) => code.slice(1, -1));

/** Where links lead: `[text](target "title")`, also of a picture, `[name]: target`, and attributes of HTML. */
function targetsOf(text: string): string[] {
  const forms = [
    /\]\(<?([^)\s>]+)/g,
    /^ {0,3}\[[^\]^]+\]: +<?([^\s>]+)/gm,
    /\b(?:href|src|srcset)="([^"\s]+)/g,
  ];
  return forms.flatMap((form) => [...withoutCode(text).matchAll(form)].map(([, target]) => target as string));
}

/** Why a link is broken; undefined if it is not, or if it leads to another site. */
function fault(from: string, target: string): string | undefined {
  if (/^[a-z]+:/.test(target) && !OURS.test(target)) return undefined;
  const [path = "", anchor] = target.split("#");
  const folder = OURS.test(path) ? root : join(root, dirname(from));
  const file = path === "" ? join(root, from) : join(folder, path.replace(OURS, ""));
  if (!existsSync(file)) return `${from}: there is no ${path}`;
  if (anchor === undefined) return undefined;
  if (statSync(file).isDirectory()) return `${from}: ${path} is a folder and has no headings`;
  return anchorsOf(readFileSync(file, "utf8")).includes(anchor)
    ? undefined
    : `${from}: ${target} has no such heading`;
}

describe("links between documents", () => {
  test.each(documents)("of %s have a target", (document) => {
    const targets = targetsOf(readFileSync(join(root, document), "utf8"));
    expect(targets.map((target) => fault(document, target)).filter(Boolean)).toEqual([]);
  });

  const git = spawnSync("git", ["ls-files", "-z", "*.md"], { cwd: root, encoding: "utf8" });
  test.skipIf(git.status !== 0)("are checked in all documents that git has", () => {
    const known = git.stdout.split("\0").filter((path) => path !== "" && existsSync(join(root, path)));
    expect(known).toContain("docs/operations.md");
    expect(known.filter((path) => !documents.includes(path))).toEqual([]);
  });

  test("are found in each form", () => {
    const text =
      '[a](1.md) ![b](<2.svg> "title")\n\n[c]: 3.md\n<img src="4.png">\n`[d](5.md)`\n```\n[e](6.md)\n```\n';
    expect(targetsOf(text)).toEqual(["1.md", "2.svg", "5.md", "3.md", "4.png"]);
  });

  test("without a target are found", () => {
    expect(fault("README.md", "docs/nowhere.md")).toContain("there is no docs/nowhere.md");
    expect(fault("README.md", "#nowhere")).toContain("no such heading");
    expect(fault("docs/clients.md", "https://github.com/rowlock/rowlock/blob/main/docs/no.md")).toContain(
      "no",
    );
    expect(fault("docs/clients.md", "https://github.com/rowlock/rowlock/tree/main/docs")).toBeUndefined();
    expect(fault("docs/clients.md", "../README.md#what-is-promised")).toBeUndefined();
  });
});
