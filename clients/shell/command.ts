// A command of `rowlock`: reports all that is wrong with its flags and arguments at once, and otherwise runs. Commands
// of the shell run with a client.

import type { Argument, ErrorOptions, Option, ParseOptionsResult } from "commander";
import { Command, InvalidArgumentError } from "commander";
import type { ConnectOptions, RowlockClient } from "../typescript/src/index.ts";
import type { CliContext, ExitCode } from "./context.ts";
import { exitCodeOf, sentenceOf } from "./errors.ts";
import { helpWidth, wrapped } from "./print.ts";
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
    this.addHelpText("after", this.#wrapped(help)).action(async () => {
      this.refuseFaults();
      this.#exit(await run());
    });
  }

  /**
   * Adds the help, the flags that say where the servers are, and the action. `plan` checks what was written, adds
   * faults, and returns the work, which runs with a client, and only if there are no faults.
   * @param more options of that client.
   */
  asks<Flags extends object, Words extends readonly unknown[]>(
    help: string,
    plan: (flags: Flags, ...words: Words) => Work,
    more: Pick<ConnectOptions, "onConnection"> = {},
  ): void {
    addServerOptions(this)
      .addHelpText("after", this.#wrapped(help + SERVER_HELP))
      .action(async () => {
        const work = plan(this.opts() as Flags, ...(this.processedArgs as unknown as Words));
        const servers = await this.servers();
        this.refuseFaults();
        this.#exit(await this.#withClient(servers, work, more));
      });
  }

  /** Breaks lines only for a reader. */
  #wrapped(help: string): () => string {
    return () => wrapped(help, helpWidth(this.#context));
  }

  /** Loads the client only here. Reports an error as a sentence that says what to do. */
  async #withClient(
    servers: Servers,
    work: Work,
    more: Pick<ConnectOptions, "onConnection">,
  ): Promise<ExitCode> {
    const { connect, RowlockError } = await import("../typescript/src/index.ts");
    const rowlock = connect({ ...connectOptionsOf(servers), ...more });
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

  /** Whether the last arguments are a command to run. */
  get isRunner(): boolean {
    return this.registeredArguments.at(-1)?.variadic ?? false;
  }

  override parseOptions(words: string[]): ParseOptionsResult {
    if (!this.isRunner) return super.parseOptions(words);
    const { own, toRun } = this.splitAtCommand(words);
    const { operands, unknown } = super.parseOptions([...own]);
    if (operands.length === 0 && unknown.length === 0 && toRun.length > 0)
      super.error(`error: nothing stands before "--": ${this.usage()}`);
    return { operands: [...operands, ...toRun], unknown };
  }

  /**
   * The words of this command, and those of the command that it runs, which has all flags after its name. A "--" before
   * that name only makes the line easier to read, and belongs to neither.
   */
  splitAtCommand(words: readonly string[]): { own: readonly string[]; toRun: readonly string[] } {
    const ownOperands = this.registeredArguments.length - 1;
    let operands = 0;
    for (let at = 0; at < words.length; at++) {
      const word = words[at] as string;
      if (word === "--") return { own: words.slice(0, at), toRun: words.slice(at + 1) };
      if (word.startsWith("-") && word !== "-") at += this.#takesNextWord(word) ? 1 : 0;
      else if (operands === ownOperands) return { own: words.slice(0, at), toRun: words.slice(at) };
      else operands += 1;
    }
    return { own: words, toRun: [] };
  }

  #takesNextWord(flag: string): boolean {
    return this.options.some(({ long, short, required }) => required && (long === flag || short === flag));
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
