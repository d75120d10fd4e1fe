// Which databases a run is to use, from ROWLOCK_TEST_DATABASES, e.g. "sqlite" or "sqlite,mariadb".
import type { Flavour } from "./found-server.ts";

const CHOICES = ["sqlite", "mariadb", "mysql"] as const;

export interface ChosenDatabases {
  readonly sqlite: boolean;
  readonly flavours: ReadonlySet<Flavour>;
  /** Chosen by name, so that each of them must be there; otherwise one server is enough. */
  readonly byName: boolean;
}

/** Throws when the setting names something that is no database. Unset or empty means all. */
export function chosenDatabases(setting: string | undefined): ChosenDatabases {
  const names = (setting ?? "").split(",").flatMap((name) => name.trim() || []);
  const unknown = names.filter((name) => !(CHOICES as readonly string[]).includes(name));
  if (unknown.length > 0) {
    throw new Error(
      `ROWLOCK_TEST_DATABASES: no such database: ${unknown.join(", ")} (have: ${CHOICES.join(", ")})`,
    );
  }
  const chosen = new Set<string>(names.length > 0 ? names : CHOICES);
  const flavours = (["mariadb", "mysql"] as const).filter((flavour) => chosen.has(flavour));
  return { sqlite: chosen.has("sqlite"), flavours: new Set(flavours), byName: names.length > 0 };
}
