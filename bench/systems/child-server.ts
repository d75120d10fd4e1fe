// Runs one server as a process, from its message that it listens until it is stopped.

import { spawn } from "node:child_process";
import { postGuardian } from "../../test/support/mysql-family/guardian.ts";
import { stopProcess } from "../../test/support/mysql-family/private-server.ts";
import { NotHere } from "./system.ts";

const PATIENCE_MS = 30_000;

export interface ChildServer {
  /** The match of its message about where it listens. */
  readonly said: RegExpExecArray;
  readonly pid: number;
  /** What it has written to its outputs so far. */
  outputBytes(): number;
  stop(): Promise<void>;
}

/**
 * Waits for the server's message. The server ends with this process, however that ends, and its directory is removed.
 */
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
  let outputBytes = 0;
  let said: RegExpExecArray | null = null;
  // Later output is read and discarded, so that the server never blocks on a full pipe.
  const onData = (chunk: Buffer) => {
    outputBytes += chunk.length;
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
    return { said: await listening.promise, pid: child.pid as number, outputBytes: () => outputBytes, stop };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    clearTimeout(tooLong);
  }
}
