// Changes what a lock remembers: its status, when it is due, and how many attempts are left.

import { useState } from "preact/hooks";
import type { LockJson } from "#proto/rowlock/v1/lock_pb.js";
import type { UpdateRecordRequestJson } from "#proto/rowlock/v1/lock_service_pb.js";
import { ActDialog, ReasonField, WhatFollows } from "./act-dialog.tsx";
import { call } from "./api.ts";
import { Name, useNowMs } from "./parts.tsx";
import { whoNext } from "./who-next.ts";
import { clockWords, instantMs, shown } from "./words.ts";

const ATTEMPTS_MAX = 1_000_000;
const MINUTES_MAX = 5_259_600;
const MINUTE_MS = 60_000;

export interface RecordDialogProps {
  readonly lock: LockJson;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RecordDialog({ lock, onClose, onDone }: RecordDialogProps) {
  const nowMs = useNowMs();
  // As it was when the dialog opened: a change by somebody else in between is refused by its version.
  const [{ name = "", record }] = useState(lock);
  const [status, setStatus] = useState(record?.status ?? "");
  const [due, setDue] = useState<"keep" | "in" | "none">("keep");
  const [minutes, setMinutes] = useState("10");
  const [attempts, setAttempts] = useState(
    record?.attemptsLeft === undefined ? "" : String(record.attemptsLeft),
  );
  const [reason, setReason] = useState("");
  const inMs = Number(minutes) * MINUTE_MS;
  const isStatusNew = status !== (record?.status ?? "");
  const isAttemptsNew = attempts !== (record?.attemptsLeft === undefined ? "" : String(record.attemptsLeft));
  const request: UpdateRecordRequestJson = {
    name,
    expectedVersion: record?.version ?? "0",
    ...(isStatusNew ? { status } : {}),
    ...(due === "in" ? { notBeforeIn: `${inMs / 1_000}s` } : due === "none" ? { unsetNotBefore: {} } : {}),
    ...(!isAttemptsNew
      ? {}
      : attempts === ""
        ? { unsetAttemptsLeft: {} }
        : { attemptsLeft: Number(attempts) }),
    reason,
  };
  const next = whoNext(
    lock,
    {
      ...(due === "in" ? { notBeforeMs: nowMs + inMs } : due === "none" ? { notBeforeMs: null } : {}),
      ...(isAttemptsNew ? { attemptsLeft: attempts === "" ? null : Number(attempts) } : {}),
    },
    nowMs,
  );
  const act = async () => {
    await call("UpdateRecord", request);
    return `Changed the record of ${shown(name)}.`;
  };
  return (
    <ActDialog
      title="Change the record"
      verb="Change the record"
      isReady={isStatusNew || isAttemptsNew || due !== "keep"}
      act={act}
      onClose={onClose}
      onDone={onDone}
    >
      <p>
        <Name text={name} />
      </p>
      <label>
        Status
        <input
          value={status}
          onInput={(event) => setStatus(event.currentTarget.value)}
          maxLength={63}
          autocapitalize="off"
          autocomplete="off"
          placeholder="none"
        />
      </label>
      <div class="fields">
        <label>
          Not before
          <select value={due} onChange={(event) => setDue(event.currentTarget.value as typeof due)}>
            <option value="keep">
              {record?.notBefore
                ? `as it is: ${clockWords(instantMs(record.notBefore))}`
                : "as it is: not set"}
            </option>
            <option value="in">in … minutes</option>
            <option value="none">not set</option>
          </select>
        </label>
        {due === "in" ? (
          <label>
            Minutes
            <input
              type="number"
              min={0}
              max={MINUTES_MAX}
              value={minutes}
              required
              onInput={(event) => setMinutes(event.currentTarget.value)}
            />
          </label>
        ) : null}
        <label>
          Attempts left
          <input
            type="number"
            min={0}
            max={ATTEMPTS_MAX}
            value={attempts}
            placeholder="any number"
            onInput={(event) => setAttempts(event.currentTarget.value)}
          />
        </label>
      </div>
      <WhatFollows next={next} />
      <ReasonField reason={reason} onReason={setReason} />
    </ActDialog>
  );
}
