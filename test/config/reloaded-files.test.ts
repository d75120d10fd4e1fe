// What files that are read again guarantee: a change counts once it is whole, faults change nothing and are reported
// once, and a file system that hangs holds up nothing else.

import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type FilesOutcome, type Read, ReloadedFiles, STAYS } from "../../server/config/reloaded-files.ts";
import type { ReadFile } from "../../server/config/sources.ts";
import { until } from "../support/until.ts";

const LOOK_MS = 1_000;
const READ_MS_MAX = 5_000;

/** Two files that belong together: they must say the same. */
function pair(read: ReadFile): Read<string> {
  const [left, right] = ["left", "right"].map((path) => {
    try {
      return read(path);
    } catch (error) {
      return `unreadable (${(error as Error).message})`;
    }
  }) as [string, string];
  const isReadable = !left.startsWith("unreadable");
  return isReadable && left === right
    ? { value: left }
    : { faults: [`left is ${left} and right is ${right}`] };
}

function scene(load: (read: ReadFile) => Read<string> = pair) {
  const files = new Map([
    ["left", "one"],
    ["right", "one"],
  ]);
  /** Reads of these never end. */
  const hanging = new Map<string, PromiseWithResolvers<void>>();
  const reads: string[] = [];
  const outcomes: FilesOutcome[] = [];
  const inForce: string[] = [];
  const reloaded = new ReloadedFiles({
    onOutcome: (outcome) => void outcomes.push(outcome),
    readFile: async (path) => {
      reads.push(path);
      await hanging.get(path)?.promise;
      const text = files.get(path);
      if (text === undefined) throw new Error("ENOENT");
      return text;
    },
    intervalMs: LOOK_MS,
    readMsMax: READ_MS_MAX,
  });
  onTestFinished(() => reloaded.stop());
  const group = { what: "pair", paths: ["left", "right"], load, ifNever: "there is none" };
  reloaded.add(group, (value) => void inForce.push(value));
  const write = (left: string, right = left) => {
    files.set("left", left);
    files.set("right", right);
  };
  const failures = () => outcomes.flatMap((outcome) => (outcome.kind === "failed" ? [outcome.faults] : []));
  return { reloaded, files, hanging, reads, outcomes, inForce, write, failures };
}

describe("with a clock of the test", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const looks = (count: number) => vi.advanceTimersByTimeAsync(count * LOOK_MS);

  test("the first look puts the files in force, and unchanged ones are left alone", async () => {
    const { reloaded, outcomes, inForce } = scene();
    await reloaded.start();
    await looks(10);
    expect(inForce).toEqual(["one"]);
    expect(outcomes).toEqual([{ kind: "first", what: "pair" }]);
  });

  test("a change counts when two looks in a row have found it", async () => {
    const { reloaded, outcomes, inForce, write } = scene();
    await reloaded.start();
    write("two");
    await looks(1);
    expect(inForce).toEqual(["one"]);
    await looks(1);
    expect(inForce).toEqual(["one", "two"]);
    expect(outcomes.at(-1)).toEqual({ kind: "new", what: "pair" });
  });

  test("half of a pair that is replaced is no fault", async () => {
    const { reloaded, outcomes, inForce, write } = scene();
    await reloaded.start();
    write("two", "one");
    await looks(1);
    write("two");
    await looks(2);
    expect(inForce).toEqual(["one", "two"]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["first", "new"]);
  });

  test("files with faults change nothing, and are reported once", async () => {
    const { reloaded, outcomes, inForce, write, failures } = scene();
    await reloaded.start();
    write("two", "three");
    await looks(20);
    expect(failures()).toEqual([["left is two and right is three"]]);
    expect(outcomes.at(-1)).toMatchObject({ holds: STAYS });
    write("two", "four");
    await looks(20);
    expect(failures()).toHaveLength(2);
    expect(inForce).toEqual(["one"]);
    write("two");
    await looks(2);
    expect(inForce).toEqual(["one", "two"]);
  });

  test("an error in a check or in its effect is reported like a fault, and the looks go on", async () => {
    let isBroken = true;
    const { reloaded, inForce, failures } = scene((read) => {
      if (isBroken) throw new Error("boom");
      return { value: read("left") };
    });
    await reloaded.start();
    expect(failures()).toEqual([["They cannot be used: boom."]]);
    isBroken = false;
    await looks(1);
    expect(inForce).toEqual(["one"]);
  });

  test("a file system that hangs is reported, gets no second read, and does not hold up a reload", async () => {
    const { reloaded, hanging, reads, inForce, write, failures } = scene();
    await reloaded.start();
    const hangs = Promise.withResolvers<void>();
    hanging.set("left", hangs);
    reads.length = 0;
    const asked = reloaded.reload();
    await vi.advanceTimersByTimeAsync(READ_MS_MAX);
    await asked;
    await looks(20);
    expect(reads).toEqual(["left"]);
    const unreadable = `unreadable (no answer within ${READ_MS_MAX} ms)`;
    expect(failures()).toEqual([[`left is ${unreadable} and right is ${unreadable}`]]);
    hanging.clear();
    hangs.resolve();
    write("two");
    await looks(3);
    expect(inForce.at(-1)).toBe("two");
  });
});

describe("a reload", () => {
  test("counts at once", async () => {
    const { reloaded, inForce, write } = scene();
    await reloaded.start();
    write("two");
    await reloaded.reload();
    expect(inForce).toEqual(["one", "two"]);
  });

  test("reports faults again", async () => {
    const { reloaded, write, failures } = scene();
    await reloaded.start();
    write("two", "three");
    await reloaded.reload();
    await reloaded.reload();
    expect(failures()).toHaveLength(2);
  });

  test("that is asked for many times at once looks once more, after the look under way", async () => {
    const { reloaded, reads, hanging, inForce, write } = scene();
    await reloaded.start();
    reads.length = 0;
    const gate = Promise.withResolvers<void>();
    hanging.set("left", gate);
    const first = reloaded.reload();
    await until(() => reads.length === 1);
    write("two");
    const asked = [reloaded.reload(), reloaded.reload(), reloaded.reload()];
    gate.resolve();
    await Promise.all([first, ...asked]);
    expect(reads).toEqual(["left", "right", "left", "right"]);
    expect(inForce).toEqual(["one", "two"]);
  });

  test("puts nothing in force after the stop", async () => {
    const { reloaded, inForce, outcomes, write } = scene();
    await reloaded.start();
    write("two");
    const asked = reloaded.reload();
    reloaded.stop();
    await asked;
    expect(inForce).toEqual(["one"]);
    expect(outcomes).toHaveLength(1);
  });
});

test("files behind a link that is swapped, as Kubernetes does it, are noticed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rowlock-reloaded-"));
  try {
    for (const version of ["first", "second"]) {
      mkdirSync(join(folder, version));
      writeFileSync(join(folder, version, "token"), version);
    }
    const data = join(folder, "data");
    const file = join(data, "token");
    symlinkSync("first", data);
    const inForce: string[] = [];
    const reloaded = new ReloadedFiles({ onOutcome() {}, intervalMs: 10 });
    const load = (read: ReadFile) => ({ value: read(file) });
    reloaded.add({ what: "token", paths: [file], load }, (value) => void inForce.push(value));
    await reloaded.start();
    symlinkSync("second", `${data}.next`);
    renameSync(`${data}.next`, data);
    await until(() => inForce.length === 2);
    expect(inForce).toEqual(["first", "second"]);
    reloaded.stop();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
