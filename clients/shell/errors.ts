// Says in sentences what went wrong with a call and what to do, and with which exit code the command ends.

import type { RowlockError } from "../typescript/src/index.ts";
import { EXIT, type ExitCode } from "./context.ts";
import { said, shown, timeWords } from "./print.ts";
import type { Servers } from "./servers.ts";

/** What the shell calls the fields of requests. Flags that have the name of their field are not here. */
const WORDS: Readonly<Record<string, string>> = {
  name: "the lock's name",
  lock_name: "the lock's name",
  prefix: "the prefix",
  lease_id: "the lease",
  limit: "the limit",
  status: "the status",
  max_wait: "--wait",
  head_start: "--head-start",
  "rate.permits": "the permits of --rate",
  "rate.per": "the time of --rate",
  labels: "--label",
  expected_version: "--if-version",
  ticket_number: "--ticket",
  max_leases: "--count",
  min_interval: "--at-most-every",
  not_before_in: "--not-before",
  attempts_left: "--attempts",
  from: "--since",
  end_reasons: "--ended",
  changed_by: "--by",
};

const UNCERTAIN = "so this may or may not have taken effect: check with `rowlock show`.";
const SENTENCES: Readonly<Record<string, string>> = {
  LEASE_LOST: "This lease has ended and cannot be revived: acquire the lock again.",
  UNKNOWN_CLAIM: "There is no such lease, or it ended long ago: check the id that `rowlock acquire` printed.",
  LOCK_IN_USE: "Somebody holds the lock or waits for it: delete its record once the lock is free.",
  CONNECTION_LOST: `The connection was lost before the answer arrived, ${UNCERTAIN}`,
  OUTCOME_UNKNOWN: `The database did not confirm this change, ${UNCERTAIN}`,
};

export function exitCodeOf(error: RowlockError): ExitCode {
  if (isNoServer(error) || error.isTransient) return EXIT.noServer;
  if (isDenied(error)) return EXIT.denied;
  return error.refusal ? EXIT.notAcquired : EXIT.failed;
}

/** Says what went wrong and what to do, for a person: one sentence, or a line for each of several. */
export async function sentenceOf(error: RowlockError, servers: Servers): Promise<string> {
  if (isNoServer(error)) {
    const { diagnose } = await import("./diagnosis.ts");
    const within =
      error.reason === "NO_SERVER" && !error.isHopeless ? ` within ${timeWords(servers.giveUpAfter)}` : "";
    return list(`No Rowlock server answered${within}`, await diagnose(servers));
  }
  if (error.reason === "BAD_REQUEST")
    return list(
      "The server rejected this request",
      error.violations.map(({ field, description }) => `${wordsFor(field)} ${description}`),
    );
  return said(isDenied(error) ? deniedInWords(error, servers) : inWords(error));
}

function isDenied({ code }: RowlockError): boolean {
  return code === "PERMISSION_DENIED" || code === "UNAUTHENTICATED";
}

/** Something else may have answered, such as another kind of server or a proxy: it has no reasons of ours. */
function isNoServer({ reason, code }: RowlockError): boolean {
  return reason === "NO_SERVER" || (reason === "UNKNOWN" && code === "UNIMPLEMENTED");
}

function list(head: string, sentences: readonly string[]): string {
  const [first, ...more] = sentences;
  if (first === undefined) return said(`${head}.`);
  if (more.length === 0) return said(`${head}: ${first}.`);
  return `${said(`${head}:`)}${sentences.map((sentence) => `  - ${shown(sentence)}.\n`).join("")}`;
}

function wordsFor(path: string): string {
  if (/^also\b/.test(path)) return "--also";
  const [, field = path, key = ""] = /^(?:.*\.)?(\w+)(\[.*\])?$/.exec(path) ?? [];
  return `${WORDS[path] ?? WORDS[field] ?? `--${field.replaceAll("_", "-")}`}${key && ` ${key.slice(1, -1)}`}`;
}

function deniedInWords({ reason, message, metadata }: RowlockError, { tokenFile, files }: Servers): string {
  const what = tokenFile !== undefined ? `the token in ${tokenFile}` : `the certificate in ${files?.cert}`;
  const hasAny = tokenFile !== undefined || files?.cert !== undefined;
  if (reason === "RIGHT_MISSING" && metadata.right !== undefined)
    return `The policy of the server does not give ${metadata.principal} the right "${metadata.right}" for this: ask those who write the policy.`;
  // With credentials, only the client itself misses some, and its message says why.
  if (reason === "CREDENTIALS_MISSING" && !hasAny)
    return "The server wants to know who asks: name a file that contains your token with --token-file, or your certificate with --cert and --key.";
  if (reason === "CREDENTIALS_WRONG" && hasAny)
    return `The server does not know ${what}: ask those who run it for another one.`;
  if (reason === "CREDENTIALS_EXPIRED" && hasAny)
    return `The server does not accept ${what} any more, as it has expired: get a new one.`;
  return `This was not allowed: ${message}`;
}

function inWords({ reason, message, metadata }: RowlockError): string {
  if (reason === "VERSION_MISMATCH" && metadata.version === "0")
    return "There is nothing here to change: it was never set, or somebody has deleted it (its version is 0).";
  if (reason === "VERSION_MISMATCH")
    return `Somebody else has changed this, to version ${metadata.version}: look at it, and try again.`;
  if (reason === "DATABASE_UNAVAILABLE")
    return `The server answers, but its database does not: try again later, or check its log. ${message}`;
  return SENTENCES[reason] ?? message;
}
