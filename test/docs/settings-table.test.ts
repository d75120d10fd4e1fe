// The table of docs/settings.md equals what the settings' definitions say.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { describeSettings } from "../../server/config/settings.ts";

test("docs/settings.md lists each setting as it is", () => {
  const settings = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");
  const code = (text: string) => (text === "" ? "" : `\`${text}\``);
  const rows = describeSettings().map(({ name, flag, default: usual, bound, about }) =>
    ["", code(name), code(flag), code(usual), bound, about, ""].join(" | ").trim(),
  );
  expect(rows.filter((row) => !settings.includes(row))).toEqual([]);
});
