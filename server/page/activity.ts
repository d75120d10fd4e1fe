// What happened at this server in the last minutes, in steps: for charts that must not wait for a collector of metrics.
// On the hot path, an event is an addition to the present step.

import { type Claim, isGivenBack } from "../core/claim.ts";
import type { EngineObserver } from "../engine/answers.ts";
import { ACTIVITY_STEP_MS, ACTIVITY_STEPS } from "./page-bounds.ts";

/** One step that is over. */
interface Step {
  /** A second. */
  readonly grants: number;
  /** Grants to those who had waited, a second. */
  readonly handOvers: number;
  /** How long they had waited, within a tenth; null: nobody had. */
  readonly waitMsP50: number | null;
  readonly waitMsP99: number | null;
  /** Requests that were refused, a second. */
  readonly refused: number;
  /** Leases that ended without their holders, a second: expired, lapsed, released by force. */
  readonly lost: number;
}

const QUIET: Step = { grants: 0, handOvers: 0, waitMsP50: null, waitMsP99: null, refused: 0, lost: 0 };

/** Waits are counted in classes, each this much longer than the one before, from one microsecond on. */
const CLASS_FACTOR = 1.1;
/** The last class begins at four weeks. */
const CLASSES = 300;

export class Activity {
  readonly #now: () => number;
  /** Oldest first. */
  readonly #steps: Step[] = Array.from({ length: ACTIVITY_STEPS }, () => QUIET);
  readonly #waits = new Uint32Array(CLASSES);
  #grants = 0;
  #handOvers = 0;
  #refused = 0;
  #lost = 0;
  /** When the present step ends. */
  #endMs: number;

  /** `now`: a clock that only goes ahead. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#endMs = now() + ACTIVITY_STEP_MS;
  }

  /** Hears of everything that the engine does. Does not throw. */
  readonly observe: EngineObserver = (reported) => {
    if (reported.kind === "answered") {
      if (reported.command.verb !== "acquire" || reported.outcome.kind !== "refused") return;
      this.#turn();
      this.#refused += 1;
    } else if (reported.kind === "event") {
      const { event } = reported;
      if (event.kind === "granted") {
        this.#turn();
        this.#grants += 1;
        if (event.queued) this.#handedOver(event.waitedUs);
      } else if (event.kind === "ended" && event.was === "held" && !isByHolder(event.claim)) {
        this.#turn();
        this.#lost += 1;
      }
    }
  };

  /** The steps that are over, as the page reads them: in each series one value for each step, oldest first. */
  body() {
    this.#turn();
    const of = <Key extends keyof Step>(key: Key) => this.#steps.map((step) => step[key]);
    return {
      stepMs: ACTIVITY_STEP_MS,
      /** When the last step ended, by the server's clock. */
      endMs: Math.round(Date.now() - (this.#now() - (this.#endMs - ACTIVITY_STEP_MS))),
      series: {
        grants: of("grants"),
        handOvers: of("handOvers"),
        waitMsP50: of("waitMsP50"),
        waitMsP99: of("waitMsP99"),
        refused: of("refused"),
        lost: of("lost"),
      },
    };
  }

  #handedOver(waitedUs: number): void {
    this.#handOvers += 1;
    const index = Math.floor(Math.log(Math.max(1, waitedUs)) / Math.log(CLASS_FACTOR));
    const fitting = Math.min(index, CLASSES - 1);
    this.#waits[fitting] = (this.#waits[fitting] ?? 0) + 1;
  }

  /** Ends the steps that are over by now. */
  #turn(): void {
    const now = this.#now();
    if (now < this.#endMs) return;
    this.#steps.push(this.#ended());
    const quiet = Math.min(Math.floor((now - this.#endMs) / ACTIVITY_STEP_MS), ACTIVITY_STEPS);
    for (let step = 0; step < quiet; step += 1) this.#steps.push(QUIET);
    this.#steps.splice(0, this.#steps.length - ACTIVITY_STEPS);
    this.#endMs += (Math.floor((now - this.#endMs) / ACTIVITY_STEP_MS) + 1) * ACTIVITY_STEP_MS;
  }

  #ended(): Step {
    const seconds = ACTIVITY_STEP_MS / 1_000;
    const ended: Step = {
      grants: this.#grants / seconds,
      handOvers: this.#handOvers / seconds,
      waitMsP50: this.#waitMs(0.5),
      waitMsP99: this.#waitMs(0.99),
      refused: this.#refused / seconds,
      lost: this.#lost / seconds,
    };
    this.#grants = this.#handOvers = this.#refused = this.#lost = 0;
    this.#waits.fill(0);
    return ended;
  }

  /** The wait that this share of the waits did not exceed. */
  #waitMs(share: number): number | null {
    if (this.#handOvers === 0) return null;
    let rest = Math.ceil(this.#handOvers * share);
    const index = this.#waits.findIndex((count) => {
      rest -= count;
      return rest <= 0;
    });
    // The middle of its class.
    return CLASS_FACTOR ** (index + 0.5) / 1_000;
  }
}

/** Whether the lease ended as its holder wanted. */
function isByHolder({ endReason }: Pick<Claim, "endReason">): boolean {
  return isGivenBack(endReason) || endReason === "spent";
}
