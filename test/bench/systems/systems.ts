// All systems, in the order of the table.

import { etcd } from "./etcd.ts";
import { getLock, polledTable } from "./mysql-peers.ts";
import { nothing } from "./nothing.ts";
import { redis } from "./redis.ts";
import { rowlockOnMariadb, rowlockOnMysql, rowlockOnSqlite } from "./rowlock.ts";
import type { System } from "./system.ts";
import { zookeeper } from "./zookeeper.ts";

export const SYSTEMS: readonly System[] = [
  rowlockOnSqlite,
  rowlockOnMariadb,
  rowlockOnMysql,
  etcd,
  nothing,
  getLock,
  polledTable,
  redis,
  zookeeper,
];
