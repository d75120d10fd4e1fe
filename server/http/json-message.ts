// A message that has come in JSON. What cannot be read fails alike in calls and in streams, with a reason. The decoder does not say
// which field has a time in another form than Protobuf's, as a program in another language often writes it.

import { type DescMessage, fromJson, fromJsonString, type JsonValue, type Message } from "@bufbuild/protobuf";
import { DurationSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { badRequest, CallError, type Violation } from "../grpc/messages/call-error.ts";

/** How a time is written. */
const FORMS: ReadonlyMap<string, string> = new Map([
  [DurationSchema.typeName, 'is not in seconds: write it as "60s"'],
  [TimestampSchema.typeName, 'is not a time: write it as "2027-01-31T12:00:00Z"'],
]);

/** Throws a CallError if the bytes are not that message, or have a field that it does not have. */
export function jsonMessage(schema: DescMessage, bytes: Uint8Array): { text: string; message: Message } {
  let text = "";
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { text, message: fromJsonString(schema, text) };
  } catch (error) {
    // Every error of the decoders is about the caller's text.
    const violations = wrongTimes(schema, parsed(text));
    if (violations.length > 0) throw badRequest(violations);
    const { message } = error as Error;
    throw new CallError("MALFORMED_MESSAGE", `The body is not a ${schema.typeName} in JSON: ${message}`);
  }
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
}

/** Lists of the contract's requests have no times. `path`: of the message, with a dot at its end. */
function wrongTimes({ fields }: DescMessage, json: JsonValue, path = ""): Violation[] {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return [];
  return fields.flatMap((field) => {
    const value = json[field.jsonName] ?? json[field.name] ?? null;
    if (field.fieldKind !== "message" || value === null) return [];
    const form = FORMS.get(field.message.typeName);
    if (form === undefined) return wrongTimes(field.message, value, `${path}${field.name}.`);
    return isReadable(field.message, value) ? [] : [{ field: `${path}${field.name}`, description: form }];
  });
}

function isReadable(schema: DescMessage, json: JsonValue): boolean {
  try {
    fromJson(schema, json);
    return true;
  } catch {
    return false;
  }
}
