// Names, owners and reasons that contain what a terminal obeys: escapes, line breaks, NUL and marks that turn the
// direction of writing. They reach the log, the shell and the pages for operators of a real server as text only.

import { expect, test } from "vitest";
import { processStage } from "../process/stage.ts";
import { testDatabases } from "../support/database.ts";

/** CSI in both forms, a title for the window, a bell, line breaks, NUL, DEL, a line separator, marks of direction. */
const EVIL = "a\x1b[2J\u009b2J\x1b]0;owned\x07\r\nrowlock_locks 9\n\0\x7f\u2028\u202e\u2067z";
const OBEYED = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

const stage = processStage();

test.each(testDatabases())(
  "on $label, the log, the shell and the metrics show them as text",
  async ({ fresh }) => {
    const url = await stage.database(fresh);
    const server = await stage.serving(url, "--audit-log", "true", "--log-level", "debug");
    const { client } = server;
    const { leaseId } = await client.lease({
      name: EVIL,
      terms: { owner: EVIL, labels: { [EVIL.slice(0, 4)]: EVIL } },
    });
    await client.call("renew", { leaseId });
    await client.call("forceRelease", { target: { case: "name", value: EVIL }, reason: EVIL });
    const failed = client.call("renew", { leaseId: EVIL });
    await expect(failed).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await client.lease({ name: EVIL, terms: { owner: EVIL } });

    await server.process.logged(/force_released/);
    expect(server.process.err).not.toMatch(OBEYED);
    const entries = server.process.err
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(JSON.stringify(entries)).toContain(JSON.stringify(EVIL).slice(1, -1));

    for (const page of ["metrics", "readyz", "healthz", encodeURIComponent(EVIL)]) {
      const text = await (await fetch(`${server.metricsUrl}/${page}`)).text();
      expect(text).not.toMatch(OBEYED);
      expect(text).not.toContain("rowlock_locks 9");
    }
    for (const words of [
      ["list"],
      ["list", "--json"],
      ["get", EVIL.replace("\0", "")],
      ["renew", EVIL.replace("\0", "")],
    ]) {
      const { out, err } = await stage.rowlock(words, { ROWLOCK_SERVER: server.grpcAddress }).exited;
      expect(out + err).not.toBe("");
      expect(out + err).not.toMatch(OBEYED);
    }
  },
);
