// The steps of a scenario. A step is a verb with what it is about, and what is expected beside it. Verbs that are not in the
// table below are commands to a driver, as README.md lists them.
//
//   gives: {...}      what the answer must match (see matches.ts); unless told otherwise, any answer that is no error
//   fails: {...}      what the error must match
//   becomes: {...}    asked again until the answer matches
//   later: true       the answer is for a later step, `answer: NAME`
//   keep: {x: path}   keeps a part of the answer as ${x}
//   times: 10         ten of it at once, told apart by ${i}
//   took: {$max: ms}  how long the answer was on its way
//   by: ${instant}    the answer or event must have come by then, in milliseconds since 1970
//   as: NAME          under which `answer` and `order` speak of it

import { setTimeout as sleep } from "node:timers/promises";
import { createConnection } from "mysql2/promise";
import { bareCall } from "./bare-call.ts";
import { type Heard, type Json, PATIENCE_MS } from "./driver-process.ts";
import { mismatch } from "./matches.ts";
import { readSteps, type Step } from "./scenario.ts";
import type { Stage } from "./stage.ts";
import { at } from "./values.ts";

const POLL_EVERY_MS = 25;

type Verb = (stage: Stage, step: Step) => Promise<void>;

const VERBS: Readonly<Record<string, Verb>> = {
  /** Of a command before: `answer: NAME`. */
  answer: async (stage, step) => {
    const asked = stage.asked.get(String(step.about));
    if (!asked) throw new Error(`Nothing was asked as ${step.about}.`);
    const heard = await bounded(asked.answer, "No answer");
    stage.heard.set(String(step.as ?? step.about), heard);
    check(stage, step, heard, asked.sentMs);
  },
  /** One that comes, or has come: `event: {event, lock, ...}`. Each is found once. */
  event: async (stage, step) => {
    const { lock, ...wanted } = step.about as Json;
    const driver = stage.driverOf({ lock });
    const fits = (event: Json) =>
      event.lock === stage.handle(lock) && mismatch(event, wanted) === undefined && !stage.isTaken(event);
    const heard = await driver.event(fits).catch((error: Error) => {
      const said = driver.events((event) => event.lock === stage.handle(lock)).map(({ line }) => line);
      throw new Error(`${error.message} Of this lock there were ${JSON.stringify(said)}.`);
    });
    stage.take(heard.line);
    if (step.as !== undefined) stage.heard.set(step.as, heard);
    check(stage, step, heard, heard.atMs);
  },
  /** None so far: `never: {event, lock, ...}`. */
  never: async (stage, { about }) => {
    const { lock, ...wanted } = about as Json;
    const found = stage
      .driverOf({ lock })
      .events((event) => event.lock === stage.handle(lock) && mismatch(event, wanted) === undefined);
    if (found.length > 0) throw new Error(`There was ${JSON.stringify(found[0]?.line)}`);
  },
  /** Answers and events of one driver, by their names, in the order in which they must have come. */
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
  /** What a server shows of a lock, to somebody else: `look: {name, at: SERVER}`. */
  look: async (stage, step) => {
    const { name, at: server } = step.about as { name: string; at?: string };
    await answered(stage, step, async () => plain(await stage.looker(server).getLock(name)));
  },
  /** A call of the API as it is: `call: {method: {request}}`, `{at: SERVER, ...}`. */
  call: async (stage, step) => {
    const { at: server = stage.servers.keys().next().value, ...calls } = step.about as Record<string, never>;
    const [[method, request] = []] = Object.entries(calls);
    await answered(stage, step, () =>
      bareCall(stage.addressOf(String(server)), method as string, request as never),
    );
  },
  /** Statements on the database that the servers are on. */
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
  /** `server: {NAME: freeze}`, thaw, kill, stop (which does not wait for its end), end (which does), restart. */
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
  /** `proxy: {NAME: cut}` (what goes through it now), freeze, leave, comeBack; or expects of one that refuses streams. */
  proxy: async (stage, { about }) => {
    for (const [name, act] of Object.entries(about as Record<string, string>)) {
      const proxy = named(stage.proxies, name);
      await chosen(act, {
        cut: async () => {
          proxy.leave();
          await proxy.comeBack();
        },
        freeze: () => proxy.freeze(),
        leave: () => proxy.leave(),
        comeBack: () => proxy.comeBack(),
      });
    }
  },
  /** What a proxy that refuses streams has counted: `refused: NAME`. */
  refused: async (stage, step) => {
    const { counts } = named(stage.refusing, String(step.about));
    await answered(stage, step, async () => counts);
  },
  /** `driver: {NAME: freeze}`, thaw, end (which must go well). */
  driver: async (stage, { about }) => {
    for (const [name, act] of Object.entries(about as Record<string, string>)) {
      const driver = named(stage.drivers, name);
      await chosen(act, {
        freeze: () => driver.freeze(),
        thaw: () => driver.thaw(),
        end: () => driver.end(),
      });
    }
  },
  /** One client more. */
  connect: async (stage, step) => {
    const { client, ...spec } = step.about as { client: string };
    await stage.connect(client, spec);
  },
  /** Where time itself is the point. */
  pause: async (_, { about }) => {
    await sleep(about as number);
  },
  /** The same steps for each row, one row after the other: `each: {rows: [...], steps: [...]}`, with ${row.FIELD}. */
  each: async (stage, { about }) => {
    const { rows, steps } = about as { rows: Json[]; steps: unknown };
    for (const row of rows) {
      for (const [field, value] of Object.entries(row)) stage.values.set(`row.${field}`, stage.fill(value));
      try {
        await takeSteps(stage, readSteps(steps));
      } catch (error) {
        throw new Error(`row ${JSON.stringify(row)}: ${(error as Error).message}`, { cause: error });
      }
    }
  },
};

/** Those whose inner steps are filled in later. */
const UNFILLED = ["each"];

/** One after the other. Throws at the first that does not go as it should. */
export async function takeSteps(stage: Stage, steps: readonly Step[]): Promise<void> {
  for (const [index, step] of steps.entries()) {
    try {
      await take(stage, step);
    } catch (error) {
      const words = `step ${index + 1} (${step.verb} ${JSON.stringify(step.about)}): ${(error as Error).message}`;
      throw new Error(words, { cause: error });
    }
  }
}

async function take(stage: Stage, step: Step): Promise<void> {
  const verb = VERBS[step.verb] ?? command;
  if (step.times === 1) {
    await verb(stage, UNFILLED.includes(step.verb) ? step : stage.fill(step));
    return;
  }
  const each = Array.from({ length: step.times }, (_, index) => {
    stage.values.set("i", index);
    return verb(stage, stage.fill(step));
  });
  await Promise.all(each);
}

/** To a driver. */
const command: Verb = async (stage, step) => {
  const about = step.about as Json;
  const ask = () => stage.ask({ do: step.verb, ...about });
  if (step.becomes !== undefined) {
    await answered(stage, step, async () => {
      const { line } = await bounded(ask().answer, "No answer");
      if (line.error) throw new Error(JSON.stringify(line.error));
      return line.result;
    });
    return;
  }
  const asked = ask();
  asked.answer.catch(() => {});
  if (step.later) {
    stage.asked.set(String(step.as ?? about.lock), asked);
    return;
  }
  const heard = await bounded(asked.answer, "No answer");
  const name = step.as ?? about.lock;
  if (name !== undefined) stage.heard.set(String(name), heard);
  check(stage, step, heard, asked.sentMs);
};

/** What is asked by the runner itself: once, or until it is as it should be. */
async function answered(stage: Stage, step: Step, ask: () => Promise<unknown>): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const result = await ask();
    const wrong = step.becomes === undefined ? undefined : mismatch(result, step.becomes);
    if (wrong === undefined) {
      check(stage, step, heardNow({ result }), performance.now());
      return;
    }
    if (performance.now() > untilMs) throw new Error(`After ${PATIENCE_MS} ms ${wrong}`);
    await sleep(POLL_EVERY_MS);
  }
}

function check(stage: Stage, { gives, fails, took, by, keep }: Step, heard: Heard, sentMs: number): void {
  const { result, error } = heard.line;
  const inFull = () => `\n    ${JSON.stringify(heard.line)}`;
  if (fails !== undefined && error === undefined) throw new Error(`It should have failed.${inFull()}`);
  if (fails === undefined && error !== undefined) throw new Error(`It has failed.${inFull()}`);
  const wrong = fails === undefined ? gives !== undefined && mismatch(result, gives) : mismatch(error, fails);
  if (wrong) throw new Error(`${wrong}${inFull()}`);
  const late =
    took === undefined ? undefined : mismatch(Math.round(heard.atMs - sentMs), took, "the time it took");
  if (late) throw new Error(late);
  if (by !== undefined && heard.atEpochMs > (by as number))
    throw new Error(`It came ${heard.atEpochMs - (by as number)} ms too late.`);
  for (const [name, path] of Object.entries(keep)) stage.values.set(name, at(result ?? heard.line, path));
}

const heardNow = (line: Json): Heard => ({
  order: 0,
  atMs: performance.now(),
  atEpochMs: Date.now(),
  line,
});

/** As JSON has it: large numbers as texts, instants in milliseconds since 1970. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Date) return value.getTime();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]));
}

async function bounded<Value>(promise: Promise<Value>, words: string): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${words} within ${PATIENCE_MS} ms.`)), PATIENCE_MS);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
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
