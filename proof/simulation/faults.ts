// What each fault does to a run, and how it is mended.

import { poolName } from "../../server/core/pools.ts";
import type { House } from "./house.ts";
import { SETS, SETS_END } from "./set-steps.ts";
import type { Fault, FaultKind } from "./step.ts";
import { CLIENTS, LOCKS } from "./steps.ts";
import { META_ROW } from "./store/row-locks.ts";

/** Strikes, and returns how to mend it; undefined: it mends itself. */
type Strike = (house: House, fault: Fault) => (() => void) | undefined;

/** One clock in so many is set ahead this far, and right again. */
const FAR_SHARE = 0.3;
const FAR_US = 60e6;

export const STRIKES: Readonly<Record<FaultKind, Strike>> = {
  "a server crashes": (house, { server }) => {
    house.crash(server);
    return () => house.start(server);
  },
  "a server is frozen": ({ world, network }, { server }) => {
    const { process } = network.servers[server] as House["network"]["servers"][number];
    world.freeze(process);
    return () => world.thaw(process);
  },
  "a server is drained": (house, { server }) => {
    const draining = house.network.servers[server] as House["network"]["servers"][number];
    let isMended = false;
    house.world.at(draining.process, 0, () => {
      void draining.drain().then(() => {
        if (isMended && house.network.servers[server] === draining) house.replace(server);
      });
    });
    return () => {
      isMended = true;
      house.replace(server);
    };
  },
  "a client is killed": (house, { client }) => {
    house.kill(client);
    return undefined;
  },
  "a client is frozen": (house, { client }) => {
    const { process } = house.clients[client] as House["clients"][number];
    house.world.freeze(process);
    return () => house.world.thaw(process);
  },
  "a line is cut": (house, { client, server }) => {
    const line = house.lineOf(client, server);
    line.isCut = true;
    line.breaks();
    return () => {
      line.isCut = false;
    };
  },
  "a line is silent": (house, { client, server, forMs }) => {
    house.lineOf(client, server).silentUntilMs = house.world.nowMs + forMs;
    return undefined;
  },
  "calls are lost": ({ network: { weather } }, { force }) => {
    weather.requestLost += force * 0.3;
    weather.answerLost += force * 0.3;
    return () => {
      weather.requestLost -= force * 0.3;
      weather.answerLost -= force * 0.3;
    };
  },
  "the network is slow": ({ network: { weather } }, { force }) => {
    weather.delayMsMax += force * 400;
    return () => {
      weather.delayMsMax -= force * 400;
    };
  },
  "the database is away": ({ database }) => {
    database.goDown();
    return () => {
      database.isUp = true;
    };
  },
  "the database is slow": ({ database: { luck } }, { force }) => {
    luck.tripMsMax += force * 300;
    return () => {
      luck.tripMsMax -= force * 300;
    };
  },
  "COMMITs do not arrive": (house, { force }) => moreOften(house, "cut", force),
  "answers of COMMITs are lost": (house, { force }) => moreOften(house, "answerLost", force),
  "COMMITs come late": (house, { force }) => moreOften(house, "late", force),
  deadlocks: (house, { force }) => moreOften(house, "deadlock", force),
  "somebody holds a guard row": ({ database }, { force }) => {
    const ids = [POOL_IDS, SET_IDS].flatMap((sql) => database.rows.statements.read("ids", sql, []));
    const one = ids[Math.floor(force * 2 * ids.length)];
    if (one) return holdRow(database, one[0] as bigint);
    const name = LOCKS[Math.floor(force * LOCKS.length)] as string;
    const [row] = database.rows.statements.read("id", "SELECT id FROM rowlock_lock WHERE name = ?", [
      Buffer.from(name),
    ]);
    return row ? holdRow(database, row[0] as bigint) : undefined;
  },
  "somebody holds the row of facts": ({ database }) => holdRow(database, META_ROW),
  "pokes are lost": ({ network: { weather } }, { force }) => {
    weather.pokeLost += force;
    weather.pokeMsMax += 2_000;
    return () => {
      weather.pokeLost -= force;
      weather.pokeMsMax -= 2_000;
    };
  },
  "the database's clock is set": ({ database }, { force }) => {
    if (force < FAR_SHARE) {
      database.setClock(FAR_US);
      return () => database.setClock(-FAR_US);
    }
    // Ahead or back, by up to ten seconds, and more often by less than one.
    const share = ((force - FAR_SHARE) / (1 - FAR_SHARE)) * 2 - 1;
    database.setClock(Math.round(share ** 3 * 10e6));
    return undefined;
  },
  "a copy that lags is promoted": ({ database }) => {
    database.keepCopy();
    return () => database.promote();
  },
};

const POOL_IDS = `SELECT id FROM rowlock_lock WHERE name >= x'${Buffer.from(poolName("")).toString("hex")}'
  AND name < x'01' ORDER BY id`;
const SET_IDS = `SELECT id FROM rowlock_lock WHERE name >= x'${Buffer.from(SETS).toString("hex")}'
  AND name < x'${Buffer.from(SETS_END).toString("hex")}' ORDER BY id`;

type LuckKind = "cut" | "answerLost" | "late" | "deadlock";

function moreOften({ database: { luck } }: House, kind: LuckKind, force: number): () => void {
  luck[kind] += force * 0.4;
  return () => {
    luck[kind] -= force * 0.4;
  };
}

function holdRow({ locks }: House["database"], row: bigint): (() => void) | undefined {
  const somebody = {};
  if (!locks.take(row, somebody)) return undefined;
  return () => locks.release(somebody);
}

/** Everybody. */
export const ALL_CLIENTS = Array.from({ length: CLIENTS }, (_, index) => index);
