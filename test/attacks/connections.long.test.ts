// Attacks by connections against a real server: many of them, and such as never finish what they have to say.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { selfSignedCertificate } from "../process/certificate.ts";
import { attackStage, isLinux } from "./stage.ts";

const MIB_MAX = 300;
const CROWD_MIB_MAX = 700;
const CROWD_MAX = 9_000;

const folder = mkdtempSync(join(tmpdir(), "rowlock-attacks-"));
afterAll(() => rmSync(folder, { recursive: true }));
const stage = attackStage();

describe.skipIf(!isLinux)(
  `clients are served in ${MIB_MAX} MiB, and the server hangs up on a thousand`,
  () => {
    test.each([["connections that say nothing"], ["one byte a second of HTTP/2"]])("%s", async (name) => {
      const { peakMib } = await stage.attack(name, { sees: [/closed/] });
      expect(peakMib).toBeLessThanOrEqual(MIB_MAX);
    });

    test("handshakes of TLS that stall", async () => {
      const { cert, key } = selfSignedCertificate();
      const files = {
        ROWLOCK_TLS_CERT: join(folder, "server.crt"),
        ROWLOCK_TLS_KEY: join(folder, "server.key"),
      };
      writeFileSync(files.ROWLOCK_TLS_CERT, cert);
      writeFileSync(files.ROWLOCK_TLS_KEY, key);
      const { peakMib } = await stage.attack("handshakes of TLS that stall", {
        env: files,
        tls: { ca: cert },
        sees: [/closed/],
      });
      expect(peakMib).toBeLessThanOrEqual(MIB_MAX);
    });
  },
);

test.skipIf(!isLinux)(
  `of 10,000 connections as many are open as the server has room for, in ${CROWD_MIB_MAX} MiB`,
  async () => {
    const { peakMib } = await stage.attack("a crowd of connections", {
      args: [
        ...["--connections-max", String(CROWD_MAX), "--address-connections-max", String(2 * CROWD_MAX)],
        ...["--address-connections-per-second", "off"],
      ],
      sees: [/closed/],
    });
    expect(peakMib).toBeLessThanOrEqual(CROWD_MIB_MAX);
  },
);
