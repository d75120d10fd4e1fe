// Capture: finds candidates and sends an ordinary Acquire for each, which alone decides; after a refusal, for the next
// ones. All leases of a request have request ids derived from its own, so that a repeat finds them, and two attempts
// together never take more than were asked for. A server makes the attempts of one request one after the other: a
// repeat returns everything that the attempt before it took, even if that attempt's connection is gone.

import { setImmediate as anotherTick } from "node:timers/promises";
import { CAPTURE_MAX } from "../../core/bounds.ts";
import { type Claim, keptRequestId, SERVER_MADE_PREFIX } from "../../core/claim.ts";
import type { Acquire, Caller, OutcomeNamed } from "../../core/command.ts";
import { RecentMap } from "../../core/recent-map.ts";
import type { FreePosition, Store } from "../../storage/store.ts";
import type { Captured, CapturedLease, CaptureEvent, CaptureInput } from "../answers.ts";
import * as bounds from "../engine-bounds.ts";
import { FairGate } from "../fair-gate.ts";
import { Fault, isGivenUp, isHeldUp, mayBeDone, withoutRepeating } from "../faults.ts";
import { markOf } from "../secrets.ts";
import { lineOf } from "../subscribers/waiting-captures.ts";
import type { Commands } from "../transaction/commands.ts";
import { type Candidate, type CandidateStore, Candidates, type Taking } from "./candidates.ts";

export interface CapturesOptions {
  readonly store: CandidateStore & Pick<Store, "claimsByRequest">;
  readonly commands: Pick<Commands, "oneOf" | "byRef" | "withdraw">;
  readonly newSecret: () => string;
  readonly observer: (event: CaptureEvent) => void;
}

/** One attempt at a request. */
export interface CaptureTry {
  readonly input: CaptureInput;
  /** Whether the caller has waited for this attempt: its leases are then provisional. */
  readonly afterWait: boolean;
  readonly caller: Caller | undefined;
  /** Whether nobody wants more than was taken so far; nothing further is then begun. */
  readonly isOver: () => boolean;
}

type Asked = Pick<CaptureTry, "input" | "caller">;

/** The claims that the request got before and that have not ended. */
type Earlier = readonly Claim[];

/** What an attempt found; null: it never began. */
type Found = Captured | Earlier | null;

const NOTHING: Captured = { leases: [], retryAfterUs: null };

type Refused = OutcomeNamed<"refused">;

/** An Acquire, and the id of its lock; null: the name was new. */
interface Sent {
  readonly lockId: Candidate["id"];
  readonly command: Acquire;
}

interface Failed extends Sent {
  readonly kind: "fault";
  readonly fault: Fault;
}

/** The result for one candidate. */
type Taken =
  | { readonly kind: "lease"; readonly lease: CapturedLease }
  | { readonly kind: "refused"; readonly refusal: Refused }
  /** Another attempt at the same request came first. */
  | { readonly kind: "repeated" }
  | { readonly kind: "gone" }
  | Failed;

export class Captures {
  readonly #options: CapturesOptions;
  readonly #gate = new FairGate({
    atOnce: bounds.CAPTURES_AT_ONCE_MAX,
    queuedMax: bounds.CAPTURES_QUEUED_MAX,
    queuedEachMax: bounds.CAPTURES_QUEUED_EACH_MAX,
    bound: "captures_queued",
  });
  readonly #taking: Taking = new Set();
  /** By caller and request id. */
  readonly #attempts = new OneAfterTheOther<Found>();
  /** By line: the search for candidates. */
  readonly #looking = new OneAfterTheOther<Candidate[]>();
  /** By line: where the next search continues, if the last one was cut short. */
  readonly #reached = new RecentMap<string, FreePosition>(bounds.CAPTURE_LINES_MAX);
  /** By caller and request id: Acquires with an unknown outcome. They keep no caller: whoever asks again becomes it. */
  readonly #inDoubt = new RecentMap<string, readonly Sent[]>(bounds.CAPTURES_IN_DOUBT_MAX);
  /** A recent search found names that patterns pause, so the next search must know the patterns first. */
  #arePatternsInTheWay = false;

  constructor(options: CapturesOptions) {
    this.#options = options;
  }

  get bounds(): FairGate["bounds"] {
    return this.#gate.bounds;
  }

  /**
   * Takes what is free now. Throws a Fault if too many captures wait to begin, if no lease was taken and an Acquire
   * failed, or if an Acquire may have taken something that a repeat of the request would return.
   */
  async capture(asked: CaptureTry): Promise<Captured> {
    const { isOver, input } = asked;
    const { requestId } = input;
    const found =
      requestId === ""
        ? await this.#admitted(asked)
        : await this.#attempts.run(keptIdOf(asked), async (before) => {
            if (!isOver()) await this.#settleDoubt(asked);
            return await this.#admitted(asked, before);
          });
    if (!found) return NOTHING;
    // Outside the gate: the locks of these claims may be held up, and other captures must not wait for that.
    return "leases" in found ? found : await this.#confirmed(found, asked.caller);
  }

  /** `before`: the result of the attempt at the same request that this one has waited for. */
  async #admitted(asked: CaptureTry, before?: Found): Promise<Found> {
    const { caller, isOver } = asked;
    if (await this.#gate.begin(caller, isOver)) {
      try {
        // First lets the server hear what the client sent together with this call.
        await anotherTick();
        if (!isOver()) return await this.#capture(asked);
      } finally {
        this.#gate.end();
      }
    }
    // This attempt took nothing. Nobody heard what the one before it took, so this one answers for that.
    return before && "isUnheard" in before ? before : null;
  }

  async #capture(asked: CaptureTry): Promise<Captured | Earlier> {
    const { input, isOver } = asked;
    const earlier = await this.#earlier(asked);
    if (earlier) return this.#repeated(earlier, 0);
    const { store, newSecret } = this.#options;
    const attempt = new Attempt(input, markOf(asked.caller?.principal), newSecret);
    const statuses = input.terms?.ifStatus ?? [];
    // Computed once for all looks, because a thousand names are long.
    const line = lineOf(input);
    const from = this.#reached.get(line) ?? null;
    const candidates = new Candidates(store, this.#taking, input.target, statuses, from);
    if (this.#arePatternsInTheWay) await this.#learnPatterns(candidates);
    while (attempt.missing > 0 && attempt.tried < bounds.CAPTURE_TRIED_MAX && !attempt.isOver && !isOver()) {
      const found = await attempt.unlessItHasLeases(() =>
        this.#look(line, candidates, attempt.missing, isOver),
      );
      if (!found || found.length === 0) break;
      try {
        const commands = attempt.commands(found, asked);
        attempt.add(await Promise.all(found.map((one, at) => this.#take(one, commands[at] as Acquire))));
      } finally {
        for (const { name } of found) this.#taking.delete(name);
      }
      for (const prefix of attempt.fullPools.splice(0)) candidates.isFull(prefix);
      if (attempt.wasPaused) await attempt.unlessItHasLeases(() => this.#learnPatterns(candidates));
    }
    const isCutShort = this.#isCutShort(line, candidates, attempt, isOver());
    return await this.#answer(asked, attempt, candidates, isCutShort);
  }

  async #answer(
    { input, caller, isOver }: CaptureTry,
    attempt: Attempt,
    candidates: Candidates,
    isCutShort: boolean,
  ): Promise<Captured | Earlier> {
    const { leases, faults, isRepeated } = attempt;
    const [first] = faults;
    const inDoubt = faults.filter(({ fault }) => fault.outcomeUnknown);
    const [doubt] = inDoubt;
    // A repeat returns all that the request took. An answer without what is in doubt could use up attempts that nobody
    // makes: the database may be away for longer than such a lease lasts.
    if (doubt && input.requestId !== "" && !isGivenUp(caller?.signal)) {
      const again = inDoubt.map(({ lockId, command }) => ({
        lockId,
        command: { ...command, caller: undefined },
      }));
      this.#inDoubt.set(keptIdOf({ input, caller }), again);
      throw doubt.fault;
    }
    for (const { lockId, command } of inDoubt) this.#options.commands.withdraw(lockId, command);
    // Another attempt took locks, too: the answer has the leases of both. A cancelled call answers nobody, and gives back
    // only its own leases.
    if (isRepeated && !isGivenUp(caller?.signal))
      return (await this.#earlier({ input, caller })) ?? { leases, retryAfterUs: null, isRepeated };
    if (leases.length === 0 && first) throw first.fault;
    if (leases.length === 0 && !isGivenUp(caller?.signal)) {
      // An attempt at another server may have committed what refused this one.
      const earlier = await this.#earlier({ input, caller });
      if (earlier) return this.#repeated(earlier, attempt.refused);
    }
    const outcome = leases.length === 0 ? "none" : leases.length < input.max ? "some" : "all";
    this.#options.observer({ kind: "captured", outcome, refused: attempt.refused });
    const isUnheard = caller?.signal?.aborted === true;
    if (isUnheard) return { leases, retryAfterUs: null, isUnheard };
    // A wait whose time is over answers with what this attempt took.
    if (leases.length > 0 || isOver()) return { leases, retryAfterUs: null };
    if (isCutShort) return { leases, retryAfterUs: 0, isCutShort };
    const nextInUs = await withoutRepeating(() => candidates.nextInUs());
    return { leases, retryAfterUs: attempt.retryAfterUs ?? nextInUs };
  }

  /**
   * Finds out what became of Acquires whose outcome was unknown, by asking again: a COMMIT that comes late keeps the lock's
   * rows until then, and no read shows it. Throws a Fault while it is unknown.
   */
  async #settleDoubt(asked: CaptureTry): Promise<void> {
    const { commands } = this.#options;
    const { caller } = asked;
    const inDoubt = this.#inDoubt.get(keptIdOf(asked)) ?? [];
    const again = inDoubt.map(({ lockId, command }) => commands.oneOf(lockId, { ...command, caller }));
    await Promise.all(again).catch((error: unknown) => {
      throw mayBeDone(error);
    });
    this.#inDoubt.delete(keptIdOf(asked));
  }

  #repeated(earlier: Earlier, refused: number): Earlier {
    this.#options.observer({ kind: "captured", outcome: "repeated", refused });
    return earlier;
  }

  /** What the request got before; null: nothing that is remembered. */
  async #earlier({ input: { requestId }, caller }: Asked): Promise<Earlier | null> {
    if (requestId === "") return null;
    const mark = markOf(caller?.principal);
    const ids = Array.from({ length: CAPTURE_MAX }, (_, index) => keptRequestId(mark, requestId, index));
    const { claims } = await withoutRepeating(() => this.#options.store.claimsByRequest(ids));
    if (claims.length === 0) return null;
    const inOrder = new Map(ids.map((id, index) => [id, index]));
    const at = (claim: Claim) => inOrder.get(claim.requestId) ?? 0;
    return claims.filter(({ state }) => state !== "ended").sort((a, b) => at(a) - at(b));
  }

  /** Renews the claims: the client has come back for them, so no other attempt may give them back any more. */
  async #confirmed(live: Earlier, caller: Caller | undefined): Promise<Captured> {
    const { commands } = this.#options;
    const answers = await Promise.all(
      live.map((claim) => commands.byRef({ verb: "renew", ref: claim, ttlUs: undefined, caller })),
    );
    const leases = answers.flatMap(({ outcome, lockName, nowUs }) =>
      outcome.kind === "held" ? [{ claim: outcome.claim, lockName, nowUs }] : [],
    );
    return { leases, retryAfterUs: null, isRepeated: true };
  }

  async #learnPatterns(candidates: Candidates): Promise<void> {
    this.#arePatternsInTheWay = await withoutRepeating(() => candidates.paused());
  }

  /** Whether more is wanted and there may be more. Remembers where the next search continues. */
  #isCutShort(line: string, candidates: Candidates, attempt: Attempt, isOver: boolean): boolean {
    const wasCutShort = attempt.missing > 0 && !attempt.isOver && !isOver && !candidates.isDone;
    const reached = candidates.reached(wasCutShort);
    if (reached) this.#reached.set(line, reached);
    else this.#reached.delete(line);
    return wasCutShort;
  }

  /** Searches of one line run one after the other, because simultaneous searches would find the same locks. */
  #look(line: string, candidates: Candidates, max: number, isOver: () => boolean): Promise<Candidate[]> {
    return this.#looking.run(line, async () =>
      isOver() ? [] : await withoutRepeating(() => candidates.next(max)),
    );
  }

  async #take({ id: lockId }: Candidate, command: Acquire): Promise<Taken> {
    try {
      const answer = await this.#options.commands.oneOf(lockId, command);
      if (!answer) return { kind: "gone" };
      const { outcome, lockName, nowUs } = answer;
      if (outcome.kind === "refused") return { kind: "refused", refusal: outcome };
      if (outcome.kind !== "held" || outcome.claim.secret !== command.secret) return { kind: "repeated" };
      return { kind: "lease", lease: { claim: outcome.claim, lockName, nowUs } };
    } catch (error) {
      // Another transaction holds the lock, and will give it to someone itself; but not if it may be one of this command.
      if (isHeldUp(error) && !error.outcomeUnknown) return { kind: "gone" };
      if (error instanceof Fault) return { kind: "fault", fault: error, lockId, command };
      throw error;
    }
  }
}

/** Runs work under one key one after the other, in order of arrival. */
class OneAfterTheOther<Result> {
  readonly #last = new Map<string, Promise<Result>>();

  /** `before`: the result of the work that this one has waited for; undefined: there was none, or it failed. */
  async run(key: string, work: (before: Result | undefined) => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key)?.catch(() => undefined);
    const done = (async () => await work(await before))();
    this.#last.set(key, done);
    try {
      return await done;
    } finally {
      if (this.#last.get(key) === done) this.#last.delete(key);
    }
  }
}

/** Two callers may use one request id, and must learn nothing of each other. */
function keptIdOf({ input, caller }: Asked): string {
  return keptRequestId(markOf(caller?.principal), input.requestId);
}

/** One attempt at a request: what it got so far, and the request ids under which it may ask for more. */
class Attempt {
  readonly #input: CaptureInput;
  readonly #newSecret: () => string;
  readonly leases: CapturedLease[] = [];
  readonly faults: Failed[] = [];
  tried = 0;
  refused = 0;
  wasPaused = false;
  /** Prefixes of pools that have just refused a candidate. */
  readonly fullPools: string[] = [];
  isRepeated = false;
  /** When a refused candidate may become available, if known. */
  retryAfterUs: number | null = null;
  #areGrantsPaused = false;
  #isCutOff = false;
  #freeIds: string[];

  constructor(input: CaptureInput, mark: string, newSecret: () => string) {
    this.#input = input;
    this.#newSecret = newSecret;
    const { requestId, max } = input;
    this.#freeIds = Array.from({ length: max }, (_, index) =>
      requestId === "" ? SERVER_MADE_PREFIX + newSecret() : keptRequestId(mark, requestId, index),
    );
  }

  get missing(): number {
    return this.#input.max - this.leases.length;
  }

  /** Runs a read. If it fails, the attempt goes no further and answers with the leases that it has. */
  async unlessItHasLeases<Result>(read: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await read();
    } catch (error) {
      if (this.leases.length === 0 || !(error instanceof Fault)) throw error;
      this.#isCutOff = true;
      return undefined;
    }
  }

  /** Whether going on is useless. */
  get isOver(): boolean {
    return this.#isCutOff || this.faults.length > 0 || this.isRepeated || this.#areGrantsPaused;
  }

  commands(candidates: readonly Candidate[], { afterWait, caller }: CaptureTry): Acquire[] {
    const { ttlUs, owner, labels, terms } = this.#input;
    return candidates.map(({ name }, index) => ({
      ...{
        verb: "acquire",
        name,
        mode: "permit",
        permits: 1,
        ttlUs,
        owner,
        labels,
        terms,
        afterWait,
        caller,
      },
      ...{ mayWait: false, maxWaitUs: null, isOneOfMany: true, replica: null },
      requestId: this.#freeIds[index] as string,
      secret: this.#newSecret(),
    }));
  }

  /** Records the results of the last commands, in order. */
  add(taken: readonly Taken[]): void {
    this.tried += taken.length;
    this.wasPaused = false;
    const used = new Set<string>();
    taken.forEach((each, index) => {
      if (each.kind === "lease") {
        this.leases.push(each.lease);
        used.add(this.#freeIds[index] as string);
      } else if (each.kind === "fault") this.faults.push(each);
      else if (each.kind === "repeated") this.isRepeated = true;
      else {
        this.refused += 1;
        if (each.kind === "refused") this.#refuse(each.refusal);
      }
    });
    this.#freeIds = this.#freeIds.filter((id) => !used.has(id));
  }

  #refuse({ reason, forUs, limit }: Refused): void {
    if (limit.source === "pool") this.fullPools.push(limit.pattern.slice(0, -1));
    else if (reason === "paused" || reason === "never_fits") this.wasPaused = true;
    if (reason === "failed_over") this.#areGrantsPaused = true;
    if (forUs !== undefined) this.retryAfterUs = Math.min(this.retryAfterUs ?? forUs, forUs);
  }
}
