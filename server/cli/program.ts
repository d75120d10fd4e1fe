// The command line: which commands there are, and how its mistakes are told. Each command has a file of its own.

import { Command, CommanderError } from "commander";
import type { CliContext, ExitCode } from "./context.ts";
import { EXIT } from "./context.ts";

const HELP_WIDTH = 110;

const VERSION = ["-V", "--version"];

type Add = (program: Command, context: CliContext, exit: (code: ExitCode) => void) => void;

/** Each is loaded only where it is named, or all are listed. */
const COMMANDS: Readonly<Record<string, () => Promise<Add>>> = {
  serve: async () => (await import("./serve.ts")).addServe,
  migrate: async () => (await import("./migrate.ts")).addMigrate,
  doctor: async () => (await import("./doctor.ts")).addDoctor,
  run: async () => (await import("./shell/run.ts")).addRun,
  ls: async () => (await import("./shell/ls.ts")).addLs,
  show: async () => (await import("./shell/show.ts")).addShow,
  limit: async () => (await import("./shell/limit.ts")).addLimit,
  acquire: async () => (await import("./shell/acquire.ts")).addAcquire,
  renew: async () => (await import("./shell/renew.ts")).addRenew,
  release: async () => (await import("./shell/release.ts")).addRelease,
};

const EXAMPLES = `
Examples:
  rowlock serve                 a server on an SQLite file in this folder
  rowlock serve --help          all settings
  rowlock migrate status        where the schema of the database stands
  rowlock doctor                whether the database is sound
  rowlock run nightly -- job    a command under a lock
  rowlock ls                    the locks there are
`;

/** Runs what `args` (without the program's own name) say, and resolves with the exit code. Rejects for bugs only. */
export async function runCli(args: readonly string[], context: CliContext): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const program = new Command("rowlock")
    .description("A lock server: mutexes, semaphores and read-write locks with a fair queue, over gRPC.")
    .version(
      `rowlock ${context.version} (Node ${context.nodeVersion})`,
      VERSION.join(", "),
      "print the version",
    )
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help of a command")
    .addHelpText("after", EXAMPLES)
    .exitOverride()
    .configureOutput({
      writeOut: context.out,
      writeErr: context.err,
      getOutHelpWidth: () => HELP_WIDTH,
      getErrHelpWidth: () => HELP_WIDTH,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError("(--help says what there is)");
  const exit = (result: ExitCode) => {
    code = result;
  };
  const [named = ""] = args;
  const wanted = Object.hasOwn(COMMANDS, named)
    ? [named]
    : VERSION.includes(named)
      ? []
      : Object.keys(COMMANDS);
  for (const name of wanted) (await COMMANDS[name]?.())?.(program, context, exit);
  try {
    await program.parseAsync(args.length === 0 ? ["--help"] : args, { from: "user" });
    return code;
  } catch (error) {
    // Commander has printed the help, the version or the mistake already.
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? EXIT.ok : named === "run" ? EXIT.usage : EXIT.failed;
    throw error;
  }
}
