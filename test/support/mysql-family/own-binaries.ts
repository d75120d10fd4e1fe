// Binaries from which a test file may start a private server, because nothing else could use the server meanwhile.

import { chosenDatabases } from "./chosen-databases.ts";
import type { Flavour } from "./found-server.ts";
import { localBinaries } from "./local-binaries.ts";
import { flavourOf } from "./private-server.ts";

/** One binary per flavour that this run uses and that is available, with those of ROWLOCK_TEST_MYSQLD first. */
export async function ownBinaries(): Promise<ReadonlyMap<Flavour, string>> {
  const { flavours } = chosenDatabases(process.env.ROWLOCK_TEST_DATABASES);
  const binaries = new Map<Flavour, string>();
  for (const binary of [...namedBinaries(), ...localBinaries()]) {
    const flavour = await flavourOf(binary);
    if (flavour && flavours.has(flavour) && !binaries.has(flavour)) binaries.set(flavour, binary);
  }
  return binaries;
}

/** The binaries of ROWLOCK_TEST_MYSQLD. */
export function namedBinaries(): string[] {
  return (process.env.ROWLOCK_TEST_MYSQLD ?? "").split(",").flatMap((path) => path.trim() || []);
}
