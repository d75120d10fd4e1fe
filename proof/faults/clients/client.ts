// One client of a run: a process that is a conformance driver of a language, or the bare one. Records what it is told and
// what it believes. It can be frozen, and killed and replaced.

import { setTimeout as sleep } from "node:timers/promises";
import type { DriverProcess, Heard, Json } from "../../../test/clients/conformance/driver-process.ts";
import { monotonicMs } from "../history/clock.ts";
import type { Held, History, Mode } from "../history/history.ts";

/** For any call: longer than all bounds of the drivers together. */
const ANSWER_MS = 90_000;

export interface ClientOptions {
  readonly name: string;
  readonly isBare: boolean;
  readonly start: (tell: (event: Json) => void) => DriverProcess;
  readonly addresses: readonly string[];
  /** That makes it known to servers as its name. */
  readonly token: string;
  /** The authority of the servers. */
  readonly caFile: string;
  readonly history: History;
}

export interface WantedLock {
  readonly lock: string;
  readonly mode: Mode;
  readonly permits: number;
}

export interface Wanted extends WantedLock {
  /** Further locks, all of them or none; only of a bare client. */
  readonly also?: readonly WantedLock[];
  readonly ttlMs: number;
  /** 0: a try. */
  readonly waitMs: number;
  /** Two calls at once, with one request id; only of a bare client, and only a try. */
  readonly isDoubled?: boolean;
  /** The group of which the claim is, where shares are fair; undefined: of none. */
  readonly group?: string | undefined;
}

export interface WantedSpend {
  readonly lock: string;
  readonly permits: number;
  /** 0: a try. */
  readonly waitMs: number;
  /** Whether it waits in a stream of places. */
  readonly isStreamed: boolean;
}

/** After its watch has failed. */
const WATCHES_AGAIN_MS = 500;
/** For the timers of a process that has been frozen. */
const SETTLING_MS = 500;

/** What a watch tells of a lock. */
export interface Told {
  readonly holders: number;
  readonly lastToken: string;
}

interface Update {
  readonly beganAnew?: boolean;
  readonly locks?: readonly {
    readonly name: string;
    readonly holderCount: number;
    readonly lastToken: string;
  }[];
  readonly deleted?: readonly string[];
}

/** An error of the server or the client, or the end of the process. */
export class Failed extends Error {
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Whether a change was made, as far as its caller is told. */
export async function outcomeOf(change: Promise<unknown>): Promise<"done" | "unknown"> {
  try {
    await change;
    return "done";
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    return "unknown";
  }
}

/** Lets pass what a call may end with. */
function failed(error: unknown): void {
  if (!(error instanceof Failed)) throw error;
}

/** A lease that the client believes to hold at a lock. */
export type Belief = Omit<Held, "startMs" | "endMs">;

/** A lease that the client believes to hold. */
export class Holding {
  readonly handle: string;
  /** At each of its locks. */
  readonly beliefs: readonly Belief[];
  readonly ttlMs: number;
  readonly sinceMs = monotonicMs();
  /** When it was told to give the lease up: from then on the client does not believe, whatever it says later. */
  releasedMs = Number.POSITIVE_INFINITY;
  readonly #onEnd: (atMs: number) => void;
  #hasEnded = false;

  constructor(handle: string, beliefs: readonly Belief[], ttlMs: number, onEnd: (atMs: number) => void) {
    this.handle = handle;
    this.beliefs = beliefs;
    this.ttlMs = ttlMs;
    this.#onEnd = onEnd;
  }

  /** The client does not believe any more since then. Only the first call counts. */
  end(atMs: number): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onEnd(Math.min(atMs, this.releasedMs));
  }
}

export class Client {
  readonly name: string;
  readonly isBare: boolean;
  readonly #options: ClientOptions;
  readonly #history: History;
  #driver: DriverProcess;
  #connected: Promise<void>;
  /** When it was last frozen. */
  #frozenMs: number | undefined;
  /** Until then, after a freeze, what it says of its leases may be from before. */
  #settledMs = 0;
  #lives = 0;
  #asked = 0;
  #watches = 0;
  readonly #holdings = new Map<string, Holding>();
  /** Losses that were told in one piece with the grant. */
  readonly #lostEarly = new Map<string, number>();
  /** What its watch has told last, by the names of locks. */
  readonly told = new Map<string, Told>();

  constructor(options: ClientOptions) {
    this.name = options.name;
    this.isBare = options.isBare;
    this.#options = options;
    this.#history = options.history;
    this.#driver = options.start((event) => this.#hear(event));
    this.#connected = this.#connect();
  }

  freeze(): void {
    this.#frozenMs = monotonicMs();
    this.#driver.freeze();
  }

  thaw(): void {
    this.#driver.thaw();
    this.#settledMs = monotonicMs() + SETTLING_MS;
  }

  /** Kills the process, and starts another one, which knows nothing of what the first one held. */
  async replace(): Promise<void> {
    const old = this.#driver;
    old.kill();
    const endMs = monotonicMs();
    for (const holding of this.#holdings.values()) holding.end(endMs);
    this.told.clear();
    this.#holdings.clear();
    await old.destroy();
    this.#driver = this.#options.start((event) => this.#hear(event));
    this.#connected = this.#connect();
    await this.#connected;
  }

  async connected(): Promise<void> {
    await this.#connected;
  }

  async close(): Promise<void> {
    await this.#driver.destroy();
  }

  /** Rejects with `Failed`. */
  async ask(command: Json): Promise<Json> {
    await this.#connected;
    return await this.#ask(command);
  }

  id(): string {
    this.#asked += 1;
    return `${this.name}/${this.#lives}/${this.#asked}`;
  }

  /** undefined: not granted. */
  async acquire({
    lock,
    mode,
    permits,
    also = [],
    ttlMs,
    waitMs,
    isDoubled = false,
    group,
  }: Wanted): Promise<Holding | undefined> {
    const handle = this.id();
    const startMs = monotonicMs();
    const { name: who, isBare: asksOnce } = this;
    const call = { did: "acquire", who, startMs, requestId: handle, asksOnce } as const;
    const set = also.length > 0 && { set: [lock, ...also.map((each) => each.lock)] };
    const locks = [{ lock, mode, permits }, ...also].map((each) => ({ ...each, ...set }));
    const asked = {
      do: "acquire",
      lock: handle,
      name: lock,
      mode,
      permits,
      requestId: handle,
      ttlMs,
      waitMs,
      ...(also.length > 0 && { also: also.map(({ lock: name, ...each }) => ({ name, ...each })) }),
      ...(isDoubled && { isDoubled }),
      ...(group !== undefined && { labels: { group } }),
    };
    try {
      const { granted, refused, grantedToo } = (await this.ask(asked)) as {
        granted?: { token: string; tokens?: Readonly<Record<string, string>> };
        refused: { reason: string; isRepeated?: boolean; toldMs?: number };
        grantedToo?: string;
      };
      const endMs = monotonicMs();
      if (!granted) {
        const { isRepeated, ...why } = refused;
        const outcome = isRepeated ? "unknown" : "refused";
        for (const each of locks) this.#history.add({ ...call, ...each, endMs, outcome, ...why });
        return undefined;
      }
      const held = locks.flatMap((each) => {
        const token = each.lock === lock ? granted.token : granted.tokens?.[each.lock];
        if (token !== undefined) return { ...each, token };
        this.#history.add({ ...call, ...each, endMs, outcome: "refused", reason: "NOT_GIVEN" });
        return [];
      });
      for (const each of held) this.#history.add({ ...call, ...each, endMs, outcome: "granted" });
      const [lead] = locks as [(typeof locks)[number]];
      if (grantedToo) this.#history.add({ ...call, ...lead, endMs, outcome: "granted", token: grantedToo });
      const beliefs = held.map((each) => ({ ...call, ...each, did: "hold", askedMs: startMs }) as const);
      return this.hold(beliefs, handle, ttlMs);
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      const endMs = monotonicMs();
      for (const each of locks) this.#history.add({ ...call, ...each, endMs, outcome: "unknown" });
      return undefined;
    }
  }

  /** Of a bare client. Resolves with how to ask for it again; undefined: nothing was spent. */
  async spend(wanted: WantedSpend): Promise<(() => Promise<void>) | undefined> {
    const { lock, permits } = wanted;
    const requestId = this.id();
    const asked = { do: "spend", ...wanted, lock: requestId, name: lock, requestId };
    const of = { who: this.name, lock, requestId } as const;
    const call = { ...of, did: "acquire", mode: "permit", permits, asksOnce: true, spends: true } as const;
    const startMs = monotonicMs();
    const { spent, refused } = await this.#askToSpend(asked);
    const times = { startMs, endMs: monotonicMs() };
    if (!spent) {
      const { isRepeated = true, ...why } = refused ?? {};
      this.#history.add({ ...call, ...times, outcome: isRepeated ? "unknown" : "refused", ...why });
      return undefined;
    }
    const { token: first, grantedUs } = spent;
    this.#history.add({ ...call, ...times, outcome: "granted", token: first, grantedUs });
    return async () => {
      const startMs = monotonicMs();
      const { spent, refused } = await this.#askToSpend({ ...asked, waitMs: 0, isAgain: true });
      const answer = spent
        ? ({ outcome: "granted", token: spent.token } as const)
        : ({ outcome: refused ? "refused" : "unknown", ...refused } as const);
      this.#history.add({ did: "again", ...of, first, startMs, endMs: monotonicMs(), ...answer });
    };
  }

  /** Without an answer: neither. */
  async #askToSpend(asked: Json) {
    try {
      return (await this.ask(asked)) as {
        readonly spent?: { readonly token: string; readonly grantedUs: number };
        readonly refused?: { readonly reason: string; readonly isRepeated: boolean };
      };
    } catch (error) {
      failed(error);
      return {};
    }
  }

  /** Believes from now on in a lease, until it is released or lost. */
  hold(beliefs: readonly Belief[], handle: string, ttlMs: number): Holding {
    const startMs = Math.max(monotonicMs(), this.#settledMs);
    const holding = new Holding(handle, beliefs, ttlMs, (endMs) => {
      if (endMs <= startMs) return;
      for (const belief of beliefs) this.#history.add({ ...belief, startMs, endMs });
    });
    const lostMs = this.#lostEarly.get(handle);
    if (lostMs === undefined) this.#holdings.set(handle, holding);
    else this.#end(holding, lostMs);
    return holding;
  }

  #hear({ event, lock, state, atMs, ...update }: Json): void {
    if (event === "watched") this.#watched(update as Update);
    if (event === "watch failed") {
      console.warn(`${this.name}: its watch has ended: ${update.error}`);
      void sleep(WATCHES_AGAIN_MS).then(() => this.watchAnew());
    }
    if (event !== "state" || state !== "lost") return;
    const handle = lock as string;
    const toldMs = (atMs as number | undefined) ?? monotonicMs();
    const holding = this.#holdings.get(handle);
    if (holding) this.#end(holding, toldMs);
    else this.#lostEarly.set(handle, toldMs);
  }

  #end(holding: Holding, atMs: number): void {
    this.#holdings.delete(holding.handle);
    // A process that was frozen for longer than its leases last has renewed nothing meanwhile, and tells of that late.
    const frozenMs = this.#frozenMs ?? Number.POSITIVE_INFINITY;
    holding.end(frozenMs > holding.sinceMs ? Math.min(atMs, frozenMs + holding.ttlMs) : atMs);
  }

  #watched({ beganAnew, locks = [], deleted = [] }: Update): void {
    if (beganAnew) this.told.clear();
    for (const { name, holderCount, lastToken } of locks)
      this.told.set(name, { holders: holderCount, lastToken });
    for (const name of deleted) this.told.delete(name);
  }

  /**
   * What the answer of a release said. The client believes no more from before the call on, or since a loss that it
   * tells of late, which comes before the answer.
   */
  async release(holding: Holding, more: Json = {}): Promise<"released" | "gone" | "unknown"> {
    holding.releasedMs = monotonicMs();
    try {
      const { released } = await this.ask({ do: "release", lock: holding.handle, ...more });
      return released === true ? "released" : "gone";
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      return ["LEASE_LOST", "UNKNOWN_CLAIM"].includes(error.reason) ? "gone" : "unknown";
    } finally {
      this.#end(holding, holding.releasedMs);
    }
  }

  async #connect(): Promise<void> {
    this.#lives += 1;
    const { addresses, token, caFile } = this.#options;
    await this.#ask({
      do: "connect",
      addresses,
      owner: this.name,
      token,
      tls: { caFile, serverName: "localhost" },
    });
    await this.#watch();
  }

  async #watch(): Promise<void> {
    // The bare one has no watch.
    if (!this.isBare) await this.#ask({ do: "watch", watch: `w${++this.#watches}`, prefix: "" });
  }

  /** After it was denied, which ends a watch. */
  async watchAnew(): Promise<void> {
    await this.#connected;
    if (this.isBare) return;
    await this.#ask({ do: "unwatch", watch: `w${this.#watches}` }).catch(failed);
    this.told.clear();
    await this.#watch().catch(failed);
  }

  async #ask(command: Json): Promise<Json> {
    const startMs = monotonicMs();
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => late.resolve(undefined), ANSWER_MS);
    const heard = await Promise.race([this.#answer(command), late.promise]).finally(() =>
      clearTimeout(timer),
    );
    if (!heard) {
      const call = { did: "nothing", who: this.name, startMs, endMs: monotonicMs() } as const;
      this.#history.add({ ...call, command: JSON.stringify(command) });
      throw new Failed("NO_ANSWER", `${this.name} did not answer within ${ANSWER_MS} ms`);
    }
    const failure = heard.line.error as
      | { readonly reason: string; readonly code?: string; readonly message: string }
      | undefined;
    // The end of a watch tells once more how it was denied before.
    if (failure?.code === "PERMISSION_DENIED" && command.do !== "unwatch")
      this.#history.add({
        did: "deny",
        who: this.name,
        startMs,
        endMs: monotonicMs(),
        command: String(command.do),
      });
    if (failure) throw new Failed(failure.reason, failure.message);
    return heard.line.result as Json;
  }

  async #answer(command: Json): Promise<Heard> {
    const driver = this.#driver;
    try {
      return await driver.ask({ client: "c", ...command }).answer;
    } catch (error) {
      if (driver.hasEnded) throw new Failed("PROCESS_ENDED", String(error));
      throw error;
    }
  }
}
