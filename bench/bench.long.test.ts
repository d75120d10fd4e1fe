// Checks that the bench works, in a short run of the real callers on a real server. The figures measured here mean
// nothing.

import { execFile, execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { makeCacheFolder } from "./cache-folder.ts";
import { isGoHere } from "./go-driver.ts";
import type { Sample } from "./sample.ts";

/** Mostly for the first run on a machine, in which Go fetches and compiles its libraries. */
const FIRST_BUILD_MS = 300_000;
const root = join(import.meta.dirname, "..");

describe.skipIf(!isGoHere())("the bench (its callers need Go)", () => {
  test("measures unary calls and a session, on SQLite", { timeout: FIRST_BUILD_MS }, async () => {
    const directory = makeCacheFolder("bench-");
    try {
      const json = join(directory, "bench.json");
      const svg = join(directory, "bench.svg");
      const what = ["--systems", "rowlock-sqlite", "--works", "hot-16,semaphore-10,hand-over,session-64"];
      const how = [
        "--seconds",
        "0.5",
        "--warm-up",
        "0.5",
        "--rounds",
        "2",
        "--directory",
        directory,
        "--json",
        json,
        "--svg",
        svg,
      ];
      const { stdout } = await promisify(execFile)(process.execPath, ["bench/load.ts", ...what, ...how], {
        cwd: root,
      });
      const { samples } = JSON.parse(readFileSync(json, "utf8")) as { samples: Sample[] };

      const works = [
        "bare transactions, one after the other",
        "16 callers, one hot name",
        "256 callers, a semaphore of 10",
        "from a release to the grant elsewhere",
        "one session, 64 callers, distinct names",
      ];
      expect(samples.map(({ round, work }) => [round, work])).toEqual([
        ...works.map((work) => [1, work]),
        ...works.map((work) => [2, work]),
      ]);
      for (const work of works) expect(readFileSync(svg, "utf8")).toContain(`>${work}, per second</text>`);
      // Half a second may be too short for 256 callers on a busy machine, but two of them together are enough.
      for (const work of works) {
        const both = samples.filter((sample) => sample.work === work);
        expect(
          both.filter(({ perSecond = 0 }) => perSecond > 0),
          JSON.stringify(both),
        ).not.toEqual([]);
      }
      const session = samples.filter(({ work }) => work === works.at(-1));
      expect(session.every(({ serverUs = 0, databaseUs }) => serverUs > 0 && databaseUs === undefined)).toBe(
        true,
      );
      for (const work of works)
        expect(stdout).toMatch(new RegExp(`^\\| ${work} \\| rowlock-sqlite \\| [\\d,]+ \\(`, "m"));
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  test("has callers that Go's own formatter leaves unchanged", () => {
    expect(
      execFileSync("gofmt", ["-l", "."], { cwd: join(import.meta.dirname, "driver"), encoding: "utf8" }),
    ).toBe("");
  });
});
