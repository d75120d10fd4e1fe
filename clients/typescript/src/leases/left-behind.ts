// Leases without end that this client may have and nobody uses: their grant or the answer to their release was not heard. No
// time ends them, so they are given back for as long as the program lives, also when the client is closed. A lease with a time
// to live ends by itself and is not kept here. Nothing here keeps a program alive that has nothing else to do.

import { WhenBusy } from "#proto/rowlock/v1/lock_pb.js";
import type { AcquireRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { backoffMs } from "../backoff.ts";
import { BareCalls } from "../bare/bare-calls.ts";
import type { Settings } from "../options.ts";
import { RowlockError } from "../rowlock-error.ts";

/** For one answer a server may take as long as for a new connection, but not for ever. */
const ANSWER_MS_MAX = 30_000;
/** The server has looked at it: there is nothing to give back. */
const REFUSED = ["BAD_REQUEST", "REQUEST_ID_REUSED", "UNKNOWN_CLAIM", "LEASE_LOST"];

/** By its request, or by its id where that is known. */
type Claim = { readonly request: AcquireRequest } | { readonly id: string };

export class LeftBehind {
  readonly #settings: Settings;
  /** Whether somebody has come back for it. */
  readonly #isHeld: (leaseId: string) => boolean;
  readonly #claims = new Map<string, Claim>();
  #isRunning = false;
  #address = 0;

  constructor(settings: Settings, isHeld: (leaseId: string) => boolean) {
    this.#settings = settings;
    this.#isHeld = isHeld;
  }

  get #answerMsMax(): number {
    return Math.min(this.#settings.connectTimeout, ANSWER_MS_MAX);
  }

  /** A server may have granted this request. Its request id must be unknown to everybody else. */
  addRequest(request: AcquireRequest): void {
    this.#add(`request ${request.requestId}`, { request });
  }

  /** It may not have been released. */
  addClaim(id: string): void {
    this.#add(`claim ${id}`, { id });
  }

  /** Somebody asks for it again. */
  forget(requestId: string): void {
    this.#claims.delete(`request ${requestId}`);
  }

  #add(key: string, claim: Claim): void {
    this.#claims.set(key, claim);
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    let failures = 0;
    while (this.#claims.size > 0) {
      try {
        await this.#giveAllBack();
        failures = 0;
      } catch {
        failures += 1;
        this.#address += 1;
        await sleep(backoffMs(failures));
      }
    }
    this.#isRunning = false;
  }

  /** Rejects where a server does not answer, or cannot do it. */
  async #giveAllBack(): Promise<void> {
    const { addresses, tls, metadata } = this.#settings;
    const address = addresses[this.#address % addresses.length] as string;
    const headers = typeof metadata === "function" ? await within(this.#answerMsMax, metadata()) : metadata;
    const calls = new BareCalls(address, { tls, metadata: headers ?? {} });
    try {
      for (const [key, claim] of [...this.#claims]) {
        // The next round begins with another one.
        this.#claims.delete(key);
        this.#claims.set(key, claim);
        await this.#giveBack(calls, key, claim);
        this.#claims.delete(key);
      }
    } finally {
      calls.close();
    }
  }

  async #giveBack(calls: BareCalls, key: string, claim: Claim): Promise<void> {
    try {
      const id = "id" in claim ? claim.id : await this.#find(calls, claim.request);
      if (id === undefined || !this.#claims.has(key) || this.#isHeld(id)) return;
      await calls.call("release", { leaseId: id }, { timeout: this.#answerMsMax });
    } catch (error) {
      if (!(error instanceof RowlockError && REFUSED.includes(error.reason))) throw error;
    }
  }

  /**
   * Asks again under the same request id. Takes a place where that is not known yet, so that a first request that is still on
   * its way finds that its claim has ended. undefined: it has ended already.
   */
  async #find(calls: BareCalls, asked: AcquireRequest): Promise<string | undefined> {
    const { owner, labels } = this.#settings;
    const { outcome } = await calls.call(
      "acquire",
      {
        ...asked,
        whenBusy: WhenBusy.ENQUEUE,
        maxWait: undefined,
        owner: asked.owner || owner,
        labels: { ...labels, ...asked.labels },
      },
      { timeout: this.#answerMsMax },
    );
    if (outcome.case === "ticket") return outcome.value.ticketId;
    return outcome.case === "lease" ? outcome.value.leaseId : undefined;
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

/** Headers that have not come in time are asked for again. */
async function within<Value>(ms: number, value: Value | Promise<Value>): Promise<Value> {
  const late = sleep(ms).then(() => Promise.reject(new Error("The metadata has not come.")));
  return await Promise.race([value, late]);
}
