// The span of one statement, or of one trip of several: a part of the span of its transaction.

import type { Span } from "../core/span.ts";
import { StoreError } from "./store.ts";

/** `name`: as in metrics. Call what it returns when the statement is over, with the error if it has failed. */
export function beginStatement(
  transaction: Span,
  system: "sqlite" | "mysql" | "mariadb",
  name: string,
): (error?: unknown) => void {
  const span = transaction.part("statement", { "db.system.name": system, "db.operation.name": name });
  return (error) => {
    if (error === undefined) span.end({});
    else span.end({}, error instanceof StoreError ? error.reason : "unexpected");
  };
}
