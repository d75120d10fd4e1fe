// `rowlock serve`: runs a server until a signal asks it to stop. Prints the banner; the log goes to the error output.

import { X509Certificate } from "node:crypto";
import type { Declare, RowlockCommand } from "../../clients/shell/command.ts";
import { type CliContext, EXIT, type ExitCode } from "../../clients/shell/context.ts";
import { ADDRESS, hostOf } from "../../clients/shell/servers.ts";
import type { App } from "../app.ts";
import { isLoopback } from "../config/addresses.ts";
import { type Config, type ConfigInput, loadConfig } from "../config/config.ts";
import { flagOf, nameOf, namesOf, type SettingKey } from "../config/settings.ts";
import type { TlsMaterial } from "../config/tls-files.ts";
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
  rowlock serve --ephemeral

Put the password of a database into the environment, the settings file or the file of
--database-url-file or --database-password-file: other users of a machine can see flags.
`;

/** What `--ephemeral` decides itself. A server for tests never touches a database or a port that somebody else uses. */
const EPHEMERAL = {
  databaseUrl: "sqlite::memory:",
  listen: "127.0.0.1:0",
  metricsListen: "127.0.0.1:0",
} as const satisfies Partial<Record<SettingKey, string>>;
/** What it sets unless a flag does. Its clients have ended with its parent, so it does not wait for them. */
const EPHEMERAL_DEFAULTS = {
  logLevel: "error",
  drainTimeoutMs: "100ms",
} as const satisfies Partial<Record<SettingKey, string>>;

export const serve: Declare = (command, context) => {
  command.option(
    "--ephemeral",
    "for tests: keep everything in memory, take free ports, print them as a line of JSON, and stop when standard input " +
      "ends; other settings come from flags only",
  );
  addSettingOptions(command);
  command.runs(HELP, () => runServer(command, context));
};

async function runServer(command: RowlockCommand, context: CliContext): Promise<ExitCode> {
  const isEphemeral: boolean = command.opts().ephemeral ?? false;
  const input = isEphemeral ? ephemeralInput(command, context) : configInput(command, context);
  const config = loadedOrReported(loadConfig(input), context);
  if (!config) return EXIT.failed;
  const stopped = isEphemeral ? Promise.race([context.stopSignal, context.inEnded]) : context.stopSignal;
  const log = createLog({ level: config.logLevel, write: context.err });
  let app: App | undefined;
  // Also if the terminal was closed: a server goes on until it is asked to stop. Before it serves, its start reads the
  // files.
  const readAgain = async () => {
    const files = (await app?.reload()) ?? [];
    log.info({ signal: "SIGHUP", files }, "files are read again; settings change with a restart");
  };
  context.onSignal("SIGHUP", () => void readAgain(), true);
  // They mean nothing to a server, and must not end it.
  for (const signal of ["SIGUSR1", "SIGUSR2"] as const) context.onSignal(signal, () => {});
  // Loaded only here, so that other commands, and reports of wrong settings, start at once.
  const { startApp, StartupError } = await import("../app.ts");
  const { version, nodeVersion, memoryMax } = context;
  const starting = startApp(config, { log, version, nodeVersion, memoryMax, env: input.env });
  try {
    // Before the start is done, the server has promised nothing to any client, so there is nothing to finish.
    const early = await Promise.race([stopped, starting]);
    if (typeof early === "string") return EXIT.ok;
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    context.err(`rowlock cannot start: ${error.message}\n`);
    return EXIT.failed;
  }
  app = await starting;
  if (isEphemeral) context.out(addresses(app));
  else if (config.banner && !context.outIsErr) context.out(banner(config, app, context.version));
  const { grpcAddress: grpc, httpAddress, metricsAddress: metrics, databaseProduct: product } = app;
  const database = describeDatabaseUrl(parseDatabaseUrl(config.databaseUrl));
  const http = httpAddress === null ? {} : { http: httpAddress };
  log.info({ version: context.version, grpc, ...http, metrics, database, product }, "serving");
  const signal = await stopped;
  log.info({ signal }, "stopping");
  await app.stop();
  log.info("stopped");
  return EXIT.ok;
}

/** As for any server, but what the environment sets is for the servers that this one stands for. */
function ephemeralInput(command: RowlockCommand, context: CliContext): ConfigInput {
  const { argvFlags, ...input } = configInput(command, context);
  const flags = { ...argvFlags };
  for (const [key, text] of Object.entries(EPHEMERAL)) {
    for (const name of namesOf([key]))
      if (flags[name] !== undefined)
        command.fault(
          `--ephemeral keeps everything in memory and takes free ports, so leave out --${flagOf(name)}`,
        );
    flags[nameOf(key)] = text;
  }
  command.refuseFaults();
  for (const [key, text] of Object.entries(EPHEMERAL_DEFAULTS)) flags[nameOf(key as SettingKey)] ??= text;
  return { ...input, argvFlags: flags, env: {} };
}

/** The one line that programs read of an ephemeral server. */
function addresses({ grpcAddress, metricsAddress }: App): string {
  return `${JSON.stringify({ grpc: grpcAddress, metrics: `http://${metricsAddress}` })}\n`;
}

function banner(config: Config, app: App, version: string): string {
  const target = parseDatabaseUrl(config.databaseUrl);
  const { metricsAddress } = app;
  const http = metricsAddress && `${config.metricsTls ? "https" : "http"}://${metricsAddress}`;
  const secured = config.tls?.clientCa === null ? "TLS" : "TLS, clients by certificate";
  const transport = config.tls ? secured : "plain text";
  const lines = [
    `Rowlock ${version}`,
    "",
    `  gRPC      ${app.grpcAddress} (${transport})`,
    ...(app.httpAddress === null
      ? []
      : [`  HTTP      ${config.tls ? "https" : "http"}://${app.httpAddress}`]),
    `  page      ${http && config.page ? `${http}/` : "off"}`,
    `  metrics   ${http ? `${http}/metrics` : "off"}`,
    `  database  ${app.databaseProduct}, ${describeDatabaseUrl(target)}${config.databaseLogin.tls ? " (TLS)" : ""}`,
  ];
  if (target.dialect === "sqlite")
    lines.push(
      "            for this server alone; for several, set ROWLOCK_DATABASE_URL=mysql://user:password@host/database",
    );
  const offers = ["Take a lock:", "", `  ${runUnderALock(config, app)}`, "", "Or by a bare call:", ""];
  return [...lines, "", ...offers, `  ${takeALock(config, app)}`, "", ""].join("\n");
}

function addressOf({ grpcAddress }: App): string {
  return callable(grpcAddress);
}

/** A listen address may stand for all addresses of the machine; a client needs one of them. */
function callable(address: string): string {
  return address.replace(/^0\.0\.0\.0(?=:)/, "127.0.0.1").replace(/^\[::\]/, "[::1]");
}

/** For clients that reach the server by its IP address. */
function nameIn({ certificate }: TlsMaterial): string {
  const names = new X509Certificate(certificate).subjectAltName ?? "";
  return /\bDNS:([\w.-]+)/.exec(names)?.[1] ?? "<a name in the server's certificate>";
}

function takesTokens({ access }: Config): boolean {
  return access !== null && (access.tokens ?? access.jwt) !== null;
}

function runUnderALock(config: Config, app: App): string {
  const address = addressOf(app);
  const flags = address === ADDRESS ? [] : [`--addr ${address}`];
  if (config.tls) flags.push("--ca <the authority of the server>", `--server-name ${nameIn(config.tls)}`);
  if (config.tls?.clientCa) flags.push("--cert <yours> --key <yours>");
  if (takesTokens(config)) flags.push("--token-file <yours>");
  if (takesTokens(config) && !config.tls && !isLoopback(hostOf(address)))
    flags.push("--allow-token-in-plaintext");
  // In a checkout, where this file is not built, npx finds the command.
  const rowlock = import.meta.url.endsWith(".ts") ? "npx rowlock" : "rowlock";
  return [rowlock, "run demo", ...flags, `-- echo "my turn"`].join(" ");
}

function takeALock(config: Config, app: App): string {
  const plain = plainHttp(config, app);
  const asked = `-d '{"name":"demo","terms":{"ttl":"60s"}}'`;
  if (plain !== null) {
    const token = takesTokens(config) ? "-H 'authorization: Bearer <your token>' " : "";
    return `curl -sS ${token}-H 'content-type: application/json' ${asked} http://${plain}/rowlock.v1.LockService/Acquire`;
  }
  const address = addressOf(app);
  const flags = ["--protocol grpc"];
  if (!config.reflection) flags.push("--schema proto");
  if (!config.tls) flags.push("--http2-prior-knowledge");
  else flags.push("--cacert <the authority of the server>", `--servername ${nameIn(config.tls)}`);
  if (config.tls?.clientCa) flags.push("--cert <yours> --key <yours>");
  if (takesTokens(config)) flags.push("-H 'authorization: Bearer <your token>'");
  const url = `${config.tls ? "https" : "http"}://${address}/rowlock.v1.LockService/Acquire`;
  return `npx @bufbuild/buf curl ${flags.join(" ")} ${asked} ${url}`;
}

/** Where curl may call without TLS; null: nowhere. */
function plainHttp(config: Config, { httpAddress, metricsAddress }: App): string | null {
  if (config.tls || (config.access && !takesTokens(config))) return null;
  const address = httpAddress ?? (config.page && !config.metricsTls ? metricsAddress : null);
  if (address === null) return null;
  // Tokens do not cross a network without TLS, and the page's port takes no changes from strangers on it.
  const isOpen = httpAddress !== null && (!config.access || config.allowPlaintextTokens);
  return isOpen || isLoopback(hostOf(address)) ? callable(address) : null;
}
