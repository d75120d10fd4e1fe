// Who calls over HTTP, and what for: the gate of gRPC decides if there is one. A server that asks nobody who calls shows everything at
// the port for operators to whoever reaches it, or to whoever has a token for the metrics if these need one; it takes changes
// there only if other machines cannot reach it. Refuses what another web site may have sent by the browser of somebody who can
// reach this server.

import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { TLSSocket } from "node:tls";
import { type Gate, type Identity, NOBODY } from "../access/access.ts";
import {
  AccessError,
  credentialsMissing,
  credentialsWrong,
  severalCredentials,
} from "../access/access-error.ts";
import type { MetricsTokens } from "../access/bearer.ts";
import { EVERYTHING } from "../access/policy.ts";
import type { Right } from "../access/rights.ts";
import { isLoopback } from "../config/addresses.ts";
import { peerHost } from "./http-call.ts";

export interface CallersOptions {
  /** null: the server asks nobody who calls. */
  readonly gate: Gate | null;
  /** Whether the gate knows anybody by a token. */
  readonly takesTokens: boolean;
  /** Whether tokens may cross the network without TLS. */
  readonly allowPlaintextTokens: boolean;
  readonly metricsTokens: MetricsTokens;
  /** Whether strangers may do everything where the server asks nobody who calls. Else they may read. */
  readonly strangersMayAct: boolean;
}

const NO_TOKENS =
  "This server knows its callers by their certificates only, and over HTTP each needs a token: set ROWLOCK_TOKENS_FILE, too.";
const NO_TLS =
  "Others on the network could read your token: set ROWLOCK_METRICS_TLS, or come over a tunnel that ends at the server's " +
  "machine. Where nobody can listen, set ROWLOCK_ALLOW_PLAINTEXT_TOKENS.";
const READS_ONLY =
  "This server asks nobody who calls, and other machines can reach this page, so the page only reads: set " +
  "ROWLOCK_TOKENS_FILE, and sign in.";

type Request = Pick<IncomingMessage, "headers" | "socket"> &
  Partial<Pick<IncomingMessage, "headersDistinct">>;

export class Callers {
  readonly #options: CallersOptions;

  constructor(options: CallersOptions) {
    this.#options = options;
  }

  /** Whether a request needs a token. */
  get areAsked(): boolean {
    return this.#options.gate !== null || this.#options.metricsTokens.areAsked;
  }

  /** What the page says of signing in. `mayNotSignIn`: why nobody can over this connection; null: with a token. */
  signIn(request: Request) {
    if (!this.areAsked) return { signIn: "none", mayNotSignIn: null };
    return { signIn: "token", mayNotSignIn: this.#mayNotSignIn(request) };
  }

  /** Who asks for something that needs this right. Throws, or rejects with, an AccessError. */
  identify(request: Request, right: Right): Identity | Promise<Identity> {
    const { authorization: first } = request.headers;
    // Of several headers, Node shows only the first among `headers`.
    const authorization = request.headersDistinct?.authorization ?? (first === undefined ? [] : [first]);
    const { gate } = this.#options;
    if (!gate) return this.#ofOpenServer(authorization, right);
    const why = this.#mayNotSignIn(request);
    if (why !== null && authorization.length === 0) throw new AccessError("CREDENTIALS_MISSING", why);
    if (why !== null) throw credentialsWrong(why);
    // Without the certificate that the gate would name, too.
    if (authorization.length === 0) throw credentialsMissing("send `authorization: Bearer TOKEN`");
    return gate.identify({ authorization, certificate: () => null });
  }

  /** Why nobody with this identity may change anything; null: there are locks on which they may. */
  whyNotAct({ principal, allowed }: Identity): string | null {
    if (!this.#options.gate) return this.#options.strangersMayAct ? null : READS_ONLY;
    const may = ACTS.some((verb) => allowed.within({ verb, right: "operate" }, "") !== null);
    return may ? null : `The policy of this server gives ${principal} no right to change anything.`;
  }

  #ofOpenServer(given: readonly string[], right: Right): Identity {
    const { metricsTokens } = this.#options;
    if (given.length > 1) throw severalCredentials();
    const [authorization] = given;
    const isKnown = () => !metricsTokens.areAsked || metricsTokens.knows(authorization);
    if (authorization === undefined && !isKnown())
      throw credentialsMissing("sign in with a token of ROWLOCK_METRICS_TOKEN_FILE");
    if (!isKnown()) throw credentialsWrong("the server does not know the token");
    if (right !== "read" && !this.#options.strangersMayAct)
      throw new AccessError("RIGHT_MISSING", READS_ONLY, { right });
    if (!metricsTokens.areAsked) return NOBODY;
    const ended = () => (isKnown() ? null : credentialsWrong("they are not in force any more"));
    return { principal: "", allowed: EVERYTHING, quota: {}, labels: null, ended };
  }

  #mayNotSignIn({ socket }: Request): string | null {
    const { gate, takesTokens, allowPlaintextTokens } = this.#options;
    if (!gate) return null;
    if (!takesTokens) return NO_TOKENS;
    const isSafe = (socket as TLSSocket).encrypted || isLoopback(peerHost(socket)) || allowPlaintextTokens;
    return isSafe ? null : NO_TLS;
  }
}

/** What the page can do beside reading. */
const ACTS = ["ForceRelease", "SetLimit", "UpdateRecord"] as const;

/** What browsers say of requests by the page itself; older browsers and other programs say nothing. */
const OWN_SITES: readonly unknown[] = [undefined, "same-origin", "none"];

/**
 * `asksWhoCalls`: a request needs a token, which another site does not have. Without that, its host must be an address or
 * localhost: whoever owns a name may lead it here while somebody looks at their site. `origins`: other sites that may call.
 */
export function refusalOf(
  { headers }: Pick<IncomingMessage, "headers">,
  asksWhoCalls: boolean,
  origins: ReadonlySet<string> = NO_ORIGINS,
): string | null {
  const { host = "", origin } = headers;
  if (origin !== undefined && origins.has(origin)) return null;
  if (!OWN_SITES.includes(headers["sec-fetch-site"]))
    return `Another web site has sent this request. ${NAME_IT}`;
  if (origin !== undefined && !isOriginOf(host, origin))
    return `The request comes from ${origin}, and this is ${host}: a proxy in between must keep the header host. ${NAME_IT}`;
  if (!asksWhoCalls && !isPlainHost(host))
    return (
      `This server asks nobody who calls, so it answers every caller only at an IP address or localhost, and not at "${host}": ` +
      "call it by its IP address, or set ROWLOCK_TOKENS_FILE."
    );
  return null;
}

const NAME_IT =
  "If the pages of another site shall call, name it in ROWLOCK_HTTP_ORIGINS, and call at the address of ROWLOCK_HTTP_LISTEN.";
const NO_ORIGINS: ReadonlySet<string> = new Set();

/** By the host alone: a proxy may speak TLS with the browser and not with this server. */
function isOriginOf(host: string, origin: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === hostOf(host)?.host;
}

function isPlainHost(host: string): boolean {
  const name = hostOf(host)?.hostname ?? "";
  return name === "localhost" || isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
}

function hostOf(host: string): URL | null {
  const url = `http://${host}/`;
  return URL.canParse(url) ? new URL(url) : null;
}
