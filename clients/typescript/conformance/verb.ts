// The types of the driver's commands and verbs.

/** A parsed line of standard input. The driver trusts the runner to follow the protocol. */
// biome-ignore lint/suspicious/noExplicitAny: each command has arguments of its own.
export type Command = { readonly id: number; readonly do: string; readonly [argument: string]: any };

/** Resolves with its result; or answers by itself before that, if events may follow the result at once. */
export type Verb = (command: Command, answer: (result: object) => void) => Promise<object | undefined>;
