// Describes the command line as data, for the completion scripts.

import type { Argument, Command, Option } from "commander";

/** The kind of values to complete; for a text there is nothing to propose. */
export type Values =
  | { readonly kind: "text" | "file" | "server" | "lock" | "lock by force" | "command" }
  | { readonly kind: "choice"; readonly choices: readonly string[] };

export interface DescribedFlag {
  /** `--wait` and, where there is one, `-w`. */
  readonly names: readonly string[];
  readonly tells: string;
  /** Unset: the flag takes no value. */
  readonly value?: Values;
}

export interface DescribedCommand {
  readonly name: string;
  readonly tells: string;
  readonly flags: readonly DescribedFlag[];
  /** The first argument of the command. */
  readonly first?: Values;
  /** Whether a command to run follows after `--`. */
  readonly wraps: boolean;
}

/** Flags that say where the server is: the scripts also pass them on when they ask for the names of locks. */
export const WHERE_FLAGS = ["--addr", "--server", "--ca", "--cert", "--key", "--server-name"] as const;

export function described(program: Command): DescribedCommand[] {
  const commands = program.commands.map(describedCommand);
  const choices = commands.map(({ name }) => name);
  const help = { name: "help", tells: "print help of a command", flags: [], wraps: false };
  return [...commands, { ...help, first: { kind: "choice", choices } }];
}

function describedCommand(command: Command): DescribedCommand {
  const [first, second] = command.registeredArguments;
  const nested = command.commands.map((each) => each.name());
  const values =
    nested.length > 0 ? ({ kind: "choice", choices: nested } as const) : first && valuesOf(first);
  return {
    name: command.name(),
    tells: command.description(),
    flags: [...flagsOf(command), { names: ["-h", "--help"], tells: "display help for command" }],
    ...(values && { first: values }),
    wraps: second?.variadic ?? false,
  };
}

/** The flags of the command and of its subcommands. */
function flagsOf(command: Command): DescribedFlag[] {
  const all = [command, ...command.commands]
    .flatMap(({ options }) => options)
    .filter(({ hidden }) => !hidden);
  const byName = new Map(all.map((option) => [option.long ?? option.flags, describedFlag(option)]));
  return [...byName.values()];
}

function describedFlag(option: Option): DescribedFlag {
  const { short, long, description, argChoices } = option;
  const names = [short, long].filter((name) => name !== undefined);
  if (!option.required && !option.optional) return { names, tells: description };
  return { names, tells: description, value: flagValues(option.flags, long, argChoices) };
}

function flagValues(flags: string, long: string | undefined, choices: readonly string[] | undefined): Values {
  if (choices) return { kind: "choice", choices };
  if (long === "--server") return { kind: "server" };
  return { kind: /<(file|path)>/.test(flags) ? "file" : "text" };
}

function valuesOf(argument: Argument): Values {
  if (argument.argChoices) return { kind: "choice", choices: argument.argChoices };
  const name = argument.name();
  if (name === "name" || name === "prefix") return { kind: "lock" };
  return { kind: name === "lease" ? "lock by force" : "text" };
}
