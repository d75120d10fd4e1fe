// Every verb, by itself and in a session, as nobody, as a stranger, as a user, as an operator and as an admin, on a name
// with rights and on one without, compared with the table in docs/security.md.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { type RequestOf, RowlockError } from "../../clients/typescript/src/bare/index.ts";
import { clientOfTest } from "../support/harness.ts";
import { SessionClient } from "../support/session-client.ts";
import { startTenantsServer, type TenantsServer } from "../support/tenants.ts";
import { comeBack, lasting, named, queued, TestCalls } from "../support/test-calls.ts";

const ROLES = ["nobody", "stranger", "user", "operator", "admin"] as const;

const POLICY = `
rules:
  - { who: token:root, may: [read, use, operate, admin], on: "*" }
  - { who: token:user, may: [read, use], on: mine/* }
  - { who: token:operator, may: [read, use, operate], on: mine/* }
  - { who: token:admin, may: [read, use, operate, admin], on: mine/* }
`;

/** The table of docs/security.md, by verb: verb, right, and for each role "yes", or the reason of the refusal. */
const TABLE = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => /^\| `(?:read|use|operate|admin)` \|/.test(line))
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll("`", "")),
  )
  .flatMap(([right = "", verbs = "", ...answers]) =>
    verbs.split(", ").map((verb) => [verb, right, ...answers]),
  );

let server: TenantsServer;
let root: TestCalls;

beforeAll(async () => {
  server = await startTenantsServer(POLICY, ["root", ...ROLES.slice(1)]);
  root = server.clientOf("root");
});
afterAll(() => server.stop());

function clientOf(name: string, Kind = TestCalls): TestCalls {
  if (name !== "nobody") return server.clientOf(name, Kind);
  return clientOfTest(new Kind(server.address));
}

const MINUTE = lasting(60);

/** The waiter of a lock that is held. */
async function waiting(name: string): Promise<{ ticketId: string; ticketNumber: bigint }> {
  await root.lease({ name, terms: MINUTE });
  const { ticketId } = await root.ticket({ name, terms: MINUTE });
  return { ticketId, ticketNumber: (await root.shown(name)).waiters[0]?.ticketNumber ?? 0n };
}

/** Makes what the verb needs of a lock, as root, and returns the verb's call, which would succeed with the right. */
const CALLS: Record<string, (name: string) => Promise<(client: TestCalls) => Promise<unknown>>> = {
  Acquire: async (name) => (client) => client.call("acquire", { name, terms: MINUTE }),
  WaitInQueue: async (name) => async (client) => {
    return await client.wait(queued({ name, terms: MINUTE })).granted();
  },
  "WaitInQueue by its ticket": async (name) => {
    const { leaseId } = await root.lease({ name, terms: MINUTE });
    const { ticketId } = await root.ticket({ name, terms: MINUTE });
    return async (client) => {
      const stream = client.wait(comeBack(ticketId));
      await stream.position();
      await root.call("release", { leaseId });
      return await stream.granted();
    };
  },
  Capture: async (name) => {
    await root.put(name);
    return (client) => client.capture([name], { terms: MINUTE });
  },
  "Capture by a prefix": async (name) => {
    await root.put(name);
    return (client) => client.capture(`${name.split("/")[0]}/`, { terms: MINUTE });
  },
  Renew: async (name) => {
    const { leaseId } = await root.lease({ name, terms: MINUTE });
    return (client) => client.call("renew", { leaseId });
  },
  Release: async (name) => {
    const { leaseId } = await root.lease({ name, terms: MINUTE });
    return (client) => client.call("release", { leaseId });
  },
  GetLock: async (name) => {
    await root.lease({ name, terms: MINUTE });
    return (client) => client.call("getLock", { name });
  },
  ListLocks: async (name) => {
    await root.lease({ name, terms: MINUTE });
    return (client) => client.call("listLocks", { prefix: name });
  },
  ListLimits: async (name) => {
    await root.limit(name, 2);
    return (client) => client.call("listLimits", { prefix: name });
  },
  ListClaims: async (name) => {
    await root.lease({ name, terms: MINUTE });
    return (client) => client.call("listClaims", { locks: { case: "lockName", value: name } });
  },
  "ListClaims of a prefix": async (name) => {
    await root.lease({ name, terms: MINUTE });
    return (client) => client.call("listClaims", { locks: { case: "prefix", value: name } });
  },
  ListChanges: async (name) => (client) =>
    client.call("listChanges", { locks: { case: "lockName", value: name } }),
  "ListChanges of a prefix": async (name) => (client) =>
    client.call("listChanges", { locks: { case: "prefix", value: name } }),
  ExplainWait: async (name) => (client) => client.call("explainWait", named(name)),
  "ExplainWait of a claim": async (name) => {
    const { ticketNumber } = await waiting(name);
    return (client) =>
      client.call("explainWait", { target: { case: "claim", value: { lockName: name, ticketNumber } } });
  },
  "ExplainWait by its ticket": async (name) => {
    const { ticketId } = await waiting(name);
    return (client) => client.call("explainWait", comeBack(ticketId));
  },
  WatchLocks: async (name) => {
    await root.lease({ name, terms: MINUTE });
    return async (client) => {
      const watch = client.watch(name);
      try {
        return await watch.shows(name);
      } finally {
        watch.cancel();
      }
    };
  },
  ForceRelease: async (name) => {
    await root.lease({ name, terms: MINUTE });
    return (client) => client.force(name);
  },
  SetLimit: async (name) => (client) => client.limit(name, 3),
  "SetLimit of a pattern": async (name) => (client) => client.limitAll(`${name}*`, 3),
  UpdateRecord: async (name) => (client) => client.call("updateRecord", { name, status: "changed" }),
  DeleteRecord: async (name) => {
    await root.call("updateRecord", { name, status: "ready" });
    return (client) => client.call("deleteRecord", { name });
  },
};

/** "yes", or the reason of the refusal. */
async function outcome(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
    return "yes";
  } catch (error) {
    if (!(error instanceof RowlockError)) throw error;
    return error.reason;
  }
}

let names = 0;

describe.each([
  ["by itself", TestCalls],
  ["in a session", SessionClient],
] as const)("each verb %s", (_how, Kind) => {
  test("is allowed to whom the table says, and changes nothing for others", async () => {
    const expected: string[][] = [];
    const found: string[][] = [];
    for (const [verb = "", right = "", ...cells] of TABLE) {
      const row = [verb, right];
      for (const role of ROLES) {
        const client = clientOf(role, Kind);
        const prepare = CALLS[verb];
        if (!prepare) throw new Error(`The test does not know how to call ${verb}.`);
        const name = `mine/${++names}`;
        const call = await prepare(name);
        row.push(await outcome(() => call(client)));
        const other = `other/${++names}`;
        const callOther = await prepare(other);
        const before = await stateOf(other);
        const denied = await outcome(() => callOther(client));
        expect([role, verb, denied]).toEqual([
          role,
          verb,
          role === "nobody" ? "CREDENTIALS_MISSING" : "RIGHT_MISSING",
        ]);
        expect(await stateOf(other)).toEqual(before);
      }
      expected.push([verb, right, ...cells]);
      found.push(row);
    }
    expect(found).toEqual(expected);
  }, 60_000);
});

/** What nobody without a right may have changed. */
async function stateOf(name: string) {
  const { limit, holders, waiters, record } = await root.shown(name);
  const numbers = (claims: readonly { ticketNumber: bigint }[] = []) =>
    claims.map(({ ticketNumber }) => ticketNumber);
  return { limit: limit?.permits, holders: numbers(holders), waiters: numbers(waiters), record };
}

test("the table has each verb of the contract, with the right that it needs", () => {
  const verbs = new Set(TABLE.map(([verb = ""]) => verb.split(" ")[0]));
  const contract = LockService.methods.map(({ name }) => name).filter((name) => name !== "Session");
  expect([...verbs].sort()).toEqual(contract.sort());
  expect(TABLE.every(([, right = ""]) => ["read", "use", "operate", "admin"].includes(right))).toBe(true);
});

describe("who has no right", () => {
  test("gets the same answer for a name that exists as for one that does not", async () => {
    const client = clientOf("user", TestCalls);
    await root.lease({ name: "other/exists", terms: MINUTE });
    const answers = await Promise.all(
      ["other/exists", "other/absent"].map(async (name) => {
        const error = await client.call("getLock", { name }).catch((thrown: unknown) => thrown);
        return { ...(error as RowlockError), message: (error as Error).message.replaceAll(name, "NAME") };
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.message).toContain("it needs the right `read`");
  });

  test("is shown nothing of other names in a listing, a watch and a page token", async () => {
    const client = clientOf("user", TestCalls);
    for (const name of ["mine/a", "mine/b", "mine/c", "nine/x", "min"])
      await root.lease({ name, terms: MINUTE });
    const seen: string[] = [];
    let pageToken = "";
    do {
      const page = await client.call("listLocks", { prefix: "", pageSize: 2, pageToken });
      seen.push(...page.locks.map(({ name }) => name));
      pageToken = page.nextPageToken;
      expect(Buffer.from(pageToken, "base64url").toString()).toMatch(/^(mine\/.*)?$/);
    } while (pageToken !== "");
    expect(seen).toEqual(expect.arrayContaining(["mine/a", "mine/b", "mine/c"]));
    expect(seen.filter((name) => !name.startsWith("mine/"))).toEqual([]);
    const watch = client.watch("");
    await watch.complete();
    expect([...watch.locks.keys()].filter((name) => !name.startsWith("mine/"))).toEqual([]);
    watch.cancel();
  });
});

test("changes are shown to whom may see all names that they are about", async () => {
  for (const pattern of ["mine/shown/*", "mi*", "other/*"])
    await root.limitAll(pattern, 2, { reason: "a test" });
  for (const name of ["mine/shown/a", "other/a"]) await root.put(name);
  const note = { target: "", isPattern: false, by: "1", from: "a", to: "b", reason: "" } as const;
  await server.store.noteChange({ kind: "policy", ...note });
  const shown = async (who: TestCalls, request: RequestOf<"listChanges">) =>
    (await who.call("listChanges", request)).changes.map(({ target }) => target.value ?? "policy");
  const user = clientOf("user", TestCalls);
  const own = await shown(user, { pageSize: 1_000 });
  expect(own).toEqual(expect.arrayContaining(["mine/shown/a", "mine/shown/*"]));
  expect(own.filter((target) => !target.startsWith("mine/"))).toEqual([]);
  expect(await shown(user, { locks: { case: "lockName", value: "mine/shown/a" } })).toEqual([
    "mine/shown/a",
    "mine/shown/*",
  ]);
  expect(await shown(root, { pageSize: 1_000 })).toEqual(
    expect.arrayContaining(["policy", "other/a", "other/*", "mi*"]),
  );
});

test("a caller that may use a lock and not see it learns that it is busy, and not from whom", async () => {
  const blind = await startTenantsServer("rules: [{ who: token:blind, may: use, on: '*' }]", ["blind"]);
  onTestFinished(() => blind.stop());
  const client = blind.clientOf("blind");
  await client.lease({ name: "held", terms: { ...MINUTE, owner: "secret owner" } });
  const refusal = await client.refusal({ name: "held", terms: MINUTE });
  expect(refusal.holders).toEqual([]);
  await client.ticket({ name: "held", terms: { ...MINUTE, owner: "secret owner" } });
  const { ticketId } = await client.ticket({ name: "held", terms: { ...MINUTE, owner: "own" } });
  const explained = await client.call("explainWait", comeBack(ticketId));
  expect(explained.claim).toMatchObject({ owner: "own" });
  expect(explained.causes).toMatchObject([
    { cause: { case: "held", value: { holders: [], holderCount: 1 } } },
    { cause: { case: "queued", value: { ahead: 1, first: [] } } },
  ]);
  for (const answer of [refusal, explained])
    expect(
      JSON.stringify(answer, (_key, value) => (typeof value === "bigint" ? String(value) : value)),
    ).not.toContain("secret owner");
  const byNumber = client.call("explainWait", {
    target: { case: "claim", value: { lockName: "held", ticketNumber: 3n } },
  });
  await expect(byNumber).rejects.toMatchObject({ reason: "RIGHT_MISSING" });
});

test("the principal is shown beside the owner", async () => {
  const client = clientOf("operator", SessionClient);
  await client.lease({ name: "mine/shown", terms: { ...MINUTE, owner: "whatever it says" } });
  const { holders } = await client.shown("mine/shown");
  expect(holders).toMatchObject([{ owner: "whatever it says", principal: "token:operator" }]);
});
