// What `npm run mutants -- --matrix` prints of a report: which tests add nothing to the others.

import { expect, test } from "vitest";
import { matrixText } from "../scripts/mutants/matrix.ts";

const mutant = (id: string, status: string, ...killedBy: string[]) => ({ id, status, killedBy });
const REPORT = {
  files: {
    "a.ts": {
      mutants: [
        mutant("1", "Killed", "whole", "part"),
        mutant("2", "Killed", "whole", "part", "own"),
        mutant("3", "Killed", "whole"),
        mutant("4", "Survived"),
      ],
    },
    "b.ts": { mutants: [mutant("5", "Killed", "own"), mutant("6", "Timeout"), mutant("7", "Ignored")] },
  },
  testFiles: {
    "a.test.ts": { tests: [{ id: "part", name: "a part" }] },
    "b.test.ts": {
      tests: [
        { id: "own", name: "its own" },
        { id: "whole", name: "the whole" },
      ],
    },
  },
};

test("each file and each test has what it notices, what no other one notices, and what it adds", () => {
  expect(matrixText(REPORT).split("\n")).toEqual([
    "a.ts: 3 of 4 noticed",
    "b.ts: 2 of 2 noticed",
    "all: 5 of 6 noticed",
    "",
    "mutants that it notices | that no other notices | that it adds",
    "4 | 2 | 4 | b.test.ts ",
    "2 | 0 | 0 | a.test.ts ",
    "",
    "by test",
    "3 | 1 | 3 | b.test.ts the whole",
    "2 | 1 | 1 | b.test.ts its own",
    "2 | 0 | 0 | a.test.ts a part",
  ]);
});
