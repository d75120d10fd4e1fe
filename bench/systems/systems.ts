// All systems, in the order of the table.

import { etcd } from "./etcd.ts";
import { getLock, polledTable } from "./mysql-peers.ts";
import { nothing } from "./nothing.ts";
import { redis } from "./redis.ts";
import {
  farMariadb,
  rowlockOnMariadb,
  rowlockOnMysql,
  rowlockOnSqlite,
  severalOnMariadb,
} from "./rowlock.ts";
import type { System } from "./system.ts";
import { zookeeper } from "./zookeeper.ts";

export const SYSTEMS: readonly System[] = [
  rowlockOnSqlite,
  rowlockOnMariadb,
  rowlockOnMysql,
  severalOnMariadb(2),
  severalOnMariadb(4),
  farMariadb(2),
  etcd,
  nothing,
  getLock,
  polledTable,
  redis,
  zookeeper,
];
