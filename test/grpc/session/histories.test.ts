// Random histories through a session, several commands per message, compared with the reference model: the same
// outcomes, in the order in which the contract decides the commands of one message.

import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Claim as ClaimMessage, Mode as WireMode } from "#proto/rowlock/v1/lock_pb.js";
import { WhenBusy } from "#proto/rowlock/v1/lock_pb.js";
import type { SessionResult } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Command } from "../../../server/core/command.ts";
import { NO_FAIL_OVER } from "../../../server/core/rows.ts";
import { type ModelOutcome, ReferenceModel } from "../../core/reference-model.ts";
import type { TestServer } from "../../support/harness.ts";
import { startServer } from "../../support/harness.ts";
import { seed } from "../../support/seed.ts";
import { BareSession, type Command as SessionCommand } from "../../support/session-client.ts";

const RUNS = Number(process.env.ROWLOCK_TEST_RUNS ?? 60);
const SETTINGS = { graceUs: 10e6, attachedForUs: 12.5e6, keptForUs: () => 3_600e6, queueMax: 4 };
const MODES = ["permit", "shared", "exclusive"] as const;
const TTL_US = 3_600e6;

type Ask =
  | { readonly ask: "acquire"; readonly mode: number; readonly permits: number; readonly mayWait: boolean }
  | { readonly ask: "again" | "renew" | "release"; readonly nth: number }
  | { readonly ask: "limit"; readonly limit: number };

/** A request that was sent, as both sides know it. */
interface Sent {
  readonly lock: string;
  readonly asked: Command & { readonly verb: "acquire" };
  readonly request: SessionCommand;
  /** From the server's answer; "" if it had none. */
  claimId: string;
}

/** A command of a message, for both sides. */
interface Step {
  readonly lock: string;
  readonly command: SessionCommand;
  readonly model: Command;
  /** Set for a new request. */
  readonly sent: Sent | null;
}

const ask: fc.Arbitrary<Ask> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ask: fc.constant("acquire" as const),
      mode: fc.nat(2),
      permits: fc.integer({ min: 1, max: 3 }),
      mayWait: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ ask: fc.constantFrom("again", "renew", "release", "release"), nth: fc.nat(30) }),
  },
  { weight: 1, arbitrary: fc.record({ ask: fc.constant("limit" as const), limit: fc.nat(3) }) },
);
const message = fc.array(fc.record({ lock: fc.nat(1), asked: ask }), { minLength: 1, maxLength: 5 });

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ rules: SETTINGS });
});
afterAll(() => server.stop());

/** The order in which the server decides the commands of a message. */
const RANK = { release: 0, renew: 1, set_limit: 2, acquire: 3 } as Readonly<Record<string, number>>;

class History {
  static #count = 0;
  readonly #prefix = `history-${++History.#count}`;
  readonly #session = new BareSession(server.client);
  readonly #model = new ReferenceModel(SETTINGS, new Map());
  readonly #sent: Sent[] = [];
  #nowUs = 1e15;

  async run(messages: readonly (readonly { readonly lock: number; readonly asked: Ask }[])[]): Promise<void> {
    try {
      for (const asks of messages) await this.#message(asks);
    } finally {
      this.#session.cancel();
    }
  }

  async #message(asks: readonly { readonly lock: number; readonly asked: Ask }[]): Promise<void> {
    const known = [...this.#sent];
    const steps = asks.flatMap(({ lock, asked }) => this.#stepOf(`${this.#prefix}/${lock}`, asked, known));
    const calls = this.#session.ask(...steps.map(({ command }) => command));
    const results = await Promise.all(calls.map((call) => this.#session.last(call)));
    this.#nowUs += 1_000;
    const order = steps.map((_, index) => index);
    order.sort((a, b) => (RANK[steps[a]?.model.verb ?? ""] ?? 9) - (RANK[steps[b]?.model.verb ?? ""] ?? 9));
    for (const index of order) {
      const { lock, model, sent } = steps[index] as Step;
      const [outcome] = this.#model.transact(lock, [model], this.#context());
      const result = results[index] as SessionResult["result"];
      expect(seenOf(result), `${model.verb} of ${lock}`).toEqual(expectedOf(outcome as ModelOutcome));
      if (sent) sent.claimId = idOf(result);
    }
    for (const lock of new Set(steps.map(({ lock }) => lock))) await this.#compare(lock);
  }

  /** Empty if it names a claim that does not exist. */
  #stepOf(lock: string, asked: Ask, known: readonly Sent[]): Step[] {
    if (asked.ask === "limit") {
      const command: SessionCommand = {
        case: "setLimit",
        value: { target: { case: "name", value: lock }, limit: asked.limit, reason: "test" },
      } as SessionCommand;
      const model: Command = {
        verb: "set_limit",
        name: lock,
        limit: asked.limit,
        expectedVersion: undefined,
        reason: "test",
      };
      return [{ lock, command, model, sent: null }];
    }
    if (asked.ask === "acquire") {
      const sent = this.#newRequest(lock, asked);
      return [{ lock, command: sent.request, model: sent.asked, sent }];
    }
    const named = known.filter(({ claimId }) => claimId !== "");
    const sent = named[asked.nth % named.length];
    if (!sent) return [];
    if (asked.ask === "again")
      return [{ lock: sent.lock, command: sent.request, model: sent.asked, sent: null }];
    const row = this.#model.rows(sent.lock).find(({ requestId }) => requestId === sent.asked.requestId);
    const ref = { lockId: 0n, ticketNumber: row?.ticketNumber ?? 0n, secret: sent.asked.secret };
    const command = { case: asked.ask, value: { leaseId: sent.claimId } } as SessionCommand;
    const model: Command =
      asked.ask === "renew"
        ? { verb: "renew", ref, ttlUs: undefined }
        : { verb: "release", ref, repeated: false };
    return [{ lock: sent.lock, command, model, sent: null }];
  }

  #newRequest(lock: string, asked: Ask & { readonly ask: "acquire" }): Sent {
    const requestId = `${this.#prefix}-${this.#sent.length}`;
    const mode = MODES[asked.mode] as (typeof MODES)[number];
    const permits = mode === "permit" ? asked.permits : 1;
    const sent: Sent = {
      lock,
      claimId: "",
      asked: {
        verb: "acquire",
        name: lock,
        mode,
        permits,
        ttlUs: TTL_US,
        requestId,
        secret: requestId,
        owner: "",
        labels: {},
        mayWait: asked.mayWait,
        maxWaitUs: null,
        replica: null,
      },
      request: {
        case: "acquire",
        value: {
          name: lock,
          mode: (asked.mode + 1) as WireMode,
          permits,
          requestId,
          ttl: { seconds: BigInt(TTL_US / 1e6), nanos: 0 },
          whenBusy: asked.mayWait ? WhenBusy.ENQUEUE : WhenBusy.REFUSE,
        },
      } as SessionCommand,
    };
    this.#sent.push(sent);
    return sent;
  }

  /** Compares holders and waiters on both sides. */
  async #compare(lock: string): Promise<void> {
    const { lock: shown } = await server.client.call("getLock", { name: lock });
    const numbers = (claims: readonly ClaimMessage[]) => claims.map(({ ticketNumber }) => ticketNumber);
    const rows = this.#model.rows(lock);
    const ofState = (state: string) =>
      rows.filter((row) => row.state === state).map(({ ticketNumber }) => ticketNumber);
    expect(numbers(shown?.holders ?? []).sort(), lock).toEqual(ofState("held").sort());
    expect(numbers(shown?.waiters ?? []), lock).toEqual(ofState("waiting"));
    expect(shown?.lastFencingToken, lock).toBe(this.#model.lastToken(lock));
  }

  #context() {
    const clock = { nowUs: this.#nowUs, atLeastUs: this.#nowUs, jumpedAtUs: null, backAtUs: null };
    return { clock, failOver: NO_FAIL_OVER, seenUpTo: null };
  }
}

function idOf(result: SessionResult["result"]): string {
  if (result.case !== "acquire") return "";
  const { outcome } = result.value;
  if (outcome.case === "lease") return outcome.value.leaseId;
  return outcome.case === "ticket" ? outcome.value.ticketId : "";
}

function seenOf(result: SessionResult["result"]): unknown {
  switch (result.case) {
    case "acquire": {
      const { outcome } = result.value;
      if (outcome.case === "lease") return { held: outcome.value.fencingToken };
      return outcome.case === "ticket" ? "waiting" : "no lease";
    }
    case "renew":
      return { held: result.value.lease?.fencingToken };
    case "release":
      return { released: result.value.released };
    case "setLimit":
      return { limit: result.value.limit, version: result.value.version };
    case "error":
      return "error";
    default:
      return result.case;
  }
}

function expectedOf(outcome: ModelOutcome): unknown {
  switch (outcome.kind) {
    case "held":
      return { held: outcome.claim.fencingToken };
    case "waiting":
      // Renewing a ticket is an error; acquiring again returns the ticket.
      return outcome.place === null ? expect.stringMatching(/waiting|error/) : "waiting";
    case "ended":
      return expect.stringMatching(/no lease|error/);
    case "refused":
      return "no lease";
    case "released":
      return { released: outcome.byThisCall };
    case "limit":
      return { limit: outcome.limit, version: outcome.version };
    default:
      return "error";
  }
}

test("random histories have the outcomes that the reference model has", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 25 }), (messages) =>
      new History().run(messages),
    ),
    { seed, numRuns: RUNS, endOnFailure: false },
  );
});
