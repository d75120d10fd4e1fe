// Collects what is wrong with a request, so that a caller learns of all of it at once. Pure.

import { badRequest, type Violation } from "../messages/call-error.ts";

export class Violations {
  readonly #found: Violation[];
  /** What stands before the field's name. */
  readonly #prefix: string;

  constructor(found: Violation[] = [], prefix = "") {
    this.#found = found;
    this.#prefix = prefix;
  }

  /** `description` goes on where the field's name ends: `is 0 s; use 1 s to 24 days`. */
  add(field: string, description: string): void {
    this.#found.push({ field: this.#prefix + field, description });
  }

  /** Collects what is wrong with a nested message; `parent` is its field. */
  within(parent: string): Violations {
    return new Violations(this.#found, `${this.#prefix}${parent}.`);
  }

  /** `value` if nothing was found; otherwise throws a CallError with all that was. */
  checked<Value>(value: Value): Value {
    if (this.#found.length > 0) throw badRequest(this.#found);
    return value;
  }
}
