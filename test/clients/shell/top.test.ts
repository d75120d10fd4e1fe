// `rowlock top` and the filters of `rowlock ls` over a server whose answers this test writes.

import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { ClaimState, EndReason } from "#proto/rowlock/v1/lock_pb.js";
import type { ListClaimsRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Script } from "../../support/scripted-server.ts";
import { ranOver } from "./scripted.ts";

const ago = (seconds: number) => timestampFromMs(Date.now() - seconds * 1_000);
const HELD = {
  lockName: "etl/load",
  ticketNumber: 13n,
  state: ClaimState.HELD,
  permits: 1,
  owner: "nightly\x1b[2J",
  requestedAt: ago(7_300),
  grantedAt: ago(7_200),
};
const WAITING = {
  ...HELD,
  ticketNumber: 15n,
  state: ClaimState.WAITING,
  owner: "hourly",
  grantedAt: undefined,
};
const ENDED = { ...HELD, state: ClaimState.ENDED, end: { reason: EndReason.EXPIRED, endedAt: ago(60) } };

/** Answers with the claims in the wanted states, and keeps what was asked. */
function serving(...claims: { state: ClaimState }[]) {
  const asked: ListClaimsRequest[] = [];
  const script: Script = {
    listClaims(request) {
      asked.push(request as ListClaimsRequest);
      const { states } = request as ListClaimsRequest;
      return { claims: claims.filter(({ state }) => states.includes(state)) };
    },
  };
  return { asked, script };
}

describe("rowlock top", () => {
  test("counts what is held now and what has ended lately, once", async () => {
    const { script, asked } = serving(HELD, WAITING, ENDED);
    const { code, out, err } = await ranOver(
      script,
      "top",
      "etl/",
      "--once",
      "--by",
      "owner",
      "--over",
      "1h",
    );
    expect([code, err]).toEqual([0, ""]);
    expect(out.split("\n")).toEqual([
      "OWNER             HELD  WAITING  LONGEST  LEAKS  TIME IN 60 MIN  ENDED  LOST",
      expect.stringMatching(/^nightly\\u001b\[2J {2}1 {5}0 {8}2 h {6}1 {6}1\d\d min {9}1 {6}100 %$/),
      "hourly            0     1                 0      0 ms            0",
      "",
    ]);
    expect(asked).toMatchObject([
      { locks: { value: "etl/" }, states: [ClaimState.HELD, ClaimState.WAITING], pageSize: 1_000 },
      { locks: { value: "etl/" }, states: [ClaimState.ENDED], from: expect.anything() },
    ]);
  });

  test("counts by classes, in the wanted order, for programs", async () => {
    const flags = "--by class --class web/* --class etl/* --sort ended --once --json".split(" ");
    const { out } = await ranOver(
      serving(HELD, { ...ENDED, lockName: "x" } as never).script,
      "top",
      ...flags,
    );
    expect(
      out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { group: "other", held: 0, ended: 1, lost: 1, at: expect.any(String), since: expect.any(String) },
      { group: "etl/*", held: 1, waiting: 0, leaks: 1, ended: 0 },
    ]);
  });

  test.each([
    [["--class", "etl/*"], /--class needs --by class/],
    [["--every", "10ms"], /write a time from 1 s/],
    [["--sort", "size"], /held, waiting, longest/],
  ])("refuses %j", async (args, words) => {
    expect(await ranOver({}, "top", ...args)).toMatchObject({
      code: 64,
      out: "",
      err: expect.stringMatching(words),
    });
  });
});

describe("rowlock ls", () => {
  test("lists holders and waiters by owner, principal and labels", async () => {
    const { script, asked } = serving(HELD, WAITING);
    const filters = ["--owner", "o", "--principal", "p", "--label", "team=data"];
    const { code, out, err } = await ranOver(script, "ls", "etl/", ...filters);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(
      /^NAME +CLAIM +REQUESTED +WAITED +HELD +TAKES +TOKEN +OWNER +STATE\netl\/load +#13 .* nightly\\u001b\[2J +held now\netl\/load +#15 .* hourly +waits now\n$/,
    );
    expect(asked).toMatchObject([
      {
        locks: { value: "etl/" },
        owner: "o",
        principal: "p",
        labels: { team: "data" },
        states: [ClaimState.HELD, ClaimState.WAITING],
      },
    ]);
  });
});
