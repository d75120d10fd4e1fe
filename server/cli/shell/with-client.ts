// Runs a command with a client, and reports errors in sentences that say what to do, with an exit code.

import type { Rowlock, RowlockError } from "../../../clients/typescript/src/index.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { told } from "./durations.ts";
import { said, shown } from "./print.ts";
import { type Servers, serversOf } from "./server-options.ts";
import type { ShellCommand } from "./shell-command.ts";

/** What the shell calls the fields of requests. */
const WORDS: Readonly<Record<string, string>> = {
  name: "the lock's name",
  prefix: "the prefix",
  lease_id: "the lease",
  permits: "--permits",
  ttl: "--ttl",
  max_wait: "--wait",
  owner: "--owner",
  labels: "--label",
  limit: "the limit",
  pattern: "--pattern",
  expected_version: "--if-version",
  reason: "--reason",
  ticket_number: "--ticket",
  max_leases: "--count",
  if_status: "--if-status",
  status: "the status",
  status_if_lost: "--status-if-lost",
  min_interval: "--at-most-every",
  lock_delay: "--lock-delay",
  cool_down: "--cool-down",
  not_before: "--not-before",
  not_before_in: "--not-before",
  attempts_left: "--attempts",
};

/**
 * Reports the command's faults, if there are any. Otherwise runs it with a client, which is loaded only here, and
 * closes the client.
 */
export async function withClient(
  command: ShellCommand,
  context: CliContext,
  run: (rowlock: Rowlock, servers: Servers) => Promise<ExitCode>,
): Promise<ExitCode> {
  const servers = serversOf(command, context);
  command.refuseFaults();
  const { connect, RowlockError } = await import("../../../clients/typescript/src/index.ts");
  const rowlock = connect(servers);
  try {
    return await run(rowlock, servers);
  } catch (error) {
    if (!(error instanceof RowlockError)) throw error;
    context.err(await sentenceOf(error, servers));
    if (isNoServer(error) || error.isTransient) return EXIT.noServer;
    return error.refusal ? EXIT.notAcquired : EXIT.failed;
  } finally {
    await rowlock.close();
  }
}

/** Says what went wrong and what to do, for a person: one sentence, or a line for each of several. */
export async function sentenceOf(error: RowlockError, servers: Servers): Promise<string> {
  if (isNoServer(error)) {
    const { diagnose } = await import("./diagnosis.ts");
    const within = error.reason === "NO_SERVER" ? ` within ${told(servers.giveUpAfter)}` : "";
    return list(`No Rowlock server answered${within}`, await diagnose(servers));
  }
  if (error.reason === "BAD_REQUEST")
    return list(
      "The server rejected this request",
      error.violations.map(({ field, description }) => `${wordsFor(field)} ${description}`),
    );
  return said(inWords(error));
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
  const [, field = path, key = ""] = /^(?:.*\.)?(\w+)(\[.*\])?$/.exec(path) ?? [];
  return `${WORDS[field] ?? field}${key && ` ${key.slice(1, -1)}`}`;
}

function inWords(error: RowlockError): string {
  switch (error.reason) {
    case "LEASE_LOST":
      return "This lease has ended and cannot be revived: acquire the lock again.";
    case "UNKNOWN_CLAIM":
      return "There is no such lease, or it ended long ago: check the id that `rowlock acquire` printed.";
    case "VERSION_MISMATCH":
      return `Somebody else has changed this, to version ${error.metadata.version}: look at it, and try again.`;
    case "LOCK_IN_USE":
      return "Somebody holds the lock or waits for it: delete its record once the lock is free.";
    case "CONNECTION_LOST":
      return "The connection was lost before the answer arrived, so this may or may not have taken effect: check with `rowlock show`.";
    case "OUTCOME_UNKNOWN":
      return "The database did not confirm this change, so it may or may not have taken effect: check with `rowlock show`.";
    case "DATABASE_UNAVAILABLE":
      return `The server answers, but its database does not: try again later, or check its log. ${error.message}`;
    default:
      break;
  }
  if (error.code === "PERMISSION_DENIED" || error.code === "UNAUTHENTICATED")
    return `This was not allowed: ${error.message}`;
  return error.message;
}
