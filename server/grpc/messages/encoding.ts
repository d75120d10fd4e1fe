// Encodes and decodes messages, without a copy if none is needed.

import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { CallError } from "./call-error.ts";

/** Throws a CallError (MALFORMED_MESSAGE) if the bytes are not that message. */
export function decode<Schema extends DescMessage>(schema: Schema, bytes: Buffer): MessageShape<Schema> {
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false });
  } catch {
    // Every error of the decoder is about the caller's bytes.
    throw new CallError(
      "MALFORMED_MESSAGE",
      `The bytes are not a ${schema.typeName}: encode it as protobuf, and all text in it as UTF-8.`,
    );
  }
}

/** Encodes an answer, or returns it if it already consists of bytes. */
export function encode(schema: DescMessage, answer: MessageInitShape<DescMessage> | Buffer): Buffer {
  if (Buffer.isBuffer(answer)) return answer;
  const bytes = toBinary(schema, create(schema, answer), { writeUnknownFields: false });
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
