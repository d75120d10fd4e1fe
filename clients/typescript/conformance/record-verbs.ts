// The verbs for records: they set, delete and show what a lock remembers, also at a release.

import type { RecordChanges, RecordView, ReleaseOptions, RowlockClient } from "../src/index.ts";
import type { Command, Verb } from "./verb.ts";

export function recordVerbs(clientOf: (command: Command) => RowlockClient): Readonly<Record<string, Verb>> {
  return {
    updateRecord: async (asked) =>
      recordOf(
        await clientOf(asked).updateRecord(asked.name, {
          ...changesOf(asked),
          ...ifVersionOf(asked),
          ...reasonOf(asked),
        }),
      ),
    deleteRecord: async (asked) => ({
      deleted: await clientOf(asked).deleteRecord(asked.name, {
        ...ifVersionOf(asked),
        ...reasonOf(asked),
      }),
    }),
  };
}

export function releaseOptionsOf({ status, coolDownMs, attemptsLeft }: Command): ReleaseOptions {
  return {
    ...(status !== undefined && { status }),
    ...(coolDownMs !== undefined && { coolDown: coolDownMs }),
    ...(attemptsLeft !== undefined && { attemptsLeft }),
  };
}

export function recordOf({ status, attemptsLeft, notBefore, version, lastRun }: RecordView): object {
  return {
    status,
    ...(attemptsLeft !== undefined && { attemptsLeft }),
    ...(notBefore && { notBeforeMs: notBefore.getTime() }),
    version: String(version),
    ...(lastRun && {
      lastRun: {
        owner: lastRun.owner,
        token: String(lastRun.token),
        endReason: lastRun.endReason,
        status: lastRun.status,
      },
    }),
  };
}

function reasonOf({ reason }: Command): Pick<RecordChanges, "reason"> {
  return reason === undefined ? {} : { reason };
}

function changesOf({ notBeforeMs, notBeforeInMs, attemptsLeft, status }: Command): RecordChanges {
  return {
    ...(notBeforeMs !== undefined && { notBefore: notBeforeMs === "none" ? null : new Date(notBeforeMs) }),
    ...(notBeforeInMs !== undefined && { notBeforeIn: notBeforeInMs }),
    ...(attemptsLeft !== undefined && { attemptsLeft: attemptsLeft === "unlimited" ? null : attemptsLeft }),
    ...(status !== undefined && { status }),
  };
}

function ifVersionOf({ ifVersion }: Command): Pick<RecordChanges, "ifVersion"> {
  return ifVersion === undefined ? {} : { ifVersion: BigInt(ifVersion) };
}
