// The page for people, on the port for operators: what is at which path, and what the page asks beside the verbs, which it calls at the
// door as everybody does. Its files are open to all who reach the port; everything else is JSON for their script, which asks some of
// it once a second, so nothing here reads the database.

import type { IncomingMessage, ServerResponse } from "node:http";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Identity } from "../access/access.ts";
import { seenUnder } from "../grpc/authorize.ts";
import type { Served } from "../grpc/call-frame.ts";
import { badRequest } from "../grpc/messages/call-error.ts";
import { failureOf } from "../grpc/messages/status.ts";
import { type Callers, refusalOf } from "../http/callers.ts";
import { connectError, sendError } from "../http/connect-error.ts";
import { peerOf } from "../http/http-call.ts";
import type { OpenRequests } from "../http/open-requests.ts";
import type { Ready } from "../ops/readiness.ts";
import type { Activity } from "./activity.ts";
import { Assets, type Files } from "./assets.ts";

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

/** `identify` also takes a place among the calls of pages, and rejects with an AccessError or a CallError. */
type Read = (request: IncomingMessage, identify: () => Promise<Identity>) => Promise<object>;

const API = "/api/";
/** The page's script sends it with each request: another web site could send it only if this server allowed that. */
const OWN_HEADER = "x-rowlock-page";

export class Page {
  readonly #options: PageOptions;
  readonly #assets: Assets;
  readonly #reads: ReadonlyMap<string, Read>;

  constructor(options: PageOptions) {
    this.#options = options;
    this.#assets = new Assets(options.files);
    this.#reads = new Map<string, Read>([
      [`${API}about`, (...asked) => this.#about(...asked)],
      [`${API}rights`, (...asked) => this.#rights(...asked)],
      [
        `${API}activity`,
        async (_request, identify) => {
          // For everybody who may read any lock.
          seenUnder({ client: { identity: await identify() } }, "ListLocks", "");
          return options.activity.body();
        },
      ],
    ]);
  }

  /** Whether it answers requests for the path. */
  has(path: string): boolean {
    return path.startsWith(API) || this.#assets.has(path);
  }

  /** Answers a request for such a path. `identified`: to be called when the sender has proved who it is. */
  async answer(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    identified: () => void,
  ): Promise<void> {
    const read = this.#reads.get(path);
    const isFile = !path.startsWith(API);
    const refusal = isFile ? null : this.#refusalOf(request);
    if (refusal !== null) sendError(response, new ConnectError(refusal, Code.PermissionDenied));
    else if (!isFile && !read) sendError(response, new ConnectError(`There is no ${path}.`, Code.NotFound));
    else if (request.method !== "GET" && !(isFile && request.method === "HEAD")) {
      response.setHeader("allow", isFile ? "GET, HEAD" : "GET");
      response.writeHead(405).end();
    } else if (read) await this.#answer(path, read, request, response, identified);
    else this.#assets.send(path, request, response);
  }

  #refusalOf(request: IncomingMessage): string | null {
    if (request.headers[OWN_HEADER] !== "1") return `Send the header ${OWN_HEADER}: 1, as the page does.`;
    return refusalOf(request, this.#options.callers.areAsked);
  }

  async #answer(
    path: string,
    read: Read,
    request: IncomingMessage,
    response: ServerResponse,
    identified: () => void,
  ): Promise<void> {
    const { callers, open, faultLog } = this.#options;
    const identify = async () => {
      const identity = await callers.identify(request, "read");
      if (identity.principal !== "") identified();
      open.enter(identity, response);
      return identity;
    };
    try {
      const text = JSON.stringify(await read(request, identify));
      response.writeHead(200, {
        "content-type": "application/json; charset=utf-8",
        "content-length": Buffer.byteLength(text),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
      });
      response.end(text);
    } catch (error) {
      const failure = failureOf(error);
      faultLog.failed(path.slice(API.length), failure, error, undefined, peerOf(request));
      sendError(response, connectError(failure));
    }
  }

  /** Without the sign-in that the server asks for, only that it asks for one, and whether it is ready. */
  async #about(...[request, identify]: Parameters<Read>) {
    const { server, readiness } = this.#options;
    const { latest } = readiness;
    const signIn = this.#options.callers.signIn(request);
    const isKnown = signIn.signIn === "none" || request.headers.authorization !== undefined;
    const identity = isKnown ? await identify() : null;
    const whyNot = identity ? this.#options.callers.whyNotAct(identity) : "Sign in with a token.";
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
    const mayAct = this.#options.callers.whyNotAct(identity) === null;
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
