// Pastes the lines of docs/security.md, from the first token to the changed policy, into real shells.

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { processStage } from "./stage.ts";
import { Terminal } from "./terminal.ts";

const PAGE = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");
const TOUR = /## From nothing to a policy\n([\s\S]*?)\n## /.exec(PAGE)?.[1] ?? "";
const pasted = [...TOUR.matchAll(/```sh\n([\s\S]*?)\n```/g)].map(([, lines]) => lines as string);
const HOUSE = join(import.meta.dirname, "../..");
const TOUR_MS = 180_000;

const stage = processStage();

test("the page on security takes an operator to mutual TLS, tokens and a policy", {
  timeout: TOUR_MS,
}, async () => {
  const [tokens, policy, denied, certificates, serve, run, refused, list, change, after, ...others] = pasted;
  expect(others).toEqual([]);
  const folder = stage.folder();
  const terminal = async (env: Record<string, string> = {}) => {
    const opened = new Terminal(env);
    stage.afterwards(() => opened.close());
    await opened.run(
      `cd '${folder}'; rowlock() { '${process.execPath}' '${join(HOUSE, "server/main.ts")}' "$@"; }`,
    );
    return opened;
  };
  const first = await terminal({ ROWLOCK_LISTEN: "127.0.0.1:0", ROWLOCK_METRICS_LISTEN: "off" });
  await first.run(tokens as string);
  expect(readFileSync(join(folder, "tokens"), "utf8")).toMatch(
    /^nightly sha256:\w{64}\noperator sha256:\w{64}\n$/,
  );
  const modeOf = (file: string) => statSync(join(folder, file)).mode & 0o777;
  for (const file of ["nightly.token", "operator.token"]) expect(modeOf(file), file).toBe(0o600);
  const answer = await first.run(policy as string);
  expect(answer).toContain("yes: the rule in line 2 allows token:nightly Acquire");
  expect(answer).toMatch(/^quota: claims 1000, .*, records 10000/m);
  expect(await first.run(denied as string)).toMatch(
    /no: no rule allows token:nightly ForceRelease[\s\S]*denied/,
  );
  await first.run(certificates as string);
  for (const file of ["ca.key", "server.key", "client.key"]) expect(modeOf(file), file).toBe(0o600);
  void first.start(serve as string).done.catch(() => {});
  const [, address = ""] = await first.shows(/gRPC +(\S+) \(TLS, clients by certificate\)/);
  await first.shows(/LockService\/Acquire\n/);

  const second = await terminal();
  const at = (text = "") => {
    expect(text).toContain("localhost:50051");
    return text.replaceAll("localhost:50051", address.replace("127.0.0.1", "localhost"));
  };
  expect(await second.run(at(run))).toContain("it runs alone");
  expect(await second.run(at(refused))).toMatch(/the right "use"[\s\S]*it may not/);
  expect(await second.run(at(list))).toContain("etl/orders");
  await second.run(change as string);
  await first.shows(/"files":"policy","msg":"changed files are in force"/);
  expect(await second.run(at(after))).toContain("now it may");
});
