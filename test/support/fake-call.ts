// A call for tests of methods without a server: its client is admitted at once and may wait as often as it likes.

import { NOBODY } from "../../server/access/access.ts";
import { Usage } from "../../server/access/usage.ts";
import { ClientGone } from "../../server/engine/faults.ts";
import type { Call } from "../../server/grpc/call.ts";
import { FaultLog, type Frame } from "../../server/grpc/call-observer.ts";

export interface FakeCall extends Call {
  cancel(isGivenUp?: boolean): void;
  /** The answer, or what the call failed with. */
  readonly replied: Promise<unknown>;
}

export function fakeCall(more: Partial<Call> = {}): FakeCall {
  const cancelled = new AbortController();
  const { promise: replied, resolve: answer, reject: fail } = Promise.withResolvers<unknown>();
  replied.catch(() => {});
  let whenGone: Parameters<Call["whenGone"]>[0] = null;
  return {
    client: {
      identity: NOBODY,
      usage: new Usage(),
      admission: { enter: (turn) => turn.begin(() => {}) },
      waits: { enter: () => () => {} },
      renewals: { begin: () => () => {}, check: () => {}, denied: () => {} },
    },
    answer,
    fail,
    send() {},
    replied,
    isUrgent: false,
    signal: cancelled.signal,
    get isCancelled() {
      return cancelled.signal.aborted;
    },
    whenGone(listener) {
      whenGone = listener;
      if (cancelled.signal.aborted) listener?.(cancelled.signal.reason);
    },
    getPeer: () => "one:1",
    ...more,
    cancel(isGivenUp = false) {
      cancelled.abort(new ClientGone(isGivenUp));
      whenGone?.(cancelled.signal.reason);
    },
  };
}

/** The caller of a call says nothing of a trace. */
export const NO_PARENT = { traceparent: undefined };

/** Nobody hears of calls. */
export function fakeFrame(): Frame {
  const nothing = () => {};
  return {
    observer: {
      ...{ call: nothing, streamOpened: nothing, streamClosed: nothing },
      ...{ sessionClosed: nothing, poke: nothing, sessionMessage: nothing },
    },
    faultLog: new FaultLog({ debug: nothing, info: nothing, warn: nothing, error: nothing }),
  };
}
