// Locks for the states of Terraform and OpenTofu, by the requests that their HTTP backend sends.

import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startServer, type TestServer } from "../support/harness.ts";
import { knownCallers } from "../support/known-callers.ts";
import { type DoorStage, startDoor } from "./door-stage.ts";

const POLICY = `
rules:
  - { who: [token:anna, token:ben], may: [read, use], on: terraform/* }
  - { who: token:ops, may: [read, use, operate], on: terraform/* }
`;
const { access, tokens } = knownCallers(["anna", "ben", "ops", "stranger"], POLICY);
type Who = "anna" | "ben" | "ops" | "stranger";

let server: TestServer;
let door: DoorStage;
beforeAll(async () => {
  server = await startServer();
  door = await startDoor(server.grpc, [], access);
});
afterAll(async () => {
  await door.stop();
  await server.stop();
  expect(door.errors).toEqual([]);
});

/** As Terraform makes it for each command. */
const infoOf = (who: string, more: object = {}) => ({
  ID: randomUUID() as string,
  Operation: "OperationTypeApply",
  Info: "",
  Who: `${who}@laptop`,
  Version: "1.9.8",
  Created: "2026-11-30T16:00:00.123456Z",
  Path: "",
  ...more,
});
type Info = ReturnType<typeof infoOf>;

interface Told {
  readonly status: number | undefined;
  readonly json: { readonly [key: string]: unknown } | null;
}

/** `info` null: without a body, as `force-unlock` sends it. */
function ask(method: string, path: string, info: Info | null, who: Who | null): Promise<Told> {
  const body = info === null ? "" : JSON.stringify(info);
  const told = Promise.withResolvers<Told>();
  const sent = request(
    new URL(path, door.url),
    {
      method,
      headers: {
        ...(info && { "content-type": "application/json" }),
        ...(who && { authorization: `Basic ${Buffer.from(`${who}:${tokens[who]}`).toString("base64")}` }),
      },
    },
    (response) => {
      text(response).then((said) => {
        const isJson = response.headers["content-type"] === "application/json" && said !== "";
        told.resolve({ status: response.statusCode, json: isJson ? JSON.parse(said) : null });
      }, told.reject);
    },
  );
  sent.on("error", told.reject);
  sent.end(body);
  return told.promise;
}

const lock = (path: string, info: Info | null, who: Who | null = "anna") => ask("LOCK", path, info, who);
const unlock = (path: string, info: Info | null, who: Who | null = "anna") => ask("UNLOCK", path, info, who);
const OK = { status: 200, json: null };
/** Terraform shows nothing but the id, behind which the rest stands. */
const lockedBy = (info: Info) => ({
  status: 423,
  json: { ...info, ID: `${info.ID} (${info.Who}, ${info.Operation}, since ${info.Created})` },
});
/** Past the gate, which is only at the door. */
const shown = (name: string) => server.client.shown(name);

describe("a state", () => {
  test("is locked and unlocked; who comes meanwhile is told who has it, in the words of Terraform", async () => {
    const [anna, ben] = [infoOf("anna", { Info: "prod" }), infoOf("ben")];
    expect(await lock("/terraform/shop", anna)).toEqual(OK);
    const labels = { operation: "OperationTypeApply", terraform_id: anna.ID };
    expect((await shown("terraform/shop")).holders).toMatchObject([
      { owner: "anna@laptop", principal: "token:anna", labels },
    ]);
    expect(await lock("/terraform/shop", ben, "ben")).toEqual(lockedBy(anna));
    // A retry of the client, whose answer was lost.
    expect(await lock("/terraform/shop", anna)).toEqual(OK);
    expect(await unlock("/terraform/shop", anna)).toEqual(OK);
    expect(await unlock("/terraform/shop", anna)).toEqual(OK);
    expect(await lock("/terraform/shop", ben, "ben")).toEqual(OK);
    expect(await unlock("/terraform/shop", ben, "ben")).toEqual(OK);
    expect(await shown("terraform/shop")).toMatchObject({ holderCount: 0, lastFencingToken: 2n });
  });

  test("can be waited for in the queue, and keeps its lock after that", async () => {
    const [anna, ben] = [infoOf("anna"), infoOf("ben")];
    await lock("/terraform/queue", anna);
    const waits = lock("/terraform/queue?wait=1m&ttl=1h", ben, "ben");
    await expect.poll(async () => (await shown("terraform/queue")).waiterCount).toBe(1);
    await unlock("/terraform/queue", anna);
    expect(await waits).toEqual(OK);
    const [holder] = (await shown("terraform/queue")).holders;
    expect(holder).toMatchObject({ owner: "ben@laptop", provisional: false });
    const leftS = Number(holder?.expiresAt?.seconds) - Number(holder?.grantedAt?.seconds);
    expect(Math.abs(leftS - 3_600)).toBeLessThan(60);
    await unlock("/terraform/queue", ben, "ben");
  });

  test("of somebody else is unlocked by who may end it, with their id, or by force-unlock, which sends none", async () => {
    for (const isForced of [false, true]) {
      const info = infoOf("anna");
      const given = isForced ? null : info;
      expect(await lock("/terraform/force", info)).toEqual(OK);
      const refused = await unlock("/terraform/force", given, "ben");
      expect(refused).toMatchObject({ status: 403, json: { code: "permission_denied" } });
      expect((await shown("terraform/force")).holderCount).toBe(1);
      expect(await unlock("/terraform/force", given, "ops")).toEqual(OK);
      expect((await shown("terraform/force")).holderCount).toBe(0);
    }
    expect(await unlock("/terraform/force", null, "ops")).toEqual(OK);
  });

  test("is not unlocked by an id that does not hold it", async () => {
    const anna = infoOf("anna");
    await lock("/terraform/other", anna);
    expect(await unlock("/terraform/other", infoOf("ben"), "ops")).toEqual(lockedBy(anna));
  });

  test("that a job of another kind holds shows its owner", async () => {
    await server.client.lease({ name: "terraform/mixed", terms: { owner: "nightly" } });
    const { status, json } = await lock("/terraform/mixed", infoOf("ben", { Info: "é".repeat(300) }), "ben");
    const ID = `#1 (nightly, since ${json?.Created})`;
    expect([status, json]).toMatchObject([423, { ID, Who: "nightly" }]);
    expect(Date.parse(String(json?.Created))).not.toBeNaN();
    // As OpenTofu's force-unlock sends it, with an id that somebody has copied.
    expect(await unlock("/terraform/mixed", { ID } as Info, "ops")).toEqual(OK);
    expect(await shown("terraform/mixed")).toMatchObject({ holderCount: 0, lastFencingToken: 1n });
  });

  test("is asked for again with the same id, after a wait that was in vain and after it was unlocked", async () => {
    const [anna, ben] = [infoOf("anna"), infoOf("ben")];
    await lock("/terraform/again", anna);
    for (const _ of ["once", "twice"])
      expect(await lock("/terraform/again?wait=1s", ben, "ben")).toMatchObject({ status: 423 });
    await unlock("/terraform/again", anna);
    for (const _ of ["once", "twice"]) {
      expect(await lock("/terraform/again?wait=1s", ben, "ben")).toEqual(OK);
      expect(await lock("/terraform/again?wait=1s", ben, "ben")).toEqual(OK);
      expect((await shown("terraform/again")).holderCount).toBe(1);
      expect(await unlock("/terraform/again", ben, "ben")).toEqual(OK);
      expect(await unlock("/terraform/again", ben, "ben")).toEqual(OK);
    }
    expect(await shown("terraform/again")).toMatchObject({ holderCount: 0, lastFencingToken: 3n });
  });

  test("that nobody may have now says why", async () => {
    await server.client.limit("terraform/frozen", 0, { reason: "freeze until Monday" });
    const told = await lock("/terraform/frozen", infoOf("ben"), "ben");
    expect(told).toMatchObject({ status: 423, json: { ID: expect.stringContaining("freeze until Monday") } });
  });
});

test("who has no token gets nothing, and faults are told all at once", async () => {
  expect(await lock("/terraform/a", infoOf("anna"), null)).toMatchObject({ status: 401 });
  expect(await lock("/terraform/a", infoOf("anna"), "stranger")).toMatchObject({ status: 403 });
  expect(await lock("/terraform/a", null)).toMatchObject({ status: 400 });
  const { status, json } = await lock("/terraform/a?wait=soon&limit=2", infoOf("anna"));
  expect([status, JSON.stringify(json)]).toEqual([
    400,
    expect.stringMatching(/must be one time.*is unknown/),
  ]);
  for (const wait of ["0s", "25d", "1s&wait=2s", "1h30m"])
    expect(await lock(`/terraform/a?wait=${wait}`, infoOf("anna"))).toMatchObject({ status: 400 });
  expect((await ask("GET", "/terraform/a", null, "anna")).status).toBe(405);
});
