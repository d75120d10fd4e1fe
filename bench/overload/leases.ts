// Many leases that are renewed every ten seconds through some hundred sessions: how late renewals are answered, and what
// that takes of the server and of the database.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { type Cores, coresFromNow, type House, residentMib } from "./house.ts";

const SESSIONS = 300;
/** A whole round of renewals after the last lease was taken. */
const WARM_UP_S = 10;

interface Many {
  readonly leases: number;
  readonly late: number;
  readonly lost: number;
  readonly commands: number;
  readonly renewals: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly cpuSeconds: number;
}

export async function holdMany(house: House, leases: number, seconds: number): Promise<void> {
  const flags = { system: "session", address: house.address, work: "leases", callers: leases };
  const more = { connections: SESSIONS, "warm-up": `${WARM_UP_S}s`, measured: `${seconds}s` };
  const args = Object.entries({ ...flags, ...more }).map(([name, value]) => `-${name}=${value}`);
  const driver = spawn(house.driver, args, { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(driver, "exit");
  const said = text(driver.stdout);
  let cores: (() => Promise<Cores>) | undefined;
  let complaint = "";
  driver.stderr.on("data", async (chunk: Buffer) => {
    complaint += chunk;
    if (complaint.includes("measuring")) cores ??= await coresFromNow(house);
  });
  const [code] = await ended;
  if (code !== 0) throw new Error(complaint);
  const took = await (cores as () => Promise<Cores>)();
  const many = JSON.parse(await said) as Many;
  console.log(
    `${many.leases} leases in ${SESSIONS} sessions, each renewed every 10 s for ${seconds} s: ` +
      `${many.late} of ${many.renewals} renewals were late or refused, ${many.lost} leases lost; ` +
      `answered ${many.p50Ms.toFixed(0)} ms (p50), ${many.p99Ms.toFixed(0)} ms (p99), ${many.maxMs.toFixed(0)} ms (longest) after they were due; ` +
      `cores: server ${took.server.toFixed(2)}, database ${took.database.toFixed(2)}, callers ${(many.cpuSeconds / seconds).toFixed(2)}; ` +
      `memory of the server ${(await residentMib(house.metrics)).toFixed(0)} MiB`,
  );
}
