// Attacks by what sessions and streams allow: a thousand sessions, commands without content, commands that are cancelled
// while the server works on them, and clients that never read.

import { setTimeout as sleep } from "node:timers/promises";
import { acquire, BareSession, type Command, cancel, capture } from "../../support/session-client.ts";
import { TestCalls } from "../../support/test-calls.ts";
import { type Attack, atOnce, type Target } from "../target.ts";

const COUNT = 1_000;
const PER_CONNECTION = 100;
const FLOODERS = 10;
const PER_REQUEST = 200;
const EVERY_MS = 50;
const HEARTBEAT_MS = 1_000;
/** The default of ROWLOCK_SESSION_COMMANDS_MAX, and fewer names than the server makes in a second. */
const GREEDY = 5_000;
const GREEDY_NAMES = 1_000;

/** A session on a connection of its own, whose end is counted. */
function session(target: Target, client = new TestCalls(target.address)): BareSession {
  const opened = new BareSession(client, { open: {} }, ({ results }) => {
    for (const { result } of results) if (result.case === "rejected") target.note("rejected");
    // Nobody asks for them again.
    opened?.responses.splice(0);
  });
  opened.ended.catch((error: { code?: string; reason?: string }) =>
    target.note(`ended ${error.code} ${error.reason}`),
  );
  return opened;
}

async function thousand(target: Target): Promise<void> {
  const sessions = Array.from({ length: COUNT / PER_CONNECTION }, () => {
    const client = new TestCalls(target.address);
    return Array.from({ length: PER_CONNECTION }, () => session(target, client));
  }).flat();
  for (const each of sessions) each.keepAlive(HEARTBEAT_MS);
  target.begun();
  for (;;) {
    for (const [index, each] of sessions.entries()) {
      each.ask(
        acquire({
          name: `of/${index}`,
          terms: { lasting: { case: "ttl" as const, value: { seconds: 60n, nanos: 0 } } },
        }),
      );
      if (index % PER_CONNECTION === 0) await sleep(EVERY_MS);
    }
  }
}

/** Each sends a request of many commands again and again. */
async function flood(target: Target, send: (each: BareSession) => void): Promise<void> {
  const flooding = atOnce(FLOODERS, async () => {
    let each = session(target);
    for (;;) {
      let isOver = false;
      each.ended
        .catch(() => {})
        .finally(() => {
          isOver = true;
        });
      while (!isOver) {
        send(each);
        await sleep(EVERY_MS);
      }
      each = session(target);
    }
  });
  target.begun();
  await flooding;
}

function askAndCancel(each: BareSession, commandOf: (index: number) => Command): void {
  const numbers = each.ask(...Array.from({ length: PER_REQUEST / 10 }, (_, index) => commandOf(index)));
  each.send({ commands: numbers.map((call) => ({ command: cancel(call) })) });
}

/** One client that always has as many commands under way as its session allows. */
async function greedy(target: Target): Promise<void> {
  let count = 0;
  let answered = 0;
  const ask = () => acquire({ name: `greedy/${count++ % GREEDY_NAMES}` });
  const each: BareSession = new BareSession(new TestCalls(target.address), { open: {} }, ({ results }) => {
    each?.responses.splice(0);
    answered += results.length;
    // The names are known by then.
    if (answered >= 2 * GREEDY && answered - results.length < 2 * GREEDY) target.begun();
    // Not all in one request: it could be larger than the server takes.
    for (let from = 0; from < results.length; from += PER_REQUEST)
      each.ask(...results.slice(from, from + PER_REQUEST).map(ask));
  });
  each.keepAlive(HEARTBEAT_MS);
  each.ended.catch((error: { code?: string; reason?: string }) =>
    target.note(`ended ${error.code} ${error.reason}`),
  );
  for (let sent = 0; sent < GREEDY; sent += PER_REQUEST)
    each.ask(...Array.from({ length: PER_REQUEST }, ask));
}

/** Sessions that ask for more than they read. */
async function unread(target: Target, ask: (each: BareSession, turn: number) => void): Promise<void> {
  const sessions = Array.from({ length: FLOODERS }, () => {
    const each = session(target);
    each.stopReading();
    return each;
  });
  target.begun();
  for (let turn = 0; ; turn++) {
    for (const each of sessions) ask(each, turn);
    await sleep(EVERY_MS);
  }
}

const listing = { case: "listLocks", value: { prefix: "", pageSize: 1_000 } } as Command;
const watching = { case: "watchLocks", value: { prefix: "" } } as Command;
const nothing = Array.from({ length: PER_REQUEST }, () => ({}));

export const SESSIONS: Readonly<Record<string, Attack>> = {
  "one greedy client": greedy,
  "a thousand sessions": thousand,
  "commands without content": (target) => flood(target, (each) => each.send({ commands: nothing })),
  "requests without commands": (target) =>
    flood(target, (each) => {
      for (let index = 0; index < PER_REQUEST; index++) each.send({});
    }),
  "commands that are cancelled": (target) =>
    flood(target, (each) =>
      askAndCancel(each, (index) =>
        capture({ from: { case: "prefix", value: `none/${index}` }, maxLeases: 1 }),
      ),
    ),
  "sessions that are not read": (target) =>
    unread(target, (each, turn) =>
      each.ask(
        ...Array.from({ length: 20 }, (_, index) => acquire({ name: `unread/${turn % 50}/${index}` })),
      ),
    ),
  "listings that are not read": (target) => unread(target, (each) => each.ask(listing)),
  "watches that are not read": (target) =>
    unread(target, (each, turn) => {
      if (turn < 50) each.ask(watching);
      else each.ask(acquire({ name: `watched/${turn}` }));
    }),
};
