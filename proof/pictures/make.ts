// Makes the pictures of docs/pictures from a real run: two servers on MariaDB under some load, a real Prometheus that
// scrapes them, and `rowlock watch` on a terminal. Needs MariaDB, Prometheus and script (of util-linux) on this machine.
//
//   npm run pictures -- [--seconds 90]

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import { DatabaseServers } from "../../bench/systems/database-servers.ts";
import { serve } from "../../bench/systems/rowlock.ts";
import { startPrometheus } from "../../test/support/prometheus.ts";
import { type Dashboard, drawDashboard, RATE_INTERVAL_S } from "./dashboard.ts";
import { load } from "./load.ts";
import { drawTerminal } from "./terminal.ts";

const OWN = join(import.meta.dirname, "../..");
const PICTURES = join(OWN, "docs/pictures");
const SCRAPE_MS = 1_000;
const CLASSES = "etl/*,report/*,tasks/*,catalogue/*";
const COLUMNS = 104;
const ROWS = 16;
/** How long `rowlock watch` runs before its last page is drawn. */
const WATCH_S = 4;

const { values } = parseArgs({ options: { seconds: { type: "string", default: "90" } } });
const seconds = Number(values.seconds);
const directory = mkdtempSync(join(tmpdir(), "rowlock-pictures-"));
const databases = new DatabaseServers(directory);
const stops: (() => Promise<void>)[] = [() => databases.stop()];
try {
  const { url } = await databases.database("mariadb", "rowlock_pictures");
  const servers: Awaited<ReturnType<typeof serve>>[] = [];
  // One after the other, because the first server creates the schema.
  while (servers.length < 2) {
    const server = await serve(url, directory, OWN, ["--metrics-classes", CLASSES]);
    stops.unshift(() => server.stop());
    servers.push(server);
  }
  const addresses = servers.map(({ target }) => target.address);
  const prometheus = await startPrometheus(
    servers.map(({ metrics }) => metrics as string),
    1,
    SCRAPE_MS,
  );
  stops.unshift(() => prometheus.stop());

  const startS = Date.now() / 1_000;
  const work = load(addresses, seconds);
  await sleep(seconds * 400);
  const page = await watched(addresses[0] as string);
  await work;
  // The last samples of the run.
  await sleep(2 * SCRAPE_MS);

  const dashboard = JSON.parse(
    readFileSync(join(OWN, "deploy/grafana/dashboards/rowlock.json"), "utf8"),
  ) as Dashboard;
  const fromS = startS + RATE_INTERVAL_S;
  mkdirSync(PICTURES, { recursive: true });
  writeFileSync(
    join(PICTURES, "dashboard.svg"),
    await drawDashboard(dashboard, (query) => prometheus.range(query, fromS, startS + seconds, 1)),
  );
  writeFileSync(join(PICTURES, "watch.svg"), drawTerminal("rowlock watch 'etl/*'", page, COLUMNS));
  console.log("wrote docs/pictures/dashboard.svg and docs/pictures/watch.svg");
} finally {
  for (const stop of stops) await stop();
  rmSync(directory, { recursive: true, force: true });
}

/** What `rowlock watch` last drew on a terminal of its own. */
async function watched(address: string): Promise<string> {
  const command = `stty cols ${COLUMNS} rows ${ROWS}; timeout -s INT ${WATCH_S} node ${join(OWN, "bin/rowlock.mjs")} watch 'etl/*' --addr ${address}; true`;
  const { stdout } = await promisify(execFile)("script", ["-qefc", command, "/dev/null"], {
    env: { ...process.env, TERM: "xterm-256color", FORCE_COLOR: "1" },
  });
  // Each page begins at the upper left corner and ends with the erasure of the rest.
  const pages = stdout.split("\x1b[H").slice(1);
  return (pages.at(-1) ?? "").split("\x1b[J")[0] as string;
}
