// Runs a shell command inside the test's process, with its own context: faster than starting a process.

import type { CliContext } from "../../clients/shell/context.ts";
import { runCli } from "../../server/cli/program.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export async function ranInProcess(
  args: readonly string[],
  env: CliContext["env"] = {},
  readFile: CliContext["readFile"] = (path) => {
    throw Object.assign(new Error(`no ${path} here`), { code: "ENOENT" });
  },
  screen?: CliContext["screen"],
): Promise<Ran> {
  let out = "";
  let err = "";
  const code = await runCli(args, {
    version: "1.2.3",
    nodeVersion: "26.0.0",
    memoryMax: Number.POSITIVE_INFINITY,
    env: { HOME: "/home/test", ...env },
    readFile,
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    inEnded: new Promise(() => {}),
    stopSignal: new Promise(() => {}),
    outIsErr: false,
    errIsTerminal: false,
    screen,
    onKeys: () => undefined,
    outGone: new AbortController().signal,
    ignoredSignals: [],
    bytesOfVariables: new Map(),
    onSignal: () => () => {},
    kill: () => false,
  });
  return { code, out, err };
}
