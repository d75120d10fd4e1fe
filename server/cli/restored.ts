// `rowlock restored`: records that the database was restored from a backup, so that nothing is granted while leases may
// be held that the backup does not know of.

import { InvalidArgumentError } from "commander";
import type { Declare } from "../../clients/shell/command.ts";
import { type CliContext, EXIT } from "../../clients/shell/context.ts";
import { duration, Refusal } from "../config/setting-kinds.ts";
import { firstToken } from "../core/fail-over.ts";
import { openStore } from "../storage/open.ts";
import { ROLLED_BACK, retry } from "../storage/retry.ts";
import type { Loaded, Store } from "../storage/store.ts";
import { onDatabase } from "./settings-options.ts";

const PAUSE = duration("0s", "24d");

const HELP = `
Run it after the restore and before the servers start; on MySQL and MariaDB it can also be run while
servers run. It raises the epoch, so that new fencing tokens are higher than all earlier ones, and
pauses grants. Leases that are in the backup go on.

Set --pause to the longest time to live that any of your programs asks for: leases that are not in
the backup have ended by then. If a lease without end is not in the backup, the server does not know
of it: stop its holder yourself.

Exit code: 0 if the restore was recorded, 1 if not.

Examples:
  rowlock restored --pause 1h
  rowlock restored --pause 30s --database-url sqlite:/var/lib/rowlock/rowlock.db
`;

export const restored: Declare = (command, context) => {
  command.requiredOption(
    "--pause <duration>",
    `how long to pause grants from now on (${PAUSE.bound})`,
    (text) => {
      const pauseMs = PAUSE.read(text);
      if (!(pauseMs instanceof Refusal)) return pauseMs;
      throw new InvalidArgumentError(`write a duration, ${PAUSE.bound}`);
    },
  );
  const toSentence = (message: string) => `Nothing was recorded. ${message}`;
  onDatabase(command, context, HELP, EXIT.failed, toSentence, async (url) => {
    const { pause } = command.opts<{ pause: number }>();
    const store = await openStore(url);
    try {
      await record(store, pause * 1_000, context);
    } finally {
      await store.close();
    }
    return EXIT.ok;
  });
};

async function record(store: Store, pauseUs: number, context: CliContext): Promise<void> {
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
