// Calls of the server: the verbs of the contract as JSON, the stream of changes, and what the server says of itself.
// Holds the token of whoever has signed in, in the session's storage alone.

import type * as verbs from "#proto/rowlock/v1/lock_service_pb.js";
import { readEvents } from "./event-stream.ts";
import { Store } from "./store.ts";

interface Verbs {
  GetLock: [verbs.GetLockRequestJson, verbs.GetLockResponseJson];
  ListLocks: [verbs.ListLocksRequestJson, verbs.ListLocksResponseJson];
  ListLimits: [verbs.ListLimitsRequestJson, verbs.ListLimitsResponseJson];
  ListClaims: [verbs.ListClaimsRequestJson, verbs.ListClaimsResponseJson];
  ListChanges: [verbs.ListChangesRequestJson, verbs.ListChangesResponseJson];
  ExplainWait: [verbs.ExplainWaitRequestJson, verbs.ExplainWaitResponseJson];
  SetLimit: [verbs.SetLimitRequestJson, verbs.SetLimitResponseJson];
  ForceRelease: [verbs.ForceReleaseRequestJson, verbs.ForceReleaseResponseJson];
  UpdateRecord: [verbs.UpdateRecordRequestJson, verbs.UpdateRecordResponseJson];
}

/** What the server says of itself. */
export interface About {
  /** These three are null for who has not signed in where the server asks for it. */
  readonly version: string | null;
  readonly database: string | null;
  readonly replica: string | null;
  readonly ready: boolean;
  readonly notReady: string | null;
  readonly signIn: "none" | "token";
  readonly principal: string | null;
  readonly mayAct: boolean;
  readonly whyNot: string | null;
  /** Why a token would be refused over this connection. */
  readonly mayNotSignIn: string | null;
  /** The server's clock, in milliseconds. */
  readonly now: number;
}

/** What the caller may do at a lock or with a pattern. */
export interface Rights {
  readonly forceRelease: boolean;
  readonly setLimit: boolean;
  readonly updateRecord: boolean;
}

/** The last minutes of this server, one value a step. */
export interface Activity {
  readonly stepMs: number;
  readonly endMs: number;
  readonly series: Readonly<
    Record<"grants" | "handOvers" | "waitMsP50" | "waitMsP99" | "refused" | "lost", (number | null)[]>
  >;
}

/** The server has answered, and refused. */
export class CallError extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, body: ErrorBody) {
    const of = (type: string) => body.details?.find((detail) => detail.type === type)?.debug;
    const violations = of("google.rpc.BadRequest")?.fieldViolations ?? [];
    const faults = violations.map(({ field, description }) => `${field}: ${description}`);
    // The message of a bad request is its first fault.
    const words = faults.length > 0 ? `${faults.join("; ")}.` : body.message;
    super(words ?? `The server answered with the status ${status}.`);
    this.status = status;
    this.reason = of("google.rpc.ErrorInfo")?.reason ?? body.code ?? "";
  }
}

/** An error as the Connect protocol writes it. */
interface ErrorBody {
  readonly code?: string;
  readonly message?: string;
  readonly details?: readonly { readonly type?: string; readonly debug?: Debug }[];
}

interface Debug {
  readonly reason?: string;
  readonly fieldViolations?: readonly { readonly field?: string; readonly description?: string }[];
}

const CALL_MS_MAX = 15_000;
/** The server sends something every 10 s. */
const SILENCE_MS_MAX = 25_000;
/** Where the verbs of the contract are, by the Connect protocol; a watch as server-sent events. */
const VERBS = "rowlock.v1.LockService/";
const TOKEN_KEY = "rowlock-token";

/** The token, until the tab is closed or somebody signs out. */
export const token = new Store<string | null>(sessionStorage.getItem(TOKEN_KEY));
token.follow(() => {
  if (token.value === null) sessionStorage.removeItem(TOKEN_KEY);
  else sessionStorage.setItem(TOKEN_KEY, token.value);
});

/** Rejects with a CallError if the server refuses, and with another error if there was no answer. */
export async function call<Verb extends keyof Verbs>(
  verb: Verb,
  request: Verbs[Verb][0],
): Promise<Verbs[Verb][1]> {
  const response = await ask(VERBS + verb, AbortSignal.timeout(CALL_MS_MAX), JSON.stringify(request));
  return (await response.json()) as Verbs[Verb][1];
}

export async function getAbout(patienceMs: number): Promise<About> {
  return (await (await ask("api/about", AbortSignal.timeout(patienceMs))).json()) as About;
}

export async function getActivity(): Promise<Activity> {
  return (await (await ask("api/activity", AbortSignal.timeout(CALL_MS_MAX))).json()) as Activity;
}

export async function getRights(of: { name: string } | { pattern: string }): Promise<Rights> {
  const query = new URLSearchParams(of);
  return (await (await ask(`api/rights?${query}`, AbortSignal.timeout(CALL_MS_MAX))).json()) as Rights;
}

/** Follows the locks under a prefix, until the signal aborts. Rejects when the stream ends before that. */
export async function watchLocks(
  prefix: string,
  hear: (message: verbs.WatchLocksResponseJson) => void,
  signal: AbortSignal,
): Promise<void> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS_MAX);
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MS_MAX);
  };
  try {
    const either = AbortSignal.any([signal, silence.signal]);
    const { body } = await ask(`${VERBS}WatchLocks`, either, JSON.stringify({ prefix }));
    await readEvents(
      body as ReadableStream<Uint8Array<ArrayBuffer>>,
      ({ event, data }) => {
        if (event === "end") throw new CallError(200, JSON.parse(data) as ErrorBody);
        hear(JSON.parse(data) as verbs.WatchLocksResponseJson);
      },
      alive,
    );
    throw new Error("The stream of changes has ended.");
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

async function ask(path: string, signal: AbortSignal, body?: string): Promise<Response> {
  const response = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      "x-rowlock-page": "1",
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", accept: "application/json, text/event-stream" }),
      ...(token.value === null ? {} : { authorization: `Bearer ${token.value}` }),
    },
    signal,
    cache: "no-store",
    ...(body === undefined ? {} : { body }),
  });
  if (response.ok) return response;
  throw new CallError(response.status, await errorBody(response));
}

async function errorBody(response: Response): Promise<ErrorBody> {
  const text = await response.text();
  try {
    return JSON.parse(text) as ErrorBody;
  } catch {
    // A proxy in between answers with a page of its own.
    return { message: `The server answered with the status ${response.status}: ${text.slice(0, 200)}` };
  }
}
