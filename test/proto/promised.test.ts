// The API check of `npm run check`: it allows additions, and nothing that breaks a client.

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const PROTO = "proto/rowlock/v1/lock.proto";

let copy: string;
beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "rowlock-promised-"));
  for (const path of ["buf.yaml", "proto"]) cpSync(join(root, path), join(copy, path), { recursive: true });
});
afterEach(() => rmSync(copy, { recursive: true, force: true }));

function breaking(from: string, to: string): string {
  const text = readFileSync(join(copy, PROTO), "utf8");
  expect(text).toContain(from);
  writeFileSync(join(copy, PROTO), text.replace(from, to));
  const args = ["breaking", "--against", "proto/promised.binpb"];
  const { status, stdout, stderr } = spawnSync(join(root, "node_modules/.bin/buf"), args, {
    cwd: copy,
    encoding: "utf8",
  });
  return status === 0 ? "" : stdout || stderr;
}

test.each([
  ["a field that is renamed", "string lease_id = 1;", "string id = 1;", /changed name/],
  ["a field of another type", "string lease_id = 1;", "bytes lease_id = 1;", /changed type/],
  ["a field that is gone", "string message = 2;", "", /was deleted/],
  ["another package for Java", '"rowlock.v1"', '"rowlock.v2"', /java_package/],
])("%s is refused", (_, from, to, words) => {
  expect(breaking(from, to)).toMatch(words);
});

test("an added field is accepted", () => {
  expect(breaking("string lease_id = 1;", "string lease_id = 1;\n  string more = 1000;")).toBe("");
});
