// The page for people, on the port for operators: what is at which path, who is turned away at the door, and what the page
// asks beside the verbs. Its files are open to all who reach the port; everything else is JSON for their script, which asks
// some of it once a second, so nothing here reads the database.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Identity } from "../access/access.ts";
import type { BoundUse } from "../core/bound-use.ts";
import { seenUnder } from "../grpc/authorize.ts";
import type { Served } from "../grpc/call-frame.ts";
import { badRequest } from "../grpc/messages/call-error.ts";
import { failureOf } from "../grpc/messages/status.ts";
import type { Ready } from "../ops/readiness.ts";
import type { Activity } from "./activity.ts";
import { Assets, type Files } from "./assets.ts";
import { type Callers, refusalOf } from "../http/callers.ts";
import { connectError, sendError } from "../http/connect-error.ts";
import { peerOf } from "../http/http-call.ts";
import type { OpenRequests } from "../http/open-requests.ts";

export interface PageOptions {
  readonly callers: Callers;
  /** Requests of pages that are open. */
  readonly open: OpenRequests;
  readonly faultLog: Pick<Served["faultLog"], "failed">;
  readonly files: Files;
  readonly server: {
    readonly version: string;
    /** Product and version. */
    readonly database: string;
    /** The id of this server. */
    readonly replica: string;
  };
  readonly readiness: { readonly latest: Ready };
  readonly activity: Pick<Activity, "body">;
}

interface Route {
  readonly method: "GET" | "POST";
  readonly answer: Answering;
}

/** `identify` also takes a place among the calls of pages, and rejects with an AccessError or a CallError. */
type Read = (request: IncomingMessage, identify: () => Promise<Identity>) => Promise<object>;

const API = "/api/";

export class Page {
  readonly #options: PageOptions;
  readonly #callers: Callers;
  readonly #assets: Assets;
  readonly #open = {
    watches: new OpenPages("watches", PAGE_WATCHES, () => true),
    // A call that has done its work loses nothing but an answer that nobody reads.
    calls: new OpenPages("calls", PAGE_CALLS, ({ writableEnded }) => writableEnded),
  };
  readonly #routes: ReadonlyMap<string, Route>;

  constructor(options: PageOptions) {
    this.#options = options;
    this.#assets = new Assets(options.files);
    this.#callers = new Callers(options);
    const verbs = new VerbCalls(options.served, this.#callers, this.#open);
    this.#routes = new Map([
      ...PAGE_VERBS.map((verb) => route("POST", verb.of.name, (...http) => verbs.answer(verb, ...http))),
      this.#read("about", (...asked) => this.#about(...asked)),
      this.#read("rights", (...asked) => this.#rights(...asked)),
      this.#read("activity", async (_request, identify) => {
        // For everybody who may read any lock.
        seenUnder({ client: { identity: await identify() } }, "ListLocks", "");
        return options.activity.body();
      }),
    ]);
  }

  get bounds(): readonly BoundUse[] {
    return [this.#open.watches.bound, this.#open.calls.bound];
  }

  /** Whether it answers requests for the path. */
  has(path: string): boolean {
    return path.startsWith(API) || this.#assets.has(path);
  }

  /** Answers a request for such a path, as `Answering`. */
  async answer(path: string, ...http: Parameters<Answering>): Promise<void> {
    const [request, response] = http;
    if (!path.startsWith(API)) {
      if (isMethod(["GET", "HEAD"], request, response)) this.#assets.send(path, request, response);
      return;
    }
    const refusal = refusalOf(request, this.#callers.areAsked);
    const found = this.#routes.get(path);
    if (refusal !== null) sendRefusal(response, 403, refusal);
    else if (!found) sendRefusal(response, 404, `There is no ${path}.`);
    else if (isMethod([found.method], request, response) && isJson(request, response))
      await found.answer(...http);
  }

  #read(name: string, read: Read): [string, Route] {
    return route("GET", name, async (request, response, identified) => {
      const identify = async () => {
        const identity = await this.#callers.identify(request, "read");
        if (identity.principal !== "") identified();
        this.#open.calls.enter(identity, response);
        return identity;
      };
      try {
        sendJson(response, 200, await read(request, identify));
      } catch (error) {
        const failure = failureOf(error);
        this.#options.served.faultLog.failed(name, failure, error, undefined, peerOf(request));
        sendFailure(response, failure);
      }
    });
  }

  /** Without the sign-in that the server asks for, only that it asks for one, and whether it is ready. */
  async #about(...[request, identify]: Parameters<Read>) {
    const { server, readiness } = this.#options;
    const { latest } = readiness;
    const signIn = this.#callers.signIn(request);
    const isKnown = signIn.signIn === "none" || request.headers.authorization !== undefined;
    const identity = isKnown ? await identify() : null;
    const whyNot = identity ? this.#callers.whyNotAct(identity) : "Sign in with a token.";
    return {
      version: identity && server.version,
      database: identity && server.database,
      replica: identity && server.replica,
      ready: latest.ready,
      notReady: latest.ready ? null : latest.reason,
      ...signIn,
      principal: identity?.principal || null,
      mayAct: whyNot === null,
      whyNot,
      now: Date.now(),
    };
  }

  /** Which verbs may be called on `?name=` or `?pattern=`, which ends with a star. */
  async #rights(...[request, identify]: Parameters<Read>) {
    const identity = await identify();
    const asked = new URL(request.url ?? "", "http://page").searchParams;
    const [name, pattern] = [asked.get("name"), asked.get("pattern")];
    if ((name === null) === (pattern === null) || pattern?.endsWith("*") === false)
      throw badRequest([{ field: "name", description: "ask for ?name=NAME or for ?pattern=PREFIX*" }]);
    const mayAct = this.#callers.whyNotAct(identity) === null;
    const may = (verb: string) => mayAct && mayOn(identity, verb, name, pattern);
    return {
      forceRelease: may("ForceRelease"),
      setLimit: may("SetLimit"),
      updateRecord: may("UpdateRecord"),
    };
  }
}

/** Only limits can be set for a pattern. */
function mayOn({ allowed }: Identity, verb: string, name: string | null, pattern: string | null): boolean {
  const needed = { verb, right: "operate" } as const;
  if (name !== null) return allowed.on(needed, name);
  return pattern !== null && verb === "SetLimit" && allowed.under(needed, pattern.slice(0, -1));
}

function route(method: Route["method"], name: string, answer: Answering): [string, Route] {
  return [API + name, { method, answer }];
}

function isMethod(methods: readonly string[], request: IncomingMessage, response: ServerResponse): boolean {
  if (methods.includes(request.method ?? "")) return true;
  response.setHeader("allow", methods.join(", "));
  sendRefusal(response, 405, `Only ${methods.join(" and ")}.`);
  return false;
}

/** Whether a body is JSON, if the request may have one. */
function isJson({ method, headers }: IncomingMessage, response: ServerResponse): boolean {
  if (method === "GET" || /^application\/json *(;|$)/i.test(headers["content-type"] ?? "")) return true;
  sendRefusal(response, 415, "Send the content-type application/json.");
  return false;
}
