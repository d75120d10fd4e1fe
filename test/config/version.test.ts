// The build's version, from the files around the program: a checkout, a worktree, a build, or none of them.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { versionOf } from "../../server/config/version.ts";

const scratch = mkdtempSync(join(tmpdir(), "rowlock-version-"));
afterAll(() => rmSync(scratch, { recursive: true }));

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(scratch, "tree-"));
  write("package.json", JSON.stringify({ version: "1.2.3" }));
});

function write(path: string, text: string): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), text);
}

const author = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
const git = (...words: string[]) =>
  execFileSync("git", [...author, ...words], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env.PATH, HOME: scratch, GIT_CONFIG_NOSYSTEM: "1" },
  }).trim();

describe("in a checkout", () => {
  let commit: string;
  beforeEach(() => {
    git("init", "--initial-branch", "some/branch");
    git("commit", "--allow-empty", "--message", "one");
    commit = git("rev-parse", "HEAD").slice(0, 7);
  });

  test.each([
    ["of a branch", []],
    ["of a branch whose refs are packed", ["pack-refs", "--all"]],
    ["of a commit alone", ["checkout", "--detach"]],
  ])("%s", (_, command) => {
    if (command.length > 0) git(...command);
    expect(versionOf(join(root, "server"))).toBe(`1.2.3+${commit}`);
  });

  test("that is a worktree", () => {
    git("worktree", "add", "other", "-b", "another");
    write("other/package.json", JSON.stringify({ version: "1.2.4" }));
    expect(versionOf(join(root, "other/server"))).toBe(`1.2.4+${commit}`);
  });

  test("a package that is installed in it does not take its commit", () => {
    write("node_modules/rowlock/package.json", JSON.stringify({ version: "1.2.5" }));
    expect(versionOf(join(root, "node_modules/rowlock/dist/server"))).toBe("1.2.5");
  });
});

test("in a build it is the built commit, and without one the version alone", () => {
  expect(versionOf(join(root, "dist/server"))).toBe("1.2.3");
  expect(versionOf(join(root, "server"))).toBe("1.2.3");
  write("dist/commit", `${"0123456789".repeat(4)}\n`);
  expect(versionOf(join(root, "dist/server"))).toBe("1.2.3+0123456");
});
