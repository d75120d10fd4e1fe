// The flags of the commands that take a lock.

import { type Command, Option } from "commander";
import type { LockOptions, Refusal } from "../../../clients/typescript/src/index.ts";
import { parseCount, parseDuration, parseDurationOrForever } from "./durations.ts";

interface Flags {
  /** false: --no-wait. */
  readonly wait?: number | "forever" | boolean;
  readonly permits?: number;
  readonly shared?: true;
  readonly exclusive?: true;
  readonly ttl?: number;
  readonly owner?: string;
  readonly label?: Record<string, string>;
}

export function addLockOptions(command: Command): Command {
  return command
    .option("--wait <time>", "how long to wait in the queue (default forever)", parseDurationOrForever)
    .option("--no-wait", "do not wait: take it now or not at all")
    .option("--permits <count>", "how many permits to take (default 1)", parseCount)
    .addOption(
      new Option("--shared", "as a reader: beside other readers").conflicts(["exclusive", "permits"]),
    )
    .addOption(new Option("--exclusive", "as a writer: alone").conflicts("permits"))
    .option("--ttl <time>", "how long the lease outlives a holder that dies (default 30s)", parseDuration)
    .option("--owner <text>", "who holds it, for people who look (default machine and process)")
    .option("--label <key=value>", "what else they should see; may be repeated", addLabel);
}

/** What they ask for. */
export function lockOptions(command: Command): LockOptions {
  const { wait, permits, shared, exclusive, ttl, owner, label }: Flags = command.opts();
  return {
    wait: wait === false ? 0 : typeof wait === "number" ? wait : "forever",
    ...(permits !== undefined && { permits }),
    ...(shared && { mode: "shared" }),
    ...(exclusive && { mode: "exclusive" }),
    ...(ttl !== undefined && { ttl }),
    ...(owner !== undefined && { owner }),
    ...(label && { labels: label }),
  };
}

/** Why there is no lock, in one sentence. */
export function refusedSentence(name: string, refusal: Refusal): string {
  switch (refusal.reason) {
    case "BUSY":
    case "TIMED_OUT": {
      const [first, ...more] = refusal.holders;
      const whom = first
        ? `: ${first.owner} holds it${more.length > 0 ? `, and ${more.length} more` : ""}`
        : "";
      return refusal.reason === "BUSY"
        ? `"${name}" is busy${whom}.`
        : `"${name}" did not become free in time${whom}.`;
    }
    case "PAUSED":
      return `"${name}" is paused${refusal.limit?.reason ? ` (${refusal.limit.reason})` : ""}: its limit has to be raised.`;
    case "NEVER_FITS":
      return `"${name}" has a limit of ${refusal.limit?.limit ?? "less"}, so this can never be granted: ask for fewer permits, or raise the limit.`;
    default:
      return `"${name}" was not acquired. ${refusal.message}`;
  }
}

function addLabel(text: string, labels: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  return at < 0 ? { ...labels, [text]: "" } : { ...labels, [text.slice(0, at)]: text.slice(at + 1) };
}
