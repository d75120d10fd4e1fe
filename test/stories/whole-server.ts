// A complete server in this process, with a client, as `rowlock serve` would start it from these settings.

import { onTestFinished } from "vitest";
import { type App, startApp } from "../../server/app.ts";
import { loadConfig } from "../../server/config/config.ts";
import { createLog } from "../../server/log/log.ts";
import { parseDatabaseUrl } from "../../server/storage/database-url.ts";
import { TestCalls } from "../support/test-calls.ts";

/** Stopped when the test is over. `lines`: its warnings and errors. */
export async function start(databaseUrl: string, env: Readonly<Record<string, string>> = {}) {
  const loaded = loadConfig({
    argvFlags: {},
    env: {
      ROWLOCK_DATABASE_URL: databaseUrl,
      ROWLOCK_LISTEN: "127.0.0.1:0",
      ROWLOCK_METRICS_LISTEN: "127.0.0.1:0",
      ROWLOCK_DRAIN_TIMEOUT: "200ms",
      ...env,
    },
    readFile: (path) => {
      throw new Error(`no ${path} here`);
    },
    parseDatabaseUrl,
  });
  if (!("config" in loaded)) throw new Error(loaded.faults.join("; "));
  const lines: string[] = [];
  const app = await startApp(loaded.config, {
    log: createLog({ level: "warn", write: (line) => void lines.push(line) }),
    version: "1.2.3",
    nodeVersion: "26.0.0",
    memoryMax: Number.POSITIVE_INFINITY,
  });
  onTestFinished(() => app.stop());
  const client = new TestCalls(app.grpcAddress);
  onTestFinished(() => client.close());
  return { app, client, lines };
}

export const readiness = ({ metricsAddress }: App) => fetch(`http://${metricsAddress}/readyz`);
