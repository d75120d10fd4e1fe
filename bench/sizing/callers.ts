// The callers of the measures of sizing: sessions of this process, which take and release locks at a rate or as fast
// as they can.

import { setTimeout as sleep } from "node:timers/promises";
import { newRequestId } from "../../clients/typescript/src/request-id.ts";
import { partsOf } from "../../server/core/bounds.ts";
import { acquire, release } from "../../test/support/session-client.ts";
import { TestCalls } from "../../test/support/test-calls.ts";
import { LeanSession } from "../lean-session.ts";

/** How many of the commands of one session are under way at once. */
const AT_ONCE = 400;
const TICK_MS = 10;
const NAMES = 5_000;

/** What a claim of a usual program has: an owner of 14 bytes, and one label. */
const USUAL = { owner: "worker-17.host", labels: { team: "billing" } };

export interface Callers {
  readonly clients: readonly TestCalls[];
  readonly sessions: readonly LeanSession[];
  close(): void;
}

/** Sessions, each on a connection of its own. */
export function sessionsAt(address: string, count: number): Callers {
  const clients = Array.from({ length: count }, () => new TestCalls(address));
  const sessions = clients.map((client) => new LeanSession(client));
  return {
    clients,
    sessions,
    close() {
      for (const session of sessions) session.close();
      for (const client of clients) client.close();
    },
  };
}

export interface Take {
  readonly name: string;
  readonly ttlS?: number;
}

/** Takes a lock, after a wait if it must. Returns the lease's id. */
export async function take(session: LeanSession, { name, ttlS = 30 }: Take): Promise<string> {
  const ttl = { seconds: BigInt(ttlS), nanos: 0 };
  const value = {
    name,
    requestId: newRequestId(),
    whenBusy: { case: "wait" as const, value: {} },
    ...USUAL,
    terms: { lasting: { case: "ttl" as const, value: ttl } },
  };
  const result = await session.ask(acquire(value)).first;
  if (result.case !== "acquire" || result.value.outcome.case !== "lease")
    throw new Error(`An Acquire was answered by ${JSON.stringify(result.value, shown)}`);
  return result.value.outcome.value.leaseId;
}

export async function giveBack(session: LeanSession, leaseId: string): Promise<void> {
  const result = await session.ask(release(leaseId)).first;
  if (result.case !== "release")
    throw new Error(`A Release was answered by ${JSON.stringify(result.value, shown)}`);
}

const shown = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);

/** Does `one` for each item, some hundred at once, shared among the sessions. */
export async function each<Item, Answer>(
  { sessions }: Callers,
  items: readonly Item[],
  one: (session: LeanSession, item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const part of partsOf(items, AT_ONCE * sessions.length)) {
    const asked = part.map((item, nth) => one(sessions[nth % sessions.length] as LeanSession, item));
    answers.push(...(await Promise.all(asked)));
  }
  return answers;
}

/** Starts pairs at an even rate, each of another name. Returns how many ended in that time. */
export async function pacedPairs({ sessions }: Callers, perSecond: number, seconds: number): Promise<number> {
  const beganMs = performance.now();
  const running = new Set<Promise<void>>();
  let started = 0;
  let ended = 0;
  for (let passedS = 0; passedS < seconds; passedS = (performance.now() - beganMs) / 1_000) {
    for (; started < passedS * perSecond; started++) {
      const session = sessions[started % sessions.length] as LeanSession;
      const one = pair(session, `paced/${started % NAMES}`).then(() => {
        ended += 1;
        running.delete(one);
      });
      running.add(one);
    }
    await sleep(TICK_MS);
  }
  const inTime = ended;
  await Promise.all(running);
  return inTime;
}

/** So many callers that each repeat Acquire and Release without a pause. Returns how many pairs ended in that time. */
export async function busyPairs(
  { sessions }: Callers,
  callers: number,
  seconds: number,
  nameOf: (caller: number, turn: number) => string,
): Promise<number> {
  const endMs = performance.now() + seconds * 1_000;
  let ended = 0;
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const session = sessions[caller % sessions.length] as LeanSession;
      for (let turn = 0; performance.now() < endMs; turn++) {
        await pair(session, nameOf(caller, turn));
        if (performance.now() < endMs) ended += 1;
      }
    }),
  );
  return ended;
}

export const distinctName = (caller: number, turn: number) => `busy/${caller}/${turn % 100}`;
export const hotName = () => "hot";

/** A pair of each name, some hundred at once. */
export async function pairOfEach({ sessions }: Callers, names: readonly string[]): Promise<void> {
  for (const part of partsOf(names, AT_ONCE * sessions.length))
    await Promise.all(part.map((name, nth) => pair(sessions[nth % sessions.length] as LeanSession, name)));
}

async function pair(session: LeanSession, name: string): Promise<void> {
  await giveBack(session, await take(session, { name }));
}
