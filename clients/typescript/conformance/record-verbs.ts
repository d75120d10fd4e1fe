// The verbs for records: they set, delete and show what a lock remembers, also at a release.

import type { LastRunView, RecordChanges, RecordView, ReleaseOptions, RowlockClient } from "../src/index.ts";
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

export function releaseOptionsOf({ status, coolDownMs, attemptsLeft, failed }: Command): ReleaseOptions {
  return {
    ...(status !== undefined && { status }),
    ...(coolDownMs !== undefined && { coolDown: coolDownMs }),
    ...(attemptsLeft !== undefined && { attemptsLeft }),
    ...(failed !== undefined && { failed }),
  };
}

export function recordOf(record: RecordView): object {
  const { status, attemptsLeft, notBefore, version, lastRun, lastSuccess, failures } = record;
  return {
    status,
    ...(attemptsLeft !== undefined && { attemptsLeft }),
    ...(notBefore && { notBeforeMs: notBefore.getTime() }),
    version: String(version),
    ...(lastRun && { lastRun: runOf(lastRun) }),
    ...(lastSuccess && { lastSuccess: runOf(lastSuccess) }),
    failures,
  };
}

function runOf({ owner, token, endReason, status }: LastRunView): object {
  return { owner, token: String(token), endReason, status };
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
