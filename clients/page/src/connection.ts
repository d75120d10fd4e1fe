// Whether the server is there. Asks it once a second who it is and whether it is ready, so a server that goes away is
// noticed within a second, and one that comes back as well. Views read again when `back` rises.

import { type About, CallError, getAbout, token } from "./api.ts";
import { Store } from "./store.ts";

const EVERY_MS = 1_000;
/** A server that takes longer has gone, or is frozen. */
const PATIENCE_MS = 2_500;

export interface Connection {
  /** What the server said last; null before its first answer. */
  readonly about: About | null;
  /** Since when it has not answered, by the browser's clock; null: it answers. */
  readonly awaySinceMs: number | null;
  /** Why the server refused the token; null: it did not. */
  readonly refused: string | null;
  /** Rises when the server is back, or when somebody has signed in or out. */
  readonly back: number;
  /** How far the server's clock is ahead of the browser's. */
  readonly aheadMs: number;
}

export const connection = new Store<Connection>({
  about: null,
  awaySinceMs: null,
  refused: null,
  back: 0,
  aheadMs: 0,
});

let timer: ReturnType<typeof setTimeout> | undefined;
let round = 0;

/** Asks now, and then each second. */
export async function look(): Promise<void> {
  clearTimeout(timer);
  const own = ++round;
  const before = connection.value;
  const next = await asked(before);
  // A later question has a later answer.
  if (own !== round) return;
  connection.set(next);
  timer = setTimeout(look, document.hidden ? 10 * EVERY_MS : EVERY_MS);
}

async function asked(before: Connection): Promise<Connection> {
  try {
    const startMs = Date.now();
    const about = await getAbout(PATIENCE_MS);
    const aheadMs = about.now - (startMs + Date.now()) / 2;
    const isBack = before.awaySinceMs !== null || (before.about?.ready === false && about.ready);
    // The difference of the clocks changes slowly, and times should not dance.
    const isSteady = Math.abs(aheadMs - before.aheadMs) < 250;
    return {
      about: isSame(about, before.about) ? before.about : about,
      awaySinceMs: null,
      refused: null,
      back: before.back + (isBack ? 1 : 0),
      aheadMs: isSteady ? before.aheadMs : aheadMs,
    };
  } catch (error) {
    if (error instanceof CallError && error.status < 500)
      return { ...before, awaySinceMs: null, refused: error.message };
    return { ...before, awaySinceMs: before.awaySinceMs ?? Date.now() };
  }
}

/** Whether two answers differ only in their time. */
function isSame(one: About, other: About | null): boolean {
  return other !== null && JSON.stringify({ ...one, now: 0 }) === JSON.stringify({ ...other, now: 0 });
}

/** The server's clock. */
export function serverNowMs(): number {
  return Date.now() + connection.value.aheadMs;
}

/** Starts, for as long as the page is open. */
export function keepLooking(): void {
  token.follow(() => {
    connection.set({ ...connection.value, about: null, refused: null, back: connection.value.back + 1 });
    void look();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void look();
  });
  void look();
}
