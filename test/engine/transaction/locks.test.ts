// The table of what a server knows of locks forgets what nothing is known of.

import { expect, test } from "vitest";
import { Locks } from "../../../server/engine/transaction/locks.ts";

test("the table of locks keeps no lock of which it knows nothing, however many ids are guessed", () => {
  const locks = new Locks();
  locks.learn(1n, "a");
  for (let id = 2n; id < 100n; id++) locks.leave(locks.get(id));
  expect(locks.size).toBe(1);
  locks.leave(locks.get(1n));
  locks.get(2n).met();
  locks.leave(locks.get(2n));
  expect(locks.size).toBe(2);
});
