// `rowlock history` over a server whose answers this test writes: what it asks for, what people and programs see, and what
// it says of what it leaves out.

import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { ChangeKind, ClaimState, EndReason } from "#proto/rowlock/v1/lock_pb.js";
import type { ListChangesRequest, ListClaimsRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { unknownLock } from "../../../server/grpc/messages/call-error.ts";
import { ranInProcess } from "../../cli/in-process.ts";
import type { Script } from "../../support/scripted-server.ts";
import { EVIL, ranOver } from "./scripted.ts";

const history = (script: Script, ...args: string[]) => ranOver(script, "history", ...args);

const at = (clock: string) => new Date(`2026-11-24T${clock}`);
const stamp = (clock: string) => timestampFromDate(at(clock));

const HOURS_AGO = timestampFromDate(new Date(Date.now() - 3 * 3_600_000));
const LIVE = {
  lockName: "etl/load",
  ticketNumber: 13n,
  state: ClaimState.HELD,
  permits: 1,
  owner: "nightly",
  fencingToken: 12n,
  requestedAt: HOURS_AGO,
  grantedAt: HOURS_AGO,
};
const ENDED = {
  lockName: "etl/load",
  ticketNumber: 12n,
  state: ClaimState.ENDED,
  permits: 2,
  owner: "hourly",
  labels: { host: "a1" },
  principal: "token:etl",
  fencingToken: 11n,
  requestedAt: stamp("03:10:00"),
  grantedAt: stamp("03:10:04"),
  end: {
    reason: EndReason.FORCE_RELEASED,
    endedAt: stamp("03:15:04"),
    endedBy: "token:anna",
    note: "its host is dead",
  },
  replica: "3",
};

const PREFIX = { locks: { case: "prefix", value: "etl/" } };

/** Answers with live claims and with ended ones, as they are asked for, and keeps what was asked. */
function claims() {
  const asked: ListClaimsRequest[] = [];
  const script: Script = {
    listClaims(request) {
      asked.push(request as ListClaimsRequest);
      const { states, locks } = request as ListClaimsRequest;
      if (locks.case === "heldAt") return { claims: [ENDED] };
      return { claims: states.includes(ClaimState.ENDED) ? [ENDED] : [LIVE] };
    },
  };
  return { asked, script };
}

describe("claims", () => {
  test("that live come first, then those that have ended, with how, by whom and why", async () => {
    const { script, asked } = claims();
    const { code, out, err } = await history(script, "etl/load");
    expect([code, err]).toEqual([0, ""]);
    expect(out.split("\n")).toEqual([
      "CLAIM  REQUESTED            WAITED  HELD   TAKES      TOKEN  OWNER           PRINCIPAL  STATE",
      expect.stringMatching(/^#13 {4}\S+ \S+ {2}0 ms {4}3 h {4}1 permit {3}12 {5}nightly {20}held now$/),
      "#12    2026-11-24 03:10:00  4 s     5 min  2 permits  11     hourly host=a1  token:etl  force released by token:anna: its host is dead",
      "",
    ]);
    expect(asked).toMatchObject([
      { locks: { case: "lockName", value: "etl/load" }, states: [ClaimState.HELD, ClaimState.WAITING] },
      { locks: { case: "lockName", value: "etl/load" }, states: [ClaimState.ENDED] },
    ]);
  });

  test("of many locks have their names", async () => {
    const { out } = await history(claims().script);
    expect(out).toMatch(/^NAME +CLAIM +REQUESTED[\s\S]*\netl\/load +#12 /);
  });

  test("are asked for by all flags", async () => {
    const { script, asked } = claims();
    const filters = "--prefix etl/ --owner o --principal p --label a=1 --label b";
    const range = "--since 2026-11-23T00:00:00Z --until 2026-11-24T00:00:00Z --max 7";
    const ends = "--ended expired,force-released --ended timed-out";
    await history(script, ...`${filters} ${range} ${ends}`.split(" "));
    expect(asked).toMatchObject([
      {
        ...PREFIX,
        owner: "o",
        principal: "p",
        labels: { a: "1", b: "" },
        states: [ClaimState.ENDED],
        endReasons: [EndReason.EXPIRED, EndReason.FORCE_RELEASED, EndReason.TIMED_OUT],
        from: timestampFromDate(new Date("2026-11-23T00:00:00Z")),
        until: timestampFromDate(new Date("2026-11-24T00:00:00Z")),
        pageSize: 8,
      },
    ]);
  });

  test("that held a lock at a time are asked for in one question", async () => {
    const { script, asked } = claims();
    const { out } = await history(script, "etl/load", "--at", "2026-11-24T03:12");
    expect(out).toContain("#12");
    expect(asked).toMatchObject([
      { locks: { case: "heldAt", value: { lockName: "etl/load", at: stamp("03:12:00") } }, states: [] },
    ]);
    await history(script, "etl/load", "--at", "2026-11-24T03:12", "--since", "2026-11-24T03:15");
    expect(asked[1]).toMatchObject({ locks: { case: "heldAt" }, from: stamp("03:15:00") });
    const nobody = await history({ listClaims: () => ({}) }, "etl/load", "--at", "2026-11-24T03:12");
    expect(nobody).toEqual({
      code: 0,
      out: "The history has nobody who held etl/load at 2026-11-24 03:12:00.\n",
      err: "",
    });
    expect((await history({ listClaims: () => ({}) })).out).toBe("The history has no such claims.\n");
  });

  test("and may be forgotten are not called nobody's: it says where the history begins, and by which setting", async () => {
    const later: Script = { listClaims: () => ({ completeFrom: stamp("04:00:00") }) };
    const begins =
      "The history begins at 2026-11-24 04:00:00, and nothing before that is known any more (the server's ROWLOCK_HISTORY and ROWLOCK_HISTORY_ROWS_MAX).";
    expect(await history(later, "etl/load", "--at", "2026-11-24T03:12")).toEqual({
      code: 0,
      out: `Who held etl/load at 2026-11-24 03:12:00 is not known. ${begins}\n`,
      err: "",
    });
    expect((await history(later, "etl/load", "--at", "2026-11-24T04:12")).out).toContain("nobody who held");
    expect((await history(later)).out).toBe(`The history has no such claims. ${begins}\n`);
    const since = (clock: string) => history(later, "--since", `2026-11-24T${clock}`);
    expect((await since("03:00")).out).toContain(begins);
    expect((await since("04:30")).out).toBe("The history has no such claims.\n");
    const some: Script = { listClaims: () => ({ claims: [ENDED], completeFrom: stamp("04:00:00") }) };
    const flags = ["etl/load", "--at", "2026-11-24T03:12"];
    expect((await history(some, ...flags)).err).toContain(begins);
    expect((await history(some, ...flags, "--json")).err).toContain(begins);
    expect((await history(some, "etl/load")).err).toBe("");
    const changes: Script = { listChanges: () => ({ completeFrom: stamp("04:00:00") }) };
    expect((await history(changes, "--limits")).out).toMatch(
      /^The history has no such changes\. The history begins at 2026-11-24 04:00:00, .*ROWLOCK_CHANGES_RETENTION/,
    );
  });

  test("beyond the maximum are mentioned", async () => {
    const many = { listClaims: () => ({ claims: [ENDED, ENDED, ENDED], nextPageToken: "more" }) };
    const { out, err } = await history(many, "etl/load", "--max", "2", "--until", "now");
    expect(out.match(/#12/g)).toHaveLength(2);
    expect(err).toBe(
      "rowlock: There are more than these 2: see more with a larger --max, or earlier ones with --until.\n",
    );
  });
});

describe("a search", () => {
  test("goes on where the server has ended it, and says how far it has come", async () => {
    const pages = [
      { nextPageToken: "1", searchedBackTo: stamp("02:00:00") },
      { claims: [ENDED], nextPageToken: "2", searchedBackTo: stamp("01:00:00") },
      { claims: [ENDED] },
    ];
    const tokens: string[] = [];
    const script: Script = {
      listClaims(request) {
        tokens.push((request as ListClaimsRequest).pageToken);
        return pages[tokens.length - 1] as object;
      },
    };
    const { out, err } = await history(script, "--owner", "hourly", "--ended", "expired");
    expect(tokens).toEqual(["", "1", "2"]);
    expect(out.match(/#12/g)).toHaveLength(2);
    expect(err).toBe(
      [
        "rowlock: searched back to 2026-11-24 02:00:00, 0 found so far",
        "rowlock: searched back to 2026-11-24 01:00:00, 1 found so far",
        "",
      ].join("\n"),
    );
  });
});

describe("changes", () => {
  const ofLock = (value: string) => ({ target: { case: "lockName", value } });
  const released = (claim: object) => ({ what: { case: "forcedRelease", value: { claim } } });
  const RATE = { permits: 500, per: { seconds: 60n }, burst: 20 };
  const CHANGES = [
    {
      target: { case: "pattern", value: "etl/*" },
      what: { case: "limit", value: { from: 4 } },
      reason: "night",
    },
    { ...ofLock("etl/load"), what: { case: "limit", value: { to: 0 } } },
    { ...ofLock("api"), what: { case: "limit", value: { from: 4, to: 4, rateTo: RATE } } },
    {
      ...ofLock("api"),
      what: { case: "limit", value: { to: 4, rateFrom: RATE, rateTo: { ...RATE, burst: 500 } } },
    },
    {
      ...ofLock("task/7"),
      what: {
        case: "record",
        value: {
          from: { status: "new", attemptsLeft: 1, notBefore: stamp("06:00:00"), version: 4n },
          to: { version: 5n },
        },
      },
    },
    { ...ofLock("task/8"), what: { case: "record", value: { to: { version: 6n } } } },
    { ...ofLock("task/8") },
    {
      ...ofLock("etl/load"),
      ...released({ ticketNumber: 12n, state: ClaimState.HELD, owner: "hourly", principal: "token:etl" }),
      reason: "its host is dead",
    },
    {
      ...ofLock("etl/load"),
      ...released({ ticketNumber: 13n, state: ClaimState.WAITING, owner: "nightly" }),
    },
    { what: { case: "policy", value: { from: "0123456789abcdef0123", to: "fedcba9876543210" } } },
  ].map((change) => ({ changedAt: stamp("03:00:00"), changedBy: "token:anna", ...change }));

  function changes() {
    const asked: ListChangesRequest[] = [];
    const script: Script = {
      listChanges(request) {
        asked.push(request as ListChangesRequest);
        return { changes: CHANGES as never };
      },
    };
    return { asked, script };
  }

  test("are a table: when, who, from what, to what, and why", async () => {
    const { code, out, err } = await history(changes().script, "--changes");
    expect([code, err]).toEqual([0, ""]);
    const when = "2026-11-24 03:00:00";
    const rows = out
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/));
    expect(rows).toEqual([
      ["WHEN", "WHAT", "OF", "BY", "FROM", "TO", "WHY"],
      [when, "limit", "etl/*", "token:anna", "4", "not set", "night"],
      [when, "limit", "etl/load", "token:anna", "not set", "0"],
      [when, "limit", "api", "token:anna", "no rate", "rate 500/1m, burst 20"],
      [when, "limit", "api", "token:anna", "not set, rate 500/1m, burst 20", "4, rate 500/1m"],
      [
        when,
        "record",
        "task/7",
        "token:anna",
        "status new, 1 attempt left, not before 2026-11-24 06:00:00",
        "empty",
      ],
      [when, "record", "task/8", "token:anna", "none", "empty"],
      [when, "unknown", "task/8", "token:anna"],
      [
        when,
        "forced release",
        "etl/load",
        "token:anna",
        "#12 of hourly (token:etl), which held it",
        "ended",
        "its host is dead",
      ],
      [when, "forced release", "etl/load", "token:anna", "#13 of nightly, which waited", "ended"],
      [when, "policy", "token:anna", "0123456789ab", "fedcba987654"],
    ]);
  });

  test.each<[string[], ChangeKind[]]>([
    [["--changes"], []],
    [["--by", "token:anna"], []],
    [["--limits"], [ChangeKind.LIMIT]],
    [
      ["--changes", "--records", "--forced"],
      [ChangeKind.RECORD, ChangeKind.FORCED_RELEASE],
    ],
    [["--policies"], [ChangeKind.POLICY]],
  ])("of the kinds that %j names", async (flags, kinds) => {
    const { asked, script } = changes();
    const { code } = await history(script, "etl/load", ...flags, "--since", "1d");
    expect(code).toBe(0);
    expect(asked).toMatchObject([{ locks: { value: "etl/load" }, kinds, from: expect.anything() }]);
    expect(asked[0]?.changedBy).toBe(flags[0] === "--by" ? "token:anna" : "");
  });

  test("are objects for programs", async () => {
    const { out } = await history(changes().script, "--limits", "--json");
    expect(JSON.parse(out.split("\n")[0] as string)).toEqual({
      changedAt: at("03:00:00").toISOString(),
      kind: "limit",
      pattern: "etl/*",
      changedBy: "token:anna",
      from: 4,
      reason: "night",
    });
  });
});

test("foreign text can neither control the terminal nor begin a line", async () => {
  const evil = { ...ENDED, lockName: EVIL, owner: EVIL, labels: { [EVIL]: EVIL }, principal: EVIL };
  const script: Script = {
    listClaims: () => ({ claims: [{ ...evil, end: { ...ENDED.end, note: EVIL, endedBy: EVIL } }] }),
    listChanges: () => ({
      changes: [
        { case: "record" as const, value: { from: { status: EVIL }, to: { status: EVIL } } },
        {
          case: "forcedRelease" as const,
          value: { claim: { lockName: EVIL, owner: EVIL, principal: EVIL } },
        },
        { case: "limit" as const, value: { to: 1 } },
        { case: "policy" as const, value: { from: EVIL, to: EVIL } },
      ].map((what) => ({
        what,
        target: { case: "pattern" as const, value: EVIL },
        changedBy: EVIL,
        reason: EVIL,
      })),
    }),
  };
  for (const args of [
    [],
    ["--json"],
    ["--changes"],
    ["--changes", "--json"],
    [EVIL, "--at", "1h"],
    [EVIL, "--chart"],
  ]) {
    const { code, out, err } = await history(script, ...args);
    expect([code, err]).toEqual([0, ""]);
    expect(out, args.join(" ")).toMatch(/^[\x20-\x7e░█…\n]+$/);
    expect(out).not.toMatch(/^rowlock: all is well/m);
  }
});

describe("a server", () => {
  test("that is older is named in one sentence", async () => {
    expect(await history({}, "etl/load")).toEqual({
      code: 69,
      out: "",
      err: expect.stringMatching(
        /^rowlock: The server, or a proxy [^\n]* is older than this command [^\n]*\n$/,
      ),
    });
  });

  test("that refuses is quoted", async () => {
    const script: Script = {
      listClaims() {
        throw unknownLock("etl/load");
      },
    };
    expect(await history(script, "etl/load")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^rowlock: [^\n]+\n$/),
    });
  });
});

test.each<[string[], RegExp[]]>([
  [["etl/load", "--prefix", "etl/"], [/a name and --prefix both/]],
  [["--at", "03:12"], [/--at says who held one lock: name it/]],
  [["--chart"], [/--chart draws one lock: name it/]],
  [["a", "--chart", "--json"], [/--chart is for people/]],
  [["--limits", "--owner", "x"], [/are about claims/]],
  [["--since", "soon"], [/--since "soon": write a time such as 2h/]],
  [["--ended", "released,gone"], [/--ended "released,gone": write some of released, failed, expired/]],
  [
    ["--max", "0", "--label", "=x"],
    [/--max "0": write a whole number from 1/, /--label "=x": write key=value/],
  ],
])("what is wrong is told: %j", async (args, words) => {
  const { code, out, err } = await ranInProcess(["history", ...args, "--addr", "127.0.0.1:9"]);
  expect([code, out]).toEqual([64, ""]);
  for (const word of words) expect(err).toMatch(word);
});
