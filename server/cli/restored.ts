// `rowlock restored`: records that the database was restored from a backup, so that nothing is granted while leases may
// be held that the backup does not know of.

import type { Command } from "commander";
import { loadDatabaseConfig } from "../config/config.ts";
import { duration } from "../config/setting-kinds.ts";
import { firstToken } from "../core/fail-over.ts";
import { openStore } from "../storage/open.ts";
import { ROLLED_BACK, retry } from "../storage/retry.ts";
import type { Loaded, Store } from "../storage/store.ts";
import { StoreError } from "../storage/store.ts";
import type { CliContext, ExitCode } from "./context.ts";
import { EXIT } from "./context.ts";
import { addSettingOptions, configInput, loadedOrTold } from "./settings-options.ts";

const PAUSE = duration("0s", "24d");

const HELP = `
Run it after the restore and before the servers start; on MySQL and MariaDB it can also be run while
servers run. It raises the epoch, so that new fencing tokens are higher than all earlier ones, and
pauses grants. Leases that are in the backup go on.

Set --pause to the longest time to live that any of your programs asks for: leases that are not in
the backup have ended by then. The server does not know of a lease without end that is not in the
backup: stop its holder yourself.

Exit code: 0 if the restore was recorded, 1 if not.

Examples:
  rowlock restored --pause 1h
  rowlock restored --pause 30s --database-url sqlite:/var/lib/rowlock/rowlock.db
`;

export function addRestored(command: Command, context: CliContext, exit: (code: ExitCode) => void): void {
  addSettingOptions(command, ["ROWLOCK_CONFIG", "ROWLOCK_DATABASE_URL"])
    .requiredOption("--pause <duration>", `how long to pause grants from now on (${PAUSE.bound})`)
    .addHelpText("after", HELP);
  command.action(async ({ pause }: { pause: string }) => {
    const config = loadedOrTold(loadDatabaseConfig(configInput(command, context)), context);
    const pauseMs = PAUSE.schema.safeParse(pause);
    if (!pauseMs.success) {
      context.err(`--pause is ${JSON.stringify(pause)}: use ${PAUSE.bound}.\n`);
      return exit(EXIT.failed);
    }
    exit(config ? await restored(config.databaseUrl, pauseMs.data * 1_000, context) : EXIT.failed);
  });
}

async function restored(url: string, pauseUs: number, context: CliContext): Promise<ExitCode> {
  try {
    const store = await openStore(url);
    try {
      await note(store, pauseUs, context);
    } finally {
      await store.close();
    }
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    context.err(`Nothing was recorded. ${error.message}\n`);
    return EXIT.failed;
  }
}

async function note(store: Store, pauseUs: number, context: CliContext): Promise<void> {
  const { epoch: seenEpoch } = (await read(store)).failOver;
  await retry(ROLLED_BACK, () =>
    store.failOver({ seenEpoch, epochMin: seenEpoch + 1n, pauseUsMin: pauseUs, pauseUsMax: pauseUs }),
  );
  const { failOver, nowUs } = await read(store);
  const from = new Date(failOver.grantsFromUs / 1_000).toISOString().slice(0, 19).replace("T", " ");
  const leftS = Math.max(0, Math.ceil((failOver.grantsFromUs - nowUs) / 1e6));
  context.out(
    `epoch    ${seenEpoch} before, ${failOver.epoch} now: the next fencing token is at least ${firstToken(failOver)}\n`,
  );
  context.out(`grants   begin at ${from} UTC, in ${leftS} s; renewals and releases go on\n`);
}

/** Loads the state in a transaction that changes nothing. */
async function read(store: Store): Promise<Loaded> {
  const seen: Loaded[] = [];
  await retry(ROLLED_BACK, () =>
    store.transact({ locks: [], claims: [], requestIds: [], holdersOf: [] }, (loaded) => {
      seen.push(loaded);
      return { locks: [], added: [], changed: [], again: [] };
    }),
  );
  return seen.at(-1) as Loaded;
}
