// Attacks by what sessions and streams allow, against a real server: very many of them, commands without content or
// without end, and clients that read nothing.

import { describe, expect, test } from "vitest";
import { attackStage, isLinux } from "./stage.ts";

const MIB_MAX = 400;
/** Each call of another client takes some ticks of the event loop, which the greedy client's commands make longer. */
const GREEDY_TIMES_MAX = 3;

const stage = attackStage();

describe.skipIf(!isLinux)(`clients are served in ${MIB_MAX} MiB beside`, () => {
  test.each([
    ["a thousand sessions", []],
    ["commands without content", [/rejected/]],
    ["requests without commands", []],
    ["commands that are cancelled", []],
    ["sessions that are not read", []],
    ["listings that are not read", []],
    ["watches that are not read", []],
  ])("%s", async (name, sees) => {
    const { peakMib } = await stage.attack(name, { sees });
    expect(peakMib).toBeLessThanOrEqual(MIB_MAX);
  });

  test(`one greedy client, whose 5,000 commands slow another one down ${GREEDY_TIMES_MAX} times at most`, async () => {
    const { peakMib } = await stage.attack("one greedy client", { timesMax: GREEDY_TIMES_MAX });
    expect(peakMib).toBeLessThanOrEqual(MIB_MAX);
  });
});
