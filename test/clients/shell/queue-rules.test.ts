// Queue rules in the shell, over a server whose answers this test writes: how they are set and shown, and who is superseded.

import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { EndReason, LimitSource, WhenFull } from "#proto/rowlock/v1/lock_pb.js";
import type { SetLimitRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { ranInProcess } from "../../cli/in-process.ts";
import type { Script } from "../../support/scripted-server.ts";
import { ranOver } from "./scripted.ts";

const NEWEST = { waitingMax: 1, whenFull: WhenFull.END_LONGEST_WAITING };

describe("`rowlock limit`", () => {
  test.each<[string[], RegExp[]]>([
    [["a", "--newest-wins"], [/add --waiting-max/]],
    [["a", "--waiting-max", "0"], [/write a whole number from 1 to 1000000/]],
    [["a", "--waiting-max", "1", "--unset-queue-rules"], [/leave out --waiting-max/]],
    [["--pool", "a*", "--waiting-max", "1"], [/set them with --pattern instead of --pool/]],
    [
      ["--pool", "a*", "--waiting-max", "1", "--unset-queue-rules"],
      [/2 things are wrong/, /leave out --waiting-max/, /instead of --pool/],
    ],
  ])("tells what is wrong: %j", async (args, words) => {
    const { code, err } = await ranInProcess(["limit", ...args, "--addr", "127.0.0.1:9"]);
    expect(code).toBe(64);
    for (const word of words) expect(err).toMatch(word);
  });

  test("sets queue rules alone and with a limit, removes them, and says what has others", async () => {
    const asked: SetLimitRequest[] = [];
    const others = { target: { case: "name" as const, value: "api/b" }, rateOnly: true, version: 1n };
    const script: Script = {
      listLimits: () => ({
        limits: [{ ...others, queueRules: { waitingMax: 9, whenFull: WhenFull.REFUSE } }],
      }),
      setLimit(request) {
        asked.push(request as SetLimitRequest);
        const { newQueueRules } = request as SetLimitRequest;
        return {
          limit: 1,
          version: 7n,
          ...(newQueueRules.case === "queueRules" && { queueRules: newQueueRules.value }),
        };
      },
    };
    const ran = (...args: string[]) => ranOver(script, "limit", ...args);
    const set = await ran("--pattern", "api/*", "--waiting-max", "1", "--newest-wins", "--reason", "CI");
    expect(set.out).toBe(
      "api/*: limit 1, at most 1 waits, the newest wins (version 7); 0 held, 0 waiting\n" +
        "not changed, because they have queue rules of their own: api/b (at most 9 wait)\n",
    );
    expect((await ran("api/a", "3", "--waiting-max", "2")).out).toContain(
      "limit 1, at most 2 wait (version 7)",
    );
    expect((await ran("api/a", "--unset-queue-rules")).out).toContain("limit 1, no queue rules (version 7)");
    expect(asked).toMatchObject([
      { newLimit: { case: undefined }, newQueueRules: { value: NEWEST }, reason: "CI" },
      { newLimit: { value: 3 }, newQueueRules: { value: { waitingMax: 2, whenFull: WhenFull.REFUSE } } },
      { newLimit: { case: undefined }, newQueueRules: { case: "unsetQueueRules" } },
    ]);
  });

  test("shows those in force, and lists those that were set", async () => {
    const inForce = {
      rules: NEWEST,
      source: LimitSource.PATTERN,
      pattern: "api/*",
      version: 2n,
      reason: "CI",
    };
    const limit = { permits: 1, source: LimitSource.DEFAULT, pattern: "", version: 0n, reason: "" };
    const script: Script = {
      getLock: () => ({ lock: { name: "api/a", limit, queueRules: inForce } }),
      listLimits: () => ({
        limits: [
          {
            target: { case: "pattern", value: "api/*" },
            ...{ rateOnly: true, version: 2n, reason: "CI", queueRules: NEWEST },
          },
        ],
      }),
    };
    const words = "at most 1 waits, the newest wins (from api/*, version 2, CI)";
    expect((await ranOver(script, "limit", "api/a")).out).toBe(
      `api/a: limit 1 (nothing was set), ${words}\n`,
    );
    expect((await ranOver(script, "show", "api/a")).out).toContain(`queue       ${words}\n`);
    expect((await ranOver(script, "limit")).out).toMatch(
      /QUEUE.*\napi\/\* +at most 1 waits, the newest wins +2/,
    );
  });
});

test("a superseded request ends with 75 and says that a newer one does the work", async () => {
  const script: Script = {
    acquire: () => ({
      outcome: {
        case: "ended",
        value: {
          reason: EndReason.SUPERSEDED,
          endedAt: timestampFromMs(0),
          endedBy: "ben",
          message: "newer",
        },
      },
    }),
  };
  const { code, err } = await ranOver(script, "run", "deploy", "--no-wait", "--", "true");
  expect(code).toBe(75);
  expect(err).toContain("a newer request took the place in the queue");
});
