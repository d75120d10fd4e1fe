// The retry configuration of docs/clients.md: test/process/client-config.slow.test.ts shows what it does.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";

const DOCUMENT = readFileSync(new URL("../../docs/clients.md", import.meta.url), "utf8");

test("the documented configuration names existing verbs, and none that must not be repeated", () => {
  const { methodConfig } = JSON.parse(/```json\n([\s\S]*?)```/.exec(DOCUMENT)?.[1] ?? "") as {
    methodConfig: readonly { name: readonly { service: string; method: string }[] }[];
  };
  const named = methodConfig.flatMap(({ name }) => name);
  expect(named.map(({ service }) => service)).toEqual(named.map(() => LockService.typeName));
  const verbs = LockService.methods
    .map(({ name }) => name)
    // Session is missing because its client opens a new session by itself.
    .filter((name) => !/^(SetLimit|UpdateRecord|DeleteRecord|ForceRelease|Session)$/.test(name));
  expect(named.map(({ method }) => method).sort()).toEqual(verbs.sort());
});
