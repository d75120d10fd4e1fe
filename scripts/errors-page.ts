// The page docs/errors.md: each reason with its code and its meaning, from the comments of proto/rowlock/v1, and what to
// do about it, from here. `npm run docs:errors` writes it, and a test compares it.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DescEnum } from "@bufbuild/protobuf";
import { ErrorReasonSchema } from "#proto/rowlock/v1/errors_pb.js";
import {
  type EndReason,
  EndReasonSchema,
  type RefusalReason,
  RefusalReasonSchema,
} from "#proto/rowlock/v1/lock_pb.js";
import type { ClientReason } from "../clients/typescript/src/reason.ts";
import type { Reason } from "../server/grpc/messages/call-error.ts";

const root = join(import.meta.dirname, "..");
const PAGE = join(root, "docs/errors.md");

/** Whether the same call may be sent again, with the same request id. */
type Retry = "yes" | "yes, after a pause" | "no use" | "read first";

type Advice = readonly [retry: Retry, toDo: string];

const OF_SERVER: Readonly<Record<Reason, Advice>> = {
  BAD_REQUEST: [
    "no use",
    "Correct the fields that the error lists. It is a bug of the program, or a wrong setting.",
  ],
  MALFORMED_MESSAGE: [
    "no use",
    "Send valid UTF-8. With bare calls, compare the generated code with the server's version.",
  ],
  UNKNOWN_CLAIM: ["no use", "Treat the lock as lost, and acquire it anew. If it never worked, check the id."],
  UNKNOWN_LOCK: ["no use", "Check the name. There is nothing to force."],
  LEASE_LOST: [
    "no use",
    "Stop what the lock protects, because others may have the lock. Then acquire it anew.",
  ],
  NOT_GRANTED_YET: ["yes", "Follow the ticket with WaitInQueue until it is granted."],
  LOCK_IN_USE: ["yes, after a pause", "Wait until nobody holds the lock or waits for it, or end that first."],
  REQUEST_ID_REUSED: ["no use", "Make a new id for each new request."],
  VERSION_MISMATCH: ["read first", "Read the present value, decide again, and send its version."],
  OVERLOADED: [
    "yes, after a pause",
    "Wait for as long as the error says. If it goes on, look up the `bound` in the [settings](settings.md), or use a session.",
  ],
  MESSAGE_TOO_LARGE: ["no use", "Send less in one message, such as fewer names in a Capture."],
  OUTCOME_UNKNOWN: ["read first", "Read the present state, then decide."],
  DATABASE_UNAVAILABLE: [
    "yes, after a pause",
    "Nothing, for some time: clients repeat. If it goes on, the server's log says what is wrong with the database.",
  ],
  SHUTTING_DOWN: [
    "yes",
    "Nothing: clients continue through another server. Bare calls go to another address.",
  ],
  KEYS_UNAVAILABLE: ["yes, after a pause", "Check that the server reaches `ROWLOCK_JWT_KEYS`."],
  SESSION_SILENT: [
    "yes",
    "Nothing: clients open another session. If it repeats, the machine or its network stalls.",
  ],
  CREDENTIALS_MISSING: [
    "no use",
    "Give the client a token or a certificate: [who may do what](security.md).",
  ],
  CREDENTIALS_WRONG: ["no use", "Check the token, and whether the server knows its file or its issuer."],
  CREDENTIALS_EXPIRED: [
    "yes",
    "Get a new token or certificate. Clients with a file or a function do so by themselves.",
  ],
  RIGHT_MISSING: [
    "no use",
    "Ask for the `right` of the metadata, or use a name under which the caller has it.",
  ],
  TIMEOUT: ["yes", "Repeat with a longer timeout. Changes by an operator: read first."],
  CANCELLED: ["yes", "Nothing, if the program has cancelled the call. Changes by an operator: read first."],
  INTERNAL: ["yes, after a pause", "Report it, with the line of the server's log that has the `incident`."],
};

const OF_REFUSAL: Readonly<Record<Exclude<keyof typeof RefusalReason, "UNSPECIFIED">, Advice>> = {
  BUSY: ["yes, after a pause", "Do without the lock, come back after `retry_after`, or wait in the queue."],
  PAUSED: ["yes, after a pause", "Wait until the operator raises the limit: its reason is in the refusal."],
  NOT_BEFORE: ["yes, after a pause", "Come back after `retry_after`, or wait in the queue."],
  QUEUE_FULL: [
    "yes, after a pause",
    "Come back later, or let the operator raise `ROWLOCK_QUEUE_MAX` or the lock's `waiting_max`.",
  ],
  NEVER_FITS: [
    "no use",
    "Ask for fewer permits, or let the operator raise the limit or the burst; where queue rules are in the way, ask for this lock alone, or let the operator unset them.",
  ],
  EXHAUSTED: ["no use", "Let a person look, and set the attempts anew with UpdateRecord."],
  STATUS_MISMATCH: ["no use", "It is done already, or in another state: see the status in the refusal."],
  RATE: [
    "yes, after a pause",
    "Come back after `retry_after`, or wait in the queue: [flow control](flow-control.md).",
  ],
};

const OF_END: Readonly<Record<Exclude<keyof typeof EndReason, "UNSPECIFIED">, Advice>> = {
  RELEASED: ["yes", "Ask anew with a new id."],
  FAILED: ["yes", "Ask anew with a new id. Its holder said that its work had failed."],
  EXPIRED: ["yes", "Ask anew with a new id. The lease was not renewed in time."],
  FORCE_RELEASED: [
    "yes",
    "Ask why before you ask anew: an operator has ended it, and may have left a reason.",
  ],
  LAPSED: [
    "yes",
    "Ask anew with a new id. The waiter was gone for the grace period, or confirmed its grant too late.",
  ],
  CANCELLED: ["yes", "Nothing: the program has given up its place."],
  TIMED_OUT: ["yes", "Do without the lock, or wait for longer."],
  NEVER_FITS: ["no use", "Ask for fewer permits, or let the operator raise the limit or the burst."],
  EXHAUSTED: ["no use", "Let a person look, and set the attempts anew with UpdateRecord."],
  STATUS_MISMATCH: ["no use", "It is done already, or in another state: see the status of the end."],
  SUPERSEDED: [
    "no use",
    "A newer request does the work: end, as if it were done. See [the newest wins](flow-control.md).",
  ],
  SPENT: ["yes", "Nothing: it took what it asked for. Ask anew to spend more."],
};

const OF_CLIENT: Readonly<Record<ClientReason, readonly [meaning: string, ...Advice]>> = {
  NO_SERVER: [
    "No server has answered within the time for that (30 s by default), or none of the addresses can answer: the message and the diagnoses say what is there.",
    "yes",
    "Do what the [diagnosis](bad-days.md) says: start the server, correct the address, or agree on TLS.",
  ],
  CONNECTION_LOST: [
    "The connection was lost before the answer came to a call that the client does not repeat: SetLimit, UpdateRecord, DeleteRecord, and ForceRelease of a name.",
    "read first",
    "Read the present state, then decide.",
  ],
  CLOSED: ["The client was closed, or belongs to the parent of a fork.", "no use", "Make another client."],
  TTL_TOO_SHORT: [
    "Answers take so long that the client could not renew the lease in time.",
    "no use",
    "Ask for a longer `ttl`.",
  ],
  UNKNOWN: [
    "The error has no reason, for example because a proxy sent it.",
    "read first",
    "Look at its code and message, and at what is between the client and the server.",
  ],
};

const oneLine = (text: string) => text.replace(/\s+/g, " ").trim().replaceAll("|", "\\|");
const sentence = (text: string) => {
  const line = oneLine(text);
  const begun = /^[a-z]+ /.test(line) ? `${line[0]?.toUpperCase()}${line.slice(1)}` : line;
  return begun.endsWith(".") ? begun : `${begun}.`;
};

/** The comment before a value of an enum in proto/rowlock/v1. */
function commentOf(file: string, value: string): string {
  const text = readFileSync(join(root, "proto/rowlock/v1", file), "utf8");
  const [, comment = ""] = new RegExp(`((?: *//.*\\n)+) *${value} = `).exec(text) ?? [];
  return comment.replace(/^ *\/\/ ?/gm, "");
}

function namesOf({ values }: DescEnum, prefix: string): string[] {
  return values.filter(({ number }) => number > 0).map(({ name }) => name.slice(prefix.length));
}

function table(rows: readonly (readonly string[])[], ...head: string[]): string {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |\n`).join("");
}

export function errorsPage(): string {
  const errors = namesOf(ErrorReasonSchema, "ERROR_REASON_").map((reason) => {
    const comment = oneLine(commentOf("errors.proto", `ERROR_REASON_${reason}`));
    const [, code = "", meaning = ""] = /^([A-Z_]+): (.*)$/.exec(comment) ?? [];
    const [retry, toDo] = OF_SERVER[reason as Reason];
    return [`\`${reason}\``, code, sentence(meaning), toDo, retry];
  });
  const rows = (ofEnum: DescEnum, prefix: string, advice: Readonly<Record<string, Advice>>) =>
    namesOf(ofEnum, prefix).map((reason) => {
      const [retry, toDo] = advice[reason] as Advice;
      return [`\`${reason}\``, sentence(commentOf("lock.proto", prefix + reason)), toDo, retry];
    });
  const ours = Object.entries(OF_CLIENT).map(([reason, [meaning, retry, toDo]]) => [
    `\`${reason}\``,
    meaning,
    toDo,
    retry,
  ]);
  return `# Errors

Each error has a stable reason, which programs act on, a gRPC code and a message for people. This page is made from the comments in
[proto/rowlock/v1](../proto/rowlock/v1) by \`npm run docs:errors\`, so do not edit it. [Bad days](bad-days.md) shows the messages.

"Again?" says whether to send the same call again, with the same request id where it has one. Acquire and Capture with a request
id, Renew, Release and all reads are always safe to repeat, and our clients repeat them by themselves. SetLimit, UpdateRecord,
DeleteRecord and ForceRelease of a name are safe to repeat after DATABASE_UNAVAILABLE, SHUTTING_DOWN and OVERLOADED. After every
other error that does not say that nothing was done, and after a lost answer, read first.

## From a server

${table(errors, "reason", "code", "meaning", "what to do", "again?")}
## Refusals

A refusal is an answer and not an error: the server grants no lease, and nothing is left behind. Our clients raise it as an error
where a lock was required.

${table(rows(RefusalReasonSchema, "REFUSAL_REASON_", OF_REFUSAL), "reason", "meaning", "what to do", "again?")}
## Ends

How a claim ended: the answer to a caller who asks for it again or has waited, and a detail of LEASE_LOST. The last column is about
asking anew, with a new request id.

${table(rows(EndReasonSchema, "END_REASON_", OF_END), "reason", "meaning", "what to do", "again?")}
## From a client

Our clients make these themselves. Options that cannot work are another type of error, in the manner of the language, and nothing
was sent.

${table(ours, "reason", "meaning", "what to do", "again?")}`;
}

if (import.meta.main) writeFileSync(PAGE, errorsPage());
