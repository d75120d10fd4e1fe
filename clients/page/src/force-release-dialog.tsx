// Ends one claim, or all leases of a lock.

import { useState } from "preact/hooks";
import type { ClaimJson, LockJson } from "#proto/rowlock/v1/lock_pb.js";
import { ActDialog, ReasonField, WhatFollows } from "./act-dialog.tsx";
import { call } from "./api.ts";
import { Also, Name, Owner, useNowMs } from "./parts.tsx";
import { whoNext } from "./who-next.ts";
import { ageWords, counted, instantMs, modeWords, shown } from "./words.ts";

export interface ForceReleaseDialogProps {
  readonly lock: LockJson;
  /** null: all holders. */
  readonly claim: ClaimJson | null;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function ForceReleaseDialog({ lock, claim, onClose, onDone }: ForceReleaseDialogProps) {
  const nowMs = useNowMs();
  const [reason, setReason] = useState("");
  const { name = "", holders = [], holderCount = 0 } = lock;
  const isWaiter = claim?.state === "CLAIM_STATE_WAITING";
  const claims = claim ? [claim] : holders;
  const ended = new Set(claims.map(({ ticketNumber = "" }) => ticketNumber));
  const count = claim ? 1 : holderCount;
  const isThere = claim
    ? (isWaiter ? (lock.waiters ?? []) : holders).some(
        ({ ticketNumber }) => ticketNumber === claim.ticketNumber,
      )
    : holderCount > 0;
  const act = async () => {
    const target = claim ? { claim: { lockName: name, ticketNumber: claim.ticketNumber ?? "0" } } : { name };
    const answer = await call("ForceRelease", { ...target, reason });
    const remaining = answer.remaining ? ` ${answer.remaining} are left: end them once more.` : "";
    return answer.ended?.length
      ? `Ended ${counted(answer.ended.length, "claim")} of ${shown(name)}.${remaining}`
      : `There was nothing to end at ${shown(name)}: it had ended by itself.`;
  };
  const verb = isWaiter ? "Remove from the queue" : `End ${counted(count, "lease")}`;
  return (
    <ActDialog
      title={`${verb}?`}
      verb={verb}
      isDanger
      isReady={isThere}
      act={act}
      onClose={onClose}
      onDone={onDone}
    >
      <p>
        <Name text={name} />
      </p>
      <ul class="plain">
        {claims.slice(0, 5).map((each) => (
          <li key={each.ticketNumber}>
            #{each.ticketNumber} <Owner claim={each} />, {modeWords(each)}, {isWaiter ? "waits" : "holds"} for{" "}
            {ageWords(nowMs - instantMs((isWaiter ? each.requestedAt : each.grantedAt) ?? ""))}
            <Also claim={each} />
          </li>
        ))}
        {count > 5 ? <li>and {counted(count - 5, "other")}</li> : null}
      </ul>
      {claims.some(({ also = [] }) => also.length > 0) ? (
        <p>A claim for several locks ends at all of them.</p>
      ) : null}
      {isThere ? null : <p class="note">It has ended meanwhile, so there is nothing left to do.</p>}
      {isWaiter ? null : (
        <p>Whoever holds it is told that it is lost, but may go on working if it does not listen.</p>
      )}
      <WhatFollows next={whoNext(lock, { ended }, nowMs)} />
      <ReasonField reason={reason} onReason={setReason} />
    </ActDialog>
  );
}
