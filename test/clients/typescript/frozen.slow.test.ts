// A process stops, as when its machine sleeps, while others take the lock. When it continues, it must not believe for
// a moment that it still holds the lock.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { until } from "../../support/harness.ts";
import { afterwards, client, start } from "./stage.ts";

/** Starts the process and collects its output lines. */
function holding(address: string, ttlMs: number): { process: ChildProcess; lines: string[] } {
  const script = join(import.meta.dirname, "holding-client.ts");
  const child = spawn(process.execPath, [script, address, "frozen", String(ttlMs)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  afterwards(async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  const lines: string[] = [];
  createInterface(child.stdout).on("line", (line) => lines.push(line));
  return { process: child, lines };
}

test("a client that held the lock finds it lost before it does anything else", async () => {
  const server = await start();
  const other = client(server.address);
  const { process: child, lines } = holding(server.address, 3_000);
  await until(() => lines.includes("working 1"));
  child.kill("SIGSTOP");
  const lock = await other.lock("frozen");
  expect(lock.token).toBe(2n);
  // Lets lines arrive that it wrote before it was stopped.
  await new Promise(setImmediate);
  const before = lines.length;
  child.kill("SIGCONT");
  await until(() => lines.length > before);
  expect(lines[before]).toBe("lost 1");
  await until(() => lines.at(-1)?.startsWith("waiting") ?? false);
  await lock.release();
  await until(() => lines.includes("working 3"));
});

test("a client that was granted the lock meanwhile queues again, because its grant has lapsed", async () => {
  const server = await start({ rules: { graceUs: 1_000_000, attachedForUs: 1_250_000 } });
  const other = client(server.address);
  const first = await other.lock("frozen");
  const { process: child, lines } = holding(server.address, 60_000);
  await until(() => lines.includes("waiting behind 0"));
  child.kill("SIGSTOP");
  const behind = other.lock("frozen");
  await until(async () => (await other.getLock("frozen")).waiterCount === 2);
  await first.release();
  const lock = await behind;
  expect(lock.token).toBe(3n);
  child.kill("SIGCONT");
  await until(async () => (await other.getLock("frozen")).waiterCount === 1);
  await lock.release();
  await until(() => lines.includes("held 4"));
  expect(lines.filter((line) => line.startsWith("held"))).toEqual(["held 4"]);
});
