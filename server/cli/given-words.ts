// The bytes of arguments and environment, before Node turned them into text. Node replaces what is not UTF-8, so that two
// names become one: such words are refused.

import { isUtf8 } from "node:buffer";
import { said } from "../../clients/shell/print.ts";

/** Whose values are read here; the others are only passed on to commands. */
const OWN = /^ROWLOCK_/;
/** What a shell can set. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const REPLACED = "\ufffd";

export interface Given {
  /** As /proc shows them: each with a zero byte after it. Empty where there is no /proc. */
  readonly cmdline: Buffer;
  readonly environ: Buffer;
  /** The last words of the command line, as Node passes them. */
  readonly args: readonly string[];
}

/** What is wrong with the words, as a line of the shell; undefined: nothing. */
export function wordsFault(given: Given): string | undefined {
  const fault = sentenceOf(given);
  return fault && said(fault);
}

function sentenceOf({ cmdline, environ, args }: Given): string | undefined {
  const words = split(cmdline).slice(-args.length || Number.POSITIVE_INFINITY);
  const at = words.findIndex((word) => !isUtf8(word));
  if (at >= 0)
    return `The argument ${printable(words[at] as Buffer)} is not valid UTF-8, and Node would turn it into another one: write it in UTF-8.`;
  // Without the bytes, nobody can know.
  const replaced = cmdline.length === 0 ? args.find((word) => word.includes(REPLACED)) : undefined;
  if (replaced !== undefined)
    return `The argument ${JSON.stringify(replaced)} has U+FFFD, which stands for what is not valid UTF-8: write it in UTF-8.`;
  const own = variables(environ).find(([name, value]) => OWN.test(name) && !isUtf8(value));
  return own && `The variable ${own[0]} is not valid UTF-8: write it in UTF-8.`;
}

/** The variables whose bytes Node would change, and that a shell can set. */
export function bytesOfVariables(environ: Buffer): ReadonlyMap<string, Uint8Array> {
  return new Map(variables(environ).filter(([name, value]) => VARIABLE.test(name) && !isUtf8(value)));
}

function variables(environ: Buffer): [string, Buffer][] {
  return split(environ).map((pair) => {
    const at = pair.indexOf("=");
    return [pair.subarray(0, at).toString(), pair.subarray(at + 1)];
  });
}

function split(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(0, from);
    parts.push(bytes.subarray(from, end < 0 ? bytes.length : end));
    from = end < 0 ? bytes.length : end + 1;
  }
  return parts;
}

function printable(bytes: Buffer): string {
  const hex = (byte: string) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`;
  return `"${bytes.toString("latin1").replace(/[^\x20-\x7e]/g, hex)}"`;
}
