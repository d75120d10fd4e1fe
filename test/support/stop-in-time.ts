// The end of what a test has put up, within seconds, whatever is wrong with it: a part that does not stop is named, and those
// after it are stopped all the same. Where one was stuck the others of its file most likely are, too, and get no time.

const PATIENCE_MS = 5_000;
const SHORT_MS = 100;
/** What it may take on a busy machine to cut off what was not finished. */
const LATE_MS = 2_000;

let isStuck = false;

/** How long a server of this file may take to let go of its connections. */
export function drainMs(): number {
  return isStuck ? SHORT_MS : PATIENCE_MS;
}

export interface Part {
  readonly name: string;
  /** It may need as long as `drainMs` says, and has then most likely been stuck. */
  readonly stop: () => Promise<unknown>;
}

/** A server whose drain rejects where it goes on after its deadline: a test of it fails then, and not by its own time-out. */
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

/** One after the other. Rejects with the names of those that did not stop in time, or with the first failure. */
export async function stopInTime(...parts: readonly Part[]): Promise<void> {
  const late: string[] = [];
  const failures: unknown[] = [];
  for (const { name, stop } of parts) {
    const patienceMs = drainMs();
    const beganMs = performance.now();
    const timeOver = Promise.withResolvers<boolean>();
    // A drain cuts off at its own end, so it is given a little more.
    const timer = setTimeout(() => timeOver.resolve(false), patienceMs + (isStuck ? SHORT_MS : LATE_MS));
    const stopped = stop().then(
      () => true,
      (error: unknown) => failures.push(error) > 0,
    );
    if (!(await Promise.race([stopped, timeOver.promise]))) late.push(name);
    clearTimeout(timer);
    isStuck ||= performance.now() - beganMs >= patienceMs;
  }
  if (failures.length > 0) throw failures[0];
  if (late.length > 0) throw new Error(`This did not stop in time: ${late.join(", ")}.`);
}
