// Time and chance of this thread come from the present world while one runs. Import it before anything that runs in a world.

import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import { fill } from "./chance.ts";
import { BEGAN_MS, type Cancel, maybeWorld, presentWorld } from "./world.ts";

type Run = (...values: unknown[]) => void;

class Timer {
  readonly #run: () => void;
  readonly #everyMs: number | null;
  #cancel: Cancel = () => {};

  constructor(run: () => void, inMs: number, isRepeated: boolean) {
    this.#run = run;
    this.#everyMs = isRepeated ? inMs : null;
    this.#start(inMs);
  }

  #start(inMs: number): void {
    const world = presentWorld();
    this.#cancel = world.at(world.current, inMs, () => {
      if (this.#everyMs !== null) this.#start(this.#everyMs);
      this.#run();
    });
  }

  stop(): void {
    this.#cancel();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

const msOf = (delay: unknown) => Math.max(1, Number(delay) || 0);
const stop = (timer: unknown) => {
  if (timer instanceof Timer) timer.stop();
};
const timer =
  (isRepeated: boolean) =>
  (run: Run, delay?: number, ...values: unknown[]) =>
    new Timer(() => run(...values), msOf(delay), isRepeated);

Object.assign(globalThis, {
  setTimeout: timer(false),
  setInterval: timer(true),
  setImmediate: (run: Run, ...values: unknown[]) => new Timer(() => run(...values), 0, false),
  clearTimeout: stop,
  clearInterval: stop,
  clearImmediate: stop,
});

function sleep<Value>(
  inMs: number,
  value?: Value,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      pause.stop();
      reject(new DOMException("The sleep was aborted.", "AbortError"));
    };
    const pause = new Timer(
      () => {
        signal?.removeEventListener("abort", aborted);
        resolve(value);
      },
      inMs,
      false,
    );
    if (signal?.aborted) aborted();
    else signal?.addEventListener("abort", aborted, { once: true });
  });
}

Object.assign(timers, {
  setTimeout: <Value>(delay?: number, value?: Value, options?: { signal?: AbortSignal }) =>
    sleep(msOf(delay), value, options),
  setImmediate: <Value>(value?: Value) => sleep(0, value),
});

const real = {
  bytes: crypto.randomFillSync,
  now: performance.now.bind(performance),
  hrtime: process.hrtime.bigint,
  date: Date.now,
  random: Math.random,
};

const bytes = (into: Uint8Array) => {
  const world = maybeWorld();
  if (world) fill(into, world.current.chance);
  else real.bytes(into);
  return into;
};
Object.assign(crypto, {
  randomBytes: (size: number) => bytes(Buffer.alloc(size)),
  randomFillSync: bytes,
});
syncBuiltinESMExports();

const ms = () => maybeWorld()?.nowMs;
performance.now = () => ms() ?? real.now();
process.hrtime.bigint = () => {
  const nowMs = ms();
  return nowMs === undefined ? real.hrtime() : BigInt(Math.round(nowMs * 1_000)) * 1_000n;
};
Date.now = () => {
  const nowMs = ms();
  return nowMs === undefined ? real.date() : BEGAN_MS + Math.floor(nowMs);
};
Math.random = () => maybeWorld()?.current.chance() ?? real.random();
