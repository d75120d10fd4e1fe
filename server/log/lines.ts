// Finished lines of the log: strikes secrets out of each, so that none gets through in an unforeseen field or error, and
// writes the one of a crash.

import { inspect } from "node:util";

const STRUCK = "***";
/** The password in any URL, up to the last @, because people also paste passwords with an @ in them. */
const URL_PASSWORD = /([A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s:@/"\\]*):[^\s"\\]*@/g;
/** A ticket or lease id: its secret lets anybody renew and release. The lock and the ticket number may be shown. */
const CLAIM_ID = /\b([0-9a-z]{1,13}\.[0-9a-z]{1,13})\.[A-Za-z0-9_-]{22}(?![A-Za-z0-9_-])/g;
/** Fields of claims, calls and connections. A request id leads to its lease, so it is also a secret. */
const SECRET_FIELD =
  /"(secret|password|authorization|(?:lease|ticket|request)_?[iI]d)":(?:"(?:[^"\\]|\\.)*"|[^,}\]"]+)/g;

const TOKEN = /\b(rowlock_)[A-Za-z0-9_-]{43}|\b(eyJ)[\w-]+\.[\w-]+\.[\w-]+/g;

/** The line without passwords, tokens, ticket and lease ids, request ids and other proofs of a right. */
export function strikeSecrets(line: string): string {
  return line
    .replace(SECRET_FIELD, `"$1":"${STRUCK}"`)
    .replace(TOKEN, `$1$2${STRUCK}`)
    .replace(URL_PASSWORD, `$1:${STRUCK}@`)
    .replace(CLAIM_ID, `$1.${STRUCK}`);
}

/** Escapes what a terminal obeys and JSON does not escape by itself. Readers of the JSON get the same text. */
export function escapeObeyed(line: string): string {
  return line.replace(
    /[\u007f-\u009f\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** In the log's own format, but made by hand, so that a short-lived command need not load the log. */
export function crashLine(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const time = new Date().toISOString();
  // `inspect` includes the causes and all other properties.
  const err = { type: name, message, stack: inspect(error) };
  const line = JSON.stringify({ level: "fatal", time, err, msg: "crashed" });
  return `${escapeObeyed(strikeSecrets(line))}\n`;
}
