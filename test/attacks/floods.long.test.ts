// Floods of calls by callers whom nobody knows, over eight connections, against a real server that wants to know who
// calls: it refuses them and degrades, and no lease is lost. Times are those of `npm run attacks`, on a quiet machine.
// ROWLOCK_TEST_ATTACK_SECONDS is how long each flood lasts.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { newToken } from "../../server/access/tokens-file.ts";
import { isLinux } from "./stage.ts";
import { withstand } from "./withstand.ts";

const seconds = Number(process.env.ROWLOCK_TEST_ATTACK_SECONDS ?? 4);
const MIB_MAX = 450;
/** Of a quiet client, a second: seven to thirty on a quiet machine, and two where a flood gets what it asks for. */
const PAIRS_PER_SECOND_MIN = 3;

const folder = mkdtempSync(join(tmpdir(), "rowlock-attacks-"));
afterAll(() => rmSync(folder, { recursive: true }));
const { line, token } = newToken("honest");
const tokensFile = join(folder, "tokens");
writeFileSync(tokensFile, `${line}\n`);
const known = {
  args: ["--tokens-file", tokensFile],
  client: { headers: { authorization: `Bearer ${token}` } },
};

describe.skipIf(!isLinux).each([
  { label: "at 3,000 a second", attackEnv: { ATTACK_RATE: "3000" } },
  { label: "as fast as eight connections go", attackEnv: {} },
])("leases are kept, and others are served, beside, $label,", ({ attackEnv }) => {
  test.each([
    "calls without credentials",
    "calls with unknown tokens",
    "calls with wrong JWTs",
    "calls of reflection",
    "calls of health",
    "calls that are reset at once",
  ])("%s", async (attack) => {
    const found = await withstand(attack, { seconds, ...known, attackEnv });
    if (process.env.ROWLOCK_TEST_SHOWS_ATTACKS) console.log(attack, JSON.stringify(found));
    expect(found).toMatchObject({ isAlive: true, leasesLost: 0, failed: {} });
    expect(found.peakMib).toBeLessThanOrEqual(MIB_MAX);
    expect(found.pairs).toBeGreaterThanOrEqual(PAIRS_PER_SECOND_MIN * seconds);
  });
});
