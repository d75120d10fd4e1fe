// `rowlock completion`: prints completion scripts for shells, and the names that these ask for while a person types.

import { Argument, type Command } from "commander";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { bashScript } from "./completion/bash.ts";
import { described } from "./completion/described.ts";
import { fishScript } from "./completion/fish.ts";
import { zshScript } from "./completion/zsh.ts";
import { shown } from "./print.ts";
import { addServerOptions, serversOf } from "./server-options.ts";
import { serverNames } from "./servers-file.ts";
import type { ShellCommand } from "./shell-command.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
/** How long to wait for names, and how many to print: a person waits for them while typing. */
const NAMES_WITHIN_MS = 1_000;
const NAMES_MAX = 200;

const HELP = `
Prints a script for the shell, which knows the commands and flags of this version. It gets the names of locks from
\`rowlock completion names\`, which asks the server for up to a second and prints no error if none answers, and the named
servers from \`rowlock completion servers\`.

Examples:
  rowlock completion bash > ~/.local/share/bash-completion/completions/rowlock
  rowlock completion zsh > "\${fpath[1]}/_rowlock"
  rowlock completion fish > ~/.config/fish/completions/rowlock.fish
  source <(rowlock completion bash)          # in this shell only
`;

/** @param everything loads all commands, with their flags. */
export function addCompletion(
  command: ShellCommand,
  context: CliContext,
  exit: (code: ExitCode) => void,
  everything: () => Promise<Command>,
): void {
  const what = new Argument("<shell>", "bash, zsh or fish; or names, or servers");
  command
    .addArgument(what.choices([...Object.keys(SCRIPTS), "names", "servers"]))
    .argument("[prefix]", "for names: what they begin with", "");
  addServerOptions(command)
    .addHelpText("after", HELP)
    .action(async (shell: keyof typeof SCRIPTS | "names" | "servers", prefix: string) => {
      const servers = serversOf(command, context);
      if (shell === "names") {
        if (!command.hasFaults) await printNames(servers, prefix, context);
      } else if (shell === "servers") {
        for (const name of serverNames(context)) context.out(`${name}\n`);
      } else {
        command.refuseFaults();
        context.out(SCRIPTS[shell](described(await everything())));
      }
      exit(EXIT.ok);
    });
}

/**
 * Prints the names that arrive in time. Reports no errors: a command reports them once the person has finished typing.
 */
async function printNames(
  servers: ReturnType<typeof serversOf>,
  prefix: string,
  { out }: CliContext,
): Promise<void> {
  const { connect, RowlockError } = await import("../../../clients/typescript/src/index.ts");
  const rowlock = connect({ ...servers, giveUpAfter: NAMES_WITHIN_MS });
  try {
    let count = 0;
    for await (const { name } of rowlock.listLocks({ prefix, pageSize: NAMES_MAX })) {
      // The shell would take a name with line breaks for several names, and a terminal would obey other control
      // characters.
      if (shown(name) === name) out(`${name}\n`);
      count += 1;
      if (count >= NAMES_MAX) break;
    }
  } catch (error) {
    if (!(error instanceof RowlockError)) throw error;
  } finally {
    await rowlock.close();
  }
}
