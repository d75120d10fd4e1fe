// Collects what is wrong with a request, so that a caller learns of all of it at once. Pure.

import type { Violation } from "../messages/call-error.ts";

/** A request that can be acted on, or everything that is wrong with it. */
export type Checked<Request> =
  | { readonly value: Request; readonly violations?: undefined }
  | { readonly violations: readonly Violation[] };

export class Violations {
  readonly #found: Violation[] = [];

  /** `description` goes on where the field's name ends: `is 0 s; use 1 s to 24 days`. */
  add(field: string, description: string): void {
    this.#found.push({ field, description });
  }

  /** Takes over what was found in a nested message; `parent` is its field. */
  addNested(parent: string, nested: readonly Violation[]): void {
    for (const { field, description } of nested) this.add(`${parent}.${field}`, description);
  }

  /** `value` if nothing was found. */
  checked<Request>(value: Request): Checked<Request> {
    return this.#found.length === 0 ? { value } : { violations: this.#found };
  }
}
