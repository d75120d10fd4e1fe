// Which of several servers is used: what the order of preference decides, and what it must not decide.

import { describe, expect, test } from "vitest";
import {
  bestServer,
  isLeftBehind,
  type SeenServer,
  separateWritable,
} from "../../../../server/storage/mysql/connection/best-server.ts";

const server = (more: Partial<SeenServer> = {}): SeenServer => ({
  isUsable: true,
  identity: "server",
  isSynced: true,
  isSettled: false,
  isStuck: false,
  epoch: 0n,
  isOwn: false,
  ...more,
});
const AWAY = server({ isUsable: false, identity: null, epoch: null });
const READ_ONLY = server({ isUsable: false, identity: "B" });

describe("of a source and its replicas", () => {
  const A = server({ identity: "A", isOwn: true });
  const B = server({ identity: "B" });
  const used = { epoch: 0n, identity: "A" };

  test("the one that can be written is used, wherever it stands; none if there is none", () => {
    expect(bestServer([A, READ_ONLY], null, null)).toBe(0);
    expect(bestServer([READ_ONLY, A], null, null)).toBe(1);
    expect(bestServer([READ_ONLY, AWAY], null, null)).toBeNull();
    expect(bestServer([AWAY, B], 0, used)).toBe(1);
    expect(bestServer([AWAY, READ_ONLY], 0, used)).toBeNull();
  });

  test("one that works is not left for another that can be written, too", () => {
    expect(bestServer([B, A], 1, used)).toBe(1);
    expect(bestServer([A, B], 1, { epoch: 0n, identity: "B" })).toBe(1);
    expect(bestServer([{ ...B, isSettled: true }, A], 1, used)).toBe(1);
  });

  test("the one through which the rows were written last comes first at the start", () => {
    expect(bestServer([B, A], null, null)).toBe(1);
    expect(bestServer([B, { ...A, isOwn: false }], null, null)).toBe(0);
  });

  test("the one with the highest epoch wins, even over one that works", () => {
    expect(bestServer([A, { ...B, epoch: 1n }], 0, used)).toBe(1);
    expect(bestServer([A, { ...B, epoch: 1n }], null, null)).toBe(1);
    expect(bestServer([{ ...A, isStuck: true, epoch: 1n }, B], 0, used)).toBe(0);
  });

  test("one whose rows are from before a fail-over is never used, even if it is the last", () => {
    const later = { epoch: 1n, identity: "B" };
    expect(bestServer([A, { ...AWAY }], 1, later)).toBeNull();
    expect(isLeftBehind(A, later)).toBe(true);
    expect(isLeftBehind({ ...A, epoch: 1n }, later)).toBe(false);
    // Nor one that has no rows at all.
    expect(bestServer([server({ identity: "C", epoch: null }), AWAY], 1, later)).toBeNull();
    // Rows that were set back in place are for the transactions to notice.
    expect(bestServer([AWAY, { ...B, epoch: 0n }], 1, later)).toBe(1);
  });

  test("one that does not answer commits is left if another can be written", () => {
    expect(bestServer([{ ...A, isStuck: true }, B], 0, used)).toBe(1);
    expect(bestServer([{ ...A, isStuck: true }, READ_ONLY], 0, used)).toBe(0);
  });

  test("others that can be written are named", () => {
    expect(separateWritable([A, B, READ_ONLY], 0)).toEqual([1]);
    expect(separateWritable([A, READ_ONLY, AWAY], 0)).toEqual([]);
  });
});

describe("of the nodes of a cluster", () => {
  const node = (more: Partial<SeenServer> = {}) => server({ identity: "cluster", isOwn: true, ...more });
  const used = { epoch: 0n, identity: "cluster" };

  test("the first that is usable is used, a synced one rather than a donor", () => {
    expect(bestServer([node(), node(), node()], null, null)).toBe(0);
    expect(bestServer([AWAY, node({ isSynced: false }), node()], 0, used)).toBe(2);
    expect(bestServer([AWAY, node({ isSynced: false }), AWAY], 0, used)).toBe(1);
  });

  test("a preferred node is used again only after it has been usable for a while", () => {
    expect(bestServer([node(), node()], 1, used)).toBe(1);
    expect(bestServer([node({ isSettled: true }), node()], 1, used)).toBe(0);
    expect(bestServer([node({ isSettled: true, isSynced: false }), node()], 1, used)).toBe(1);
    expect(bestServer([node(), node({ isSettled: true })], 0, used)).toBe(0);
  });

  test("one that lags behind a raised epoch is no other line of rows", () => {
    const raised = { epoch: 1n, identity: "cluster" };
    expect(bestServer([AWAY, node({ epoch: 0n })], 0, raised)).toBe(1);
    expect(bestServer([node({ epoch: 0n }), node({ epoch: 1n })], 0, used)).toBe(0);
    expect(separateWritable([node(), node()], 0)).toEqual([]);
  });

  test("servers without an identity are nodes of one cluster, and the first that works stays", () => {
    const tidb = server({ identity: null, isSettled: true });
    expect(bestServer([tidb, tidb], null, null)).toBe(0);
    expect(bestServer([tidb, tidb], 1, { epoch: 3n, identity: null })).toBe(1);
    expect(separateWritable([tidb, tidb], 0)).toEqual([]);
  });
});
