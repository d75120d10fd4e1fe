// The command line: which commands there are, and how its mistakes are reported. Each command has a file of its own.

import { Command, CommanderError } from "commander";
import type { CliContext, ExitCode } from "./context.ts";
import { EXIT } from "./context.ts";
import { shown } from "./shell/print.ts";
import { ShellCommand } from "./shell/shell-command.ts";

const HELP_WIDTH = 110;

interface Entry<Kind extends Command> {
  readonly tells: string;
  /** Loads the function that gives the command its flags and its action. Called only if the command is named. */
  readonly load: () => Promise<(command: Kind, context: CliContext, exit: (code: ExitCode) => void) => void>;
}

/** Commands that run servers and look at databases. */
const SERVER_COMMANDS: Readonly<Record<string, Entry<Command>>> = {
  serve: {
    tells: "run a server until it gets SIGTERM or SIGINT",
    load: async () => (await import("./serve.ts")).addServe,
  },
  migrate: {
    tells: "bring the database's schema up to date, or show its state",
    load: async () => (await import("./migrate.ts")).addMigrate,
  },
  doctor: {
    tells: "check a database: schema, durability, invariants",
    load: async () => (await import("./doctor.ts")).addDoctor,
  },
  restored: {
    tells:
      "record that the database was restored from a backup, so that no lock is granted while a lost lease may be held",
    load: async () => (await import("./restored.ts")).addRestored,
  },
};

/** Commands that talk to servers. */
const SHELL_COMMANDS: Readonly<Record<string, Entry<ShellCommand>>> = {
  run: {
    tells: "run a command while holding a lock",
    load: async () => (await import("./shell/run.ts")).addRun,
  },
  capture: {
    tells: "take locks that are free and due, and run a command under one",
    load: async () => (await import("./shell/capture.ts")).addCapture,
  },
  ls: { tells: "list locks", load: async () => (await import("./shell/ls.ts")).addLs },
  show: {
    tells: "show one lock: its limit, its holders, its waiters, its record",
    load: async () => (await import("./shell/show.ts")).addShow,
  },
  watch: {
    tells: "watch a lock, or all locks with a prefix, as they change",
    load: async () => (await import("./shell/watch.ts")).addWatch,
  },
  limit: {
    tells: "show a limit, or set it",
    load: async () => (await import("./shell/limit.ts")).addLimit,
  },
  update: {
    tells: "change a lock's record: its status, its attempts, when it is due",
    load: async () => (await import("./shell/update.ts")).addUpdate,
  },
  delete: {
    tells: "delete a lock's record",
    load: async () => (await import("./shell/delete.ts")).addDelete,
  },
  acquire: {
    tells: "take a lock in a script, and keep it after this command",
    load: async () => (await import("./shell/acquire.ts")).addAcquire,
  },
  renew: { tells: "prolong a lease", load: async () => (await import("./shell/renew.ts")).addRenew },
  release: {
    tells: "release a lease, or end the leases of others by force",
    load: async () => (await import("./shell/release.ts")).addRelease,
  },
  completion: {
    tells: "complete commands, flags and the names of locks in bash, zsh or fish",
    load: async () => {
      const { addCompletion } = await import("./shell/completion.ts");
      return (command, context, exit) =>
        addCompletion(command, context, exit, () => programOf(ALL, context, exit));
    },
  },
};

/** Commands that return the exit code of what they run, so that their own mistakes need a code of their own. */
const COMMAND_RUNNERS = ["run", "capture"];

const ALL = Object.keys({ ...SERVER_COMMANDS, ...SHELL_COMMANDS });

const EXAMPLES = `
Examples:
  rowlock serve                 a server on an SQLite file in this folder
  rowlock serve --help          all settings
  rowlock migrate status        where the schema of the database stands
  rowlock doctor                whether the database is sound
  rowlock run nightly -- job    a command under a lock
  rowlock capture task/ -- job  a command under one of many, that is due
  rowlock ls                    the locks there are
  rowlock watch etl/            how they change
`;

/**
 * Runs the command in `args` (without the program's own name), and resolves with the exit code. Rejects only for bugs.
 */
export async function runCli(args: readonly string[], context: CliContext): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const [first = "", second = ""] = args;
  const named = first === "help" ? second : first;
  const program = await programOf([named], context, (result) => {
    code = result;
  });
  try {
    await program.parseAsync(args.length === 0 ? ["--help"] : args, { from: "user" });
    return code;
  } catch (error) {
    // Commander has printed the help, the version or the mistake already.
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? EXIT.ok : COMMAND_RUNNERS.includes(named) ? EXIT.usage : EXIT.failed;
    throw error;
  }
}

/** Makes a program with the names of all commands, and with the flags and actions of the `wanted` ones. */
async function programOf(
  wanted: readonly string[],
  context: CliContext,
  exit: (code: ExitCode) => void,
): Promise<Command> {
  const program = new Command("rowlock")
    .description("A lock server: mutexes, semaphores and read-write locks with a fair queue, over gRPC.")
    .version(`rowlock ${context.version} (Node ${context.nodeVersion})`, "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help of a command")
    .addHelpText("after", EXAMPLES)
    // Flags after a command's name belong to that command.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: context.out,
      // Error messages quote arguments, which a script may have got from others, so this escapes control characters.
      writeErr: (text) => context.err(text.split("\n").map(shown).join("\n")),
      getOutHelpWidth: () => HELP_WIDTH,
      getErrHelpWidth: () => HELP_WIDTH,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError("(--help lists the commands and options)");
  const add = async <Kind extends Command>(command: Kind, { tells, load }: Entry<Kind>) => {
    program.addCommand(command.copyInheritedSettings(program).description(tells));
    if (wanted.includes(command.name())) (await load())(command, context, exit);
  };
  for (const [name, entry] of Object.entries(SERVER_COMMANDS)) await add(new Command(name), entry);
  for (const [name, entry] of Object.entries(SHELL_COMMANDS)) await add(new ShellCommand(name), entry);
  return program;
}
