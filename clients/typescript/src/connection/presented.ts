// What the client presents with a new connection: the headers of its user, and its token. Knows whether another try may
// present something else.

import type { ConnectOptions, Headers, TlsOptions } from "../options.ts";
import { RowlockError } from "../rowlock-error.ts";
import { readToken } from "../token-source.ts";

type Presented = Pick<ConnectOptions, "headers" | "token" | "tls">;

/** Asks the sources of headers and token. Rejects with UNAUTHENTICATED if one of them fails. May take for ever. */
export async function presentedHeaders({ headers, token }: Presented): Promise<Headers> {
  const [own, sent] = await Promise.all([
    typeof headers === "function" ? called(headers) : headers,
    token === undefined ? undefined : readToken(token),
  ]);
  return withToken(own ?? {}, sent);
}

/** Adds the token to the headers. */
export function withToken(headers: Headers, token: string | undefined): Headers {
  return token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
}

/** Whether the next connection may present something else, so that a refusal need not be the last word. */
export function mayChange({ headers, token, tls }: Presented): boolean {
  const isRead = token !== undefined && typeof token !== "string";
  return isRead || typeof headers === "function" || (typeof tls === "object" && hasFiles(tls));
}

function hasFiles({ ca, cert, key }: TlsOptions): boolean {
  return [ca, cert, key].some((pem) => typeof pem === "object" && "file" in pem);
}

async function called(headers: () => Headers | Promise<Headers>): Promise<Headers> {
  try {
    return await headers();
  } catch (error) {
    const message = `The headers function failed: ${error}`;
    throw new RowlockError("UNKNOWN", "UNAUTHENTICATED", message, { cause: error });
  }
}
