// docs/errors.md is what scripts/errors-page.ts makes of the contract, and has every reason.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorsPage } from "../../scripts/errors-page.ts";
import { CODE_OF_REASON } from "../../server/grpc/messages/call-error.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/errors.md"), "utf8");

test("the page of errors is current: otherwise run npm run docs:errors", () => {
  expect(page).toBe(errorsPage());
});

test("it has each reason of the server with its meaning", () => {
  const rows = page.split("## From a server")[1]?.split("\n## ")[0]?.split("\n") ?? [];
  for (const reason of Object.keys(CODE_OF_REASON)) {
    const row = rows.find((line) => line.startsWith(`| \`${reason}\` |`));
    expect(row, reason).toMatch(/^\| `\w+` \| [A-Z_]+ \| \S.{10,}\. \| [A-Z].{10,}\. \| [a-z, ]+ \|$/);
  }
});

test("it has no cell without words", () => {
  expect(page).not.toMatch(/\| {1,2}\||undefined/);
});
