// Completion in shells. `rowlock completion` prints a script for a shell. When a person presses the key, that script
// runs the hidden command `rowlock __complete WORDS...` with the words of the line, of which the last one may be
// incomplete or empty, and offers what this prints.

import { Argument, type Command, type Option } from "commander";
import { type Declare, RowlockCommand } from "./command.ts";
import { type CliContext, EXIT } from "./context.ts";
import { shown } from "./print.ts";
import { connectOptionsOf, serverNames } from "./servers.ts";

/** How long to wait for names, and how many to print: a person waits for them while typing. */
const NAMES_WITHIN_MS = 1_000;
const NAMES_MAX = 200;

/**
 * What completes a word: words with descriptions; the path of a file; or a word of the command that is run under a
 * lock, which the shell itself completes, with the number of words of the line before that command.
 */
type Offer = readonly (readonly [word: string, about?: string])[] | "files" | `command ${number}`;

/** Arguments that are names of locks. */
const LOCKS = /^(name|prefix)$/;

const HELP = `
Prints a script for the shell. On each press of the key, the script asks this program for the commands, flags and values
that fit. For names of locks, the program asks the server for up to a second. It prints no error if none answers.

Examples:
  rowlock completion bash > ~/.local/share/bash-completion/completions/rowlock
  rowlock completion zsh > "\${fpath[1]}/_rowlock"
  rowlock completion fish > ~/.config/fish/completions/rowlock.fish
  source <(rowlock completion bash)          # in this shell only
`;

export const completion: Declare = (command, { out }) => {
  command
    .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(Object.keys(SCRIPTS)))
    .runs(HELP, async () => {
      out(SCRIPTS[command.args[0] as keyof typeof SCRIPTS]);
      return EXIT.ok;
    });
};

/**
 * Prints what completes the last of the words: a line with the kind of the offer, and then each word with a tab and its
 * description. Reports no errors: a command reports them once the person has finished typing. `program` has at least
 * the flags of the command that the words name.
 */
export async function complete(
  words: readonly string[],
  program: Command,
  context: CliContext,
): Promise<void> {
  const offer = await offerFor(words.slice(0, -1), words.at(-1) ?? "", program, context);
  if (typeof offer === "string") return context.out(`${offer}\n`);
  const lines = offer.map(([word, about]) => (about ? `${word}\t${about.replaceAll("\n", " ")}` : word));
  context.out(["words", ...lines, ""].join("\n"));
}

async function offerFor(
  before: readonly string[],
  word: string,
  program: Command,
  context: CliContext,
): Promise<Offer> {
  let command = program;
  let operands = 0;
  /** The flag whose value the next word is. */
  let flag: Option | undefined;
  for (const each of before) {
    if (each.startsWith("-") && !flag?.required) flag = flagWithValue(command, each);
    else if (flag) flag = undefined;
    else {
      const nested = operands === 0 && commandsOf(command).find((other) => other.name() === each);
      if (nested) command = nested;
      else operands += 1;
    }
  }
  const words = before.slice(before.indexOf(command.name()) + 1);
  if (command instanceof RowlockCommand && command.isRunner) {
    const { toRun } = command.splitAtCommand([...words, word]);
    if (toRun.length > 0) return `command ${before.length + 1 - toRun.length}`;
  }
  if (flag?.required || (flag && !word.startsWith("-")))
    return await valuesOf(flag, word, { command, words: words.slice(0, -1), context });
  if (word.startsWith("-")) return await flagsFor(word, { command, words, context });
  const choices = command.name() === "help" ? commandsOf(program) : commandsOf(command);
  if (operands === 0 && choices.length > 0)
    return choices.map((choice) => [choice.name(), choice.description()]);
  const argument = command.registeredArguments[operands];
  const isLock =
    argument?.name() === "lease" ? words.includes("--force") : LOCKS.test(argument?.name() ?? "");
  if (isLock) return await lockNames(word, command, words);
  return (argument?.argChoices ?? []).map((choice) => [choice]);
}

/** Where a word stands: the command, and the words before it on the line. */
interface Line {
  readonly command: Command;
  readonly words: readonly string[];
  readonly context: CliContext;
}

/** Offers flags, or the values of a flag that the word already names, as in `--order=`. */
async function flagsFor(word: string, line: Line): Promise<Offer> {
  const { command } = line;
  const [, name, begun = ""] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  const flag = name === undefined ? undefined : flagWithValue(command, name);
  if (flag) {
    const values = await valuesOf(flag, begun, line);
    return typeof values === "string" ? values : values.map(([value]) => [`${name}=${value}`]);
  }
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, short, description }) =>
      [long, short].flatMap((each) => (each === undefined ? [] : ([[each, description]] as const))),
    );
}

function flagWithValue(command: Command, name: string): Option | undefined {
  return command.options.find(
    ({ long, short, required, optional }) => (required || optional) && (long === name || short === name),
  );
}

async function valuesOf({ argChoices, long, flags }: Option, word: string, line: Line): Promise<Offer> {
  if (long === "--server") return serverNames(line.context).map((name) => [name]);
  if (/<lock>/.test(flags)) return await lockNames(word, line.command, line.words);
  if (/<(file|path)>/.test(flags)) return "files";
  return (argChoices ?? []).map((choice) => [choice]);
}

function commandsOf(command: Command): Command[] {
  return command.createHelp().visibleCommands(command);
}

/** Returns the names that arrive in time, from the server that the line names so far. */
async function lockNames(prefix: string, command: Command, words: readonly string[]): Promise<Offer> {
  if (!(command instanceof RowlockCommand)) return [];
  command.parseOptions([...words]);
  const servers = await command.servers();
  if (command.hasFaults) return [];
  const { connect, RowlockError } = await import("../typescript/src/index.ts");
  const rowlock = connect(connectOptionsOf({ ...servers, giveUpAfter: NAMES_WITHIN_MS }));
  const names: string[] = [];
  try {
    for await (const { name } of rowlock.listLocks({ prefix, pageSize: NAMES_MAX })) {
      names.push(name);
      if (names.length === NAMES_MAX) break;
    }
  } catch (error) {
    if (!(error instanceof RowlockError)) throw error;
  } finally {
    await rowlock.close();
  }
  // The shell would take a name with line breaks for several names, and a terminal would obey other control characters.
  return names.filter((name) => shown(name) === name).map((name) => [name]);
}

const BASH = `# Completes rowlock in bash, from version 3.2 on. Made by \`rowlock completion bash\`.
_rowlock() {
  local line=\${COMP_LINE:0:COMP_POINT} words current kind at word
  # Bash itself splits words at colons and equals signs, which names and flags have.
  read -ra words <<<"$line"
  case $line in *[[:space:]]) words+=("") ;; esac
  current=\${words[\${#words[@]} - 1]} COMPREPLY=()
  {
    read -r kind at
    case $kind in
      words)
        while IFS=$'\\t' read -r word _; do
          case $word in "$current"*) COMPREPLY+=("$(printf %q "$word")") ;; esac
        done ;;
      files | command)
        compopt -o filenames 2>/dev/null
        # The first word of a command is the name of a program.
        if [[ $kind == command && $((\${#words[@]} - 2)) == "$at" ]]; then kind=-c; else kind=-f; fi
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen $kind -- "\${current#--*=}") ;;
    esac
  } < <("\${words[0]/#\\~/$HOME}" __complete "\${words[@]:1}" 2>/dev/null)
  # What bash takes for the word begins after the last colon or equals sign.
  local before=\${current%"\${current##*[:=]}"}
  if [[ $COMP_WORDBREAKS == *:* ]]; then COMPREPLY=("\${COMPREPLY[@]#"$before"}"); fi
}
complete -F _rowlock rowlock
`;

const ZSH = `#compdef rowlock
# Completes rowlock in zsh. Made by \`rowlock completion zsh\`.
_rowlock() {
  local program=\${~words[1]}
  local -a before lines
  before=("\${(@Q)words[2,CURRENT-1]}")
  lines=("\${(@f)$($program __complete "\${before[@]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  case $lines[1] in
    words)
      shift lines
      local line
      local -a names described list
      [[ $lines[1] == *$'\\t'* ]] && list=(-l)
      for line in $lines; do names+=("\${line%%$'\\t'*}") described+=("\${line/$'\\t'/  -- }"); done
      compadd $list -d described -a names ;;
    files) compset -P '--*='; _files ;;
    command*)
      # The command that is run under the lock, behind this many words and rowlock itself.
      local at=$(( \${lines[1]#command } + 1 ))
      shift $at words
      (( CURRENT -= at ))
      _normal ;;
  esac
}
if [[ $funcstack[1] == _rowlock ]]; then _rowlock "$@"; else compdef _rowlock rowlock; fi
`;

const FISH = `# Completes rowlock in fish. Made by \`rowlock completion fish\`.
function __rowlock_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    switch "$lines[1]"
        case words
            printf '%s\\n' $lines[2..-1]
        case files
            set -l flag (string match -r -- '^--[^=]*=' "$current")
            printf "$flag%s\\n" (complete -C "'' "(string replace -- "$flag" '' "$current"))
        case 'command *'
            set -l at (math (string replace 'command ' '' -- $lines[1]) + 2)
            complete -C (string join ' ' -- (string escape -- $words[$at..-1]) "$current")
    end
end
complete -c rowlock -f -a '(__rowlock_complete)'
`;

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH };
