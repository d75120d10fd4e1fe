// What every line of the log has in common: a crash writes the same line that the log would write.

import { expect, test } from "vitest";
import { crashLine, escapeObeyed } from "../../server/log/lines.ts";

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

test("what a terminal obeys is escaped, and reads the same", () => {
  const text = "\u009b2J\u007f\u2028\u202e\u2067ü";
  const line = escapeObeyed(`${JSON.stringify({ name: text })}\n`);
  expect(line).toBe('{"name":"\\u009b2J\\u007f\\u2028\\u202e\\u2067ü"}\n');
  expect(JSON.parse(line)).toEqual({ name: text });
});
