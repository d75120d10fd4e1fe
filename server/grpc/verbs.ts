// The verbs of the contract, one row each. The unary methods, the streams, the commands of sessions, their order, their
// admission, the names in metrics and the log, and the leases that a session watches over derive from these rows. A
// verb without a row does not compile.

import type { DescMessage, Message, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { LeaseSchema } from "#proto/rowlock/v1/lock_pb.js";
import * as service from "#proto/rowlock/v1/lock_service_pb.js";
import type { Needed, Right } from "../access/rights.ts";
import type { ClaimRef } from "../core/claim.ts";
import type { AcquireInput } from "../engine/answers.ts";
import { NOTHING, type Touched } from "./authorize.ts";
import type { Answer, Call, MethodContext, Send } from "./call.ts";
import { acquire, checkAcquire } from "./methods/acquire.ts";
import { capture, checkCapture } from "./methods/capture.ts";
import { Check } from "./methods/fields.ts";
import * as history from "./methods/history.ts";
import * as listings from "./methods/listings.ts";
import * as operators from "./methods/operators.ts";
import * as leases from "./methods/renew-and-release.ts";
import { checkWaitInQueue, waitInQueue } from "./methods/wait-in-queue.ts";
import { checkWatchLocks, watchLocks } from "./methods/watch-locks.ts";

interface Described {
  readonly name: string;
  readonly localName: string;
  readonly methodKind: string;
  readonly input: DescMessage;
  readonly output: DescMessage;
}

type Lease = MessageInitShape<typeof LeaseSchema>;

export interface Verb<Of extends Described = Described, Asked = never> {
  readonly of: Of;
  /** Adds what is wrong with the request to `check`. What it returns is only good if it adds nothing. */
  readonly check: (message: MessageShape<Of["input"]>, check: Check, context: MethodContext) => Asked;
  /**
   * Begins the method, which ends the call with its answer, or with its bytes: a method that encodes part by part holds up
   * no other calls for long. A stream sends messages before. May throw a CallError or a Fault instead.
   */
  readonly begin: (context: MethodContext, asked: Asked, call: Call<MessageInitShape<Of["output"]>>) => void;
  readonly needs: Needed;
  /** The locks on which its caller needs that right. */
  readonly touches: (asked: Asked) => Touched;
  /** How its commands are admitted to the engine: see `admission.ts`. Reads take turns in the engine instead. */
  readonly admission: "urgent" | "ordinary" | "none";
  readonly isWait: (message: MessageShape<Of["input"]>) => boolean;
  readonly leases: (answer: MessageInitShape<Of["output"]>) => readonly Lease[];
}

export interface AnyVerb extends Pick<Verb, "of" | "admission" | "needs"> {
  check(message: Message, check: Check, context: MethodContext): unknown;
  begin(context: MethodContext, asked: unknown, call: Call): void;
  touches(asked: unknown): Touched;
  isWait(message: Message): boolean;
  leases(answer: Answer | Buffer): readonly Lease[];
}

export type VerbName = Exclude<service.SessionCommand["command"]["case"], "cancel" | undefined>;

type Contract = Omit<(typeof service.LockService)["method"], "session">;

const RENEW_LEASES = {
  name: "RenewLeases",
  localName: "renewLeases",
  methodKind: "unary",
  input: service.RenewLeasesSchema,
  output: service.RenewedLeasesSchema,
} as const;

type Rows = {
  readonly [Name in VerbName]: Verb<Name extends keyof Contract ? Contract[Name] : typeof RENEW_LEASES>;
};

/** A method that waits for more than one decision, as a promise of its answer; of nothing, if it is a stream. */
type Run<Of extends Described, Asked> = (
  context: MethodContext,
  asked: Asked,
  call: Call,
  send: Send<MessageInitShape<Of["output"]>>,
) => Promise<Of["methodKind"] extends "unary" ? MessageInitShape<Of["output"]> | Buffer : void>;

/** A row as it is written below: most verbs neither wait nor answer with leases, and reads are not admitted. */
type Row<Of extends Described, Asked> = Pick<Verb<Of, Asked>, "check" | "touches"> &
  Partial<Pick<Verb<Of>, "admission" | "isWait" | "leases">> & { readonly right: Right } & (
    | Pick<Verb<Of, Asked>, "begin">
    | { readonly run: Run<Of, Asked> }
  );

/** Ties what `check` returns to what the method takes. */
function verb<Of extends Described, Asked>(of: Of, row: Row<Of, Asked>): Verb<Of> {
  const needs: Needed = { verb: of.name, right: row.right };
  const admission = row.right === "read" ? "none" : "ordinary";
  const begin = "run" in row ? beginning(row.run) : row.begin;
  return {
    of,
    needs,
    admission,
    isWait: () => false,
    leases: () => [],
    ...row,
    begin,
  } as unknown as Verb<Of>;
}

function beginning<Of extends Described, Asked>(run: Run<Of, Asked>): Verb<Of, Asked>["begin"] {
  return (context, asked, call) => {
    run(context, asked, call as Call, (message, written) => call.send(message, written)).then(
      (answer) => (call as Call).answer(answer as Answer | Buffer | undefined),
      (error: unknown) => call.fail(error),
    );
  };
}

const nothing = () => NOTHING;
const named = ({ name }: { readonly name: string }): Touched => ({ names: [name] });
const allNamed = ({ name, also = [] }: AcquireInput): Touched => ({
  names: [name, ...also.map((wanted) => wanted.name)],
});
const lockOf = ({ ref }: { readonly ref: ClaimRef }): Touched => ({ lockId: ref.lockId });
const listed = ({
  query: { lockName },
}: {
  readonly query: { readonly lockName: string | null };
}): Touched => (lockName === null ? NOTHING : { names: [lockName] });

const { method } = service.LockService;

/**
 * In the order in which the commands of one message of a session begin, after its cancels: first what gives leases back
 * or keeps them, then changes by operators and schedulers, then requests for leases, and last what only reads.
 */
export const VERBS = {
  release: verb(method.release, {
    ...{ check: leases.checkRelease, begin: leases.release },
    ...{ admission: "urgent", right: "use", touches: lockOf },
  }),
  renew: verb(method.renew, {
    ...{ check: leases.checkRenew, begin: leases.renew },
    ...{ admission: "urgent", right: "use", touches: lockOf },
    leases: ({ lease }) => (lease ? [lease] : []),
  }),
  renewLeases: verb(RENEW_LEASES, {
    ...{ check: leases.checkRenewLeases, run: leases.renewLeases },
    ...{ admission: "urgent", right: "use" },
    // Asked for each lease by itself, so that a lease without the right costs only its own renewal.
    touches: nothing,
    leases: ({ leases = [] }) =>
      leases.flatMap(({ outcome }) => (outcome?.case === "lease" ? [outcome.value] : [])),
  }),
  forceRelease: verb(method.forceRelease, {
    ...{ check: operators.checkForceRelease, run: operators.forceRelease },
    ...{ right: "operate", touches: named },
  }),
  setLimit: verb(method.setLimit, {
    ...{ check: operators.checkSetLimit, run: operators.setLimit, right: "operate" },
    touches: ({ target }) => (target.kind === "name" ? named(target) : { prefix: target.prefix }),
  }),
  updateRecord: verb(method.updateRecord, {
    ...{ check: operators.checkUpdateRecord, run: operators.updateRecord },
    ...{ right: "operate", touches: named },
  }),
  deleteRecord: verb(method.deleteRecord, {
    ...{ check: operators.checkDeleteRecord, run: operators.deleteRecord },
    ...{ right: "admin", touches: named },
  }),
  acquire: verb(method.acquire, {
    ...{ check: checkAcquire, begin: acquire, right: "use" },
    touches: ({ ask }) => allNamed(ask),
    isWait: ({ whenBusy }) => whenBusy.case === "wait",
    leases: ({ outcome }) => (outcome?.case === "lease" ? [outcome.value] : []),
  }),
  // A capture that waits is not admitted: it takes no room from commands that do not wait.
  capture: verb(method.capture, {
    ...{ check: checkCapture, run: capture, right: "use" },
    touches: ({ ask: { target } }) =>
      target.kind === "names" ? { names: target.names } : { prefix: target.prefix },
    isWait: ({ maxWait }) => maxWait !== undefined,
    leases: ({ leases = [] }) => leases,
  }),
  waitInQueue: verb(method.waitInQueue, {
    ...{ check: checkWaitInQueue, run: waitInQueue, right: "use" },
    touches: ({ target }) => (target.kind === "ask" ? allNamed(target.ask) : lockOf(target)),
    isWait: () => true,
    leases: ({ update }) => (update?.case === "granted" ? [update.value] : []),
  }),
  getLock: verb(method.getLock, {
    ...{ check: listings.checkGetLock, run: listings.getLock },
    ...{ right: "read", touches: (name: string) => named({ name }) },
  }),
  listLocks: verb(method.listLocks, {
    ...{ check: listings.checkListLocks, run: listings.listLocks },
    ...{ right: "read", touches: nothing },
  }),
  listLimits: verb(method.listLimits, {
    ...{ check: listings.checkListLimits, run: listings.listLimits },
    ...{ right: "read", touches: nothing },
  }),
  listClaims: verb(method.listClaims, {
    ...{ check: history.checkListClaims, run: history.listClaims },
    ...{ right: "read", touches: listed },
  }),
  listChanges: verb(method.listChanges, {
    ...{ check: history.checkListChanges, run: history.listChanges },
    ...{ right: "read", touches: listed },
  }),
  explainWait: verb(method.explainWait, {
    ...{ check: listings.checkExplainWait, run: listings.explainWait },
    ...{ right: "read", touches: listings.touchedByExplainWait },
  }),
  watchLocks: verb(method.watchLocks, {
    ...{ check: checkWatchLocks, run: watchLocks },
    ...{ right: "read", touches: nothing, isWait: () => true },
  }),
} as const satisfies Rows & Readonly<Record<keyof Contract, unknown>>;

/** The same rows for code that only has a name. */
export const ROWS = VERBS as unknown as Readonly<Record<string, AnyVerb>>;

const ORDER: readonly service.SessionCommand["command"]["case"][] = [
  "cancel",
  ...(Object.keys(VERBS) as VerbName[]),
];

export function inOrder(commands: readonly service.SessionCommand[]): readonly service.SessionCommand[] {
  if (commands.length < 2) return commands;
  const rank = ({ command }: service.SessionCommand) => ORDER.indexOf(command.case);
  return [...commands].sort((a, b) => rank(a) - rank(b));
}

export function checked(verb: AnyVerb, message: Message, context: MethodContext): unknown {
  const check = new Check();
  return check.checked(verb.check(message, check, context));
}

/** Whether calls for it may be refused before anything is done for them: they ask for something new. */
export function isRefusable({ admission }: Pick<AnyVerb, "admission">): boolean {
  return admission === "ordinary";
}

export function resultField({ of }: AnyVerb): number {
  return service.SessionResultSchema.field[of.localName as VerbName].number;
}
