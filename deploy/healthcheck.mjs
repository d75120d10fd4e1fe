// The image's health check: asks the server whether it is ready, and exits with 0 if it is, otherwise with 1. It
// reads the server's addresses as the server does: file < environment < flag. The flags are this program's own
// arguments. Without any, they are those of the container's first process, because Docker starts a check without
// them.
import { readFileSync } from "node:fs";
import { get as getPlain } from "node:http";
import { connect } from "node:http2";
import { get as getByTls } from "node:https";
import { createConnection } from "node:net";
import { parseEnv } from "node:util";

const PATIENCE_MS = 2_500;
const SERVING = "0000000002" + "0801";

setTimeout(() => end(false, "no answer in time"), PATIENCE_MS).unref();
try {
  await ask();
} catch (error) {
  end(false, error.cause?.message ?? error.message);
}

async function ask() {
  const argv = process.argv.length > 2 ? process.argv.slice(2) : flagsOfFirstProcess();
  const config = flag(argv, "ROWLOCK_CONFIG") || process.env.ROWLOCK_CONFIG;
  const file = config ? parseEnv(readFileSync(config, "utf8")) : {};
  // Empty means unset, as for the server.
  const setting = (name) => flag(argv, name) || process.env[name] || file[name] || "";
  const metrics = setting("ROWLOCK_METRICS_LISTEN") || "127.0.0.1:9464";
  if (metrics !== "off") {
    const tls = !["", "false"].includes(setting("ROWLOCK_METRICS_TLS"));
    return askMetricsListener(reachable(metrics), tls);
  }
  const grpc = reachable(setting("ROWLOCK_LISTEN") || "127.0.0.1:50051");
  if (setting("ROWLOCK_TLS_CLIENT_CA") !== "") return askWhetherItListens(grpc);
  return askGrpcHealth(grpc, setting("ROWLOCK_TLS_CERT") !== "");
}

function askMetricsListener({ host, port }, tls) {
  const asked = (tls ? getByTls : getPlain)(
    // Certificates name what clients dial. This asks its own machine whether the server lives, so it need not verify
    // who it is.
    { host: bare(host), port, path: "/readyz", rejectUnauthorized: false },
    (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      answer.on("end", () => end(answer.statusCode === 200, text.trim()));
    },
  );
  asked.on("error", (error) => end(false, error.message));
}

/** grpc.health.v1.Health/Check without a gRPC library: an empty request, and an answer of two bytes. */
function askGrpcHealth({ host, port }, tls) {
  // As above.
  const session = connect(`${tls ? "https" : "http"}://${host}:${port}`, { rejectUnauthorized: false });
  session.on("error", (error) => end(false, error.message));
  const call = session.request({
    ":method": "POST",
    ":path": "/grpc.health.v1.Health/Check",
    "content-type": "application/grpc",
    te: "trailers",
  });
  let answer = "";
  call.setEncoding("hex");
  call.on("data", (hex) => {
    answer += hex;
  });
  call.on("error", (error) => end(false, error.message));
  call.on("end", () => end(answer === SERVING, answer === SERVING ? "SERVING" : "not SERVING"));
  call.end(Buffer.alloc(5));
}

/** The server admits only clients with a certificate, and this has none. So it can only see that something listens. */
function askWhetherItListens({ host, port }) {
  const socket = createConnection({ host: bare(host), port });
  socket.on("error", (error) => end(false, error.message));
  socket.on("connect", () => end(true, "listens"));
}

function end(ready, text) {
  console.log(text);
  process.exit(ready ? 0 : 1);
}

/** An address that stands for all addresses cannot be dialled, so its loopback address replaces it. */
function reachable(address) {
  const colon = address.lastIndexOf(":");
  const [host, port] = [address.slice(0, colon), address.slice(colon + 1)];
  return { host: host === "0.0.0.0" ? "127.0.0.1" : host === "[::]" ? "[::1]" : host, port };
}

/** An IPv6 address without its brackets. */
function bare(host) {
  return host.replace(/^\[|\]$/g, "");
}

/** `--metrics-listen off` or `--metrics-listen=off`; the last one counts. `--metrics-tls` alone means true. */
function flag(argv, name) {
  const written = `--${name.slice("ROWLOCK_".length).toLowerCase().replaceAll("_", "-")}`;
  let value;
  for (const [index, word] of argv.entries()) {
    if (word === written) value = argv[index + 1] ?? "true";
    else if (word.startsWith(`${written}=`)) value = word.slice(written.length + 1);
  }
  return value;
}

function flagsOfFirstProcess() {
  try {
    return readFileSync("/proc/1/cmdline", "utf8").split("\0");
  } catch {
    return [];
  }
}
