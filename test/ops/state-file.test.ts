// The file in which a server remembers what the database must contain: it exists after the first read, is written
// whole, and is never misread.

import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { StateFileError, stateFile } from "../../server/ops/state-file.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rowlock-state-"));
  path = join(folder, "state");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const OTHER = { witness: 2n ** 63n - 1n, marks: [1n, 2n ** 62n], atUs: 1_800_000_000_000_000 };

test("the first read creates it with a random number, and each later read finds the same", async () => {
  const first = await stateFile(path).read();
  expect(first).toMatchObject({ marks: [], atUs: 0 });
  expect(first.witness).toBeGreaterThanOrEqual(0n);
  expect(first.witness).toBeLessThan(2n ** 63n);
  expect(await stateFile(path).read()).toEqual(first);
  const other = await stateFile(join(folder, "other")).read();
  expect(other.witness).not.toBe(first.witness);
});

test("every later reader reads what was written, even the largest numbers", async () => {
  await stateFile(path).write(OTHER);
  expect(await stateFile(path).read()).toEqual(OTHER);
  await stateFile(path).write({ ...OTHER, marks: [] });
  expect(await stateFile(path).read()).toEqual({ ...OTHER, marks: [] });
});

test("only its owner can read it, and nothing is left beside it", async () => {
  await stateFile(path).write(OTHER);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["state"]);
});

test("a half-written file beside it after a crash is ignored and does no harm", async () => {
  await stateFile(path).write(OTHER);
  await writeFile(`${path}.next`, '{"witness":');
  expect(await stateFile(path).read()).toEqual(OTHER);
  await stateFile(path).write({ ...OTHER, atUs: 1 });
  expect(await stateFile(path).read()).toEqual({ ...OTHER, atUs: 1 });
});

const good = { witness: "1", marks: ["2"], atUs: 3 };
test.each<[string, unknown]>([
  ["nothing", ""],
  ["half of it", '{"witness":"1","marks":['],
  ["a list", []],
  ["no number of its own", { ...good, witness: undefined }],
  ["a number that is no text", { ...good, witness: 1 }],
  ["a number below 0", { ...good, witness: "-1" }],
  ["a number with something before it", { ...good, witness: "x1" }],
  ["a number with something behind it", { ...good, witness: "1x" }],
  ["a number of 20 digits", { ...good, witness: "1".repeat(20) }],
  ["no digits", { ...good, witness: "" }],
  ["no marks", { ...good, marks: undefined }],
  ["marks that are no list", { ...good, marks: "2" }],
  ["a mark that is none", { ...good, marks: ["2", "?"] }],
  ["no time", { ...good, atUs: undefined }],
  ["a time that is no number", { ...good, atUs: "3" }],
])(
  "a file with %s in it is refused with its name and what to do, and is left as it is",
  async (_, content) => {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    await writeFile(path, text);
    const error = await stateFile(path)
      .read()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StateFileError);
    expect((error as Error).message).toContain(`${path} cannot be used (`);
    expect((error as Error).message).toContain("ROWLOCK_STATE_FILE");
    expect(await readFile(path, "utf8")).toBe(text);
  },
);

test("a good file is read: the one that the bad ones are made from", async () => {
  await writeFile(path, JSON.stringify(good));
  expect(await stateFile(path).read()).toEqual({ witness: 1n, marks: [2n], atUs: 3 });
});

test("a missing folder, and a path that is a folder, are errors with their cause", async () => {
  const lost = stateFile(join(folder, "not", "there"));
  await expect(lost.read()).rejects.toThrow(/cannot be used \(ENOENT/);
  await expect(lost.write(OTHER)).rejects.toThrow(/cannot be used \(ENOENT/);
  // The directory must not be taken for a file that does not exist yet.
  const error = await stateFile(folder)
    .read()
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StateFileError);
  expect((error as Error).cause).toMatchObject({ code: "EISDIR" });
});
