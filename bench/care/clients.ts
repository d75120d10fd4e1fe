// The clients of a trial: callers that take and release locks all the time and check each token, and marks by which
// one sees afterwards what a restored database still knows.

import { setTimeout as sleep } from "node:timers/promises";
import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import type { RowlockError } from "../../clients/typescript/src/bare/index.ts";
import type { QueueStream } from "../../test/support/queue-stream.ts";
import { TestCalls } from "../../test/support/test-calls.ts";

/** The longest time to live that any client asks for. */
export const TTL_S = 45;
const TTL = { seconds: BigInt(TTL_S), nanos: 0 };
const LOAD_TTL = { seconds: 2n, nanos: 0 };
const CALLERS = 4;
const NAMES_OF_A_CALLER = 50;
const RENEW_EVERY_MS = 2_000;
const AGAIN_MS = 20;
const GRANTS_AGAIN_MS_MAX = 180_000;

/** What the database still knows of what was done before the backup, between it and a stop, and after that. */
export interface Found {
  readonly leaseBefore: boolean;
  readonly leaseBetween: boolean;
  readonly leaseAfter: boolean;
  /** A lease of the backup that its holder released later is held once more. */
  readonly heldAgain: boolean;
  readonly placeBefore: boolean;
  readonly limit: number;
  readonly status: string;
}

export class Clients {
  readonly #calls: TestCalls;
  /** The highest token of each lock; a lower one is a fault. */
  readonly #highest = new Map<string, bigint>();
  readonly #grantedMs: number[] = [];
  readonly #faults: string[] = [];
  readonly #marks: Record<string, Lease> = {};
  #ticketId = "";
  #queue: QueueStream | undefined;
  #isOver = false;
  #running: Promise<void>[] = [];

  constructor(address: string) {
    this.#calls = new TestCalls(address);
  }

  start(): void {
    for (let caller = 0; caller < CALLERS; caller++) this.#running.push(this.#load(caller));
    this.#running.push(this.#renew());
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
    this.#queue?.cancel();
    this.#calls.close();
  }

  /** What the backup has. */
  async before(): Promise<void> {
    await this.#mark("before");
    await this.#mark("released");
    await this.#mark("queued");
    this.#queue = this.#calls.wait({
      target: { case: "request", value: { name: "queued", requestId: "place" } },
    });
    this.#ticketId = (await this.#queue.position()).ticketId;
    await this.#calls.call("setLimit", {
      target: { case: "name", value: "limited" },
      newLimit: { case: "limit", value: 3 },
    });
    await this.#calls.call("updateRecord", { name: "recorded", status: "before" });
  }

  /** What the backup lacks and the binary log up to the stop has. */
  async between(): Promise<void> {
    await this.#mark("between");
  }

  /** What the backup lacks, and the binary log up to the stop, too. */
  async after(): Promise<void> {
    await this.#mark("after");
    const leaseId = this.#marks.released?.leaseId as string;
    delete this.#marks.released;
    await this.#calls.call("release", { leaseId });
    await this.#calls.call("setLimit", {
      target: { case: "name", value: "limited" },
      newLimit: { case: "limit", value: 5 },
    });
    await this.#calls.call("updateRecord", { name: "recorded", status: "after" });
  }

  /** Waits until a server answers again, and asks what it knows. */
  async found(): Promise<Found> {
    const lock = async (name: string) =>
      (await this.#patiently(() => this.#calls.call("getLock", { name }))).lock;
    await lock("queued");
    const placeBefore = await this.#hasPlace();
    const limited = await lock("limited");
    const recorded = await lock("recorded");
    const released = await lock("released");
    return {
      leaseBefore: await this.#renews("before"),
      leaseBetween: await this.#renews("between"),
      leaseAfter: await this.#renews("after"),
      heldAgain: (released?.holderCount ?? 0) > 0,
      placeBefore,
      limit: limited?.limit?.permits ?? 0,
      status: recorded?.record?.status ?? "",
    };
  }

  /**
   * Waits until locks are granted, also those whose leases were lost. Returns the longest time in seconds without a
   * grant since then. Throws if any token was not above all earlier ones of its lock.
   */
  async pauseUntilGrants(sinceMs: number): Promise<number> {
    const deadlineMs = performance.now() + GRANTS_AGAIN_MS_MAX;
    const nowMs = performance.now();
    while ((this.#grantedMs.at(-1) ?? 0) < nowMs) {
      if (performance.now() > deadlineMs) throw new Error("Nothing is granted again.");
      await sleep(AGAIN_MS);
    }
    for (const name of ["between", "after", "released", "new"]) {
      const mark = this.#marks[name];
      if (mark) await this.#calls.call("release", { leaseId: mark.leaseId }).catch(() => {});
      await this.#takeUnlessHeld(name);
    }
    // Some more of the callers' own locks.
    const enough = this.#grantedMs.length + CALLERS * NAMES_OF_A_CALLER;
    while (this.#grantedMs.length < enough) {
      if (performance.now() > deadlineMs) throw new Error("The callers are granted too little.");
      await sleep(AGAIN_MS);
    }
    if (this.#faults.length > 0) throw new Error(this.#faults.join("\n"));
    return this.longestGapS(sinceMs);
  }

  /** The longest time in seconds between two grants since then. */
  longestGapS(sinceMs: number): number {
    const from = this.#grantedMs.findLastIndex((ms) => ms <= sinceMs);
    const timesMs = [this.#grantedMs[from] ?? sinceMs, ...this.#grantedMs.slice(from + 1), performance.now()];
    return Math.max(...timesMs.slice(1).map((ms, nth) => ms - (timesMs[nth] as number))) / 1_000;
  }

  async #mark(name: string): Promise<void> {
    const lease = await this.#patiently(() =>
      this.#calls.lease({
        name,
        requestId: `mark of ${name}`,
        terms: { lasting: { case: "ttl", value: TTL } },
      }),
    );
    this.#check(lease);
    this.#marks[name] = lease;
  }

  async #takeUnlessHeld(name: string): Promise<void> {
    const { outcome } = await this.#calls.call("acquire", {
      name,
      terms: { lasting: { case: "ttl", value: LOAD_TTL } },
    });
    if (outcome.case !== "lease") return;
    this.#check(outcome.value);
    await this.#calls.call("release", { leaseId: outcome.value.leaseId });
  }

  #check({ lockName, fencingToken }: Lease): void {
    const highest = this.#highest.get(lockName) ?? 0n;
    if (fencingToken <= highest)
      this.#faults.push(`${lockName} was granted with token ${fencingToken} after token ${highest}`);
    this.#highest.set(lockName, fencingToken);
  }

  async #load(caller: number): Promise<void> {
    for (let turn = 0; !this.#isOver; turn++) {
      const name = `load/${caller}/${turn % NAMES_OF_A_CALLER}`;
      try {
        const { outcome } = await this.#calls.call(
          "acquire",
          { name, terms: { lasting: { case: "ttl", value: LOAD_TTL } } },
          { timeout: 5_000 },
        );
        if (outcome.case === "lease") {
          this.#grantedMs.push(performance.now());
          this.#check(outcome.value);
          await this.#calls.call("release", { leaseId: outcome.value.leaseId });
          continue;
        }
      } catch {
        // No server answers, or its database does not.
      }
      await sleep(AGAIN_MS);
    }
  }

  async #renew(): Promise<void> {
    while (!this.#isOver) {
      for (const { leaseId } of Object.values(this.#marks))
        await this.#calls.call("renew", { leaseId, ttl: TTL }).catch(() => {});
      await sleep(RENEW_EVERY_MS);
    }
  }

  async #renews(name: string): Promise<boolean> {
    const leaseId = this.#marks[name]?.leaseId;
    if (leaseId === undefined) return false;
    return this.#patiently(() => this.#calls.call("renew", { leaseId, ttl: TTL })).then(
      () => true,
      () => false,
    );
  }

  async #hasPlace(): Promise<boolean> {
    this.#queue?.cancel();
    this.#queue = this.#calls.wait({ target: { case: "ticketId", value: this.#ticketId } });
    return this.#queue.position().then(
      () => true,
      () => false,
    );
  }

  /** Repeats the call while no server answers, or it is the database that does not. */
  async #patiently<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    const deadlineMs = performance.now() + GRANTS_AGAIN_MS_MAX;
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if ((error as RowlockError).code !== "UNAVAILABLE" || performance.now() > deadlineMs) throw error;
        await sleep(AGAIN_MS);
      }
    }
  }
}
