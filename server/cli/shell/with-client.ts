// What the commands that talk to a server share: where it is, how long to try, and what becomes of errors. Each of them is one
// sentence that says what to do, and an exit code.

import type { Command } from "commander";
import type { ConnectOptions, Rowlock, RowlockError } from "../../../clients/typescript/src/index.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { parseDuration, told } from "./durations.ts";

const ADDRESS = "127.0.0.1:50051";
const GIVE_UP_AFTER_MS = 5_000;

export const SERVER_HELP = `
The server is found under --addr, or ROWLOCK_ADDR in the environment: host:port, or several of them with commas between,
which are tried in turn; ${ADDRESS} unless told otherwise.
`;

interface ServerOptions {
  readonly addr?: string;
  readonly giveUpAfter?: number;
  readonly tls?: true;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
}

export function addServerOptions(command: Command): Command {
  return command
    .option("--addr <host:port,...>", `the servers (ROWLOCK_ADDR; default ${ADDRESS})`)
    .option("--give-up-after <time>", "how long to try where no server answers (default 5s)", parseDuration)
    .option("--tls", "encrypt, and trust the authorities that Node trusts")
    .option("--ca <file>", "encrypt, and trust the authority with this certificate")
    .option("--cert <file>", "a certificate of one's own, for a server that asks for it")
    .option("--key <file>", "its key")
    .option(
      "--server-name <name>",
      "the name in the server's certificate, where it is not that of the address",
    );
}

/** Runs a command with a client, and closes that. Only here the client is loaded. */
export async function withClient(
  command: Command,
  context: CliContext,
  run: (rowlock: Rowlock) => Promise<ExitCode>,
): Promise<ExitCode> {
  const options: ServerOptions = command.opts();
  const addresses = (options.addr ?? context.env.ROWLOCK_ADDR ?? ADDRESS).split(",");
  const giveUpAfter = options.giveUpAfter ?? GIVE_UP_AFTER_MS;
  const { connect, RowlockError } = await import("../../../clients/typescript/src/index.ts");
  const say = (sentence: string) => context.err(`rowlock: ${sentence}\n`);
  /** One sentence for what went wrong, and the exit code. Throws bugs on. */
  const failed = (error: unknown): ExitCode => {
    if (!(error instanceof RowlockError)) throw error;
    say(error.reason === "NO_SERVER" ? noServer(addresses, giveUpAfter, error) : sentenceOf(error));
    if (error.reason === "NO_SERVER" || error.reason === "CONNECTION_LOST") return EXIT.noServer;
    return error.refusal ? EXIT.notAcquired : EXIT.failed;
  };
  let rowlock: Rowlock;
  try {
    rowlock = connect({ addresses, giveUpAfter, ...tlsOf(options, context) });
  } catch (error) {
    // A file that cannot be read, an address that is none.
    say((error as Error).message);
    return EXIT.failed;
  }
  try {
    return await run(rowlock);
  } catch (error) {
    return failed(error);
  } finally {
    await rowlock.close();
  }
}

function tlsOf(options: ServerOptions, { readFile }: CliContext): Pick<ConnectOptions, "tls"> {
  const { tls, ca, cert, key, serverName } = options;
  if (!tls && ca === undefined && cert === undefined && serverName === undefined) return {};
  return {
    tls: {
      ...(ca !== undefined && { ca: readFile(ca) }),
      ...(cert !== undefined && { cert: readFile(cert) }),
      ...(key !== undefined && { key: readFile(key) }),
      ...(serverName !== undefined && { serverName }),
    },
  };
}

function noServer(addresses: readonly string[], giveUpAfter: number, { message }: RowlockError): string {
  const why = /\b(E[A-Z]{4,}|certificate[^.]*|self-signed[^.]*)\b/.exec(message)?.[0];
  return (
    `No server has answered at ${addresses.join(" or ")} within ${told(giveUpAfter)}${why ? ` (${why})` : ""}: ` +
    "start one by `rowlock serve`, or name yours with --addr or ROWLOCK_ADDR."
  );
}

function sentenceOf(error: RowlockError): string {
  switch (error.reason) {
    case "BAD_REQUEST":
      return `${error.violations.map(({ field, description }) => `${field} ${description}`).join("; ")}.`;
    case "LEASE_LOST":
      return "This lease has ended, and is never revived: acquire the lock anew.";
    case "UNKNOWN_CLAIM":
      return "There is no such lease, or it ended long ago: look at the id that `rowlock acquire` has printed.";
    case "VERSION_MISMATCH":
      return `The limit has been changed by somebody else, to version ${error.metadata.version}: look at it, and try again.`;
    case "CONNECTION_LOST":
      return "The connection was lost before the answer came, so it may have been done or not: look with `rowlock show`.";
    default:
      return error.message;
  }
}
