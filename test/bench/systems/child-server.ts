// Runs one server as a process, from the word that it listens until it is stopped.

import { spawn } from "node:child_process";
import { postGuardian } from "../../support/mysql-family/guardian.ts";
import { stopProcess } from "../../support/mysql-family/private-server.ts";
import { NotHere } from "./system.ts";

const PATIENCE_MS = 30_000;

export interface ChildServer {
  /** What it said of where it listens. */
  readonly said: RegExpExecArray;
  stop(): Promise<void>;
}

/** Waits for what the server says. It ends with this process, whatever becomes of that, and its directory goes, too. */
export async function startChildServer(
  command: string,
  args: readonly string[],
  directory: string,
  says: RegExp,
): Promise<ChildServer> {
  const { PATH } = process.env;
  const child = spawn(command, args, { cwd: directory, env: { PATH }, stdio: ["ignore", "pipe", "pipe"] });
  const guardian = postGuardian(directory);
  if (child.pid !== undefined) guardian.watch(child.pid);
  const stop = async () => {
    await stopProcess(child);
    guardian.dismiss();
  };
  const listening = Promise.withResolvers<RegExpExecArray>();
  let text = "";
  let said: RegExpExecArray | null = null;
  // What it says later on is read and forgotten, so that it never waits for a reader.
  const onData = (chunk: Buffer) => {
    if (said) return;
    text += chunk;
    said = says.exec(text);
    if (said) listening.resolve(said);
  };
  child.stdout.on("data", onData);
  child.stderr.on("data", onData);
  child.once("error", (error: NodeJS.ErrnoException) => {
    const isMissing = error.code === "ENOENT";
    listening.reject(isMissing ? new NotHere(`${command} is not installed`) : error);
  });
  child.once("close", () => {
    guardian.dismiss();
    listening.reject(new Error(`${command} ended before it listened:\n${text}`));
  });
  const tooLong = setTimeout(
    () => listening.reject(new Error(`${command} did not say that it listens:\n${text}`)),
    PATIENCE_MS,
  );
  try {
    return { said: await listening.promise, stop };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    clearTimeout(tooLong);
  }
}
