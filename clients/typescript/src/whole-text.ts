// Text that is no text: the encoder would make U+FFFD of it, and two names would be one lock. Refused, never repaired.

const LONE = "has half of a surrogate pair, which is not valid Unicode";
/** What decoders make of bytes that are not valid. */
const REPLACED = "has U+FFFD, which stands for bytes that were no text, so that two texts could be one";

/** Says what is wrong with a text; undefined: nothing. */
export function faultOfText(text: string): string | undefined {
  if (!text.isWellFormed()) return LONE;
  return text.includes("\ufffd") ? REPLACED : undefined;
}

/** Throws a RangeError if a text anywhere in a message cannot be sent as it is. */
export function refuseBrokenText(message: unknown, path = ""): void {
  if (typeof message === "string") {
    if (!message.isWellFormed()) throw new RangeError(`${path}: ${JSON.stringify(message)} ${LONE}`);
    return;
  }
  if (typeof message !== "object" || message === null || message instanceof Uint8Array) return;
  for (const [key, value] of Object.entries(message)) {
    if (typeof value !== "string" && typeof value !== "object") continue;
    refuseBrokenText(key, path);
    refuseBrokenText(value, path === "" ? key : `${path}.${key}`);
  }
}
