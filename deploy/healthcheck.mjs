// The image's health check: asks the server whether it is ready, and exits with 0 if it is, otherwise with 1. It
// reads the server's addresses as the server does: file < environment < flag. The flags are this program's own
// arguments. Without any, they are those of the container's first process, because Docker starts a check without
// them.
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
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
  if (metrics !== "off") return askMetricsListener(reachable(metrics));
  const grpc = reachable(setting("ROWLOCK_LISTEN") || "127.0.0.1:50051");
  if (setting("ROWLOCK_TLS_CLIENT_CA") !== "") return askWhetherItListens(grpc);
  return askGrpcHealth(grpc, setting("ROWLOCK_TLS_CERT") !== "");
}

async function askMetricsListener({ host, port }) {
  const answer = await fetch(`http://${host}:${port}/readyz`);
  end(answer.ok, (await answer.text()).trim());
}

/** grpc.health.v1.Health/Check without a gRPC library: an empty request, and an answer of two bytes. */
function askGrpcHealth({ host, port }, tls) {
  // Certificates name what clients dial. This asks its own machine whether the server lives, so it need not verify
  // who it is.
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
  const socket = createConnection({ host: host.replace(/^\[|\]$/g, ""), port });
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

/** `--metrics-listen off` or `--metrics-listen=off`; the last one counts. */
function flag(argv, name) {
  const written = `--${name.slice("ROWLOCK_".length).toLowerCase().replaceAll("_", "-")}`;
  let value;
  for (const [index, word] of argv.entries()) {
    if (word === written) value = argv[index + 1];
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
