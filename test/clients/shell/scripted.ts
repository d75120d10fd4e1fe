// A command of the shell over a server whose answers the test writes.

import { onTestFinished } from "vitest";
import { ranInProcess } from "../../cli/in-process.ts";
import { type Script, startScriptedServer } from "../../support/scripted-server.ts";

/** The server closes when the test is over. */
export async function ranOver(script: Script, ...args: string[]) {
  const server = await startScriptedServer(script);
  onTestFinished(() => server.close());
  return await ranInProcess(args, { ROWLOCK_ADDR: server.address });
}

/** A text that would clear a screen, begin a line of its own and turn around what follows. */
export const EVIL = "x\x1b[2J\r\nrowlock: all is well\u202e";
