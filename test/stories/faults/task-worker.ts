// A worker captures tasks, holds them for a while, and sets them done as it gives them back. Now and then it dies;
// its tasks then become lost, and nobody may take them as new. Nobody may take a task that is done.

import { setTimeout as sleep } from "node:timers/promises";
import type { Claim } from "../../../server/core/claim.ts";
import type { CaptureInput } from "../../../server/engine/answers.ts";
import * as asks from "../../support/asks.ts";
import { TERMS } from "../../support/claims.ts";
import type { Belief } from "./beliefs.ts";
import { type CallingOptions, timed, UnluckyCalls } from "./unlucky-calls.ts";

export const TASKS_PREFIX = "contended/task/";
const TTL_US = 400_000;
const HOLD_MS_MAX = 10;
const AT_ONCE_MAX = 3;

/** The state of tasks, as their makers and workers know it. */
export class Tasks {
  readonly #doneBy = new Map<bigint, Claim>();
  readonly #lostBy = new Map<bigint, Claim>();
  readonly #breaches: string[];
  made = 0;

  constructor(breaches: string[]) {
    this.#breaches = breaches;
  }

  get done(): number {
    return this.#doneBy.size;
  }

  taken(claim: Claim, statuses: readonly string[]): void {
    this.#refuse(claim, this.#doneBy, "done");
    if (!statuses.includes("lost")) this.#refuse(claim, this.#lostBy, "lost");
  }

  /** Records that the task's worker died. */
  lost(claim: Claim): void {
    this.#lostBy.set(claim.lockId, claim);
  }

  finished(claim: Claim): void {
    this.#doneBy.set(claim.lockId, claim);
  }

  #refuse({ lockId, fencingToken }: Claim, since: ReadonlyMap<bigint, Claim>, what: string): void {
    const by = since.get(lockId);
    if (by && by.fencingToken < fencingToken) this.#breaches.push(`task ${lockId} was ${what} by then`);
  }
}

export class TaskWorker {
  readonly #name: string;
  readonly #options: CallingOptions;
  readonly #calls: UnluckyCalls;
  readonly #tasks: Tasks;
  #captures = 0;

  constructor(name: string, tasks: Tasks, options: CallingOptions) {
    this.#name = name;
    this.#tasks = tasks;
    this.#options = options;
    this.#calls = new UnluckyCalls(options);
  }

  /** Makes tasks and works on them until the time is over. */
  async run(): Promise<void> {
    while (!this.#options.isOver()) {
      if (this.#calls.maybe(0.5)) await this.#make();
      await this.work(0.05, [this.#calls.one(["new", "lost"])]);
    }
  }

  /** Works until all tasks are done, or until `byMs`. */
  async finish(byMs: number): Promise<void> {
    while (this.#tasks.done < this.#tasks.made && performance.now() < byMs) {
      if ((await this.work(0, ["new", "lost"])) === 0) await sleep(20);
    }
  }

  async #make(): Promise<void> {
    this.#tasks.made += 1;
    const name = `${TASKS_PREFIX}${this.#tasks.made}`;
    // Takes effect once, however often the call is repeated: a task that exists does not become new again.
    const making = asks.updateRecord({ name, status: "new", expectedVersion: 0n });
    await this.#calls.until(({ engine }) => engine.ask(making));
  }

  /** Captures and holds tasks. Returns how many it got. `deaths`: the share of tasks that it abandons. */
  async work(deaths: number, ifStatus: readonly string[]): Promise<number> {
    const { beliefs, chance } = this.#options;
    this.#captures += 1;
    const input: CaptureInput = {
      target: { kind: "prefix", prefix: TASKS_PREFIX },
      max: 1 + Math.floor(chance() * AT_ONCE_MAX),
      ttlUs: TTL_US,
      owner: this.#name,
      labels: {},
      requestId: `${this.#name}/${this.#captures}`,
      terms: { ...TERMS, statusIfLost: "lost", ifStatus },
    };
    const askedMs = performance.now();
    const tokensBefore = beliefs.tokens();
    const { answer, sentMs } = await this.#calls.until((replica) =>
      timed(replica, ({ engine }) => engine.capture(input)),
    );
    const held = answer.leases.map(({ claim, nowUs }): Belief => {
      this.#tasks.taken(claim, ifStatus);
      return beliefs.begin(claim, nowUs, { sentMs, askedMs }, tokensBefore.get(claim.lockId) ?? 0n);
    });
    await Promise.all(held.map((belief) => this.#hold(belief, deaths)));
    return held.length;
  }

  async #hold(belief: Belief, deaths: number): Promise<void> {
    const { beliefs, chance } = this.#options;
    await sleep(chance() * HOLD_MS_MAX);
    if (this.#calls.maybe(deaths)) {
      this.#tasks.lost(belief.claim);
      return;
    }
    beliefs.end(belief);
    await this.#calls.release(belief.claim, { status: "done" });
    // The lease may have been lost before, and a repeated Release does not say so.
    const { outcome } = await this.#calls.until(({ engine }) =>
      engine.ask(asks.renew(belief.claim, undefined)),
    );
    if (outcome.kind === "ended" && outcome.claim.endReason === "released")
      this.#tasks.finished(belief.claim);
  }
}
