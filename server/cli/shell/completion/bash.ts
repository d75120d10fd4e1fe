// Makes the script for bash, from version 3.2 on: a table of flags in `case` branches, and the code that walks through
// the words.

import { type DescribedCommand, type Values, WHERE_FLAGS } from "./described.ts";

export function bashScript(commands: readonly DescribedCommand[]): string {
  const flags = commands.flatMap((command) => command.flags);
  const taking = unique(flags.filter(({ value }) => value).flatMap(({ names }) => names));
  return `# Completes rowlock in bash. Made by \`rowlock completion bash\`.

# The names of locks, as the server knows them.
_rowlock_locks() {
  local name
  while IFS= read -r name; do
    case $name in "$cur"*) COMPREPLY+=("$(printf %q "$name")") ;; esac
  done < <("$program" completion names "\${where[@]}" -- "$cur" 2>/dev/null)
}

_rowlock_among() {
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$1" -- "$cur")
}

_rowlock_files() {
  compopt -o filenames 2>/dev/null
  local file
  while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen "$1" -- "$cur")
}

_rowlock() {
  local line=\${COMP_LINE:0:COMP_POINT} words program cur prev= command= operands=0 force= inner=-1 i
  local where=()
  # Bash itself splits words at colons, which names and addresses have.
  read -ra words <<<"$line"
  case $line in *[[:space:]]) words+=("") ;; esac
  local last=$((\${#words[@]} - 1))
  program=\${words[0]/#\\~/$HOME} cur=\${words[last]}
  ((last > 1)) && prev=\${words[last - 1]}
  COMPREPLY=()

  for ((i = 1; i < last; i++)); do
    case \${words[i]} in
      --) inner=$i && break ;;
      ${WHERE_FLAGS.join(" | ")})
        ((i + 1 < last)) && where+=("\${words[i]}" "\${words[i + 1]}")
        ((i++)) ;;
      --tls) where+=(--tls) ;;
      --force) force=yes ;;
      ${taking.filter((name) => !(WHERE_FLAGS as readonly string[]).includes(name)).join(" | ")}) ((i++)) ;;
      -*) ;;
      *) if [[ -z $command ]]; then command=\${words[i]}; else ((operands++)); fi ;;
    esac
  done

  if ((inner == last - 1)); then
    _rowlock_files -c
  elif ((inner > 0)); then
    _rowlock_files -f
  elif [[ -z $command && $cur == -* ]]; then
    _rowlock_among "--help --version"
  elif [[ -z $command ]]; then
    _rowlock_among "${commands.map(({ name }) => name).join(" ")}"
  else
    case $command:$prev in
${flagBranches(commands)}
      *)
        case $command in
${commands.map(commandBranch).join("\n")}
        esac ;;
    esac
  fi

  # What bash takes for the word begins after the last colon or equals sign.
  local before=\${cur%"\${cur##*[:=]}"}
  if [[ -n $before && $COMP_WORDBREAKS == *:* ]]; then
    for ((i = 0; i < \${#COMPREPLY[@]}; i++)); do COMPREPLY[i]=\${COMPREPLY[i]#"$before"}; done
  fi
}
complete -F _rowlock rowlock
`;
}

/** The branches that complete the values of flags; flags with the same kind of values share a branch. */
function flagBranches(commands: readonly DescribedCommand[]): string {
  const patterns = new Map<string, string[]>();
  for (const { name, flags } of commands) {
    for (const { names, value } of flags) {
      if (!value) continue;
      const action = valuesAction(value);
      patterns.set(action, [...(patterns.get(action) ?? []), ...names.map((flag) => `${name}:${flag}`)]);
    }
  }
  return [...patterns].map(([action, each]) => `      ${each.join(" | ")}) ${action} ;;`).join("\n");
}

function commandBranch({ name, flags, first }: DescribedCommand): string {
  const words = flags.flatMap(({ names }) => names.filter((flag) => flag.startsWith("--"))).join(" ");
  const operand = first ? `elif ((operands == 0)); then ${valuesAction(first)}; ` : "";
  return `          ${name}) if [[ $cur == -* ]]; then _rowlock_among "${words}"; ${operand}fi ;;`;
}

function valuesAction(values: Values): string {
  switch (values.kind) {
    case "choice":
      return `_rowlock_among "${values.choices.join(" ")}"`;
    case "file":
      return "_rowlock_files -f";
    case "server":
      return '_rowlock_among "$("$program" completion servers 2>/dev/null)"';
    case "lock":
      return "_rowlock_locks";
    case "lock by force":
      return "[[ -z $force ]] || _rowlock_locks";
    default:
      return ":";
  }
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
