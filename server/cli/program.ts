// The command line: a table of all commands, with the file that declares each, and how mistakes are reported.

import { Command, CommanderError } from "commander";
import { type Declare, RowlockCommand } from "../../clients/shell/command.ts";
import { type CliContext, EXIT, type ExitCode } from "../../clients/shell/context.ts";
import { helpWidth, shown } from "../../clients/shell/print.ts";

interface Entry {
  readonly name: string;
  readonly about: string;
  /** Called only if the command is named, so that each command loads only its own file. */
  readonly load: () => Promise<Declare>;
}

/** Commands that run servers and look at databases, and then those of the shell, which call servers. */
const COMMANDS: readonly Entry[] = [
  ...declaredBy(() => import("./serve.ts"), { serve: "run a server until it gets SIGTERM or SIGINT" }),
  ...declaredBy(() => import("./database.ts"), {
    migrate: "bring the database's schema up to date, or show its state",
    doctor: "check a database: schema, durability, invariants",
    restored:
      "record that the database was restored from a backup, and pause grants until lost leases have ended",
  }),
  ...declaredBy(() => import("./access.ts"), {
    token: "make a bearer token",
    policy: "check a policy file, and ask it who may do what",
  }),
  ...declaredBy(() => import("../../clients/shell/acquire.ts"), {
    run: "run a command while holding a lock",
    capture: "take locks that are free and due, and run a command under one",
  }),
  ...declaredBy(() => import("../../clients/shell/show.ts"), {
    ls: "list locks",
    show: "show one lock: its limit, its holders, its waiters, its record",
  }),
  ...declaredBy(() => import("../../clients/shell/watch.ts"), {
    watch: "watch a lock, or all locks with a prefix, as they change",
  }),
  ...declaredBy(() => import("../../clients/shell/why.ts"), {
    why: "say why a request waits, what to do, and about how long it may last",
  }),
  ...declaredBy(() => import("../../clients/shell/history.ts"), {
    history: "list who held locks and how that ended, and who changed what",
  }),
  ...declaredBy(() => import("../../clients/shell/runs.ts"), {
    runs: "list the last runs under a lock, and how each ended",
  }),
  ...declaredBy(() => import("../../clients/shell/check.ts"), {
    check: "say whether a job has succeeded lately, as a plugin of Nagios does",
  }),
  ...declaredBy(() => import("../../clients/shell/top.ts"), {
    top: "show who uses locks most, now and in the last minutes",
  }),
  ...declaredBy(() => import("../../clients/shell/limits.ts"), {
    limit: "show a limit or a rate, or set it, of one name or of many",
  }),
  ...declaredBy(() => import("../../clients/shell/records.ts"), {
    update: "change a lock's record: its status, its attempts, when it is due",
    delete: "delete a lock's record",
  }),
  ...declaredBy(() => import("../../clients/shell/retry.ts"), {
    retry: "make tasks due again that have failed, many at once",
  }),
  ...declaredBy(() => import("../../clients/shell/pause.ts"), {
    pause: "grant nothing more under a name or pattern, not even where names have limits of their own",
    resume: "undo a pause",
  }),
  ...declaredBy(() => import("../../clients/shell/acquire.ts"), {
    acquire: "take a lock in a script, and keep it after this command",
  }),
  ...declaredBy(() => import("../../clients/shell/spend.ts"), {
    spend: "take permits of a lock's rate, and hold nothing",
  }),
  ...declaredBy(() => import("../../clients/shell/leases.ts"), {
    renew: "extend a lease",
    release: "release a lease, or end the leases of others by force",
  }),
  ...declaredBy(() => import("../../clients/shell/mcp.ts"), {
    mcp: "serve locks as tools for an agent, by the Model Context Protocol",
  }),
  ...declaredBy(() => import("../../clients/shell/completion.ts"), {
    completion: "print a script that completes commands, flags and names of locks in bash, zsh or fish",
  }),
];

function declaredBy<Name extends string>(
  load: () => Promise<Record<NoInfer<Name>, Declare>>,
  abouts: Record<Name, string>,
): Entry[] {
  return Object.entries<string>(abouts).map(([name, about]) => {
    return { name, about, load: async () => (await load())[name as Name] };
  });
}

/** The scripts of `rowlock completion` call this; no help shows it. */
const COMPLETE = "__complete";

const EXAMPLES = `
Examples:
  rowlock serve                 a server on an SQLite file in this folder
  rowlock serve --help          all settings
  rowlock migrate status        the state of the database's schema
  rowlock doctor                a check of the database
  rowlock run nightly -- job    a command under a lock
  rowlock capture task/ -- job  a command under one of many locks that is due
  rowlock ls                    all locks
  rowlock watch etl/            changes as they happen
  rowlock why etl/load          why a request waits
  rowlock history etl/load      who held it, and how that ended
`;

/** Runs the command in `args`, without the program's own name. Rejects only for bugs. */
export async function runCli(args: readonly string[], context: CliContext): Promise<ExitCode> {
  const [first = "", ...rest] = args;
  if (first === COMPLETE) {
    const { complete } = await import("../../clients/shell/completion.ts");
    const named = rest.slice(0, -1).find((word) => !word.startsWith("-")) ?? "";
    await complete(rest, await programWith(named, context, () => {}), context);
    return EXIT.ok;
  }
  let code: ExitCode = EXIT.ok;
  const named = first === "help" ? (rest[0] ?? "") : first;
  const program = await programWith(named, context, (result) => {
    code = result;
  });
  try {
    // Commander would print the help of everything for an unknown command.
    const isUnknown = first === "help" && named !== "" && !COMMANDS.some(({ name }) => name === named);
    await program.parseAsync(args.length === 0 ? ["--help"] : isUnknown ? rest : args, { from: "user" });
    return code;
  } catch (error) {
    // Commander has printed the help, the version or the mistake already.
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT.ok;
    return EXIT.usage;
  }
}

/** Makes a program with the names of all commands, and with the flags and the action of the `named` one. */
async function programWith(
  named: string,
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
      getOutHelpWidth: () => helpWidth(context),
      getErrHelpWidth: () => helpWidth(context),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError("(--help lists the commands and options)");
  for (const { name, about, load } of COMMANDS) {
    const command = new RowlockCommand(name, context, exit);
    program.addCommand(command.copyInheritedSettings(program).description(about));
    if (name === named) (await load())(command, context);
  }
  return program;
}
