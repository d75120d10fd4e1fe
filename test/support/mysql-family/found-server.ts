// What the set-up of a run provides to its tests: the servers, whether SQLite is used, and the seed.

export type Flavour = "mysql" | "mariadb";

/** A server that tests may create databases on. */
export interface FoundServer {
  readonly flavour: Flavour;
  /** As the server itself reports it, e.g. "9.7.0" or "10.11.14-MariaDB". */
  readonly version: string;
  /** `mysql://user:password@host:port`, with a user that may create and drop databases. */
  readonly url: string;
}

declare module "vitest" {
  interface ProvidedContext {
    mysqlFamily: readonly FoundServer[];
    sqlite: boolean;
    galera: boolean;
    seed: number;
    /** A folder of this run, for files that several test files share. */
    scratch: string;
  }
}
