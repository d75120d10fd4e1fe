// The page for people, on the port for operators: what is at which path, and who is turned away at the door. Its files
// are open to all who reach the port; everything else is JSON for their script.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Identity } from "../access/access.ts";
import type { BoundUse } from "../core/bound-use.ts";
import type { Served } from "../grpc/call-frame.ts";
import { tooManyOfPages } from "../grpc/messages/call-error.ts";
import { failureOf } from "../grpc/messages/status.ts";
import { About, type AboutOptions, type Enter } from "./about.ts";
import { Assets, type Files } from "./assets.ts";
import { Callers, type CallersOptions, refusalOf } from "./callers.ts";
import { peerOf, sendFailure, sendJson, sendRefusal } from "./http.ts";
import { OpenPages } from "./open-pages.ts";
import { PAGE_CALLS, PAGE_WATCHES } from "./page-bounds.ts";
import { PAGE_VERBS, VerbCalls } from "./verb-calls.ts";

export interface PageOptions extends CallersOptions, Omit<AboutOptions, "callers"> {
  readonly served: Served;
  readonly files: Files;
}

/**
 * Answers a request, and calls `identified` when its sender has proved who it is. Rejects if the browser goes before it
 * has sent all of it.
 */
type Answering = (
  request: IncomingMessage,
  response: ServerResponse,
  identified: () => void,
) => Promise<void>;

interface Route {
  readonly method: "GET" | "POST";
  readonly answer: Answering;
}

const API = "/api/";

export class Page {
  readonly #callers: Callers;
  readonly #assets: Assets;
  readonly #served: Served;
  readonly #watches = new OpenPages("page_watches", PAGE_WATCHES, () => true);
  readonly #calls = new OpenPages("page_calls", PAGE_CALLS, isUnread);
  readonly #routes: ReadonlyMap<string, Route>;

  constructor(options: PageOptions) {
    const { served, files } = options;
    this.#served = served;
    this.#assets = new Assets(files);
    this.#callers = new Callers(options);
    const shared = { served, callers: this.#callers, watches: this.#watches, calls: this.#calls };
    const calls = new VerbCalls(shared);
    const about = new About({ ...options, callers: this.#callers });
    this.#routes = new Map([
      ...PAGE_VERBS.map((verb) => route("POST", verb.of.name, (...http) => calls.answer(verb, ...http))),
      this.#read("about", (...asked) => about.server(...asked)),
      this.#read("rights", (...asked) => about.rights(...asked)),
      this.#read("rates", (...asked) => about.rates(...asked)),
    ]);
  }

  get bounds(): readonly BoundUse[] {
    return [this.#watches.bound, this.#calls.bound];
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

  #read(name: string, read: (request: IncomingMessage, enter: Enter) => Promise<object>): [string, Route] {
    return route("GET", name, async (request, response, identified) => {
      try {
        const enter = (identity: Identity) => {
          if (identity.principal !== "") identified();
          const full = this.#calls.enter(identity, response);
          if (full !== null) throw tooManyOfPages("calls", full);
        };
        sendJson(response, 200, await read(request, enter));
      } catch (error) {
        const failure = failureOf(error);
        this.#served.faultLog.failed(name, failure, error, undefined, peerOf(request));
        sendFailure(response, failure);
      }
    });
  }
}

/** Whether a call has done its work, so that nothing is lost with it but an answer that nobody reads. */
function isUnread({ writableEnded }: ServerResponse): boolean {
  return writableEnded;
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
