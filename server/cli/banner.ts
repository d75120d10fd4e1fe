// The banner that `rowlock serve` prints: where the server listens, on which database it runs, and a command to paste.

import type { App } from "../app.ts";
import type { Config } from "../config/config.ts";
import { describeDatabaseUrl, parseDatabaseUrl } from "../storage/database-url.ts";

/** Returns the banner's lines, for a terminal. */
export function banner(config: Config, running: Omit<App, "stop">, version: string): string {
  const target = parseDatabaseUrl(config.databaseUrl);
  const lines = [
    `Rowlock ${version}`,
    "",
    `  gRPC      ${running.grpcAddress} (${transport(config)})`,
    `  metrics   ${running.metricsAddress === null ? "off" : `http://${running.metricsAddress}/metrics`}`,
    `  database  ${running.databaseProduct}, ${describeDatabaseUrl(target)}`,
  ];
  if (target.dialect === "sqlite") {
    lines.push(
      "            for this server alone; for several, set ROWLOCK_DATABASE_URL=mysql://user:password@host/database",
    );
  }
  return [...lines, "", "Take a lock:", "", `  ${takeALock(config, running)}`, "", ""].join("\n");
}

function transport(config: Config): string {
  if (!config.tls) return "plain text";
  return config.tls.clientCa === null ? "TLS" : "TLS, clients by certificate";
}

function takeALock(config: Config, running: Omit<App, "stop">): string {
  // The listen address may stand for all addresses of the machine; a client needs one of them.
  const address = running.grpcAddress.replace(/^0\.0\.0\.0(?=:)/, "127.0.0.1").replace(/^\[::\]/, "[::1]");
  const flags = ["--protocol grpc"];
  if (!config.reflection) flags.push("--schema proto");
  if (!config.tls) flags.push("--http2-prior-knowledge");
  else flags.push("--cacert <the authority of the server>");
  if (config.tls?.clientCa) flags.push("--cert <yours> --key <yours>");
  const url = `${config.tls ? "https" : "http"}://${address}/rowlock.v1.LockService/Acquire`;
  return `npx @bufbuild/buf curl ${flags.join(" ")} -d '{"name":"demo","ttl":"60s"}' ${url}`;
}
