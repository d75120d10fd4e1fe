// Which databases a run uses, from ROWLOCK_TEST_DATABASES, e.g. "sqlite" or "sqlite,mariadb".
import type { Flavour } from "./found-server.ts";

const CHOICES = ["sqlite", "mariadb", "mysql"] as const;
/** A cluster of two MariaDB servers, which needs an extra library: only used if it is named. */
const GALERA = "galera";

export interface ChosenDatabases {
  readonly sqlite: boolean;
  readonly flavours: ReadonlySet<Flavour>;
  readonly galera: boolean;
  /** If chosen by name, every one must be available; otherwise one server is enough. */
  readonly byName: boolean;
}

/** Throws if the setting names an unknown database. Unset or empty means all. */
export function chosenDatabases(setting: string | undefined): ChosenDatabases {
  const names = (setting ?? "").split(",").flatMap((name) => name.trim() || []);
  const unknown = names.filter((name) => !([...CHOICES, GALERA] as string[]).includes(name));
  if (unknown.length > 0) {
    throw new Error(
      `ROWLOCK_TEST_DATABASES: no such database: ${unknown.join(", ")} (have: ${[...CHOICES, GALERA].join(", ")})`,
    );
  }
  const chosen = new Set<string>(names.length > 0 ? names : CHOICES);
  const flavours = (["mariadb", "mysql"] as const).filter((flavour) => chosen.has(flavour));
  return {
    sqlite: chosen.has("sqlite"),
    flavours: new Set(flavours),
    galera: chosen.has(GALERA),
    byName: names.length > 0,
  };
}
