// The drivers of the conformance suite that run here, one of each language.

import { join } from "node:path";
import { DriverProcess } from "../clients/conformance/driver-process.ts";
import { LANGUAGES } from "../clients/conformance/language.ts";

const CLIENTS = join(import.meta.dirname, "../../clients");

export interface Drivers {
  readonly running: readonly DriverProcess[];
  /** Why a language is missing, by its name. */
  readonly missing: ReadonlyMap<string, string>;
}

/** Starts a driver of each language whose client is built. */
export async function startDrivers(names: readonly string[] = Object.keys(LANGUAGES)): Promise<Drivers> {
  const running: DriverProcess[] = [];
  const missing = new Map<string, string>();
  await Promise.all(
    names.map(async (name) => {
      const driver = new DriverProcess(join(CLIENTS, name, "scripts/driver"));
      try {
        // An answer, even one that it cannot do this, shows that the client is built.
        await driver.ask({ do: "state", lock: "none" }).answer;
        running.push(driver);
      } catch (error) {
        await driver.destroy();
        missing.set(name, `run clients/${name}/scripts/build: ${(error as Error).message}`);
      }
    }),
  );
  return { running, missing };
}
