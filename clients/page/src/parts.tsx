// Small things that several views show.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ClaimJson, LockJson } from "#proto/rowlock/v1/lock_pb.js";
import { CallError } from "./api.ts";
import { connection, look, serverNowMs } from "./connection.ts";
import { lockHash } from "./route.ts";
import { Store, useStore } from "./store.ts";
import { counted, instantMs, modeWords, shown } from "./words.ts";

/** The server's time, each second. */
const now = new Store(serverNowMs());
setInterval(() => now.set(serverNowMs()), 1_000);

export function useNowMs(): number {
  return useStore(now);
}

/** What the page has done last, for the foot of the page and for screen readers. */
export const done = new Store("");

/** A text that others chose: it can neither turn around what stands beside it nor hide anything. */
export function Text({ text, kind = "text" }: { text: string; kind?: "text" | "name" }) {
  const pieces = text.split(/([\p{Cc}\p{Cf}\p{Zl}\p{Zp}])/u);
  return (
    <bdi class={kind}>
      {pieces.map((piece, at) => (at % 2 === 1 ? <i class="escaped">{shown(piece)}</i> : piece))}
    </bdi>
  );
}

/** The name of a lock, or a pattern. */
export function Name({ text }: { text: string }) {
  return <Text text={text} kind="name" />;
}

export function LockLink({ name }: { name: string }) {
  return (
    <a href={lockHash(name)} title={shown(name)}>
      <Name text={name} />
    </a>
  );
}

/** Who a claim is of: what the caller says, its labels, and who the server knows it is. */
export function Owner({ claim }: { claim: ClaimJson }) {
  const { owner = "", labels = {}, principal } = claim;
  return (
    <>
      {owner === "" ? <span class="dim">no owner named</span> : <Text text={owner} />}
      {Object.entries(labels).map(([key, value]) => (
        <span class="label" key={key}>
          <Text text={`${key}=${value}`} />
        </span>
      ))}
      {principal && principal !== owner ? (
        <span class="dim">
          {" "}
          as <Text text={principal} />
        </span>
      ) : null}
    </>
  );
}

/** The other locks of a claim for several, as far as the caller may read them. */
export function Also({ claim: { also = [] } }: { claim: ClaimJson }) {
  if (also.length === 0) return null;
  return (
    <span class="under">
      together with{" "}
      {also.map((other, at) => (
        <span key={other.lockName}>
          {at > 0 ? ", " : null}
          <LockLink name={other.lockName ?? ""} />
          <span class="dim"> ({modeWords(other)})</span>
        </span>
      ))}
    </span>
  );
}

export function Chip({ kind, children }: { kind?: "bad" | "warn" | "good"; children: ComponentChildren }) {
  return <span class={`chip ${kind ?? ""}`}>{children}</span>;
}

/** The status of a lock, and what keeps it from being granted. */
export function Chips({ lock, nowMs }: { lock: LockJson; nowMs: number }) {
  const { limit, draining, record = {} } = lock;
  const { status = "", attemptsLeft, notBefore } = record;
  return (
    <>
      {(limit?.permits ?? 0) === 0 ? <Chip kind="bad">paused</Chip> : null}
      {draining ? <Chip kind="warn">drains</Chip> : null}
      {attemptsLeft === 0 ? <Chip kind="bad">no attempts left</Chip> : null}
      {notBefore && instantMs(notBefore) > nowMs ? <Chip kind="warn">not yet due</Chip> : null}
      {status === "" ? null : (
        <Chip>
          <Text text={status} />
        </Chip>
      )}
    </>
  );
}

/** How much of the limit is held, as numbers and as a bar. */
export function Held({ lock }: { lock: LockJson }) {
  const held = Number(lock.heldPermits ?? 0);
  const limit = lock.limit?.permits ?? 0;
  const mode = lock.holders?.[0]?.mode;
  const share =
    mode === "MODE_EXCLUSIVE" || mode === "MODE_SHARED" ? 1 : Math.min(1, held / Math.max(1, limit));
  const words =
    mode === "MODE_SHARED"
      ? counted(lock.holderCount ?? 0, "reader")
      : mode === "MODE_EXCLUSIVE"
        ? "1 writer"
        : `${held} / ${limit}`;
  return (
    <span class="held">
      <span>{words}</span>
      <span class={`meter ${lock.draining ? "over" : ""}`} aria-hidden="true">
        <span style={{ width: `${held === 0 ? 0 : share * 100}%` }} />
      </span>
    </span>
  );
}

export function Trouble({ text }: { text: string | null }) {
  return text === null ? null : (
    <p class="trouble" role="alert">
      {shown(text)}
    </p>
  );
}

export interface Asked<Value> {
  readonly value: Value | null;
  readonly trouble: string | null;
}

/**
 * Asks, and asks again when `poke` changes, when the server is back, and each `everyMs` if that is set; never twice at
 * once, and with a pause in between. Another `key` is another question.
 */
export function useAsked<Value>(
  ask: () => Promise<Value>,
  key: string,
  { poke, everyMs, pauseMs = 300 }: { poke?: unknown; everyMs?: number; pauseMs?: number } = {},
): Asked<Value> {
  const [state, setState] = useState<Asked<Value> & { key: string }>({ key, value: null, trouble: null });
  const question = useRef(ask);
  question.current = ask;
  const again = useRef<(() => void) | undefined>(undefined);
  const { back } = useStore(connection);

  // A server that is back is asked again.
  useEffect(() => {
    let isOver = false;
    let isAsking = false;
    let isStale = false;
    let answeredMs = Number.NEGATIVE_INFINITY;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const round = async () => {
      isAsking = true;
      isStale = false;
      clearTimeout(timer);
      const answer = await answered(question.current);
      if (isOver) return;
      setState((before) => ({ ...before, ...(before.key === key ? {} : { value: null }), ...answer, key }));
      isAsking = false;
      answeredMs = performance.now();
      if (isStale) soon();
      else if (everyMs !== undefined) timer = setTimeout(round, everyMs);
    };
    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(round, Math.max(0, answeredMs + pauseMs - performance.now()));
    };
    again.current = () => {
      isStale = true;
      if (!isAsking) soon();
    };
    void round();
    return () => {
      isOver = true;
      again.current = undefined;
      clearTimeout(timer);
    };
  }, [key, back, everyMs, pauseMs]);

  // A poke is a reason to ask, and no part of the question.
  useEffect(() => again.current?.(), [poke]);
  return state.key === key ? state : { value: null, trouble: null };
}

async function answered<Value>(ask: () => Promise<Value>): Promise<Partial<Asked<Value>>> {
  try {
    return { value: await ask(), trouble: null };
  } catch (error) {
    if (error instanceof CallError) return { trouble: error.message };
    void look();
    return {};
  }
}
