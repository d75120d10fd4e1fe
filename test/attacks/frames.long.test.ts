// Floods of frames against a real server. It ends the connections of attackers whom it can tell from clients, or refuses
// their calls, and says why as far as HTTP/2 has words for it; clients do not notice.

import { describe, expect, test } from "vitest";
import { attackStage, isLinux } from "./stage.ts";

const MIB_MAX = 250;
// Codes of HTTP/2: 1 PROTOCOL_ERROR, 2 INTERNAL_ERROR, 3 FLOW_CONTROL_ERROR, 11 ENHANCE_YOUR_CALM.
const ATTACKS: readonly (readonly [name: string, sees: readonly RegExp[]])[] = [
  ["pings", []],
  ["settings", []],
  ["long settings", [/goaway 11 SETTINGS: too many setting entries/]],
  ["priorities", [/goaway 11/]],
  ["unknown frames", [/goaway 11/]],
  ["window updates", []],
  ["empty data", [/goaway [12]/]],
  ["many headers", [/reset 11/]],
  ["large headers", [/goaway 2/]],
  ["endless headers", [/goaway 2/]],
  ["endless headers of nothing", [/goaway 2/]],
  ["rapid resets", []],
];

const stage = attackStage();

describe.skipIf(!isLinux)(`clients are served beside a flood, in ${MIB_MAX} MiB, of`, () => {
  test.each(ATTACKS)("%s", async (name, sees) => {
    const { peakMib } = await stage.attack(name, { sees });
    expect(peakMib).toBeLessThanOrEqual(MIB_MAX);
  });
});
