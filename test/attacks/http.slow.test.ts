// Attacks on the address for calls over HTTP, by strangers and by clients who may call: the server lives in the smallest heap that is
// promised, and clients of gRPC keep their leases. ROWLOCK_TEST_ATTACK_SECONDS is how long each attack lasts at full strength.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { newToken } from "../../server/access/tokens-file.ts";
import { HTTP } from "./kinds/http.ts";
import { isLinux } from "./stage.ts";
import { withstand } from "./withstand.ts";

const seconds = Number(process.env.ROWLOCK_TEST_ATTACK_SECONDS ?? 3);
const MIB_MAX = 450;

const folder = mkdtempSync(join(tmpdir(), "rowlock-attacks-"));
afterAll(() => rmSync(folder, { recursive: true }));
const { line, token } = newToken("honest");
const tokens = join(folder, "tokens");
writeFileSync(tokens, `${line}\n`);
const asksWhoCalls = {
  args: ["--tokens-file", tokens],
  client: { headers: { authorization: `Bearer ${token}` } },
};

describe.skipIf(!isLinux)("a server in a small heap lives, and leases are kept, beside", () => {
  test.each(
    Object.keys(HTTP).flatMap(
      (attack) =>
        [
          [attack, "who may not call", asksWhoCalls],
          [attack, "who may call", {}],
        ] as const,
    ),
  )("%s of clients %s", async (attack, _who, situation) => {
    const found = await withstand(attack, { ...situation, seconds, overHttp: true });
    if (process.env.ROWLOCK_TEST_SHOWS_ATTACKS) console.log(attack, JSON.stringify(found));
    expect(found).toMatchObject({ isAlive: true, leasesLost: 0, failed: {} });
    expect(found.peakMib).toBeLessThanOrEqual(MIB_MAX);
  });
});
