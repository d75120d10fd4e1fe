// Makes the script for zsh, which uses zsh's own `_arguments`.

import type { DescribedCommand, DescribedFlag, Values } from "./described.ts";
import { WHERE_FLAGS } from "./described.ts";

export function zshScript(commands: readonly DescribedCommand[]): string {
  const names = commands.map(({ name, tells }) => `    ${quoted(`${name}:${tells}`)}`).join("\n");
  return `#compdef rowlock
# Completes rowlock in zsh. Made by \`rowlock completion zsh\`.

# The names of locks, as the server knows them.
_rowlock_locks() {
  local -a names where
  local flag
  for flag in ${WHERE_FLAGS.join(" ")}; do
    (( \${+opt_args[$flag]} )) && where+=($flag \${(Q)opt_args[$flag]})
  done
  (( \${+opt_args[--tls]} )) && where+=(--tls)
  names=(\${(f)"$($program completion names $where -- \${(Q)PREFIX} 2>/dev/null)"})
  compadd -a names
}

# The command that is run under the lock, behind the dashes.
_rowlock_inner() {
  local at=\${words[(i)--]}
  (( at < CURRENT )) || return
  shift $at words
  (( CURRENT -= at ))
  _normal
}

_rowlock_locks_by_force() {
  (( \${+opt_args[--force]} )) && _rowlock_locks
}

_rowlock_servers() {
  local -a names
  names=(\${(f)"$($program completion servers 2>/dev/null)"})
  compadd -a names
}

_rowlock() {
  local program=\${~words[1]} context state line
  local -A opt_args
  local -a commands
  commands=(
${names}
  )
  _arguments -C '(-)'{-h,--help}'[print help]' '(-)'{-V,--version}'[print the version]' '1: :->command' '*:: :->words'
  case $state in
    command) _describe -t commands command commands ;;
    words)
      case $line[1] in
${commands.map(branch).join("\n")}
      esac ;;
  esac
}

if [[ $funcstack[1] == _rowlock ]]; then _rowlock "$@"; else compdef _rowlock rowlock; fi
`;
}

function branch({ name, flags, first, wraps }: DescribedCommand): string {
  const specs = flags.flatMap(flagSpecs);
  if (first) specs.push(quoted(`1:${first.kind === "choice" ? "word" : "name"}:${action(first)}`));
  if (wraps) specs.push("'*:command:_rowlock_inner'");
  return `        ${name}) _arguments ${wraps ? "-S " : ""}${specs.map((spec) => `\\\n          ${spec}`).join(" ")} ;;`;
}

function flagSpecs({ names, tells, value }: DescribedFlag): string[] {
  const words = tells.replace(/[[\]\\:]/g, "\\$&").replaceAll("\n", " ");
  return names.map((name) => quoted(`${name}[${words}]${value ? `:value:${action(value)}` : ""}`));
}

function action(values: Values): string {
  switch (values.kind) {
    case "choice":
      return `(${values.choices.join(" ")})`;
    case "file":
      return "_files";
    case "server":
      return "_rowlock_servers";
    case "lock":
      return "_rowlock_locks";
    case "lock by force":
      return "_rowlock_locks_by_force";
    default:
      return " ";
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
