// All states of worlds with up to four claims.
import { expect, test } from "vitest";
import { explore } from "./explore.ts";
import { LARGE } from "./worlds.ts";

const STATES_MAX = 1_000_000;
const TIMEOUT_MS = 1_800_000;

test.each(LARGE)(
  "keeps all promises: $name",
  (world) => {
    expect(explore(world, STATES_MAX).broken).toBeNull();
  },
  TIMEOUT_MS,
);
