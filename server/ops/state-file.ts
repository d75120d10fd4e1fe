// The file in which a server keeps, beyond its own life and outside the database, what the database must have. It is
// written whole and flushed: after a crash of the machine, a file older than the database would look like rows that
// were set back.

import { randomBytes } from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { RANDOM_NUMBER_BYTES, randomNumberOf } from "../core/rows.ts";

interface State {
  readonly witness: bigint;
  readonly marks: readonly bigint[];
  readonly atUs: number;
}

/** Both reject with a StateFileError if the file cannot be used. The first `read` creates a missing file. */
export function stateFile(path: string) {
  const failed = (error: unknown) => {
    throw new StateFileError(path, error);
  };
  return {
    write: (state: State): Promise<void> => write(path, state).catch(failed),
    read: (): Promise<State> => read(path).catch(failed),
  };
}

async function read(path: string): Promise<State> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (text !== null) return stateOf(JSON.parse(text));
  const first = { witness: randomNumberOf(randomBytes(RANDOM_NUMBER_BYTES)), marks: [], atUs: 0 };
  await write(path, first);
  return first;
}

/** Why the file cannot be used, for an operator. */
export class StateFileError extends Error {
  constructor(path: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(
      `The state file ${path} cannot be used (${why}). Repair it, name another one in ROWLOCK_STATE_FILE, or delete it: ` +
        "without it, the server does not notice a database that was restored before this start.",
      { cause },
    );
  }
}

function stateOf(content: unknown): State {
  const { witness, marks, atUs } = content as Record<string, unknown>;
  if (!Array.isArray(marks) || typeof atUs !== "number") throw new Error("it is not a Rowlock state file");
  return { witness: numberOf(witness), marks: marks.map(numberOf), atUs };
}

function numberOf(text: unknown): bigint {
  if (typeof text !== "string" || !/^\d{1,19}$/.test(text)) throw new Error("it is not a Rowlock state file");
  return BigInt(text);
}

async function write(path: string, { witness, marks, atUs }: State): Promise<void> {
  const content = { witness: String(witness), marks: marks.map(String), atUs };
  const next = `${path}.next`;
  const file = await open(next, "w", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(content)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(next, path);
  const folder = await open(dirname(path), "r");
  await folder.sync().finally(() => folder.close());
}
