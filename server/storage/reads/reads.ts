// All reads of this folder, as methods of a store.

import { byStatus } from "./by-status.ts";
import { census } from "./census.ts";
import { cleaning } from "./cleaning.ts";
import { freeLocks } from "./free-locks.ts";
import { history } from "./history.ts";
import { listings } from "./listings.ts";
import { otherServers } from "./other-servers.ts";
import type { Runner } from "./steps.ts";

export function coldReads(on: Runner) {
  return {
    ...listings(on),
    ...history(on),
    ...cleaning(on),
    ...census(on),
    ...freeLocks(on),
    ...byStatus(on),
    ...otherServers(on),
  };
}
