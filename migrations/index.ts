// All migrations, in order. Listed by hand, so that they load the same way from source and from a build. There are no
// down migrations: an operator who wants an older schema restores a backup.

import * as locksAndClaims from "./0001-locks-and-claims.ts";
import * as lockRecords from "./0002-lock-records.ts";
import * as pokeSecret from "./0003-poke-secret.ts";
import * as liveClaimsInOrder from "./0004-live-claims-in-order.ts";
import * as changeMarks from "./0005-change-marks.ts";
import * as witnesses from "./0006-witnesses.ts";
import * as rulesInForce from "./0008-rules-in-force.ts";
import * as attemptsSince from "./0009-attempts-since.ts";
import * as firstHolders from "./0010-first-holders.ts";
import * as makersOfRecords from "./0011-makers-of-records.ts";
import * as changes from "./0012-changes.ts";
import * as levels from "./0013-levels.ts";
import * as historyFrom from "./0014-history-from.ts";
import type { MigrationTarget } from "./target.ts";

export interface Migration {
  /** The name that the database stores. Never changes after its release. */
  readonly name: string;
  /**
   * The latest migration that a server must know to use the schema after this one. The database stores it. An earlier
   * migration if this one only adds, or removes what no server that knows the earlier one uses. Unset: this migration
   * itself.
   */
  readonly needs?: string;
  up(target: MigrationTarget): Promise<void>;
}

/** None has been released yet, so most of them say that a server must know them. */
export const migrations: readonly Migration[] = [
  { name: "0001-locks-and-claims", up: locksAndClaims.up },
  { name: "0002-lock-records", up: lockRecords.up },
  { name: "0003-poke-secret", up: pokeSecret.up },
  { name: "0004-live-claims-in-order", up: liveClaimsInOrder.up },
  { name: "0005-change-marks", up: changeMarks.up },
  { name: "0006-witnesses", up: witnesses.up },
  { name: "0008-rules-in-force", up: rulesInForce.up },
  { name: "0009-attempts-since", up: attemptsSince.up },
  { name: "0010-first-holders", up: firstHolders.up },
  { name: "0011-makers-of-records", up: makersOfRecords.up },
  { name: "0012-changes", up: changes.up },
  { name: "0013-levels", needs: "0012-changes", up: levels.up },
  { name: "0014-history-from", needs: "0012-changes", up: historyFrom.up },
];
