// Finds out why no server has answered: connects to the address as any client would, and looks at what comes back. Runs
// only after a failure, so that a command that works pays nothing for it.

import { connect, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { hostOf, type Servers } from "./servers.ts";

/** How long one probe may take: a person waits for it in front of a screen. */
const PROBE_MS = 1_000;
/** The first bytes of an HTTP/2 client: the preface and empty settings. */
const HELLO = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1"),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
/** The type of the SETTINGS frame, which every HTTP/2 server sends first. */
const SETTINGS = 4;
const FRAME_HEAD_BYTES = 9;
const MYSQL_PROTOCOL = 10;

/** What to do about a faulty certificate, keyed by the error codes of OpenSSL and Node. */
const CERTIFICATE_FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "its certificate has expired: have it renewed on the server",
  CERT_NOT_YET_VALID: "its certificate is not valid yet: check the clocks of both machines",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "its certificate is for another name: use the name in it, or give that name with --server-name",
};
const NOT_ROWLOCK =
  "a server answers, but not like a Rowlock server, or not in time: check the port and any proxies, or raise --give-up-after";
const WANTS_TLS = "it wants TLS: add --ca with the certificate of its authority, or --tls";
const UNTRUSTED = "its certificate is not from a trusted authority: name its authority with --ca";

/** Returns for each address a sentence without its full stop, which says what is there and what to do. */
export function diagnose({ addresses, tls }: Servers): Promise<string[]> {
  return Promise.all(
    addresses.map(async (address) => {
      const where = { host: hostOf(address), port: Number(/:(\d+)$/.exec(address)?.[1]) };
      return `${address}: ${tls ? await throughTls(where, tls) : await inPlainText(where)}`;
    }),
  );
}

interface Where {
  readonly host: string;
  readonly port: number;
}

async function inPlainText(where: Where): Promise<string> {
  const plain = await plainProbe(where);
  if (typeof plain === "object") return plain.sentence;
  if (plain === "HTTP/2") return NOT_ROWLOCK;
  // A server that does not understand plain text may just stay silent, so this tries TLS.
  return plain === "TLS" || typeof (await tlsProbe(where)) === "object"
    ? WANTS_TLS
    : "something listens there, but does not answer like a Rowlock server: check the port, and whether the server is overloaded";
}

async function throughTls(where: Where, tls: NonNullable<Servers["tls"]>): Promise<string> {
  const { serverName = where.host, ...certificates } = tls === true ? {} : tls;
  const found = await tlsProbe(where, { ...certificates, servername: serverName });
  if (found === "refused")
    return "it requires a client certificate that it trusts: name one with --cert and --key";
  if (typeof found === "object") {
    const { fault, protocol } = found;
    if (fault !== undefined) return CERTIFICATE_FAULTS[fault] ?? `${UNTRUSTED} (${fault})`;
    return protocol === "h2"
      ? NOT_ROWLOCK
      : "it speaks TLS, but not HTTP/2, so it is not a Rowlock server: check the port";
  }
  const plain = await plainProbe(where);
  if (typeof plain === "object") return plain.sentence;
  return plain === "HTTP/2"
    ? "it speaks plain text: leave --tls, --ca and --server-name out"
    : "something listens there, but speaks no TLS that this client understands: check the port";
}

/** What answers in plain text, or a sentence about something that is not a Rowlock server. */
type Plain = "HTTP/2" | "TLS" | "silent" | { readonly sentence: string };

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
  const other = (what: string) => ({
    sentence: `${what} answers there, not a Rowlock server: check the port`,
  });
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
      return { sentence: "nobody listens there: start a server with `rowlock serve`, or check the port" };
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return { sentence: `there is no such host (${code}): check its name` };
    case "ECONNRESET":
      return "silent";
    default:
      return { sentence: `it cannot be reached (${code}): check the network and its firewalls` };
  }
}

/** What the handshake shows; or whether the server refused the client's certificate, or does not speak TLS. */
type Tls =
  | { readonly fault: string | undefined; readonly protocol: string | false | null }
  | "refused"
  | "none";

function tlsProbe(where: Where, options: ConnectionOptions = {}): Promise<Tls> {
  const ALPNProtocols = ["h2", "http/1.1"];
  const socket = connectTls({ ...where, ALPNProtocols, rejectUnauthorized: false, ...options });
  const failed = ({ code = "" }: NodeJS.ErrnoException) =>
    /ALERT_(CERTIFICATE|BAD_CERTIFICATE|UNKNOWN_CA|HANDSHAKE)/.test(code) ? "refused" : "none";
  return probe<Tls>(socket, "secureConnect", "none", failed, (_, done) => {
    const { authorizationError: error, alpnProtocol: protocol } = socket;
    const fault = error ? ((error as { code?: string }).code ?? String(error)) : undefined;
    if (fault !== undefined) return done({ fault, protocol });
    // The server refuses a client's certificate only after the handshake.
    socket.write(HELLO);
    for (const event of ["data", "close"]) socket.on(event, () => done({ fault, protocol }));
  });
}

/** Resolves with what `look` finds after `event`, with `failed` of an error, or with `late` when the time is over. */
function probe<Found>(
  socket: Socket,
  event: "connect" | "secureConnect",
  late: Found,
  failed: (error: NodeJS.ErrnoException) => Found,
  look: (socket: Socket, done: (found: Found) => void) => void,
): Promise<Found> {
  const found = Promise.withResolvers<Found>();
  const timer = setTimeout(() => found.resolve(late), PROBE_MS);
  socket.on("error", (error) => found.resolve(failed(error)));
  socket.on(event, () => look(socket, found.resolve));
  return found.promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}
