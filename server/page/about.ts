// What the page asks beside the verbs: which server this is, who uses the page and what they may do, and the rates of
// the last minutes. Asked once a second, so nothing here reads the database.

import type { IncomingMessage } from "node:http";
import type { Identity } from "../access/access.ts";
import { seenUnder } from "../grpc/authorize.ts";
import { badRequest } from "../grpc/messages/call-error.ts";
import type { Ready } from "../ops/readiness.ts";
import type { Callers } from "./callers.ts";
import type { Rates, RatesBody } from "./rates.ts";

/** Which server this is. */
export interface AboutServer {
  readonly version: string;
  /** Product and version. */
  readonly database: string;
  /** The id of this server. */
  readonly replica: string;
}

export interface AboutOptions {
  readonly server: AboutServer;
  readonly callers: Callers;
  readonly readiness: { readonly latest: Ready };
  readonly rates: Pick<Rates, "body">;
}

/** Which verbs may be called on a name or pattern. */
type RightsBody = Readonly<Record<"forceRelease" | "setLimit" | "updateRecord", boolean>>;

/** Takes a place among the calls of pages. Throws a CallError if there is none. */
export type Enter = (identity: Identity) => void;

/** Each method rejects with an AccessError or a CallError, and takes a place once it is known who asks. */
export class About {
  readonly #options: AboutOptions;

  constructor(options: AboutOptions) {
    this.#options = options;
  }

  /** Without the sign-in that the server asks for, only that it asks for one, and whether it is ready. */
  async server(request: IncomingMessage, enter: Enter) {
    const { server, callers, readiness } = this.#options;
    const { latest } = readiness;
    const signIn = callers.signIn(request);
    const isKnown = signIn.signIn === "none" || request.headers.authorization !== undefined;
    const identity = isKnown ? await callers.identify(request, "read") : null;
    if (identity) enter(identity);
    const whyNot = identity ? callers.whyNotAct(identity) : "Sign in with a token.";
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

  /** What may be done to `?name=` or `?pattern=`, which ends with a star. */
  async rights(request: IncomingMessage, enter: Enter): Promise<RightsBody> {
    const { callers } = this.#options;
    const identity = await callers.identify(request, "read");
    enter(identity);
    const asked = new URL(request.url ?? "", "http://page").searchParams;
    const [name, pattern] = [asked.get("name"), asked.get("pattern")];
    if ((name === null) === (pattern === null) || pattern?.endsWith("*") === false)
      throw badRequest([{ field: "name", description: "ask for ?name=NAME or for ?pattern=PREFIX*" }]);
    const mayAct = callers.whyNotAct(identity) === null;
    const may = (verb: string) => mayAct && mayOn(identity, verb, name, pattern);
    return {
      forceRelease: may("ForceRelease"),
      setLimit: may("SetLimit"),
      updateRecord: may("UpdateRecord"),
    };
  }

  /** For everybody who may read any lock. */
  async rates(request: IncomingMessage, enter: Enter): Promise<RatesBody> {
    const { callers, rates } = this.#options;
    const identity = await callers.identify(request, "read");
    enter(identity);
    seenUnder({ client: { identity } }, "ListLocks", "");
    return rates.body();
  }
}

/** Only limits can be set for a pattern. */
function mayOn({ allowed }: Identity, verb: string, name: string | null, pattern: string | null): boolean {
  const needed = { verb, right: "operate" } as const;
  if (name !== null) return allowed.on(needed, name);
  return pattern !== null && verb === "SetLimit" && allowed.under(needed, pattern.slice(0, -1));
}
