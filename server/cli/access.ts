// The commands about who may do what, which need no server: `rowlock token new` makes a token, and `rowlock policy
// check` says what a policy allows.

import { InvalidArgumentError } from "commander";
import type { Declare } from "../../clients/shell/command.ts";
import { type CliContext, EXIT } from "../../clients/shell/context.ts";
import { shown } from "../../clients/shell/print.ts";
import { boundsOf, readPolicy } from "../access/policy-file.ts";
import { principalName } from "../access/principal.ts";
import { type Needed, VERB_NAMES } from "../access/rights.ts";
import { newToken } from "../access/tokens-file.ts";
import { ROWS } from "../grpc/verbs.ts";

const TOKEN_HELP = `
Prints the token on the standard output, once, and the line for the file of ROWLOCK_TOKENS_FILE on the
standard error output. The line has only a hash, so nobody can get the token from it.

Examples:
  umask 077    # only you can read the files
  rowlock token new nightly > nightly.token 2>> tokens
  rowlock run etl/orders --token-file nightly.token -- ./load-orders
`;

export const token: Declare = (command, context) => {
  const make = command.createCommand("new").description("make a bearer token");
  command.addCommand(make.copyInheritedSettings(command));
  make.argument("<name>", "who gets it; the policy knows the caller as token:NAME", tokenName);
  make.runs(TOKEN_HELP, async () => {
    const { token: made, line } = newToken(make.processedArgs[0] as string);
    context.out(`${made}\n`);
    context.err(`${line}\n`);
    return EXIT.ok;
  });
};

function tokenName(text: string): string {
  if (!/^[^\s*#]+$/.test(text) || principalName("token", text) === null)
    throw new InvalidArgumentError("use a name of at most 249 bytes, without spaces, stars and #.");
  return text;
}

const POLICY_HELP = `
Says whether the policy allows it, and by which rule, and which quota the caller has. Without --as, --may
and --on, it only checks that the file can be read.

Exit code: 0 if it is allowed, 1 if it is not, 2 if the file has faults; they are all listed.

Examples:
  rowlock policy check policy.yaml
  rowlock policy check policy.yaml --as token:nightly --may acquire --on etl/orders
`;

interface PolicyFlags {
  readonly as?: string;
  readonly may?: Needed;
  readonly on?: string;
}

export const policy: Declare = (command, context) => {
  const check = command.createCommand("check").description("check a policy file, and say what it allows");
  command.addCommand(check.copyInheritedSettings(command));
  check
    .argument("<file>", "the policy")
    .option("--as <principal>", "who asks, such as token:nightly or jwt:system:serviceaccount:etl:loader")
    .option("--may <verb>", "what for, such as acquire, force-release or head_start", neededBy)
    .option("--on <name>", "on which lock");
  check.runs(POLICY_HELP, async () => {
    const [file] = check.processedArgs as [string];
    const { as, may, on }: PolicyFlags = check.opts();
    const question = [as, may, on];
    if (question.some((part) => part === undefined) && question.some((part) => part !== undefined)) {
      context.err("A question needs --as, --may and --on.\n");
      return EXIT.unchecked;
    }
    const read = policyIn(file, context);
    if ("faults" in read) {
      context.err(read.faults.map((fault) => `${shown(file)}: ${shown(fault)}\n`).join(""));
      return EXIT.unchecked;
    }
    if (as === undefined || may === undefined || on === undefined) {
      context.out(`${shown(file)} has no faults.\n`);
      return EXIT.ok;
    }
    const rules = read.value.of(as);
    const rule = rules.ruleFor(may, on);
    const asked = `${may.verb} (the right ${may.right}) on ${shown(on)}`;
    context.out(
      rule
        ? `yes: the rule in line ${rule.line} allows ${shown(as)} ${asked}\n`
        : `no: no rule allows ${shown(as)} ${asked}\n`,
    );
    context.out(`quota: ${boundsOf(rules.quota).join(", ") || "none"}\n`);
    const own = Object.entries(rules.labels?.own ?? {}).map(([key, value]) => `${key}=${value}`);
    if (rules.labels) context.out(`labels: ${shown(own.join(", ")) || "none"}\n`);
    return rule ? EXIT.ok : EXIT.failed;
  });
};

function policyIn(file: string, { readFile }: CliContext): ReturnType<typeof readPolicy> {
  let text: string;
  try {
    text = readFile(file);
  } catch (error) {
    return { faults: [`it cannot be read (${(error as NodeJS.ErrnoException).code})`] };
  }
  return readPolicy(text);
}

/** Rights that an Acquire needs for more than the lock. */
const FOR_MORE = ["supersede", "head_start"] as const;

/** What a verb needs, or what an Acquire needs for more. A verb may be written as `force-release`, `forceRelease` or `ForceRelease`. */
function neededBy(text: string): Needed {
  const plain = (word: string) => word.toLowerCase().replaceAll(/[-_]/g, "");
  const found = Object.values(ROWS).find(({ of }) => plain(of.name) === plain(text));
  if (found) return found.needs;
  const right = FOR_MORE.find((each) => plain(each) === plain(text));
  if (right) return { verb: "Acquire", right };
  throw new InvalidArgumentError(
    `name a call, and not a right as in a policy: one of ${[...VERB_NAMES, ...FOR_MORE].join(", ")}.`,
  );
}
