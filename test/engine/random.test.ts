// Secrets of claims are long enough, use only characters valid in ids, and never repeat.

import { expect, test } from "vitest";
import { secretMaker } from "../../server/engine/secrets.ts";

test("secrets have 22 characters of base64url and do not repeat, beyond one draw of random bytes", () => {
  const newSecret = secretMaker();
  const secrets = Array.from({ length: 1_000 }, newSecret);
  for (const secret of secrets) expect(secret).toMatch(/^[A-Za-z0-9_-]{22}$/);
  expect(new Set(secrets).size).toBe(secrets.length);
});

test("two makers do not share their drawn bytes", () => {
  expect(secretMaker()()).not.toBe(secretMaker()());
});
