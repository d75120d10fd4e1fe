// Bearer tokens as callers send them, over gRPC and over HTTP.

/** The token in the value of an `authorization` header; undefined: it is not `Bearer TOKEN`. */
export function bearerToken(authorization: string): string | undefined {
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1];
}
