// Stops what a test has started, within seconds, whatever is wrong with it: a part that does not stop is named in the
// error, and the parts after it are stopped all the same. If one was stuck, the others in its file probably are too,
// and get almost no time.

import { expect } from "vitest";

const PATIENCE_MS = 5_000;
const SHORT_MS = 100;
/** Extra time that a busy machine may need to cut off unfinished work. */
const LATE_MS = 2_000;

/** The test file in which a part was stuck. */
let stuckIn: string | undefined;

function isStuck(): boolean {
  return stuckIn !== undefined && stuckIn === expect.getState().testPath;
}

/** How long a server of this file may take to close its connections. */
export function drainMs(): number {
  return isStuck() ? SHORT_MS : PATIENCE_MS;
}

export interface Part {
  readonly name: string;
  /** May take as long as `drainMs` says; after that it is probably stuck. */
  readonly stop: () => Promise<unknown>;
}

/**
 * A server whose drain rejects if it goes on after its deadline, so that its test fails for that reason and not by a
 * time-out.
 */
export function drainingInTime<Server extends { drain(deadlineMs: number): Promise<void> }>(
  server: Server,
): Server {
  let draining: Promise<void> | undefined;
  const drain = (deadlineMs: number) => {
    draining ??= new Promise<void>((resolve, reject) => {
      const late = new Error(`The gRPC server did not drain within ${deadlineMs} ms.`);
      const timer = setTimeout(() => reject(late), deadlineMs + LATE_MS);
      server
        .drain(deadlineMs)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });
    return draining;
  };
  return { ...server, drain };
}

/** Stops the parts one by one. Rejects with the names of those that did not stop in time, or with the first failure. */
export async function stopInTime(...parts: readonly Part[]): Promise<void> {
  const late: string[] = [];
  const failures: unknown[] = [];
  for (const { name, stop } of parts) {
    const patienceMs = drainMs();
    const beganMs = performance.now();
    const timeOver = Promise.withResolvers<boolean>();
    // A drain cuts off at its own deadline, so this timer allows a little more.
    const timer = setTimeout(() => timeOver.resolve(false), patienceMs + (isStuck() ? SHORT_MS : LATE_MS));
    const stopped = stop().then(
      () => true,
      (error: unknown) => failures.push(error) > 0,
    );
    if (!(await Promise.race([stopped, timeOver.promise]))) late.push(name);
    clearTimeout(timer);
    if (performance.now() - beganMs >= patienceMs) stuckIn = expect.getState().testPath;
  }
  if (failures.length > 0) throw failures[0];
  if (late.length > 0) throw new Error(`This did not stop in time: ${late.join(", ")}.`);
}
