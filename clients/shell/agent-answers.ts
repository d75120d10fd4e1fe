// What an agent is told of the locks of all, in sentences.

import type { ClaimView, LockView, RowlockClient } from "../typescript/src/index.ts";
import { foldersAbove } from "./agent-paths.ts";
import { timeWords } from "./print.ts";

const LISTED_MAX = 100;

/** Who holds a lock and who waits for it; of a path, also who has one of the folders above it alone, or waits to. */
export async function whoWords(
  rowlock: Pick<RowlockClient, "getLock">,
  name: string,
  isPath: boolean,
): Promise<string> {
  const [lock, covering] = await Promise.all([rowlock.getLock(name), coveringWords(rowlock, name, isPath)]);
  if (lock.holderCount > 0) return [...claimsWords(lock), ...covering].join("\n");
  if (lock.waiterCount > 0) return [...claimsWords(lock), ...covering, ...hintOf(name, isPath)].join("\n");
  if (covering.length > 0) return [`Nobody holds "${name}" itself.`, ...covering].join("\n");
  const nobody = `Nobody holds "${name}"${isPath ? " or a folder above it alone" : ""}, or waits for it.`;
  return [nobody, ...hintOf(name, isPath)].join(" ");
}

function hintOf(name: string, isPath: boolean): string[] {
  return !isPath && name.includes("/") ? ["If it is a path, ask with path: true."] : [];
}

/** Why a request would wait now. `next`: what to do about it. */
export async function whyWords(
  rowlock: Pick<RowlockClient, "getLock" | "explainWait">,
  name: string,
  isPath: boolean,
  next: string,
): Promise<string> {
  const [{ summary, causes }, covering] = await Promise.all([
    rowlock.explainWait({ name }),
    coveringWords(rowlock, name, isPath),
  ]);
  if (covering.length > 0)
    return [
      `A request for "${name}" would wait for a folder above it.`,
      ...covering,
      ...(causes.length > 0 ? [summary] : []),
      next,
    ].join("\n");
  return causes.length > 0 ? `${summary}\n${next}` : [summary, ...hintOf(name, isPath)].join(". ");
}

export async function listWords(rowlock: Pick<RowlockClient, "listLocks">, prefix: string): Promise<string> {
  const lines: string[] = [];
  for await (const { name, holders, waiterCount } of rowlock.listLocks({ prefix, busyOnly: true })) {
    const held = holders.map((holder) => `${holder.owner}${besideWords(holder)}`).join(", ");
    lines.push(`- ${name}: ${held === "" ? "free" : `held by ${held}`}, ${waiterCount} waiting`);
    if (lines.length === LISTED_MAX) break;
  }
  if (lines.length === LISTED_MAX) lines.push("There may be more: ask with a longer prefix.");
  return lines.join("\n") || "Nobody holds or waits for a lock there.";
}

/** Of each folder above a path that somebody has alone or waits to have alone; a reader of it keeps nobody out. */
async function coveringWords(
  rowlock: Pick<RowlockClient, "getLock">,
  name: string,
  isPath: boolean,
): Promise<string[]> {
  const folders = isPath ? foldersAbove(name) : [];
  const locks = await Promise.all(folders.map((folder) => rowlock.getLock(folder)));
  return locks.flatMap((lock) => {
    const [holders, waiters] = [lock.holders.filter(isAlone), lock.waiters.filter(isAlone)];
    if (holders.length + waiters.length === 0) return [];
    return claimsWords({
      ...lock,
      holders,
      waiters,
      holderCount: holders.length,
      waiterCount: waiters.length,
    });
  });
}
const isAlone = ({ mode }: Pick<ClaimView, "mode">) => mode !== "shared";

function claimsWords({ name, holders, waiters, holderCount, waiterCount }: LockView): string[] {
  const line = (claim: ClaimView, since: Date | undefined, did: string) => {
    const { owner, principal, labels } = claim;
    const who = principal === undefined ? owner : `${owner} (${principal})`;
    const why = labels.reason === undefined ? "" : `: ${labels.reason}`;
    const time = since ? timeWords(Math.max(0, Date.now() - since.getTime())) : "some time";
    return `- ${who} ${did} ${time}${besideWords(claim)}${why}`;
  };
  return [
    `"${name}": ${holderCount} ${holderCount === 1 ? "holds" : "hold"} it, ${waiterCount} ${waiterCount === 1 ? "waits" : "wait"}.`,
    ...holders.map((claim) => line(claim, claim.grantedAt, "has held it for")),
    ...waiters.map((claim) => line(claim, claim.requestedAt, "has waited for")),
  ];
}

/** Of who does not have it alone, such as a folder for the sake of a path below it. */
function besideWords({ mode }: ClaimView): string {
  return mode === "shared" ? " (beside others, perhaps for something below it)" : "";
}
