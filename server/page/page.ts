// The page for people, on the port for operators: what is at which path, and who is turned away at the door. Its files
// are open to all who reach the port; everything else is JSON for their script.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { BoundUse } from "../core/bound-use.ts";
import type { Served } from "../grpc/call-frame.ts";
import { tooManyOfPages } from "../grpc/messages/call-error.ts";
import { failureOf } from "../grpc/messages/status.ts";
import { About, type AboutOptions } from "./about.ts";
import { sendFailure, sendJson, sendRefusal } from "./answers.ts";
import { Assets, type Files } from "./assets.ts";
import { Callers, type CallersOptions } from "./callers.ts";
import { refusalOf } from "./other-sites.ts";
import { PAGE_CALLS_MAX, PAGE_WATCHES_MAX } from "./page-bounds.ts";
import { peerOf } from "./page-call.ts";
import { Room } from "./room.ts";
import { PAGE_VERBS, VerbCalls } from "./verb-calls.ts";

export interface PageOptions extends CallersOptions, Omit<AboutOptions, "callers"> {
  readonly served: Served;
  readonly files: Files;
}

/** Answers a request. Rejects if the browser goes before it has sent all of it. */
type Answering = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface Route {
  readonly method: "GET" | "POST";
  readonly answer: Answering;
}

const API = "/api/";

export class Page {
  readonly #callers: Callers;
  readonly #assets: Assets;
  readonly #served: Served;
  readonly #watches = new Room("page_watches", PAGE_WATCHES_MAX);
  readonly #calls = new Room("page_calls", PAGE_CALLS_MAX);
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
      this.#read("about", (request) => about.server(request)),
      this.#read("rights", (request) => about.rights(request)),
      this.#read("rates", (request) => about.rates(request)),
    ]);
  }

  get bounds(): readonly BoundUse[] {
    return [this.#watches.bound, this.#calls.bound];
  }

  /** Whether it answers requests for the path. */
  has(path: string): boolean {
    return path.startsWith(API) || this.#assets.has(path);
  }

  /** Answers a request for such a path. Rejects if the browser goes before it has sent all of it. */
  async answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!path.startsWith(API)) {
      if (isMethod(["GET", "HEAD"], request, response)) this.#assets.send(path, request, response);
      return;
    }
    const refusal = refusalOf(request, this.#callers.areAsked);
    const found = this.#routes.get(path);
    if (refusal !== null) sendRefusal(response, 403, refusal);
    else if (!found) sendRefusal(response, 404, `There is no ${path}.`);
    else if (isMethod([found.method], request, response) && isJson(request, response))
      await found.answer(request, response);
  }

  #read(name: string, read: (request: IncomingMessage) => Promise<object>): [string, Route] {
    return route("GET", name, async (request, response) => {
      try {
        if (!this.#calls.enter(response)) throw tooManyOfPages("calls");
        sendJson(response, 200, await read(request));
      } catch (error) {
        const failure = failureOf(error);
        this.#served.faultLog.failed(name, failure, error, undefined, peerOf(request));
        sendFailure(response, failure);
      }
    });
  }
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
