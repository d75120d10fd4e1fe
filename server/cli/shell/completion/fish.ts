// Makes the script for fish: a line for each command and flag.

import type { DescribedCommand, DescribedFlag, Values } from "./described.ts";
import { WHERE_FLAGS } from "./described.ts";

export function fishScript(commands: readonly DescribedCommand[]): string {
  const taking = commands
    .flatMap(({ flags }) => flags)
    .filter(({ value }) => value)
    .flatMap(({ names }) => names);
  const lines = commands.flatMap((command) => commandLines(command));
  return `# Completes rowlock in fish. Made by \`rowlock completion fish\`.

# The words before this one that are neither flags nor their values.
function __rowlock_operands
    set -l skip
    for word in (commandline -opc)[2..-1]
        if set -q skip[1]
            set -e skip
        else if contains -- $word ${[...new Set(taking)].join(" ")}
            set skip yes
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

function __rowlock_command
    set -l operands (__rowlock_operands)
    not contains -- -- (commandline -opc)
    and test "$operands[1]" = $argv[1]
end

# Whether the word is the first one of this command.
function __rowlock_first
    set -l operands (__rowlock_operands)
    __rowlock_command $argv[1]
    and test (count $operands) = 1
end

# The names of locks, as the server knows them.
function __rowlock_locks
    set -l where
    set -l tokens (commandline -opc)
    for i in (seq (count $tokens))
        if contains -- $tokens[$i] ${WHERE_FLAGS.join(" ")}
            set -a where $tokens[$i] $tokens[(math $i + 1)]
        else if test "$tokens[$i]" = --tls
            set -a where --tls
        end
    end
    $tokens[1] completion names $where -- (commandline -ct) 2>/dev/null
end

function __rowlock_servers
    set -l tokens (commandline -opc)
    $tokens[1] completion servers 2>/dev/null
end

complete -c rowlock -f
complete -c rowlock -n 'test (count (__rowlock_operands)) = 0' -s V -l version -d 'print the version'
${lines.join("\n")}
`;
}

function commandLines({ name, tells, flags, first, wraps }: DescribedCommand): string[] {
  const within = quoted(`__rowlock_command ${name}`);
  return [
    `complete -c rowlock -n 'test (count (__rowlock_operands)) = 0' -a ${name} -d ${quoted(tells)}`,
    ...flags.map((flag) => `complete -c rowlock -n ${within} ${flagWords(flag)}`),
    ...(first ? firstLines(name, first) : []),
    ...(wraps
      ? [`complete -c rowlock -n 'contains -- -- (commandline -opc)' -F -a '(__fish_complete_command)'`]
      : []),
  ];
}

function firstLines(name: string, values: Values): string[] {
  const words = valueWords(values);
  const force = values.kind === "lock by force" ? "; and contains -- --force (commandline -opc)" : "";
  return words ? [`complete -c rowlock -n ${quoted(`__rowlock_first ${name}${force}`)} ${words}`] : [];
}

function flagWords({ names, tells, value }: DescribedFlag): string {
  const named = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const words = value ? ` ${value.kind === "file" ? "-r" : "-x"} ${valueWords(value)}` : "";
  return `${named.join(" ")} -d ${quoted(tells.replaceAll("\n", " "))}${words}`.trimEnd();
}

function valueWords(values: Values): string {
  switch (values.kind) {
    case "choice":
      return `-a ${quoted(values.choices.join(" "))}`;
    case "file":
      return "-F";
    case "server":
      return "-a '(__rowlock_servers)'";
    case "lock":
    case "lock by force":
      return "-a '(__rowlock_locks)'";
    default:
      return "";
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
