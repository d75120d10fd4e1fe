// Calls of which a server has only seen the headers, against a real server in the smallest heap that is promised: it
// lives, and other clients keep their leases. ROWLOCK_TEST_ATTACK_SECONDS is how long each attack lasts at full strength.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { newToken } from "../../server/access/tokens-file.ts";
import { certificateAuthority, signedCertificate } from "../process/certificate.ts";
import { isLinux } from "./stage.ts";
import { type Situation, type Withstood, withstand } from "./withstand.ts";

const seconds = Number(process.env.ROWLOCK_TEST_ATTACK_SECONDS ?? 2);
const MIB_MAX = 450;

const folder = mkdtempSync(join(tmpdir(), "rowlock-attacks-"));
afterAll(() => rmSync(folder, { recursive: true }));
const put = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

async function endures(attack: string, situation: Omit<Situation, "seconds"> = {}): Promise<Withstood> {
  const found = await withstand(attack, { seconds, ...situation });
  if (process.env.ROWLOCK_TEST_SHOWS_ATTACKS) console.log(attack, JSON.stringify(found));
  expect(found).toMatchObject({ isAlive: true, leasesLost: 0, failed: {} });
  expect(found.peakMib).toBeLessThanOrEqual(MIB_MAX);
  return found;
}

describe.skipIf(!isLinux)("a server in a small heap lives, and leases are kept, beside", () => {
  test.each([
    "headers out of the table",
    "headers of renewals out of the table",
    "headers of 4 kB out of the table",
    "headers of 10 kB",
    "headers in continuations",
    "many small headers",
    "bare calls",
    "bare sessions",
    "bare calls of unknown methods",
    "watches of health",
    "bare watches of health",
    "reflection streams",
    "headers as trailers",
    "headers that do not end",
  ])("%s", async (attack) => {
    await endures(attack);
  });

  test.each([
    "headers of 4 kB out of the table",
    "headers of 10 kB",
    "bare calls",
    "watches of health",
    "reflection streams",
  ])("%s of callers who may call", async (attack) => {
    await endures(attack, { attackEnv: { ATTACK_KNOWN: "true" } });
  });

  test.each([
    { label: "TLS with tokens", isMutual: false },
    { label: "mutual TLS", isMutual: true },
  ])("headers out of the table, over $label", async ({ isMutual }) => {
    const authority = certificateAuthority();
    const [server, client] = [signedCertificate(authority, "server"), signedCertificate(authority, "client")];
    const { line, token } = newToken("honest");
    const args = [
      ...["--tls-cert", put("server.crt", server.cert), "--tls-key", put("server.key", server.key)],
      ...["--tokens-file", put("tokens", `${line}\n`)],
      ...(isMutual ? ["--tls-client-ca", put("ca.crt", authority.cert)] : []),
    ];
    const tls = { ca: authority.cert, ...(isMutual && client) };
    const headers = { authorization: `Bearer ${token}` };
    await endures("headers out of the table", { args, client: { tls, headers }, attackTls: tls });
  });
});
