// Who calls, as the server has verified it. A principal's name begins with where the proof came from, so that a name in
// one source (such as a JWT) never passes for the same name in another (such as the tokens file).

import { TEXT_BYTES_MAX } from "../core/bounds.ts";

/** `token:nightly`, `jwt:system:serviceaccount:etl:loader`, `cert:spiffe://example.org/etl`. */
export type PrincipalName = string;

export const SOURCES = ["token", "jwt", "cert"] as const;

export interface Principal {
  readonly name: PrincipalName;
  /** Date.now() from which the proof no longer counts; null: it has no end. */
  readonly endsMs: number | null;
  /** Whether the proof still counts by the files in force. */
  readonly isKnown: () => boolean;
}

/** The name of a principal; null: it would not fit into its column, or is empty. */
export function principalName(source: (typeof SOURCES)[number], name: string): PrincipalName | null {
  const full = `${source}:${name}`;
  return name === "" || Buffer.byteLength(full) > TEXT_BYTES_MAX ? null : full;
}
