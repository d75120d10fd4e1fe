// The command line: which commands there are, and how its mistakes are told. Each command has a file of its own.

import { Command, CommanderError } from "commander";
import type { CliContext, ExitCode } from "./context.ts";
import { EXIT } from "./context.ts";
import { addDoctor } from "./doctor.ts";
import { addMigrate } from "./migrate.ts";
import { addServe } from "./serve.ts";

const HELP_WIDTH = 110;

const EXAMPLES = `
Examples:
  rowlock serve                 a server on an SQLite file in this folder
  rowlock serve --help          all settings
  rowlock migrate status        where the schema of the database stands
  rowlock doctor                whether the database is sound
`;

/** Runs what `args` (without the program's own name) say, and resolves with the exit code. Rejects for bugs only. */
export async function runCli(args: readonly string[], context: CliContext): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const program = new Command("rowlock")
    .description("A lock server: mutexes, semaphores and read-write locks with a fair queue, over gRPC.")
    .version(`rowlock ${context.version} (Node ${context.nodeVersion})`, "-V, --version", "print the version")
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
  addServe(program, context, exit);
  addMigrate(program, context, exit);
  addDoctor(program, context, exit);
  try {
    await program.parseAsync(args.length === 0 ? ["--help"] : args, { from: "user" });
    return code;
  } catch (error) {
    // Commander has printed the help, the version or the mistake already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.failed;
    throw error;
  }
}
