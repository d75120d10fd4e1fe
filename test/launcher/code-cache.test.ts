// The folder of compiled code: what others could write into is never used, because its code would run as the user.

import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

type Env = Readonly<Record<string, string>>;
const module = "../../bin/code-cache.mjs";
const { codeCacheFolder } = (await import(module)) as { codeCacheFolder: (env: Env) => string | undefined };

let home: string;
let folder: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rowlock-home-"));
  folder = join(home, ".cache/rowlock/compiled");
});
afterEach(() => rmSync(home, { recursive: true }));

const found = () => codeCacheFolder({ HOME: home });

test("is made for this user alone, below the home or XDG_CACHE_HOME", () => {
  expect(found()).toBe(folder);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(found()).toBe(folder);
  const cache = join(home, "elsewhere");
  expect(codeCacheFolder({ HOME: home, XDG_CACHE_HOME: cache })).toBe(join(cache, "rowlock/compiled"));
  expect(codeCacheFolder({ HOME: home, XDG_CACHE_HOME: "relative" })).toBeUndefined();
});

test.each([0o770, 0o707, 0o755])("is not used if others may use it (%o)", (mode) => {
  found();
  chmodSync(folder, mode);
  expect(found()).toBeUndefined();
});

test("is not used below a folder that others may write into", () => {
  found();
  chmodSync(join(home, ".cache"), 0o777);
  expect(found()).toBeUndefined();
  // Only the owner of what is in it can replace that.
  chmodSync(join(home, ".cache"), 0o1777);
  expect(found()).toBe(folder);
});

test("is not used behind a link to such a folder, and is named without its links", () => {
  const open = join(home, "open");
  mkdirSync(open);
  chmodSync(open, 0o777);
  symlinkSync(open, join(home, ".cache"));
  expect(found()).toBeUndefined();
  chmodSync(open, 0o755);
  expect(found()).toBe(join(open, "rowlock/compiled"));
});

test.skipIf(process.getuid?.() !== 0)("is not used if it, or a folder above it, is somebody else's", () => {
  found();
  chownSync(folder, 1, 1);
  expect(found()).toBeUndefined();
  chownSync(folder, 0, 0);
  chownSync(home, 1, 1);
  expect(found()).toBeUndefined();
});

test.skipIf(process.getuid?.() !== 0)("leaves nothing in the home of somebody else, as under sudo", () => {
  chownSync(home, 1, 1);
  expect(found()).toBeUndefined();
  expect(readdirSync(home)).toEqual([]);
  // Nor where a link in it leads to.
  mkdirSync(join(home, "own"));
  symlinkSync(join(home, "own"), join(home, ".cache"));
  expect(found()).toBeUndefined();
  expect(readdirSync(join(home, "own"))).toEqual([]);
});
