// Decoding bytes to messages, and encoding messages to bytes.

import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { DeleteRecordRequestSchema, DeleteRecordResponseSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { CallError } from "../../../server/grpc/messages/call-error.ts";
import { decode, encode } from "../../../server/grpc/messages/messages.ts";

/** Field 1 as text; and field 100, which none of our messages has. */
const NAMED = Buffer.from([0x0a, 1, 0x61]);
const UNKNOWN = Buffer.from([0xa2, 0x06, 1, 0x62]);

test("unknown fields are left out when a message is read", () => {
  const message = decode(DeleteRecordRequestSchema, Buffer.concat([NAMED, UNKNOWN]));
  expect(message).toMatchObject({ name: "a" });
  expect(message.$unknown ?? []).toEqual([]);
});

test("unknown fields are left out when an answer is written", () => {
  const answer = create(DeleteRecordResponseSchema, { deleted: true });
  answer.$unknown = [{ no: 100, wireType: 2, data: Buffer.from([1, 0x62]) }];
  expect(encode(DeleteRecordResponseSchema, answer)).toEqual(Buffer.from([8, 1]));
});

test("an answer in bytes keeps those bytes", () => {
  const bytes = Buffer.from([8, 1]);
  expect(encode(DeleteRecordResponseSchema, bytes)).toBe(bytes);
});

test.each([
  ["that end too early", [0x0a, 200]],
  ["that are no text", [0x0a, 1, 0xff]],
])("bytes %s are refused, and the error names the message", (_, bytes) => {
  const read = () => decode(DeleteRecordRequestSchema, Buffer.from(bytes));
  expect(read).toThrow(CallError);
  expect(read).toThrow(
    expect.objectContaining({
      reason: "MALFORMED_MESSAGE",
      message: expect.stringContaining("rowlock.v1.DeleteRecordRequest"),
    }),
  );
});
