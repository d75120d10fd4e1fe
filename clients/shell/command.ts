// A command of `rowlock`: reports all that is wrong with its flags and arguments at once, and otherwise runs. Commands
// of the shell run with a client.

import type { Argument, ErrorOptions, Option, ParseOptionsResult } from "commander";
import { Command, InvalidArgumentError } from "commander";
import type { RowlockClient } from "../typescript/src/index.ts";
import type { CliContext, ExitCode } from "./context.ts";
import { exitCodeOf, sentenceOf } from "./errors.ts";
import { addServerOptions, connectOptionsOf, SERVER_HELP, type Servers, serversOf } from "./servers.ts";

/** After one of these errors, any further fault may be wrong, so the command reports at once. */
const ENDING = ["commander.unknownOption", "commander.unknownCommand", "commander.optionMissingArgument"];
/** Characters of an argument that a fault quotes at most. */
const QUOTED_MAX = 60;

/** Adds the flags and arguments of one command, and what it does. */
export type Declare = (command: RowlockCommand, context: CliContext) => void;

/** What a command does with its servers. Resolves with the exit code. */
export type Work = (rowlock: RowlockClient, servers: Servers) => Promise<ExitCode>;

export class RowlockCommand extends Command {
  readonly #context: CliContext;
  readonly #exit: (code: ExitCode) => void;
  readonly #faults: string[] = [];

  constructor(name: string, context: CliContext, exit: (code: ExitCode) => void) {
    super(name);
    this.#context = context;
    this.#exit = exit;
  }

  /** Makes commands below this one. */
  override createCommand(name: string): RowlockCommand {
    return new RowlockCommand(name, this.#context, this.#exit);
  }

  /** Adds the help and the action, which runs only if nothing is wrong with the flags and arguments. */
  runs(help: string, run: () => Promise<ExitCode>): void {
    this.addHelpText("after", help).action(async () => {
      this.refuseFaults();
      this.#exit(await run());
    });
  }

  /**
   * Adds the help, the flags that say where the servers are, and the action. `plan` checks what was written, adds
   * faults, and returns the work, which runs with a client, and only if there are no faults.
   */
  asks<Flags extends object, Words extends readonly unknown[]>(
    help: string,
    plan: (flags: Flags, ...words: Words) => Work,
  ): void {
    addServerOptions(this)
      .addHelpText("after", help + SERVER_HELP)
      .action(async () => {
        const work = plan(this.opts() as Flags, ...(this.processedArgs as unknown as Words));
        const servers = await this.servers();
        this.refuseFaults();
        this.#exit(await this.#withClient(servers, work));
      });
  }

  /** Loads the client only here. Reports an error as a sentence that says what to do. */
  async #withClient(servers: Servers, work: Work): Promise<ExitCode> {
    const { connect, RowlockError } = await import("../typescript/src/index.ts");
    const rowlock = connect(connectOptionsOf(servers));
    try {
      return await work(rowlock, servers);
    } catch (error) {
      if (!(error instanceof RowlockError)) throw error;
      this.#context.err(await sentenceOf(error, servers));
      return exitCodeOf(error);
    } finally {
      await rowlock.close();
    }
  }

  /** Returns the servers that the flags name; adds what is wrong with them to the faults. */
  servers(): Promise<Servers> {
    return serversOf(this.opts(), this.#context, (sentence) => this.fault(sentence));
  }

  /**
   * Whether the last arguments are a command to run. They must follow `--`: before it, their flags would be taken for
   * flags of this command.
   */
  get isRunner(): boolean {
    return this.registeredArguments.at(-1)?.variadic ?? false;
  }

  override parseOptions(words: string[]): ParseOptionsResult {
    if (!this.isRunner) return super.parseOptions(words);
    const at = words.indexOf("--");
    const [own, toRun] = at < 0 ? [words, []] : [words.slice(0, at), words.slice(at + 1)];
    const { operands, unknown } = super.parseOptions(own);
    const asksForHelp = unknown.some((word) => word === "--help" || word === "-h");
    const [lock = "", program] = operands;
    if (program !== undefined && !asksForHelp) {
      const command = words.slice(words.indexOf(program, 1)).filter((word) => word !== "--");
      const meant = `rowlock ${this.name()} ${lock} -- ${command.join(" ")}`;
      super.error(`error: put the command to run after "--": ${meant}`);
    }
    if (operands.length === 0 && unknown.length === 0 && toRun.length > 0)
      super.error(`error: nothing stands before "--": ${this.usage()}`);
    return { operands: [...operands, ...toRun], unknown };
  }

  /** Adds a fault: a sentence that continues after "error: ". */
  fault(sentence: string): void {
    this.#faults.push(sentence);
  }

  get hasFaults(): boolean {
    return this.#faults.length > 0;
  }

  /** If there are faults, prints all of them and ends the command. */
  refuseFaults(): void {
    const [first, ...more] = this.#faults.splice(0);
    if (first === undefined) return;
    const all = [first, ...more].map((sentence) => `\n  - ${sentence}`).join("");
    super.error(
      more.length === 0
        ? `error: ${first}`
        : `error: ${more.length + 1} things are wrong with this command:${all}`,
    );
  }

  /**
   * Commander's own errors: keeps most of them as faults and then returns, although Commander's types say that it does
   * not.
   */
  override error(message: string, options: ErrorOptions = {}): never {
    const { code = "" } = options;
    if (!code.startsWith("commander.") || (ENDING.includes(code) && this.#faults.length === 0))
      super.error(message, options);
    this.fault(message.replace(/^error: /, ""));
    if (ENDING.includes(code)) this.refuseFaults();
    return undefined as never;
  }

  override addOption(option: Option): this {
    this.#keepFaults(option, (text) => `${option.long} ${quoted(text)}`);
    return super.addOption(option);
  }

  override addArgument(argument: Argument): this {
    this.#keepFaults(argument, (text) => `the ${argument.name()} ${quoted(text)}`);
    return super.addArgument(argument);
  }

  #keepFaults(parsed: Option | Argument, words: (text: string) => string): void {
    const parse = parsed.parseArg as ((text: string, previous: unknown) => never) | undefined;
    if (!parse) return;
    parsed.parseArg = (text: string, previous: unknown) => {
      try {
        return parse.call(parsed, text, previous);
      } catch (error) {
        if (!(error instanceof InvalidArgumentError)) throw error;
        this.fault(`${words(text)}: ${error.message}`);
        // Nobody uses the value, because the command will not run.
        return undefined as never;
      }
    };
  }
}

function quoted(text: string): string {
  const start = text.length > QUOTED_MAX ? `${text.slice(0, QUOTED_MAX)}…` : text;
  return JSON.stringify(start);
}
