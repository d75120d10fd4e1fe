// The frame of the page: where one can go, whether the server is there, who has signed in, and the view.

import { useEffect, useRef } from "preact/hooks";
import { ActivityView } from "./activity-view.tsx";
import { token } from "./api.ts";
import { ChangesView } from "./changes-view.tsx";
import { type Connection, connection, serverNowMs } from "./connection.ts";
import { Keys } from "./keys.tsx";
import { LimitsView } from "./limits-view.tsx";
import { LockView } from "./lock-view.tsx";
import { LocksView } from "./locks-view.tsx";
import { done, Text, useNowMs } from "./parts.tsx";
import { type Route, route } from "./route.ts";
import { SignIn } from "./sign-in.tsx";
import { useStore } from "./store.ts";
import { nextTheme, theme } from "./theme.ts";
import { ageWords, clockWords, shown, zoneWords } from "./words.ts";

const PLACES = [
  ["locks", "Locks"],
  ["limits", "Limits"],
  ["changes", "Changes"],
  ["activity", "Activity"],
] as const;

export function App() {
  const where = useStore(route);
  const state = useStore(connection);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const title =
    where.view === "lock"
      ? shown(where.name)
      : (PLACES.find(([view]) => view === where.view)?.[1] ?? "Nothing here");
  // Another view begins at its top, for screen readers too.
  useEffect(() => {
    document.title = `${title} - Rowlock`;
    if (!isFirst.current) {
      main.current?.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    isFirst.current = false;
  }, [where.view, where.name]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <Head where={where} state={state} />
      <Banner state={state} />
      <main id="main" tabIndex={-1} ref={main} class={state.awaySinceMs === null ? "" : "stale"}>
        <Content where={where} state={state} />
      </main>
      <Foot state={state} />
      <Keys />
    </>
  );
}

function Content({ where, state }: { where: Route; state: Connection }) {
  const { about, refused } = state;
  if (refused !== null || (about?.signIn === "token" && token.value === null)) return <SignIn />;
  if (about === null) return null;
  switch (where.view) {
    case "locks":
      return <LocksView options={where.options} />;
    case "lock":
      return <LockView key={where.name} name={where.name} range={where.options.range ?? ""} />;
    case "limits":
      return <LimitsView />;
    case "changes":
      return <ChangesView prefix={where.options.prefix ?? ""} />;
    case "activity":
      return <ActivityView />;
    case "unknown":
      return (
        <p class="empty">
          There is no page <Text text={where.name} /> here. <a href="#/locks">All locks</a>
        </p>
      );
  }
}

function Head({ where, state }: { where: Route; state: Connection }) {
  const chosen = useStore(theme);
  const { about } = state;
  const current = where.view === "lock" ? "locks" : where.view;
  return (
    <header>
      <span class="brand">
        <svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
          <rect width="16" height="16" rx="4" class="logo" />
          <rect x="4" y="4.5" width="8" height="2.5" rx="1" class="logo-bar" />
          <rect x="4" y="9" width="4.5" height="2.5" rx="1" class="logo-bar" />
        </svg>
        Rowlock
      </span>
      <nav aria-label="Views">
        {PLACES.map(([view, title]) => (
          <a key={view} href={`#/${view}`} aria-current={view === current ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <span class="tools">
        <Light state={state} />
        <button type="button" class="quiet" onClick={nextTheme} title="Light, dark, or as the system has it">
          <span class="theme">Colours: </span>
          <span>{chosen}</span>
        </button>
        {token.value !== null ? (
          <button type="button" class="quiet" onClick={() => token.set(null)}>
            Sign out
            {about?.principal ? (
              <span class="principal">
                {" "}
                <Text text={about.principal} />
              </span>
            ) : null}
          </button>
        ) : null}
      </span>
    </header>
  );
}

/** A dot and a word: is what the page shows from now? */
function Light({ state }: { state: Connection }) {
  const [kind, word] =
    state.awaySinceMs !== null
      ? ["bad", "away"]
      : state.about === null
        ? ["", "asking"]
        : state.about.ready
          ? ["good", "up"]
          : ["warn", "not ready"];
  return (
    <span class={`light ${kind}`}>
      <span aria-hidden="true" class="dot" />
      {word}
    </span>
  );
}

/** What is wrong with the server. A status for screen readers: it says a change, and not each second. */
function Banner({ state: { about, awaySinceMs, aheadMs } }: { state: Connection }) {
  const nowMs = useNowMs();
  const isAway = awaySinceMs !== null;
  const away = isAway
    ? `The server has not answered since ${clockWords(awaySinceMs)}. ${about ? "What you see is from then. " : ""}The page asks again each second.`
    : "";
  const notReady =
    !isAway && about?.ready === false
      ? `The server is not ready: ${about.notReady ?? "no reason given"}`
      : "";
  return (
    <div role="status" class={away || notReady ? `banner ${isAway ? "bad" : "warn"}` : "sr"}>
      {away || shown(notReady) || null}
      {isAway ? <span aria-hidden="true"> {ageWords(nowMs - aheadMs - awaySinceMs)} ago.</span> : null}
    </div>
  );
}

function Foot({ state: { about } }: { state: Connection }) {
  const last = useStore(done);
  return (
    <footer>
      <p role="status" class={last ? "done" : "sr"}>
        {last || null}
      </p>
      {about ? (
        <p>
          {[
            `Rowlock ${about.version ?? ""}`,
            about.replica && `server ${about.replica}`,
            about.database,
            about.principal && `signed in as ${about.principal}`,
            !about.mayAct && about.whyNot,
            `times are of ${zoneWords(serverNowMs())}`,
          ]
            .filter(Boolean)
            .map((words) => shown(String(words)))
            .join(" · ")}
        </p>
      ) : null}
    </footer>
  );
}
