// Keeps a feed of the locks under a prefix for a view: by the stream of changes while there are few enough locks, else by
// asking for the busiest ones again and again. Says how fresh what it shows is.

import { useEffect, useRef, useState } from "preact/hooks";
import { CallError, call, watchLocks } from "./api.ts";
import { connection, look } from "./connection.ts";
import { LocksFeed, type Rows, rowOf } from "./locks-feed.ts";
import { useStore } from "./store.ts";

/** More than these would fill the memory of a phone, and would be read by nobody. */
const FOLLOWED_MAX = 20_000;
const POLLED_MAX = 1_000;
const POLL_MS = 2_000;
const AGAIN_MS = 2_000;
/** Redrawing more often than this helps nobody; after a slow drawing, pauses are longer. */
const REDRAW_MS = 100;
const REST_SHARE = 8;

export interface FollowedLocks {
  readonly rows: Rows;
  /** Rises when the rows have changed. */
  readonly version: number;
  /** coming: the first snapshot is not complete. polled: there are too many to follow. */
  readonly state: "coming" | "live" | "polled";
  /** Why it is not live, in a sentence. */
  readonly trouble: string | null;
}

export function useFollowedLocks(prefix: string): FollowedLocks {
  const feed = useRef(new LocksFeed()).current;
  const polled = useRef<Rows>(new Map());
  const [state, setState] = useState<FollowedLocks["state"]>("coming");
  const [trouble, setTrouble] = useState<string | null>(null);
  const version = useRef(0);
  const [, redraw] = useState(0);
  const { back } = useStore(connection);
  const isHidden = useIsHidden();

  // A server that is back is asked again.
  useEffect(() => {
    if (isHidden) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let restMs = REDRAW_MS;
    const changed = () => {
      version.current++;
      timer ??= setTimeout(draw, restMs);
    };
    const draw = () => {
      timer = undefined;
      const startMs = performance.now();
      redraw((count) => count + 1);
      // Preact has drawn before the next task.
      setTimeout(() => {
        restMs = Math.max(REDRAW_MS, (performance.now() - startMs) * REST_SHARE);
      });
    };
    void keepFollowing(prefix, { feed, polled, changed, setState, setTrouble, signal: stop.signal });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [prefix, back, isHidden]);

  const rows = state === "polled" ? polled.current : feed.rows;
  return { rows, version: version.current, state, trouble };
}

interface Following {
  readonly feed: LocksFeed;
  readonly polled: { current: Rows };
  readonly changed: () => void;
  readonly setState: (state: FollowedLocks["state"]) => void;
  readonly setTrouble: (trouble: string | null) => void;
  readonly signal: AbortSignal;
}

async function keepFollowing(prefix: string, following: Following): Promise<void> {
  const { feed, changed, setState, setTrouble, signal } = following;
  while (!signal.aborted) {
    const tooMany = new AbortController();
    try {
      feed.begin();
      const either = AbortSignal.any([signal, tooMany.signal]);
      await watchLocks(
        prefix,
        (message) => {
          feed.apply(message);
          if (feed.size > FOLLOWED_MAX) tooMany.abort();
          setState(feed.isComplete ? "live" : "coming");
          setTrouble(null);
          changed();
        },
        either,
      );
    } catch (error) {
      if (signal.aborted) return;
      if (tooMany.signal.aborted) return await keepPolling(prefix, following);
      if (error instanceof CallError) setTrouble(error.message);
      else void look();
      await pause(AGAIN_MS, signal);
    }
  }
}

async function keepPolling(prefix: string, following: Following): Promise<void> {
  const { feed, polled, changed, setState, setTrouble, signal } = following;
  feed.clear();
  while (!signal.aborted) {
    try {
      const request = {
        prefix,
        busyOnly: true,
        pageSize: POLLED_MAX,
        order: "LIST_ORDER_LONGEST_WAIT",
      } as const;
      const waited = await call("ListLocks", request);
      const busy = await call("ListLocks", { ...request, order: "LIST_ORDER_NAME" });
      if (signal.aborted) return;
      const rows = [...(waited.locks ?? []), ...(busy.locks ?? [])].map(rowOf);
      polled.current = new Map(rows.map((row) => [row.name, row]));
      setState("polled");
      setTrouble(null);
      changed();
    } catch (error) {
      if (error instanceof CallError) setTrouble(error.message);
    }
    await pause(POLL_MS, signal);
  }
}

/** Ends early if the signal aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** A tab that nobody has looked at for this long gives its stream back: a server has few of them. */
const FORGOTTEN_MS = 60_000;

function useIsHidden(): boolean {
  const [isHidden, setHidden] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(() => setHidden(true), FORGOTTEN_MS);
      else setHidden(false);
    };
    document.addEventListener("visibilitychange", changed);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", changed);
    };
  }, []);
  return isHidden;
}
