// Finds out why no server has answered: connects to each address as any client would, and looks at what comes back. Runs
// only after a failure, so that a client that is served pays nothing for it.

import { connect, isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";

/** How long one probe may take; an address needs at most two. */
const PROBE_MS = 500;
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

const SILENT: Found = {
  kind: "silent",
  sentence:
    "something listens there, but does not answer like a Rowlock server: check the port, and whether the server is overloaded",
};
const WANTS_TLS: Found = { kind: "wants_tls", sentence: "it wants TLS: set the option tls" };
const WANTS_PLAIN_TEXT: Found = {
  kind: "wants_plain_text",
  sentence: "it speaks plain text: leave the option tls out",
};
const WANTS_CERTIFICATE: Found = {
  kind: "wants_client_certificate",
  sentence: "it requires a client certificate that it trusts: set tls.cert and tls.key",
};
/** Faults of a certificate, by the error codes of OpenSSL and Node. */
const CERTIFICATE_FAULTS: Readonly<Record<string, Found>> = {
  CERT_HAS_EXPIRED: {
    kind: "expired",
    sentence: "its certificate has expired: have it renewed on the server",
  },
  CERT_NOT_YET_VALID: {
    kind: "expired",
    sentence: "its certificate is not valid yet: check the clocks of both machines",
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    kind: "wrong_name",
    sentence: "its certificate is for another name: use the name in it, or set tls.serverName",
  },
};

/** What a certificate authority and a client present, as texts or bytes. */
type Tls = Pick<ConnectionOptions, "ca" | "cert" | "key"> & { readonly serverName?: string };

/** Returns what is at each address. `tls`: false means plain text. Takes a second at most, and does not reject. */
export function diagnose(addresses: readonly string[], tls: Tls | false): Promise<Diagnosis[]> {
  return Promise.all(
    addresses.map(async (address) => {
      const where = whereOf(address);
      return { address, ...(tls ? await throughTls(where, tls) : await inPlainText(where)) };
    }),
  );
}

function whereOf(address: string): Where {
  if (address.startsWith("unix:")) return { path: address.slice("unix:".length) };
  const host = address.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  return { host, port: Number(/:(\d+)$/.exec(address)?.[1] ?? 443) };
}

/** Returns the sentences of all addresses, as the end of a message. */
export function inWords(diagnoses: readonly Diagnosis[]): string {
  return diagnoses.map(({ address, sentence }) => ` ${address}: ${sentence}.`).join("");
}

type Where = { readonly host: string; readonly port: number } | { readonly path: string };

async function inPlainText(where: Where): Promise<Found> {
  const plain = await plainProbe(where);
  if (typeof plain === "object") return plain;
  if (plain === "HTTP/2") return SILENT;
  // A server that does not understand plain text may just stay silent, so this tries TLS.
  return plain === "TLS" || typeof (await tlsProbe(where)) === "object" ? WANTS_TLS : SILENT;
}

async function throughTls(where: Where, { serverName, ...presented }: Tls): Promise<Found> {
  const servername = serverName ?? ("host" in where && isIP(where.host) === 0 ? where.host : undefined);
  const found = await tlsProbe(where, { ...presented, ...(servername !== undefined && { servername }) });
  if (found === "refused") return WANTS_CERTIFICATE;
  if (typeof found === "object") {
    const { fault, protocol } = found;
    if (fault !== undefined) return CERTIFICATE_FAULTS[fault] ?? untrusted(fault);
    return protocol === "h2" ? SILENT : other("something that speaks TLS, but not HTTP/2,");
  }
  const plain = await plainProbe(where);
  if (typeof plain === "object") return plain;
  return plain === "HTTP/2" ? WANTS_PLAIN_TEXT : SILENT;
}

function untrusted(fault: string): Found {
  const sentence = `its certificate is not from a trusted authority: set tls.ca to its authority (${fault})`;
  return { kind: "untrusted", sentence };
}

function other(what: string): Found {
  return {
    kind: "other_protocol",
    sentence: `${what} answers there, not a Rowlock server: check the port`,
  };
}

/** What answers in plain text, or a finding that says all. */
type Plain = "HTTP/2" | "TLS" | "silent" | Found;

function plainProbe(where: Where): Promise<Plain> {
  return probe<Plain>(connect(where), "connect", "silent", whyNotReached, (socket, done) => {
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
      return {
        kind: "unreachable",
        sentence: `it cannot be reached (${code}): check the network and its firewalls`,
      };
  }
}

/** What the handshake shows; or whether the server refused the client's certificate, or does not speak TLS. */
type Handshake =
  | { readonly fault: string | undefined; readonly protocol: string | false | null }
  | "refused"
  | "none";

function tlsProbe(where: Where, options: ConnectionOptions = {}): Promise<Handshake> {
  const ALPNProtocols = ["h2", "http/1.1"];
  const socket = connectTls({ ...where, ALPNProtocols, rejectUnauthorized: false, ...options });
  const failed = ({ code = "" }: NodeJS.ErrnoException) =>
    /ALERT_(CERTIFICATE|BAD_CERTIFICATE|UNKNOWN_CA|HANDSHAKE)/.test(code) ? "refused" : "none";
  return probe<Handshake>(socket, "secureConnect", "none", failed, (_, done) => {
    const { authorizationError: error, alpnProtocol: protocol } = socket;
    const fault = error ? ((error as { code?: string }).code ?? String(error)) : undefined;
    if (fault !== undefined) return done({ fault, protocol });
    // The server refuses a client's certificate only after the handshake.
    socket.write(HELLO);
    for (const event of ["data", "close"]) socket.on(event, () => done({ fault, protocol }));
  });
}

/** Resolves with what `look` finds after `event`, with `failed` of an error, or with `late` when the time is over. */
function probe<Result>(
  socket: Socket,
  event: "connect" | "secureConnect",
  late: Result,
  failed: (error: NodeJS.ErrnoException) => Result,
  look: (socket: Socket, done: (found: Result) => void) => void,
): Promise<Result> {
  const found = Promise.withResolvers<Result>();
  const timer = setTimeout(() => found.resolve(late), PROBE_MS);
  socket.on("error", (error) => found.resolve(failed(error)));
  socket.on(event, () => look(socket, found.resolve));
  return found.promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}
