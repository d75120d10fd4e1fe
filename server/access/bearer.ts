// Bearer tokens as callers send them, over gRPC and over HTTP, and those that open the metrics.

import { createHash, timingSafeEqual } from "node:crypto";

/** The token in the value of an `authorization` header; undefined: it is not `Bearer TOKEN`. */
export function bearerToken(authorization: string): string | undefined {
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1];
}

/** The tokens that open /metrics. They also open the page, if the server asks nobody who calls. */
export class MetricsTokens {
  /** Hashed, because only texts of one length can be compared in constant time. */
  #tokens: readonly Buffer[] | null;

  /** null: there are none, and everything is open. */
  constructor(tokens: readonly string[] | null) {
    this.#tokens = tokens?.map(hashed) ?? null;
  }

  get areAsked(): boolean {
    return this.#tokens !== null;
  }

  /** From now on, only these open anything. */
  replace(tokens: readonly string[]): void {
    this.#tokens = tokens.map(hashed);
  }

  /** Whether the value of an `authorization` header opens the metrics. */
  knows(authorization = ""): boolean {
    if (this.#tokens === null) return true;
    const token = bearerToken(authorization);
    if (token === undefined) return false;
    const given = hashed(token);
    return this.#tokens.some((known) => timingSafeEqual(known, given));
  }
}

function hashed(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
