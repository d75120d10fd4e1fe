// The message for a file on a disk mounted read-only, where SQLite fails on its log before it reaches the file. The
// test supplies the system's answer.

import { afterEach, expect, test, vi } from "vitest";
import { openSqliteFile } from "../../../server/storage/sqlite/file.ts";
import { StoreError } from "../../../server/storage/store.ts";

const disk = vi.hoisted(() => ({ code: null as string | null }));
vi.mock(import("node:fs"), async (original) => {
  const real = await original();
  return {
    ...real,
    accessSync: (path, mode) => {
      if (disk.code !== null) throw Object.assign(new Error("as the system says it"), { code: disk.code });
      real.accessSync(path, mode);
    },
  };
});
afterEach(() => {
  disk.code = null;
});

/** The error of opening a folder, which is never a database, whatever the disk. */
function refusal(): StoreError {
  try {
    openSqliteFile(import.meta.dirname).close();
  } catch (error) {
    return error as StoreError;
  }
  throw new Error("A folder was opened.");
}

test("a file on a read-only disk is refused as one that cannot be written, with SQLite's message", () => {
  disk.code = "EROFS";
  const error = refusal();
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ kind: "unavailable", reason: "read_only" });
  expect(error.cause).toMatchObject({ cause: expect.objectContaining({ errcode: expect.any(Number) }) });
});

test("a file that cannot be opened on any other disk is refused with SQLite's message", () => {
  expect(refusal()).toMatchObject({ kind: "unavailable", reason: "cannot_open" });
  disk.code = "EACCES";
  expect(refusal()).toMatchObject({ kind: "unavailable", reason: "cannot_open" });
});
