// A soak: as much work of all kinds as an installation does in eight hours, in less time, with retention times that are
// shorter by as much. Looks every ten seconds at what must not grow, draws it, and judges whether it is level at the end.
//
//   npm run soak -- [--minutes 30] [--hours 8] [--rate 10] [--heap 768] [--database mariadb] [--svg soak.svg] [--json soak.json]
//
// `--rate`: pairs a second of the installation, beside which everything else happens: see soak-work.ts.
// `--heap`: MiB that the heap of the server may grow to; by default, about what a container of 1 GiB leaves. The bounds of
// its caches follow from it, and they must be full before the second third of the run.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Kind } from "../sizing/sized-database.ts";
import { coresFromNow, startHouse } from "./house.ts";
import { judge } from "./level.ts";
import { Looks } from "./looks.ts";
import { panels } from "./panels.ts";

const LOOK_MS = 10_000;
const HOUR_S = 3_600;
/** The times of a usual installation. The shortest that the server accepts is a minute. */
const RETENTION_S = HOUR_S;
const IDLE_LOCK_RETENTION_S = HOUR_S;
const SHORTEST_S = 60;

const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    hours: { type: "string", default: "8" },
    rate: { type: "string", default: "10" },
    heap: { type: "string", default: "768" },
    database: { type: "string", default: "mariadb" },
    svg: { type: "string", default: "soak.svg" },
    json: { type: "string", default: "soak.json" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});
const seconds = Number(options.minutes) * 60;
/** How much faster than in the installation everything is. */
const times = (Number(options.hours) * HOUR_S) / seconds;
const shorter = (of: number) => `${Math.max(SHORTEST_S, Math.round(of / times))}s`;

const house = await startHouse(
  options.database as Kind,
  [
    ...["--retention", shorter(RETENTION_S), "--idle-lock-retention", shorter(IDLE_LOCK_RETENTION_S)],
    ...["--log-level", "info"],
  ],
  ["--skip-log-bin"],
  [`--max-old-space-size=${options.heap}`],
);
try {
  console.log(
    `${house.label}, seed ${options.seed}, ${options.hours} hours' work in ${options.minutes} minutes: ` +
      `${(Number(options.rate) * times).toFixed(0)} pairs a second; retention ${shorter(RETENTION_S)}, idle locks ${shorter(IDLE_LOCK_RETENTION_S)}; load ${loadavg()[0]?.toFixed(1)}`,
  );
  const cores = await coresFromNow(house);
  const worker = spawn(
    process.execPath,
    [
      join(import.meta.dirname, "soak-work.ts"),
      ...[house.address, String(seconds), String(Number(options.rate) * times), options.seed],
    ],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  const ended = once(worker, "exit");
  const looks = new Looks(house);
  const endMs = performance.now() + seconds * 1_000;
  const loads: number[] = [];
  while (performance.now() < endMs) {
    await Promise.race([sleep(LOOK_MS), ended.then(() => failIfBad(worker.exitCode))]);
    await looks.look();
    loads.push(loadavg()[0] as number);
    if (worker.exitCode !== null) break;
  }
  const took = await cores();
  await ended;
  failIfBad(worker.exitCode);
  const series = looks.series();
  const verdicts = judge(series);
  await writeFile(options.json, `${JSON.stringify({ seed: options.seed, seconds, times, series })}\n`);
  await writeFile(options.svg, panels(series, verdicts, LOOK_MS / 1_000));
  for (const { what, before, after, isLevel } of verdicts)
    console.log(
      `${isLevel ? "level" : "GROWS"}: ${what}, ${before} in the second third, ${after} in the last`,
    );
  loads.sort((a, b) => a - b);
  console.log(
    `cores: server ${took.server.toFixed(2)}, database ${took.database.toFixed(2)}; ` +
      `load of the machine ${loads[0]?.toFixed(0)} to ${loads.at(-1)?.toFixed(0)}, median ${loads[loads.length >> 1]?.toFixed(0)}`,
  );
  if (verdicts.some(({ isLevel }) => !isLevel)) process.exitCode = 1;
} finally {
  await house.stop();
}

function failIfBad(code: number | null): void {
  if (code !== null && code !== 0) throw new Error(`The callers of the soak ended with ${code}.`);
}
