// A crash writes the same line that the log would write.

import { expect, test } from "vitest";
import { crashLine } from "../../server/log/lines.ts";

test("it has the error with its causes, and no secrets", () => {
  const error = new TypeError("broken", { cause: new Error("mysql://root:hush@db") });
  const line = crashLine(error);
  expect(line.endsWith("\n")).toBe(true);
  expect(JSON.parse(line)).toMatchObject({
    level: "fatal",
    msg: "crashed",
    err: { type: "TypeError", message: "broken", stack: expect.stringContaining("lines.test.ts") },
  });
  expect(line).toContain("mysql://root:***@db");
  expect(line).not.toContain("hush");
});
