// A store whose transactions wait until the test releases them.

import type { Store } from "../../server/storage/store.ts";
import { changedStore } from "./changed-store.ts";

type Plan = Parameters<Store["transact"]>[0];

export const isOfCapture = ({ requestIds }: Plan) => requestIds.some((id) => id.startsWith("\0\0"));

/** Holds the transactions that `isMeant` selects, before they begin. */
export function heldTransactions(isMeant: (plan: Plan) => boolean) {
  const held: (() => void)[] = [];
  let isHolding = true;
  let begun = 0;
  const wrapStore = changedStore((store) => ({
    // A second lane lets other transactions run beside the held ones, on SQLite too.
    lanes: Math.max(2, store.lanes),
    transact: async (...asked) => {
      const isMeantNow = isMeant(asked[0]);
      if (isMeantNow) begun += 1;
      if (isMeantNow && isHolding) await new Promise<void>((go) => held.push(go));
      return await store.transact(...asked);
    },
  }));
  /** Releases all held transactions, and holds none from now on. */
  const letGo = () => {
    isHolding = false;
    for (const go of held.splice(0)) go();
  };
  return { wrapStore, letGo, held, begun: () => begun };
}
