// A command that reports all that is wrong with its arguments at once. Keeps the faults until `refuseFaults`.

import type { Argument, ErrorOptions, Option, ParseOptionsResult } from "commander";
import { Command, InvalidArgumentError } from "commander";

/** After one of these errors, any further fault may be wrong, so the command reports at once. */
const ENDING = ["commander.unknownOption", "commander.unknownCommand", "commander.optionMissingArgument"];
/** Characters of an argument that a fault quotes at most. */
const QUOTED_MAX = 60;

export class ShellCommand extends Command {
  readonly #faults: string[] = [];
  #runsCommand = false;

  /**
   * The last arguments are a command to run. They must follow `--`: before it, their flags would be taken for flags of
   * this command.
   */
  runsCommand(): this {
    this.#runsCommand = true;
    return this;
  }

  override parseOptions(words: string[]): ParseOptionsResult {
    if (!this.#runsCommand) return super.parseOptions(words);
    const at = words.indexOf("--");
    const [own, toRun] = at < 0 ? [words, []] : [words.slice(0, at), words.slice(at + 1)];
    const { operands, unknown } = super.parseOptions(own);
    const asksForHelp = unknown.some((word) => word === "--help" || word === "-h");
    const [lock = "", program] = operands;
    if (program !== undefined && !asksForHelp) {
      const command = words.slice(words.indexOf(program, 1)).filter((word) => word !== "--");
      const meant = `rowlock ${this.name()} ${lock} -- ${command.join(" ")}`;
      super.error(`error: the command to run stands after "--": ${meant}`);
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
