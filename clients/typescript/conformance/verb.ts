// What the driver is asked for, and what answers it.

/** A line of the standard input, parsed. The runner is trusted to send what the protocol says. */
// biome-ignore lint/suspicious/noExplicitAny: each command has arguments of its own.
export type Command = { readonly id: number; readonly do: string; readonly [argument: string]: any };

/** Resolves with its result; or has answered by then, where events may follow the result at once. */
export type Verb = (command: Command, answer: (result: object) => void) => Promise<object | undefined>;
