// What `rowlock watch` shows: a page that fills the terminal, or lines for a log or a program.

import type { LockView } from "../typescript/src/index.ts";
import type { CliContext } from "./context.ts";
import { isBusy, LOCK_ORDERS, type LockOrder } from "./lock-orders.ts";
import { lockLine, lockPage, lockTable } from "./lock-views.ts";
import { localTime } from "./past-times.ts";
import { counted, jsonLine, paintOf, said, shown, timeWords } from "./print.ts";
import { screenOf } from "./screen.ts";
import type { Changes, Watched, WatchedLocks } from "./watched-locks.ts";

/** How long a change is marked. */
const MARKED_MS = 5_000;
/** A connection that is back before this is not worth a line. */
const RECONNECTING_AFTER_MS = 500;

export interface WatchView {
  show(changes: Changes, watched: WatchedLocks): void;
  /** The connection to this address was lost; null: there is one again. */
  reconnecting(address: string | null): void;
  /** The locks cannot be watched at present; `sentence` ends with a line break. */
  lost(sentence: string): void;
  close(): void;
}

export interface ViewOptions {
  readonly which: Watched;
  readonly isBusyOnly: boolean;
  readonly order: LockOrder;
  readonly isJson: boolean;
}

/** A page that fills the terminal. */
export function pageView({ which, isBusyOnly, order }: ViewOptions, context: CliContext): WatchView {
  const paint = paintOf(context);
  let locks: readonly LockView[] = [];
  let isFirst = true;
  let lostAtMs: number | undefined;
  let lostWords = "";
  /** When each lock changed last, by its name. */
  const changedAtMs = new Map<string, number>();
  const summary = (nowMs: number): string => {
    const held = locks.filter(({ holderCount }) => holderCount > 0).length;
    const waiting = locks.reduce((sum, each) => sum + each.waiterCount, 0);
    const last = Math.max(...changedAtMs.values());
    return [
      ...("name" in which ? [] : [`${counted(locks.length, "lock")}, ${held} held, ${waiting} waiting`]),
      ...(changedAtMs.size === 0 ? [] : [`last change ${timeWords(nowMs - last)} ago`]),
      ...(lostAtMs === undefined ? [] : [paint("red", `reconnecting for ${timeWords(nowMs - lostAtMs)}`)]),
    ].join("; ");
  };
  const screen = screenOf(context, () => {
    const nowMs = Date.now();
    const [first] = locks;
    const below = lostWords === "" ? [] : ["", ...lostWords.split("\n").map((line) => paint("red", line))];
    if ("name" in which) {
      const lines = first ? lockPage(first, nowMs, paint).trimEnd().split("\n") : [];
      return { summary: summary(nowMs), body: [...lines, ...below] };
    }
    const shownLocks = locks.filter((lock) => !isBusyOnly || isBusy(lock)).sort(LOCK_ORDERS[order].compare);
    const [head = "", ...rows] = lockTable(shownLocks, nowMs, paint, order).trimEnd().split("\n");
    const marked = rows.map((row, at) => {
      const changedMs = changedAtMs.get(shownLocks[at]?.name ?? "") ?? Number.NEGATIVE_INFINITY;
      return nowMs - changedMs < MARKED_MS ? paint("bold", `* ${row}`) : `  ${row}`;
    });
    return { summary: summary(nowMs), head: [`  ${head}`], body: [...marked, ...below] };
  });
  return {
    show({ changed, gone }, state) {
      locks = state.locks;
      lostAtMs = undefined;
      lostWords = "";
      // Where everything is new, nothing has changed.
      if (!isFirst) for (const { name } of changed) changedAtMs.set(name, Date.now());
      for (const name of gone) changedAtMs.delete(name);
      isFirst = false;
      screen.draw();
    },
    reconnecting(address) {
      if (isFirst) return;
      lostAtMs = address === null ? undefined : (lostAtMs ?? Date.now());
      screen.draw();
    },
    lost(sentence) {
      lostAtMs ??= Date.now();
      lostWords = sentence.trimEnd();
      screen.draw();
    },
    close: screen.close,
  };
}

/** Lines that nobody redraws. */
export function linesView({ isBusyOnly, order, isJson }: ViewOptions, { out, err }: CliContext): WatchView {
  let isLost = false;
  let isFirst = true;
  let later: NodeJS.Timeout | undefined;
  /** With --busy: the locks whose last line had them busy. */
  const busy = new Set<string>();
  const isWanted = (lock: LockView): boolean => {
    if (!isBusyOnly) return true;
    if (isBusy(lock)) return Boolean(busy.add(lock.name));
    // That it is free again is the last that is said of it.
    return busy.delete(lock.name);
  };
  return {
    show({ beganAnew, changed, gone }) {
      isLost = false;
      isFirst = false;
      clearTimeout(later);
      if (beganAnew)
        err("rowlock: The watch began anew: it shows only the latest state of what changed meanwhile.\n");
      const now = new Date();
      const at = isJson ? now.toISOString() : localTime(now);
      for (const lock of [...changed].sort(LOCK_ORDERS[order].compare).filter(isWanted))
        out(isJson ? jsonLine({ at, ...lock }) : `${at} ${lockLine(lock, now.getTime())}\n`);
      for (const name of gone.filter((each) => !isBusyOnly || busy.delete(each)))
        out(isJson ? jsonLine({ at, name, forgotten: true }) : `${at} ${shown(name)}: forgotten\n`);
    },
    reconnecting(address) {
      clearTimeout(later);
      if (isFirst || isLost || address === null) return;
      const words = `The connection to ${address} was lost: reconnecting.`;
      later = setTimeout(() => err(said(words)), RECONNECTING_AFTER_MS);
    },
    lost(sentence) {
      clearTimeout(later);
      if (!isLost) err(sentence);
      isLost = true;
    },
    close: () => clearTimeout(later),
  };
}
