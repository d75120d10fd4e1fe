// The verbs that older servers lack. A command that needs one says so, and does not look for another server there.

import type { RowlockClient } from "../typescript/src/index.ts";
import { type CliContext, EXIT, type ExitCode } from "./context.ts";
import { said } from "./print.ts";

/** Runs `work`, which asks for history or explanations. If the server has none, says so in a sentence. */
export async function ifServed(
  rowlock: RowlockClient,
  { err }: CliContext,
  work: () => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await work();
  } catch (error) {
    const { RowlockError } = await import("../typescript/src/index.ts");
    if (!(error instanceof RowlockError) || !isUnknownVerb(error) || !(await isThere(rowlock))) throw error;
    err(
      said(
        "The server, or a proxy in front of it, is older than this command and has neither history nor explanations: update it, or use `rowlock show`.",
      ),
    );
    return EXIT.noServer;
  }
}

type Failed = Pick<import("../typescript/src/index.ts").RowlockError, "reason" | "code" | "violations">;

/** A server does not know the method, or in a session not the command. */
function isUnknownVerb({ reason, code, violations }: Failed): boolean {
  if (reason === "UNKNOWN") return code === "UNIMPLEMENTED";
  return reason === "BAD_REQUEST" && violations.some(({ field }) => field === "command");
}

/** Whether it is a Rowlock server: each one refuses this, with a reason and without a look-up. */
async function isThere(rowlock: RowlockClient): Promise<boolean> {
  const { RowlockError } = await import("../typescript/src/index.ts");
  try {
    await rowlock.renew("");
  } catch (error) {
    if (!(error instanceof RowlockError)) throw error;
    return error.reason !== "UNKNOWN" && error.reason !== "NO_SERVER";
  }
  return true;
}
