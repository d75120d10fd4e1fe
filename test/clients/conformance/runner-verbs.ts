// The verbs that the runner executes itself, without a driver: waiting for answers and events, looking at servers
// from outside, and controlling servers, proxies and drivers.

import { setTimeout as sleep } from "node:timers/promises";
import { createConnection } from "mysql2/promise";
import { bareCall } from "./bare-call.ts";
import type { Tokens } from "./credentials.ts";
import type { Json } from "./driver-process.ts";
import { check, checkAsked, heardNow, inTime } from "./expectations.ts";
import { mismatch } from "./matches.ts";
import type { Step } from "./scenario.ts";
import type { Stage } from "./stage.ts";

export type Verb = (stage: Stage, step: Step) => Promise<void>;

export const RUNNER_VERBS: Readonly<Record<string, Verb>> = {
  /** Waits for the answer to an earlier command: `answer: NAME`. */
  answer: async (stage, step) => {
    const asked = stage.asked.get(String(step.about));
    if (!asked) throw new Error(`Nothing was asked as ${step.about}.`);
    const heard = await inTime(asked.answer);
    stage.heard.set(String(step.as ?? step.about), heard);
    check(stage, step, heard, asked.sentMs);
  },
  /**
   * Waits for an event, which may already have come: `event: {event, lock, ...}`, or `watch` or `worker` instead of the
   * lock. Finds each event once.
   */
  event: async (stage, step) => {
    const about = step.about as Json;
    const driver = stage.cast.driverOf(about);
    const isAbout = (event: Json) => stage.cast.isAbout(event, about);
    const fits = (event: Json) =>
      isAbout(event) && mismatch(event, wordsOf(about)) === undefined && !stage.cast.isTaken(event);
    const heard = await driver.event(fits).catch((error: Error) => {
      const said = driver.events(isAbout).map(({ line }) => line);
      throw new Error(`${error.message} Of this one there were ${JSON.stringify(said)}.`);
    });
    stage.cast.take(heard.line);
    if (step.as !== undefined) stage.heard.set(step.as, heard);
    check(stage, step, heard, heard.atMs);
  },
  /** Checks that no such event has come so far: `never: {event, lock, ...}`. */
  never: async (stage, { about }) => {
    const words = about as Json;
    const found = stage.cast
      .driverOf(words)
      .events((event) => stage.cast.isAbout(event, words) && mismatch(event, wordsOf(words)) === undefined);
    if (found.length > 0) throw new Error(`There was ${JSON.stringify(found[0]?.line)}`);
  },
  /** Checks that these answers and events of one driver came in this order; lists their names. */
  order: async (stage, { about }) => {
    const heards = (about as string[]).map((name) => {
      const heard = stage.heard.get(name);
      if (!heard) throw new Error(`Nothing was heard as ${name}.`);
      return heard;
    });
    heards.forEach((heard, index) => {
      if (heard.order < (heards[index - 1]?.order ?? 0))
        throw new Error(`${(about as string[])[index]} came before ${(about as string[])[index - 1]}.`);
    });
  },
  /** What a server shows of a lock to another client: `look: {name, at: SERVER}`. */
  look: async (stage, step) => {
    const { name, at: server } = step.about as { name: string; at?: string };
    await checkAsked(stage, step, async () => plain(await stage.looker(server).getLock(name)));
  },
  /** A direct call of the API: `call: {method: {request}}`, with an optional `at: SERVER`. */
  call: async (stage, step) => {
    const { at: server = stage.firstServer, ...calls } = step.about as Record<string, never>;
    const [[method, request] = []] = Object.entries(calls);
    await checkAsked(stage, step, () =>
      bareCall(stage.addressOf(String(server)), method as string, request as never),
    );
  },
  /** Statements on the servers' database. */
  sql: async (stage, step) => {
    const connection = await createConnection(stage.values.get("url") as string);
    try {
      let rows: unknown;
      for (const statement of [step.about as string].flat()) [rows] = await connection.query(statement);
      check(stage, step, heardNow({ result: rows }), performance.now());
    } finally {
      await connection.end();
    }
  },
  /** `server: {NAME: freeze}`; or thaw, kill, stop (does not wait for its end), end (waits), restart. */
  server: async (stage, { about }) => {
    for (const [name, act] of Object.entries(about as Record<string, string>)) {
      const server = named(stage.servers, name);
      await chosen(act, {
        freeze: () => server.signal("SIGSTOP"),
        thaw: () => server.signal("SIGCONT"),
        kill: () => server.signal("SIGKILL"),
        stop: () => server.signal("SIGTERM"),
        end: async () => {
          server.signal("SIGTERM");
          await server.gone();
        },
        restart: async () => {
          server.signal("SIGKILL");
          await server.start();
        },
      });
    }
  },
  /**
   * `proxy: {NAME: cut}` (closes its connections); or mute, freeze, leave, comeBack. Not for a proxy that refuses
   * streams.
   */
  proxy: async (stage, { about }) => {
    for (const [name, act] of Object.entries(about as Record<string, string>)) {
      const proxy = named(stage.proxies, name);
      await chosen(act, {
        cut: async () => {
          proxy.leave();
          await proxy.comeBack();
        },
        mute: () => proxy.mute(),
        freeze: () => proxy.freeze(),
        leave: () => proxy.leave(),
        comeBack: () => proxy.comeBack(),
      });
    }
  },
  /** The counts of a proxy that refuses streams: `refused: NAME`. */
  refused: async (stage, step) => {
    const { counts } = named(stage.refusing, String(step.about));
    await checkAsked(stage, step, async () => counts);
  },
  /** `driver: {NAME: freeze}`; or thaw, end (which must go well). */
  driver: async (stage, { about }) => {
    for (const [name, act] of Object.entries(about as Record<string, string>)) {
      const driver = named(stage.cast.drivers, name);
      await chosen(act, {
        freeze: () => driver.freeze(),
        thaw: () => driver.thaw(),
        end: () => driver.end(),
      });
    }
  },
  /** Adds a client. */
  connect: async (stage, step) => {
    const { client, ...spec } = step.about as { client: string };
    check(stage, step, await stage.connect(client, spec), performance.now());
  },
  /** The tokens that a server accepts from now on: `tokens: {SERVER: {PRINCIPAL: [TOKEN, ...]}}`. */
  tokens: async (stage, { about }) => {
    for (const [name, tokens] of Object.entries(about as Record<string, Tokens>))
      await named(stage.credentials, name).replace(tokens, stage.addressOf(name));
  },
  /** Makes a JWT, `{token}`, which a server with `jwt: true` accepts: `jwt: {subject, lastsMs, at?: SERVER}`. */
  jwt: async (stage, step) => {
    const { subject, lastsMs, at: name = stage.firstServer } = step.about as Asked;
    const token = named(stage.credentials, name).jwt(subject, lastsMs);
    check(stage, step, heardNow({ result: { token } }), performance.now());
  },
  /** Writes or replaces files: `write: {NAME: TEXT}`. `${NAME}` is the path. */
  write: async (stage, { about }) => {
    const files = await stage.files();
    for (const [name, text] of Object.entries(about as Record<string, string>))
      stage.values.set(name, await files.write(name, text));
  },
  /** The same, with the content of other files: `copy: {NAME: PATH}`. */
  copy: async (stage, { about }) => {
    const files = await stage.files();
    for (const [name, path] of Object.entries(about as Record<string, string>))
      stage.values.set(name, await files.copy(name, path));
  },
  /** Sleeps, for steps where time itself matters. */
  pause: async (_, { about }) => {
    await sleep(about as number);
  },
};

interface Asked {
  readonly subject: string;
  readonly lastsMs: number;
  readonly at?: string;
}

/** What an event must say, without what it is about. */
function wordsOf({ lock: _, watch: __, worker: ___, ...wanted }: Json): Json {
  return wanted;
}

/** As in JSON: large numbers as texts, instants in milliseconds since 1970. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Date) return value.getTime();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]));
}

function named<Value>(all: ReadonlyMap<string, Value>, name: string): Value {
  const found = all.get(name);
  if (!found) throw new Error(`There is no ${name} (have: ${[...all.keys()].join(", ")}).`);
  return found;
}

async function chosen(act: string, acts: Readonly<Record<string, () => unknown>>): Promise<void> {
  const found = acts[act];
  if (!found) throw new Error(`There is no ${act} (have: ${Object.keys(acts).join(", ")}).`);
  await found();
}
