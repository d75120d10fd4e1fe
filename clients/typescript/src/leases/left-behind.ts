// Leases without end that this client may hold but nobody uses: the answer to their request or release was lost. As
// nothing else ends them, it tries to give them back for as long as the program lives, even after the client is closed.
// A lease with a time to live ends by itself and is not kept here. It must not keep the program alive.

import { create } from "@bufbuild/protobuf";
import { type AcquireRequest, WaitSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { backoffMs } from "../backoff.ts";
import { BareCalls } from "../bare/bare-calls.ts";
import { presentedHeaders } from "../connection/presented.ts";
import { ownedTerms } from "../lease-terms.ts";
import type { Settings } from "../options.ts";
import { proxyFor, wayOf } from "../proxy.ts";
import { RowlockError } from "../rowlock-error.ts";

/** An answer may take as long as a new connection (`connectTimeout`), but not longer than this. */
const ANSWER_MS_MAX = 30_000;
/** The server has checked the claim, and there is nothing to give back. */
const REFUSED = ["BAD_REQUEST", "REQUEST_ID_REUSED", "UNKNOWN_CLAIM", "LEASE_LOST"];

/** A claim by its request, or by its id if that is known. */
type Claim = { readonly request: AcquireRequest } | { readonly id: string };

export class LeftBehind {
  readonly #settings: Settings;
  /** Whether the caller has come back for the lease of this id. */
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

  /** Gives back the lease that a server may have granted. Nobody else may know its request id. */
  addRequest(request: AcquireRequest): void {
    this.#add(`request ${request.requestId}`, { request });
  }

  /** Gives back a claim whose release may not have arrived. */
  addClaim(id: string): void {
    this.#add(`claim ${id}`, { id });
  }

  /** Keeps the lease of this request id, as the caller asks for it again. */
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

  /** Gives back all claims through one server; rejects if it does not answer or cannot do it. */
  async #giveAllBack(): Promise<void> {
    const { addresses, tls } = this.#settings;
    const address = addresses[this.#address % addresses.length] as string;
    const headers = await within(this.#answerMsMax, presentedHeaders(this.#settings));
    const channel = wayOf(await proxyFor(address, Boolean(tls)));
    const calls = new BareCalls(address, { tls, headers, channel });
    try {
      for (const [key, claim] of [...this.#claims]) {
        // Move it to the end, so that the next round begins with another claim if this one fails.
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
   * Asks again under the same request id, and returns the claim's id; undefined if the claim has ended. If the server
   * does not know the request id yet, this takes a place, whose release ends the claim. So the first request, if it
   * arrives later, finds its claim ended.
   */
  async #find(calls: BareCalls, asked: AcquireRequest): Promise<string | undefined> {
    const { outcome } = await calls.call(
      "acquire",
      {
        ...asked,
        terms: ownedTerms(asked.terms, this.#settings),
        whenBusy: { case: "enqueue", value: create(WaitSchema) },
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

/** Rejects if the headers are late, so that the next try asks for them again. */
async function within<Value>(ms: number, value: Promise<Value>): Promise<Value> {
  const late = sleep(ms).then(() =>
    Promise.reject(new Error("The headers or the token did not come in time.")),
  );
  return await Promise.race([value, late]);
}
