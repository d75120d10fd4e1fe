// Which servers may use one database together: what each version says of itself in the register, and why a version must
// not start or migrate beside those that run. Pure; migrate/ reads the register, and the stores write it.

import { type Migration, migrations } from "../../migrations/index.ts";
import { LEVEL, LEVEL_MIN, type LevelMin } from "../core/level.ts";
import { REPLICA_KEPT_US } from "./store.ts";

/** A server that counts as alive. */
export interface FleetMember {
  readonly address: string;
  readonly version: string;
  readonly level: number;
  /** The latest migration that it knows. */
  readonly knows: string;
}

/** What a database records of the servers that use it and have used it. */
export interface Fleet {
  readonly levelMin: LevelMin;
  readonly members: readonly FleetMember[];
}

/** The latest migration of this version. Its number orders it among those of all versions. */
export const LATEST_MIGRATION = migrations.at(-1)?.name ?? "";

/** Why this version must not decide beside these servers; null: it may. */
export function whyNotBeside(members: readonly FleetMember[]): string | null {
  const tooOld = members.filter(({ level }) => level < LEVEL_MIN);
  if (tooOld.length === 0) return null;
  return (
    `This version has level ${LEVEL} and can run beside servers of level ${LEVEL_MIN} or later, but there is ` +
    `${listed(tooOld)}. Stop the older servers first, or start the version in between.${FORGOTTEN}`
  );
}

/** Why these migrations must not run beside these servers; null: they may. */
export function whyNotMigrate(
  pending: readonly Pick<Migration, "name" | "needs">[],
  members: readonly FleetMember[],
): string | null {
  const needed = pending.map(({ name, needs = name }) => needs).sort();
  const broken = members.filter(({ knows }) => needed.some((need) => knows < need));
  if (broken.length === 0) return null;
  const names = pending.map(({ name }) => name).join(", ");
  return (
    `The migrations ${names} would break servers that do not know ${needed.at(-1)}: there is ${listed(broken)}. ` +
    `Stop these servers before the schema is migrated.${FORGOTTEN}`
  );
}

const FORGOTTEN = ` A server that has died is forgotten after ${REPLICA_KEPT_US / 1e6} s.`;

function listed(members: readonly FleetMember[]): string {
  return members
    .map(({ address, version, level }) => `version ${version} (level ${level}) at ${address}`)
    .join(", ");
}
