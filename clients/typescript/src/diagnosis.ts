// Finds out why no server has answered: connects to each address as any client would, and looks at what comes back. Runs
// only after a failure, so that a client that is served pays nothing for it.

import { connect, isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { hostOf } from "./machine.ts";
import { type HttpProxy, proxyFor } from "./proxy.ts";
import { connectThrough, named } from "./tunnel.ts";

/** The first bytes of an HTTP/2 client: the preface and empty settings. */
const HELLO = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1"),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
/** The type of the SETTINGS frame, which every HTTP/2 server sends first. */
const SETTINGS = 4;
const FRAME_HEAD_BYTES = 9;
const MYSQL_PROTOCOL = 10;

/** What can be at an address instead of a Rowlock server for this client. */
export type DiagnosisKind =
  | "nobody_listens"
  | "no_such_host"
  | "other_protocol"
  | "wants_tls"
  | "wants_plain_text"
  | "untrusted"
  | "expired"
  | "wrong_name"
  | "wants_client_certificate"
  | "silent"
  | "unreachable";

/** What the client has found at an address. */
export interface Diagnosis {
  readonly address: string;
  readonly kind: DiagnosisKind;
  /** The same for people, and what to do. Its wording may change. */
  readonly sentence: string;
}

type Found = Omit<Diagnosis, "address">;

const HEALING: readonly DiagnosisKind[] = ["nobody_listens", "no_such_host", "silent", "unreachable"];

/** Whether it may go away by itself, for example when a server starts. */
export function canHeal(kind: DiagnosisKind): boolean {
  return HEALING.includes(kind);
}

/** The sentences that depend on how a program names the options of its connection. */
export interface DiagnosisWords {
  /** Something listens that does not answer what the client says: in plain text, to TLS, or although it speaks HTTP/2. */
  readonly silent: string;
  readonly silentToTls: string;
  readonly silentInHttp2: string;
  readonly tlsWithoutHttp2: string;
  readonly wantsTls: string;
  readonly wantsPlainText: string;
  readonly wantsCertificate: string;
  readonly wrongName: string;
  /** The fault follows in brackets. */
  readonly untrusted: string;
}

/** How a program that has options of its own looks at addresses, and what it says. */
export interface DiagnosisManner {
  readonly words: DiagnosisWords;
  /** How long one probe may take; an address needs at most two. */
  readonly probeMs: number;
}

const SILENT =
  "something listens there, but does not answer like a Rowlock server: check the port, and whether the server is overloaded";
/** How this client looks and speaks. */
const OWN: DiagnosisManner = {
  words: {
    silent: SILENT,
    silentToTls: SILENT,
    silentInHttp2: SILENT,
    tlsWithoutHttp2:
      "something that speaks TLS, but not HTTP/2, answers there, not a Rowlock server: check the port",
    wantsTls: "it wants TLS: set the option tls",
    wantsPlainText: "it speaks plain text: leave the option tls out",
    wantsCertificate: "it requires a client certificate that it trusts: set tls.cert and tls.key",
    wrongName: "its certificate is for another name: use the name in it, or set tls.serverName",
    untrusted: "its certificate is not from a trusted authority: set tls.ca to its authority",
  },
  probeMs: 500,
};
/** A server that speaks gRPC, and has answered that it does not know Rowlock's methods. */
export const OTHER_SERVICE: Found = {
  kind: "other_protocol",
  sentence: "a gRPC server answers there, not a Rowlock server: check the port and any proxies",
};
/** What a certificate authority and a client present, as texts or bytes. */
type Tls = Pick<ConnectionOptions, "ca" | "cert" | "key"> & { readonly serverName?: string };

/**
 * Returns what is at each address. `tls`: false means plain text. Takes as long as two probes at most, and does not
 * reject.
 */
export function diagnose(
  addresses: readonly string[],
  tls: Tls | false,
  manner: DiagnosisManner = OWN,
): Promise<Diagnosis[]> {
  return Promise.all(
    addresses.map(async (address) => {
      const proxy = await proxyFor(address, tls !== false);
      return { address, ...(await foundAt(address, tls, manner, proxy)) };
    }),
  );
}

function foundAt(
  address: string,
  tls: Tls | false,
  manner: DiagnosisManner,
  proxy: HttpProxy | undefined,
): Promise<Found> {
  const where = whereOf(address);
  if (!tls) return inPlainText(where, manner);
  return proxy ? throughProxy(address, tls, manner, proxy) : throughTls(where, tls, manner);
}

function whereOf(address: string): Where {
  if (address.startsWith("unix:")) return { path: address.slice("unix:".length) };
  return { host: hostOf(address), port: Number(/:(\d+)$/.exec(address)?.[1] ?? 443) };
}

/** Returns the sentences of all addresses, as the end of a message. */
export function inWords(diagnoses: readonly Diagnosis[]): string {
  return diagnoses.map(({ address, sentence }) => ` ${address}: ${sentence}.`).join("");
}

type Where = { readonly host: string; readonly port: number } | { readonly path: string };

async function inPlainText(where: Where, { words, probeMs }: DiagnosisManner): Promise<Found> {
  const plain = await plainProbe(where, probeMs);
  if (typeof plain === "object") return plain;
  if (plain === "HTTP/2") return { kind: "silent", sentence: words.silentInHttp2 };
  // A server that does not understand plain text may just stay silent, so this tries TLS.
  return plain === "TLS" || typeof (await tlsProbe(where, probeMs)) === "object"
    ? { kind: "wants_tls", sentence: words.wantsTls }
    : { kind: "silent", sentence: words.silent };
}

/** Only the proxy knows the way, so this asks it for another connection instead of looking at the address itself. */
async function throughProxy(
  address: string,
  tls: Tls,
  { words, probeMs }: DiagnosisManner,
  proxy: HttpProxy,
): Promise<Found> {
  const answered = await connectThrough(proxy, address, probeMs);
  if ("found" in answered) return answered.found;
  const where = whereOf(address);
  const shown = await tlsProbe(where, probeMs, { ...optionsOf(where, tls), socket: answered.socket });
  answered.socket.destroy();
  const { kind, sentence } = handshakeFound(shown, words) ?? { kind: "silent", sentence: words.silentToTls };
  return { kind, sentence: `${sentence} (this came through ${named(proxy)})` };
}

function optionsOf(where: Where, { serverName, ...presented }: Tls): ConnectionOptions {
  const servername = serverName ?? ("host" in where && isIP(where.host) === 0 ? where.host : undefined);
  return { ...presented, ...(servername !== undefined && { servername }) };
}

/** undefined: nothing there speaks TLS. */
function handshakeFound(shown: Handshake, words: DiagnosisWords): Found | undefined {
  if (shown === "none") return undefined;
  if (shown === "refused") return { kind: "wants_client_certificate", sentence: words.wantsCertificate };
  const { fault, protocol } = shown;
  if (fault !== undefined) return certificateFault(fault, words);
  return protocol === "h2"
    ? { kind: "silent", sentence: words.silentInHttp2 }
    : { kind: "other_protocol", sentence: words.tlsWithoutHttp2 };
}

async function throughTls(where: Where, tls: Tls, { words, probeMs }: DiagnosisManner): Promise<Found> {
  const found = handshakeFound(await tlsProbe(where, probeMs, optionsOf(where, tls)), words);
  if (found) return found;
  const plain = await plainProbe(where, probeMs);
  if (typeof plain === "object") return plain;
  return plain === "HTTP/2"
    ? { kind: "wants_plain_text", sentence: words.wantsPlainText }
    : { kind: "silent", sentence: words.silentToTls };
}

/** `fault`: a code of OpenSSL or Node. */
function certificateFault(fault: string, { wrongName, untrusted }: DiagnosisWords): Found {
  switch (fault) {
    case "CERT_HAS_EXPIRED":
      return {
        kind: "expired",
        sentence: "its certificate has expired: have it renewed on the server",
      };
    case "CERT_NOT_YET_VALID":
      return {
        kind: "expired",
        sentence: "its certificate is not valid yet: check the clocks of both machines",
      };
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return { kind: "wrong_name", sentence: wrongName };
    default:
      return { kind: "untrusted", sentence: `${untrusted} (${fault})` };
  }
}

function other(what: string): Found {
  return {
    kind: "other_protocol",
    sentence: `${what} answers there, not a Rowlock server: check the port`,
  };
}

/** What answers in plain text, or a finding that says all. */
type Plain = "HTTP/2" | "TLS" | "silent" | Found;

function plainProbe(where: Where, probeMs: number): Promise<Plain> {
  const connecting = connect(where);
  const late = () => (connecting.connecting ? unreachable("no answer to the connection") : "silent");
  return probe<Plain>(connecting, probeMs, "connect", late, whyNotReached, (socket, done) => {
    let heard = Buffer.alloc(0);
    socket.write(HELLO);
    socket.on("data", (bytes: Buffer) => {
      heard = Buffer.concat([heard, bytes]);
      if (heard.length >= FRAME_HEAD_BYTES) done(whatSpeaks(heard));
    });
    socket.on("close", () => done(heard.length > 0 ? whatSpeaks(heard) : "silent"));
  });
}

function whatSpeaks(heard: Buffer): Plain {
  const text = heard.toString("latin1");
  if (heard[3] === SETTINGS && heard[0] === 0) return "HTTP/2";
  if (heard[0] === 0x15 && heard[1] === 3) return "TLS";
  if (text.startsWith("HTTP/1")) return other("a web server (HTTP/1)");
  if (text.startsWith("SSH-")) return other("an SSH server");
  if (heard[3] === 0 && heard[4] === MYSQL_PROTOCOL) return other("a MySQL or MariaDB server");
  return other("something else");
}

function whyNotReached({ code = "" }: NodeJS.ErrnoException): Plain {
  switch (code) {
    case "ECONNREFUSED":
    case "ENOENT":
      return {
        kind: "nobody_listens",
        sentence: "nobody listens there: start a server with `rowlock serve`, or check the port",
      };
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return { kind: "no_such_host", sentence: `there is no such host (${code}): check its name` };
    case "ECONNRESET":
      return "silent";
    default:
      return unreachable(code);
  }
}

function unreachable(why: string): Found {
  return {
    kind: "unreachable",
    sentence: `it cannot be reached (${why}): check the network and its firewalls`,
  };
}

/** What the handshake shows; or whether the server refused the client's certificate, or does not speak TLS. */
type Handshake =
  | { readonly fault: string | undefined; readonly protocol: string | false | null }
  | "refused"
  | "none";

function tlsProbe(where: Where, probeMs: number, options: ConnectionOptions = {}): Promise<Handshake> {
  const ALPNProtocols = ["h2", "http/1.1"];
  const socket = connectTls({ ...where, ALPNProtocols, rejectUnauthorized: false, ...options });
  const failed = ({ code = "" }: NodeJS.ErrnoException) =>
    /ALERT_(CERTIFICATE|BAD_CERTIFICATE|UNKNOWN_CA|HANDSHAKE)/.test(code) ? "refused" : "none";
  return probe<Handshake>(
    socket,
    probeMs,
    "secureConnect",
    () => "none",
    failed,
    (_, done) => {
      const { authorizationError: error, alpnProtocol: protocol } = socket;
      const fault = error ? ((error as { code?: string }).code ?? String(error)) : undefined;
      if (fault !== undefined) return done({ fault, protocol });
      // The server refuses a client's certificate only after the handshake.
      socket.write(HELLO);
      for (const event of ["data", "close"]) socket.on(event, () => done({ fault, protocol }));
    },
  );
}

/** Resolves with what `look` finds after `event`, with `failed` of an error, or with `late` when the time is over. */
function probe<Result>(
  socket: Socket,
  withinMs: number,
  event: "connect" | "secureConnect",
  late: () => Result,
  failed: (error: NodeJS.ErrnoException) => Result,
  look: (socket: Socket, done: (found: Result) => void) => void,
): Promise<Result> {
  const found = Promise.withResolvers<Result>();
  const timer = setTimeout(() => found.resolve(late()), withinMs);
  socket.on("error", (error) => found.resolve(failed(error)));
  socket.on(event, () => look(socket, found.resolve));
  return found.promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}
