// What the page shows, kept in the hash of its address, so that a link shows the same to somebody else. A token is never
// in it.

import { Store } from "./store.ts";

export type View = "locks" | "lock" | "limits" | "changes" | "activity" | "unknown";
const VIEWS: readonly View[] = ["locks", "lock", "limits", "changes", "activity"];

export interface Route {
  readonly view: View;
  /** Of the view `lock`; of `unknown`, what is no view. */
  readonly name: string;
  /** What else the view keeps there, such as a prefix. */
  readonly options: Readonly<Record<string, string>>;
}

export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", name = ""] = path.split("/", 2);
  const options = Object.fromEntries(new URLSearchParams(query));
  const known = view === "" ? "locks" : (VIEWS.find((each) => each === view) ?? "unknown");
  return {
    view: known,
    name: known === "lock" ? decoded(name) : known === "unknown" ? decoded(view) : "",
    options,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Somebody has cut the link.
    return text;
  }
}

export function hashOf({ view, name, options }: Route): string {
  const query = new URLSearchParams(Object.entries(options).filter(([, value]) => value !== "")).toString();
  return `#/${view}${view === "lock" ? `/${encodeURIComponent(name)}` : ""}${query === "" ? "" : `?${query}`}`;
}

export function lockHash(name: string): string {
  return hashOf({ view: "lock", name, options: {} });
}

/** All locks whose names begin with this, free ones too. */
export function prefixHash(prefix: string): string {
  return hashOf({ view: "locks", name: "", options: { prefix, all: "1" } });
}

export const route = new Store<Route>(routeOf(location.hash));

/** Changes an option of this view without a new entry in the browser's history. */
export function setOption(key: string, value: string): void {
  const next = { ...route.value, options: { ...route.value.options, [key]: value } };
  history.replaceState(null, "", hashOf(next));
  route.set(next);
}

window.addEventListener("hashchange", () => route.set(routeOf(location.hash)));
