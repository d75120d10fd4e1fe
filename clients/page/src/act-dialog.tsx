// The frame of all dialogs that change something: what, what would follow, why, and a button that says it again.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ClaimJson } from "#proto/rowlock/v1/lock_pb.js";
import { done, Trouble } from "./parts.tsx";
import type { Next } from "./who-next.ts";
import { claimWords, modeWords, someOf } from "./words.ts";

export interface ActDialogProps {
  readonly title: ComponentChildren;
  /** What the button says. */
  readonly verb: string;
  readonly isDanger?: boolean;
  /** Whether there is something to do. */
  readonly isReady?: boolean;
  /** Does it, and returns what it has done in a sentence. */
  readonly act: () => Promise<string>;
  readonly onClose: () => void;
  readonly onDone: () => void;
  readonly children: ComponentChildren;
}

export function ActDialog({
  title,
  verb,
  isDanger,
  isReady = true,
  act,
  onClose,
  onDone,
  children,
}: ActDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [isActing, setActing] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isActing) return;
    setActing(true);
    setTrouble(null);
    try {
      done.set(await act());
      onDone();
    } catch (error) {
      setTrouble(
        error instanceof Error && error.name === "TimeoutError"
          ? "The server has not answered. Look whether it was done before you try again."
          : `Not done. ${error instanceof Error ? error.message : error}`,
      );
      setActing(false);
    }
  };
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="act">
      <form onSubmit={submit}>
        <h2 id="act">{title}</h2>
        {children}
        <Trouble text={trouble} />
        <div class="buttons">
          <button type="button" class="quiet" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isDanger ? "danger" : "main"} disabled={isActing || !isReady}>
            {verb}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** Why: the server logs it and keeps it. */
export function ReasonField({ reason, onReason }: { reason: string; onReason: (reason: string) => void }) {
  return (
    <label>
      Reason
      <input
        value={reason}
        onInput={(event) => onReason(event.currentTarget.value)}
        required
        maxLength={200}
        autocomplete="off"
        placeholder="For the log, and for whoever looks later"
      />
    </label>
  );
}

/** Who would be granted then, as far as the page knows. */
export function WhatFollows({ next }: { next: Next }) {
  const { granted, neverFit, after, isCut, hasPools } = next;
  return (
    <div class="follows" role="status">
      <h3>What probably follows</h3>
      {granted.length > 0 ? (
        <p>
          {hasPools ? "Have the lock at once, and then wait for the pools over it:" : "Granted at once:"}{" "}
          <strong>{someWho(granted)}</strong>
        </p>
      ) : null}
      {neverFit.length > 0 ? (
        <p>Turned away, as they ask for more than the limit or the burst of the rate: {someWho(neverFit)}</p>
      ) : null}
      <p>{AFTER[after](granted.length)}</p>
      {isCut ? (
        <p>The lock has more holders or waiters than the server lists, so there may be more.</p>
      ) : null}
      <p class="dim">
        As the page sees the lock now. What a request demands of the record, such as a status or a lock delay,
        is not shown here and may decide otherwise.
      </p>
    </div>
  );
}

const AFTER: Readonly<Record<Next["after"], (granted: number) => string>> = {
  "nobody waits": (granted) => (granted > 0 ? "Then nobody waits." : "Nobody waits, so nobody is granted."),
  paused: () => "The limit is 0, so nobody is granted.",
  "not before": () => "Nobody is granted before the lock is due.",
  "no attempts": () => "No attempts are left, so the next waiters are turned away.",
  rate: (granted) =>
    granted > 0
      ? "Those behind wait until the rate allows their grants."
      : "Nobody is granted before the rate allows it.",
  "other locks": (granted) =>
    `The ${granted > 0 ? "next" : "first"} waiter wants other locks, too, and is granted when it can have all of them.`,
  full: (granted) =>
    granted > 0 ? "Those behind wait on." : "Nobody is granted, as the first waiter still does not fit.",
};

function someWho(claims: readonly ClaimJson[]): string {
  return someOf(
    claims.map((claim) => `${claimWords(claim)} for ${modeWords(claim)}`),
    claims.length,
  );
}
