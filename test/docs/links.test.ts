// Each link between documents leads to an existing file or folder, and to an existing heading in it.

import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
/** Build output and installed packages below the clients contain foreign documents. */
const exclude = ["**/.venv/**", "**/node_modules/**", "**/target/**"];
const documents = globSync("{*,{.github,clients,deploy,docs,examples,test}/**/*}.md", { cwd: root, exclude });

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

/** Why a link is broken; undefined if it is not. */
function fault(from: string, target: string): string | undefined {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? join(root, from) : join(root, dirname(from), path);
  if (!existsSync(file)) return `${from}: there is no ${path}`;
  if (anchor === undefined) return undefined;
  if (statSync(file).isDirectory()) return `${from}: ${path} is a folder and has no headings`;
  return anchorsOf(readFileSync(file, "utf8")).includes(anchor)
    ? undefined
    : `${from}: ${target} has no such heading`;
}

describe("links between documents", () => {
  test.each(documents)("of %s have a target", (document) => {
    const text = withoutCode(readFileSync(join(root, document), "utf8"));
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target as string);
    const ours = targets.filter((target) => !/^[a-z]+:/.test(target));
    expect(ours.map((target) => fault(document, target)).filter(Boolean)).toEqual([]);
  });

  test("are checked in all documents that readers find first", () => {
    const first = [
      "README.md",
      "ARCHITECTURE.md",
      "CONTRIBUTING.md",
      "docs/operations.md",
      "clients/README.md",
    ];
    expect(documents).toEqual(expect.arrayContaining(first));
  });

  test("without a target are found", () => {
    expect(fault("README.md", "docs/nowhere.md")).toContain("there is no docs/nowhere.md");
    expect(fault("README.md", "#nowhere")).toContain("no such heading");
    expect(fault("docs/clients.md", "../README.md#how-to-use-it-well")).toBeUndefined();
  });
});
