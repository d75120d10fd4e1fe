// Capture: finds candidates and asks for each by an ordinary Acquire, which alone decides; who is refused one goes on to the
// next. All leases of a request carry ids made of its own, so that a repeated one finds them again, and two attempts
// together never take more than were asked for. Attempts of one request are made one after the other at a server: a repeat is
// answered with all that the attempt before it took, also where the connection of that one is gone.

import { setImmediate as nextTurn } from "node:timers/promises";
import { CAPTURE_MAX } from "../../core/bounds.ts";
import { type Claim, type ClaimRef, captureRequestId, SERVER_MADE_PREFIX } from "../../core/claim.ts";
import type { Acquire, Caller, OutcomeNamed } from "../../core/command.ts";
import type { Store } from "../../storage/store.ts";
import {
  CAPTURE_LINES_MAX,
  CAPTURE_TRIED_MAX,
  CAPTURES_AT_ONCE_MAX,
  CAPTURES_QUEUED_EACH_MAX,
  CAPTURES_QUEUED_MAX,
} from "../engine-bounds.ts";
import { FairGate } from "../fair-gate.ts";
import { Fault } from "../faults.ts";
import type {
  AnswerTo,
  CaptureCaller,
  Captured,
  CapturedLease,
  CaptureEvent,
  CaptureInput,
} from "../lock-engine.ts";
import { RecentMap } from "../recent-map.ts";
import { isHeldUp, withoutRepeating } from "../transaction/attempts.ts";
import {
  type Candidate,
  type CandidateStore,
  type Candidates,
  CandidatesNamed,
  CandidatesUnder,
  type Reached,
  type Taking,
} from "./candidates.ts";
import { lineOf } from "./lines.ts";
import { OneAfterTheOther } from "./one-after-the-other.ts";

export interface CapturesOptions {
  readonly store: CandidateStore & Pick<Store, "claimsByRequest">;
  /** null: the lock is not what it was found as. Throws a Fault. */
  readonly acquire: (candidate: Candidate, command: Acquire) => Promise<AnswerTo<"acquire"> | null>;
  readonly confirm: (lease: ClaimRef, caller: Caller | undefined) => Promise<AnswerTo<"attach">>;
  /** Ends what an Acquire may have brought about. */
  readonly withdraw: (candidate: Candidate, command: Acquire) => void;
  readonly newSecret: () => string;
  readonly observer: (event: CaptureEvent) => void;
}

/** One try at a request. */
export interface CaptureTry {
  readonly input: CaptureInput;
  /** Its caller has waited for this: its leases are provisional. */
  readonly afterWait: boolean;
  readonly caller: CaptureCaller | undefined;
  /** Whether nobody wants more than was taken so far: nothing more is begun. */
  readonly isOver: () => boolean;
}

/** What a request was given before, as far as it has not ended. */
interface Earlier {
  readonly live: readonly Claim[];
}

const NOTHING: Captured = { leases: [], retryAfterUs: null };

type Refused = OutcomeNamed<"refused">;
/** What became of one candidate. */
type Taken =
  | { readonly kind: "lease"; readonly lease: CapturedLease }
  | { readonly kind: "refused"; readonly refusal: Refused }
  /** Another attempt of the same request has come first. */
  | { readonly kind: "repeated" }
  | { readonly kind: "gone" }
  | {
      readonly kind: "fault";
      readonly fault: Fault;
      readonly candidate: Candidate;
      readonly command: Acquire;
    };

export class Captures {
  readonly #options: CapturesOptions;
  readonly #turns = new FairGate({
    atOnce: CAPTURES_AT_ONCE_MAX,
    queuedMax: CAPTURES_QUEUED_MAX,
    queuedEachMax: CAPTURES_QUEUED_EACH_MAX,
    bound: "captures_queued",
  });
  readonly #taking: Taking = new Set();
  /** By request id. */
  readonly #attempts = new OneAfterTheOther<CaptureTry>();
  /** By line: who looks for candidates. */
  readonly #looking = new OneAfterTheOther();
  /** By line: where the next search goes on, where one was cut short. */
  readonly #reached = new RecentMap<string, Reached>(CAPTURE_LINES_MAX);
  /** Patterns have paused what a search has found lately, so that the next one has to know them first. */
  #arePatternsInTheWay = false;

  constructor(options: CapturesOptions) {
    this.#options = options;
  }

  /**
   * Takes what is free now. Throws a Fault where too many wait for their turn, and where nothing was taken and something may
   * have been.
   */
  async capture(asked: CaptureTry): Promise<Captured> {
    const { requestId } = asked.input;
    const found =
      requestId === ""
        ? await this.#inTurn(asked)
        : await this.#attempts.run(requestId, asked, (before) => this.#inTurn(asked, before));
    if (!found) return NOTHING;
    // Their locks may be held up, and nobody else's turn waits for that.
    return "live" in found ? await this.#confirmed(found.live, asked.caller) : found;
  }

  /** `before`: the attempt of the same request that this one has waited for. */
  async #inTurn(asked: CaptureTry, before?: CaptureTry): Promise<Captured | Earlier | null> {
    const { input, caller, isOver } = asked;
    let found: Captured | Earlier | null = null;
    if (await this.#turns.begin(caller, isOver)) {
      try {
        // What the client has said in the same breath is heard first.
        await nextTurn();
        if (!isOver()) found = await this.#capture(asked);
      } finally {
        this.#turns.end();
      }
    }
    // The request is given up, with what an attempt took that could tell nobody.
    if (!found && caller?.isGivenUp && before?.isOver()) return await this.#earlier(input);
    return found;
  }

  async #capture(asked: CaptureTry): Promise<Captured | Earlier> {
    const { input, isOver } = asked;
    const earlier = await this.#earlier(input);
    if (earlier) {
      this.#options.observer({ kind: "captured", outcome: "repeated", refused: 0 });
      return earlier;
    }
    const attempt = new Attempt(input, this.#options.newSecret);
    // A thousand names are long: once for all looks.
    const line = lineOf(input.target, input.terms?.ifStatus ?? []);
    const candidates = this.#candidates(input, line);
    if (this.#arePatternsInTheWay) await this.#learnPatterns(candidates);
    while (attempt.missing > 0 && attempt.tried < CAPTURE_TRIED_MAX && !attempt.isOver && !isOver()) {
      const found = await this.#look(line, candidates, attempt.missing, isOver);
      if (found.length === 0) break;
      try {
        const commands = attempt.commands(found, asked);
        attempt.add(await Promise.all(found.map((one, at) => this.#take(one, commands[at] as Acquire))));
      } finally {
        for (const { name } of found) this.#taking.delete(name);
      }
      if (attempt.wasPaused) await this.#learnPatterns(candidates);
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
    // The other attempt tells of its own leases, and this one of all.
    if (isRepeated) return (await this.#earlier(input)) ?? { leases, retryAfterUs: null, isRepeated };
    const [first] = faults;
    const canAskAgain = leases.length === 0 && input.requestId !== "" && !caller?.isGivenUp;
    for (const { fault, candidate, command } of canAskAgain ? [] : faults)
      if (fault.outcomeUnknown) this.#options.withdraw(candidate, command);
    if (leases.length === 0 && first) throw first.fault;
    const outcome = leases.length === 0 ? "none" : leases.length < input.max ? "some" : "all";
    this.#options.observer({ kind: "captured", outcome, refused: attempt.refused });
    if (leases.length > 0 || isOver()) return { leases, retryAfterUs: null };
    if (isCutShort) return { leases, retryAfterUs: 0, isCutShort };
    const dueInUs = await withoutRepeating(() => candidates.nextDueIn());
    return { leases, retryAfterUs: attempt.retryAfterUs ?? dueInUs };
  }

  /** What the request was given before; null: nothing that is remembered. */
  async #earlier({ requestId }: CaptureInput): Promise<Earlier | null> {
    if (requestId === "") return null;
    const ids = Array.from({ length: CAPTURE_MAX }, (_, index) => captureRequestId(requestId, index));
    const { claims } = await withoutRepeating(() => this.#options.store.claimsByRequest(ids));
    if (claims.length === 0) return null;
    const inOrder = new Map(ids.map((id, index) => [id, index]));
    const at = (claim: Claim) => inOrder.get(claim.requestId) ?? 0;
    return { live: claims.filter(({ state }) => state !== "ended").sort((a, b) => at(a) - at(b)) };
  }

  /** Coming back for them confirms those that are provisional. */
  async #confirmed(live: readonly Claim[], caller: Caller | undefined): Promise<Captured> {
    const answers = await Promise.all(live.map((claim) => this.#options.confirm(claim, caller)));
    const leases = answers.flatMap(({ outcome, lockName, nowUs }) =>
      outcome.kind === "held" ? [{ claim: outcome.claim, lockName, nowUs }] : [],
    );
    return { leases, retryAfterUs: null, isRepeated: true };
  }

  #candidates({ target, terms }: CaptureInput, line: string): Candidates {
    const { store } = this.#options;
    const statuses = terms?.ifStatus ?? [];
    if (target.kind === "names") return new CandidatesNamed(store, this.#taking, target.names, statuses);
    const from = this.#reached.get(line) ?? null;
    return new CandidatesUnder(store, this.#taking, { prefix: target.prefix, statuses, from });
  }

  async #learnPatterns(candidates: Candidates): Promise<void> {
    this.#arePatternsInTheWay = await withoutRepeating(() => candidates.paused());
  }

  /** Whether more is wanted, and there may be more. Remembers where the next search goes on. */
  #isCutShort(line: string, candidates: Candidates, attempt: Attempt, isOver: boolean): boolean {
    if (!(candidates instanceof CandidatesUnder)) return false;
    const wasCutShort = attempt.missing > 0 && !attempt.isOver && !isOver && !candidates.isDone;
    const reached = candidates.reached(wasCutShort);
    if (reached) this.#reached.set(line, reached);
    else this.#reached.delete(line);
    return wasCutShort;
  }

  /** One after the other in each line: two that look at the same time would find the same locks. */
  #look(line: string, candidates: Candidates, max: number, isOver: () => boolean): Promise<Candidate[]> {
    return this.#looking.run(line, undefined, async () =>
      isOver() ? [] : await withoutRepeating(() => candidates.next(max)),
    );
  }

  async #take(candidate: Candidate, command: Acquire): Promise<Taken> {
    try {
      const answer = await this.#options.acquire(candidate, command);
      if (!answer) return { kind: "gone" };
      const { outcome, lockName, nowUs } = answer;
      if (outcome.kind === "held") return { kind: "lease", lease: { claim: outcome.claim, lockName, nowUs } };
      return outcome.kind === "refused" ? { kind: "refused", refusal: outcome } : { kind: "repeated" };
    } catch (error) {
      // Another transaction holds the lock: who it belongs to will give it to somebody.
      if (isHeldUp(error)) return { kind: "gone" };
      if (error instanceof Fault) return { kind: "fault", fault: error, candidate, command };
      throw error;
    }
  }
}

/** One attempt at a request: what it was given so far, and under which ids it may ask for more. */
class Attempt {
  readonly #input: CaptureInput;
  readonly #newSecret: () => string;
  readonly leases: CapturedLease[] = [];
  readonly faults: Extract<Taken, { kind: "fault" }>[] = [];
  tried = 0;
  refused = 0;
  wasPaused = false;
  isRepeated = false;
  /** When a candidate that was refused may be had, if that is known. */
  retryAfterUs: number | null = null;
  #areGrantsPaused = false;
  readonly #freeIds: string[];

  constructor(input: CaptureInput, newSecret: () => string) {
    this.#input = input;
    this.#newSecret = newSecret;
    const { requestId, max } = input;
    this.#freeIds = Array.from({ length: max }, (_, index) =>
      requestId === "" ? SERVER_MADE_PREFIX + newSecret() : captureRequestId(requestId, index),
    );
  }

  get missing(): number {
    return this.#input.max - this.leases.length;
  }

  /** Whether it is of no use to go on. */
  get isOver(): boolean {
    return this.faults.length > 0 || this.isRepeated || this.#areGrantsPaused;
  }

  commands(candidates: readonly Candidate[], { afterWait, caller }: CaptureTry): Acquire[] {
    const { ttlUs, owner, labels, terms } = this.#input;
    return candidates.map(({ name }, index) => ({
      verb: "acquire",
      name,
      mode: "permit",
      permits: 1,
      ttlUs,
      requestId: this.#freeIds[index] as string,
      secret: this.#newSecret(),
      owner,
      labels,
      terms,
      mayWait: false,
      maxWaitUs: null,
      isOneOfMany: true,
      afterWait,
      replica: null,
      caller,
    }));
  }

  /** What became of the candidates of the last commands, in order. */
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
    this.#freeIds.splice(0, this.#freeIds.length, ...this.#freeIds.filter((id) => !used.has(id)));
  }

  #refuse({ reason, forUs }: Refused): void {
    if (reason === "paused" || reason === "never_fits") this.wasPaused = true;
    if (reason === "failed_over") this.#areGrantsPaused = true;
    if (forUs !== undefined) this.retryAfterUs = Math.min(this.retryAfterUs ?? forUs, forUs);
  }
}
