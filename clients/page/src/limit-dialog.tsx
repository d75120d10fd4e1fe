// Sets the limit of a name or of a pattern, or removes that setting.

import { useState } from "preact/hooks";
import type { LockJson } from "#proto/rowlock/v1/lock_pb.js";
import type { LimitSettingJson } from "#proto/rowlock/v1/lock_service_pb.js";
import { ActDialog, ReasonField, WhatFollows } from "./act-dialog.tsx";
import { call } from "./api.ts";
import { Name, Trouble, useAsked, useNowMs } from "./parts.tsx";
import { useMayLimit } from "./rights.ts";
import { whoNext } from "./who-next.ts";
import { counted, shown, someOf } from "./words.ts";

const LIMIT_MAX = 1_000_000;

export interface LimitDialogProps {
  /** The lock whose name gets a limit; null: `setting` says what. */
  readonly lock: LockJson | null;
  /** The setting to change; null: a new one. */
  readonly setting: LimitSettingJson | null;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function LimitDialog({ lock, setting, onClose, onDone }: LimitDialogProps) {
  const nowMs = useNowMs();
  // As it was when the dialog opened: a change by somebody else in between is refused by its version.
  const [now] = useState(lock ? lock.limit : setting);
  const isSet = lock ? lock.limit?.source === "LIMIT_SOURCE_NAME" : setting !== null;
  const fixed = lock ? lock.name : (setting?.name ?? setting?.pattern);
  const [target, setTarget] = useState(fixed ?? "");
  const isPattern = !lock && setting?.name === undefined && target.endsWith("*");
  const [limit, setLimit] = useState(String((lock ? lock.limit?.permits : setting ? setting.limit : 1) ?? 0));
  const [isUnset, setUnset] = useState(false);
  const [reason, setReason] = useState("");
  const [mayLimit] = useMayLimit(target === "" ? [] : [isPattern ? { pattern: target } : { name: target }]);
  const wanted = Number(limit);
  const isNumber = /^\d+$/.test(limit) && wanted <= LIMIT_MAX;
  const act = async () => {
    const expected = isSet && now?.version !== undefined ? { expectedVersion: now.version } : {};
    const answer = await call("SetLimit", {
      ...(isPattern ? { pattern: target } : { name: target }),
      ...(isUnset ? { unsetLimit: {} } : { limit: wanted }),
      ...expected,
      reason,
    });
    const behind = answer.serversBehind
      ? ` ${counted(answer.serversBehind, "server")} did not confirm it and may still grant by the old limit.`
      : "";
    const drains = answer.draining ? " More is held than that, so it drains." : "";
    return `${isUnset ? `Removed the limit of ${shown(target)}: it is` : `The limit of ${shown(target)} is`} ${answer.limit ?? 0} now.${drains}${behind}`;
  };
  const verb = isUnset ? "Remove the limit" : `Set the limit to ${isNumber ? wanted : "…"}`;
  return (
    <ActDialog
      title={fixed === undefined ? "Set a limit" : "Set the limit"}
      verb={verb}
      isDanger={!isUnset && wanted === 0}
      isReady={(isUnset || isNumber) && mayLimit === true}
      act={act}
      onClose={onClose}
      onDone={onDone}
    >
      {fixed !== undefined ? (
        <p>
          <Name text={target} /> {isPattern ? "(each matching name has this limit for itself)" : null}
        </p>
      ) : (
        <label>
          Pattern or name
          <input
            class="mono"
            value={target}
            onInput={(event) => setTarget(event.currentTarget.value)}
            required
            placeholder="etl/*"
            autocapitalize="off"
            autocomplete="off"
            spellcheck={false}
          />
        </label>
      )}
      {mayLimit === false ? <p class="note">You may not set this limit.</p> : null}
      <div class="fields">
        <label>
          Limit
          <input
            type="number"
            min={0}
            max={LIMIT_MAX}
            value={limit}
            disabled={isUnset}
            onInput={(event) => setLimit(event.currentTarget.value)}
            required
          />
        </label>
        {isSet ? (
          <label class="check">
            <input
              type="checkbox"
              checked={isUnset}
              onChange={(event) => setUnset(event.currentTarget.checked)}
            />
            Remove this setting
          </label>
        ) : null}
      </div>
      {!isUnset && wanted === 0 ? (
        <p class="note">A limit of 0 pauses: nobody is granted until it is raised.</p>
      ) : null}
      {isUnset ? (
        <p class="note">Then the longest matching pattern applies, or the default of 1.</p>
      ) : lock && isNumber ? (
        <WhatFollows next={whoNext(lock, { limit: wanted }, nowMs)} />
      ) : isNumber && target !== "" ? (
        <WhatFollowsForMany target={target} isPattern={isPattern} limit={wanted} />
      ) : null}
      <ReasonField reason={reason} onReason={setReason} />
    </ActDialog>
  );
}

interface ManyProps {
  readonly target: string;
  readonly isPattern: boolean;
  readonly limit: number;
}

/** What would follow at the busy locks that a setting is for, up to one page of them. */
function WhatFollowsForMany({ target, isPattern, limit }: ManyProps) {
  const nowMs = useNowMs();
  const prefix = isPattern ? target.slice(0, -1) : target;
  const { value, trouble } = useAsked(
    () => call("ListLocks", { prefix, busyOnly: true, pageSize: 1_000 }),
    prefix,
    { pauseMs: 1_000 },
  );
  if (trouble) return <Trouble text={trouble} />;
  if (!value) return null;
  const touched = (value.locks ?? []).filter((lock) =>
    isPattern ? isUnder(lock, target) : lock.name === target,
  );
  const waitedFor = touched.map((lock) => ({ lock, next: whoNext(lock, { limit }, nowMs) }));
  const granting = waitedFor.filter(({ next }) => next.granted.length > 0);
  const count = granting.reduce((sum, { next }) => sum + next.granted.length, 0);
  const draining = touched.filter((lock) => Number(lock.heldPermits ?? 0) > limit);
  return (
    <div class="follows" role="status">
      <h3>What probably follows</h3>
      <p>
        Of {counted(touched.length, "busy lock")} with this limit
        {value.nextPageToken ? ", as far as one page shows" : ""},{" "}
        {count === 0
          ? "none grants to a waiter at once."
          : `${counted(granting.length, "lock")} would grant to ${counted(count, "waiter")} at once: ${someOf(
              granting.map(({ lock }) => shown(lock.name ?? "")),
              granting.length,
            )}.`}
      </p>
      {draining.length > 0 ? (
        <p>{counted(draining.length, "lock")} would have to drain first. No lease is ended by that.</p>
      ) : null}
    </div>
  );
}

/** Whether this pattern decides about the lock, or would if it were set. */
function isUnder({ limit }: LockJson, pattern: string): boolean {
  if (limit?.source === "LIMIT_SOURCE_NAME") return false;
  return limit?.source !== "LIMIT_SOURCE_PATTERN" || (limit.pattern ?? "").length <= pattern.length;
}
