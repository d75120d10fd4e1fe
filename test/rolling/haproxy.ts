// HAProxy in front of the servers of a fleet, set up as docs/operations.md says.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/mysql-family/private-server.ts";
import { until } from "../support/until.ts";
import type { Fleet } from "./fleet.ts";

const BINARY = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy"].find((path) => existsSync(path));

export const HAS_HAPROXY = BINARY !== undefined;

export interface Haproxy {
  readonly address: string;
  stop(): Promise<void>;
}

export async function startHaproxy({ members }: Fleet): Promise<Haproxy> {
  if (BINARY === undefined) throw new Error("There is no HAProxy: install the package haproxy.");
  const directory = mkdtempSync(join(tmpdir(), "rowlock-haproxy-"));
  const port = await freePort();
  const file = join(directory, "haproxy.cfg");
  const servers = members.map(
    ({ address, metricsAddress }, index) =>
      `  server rowlock-${index + 1} ${address} check addr 127.0.0.1 port ${metricsAddress.split(":")[1]}`,
  );
  writeFileSync(
    file,
    `defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
  option redispatch
frontend rowlock
  bind 127.0.0.1:${port}
  default_backend servers
backend servers
  balance leastconn
  option httpchk GET /readyz
  default-server inter 500ms fall 1 rise 1
${servers.join("\n")}
`,
  );
  const child = spawn(BINARY, ["-db", "-f", file], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr?.on("data", (chunk) => (said += chunk));
  const stop = async () => {
    await end(child);
    rmSync(directory, { recursive: true });
  };
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`HAProxy ended with ${child.exitCode}:\n${said}`);
    return await accepts(port);
  });
  return { address: `127.0.0.1:${port}`, stop };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

async function accepts(port: number): Promise<boolean> {
  const socket = createConnection(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
