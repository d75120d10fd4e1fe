// The audit log of a server: who held which lock, when, and where the calls came from.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { queued, TestCalls } from "../support/test-calls.ts";
import { processStage } from "./stage.ts";

const stage = processStage();

test("names the client of each grant, release, forced release and change of a limit, and the request by its hash", async () => {
  const { process, client: first, grpcAddress } = await stage.serving("sqlite::memory:", "--audit-log");
  const second = new TestCalls(grpcAddress);
  stage.afterwards(() => second.close());
  const requestId = "7e8f4c3a-request";

  const { leaseId } = await first.lease({ name: "l", requestId });
  const stream = second.wait(queued({ name: "l", terms: { owner: "waiter" } }));
  await stream.position();
  await first.call("release", { leaseId });
  await stream.granted();
  await second.force("l", "test");
  await second.limit("l", 2);
  await second.limitAll("l*", 3);
  await process.logged(/"pattern":"l\*".*\n/);

  const lines = process.err.trimEnd().split("\n");
  const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const [granted, released, grantedNext, forced, limit, limitOfPattern] = told.filter(({ msg }) =>
    ["granted", "lease ended", "limit set"].includes(msg as string),
  );
  const requestHash = createHash("sha256").update(requestId).digest("hex").slice(0, 16);
  const peer = expect.stringMatching(/^127\.0\.0\.1:\d+$/);
  expect(granted).toMatchObject({ msg: "granted", peer, requestHash });
  expect(released).toMatchObject({ reason: "released", peer: granted?.peer, requestHash });
  expect(grantedNext).toMatchObject({ msg: "granted", owner: "waiter", peer });
  expect(grantedNext?.peer).not.toBe(granted?.peer);
  expect(grantedNext).not.toHaveProperty("requestHash");
  for (const line of [forced, limit, limitOfPattern]) expect(line?.peer).toBe(grantedNext?.peer);
  expect(process.err).not.toContain(requestId);
  expect(process.err).not.toContain(leaseId);
});
