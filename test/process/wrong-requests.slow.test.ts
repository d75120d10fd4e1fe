// Invalid requests, one after the other, to a whole server on each database: each gets its status, its reason and all
// of its violations, and the locks stay unchanged: what no client sends. For what clients send see
// test/clients/conformance, and for the rules of each field test/grpc/validate/validate.test.ts.

import { beforeAll, describe, expect, test } from "vitest";
import { RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import type { RowlockError } from "../../clients/typescript/src/bare/index.ts";
import { testDatabases } from "../support/database.ts";
import { lasting } from "../support/lasting.ts";
import {
  comeBack,
  queued,
  seconds,
  type TestCalls,
  violationsIn,
  WHEN_BUSY,
  withTtl,
} from "../support/test-calls.ts";
import { processStage, type ServingServer } from "./stage.ts";

const stage = processStage("after all");

const RECEIVE_BYTES_MAX = 65_536;
const LIMIT = 3;
const LONG = "n".repeat(256);
const UNKNOWN_ID = "zzzz.1.abcdefghijklmnopqrstuv";

/** Field 1, which holds the name in every request that has one, with bytes that are not text. */
const NOT_UTF8 = Buffer.from([0x0a, 2, 0xc3, 0x28]);
/** The same for field 7, the status of an update. */
const STATUS_NOT_UTF8 = Buffer.from([0x0a, 1, 0x61, 0x3a, 2, 0xc3, 0x28]);
/** A uint32 of -1, as a careless client would send it, after the name "a". */
const PERMITS_MINUS_1 = Buffer.from([0x0a, 1, 0x61, 0x18, ...Array(9).fill(0xff), 0x01]);

const MALFORMED = { code: "INVALID_ARGUMENT", reason: "MALFORMED_MESSAGE" };
const TOO_LARGE = { code: "RESOURCE_EXHAUSTED", reason: "MESSAGE_TOO_LARGE" };
const UNKNOWN_CLAIM = { code: "NOT_FOUND", reason: "UNKNOWN_CLAIM" };

/** Exactly these fields are at fault. */
const badRequest = (...fields: string[]) => ({
  code: "INVALID_ARGUMENT",
  reason: "BAD_REQUEST",
  fields: fields.sort(),
});

interface Scene {
  readonly client: TestCalls;
  /** Of the lock "busy", whose limit is LIMIT. Somebody waits for it. */
  readonly leaseId: string;
}

type Case = [title: string, send: (scene: Scene) => Promise<unknown>, expected: object];

const acquire = (request: object) => (scene: Scene) => scene.client.call("acquire", request);
const wait =
  (request: object, minUpdateInterval = seconds(0)) =>
  (scene: Scene) =>
    endOf(scene.client.wait({ ...request, minUpdateInterval }));
const bytes = (name: "acquire" | "updateRecord", request: Buffer) => (scene: Scene) =>
  scene.client.call(name, request);
const renew = (of: (scene: Scene) => string) => (scene: Scene) =>
  scene.client.call("renew", { leaseId: of(scene) });
const waitBytes = (request: Buffer) => (scene: Scene) => endOf(scene.client.wait(request));

async function endOf(stream: ReturnType<TestCalls["wait"]>): Promise<never> {
  throw await stream.failure();
}

const CASES: Case[] = [
  ["a name that is not UTF-8", bytes("acquire", NOT_UTF8), MALFORMED],
  ["a name that is not UTF-8, on a stream", waitBytes(Buffer.from([0x0a, 4, ...NOT_UTF8])), MALFORMED],
  ["negative permits", bytes("acquire", PERMITS_MINUS_1), badRequest("permits")],
  ["an unknown ticket", wait(comeBack(UNKNOWN_ID)), UNKNOWN_CLAIM],
  [
    "a release by a guessed secret",
    ({ client, leaseId }) => client.call("release", { leaseId: guessed(leaseId) }),
    UNKNOWN_CLAIM,
  ],
  ["a renewal by a guessed secret", renew(({ leaseId }) => guessed(leaseId)), UNKNOWN_CLAIM],
  ["an update with a status that is no text", bytes("updateRecord", STATUS_NOT_UTF8), MALFORMED],
  [
    "a message that is too large",
    acquire({ name: "a", terms: { owner: "o".repeat(RECEIVE_BYTES_MAX) } }),
    TOO_LARGE,
  ],
  ["a message that is too large, on a stream", waitBytes(Buffer.alloc(RECEIVE_BYTES_MAX + 1)), TOO_LARGE],
  [
    "everything at once on a stream",
    wait(queued({ name: LONG, permits: 2_000_000, terms: withTtl(25 * 86_400) }), seconds(-1)),
    badRequest("request.name", "request.terms.ttl", "request.permits", "min_update_interval"),
  ],
];

function guessed(id: string): string {
  return `${id.slice(0, -22)}${"A".repeat(22)}`;
}

describe.each(testDatabases())("on $label", ({ fresh }) => {
  let server: ServingServer;
  let scene: Scene;

  beforeAll(async () => {
    // Nobody sends a sign of life for the ticket.
    server = await stage.serving(await stage.database(fresh), "--grace", "10m");
    const { client } = server;
    await client.limit("busy", LIMIT);
    const { leaseId } = await client.lease({ name: "busy", permits: LIMIT, terms: lasting() });
    await client.ticket({ name: "busy" });
    scene = { client, leaseId };
  });

  /** All locks with their limits, holders and waiters. */
  async function locks(): Promise<unknown> {
    return (await scene.client.call("listLocks", {})).locks;
  }

  test.each(CASES)("%s is refused and changes nothing", async (_, send, expected) => {
    const before = await locks();
    const failure = await send(scene).then(
      () => undefined,
      (error: RowlockError) => error,
    );
    const fields = failure ? Object.keys(violationsIn(failure)).sort() : [];
    expect({ ...failure, fields }).toMatchObject({ fields: [], ...expected });
    expect(await locks()).toEqual(before);
  });

  test("permits of 0 are 1, and more than the limit are refused as never fitting", async () => {
    const { client } = scene;
    expect(await client.lease({ name: "one", permits: 0 })).toMatchObject({ permits: 1 });
    const before = await locks();
    for (const whenBusy of WHEN_BUSY) {
      const refusal = await client.refusal({ name: "busy", permits: LIMIT + 1, whenBusy });
      expect(refusal).toMatchObject({ reason: RefusalReason.NEVER_FITS });
    }
    const refusal = await client.wait(queued({ name: "busy", permits: LIMIT + 1 })).refusal();
    expect(refusal).toMatchObject({ reason: RefusalReason.NEVER_FITS });
    expect(await locks()).toEqual(before);
  });

  test("none of these requests was logged as a bug", () => {
    expect(server.process.err).not.toContain('"level":"error"');
  });
});
