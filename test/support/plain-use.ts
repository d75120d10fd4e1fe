// The plain main use of an artifact that has the whole program: it serves as it comes, its banner's lines work, and a
// lock that somebody holds is still held after a restart. What the artifact is, and on which database, is the caller's.

import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "vitest";
import { RowlockProcess, type RunningServer, screenOf } from "../process/server-process.ts";

/** A `rowlock` as it was installed. */
export interface Artifact {
  /** The folder of the command `rowlock`, which comes first in the PATH. */
  readonly bin: string;
  /** Where the server starts. */
  readonly cwd: string;
  /** Where its other commands are: by default that of this test. */
  readonly path?: string;
  /** Of the server, beside the ports, which are free ones. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Serves, pastes what the banner offers, takes a lock, restarts, and finds it held; then the shell releases it and doctor
 * checks the database. Returns the first screen.
 */
export async function expectPlainUse({ bin, cwd, path = process.env.PATH, env = {} }: Artifact) {
  const PATH = `${bin}:${path}`;
  const program = join(bin, "rowlock");
  const started: RowlockProcess[] = [];
  const serving = async () => {
    const ports = { ROWLOCK_LISTEN: "127.0.0.1:0", ROWLOCK_METRICS_LISTEN: "127.0.0.1:0" };
    const server = new RowlockProcess(
      ["serve"],
      { PATH, ...ports, ...env },
      program,
      undefined,
      "ignore",
      cwd,
    );
    started.push(server);
    return screenOf(server);
  };
  const stopped = async ({ process: server }: RunningServer) => {
    server.kill("SIGTERM");
    const { code, err } = await server.ended();
    expect(code, err).toBe(0);
    expect(err).not.toMatch(/"level":"(error|fatal)"/);
  };
  const shell = ({ grpcAddress }: RunningServer, line: string) => {
    const { status, stdout, stderr } = spawnSync("sh", ["-c", line], {
      cwd,
      env: { PATH, ROWLOCK_ADDR: grpcAddress },
      encoding: "utf8",
    });
    return { code: status, said: stdout + stderr };
  };
  try {
    const first = await serving();
    const [run] = /^ *rowlock run .*$/m.exec(first.screen) ?? [];
    expect(shell(first, run ?? "")).toEqual({ code: 0, said: "my turn\n" });
    const [curl] = /^ *curl -sS .*$/m.exec(first.screen) ?? [];
    expect(execFileSync("sh", ["-c", curl ?? ""], { encoding: "utf8" })).toContain('"leaseId"');
    expect(await (await fetch(`${first.metricsUrl}/readyz`)).text()).toBe("ready\n");
    const taken = shell(first, "rowlock acquire plain --ttl 1h --owner anna");
    expect(taken.said).toMatch(/^ROWLOCK_LEASE=/m);
    await stopped(first);

    const again = await serving();
    expect(shell(again, "rowlock run plain --no-wait true")).toMatchObject({
      code: 75,
      said: expect.stringContaining("anna"),
    });
    expect(shell(again, "rowlock show plain").said).toMatch(/anna/);
    const release = 'eval "$LEASE"; rowlock renew "$ROWLOCK_LEASE" && rowlock release "$ROWLOCK_LEASE"';
    expect(shell(again, `LEASE='${taken.said.replaceAll("'", "'\\''")}'; ${release}`)).toMatchObject({
      code: 0,
    });
    const token = 'echo "token $ROWLOCK_TOKEN"';
    expect(shell(again, `rowlock run plain --no-wait sh -c '${token}'`)).toEqual({
      code: 0,
      said: "token 2\n",
    });
    await stopped(again);
    const { status, stdout, stderr } = spawnSync(program, ["doctor"], {
      cwd,
      env: { PATH, ...env },
      encoding: "utf8",
    });
    expect(status, stdout + stderr).toBe(0);
    return first.screen;
  } finally {
    for (const server of started) await server.destroy();
  }
}
