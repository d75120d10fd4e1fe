// The list of locks: the ones that are busy now, or all, under a prefix, and with a part of what is shown. Draws only the rows that can be seen, so that
// 10,000 locks cost no more than thirty.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { chosen, inOrder, inOrderBefore, ORDERS, type Order } from "./chosen-locks.ts";
import { useFollowedLocks } from "./followed-locks.ts";
import type { Row } from "./locks-feed.ts";
import { Chips, Held, LockLink, Name, Trouble, useNowMs } from "./parts.tsx";
import { setOption } from "./route.ts";
import { ageWords, counted, someOf, whoWords } from "./words.ts";

/** How long nobody types before the server is asked for another prefix. */
const TYPED_MS = 300;
/** Rows drawn above and below what can be seen. */
const BEYOND = 8;

export function LocksView({ options }: { options: Readonly<Record<string, string>> }) {
  const { prefix = "", part = "", all = "" } = options;
  const order: Order = Object.hasOwn(ORDERS, options.order ?? "") ? (options.order as Order) : "wait";
  const asked = useSettled(prefix, TYPED_MS);
  const { rows, version, state, trouble } = useFollowedLocks(asked);
  const [isHeld, setHeld] = useState(false);
  const before = useRef<readonly Row[]>([]);
  const orderBefore = useRef(order);
  // The rows change in place; their version says when.
  const list = useMemo(() => {
    const found = chosen(rows, { prefix, part, isAll: all !== "" });
    const sorted = inOrder(found, order);
    // Who asks for another order, with the pointer on the head of a column, wants it now.
    const isKept = isHeld && orderBefore.current === order;
    before.current = isKept ? inOrderBefore(sorted, before.current) : sorted;
    orderBefore.current = order;
    return before.current;
  }, [rows, version, prefix, part, all, order, isHeld]);
  const waiting = list.reduce((sum, row) => sum + row.waiting, 0);
  const count = `${counted(list.length, all === "" ? "busy lock" : "lock")}, ${counted(waiting, "waiter")}`;
  return (
    <>
      <h1 class="sr">Locks</h1>
      <search>
        <form class="bar" onSubmit={(event) => event.preventDefault()}>
          <label class="grow">
            <span class="sr">Names that begin with</span>
            <input
              type="search"
              placeholder="Names that begin with, such as etl/"
              value={prefix}
              autocapitalize="off"
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => setOption("prefix", event.currentTarget.value)}
            />
          </label>
          <label class="grow">
            <span class="sr">A part of a name, an owner, a label or a status</span>
            <input
              type="search"
              placeholder="Name, owner, label or status with"
              title="A part of a name, an owner, a label (team=data) or a status, among the locks here"
              value={part}
              autocapitalize="off"
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => setOption("part", event.currentTarget.value)}
            />
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={all !== ""}
              onChange={(event) => setOption("all", event.currentTarget.checked ? "1" : "")}
            />
            Idle locks too
          </label>
          <label>
            <span class="sr">Order</span>
            <select value={order} onChange={(event) => setOption("order", event.currentTarget.value)}>
              {Object.entries(ORDERS).map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          <span class={`dim hint ${isHeld ? "" : "gone"}`} aria-hidden="true">
            order held
          </span>
          <Count text={state === "coming" ? `Reading: ${counted(rows.size, "lock")} so far` : count} />
        </form>
      </search>
      <Trouble text={trouble === null ? null : `Not live: ${trouble}`} />
      {state === "polled" ? (
        <p class="note">
          There are more than 20,000 locks here, too many to follow. These are busy ones, up to 2,000, read
          every 2 s. Type more of a name to see all of its locks live.
        </p>
      ) : null}
      {list.length > 0 ? (
        <Table list={list} order={order} onHold={setHeld} />
      ) : state === "coming" ? null : (
        <Empty prefix={prefix} part={part} isAll={all !== ""} isNone={rows.size === 0} />
      )}
    </>
  );
}

function Empty({
  prefix,
  part,
  isAll,
  isNone,
}: {
  prefix: string;
  part: string;
  isAll: boolean;
  isNone: boolean;
}) {
  if (part !== "")
    return (
      <p class="empty">
        {isAll ? "No lock" : "No busy lock"}
        {prefix === "" ? "" : <> under {<Name text={prefix} />}</>} has <Name text={part} /> in its name, its
        owners, its labels or its status. {isAll ? "" : "Idle locks are found by how their names begin."}
      </p>
    );
  return (
    <p class="empty">
      {prefix === "" ? "No lock is " : <>No lock under {<Name text={prefix} />} is </>}
      {isAll ? "known." : "held or waited for now."}
      {prefix === "" && isNone ? (
        <>
          {" "}
          Take the first one: <code>rowlock run hello -- sleep 60</code>
        </>
      ) : null}
    </p>
  );
}

/** Said to screen readers when it has not changed for a while, because it may change ten times a second. */
function Count({ text }: { text: string }) {
  const settled = useSettled(text, 1_500);
  return (
    <span class="count">
      <span aria-hidden="true">{text}</span>
      <span role="status" class="sr">
        {settled}
      </span>
    </span>
  );
}

/** The value once it has stayed the same for this long. */
function useSettled<Value>(value: Value, ms: number): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** Where the list has few columns, and rows of two lines; page.css has the same width. */
const NARROW = matchMedia("(max-width: 900px)");
const [COLUMNS, NARROW_COLUMNS] = [7, 3];

interface TableProps {
  readonly list: readonly Row[];
  readonly order: Order;
  readonly onHold: (isHeld: boolean) => void;
}

function Table({ list, order, onHold }: TableProps) {
  const nowMs = useNowMs();
  const body = useRef<HTMLTableSectionElement>(null);
  const isNarrow = useMedia(NARROW);
  const rowPx = isNarrow ? 56 : 37;
  const columns = isNarrow ? NARROW_COLUMNS : COLUMNS;
  const [from, until] = useSeen(body, list.length, rowPx);
  const wanted = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    const link = body.current?.querySelector<HTMLElement>(`[data-at="${wanted.current}"] a`);
    // A row that is far away is drawn once the page has scrolled to it.
    if (!link) return;
    link.focus({ preventScroll: true });
    wanted.current = null;
  });
  const [, redraw] = useState(0);
  const onKeyDown = (event: KeyboardEvent) => {
    const at = Number((event.target as HTMLElement).closest<HTMLElement>("[data-at]")?.dataset.at ?? "-1");
    const page = Math.max(1, Math.floor(innerHeight / rowPx) - 4);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: list.length - 1,
    };
    const step = steps[event.key];
    if (step === undefined || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(list.length - 1, step));
    wanted.current = next;
    const top = (body.current?.getBoundingClientRect().top ?? 0) + scrollY + next * rowPx;
    const head = 110;
    if (top < scrollY + head) window.scrollTo(0, top - head);
    else if (top + 2 * rowPx > scrollY + innerHeight) window.scrollTo(0, top + 2 * rowPx - innerHeight);
    redraw((count) => count + 1);
  };
  return (
    <table
      class="locks"
      aria-label="Locks"
      aria-rowcount={list.length + 1}
      onKeyDown={onKeyDown}
      onPointerEnter={({ pointerType }) => pointerType === "mouse" && onHold(true)}
      onPointerLeave={() => onHold(false)}
    >
      <thead>
        <tr aria-rowindex={1}>
          <Column by="name" order={order} title="Lock" />
          <th scope="col" class="c-held">
            Held
          </th>
          <Column by="held" order={order} title="Held for" class="c-oldest number wide" />
          <Column by="waiters" order={order} title="Waiting" class="c-waiting number" />
          <Column by="wait" order={order} title="Oldest wait" class="c-oldest number wide" />
          <th scope="col" class="c-status wide">
            Status
          </th>
          <th scope="col" class="c-who wide">
            Held by
          </th>
        </tr>
      </thead>
      <tbody ref={body}>
        {from > 0 ? <Space px={from * rowPx} columns={columns} /> : null}
        {list.slice(from, until).map((row, index) => (
          <LockRow key={row.name} row={row} at={from + index} nowMs={nowMs} isNarrow={isNarrow} />
        ))}
        {until < list.length ? <Space px={(list.length - until) * rowPx} columns={columns} /> : null}
      </tbody>
    </table>
  );
}

interface ColumnProps {
  readonly by: Order;
  readonly order: Order;
  readonly title: string;
  readonly class?: string;
}

/** The head of a column that the list can be sorted by. */
function Column({ by, order, title, class: name }: ColumnProps) {
  const sorted = by === "name" ? "ascending" : "descending";
  return (
    <th scope="col" class={name} aria-sort={by === order ? sorted : undefined}>
      <button type="button" class="sort" title={`Sort: ${ORDERS[by]}`} onClick={() => setOption("order", by)}>
        {title}
        <span aria-hidden="true">{by === order ? (sorted === "ascending" ? " \u2191" : " \u2193") : ""}</span>
      </button>
    </th>
  );
}

/** Stands for rows that are not drawn. One that spanned more columns than there are would make further ones, with a width. */
function Space({ px, columns }: { px: number; columns: number }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: there is nothing in it that could have the focus.
    <tr aria-hidden="true">
      <td colSpan={columns} class="space" style={{ height: `${px}px` }} />
    </tr>
  );
}

interface LockRowProps {
  readonly row: Row;
  readonly at: number;
  readonly nowMs: number;
  readonly isNarrow: boolean;
}

function LockRow({ row, at, nowMs, isNarrow }: LockRowProps) {
  const { lock, name, waiting, oldestMs, heldSinceMs } = row;
  const { holders = [], holderCount = 0 } = lock;
  const age = waiting > 0 ? ageWords(nowMs - oldestMs) : "";
  const who = someOf(holders.map(whoWords), holderCount);
  return (
    <tr data-at={at} aria-rowindex={at + 2}>
      <td>
        <LockLink name={name} />
        {isNarrow ? (
          <span class="under">
            <Chips lock={lock} nowMs={nowMs} /> <bdi>{who}</bdi>
          </span>
        ) : null}
      </td>
      <td class="c-held">
        <Held lock={lock} />
      </td>
      <td class="c-oldest number wide">
        {heldSinceMs === Number.POSITIVE_INFINITY ? "" : ageWords(nowMs - heldSinceMs)}
      </td>
      <td class={`c-waiting number ${waiting > 0 ? "some" : "dim"}`}>
        {waiting.toLocaleString("en")}
        {isNarrow && waiting > 0 ? <span class="under">{age}</span> : null}
      </td>
      <td class="c-oldest number wide">{age}</td>
      <td class="c-status wide">
        <Chips lock={lock} nowMs={nowMs} />
      </td>
      <td class="c-who wide">
        <bdi title={who}>{who}</bdi>
      </td>
    </tr>
  );
}

function useMedia(media: MediaQueryList): boolean {
  const [matches, setMatches] = useState(media.matches);
  useEffect(() => {
    const changed = () => setMatches(media.matches);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, [media]);
  return matches;
}

/** The rows that can be seen, with some beyond them: from, and until but not with. */
function useSeen(body: { current: HTMLElement | null }, count: number, rowPx: number): [number, number] {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    let frame = 0;
    const look = () => {
      frame = 0;
      const above = -(body.current?.getBoundingClientRect().top ?? 0);
      // In steps, so that not every pixel of scrolling draws.
      setTop(Math.max(0, Math.floor(above / rowPx / 4) * 4));
    };
    const later = () => {
      frame ||= requestAnimationFrame(look);
    };
    look();
    window.addEventListener("scroll", later, { passive: true });
    window.addEventListener("resize", later);
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener("scroll", later);
      window.removeEventListener("resize", later);
    };
  }, [body, rowPx]);
  const from = Math.max(0, Math.min(top, count) - BEYOND);
  return [from, Math.min(count, top + Math.ceil(innerHeight / rowPx) + BEYOND)];
}
