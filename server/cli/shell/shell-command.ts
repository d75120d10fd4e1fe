// A command whose user learns of all that is wrong with its words at once. What is found is kept until `refuseFaults`.

import type { Argument, ErrorOptions, Option, ParseOptionsResult } from "commander";
import { Command, InvalidArgumentError } from "commander";

/** After these nothing else that could be said of the words would be true. */
const ENDING = ["commander.unknownOption", "commander.unknownCommand", "commander.optionMissingArgument"];
/** A word that is told again. */
const QUOTED_MAX = 60;

export class ShellCommand extends Command {
  readonly #faults: string[] = [];
  #runsCommand = false;

  /** Its last words are a command to run, and stand after `--`: before it, their flags would be taken for its own. */
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

  /** Something is wrong, in a sentence that goes on after "error: ". */
  fault(sentence: string): void {
    this.#faults.push(sentence);
  }

  get hasFaults(): boolean {
    return this.#faults.length > 0;
  }

  /** Tells all that is wrong, and ends the command, where anything is. */
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

  /** Commander's own finds: most of them are kept, and then it goes on, whatever its types say. */
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
        // Of no use to anybody, as the command will not run.
        return undefined as never;
      }
    };
  }
}

function quoted(text: string): string {
  const start = text.length > QUOTED_MAX ? `${text.slice(0, QUOTED_MAX)}…` : text;
  return JSON.stringify(start);
}
