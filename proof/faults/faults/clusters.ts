// What only a database of several servers has: others take over, leave, are cut off, and lag.

import { setTimeout as sleep } from "node:timers/promises";
import { RowlockProcess } from "../../../test/process/server-process.ts";
import { monotonicMs } from "../history/clock.ts";
import type { Daemon } from "../house/daemon.ts";
import { type Acts, type Database, used } from "../house/database.ts";
import type { House } from "../house/house.ts";
import { oneOf, TTL_MS } from "../work/run.ts";
import { type Fault, LONG_MS, SHORT_MS } from "./fault.ts";

/** Between a dump and the restore. */
const DUMPED_MS = 1_000;
/** For a member that has left to be seen as such. */
const LEFT_MS = 2_000;

/** Acts of this database; only faults that need them are played with it. */
const actsOf = ({ database }: House) => database.acts as Acts;

async function another(database: Database, chance: () => number): Promise<Daemon> {
  const inUse = await used(database);
  return oneOf(
    database.daemons.filter((daemon) => daemon !== inUse),
    chance,
  );
}

const otherKilled: Fault = {
  name: "a database server that is not in use is killed and started again",
  needs: "several database servers",
  async strike({ database }, chance) {
    const daemon = await another(database, chance);
    await daemon.kill();
    await sleep(SHORT_MS);
    await daemon.comeBack();
  },
};

const stayedAway: Fault = {
  name: "the database server is killed and stays away for 10 s",
  needs: "startAnew",
  async strike({ database }) {
    const daemon = await used(database);
    await daemon.kill();
    await sleep(LONG_MS);
    await daemon.comeBack();
  },
};

const otherFrozen: Fault = {
  name: "a database server that is not in use is frozen for 10 s",
  needs: "several database servers",
  async strike({ database }, chance) {
    const daemon = await another(database, chance);
    await daemon.freeze();
    await sleep(LONG_MS);
    daemon.thaw();
    await daemon.comeBack();
  },
};

const allKilled: Fault = {
  name: "all database servers are killed, and the cluster is formed anew",
  needs: "startAnew",
  async strike(house) {
    await Promise.all(house.database.daemons.map((daemon) => daemon.kill()));
    await actsOf(house).startAnew();
    for (const daemon of house.database.daemons) await daemon.comeBack();
  },
};

const oneLineCut: Fault = {
  name: "one server loses the database server that all use",
  needs: "startAnew",
  async strike({ database, databaseLines }, chance) {
    const { port } = await used(database);
    const line = oneOf(
      databaseLines.filter(({ to }) => to === port),
      chance,
    );
    line.cut();
    await sleep(LONG_MS);
    line.heal();
  },
};

function cutOff(what: string, which: (database: Database, chance: () => number) => Promise<Daemon>): Fault {
  return {
    name: `${what} is cut off from the others for 10 s`,
    needs: "cutOff",
    async strike(house, chance) {
      const daemon = await which(house.database, chance);
      const undo = await actsOf(house).cutOff(daemon);
      await sleep(LONG_MS);
      await undo();
      await daemon.comeBack();
    },
  };
}

const switched: Fault = {
  name: "another database server is made the primary",
  needs: "switchTo",
  async strike(house, chance) {
    await actsOf(house).switchTo(await another(house.database, chance));
  },
};

const left: Fault = {
  name: "the primary leaves the group, is made writable alone, and joins again",
  needs: "leave",
  async strike(house) {
    const daemon = await used(house.database);
    await actsOf(house).leave(daemon);
    await sleep(LEFT_MS);
    await daemon.run("SET GLOBAL super_read_only = OFF");
    await daemon.run("SET GLOBAL read_only = OFF");
    await sleep(SHORT_MS);
    await daemon.comeBack();
  },
};

function promoted(isBack: boolean): Fault {
  const after = isBack ? "the old source comes back as it was" : "the old source stays away";
  return {
    name: `a copy that lags is promoted, and ${after}`,
    needs: "promote",
    async strike(house, _chance, history) {
      const name = this.name;
      const { fromMs, toMs } = await actsOf(house).promote(isBack);
      history.add({ did: "lose", who: "", name, startMs: fromMs, endMs: toMs });
    },
  };
}

const restored: Fault = {
  name: "an earlier dump is restored in place, as an operator declares",
  needs: "dump",
  async strike(house, _chance, history) {
    const { database, servers } = house;
    const startMs = monotonicMs();
    const restore = await actsOf(house).dump();
    await sleep(DUMPED_MS);
    for (const server of servers) server.signal("SIGTERM");
    for (const server of servers) await server.gone();
    await restore();
    const url = database.urlAt(database.daemons.map(({ port }) => port));
    const { code, err } = await new RowlockProcess([
      "restored",
      "--pause",
      `${TTL_MS / 1e3}s`,
      "--database-url",
      url,
    ]).exited;
    if (code !== 0) throw new Error(`The restore could not be declared: ${err}`);
    history.add({ did: "lose", who: "", name: this.name, startMs, endMs: monotonicMs() });
    await Promise.all(servers.map((server) => server.start()));
  },
};

export const CLUSTER_FAULTS: readonly Fault[] = [
  otherKilled,
  otherFrozen,
  stayedAway,
  allKilled,
  oneLineCut,
  cutOff("the database server that is in use", used),
  cutOff("a database server that is not in use", another),
  switched,
  left,
  promoted(false),
  promoted(true),
  restored,
];
