// The few transactions that wait for rows held by others: stuck locks never take all patient slots, and briefly
// contended locks come first.

import { expect, test, vi } from "vitest";
import type { Batch } from "../../../server/engine/transaction/batch.ts";
import type { JobsByLock, Work } from "../../../server/engine/transaction/deciding.ts";
import { PatientSlots } from "../../../server/engine/transaction/patient-slots.ts";
import { ROLLED_BACK } from "../../../server/storage/retry.ts";
import { ROW_LOCKED, StoreError } from "../../../server/storage/store.ts";

const BATCH = {} as Batch;
const turn = () => new Promise(setImmediate);
const heldUp = () => new StoreError("transient", ROW_LOCKED, "A row is held by a test.");
const about = (...lockIds: bigint[]): Work => ({
  jobs: new Map(lockIds.map((id) => [id, []])) as JobsByLock,
  earlier: [],
});

function scene(slots: number) {
  const begun: { lockIds: bigint[]; end: PromiseWithResolvers<Batch> }[] = [];
  const stuck: bigint[] = [];
  const done: bigint[][] = [];
  const failed: [lockIds: bigint[], error: unknown][] = [];
  const patient = new PatientSlots({
    slots,
    decide(work) {
      const end = Promise.withResolvers<Batch>();
      begun.push({ lockIds: [...work.jobs.keys()], end });
      return end.promise;
    },
    onStuck: (lockId) => stuck.push(lockId),
    onDone: (work) => done.push([...work.jobs.keys()]),
    onFailure: (work, error) => failed.push([[...work.jobs.keys()], error]),
  });
  return { patient, begun, stuck, done, failed, running: () => begun.map(({ lockIds }) => lockIds) };
}

test("locks that are stuck leave a slot to those that are held in passing", async () => {
  const { patient, running, begun } = scene(3);
  for (const lockId of [1n, 2n, 3n, 4n]) patient.add(about(lockId), true);
  expect(running()).toEqual([[1n], [2n]]);
  expect(patient.hasRoom).toBe(true);
  patient.add(about(7n, 8n), false);
  expect(running()).toEqual([[1n], [2n], [7n, 8n]]);
  expect(patient.hasRoom).toBe(false);
  begun[2]?.end.resolve(BATCH);
  await turn();
  expect(running()).toHaveLength(3);
  begun[0]?.end.resolve(BATCH);
  await turn();
  expect(running().slice(3)).toEqual([[3n]]);
});

test("the only slot serves what is stuck as well, and what is held in passing before it", async () => {
  const { patient, running, begun } = scene(1);
  patient.add(about(1n), true);
  patient.add(about(2n), true);
  patient.add(about(3n), false);
  expect(running()).toEqual([[1n]]);
  begun[0]?.end.resolve(BATCH);
  await turn();
  begun[1]?.end.resolve(BATCH);
  await turn();
  expect(running()).toEqual([[1n], [3n], [2n]]);
  expect(patient.isIdle).toBe(false);
  begun[2]?.end.resolve(BATCH);
  await turn();
  expect(patient.isIdle).toBe(true);
});

test("what was waited for in vain together is divided, and one lock alone is stuck from then on", async () => {
  const { patient, running, begun, stuck, done } = scene(2);
  patient.add(about(1n, 2n), false);
  begun[0]?.end.reject(heldUp());
  await turn();
  expect(running().slice(1)).toEqual([[1n], [2n]]);
  expect(stuck).toEqual([]);
  begun[1]?.end.reject(heldUp());
  begun[2]?.end.resolve(BATCH);
  await turn();
  expect(stuck).toEqual([1n]);
  expect(done).toEqual([[2n]]);
  // It is tried again, now as a stuck lock.
  patient.add(about(3n), true);
  expect(running().slice(3)).toEqual([[1n]]);
});

test("a lock that is waited for in vain for too long fails, and one with another error at once", async () => {
  const { patient, begun, failed } = scene(1);
  const now = vi.spyOn(performance, "now").mockReturnValue(0);
  try {
    patient.add(about(1n), false);
    now.mockReturnValue(ROLLED_BACK.longestMs + 1);
    begun[0]?.end.reject(heldUp());
    await turn();
    expect(failed).toMatchObject([[[1n], { reason: ROW_LOCKED }]]);
    const fault = new Error("A fault made by a test.");
    patient.add(about(2n), false);
    begun[1]?.end.reject(fault);
    await turn();
    expect(failed[1]).toEqual([[2n], fault]);
    expect(patient.isIdle).toBe(true);
  } finally {
    now.mockRestore();
  }
});
