// The token by which a server knows who calls: where it comes from, and over which connections it may go. A token must
// not appear in an error, so nothing here quotes one.

import { readFile } from "node:fs/promises";
import { isOnThisMachine } from "./machine.ts";
import { RowlockError } from "./rowlock-error.ts";

/**
 * A token; a file that contains one; or a function that returns one. The client asks a file or a function again for
 * each new connection. While sessions are refused and each call is one of its own, it asks up to once a second.
 */
export type TokenSource = string | { readonly file: string } | (() => string | Promise<string>);

/** What a header can hold. White space around a token is not part of it. */
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * Returns the present token. Rejects with CREDENTIALS_MISSING if there is none: another try may succeed when the file
 * or the function has one.
 */
export async function readToken(source: TokenSource): Promise<string> {
  if (typeof source === "string") return checked(source, "token");
  if (typeof source === "function") return checked(await called(source), "what the token function returned");
  return checked(await read(source.file), `the token file ${source.file}`);
}

/** Throws a RangeError if a token would go over a connection that others could read. */
export function refuseTokenInPlaintext(addresses: readonly string[]): void {
  const exposed = addresses.find((address) => !isOnThisMachine(address));
  if (exposed !== undefined)
    throw new RangeError(
      `token: the connection to ${exposed} is not encrypted, so others could read the token: set tls, or ` +
        "allowTokenInPlaintext if something else protects the connection",
    );
}

/** Throws a RangeError if no header can hold the token. */
export function checkToken(token: string): void {
  if (!TOKEN.test(token.trim())) throw new RangeError(`token: ${faultOf(token)}`);
}

function checked(text: unknown, what: string): string {
  if (typeof text !== "string") throw missing(`${what} is not a text`);
  const token = text.trim();
  if (!TOKEN.test(token)) throw missing(`${what}: ${faultOf(token)}`);
  return token;
}

function faultOf(token: string): string {
  return token.trim() === "" ? "it is empty" : "it has a space or a character that no header can hold";
}

async function called(source: () => string | Promise<string>): Promise<string> {
  try {
    return await source();
  } catch (error) {
    throw missing(`the token function failed: ${error}`, error);
  }
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw missing(`the token file ${file} cannot be read (${code ?? message})`, error);
  }
}

function missing(what: string, cause?: unknown): RowlockError {
  return RowlockError.noCredentials(`There is no token to send: ${what}.`, cause);
}
