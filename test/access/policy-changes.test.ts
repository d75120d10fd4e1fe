// A policy file that is read anew is noted in the history: once for each change, and not when it says the same.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { readPolicy } from "../../server/access/policy-file.ts";
import { ReloadedFiles } from "../../server/config/reloaded-files.ts";
import type { NotedChange } from "../../server/core/noted-change.ts";
import type { Log } from "../../server/log/log.ts";
import { startAccess } from "../../server/start-access.ts";

const policyOf = (right: string) => `rules: [{ who: token:a, may: ${right}, on: "*" }]`;
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);

function stage(noteChange: (change: NotedChange) => Promise<void>) {
  let text = policyOf("read");
  const files = new ReloadedFiles({
    onOutcome() {},
    readFile: async () => text,
    intervalMs: 3_600_000,
  });
  const warnings: string[] = [];
  const log = { warn: (_: object, message: string) => void warnings.push(message) } as unknown as Log;
  const policy = {
    what: "policy",
    paths: ["policy.yaml"],
    load: (read: (path: string) => string) => readPolicy(read("policy.yaml")),
  };
  const where = { tokens: null, policy, certificates: null, jwt: null };
  const store = { noteChange, claimsOfPrincipals: async () => [], recordsOfPrincipals: async () => [] };
  const started = startAccess(where as unknown as Parameters<typeof startAccess>[0], {
    files,
    store,
    replica: 7n,
    onOutcome() {},
    log,
  });
  const read = async (next: string) => {
    text = next;
    await files.reload();
  };
  const stop = async () => {
    files.stop();
    await started.stop();
  };
  return { files, warnings, read, stop };
}

test("each change of the file is noted with the hashes of before and after, and by which server", async () => {
  const noted: NotedChange[] = [];
  const { files, read, stop } = stage(async (change) => void noted.push(change));
  await files.start();
  await read(policyOf("read"));
  await read(policyOf("use"));
  await read("rules: [this is no rule]");
  await read(policyOf("admin"));
  await stop();
  const change = { kind: "policy", target: "", isPattern: false, by: "7", reason: "" };
  expect(noted).toEqual([
    { ...change, from: hashOf(policyOf("read")), to: hashOf(policyOf("use")) },
    { ...change, from: hashOf(policyOf("use")), to: hashOf(policyOf("admin")) },
  ]);
});

test("a change that cannot be noted is logged, and later ones are noted", async () => {
  const noted: string[] = [];
  const { files, warnings, read, stop } = stage(async ({ to }) => {
    if (to === hashOf(policyOf("use"))) throw new Error("the database is away");
    noted.push(to);
  });
  await files.start();
  await read(policyOf("use"));
  await read(policyOf("admin"));
  await stop();
  expect(warnings).toEqual(["the change of the policy is missing in the history"]);
  expect(noted).toEqual([hashOf(policyOf("admin"))]);
});
