// `rowlock serve`: runs a server until a signal asks it to stop. Prints the banner; the log goes to the error output.

import type { Command } from "commander";
import type { Declare } from "../../clients/shell/command.ts";
import { type CliContext, EXIT, type ExitCode } from "../../clients/shell/context.ts";
import type { App } from "../app.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { createLog } from "../log/log.ts";
import { describeDatabaseUrl, parseDatabaseUrl } from "../storage/database-url.ts";
import { addSettingOptions, configInput, loadedOrReported } from "./settings-options.ts";

const HELP = `
Each setting can also be set in the environment, under the name of its flag: --queue-max is
ROWLOCK_QUEUE_MAX. A file of such NAME=value lines is read with --config. A flag beats the
environment, which beats the file. All settings are checked before the server starts.

Examples:
  rowlock serve
  rowlock serve --database-url sqlite:/var/lib/rowlock/rowlock.db
  ROWLOCK_DATABASE_URL=mysql://rowlock:secret@db:3306/rowlock rowlock serve
  rowlock serve --listen 0.0.0.0:50051 --tls-cert server.crt --tls-key server.key
  rowlock serve --config /etc/rowlock.env --log-level debug

Put the password of a database into the environment, the settings file or the file of
--database-password-file: other users of a machine can see flags.
`;

export const serve: Declare = (command, context) => {
  addSettingOptions(command);
  command.runs(HELP, () => runServer(command, context));
};

async function runServer(command: Command, context: CliContext): Promise<ExitCode> {
  const { stopSignal } = context;
  const config = loadedOrReported(loadConfig(configInput(command, context)), context);
  if (!config) return EXIT.failed;
  const log = createLog({ level: config.logLevel, write: context.err });
  let app: App | undefined;
  // Also if the terminal was closed: a server goes on until it is asked to stop. Before it serves, its start reads the
  // files.
  context.onSignal("SIGHUP", async () => {
    const files = (await app?.reload()) ?? [];
    log.info({ signal: "SIGHUP", files }, "files are read again; settings change with a restart");
  });
  // Loaded only here, so that other commands, and reports of wrong settings, start at once.
  const { startApp, StartupError } = await import("../app.ts");
  const { version, nodeVersion, memoryMax, env } = context;
  const starting = startApp(config, { log, version, nodeVersion, memoryMax, env });
  try {
    // Before the start is done, the server has promised nothing to any client, so there is nothing to finish.
    const early = await Promise.race([stopSignal, starting]);
    if (typeof early === "string") return EXIT.ok;
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    context.err(`rowlock cannot start: ${error.message}\n`);
    return EXIT.failed;
  }
  app = await starting;
  context.out(banner(config, app, context.version));
  const { grpcAddress: grpc, metricsAddress: metrics, databaseProduct: product } = app;
  const database = describeDatabaseUrl(parseDatabaseUrl(config.databaseUrl));
  log.info({ version: context.version, grpc, metrics, database, product }, "serving");
  const signal = await stopSignal;
  log.info({ signal }, "stopping");
  await app.stop();
  log.info("stopped");
  return EXIT.ok;
}

/** Where the server listens, on which database it runs, and a command to paste. */
function banner(config: Config, running: Omit<App, "stop">, version: string): string {
  const target = parseDatabaseUrl(config.databaseUrl);
  const lines = [
    `Rowlock ${version}`,
    "",
    `  gRPC      ${running.grpcAddress} (${transport(config)})`,
    `  metrics   ${running.metricsAddress === null ? "off" : `${config.metricsTls ? "https" : "http"}://${running.metricsAddress}/metrics`}`,
    `  database  ${running.databaseProduct}, ${describeDatabaseUrl(target)}${config.databaseLogin.tls ? " (TLS)" : ""}`,
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
