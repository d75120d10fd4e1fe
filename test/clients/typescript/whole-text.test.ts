// Text that is not valid Unicode, and what stands for it, is refused by each call, and never sent as another text.

import { expect, test } from "vitest";
import { BareCalls } from "../../../clients/typescript/src/bare/index.ts";
import { connect } from "../../../clients/typescript/src/index.ts";
import { afterwards, client, start } from "./stage.ts";

const HALF = "caf\ud800";
const REPLACED = "caf\ufffd";

test.each([
  [HALF, "valid Unicode"],
  [REPLACED, "U\\+FFFD"],
])("%j is refused wherever a caller names or writes something", async (bad, words) => {
  const { address } = await start();
  const rowlock = client(address);
  const held = await rowlock.lock("held");
  const calls: Record<string, () => Promise<unknown>> = {
    name: () => rowlock.lock(bad),
    "name of withLock": () => rowlock.withLock(bad, () => {}),
    owner: () => rowlock.lock("job", { owner: bad }),
    requestId: () => rowlock.lock("job", { requestId: bad }),
    statusIfLost: () => rowlock.lock("job", { statusIfLost: bad }),
    ifStatus: () => rowlock.lock("job", { ifStatus: bad }),
    "one of ifStatus": () => rowlock.lock("job", { ifStatus: ["new", bad] }),
    "a label": () => rowlock.lock("job", { labels: { file: bad } }),
    "the key of a label": () => rowlock.lock("job", { labels: { [bad]: "file" } }),
    prefix: () => rowlock.capture({ prefix: bad }),
    "one of names": () => rowlock.capture({ names: ["job", bad] }),
    "prefix of work": () => rowlock.work(bad, () => {}),
    "status of a release": () => held.release({ status: bad }),
    "status of a release by id": () => rowlock.release("id", { status: bad }),
    "name of updateRecord": () => rowlock.updateRecord(bad, { status: "new" }),
    "status of updateRecord": () => rowlock.updateRecord("job", { status: bad }),
    "name of setLimit": () => rowlock.setLimit({ name: bad }, 1),
    pattern: () => rowlock.setLimit({ pattern: bad }, 1),
    reason: () => rowlock.setLimit({ name: "job" }, 1, { reason: bad }),
    "owner of connect": async () => connect({ addresses: address, owner: bad }),
    "labels of connect": async () => connect({ addresses: address, labels: { file: bad } }),
  };
  for (const [what, call] of Object.entries(calls))
    await expect(call(), what).rejects.toThrow(new RegExp(words));
  const locks = await Array.fromAsync(rowlock.listLocks());
  expect(locks.map(({ name }) => name)).toEqual(["held"]);
});

test("half of a surrogate pair is refused by all other calls, too, and by bare ones", async () => {
  const { address } = await start();
  const rowlock = client(address);
  const bare = new BareCalls(address);
  afterwards(() => bare.close());
  const calls: Record<string, () => Promise<unknown>> = {
    getLock: () => rowlock.getLock(HALF),
    deleteRecord: () => rowlock.deleteRecord(HALF),
    renew: () => rowlock.renew(HALF),
    release: () => rowlock.release(HALF),
    forceRelease: () => rowlock.forceRelease({ name: "job" }, HALF),
    listLimits: () => Array.fromAsync(rowlock.listLimits({ prefix: HALF })),
    listClaims: () => Array.fromAsync(rowlock.listClaims({ owner: HALF })),
    listChanges: () => Array.fromAsync(rowlock.listChanges({ changedBy: HALF })),
    explainWait: () => rowlock.explainWait({ name: HALF }),
    "bare acquire": () => bare.call("acquire", { name: HALF }),
    "bare labels": () => bare.call("acquire", { name: "job", terms: { labels: { [HALF]: "x" } } }),
    "bare setLimit": () =>
      bare.call("setLimit", { target: { case: "name", value: HALF }, newLimit: { case: "limit", value: 1 } }),
  };
  for (const [what, call] of Object.entries(calls))
    await expect(call(), what).rejects.toMatchObject({
      reason: "BAD_REQUEST",
      message: expect.stringContaining("half of a surrogate pair"),
    });
});
