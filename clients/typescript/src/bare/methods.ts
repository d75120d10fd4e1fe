// The methods of LockService by kind, with the types of their requests and answers, derived from the proto files.

import type { DescMethod, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { RowlockError } from "../rowlock-error.ts";
import { refuseBrokenText } from "../whole-text.ts";

type Methods = typeof LockService.method;
type NamesOf<Kind extends DescMethod["methodKind"]> = {
  [Name in keyof Methods]: Methods[Name] extends { readonly methodKind: Kind } ? Name : never;
}[keyof Methods];

/** Methods that answer once: `acquire`, `renew`, ... */
export type UnaryMethod = NamesOf<"unary">;
/** Methods that answer with a stream: `waitInQueue`, `watchLocks`. */
export type StreamMethod = NamesOf<"server_streaming">;
/** The method with streams in both directions: `session`. */
export type SessionMethod = NamesOf<"bidi_streaming">;

/** The fields of a request that you set, or the bytes of a whole request. */
export type RequestOf<Name extends keyof Methods> = MessageInitShape<Methods[Name]["input"]> | Uint8Array;
export type ResponseOf<Name extends keyof Methods> = MessageShape<Methods[Name]["output"]>;

export function pathOf(name: keyof Methods): string {
  return `/${LockService.typeName}/${LockService.method[name].name}`;
}

/** Encodes a request. Throws BAD_REQUEST for values that no message can hold. */
export function encode<Name extends keyof Methods>(name: Name, request: RequestOf<Name>): Buffer {
  const { input }: DescMethod = LockService.method[name];
  try {
    if (!(request instanceof Uint8Array)) refuseBrokenText(request);
    const bytes = request instanceof Uint8Array ? request : toBinary(input, create(input, request));
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  } catch (error) {
    throw RowlockError.unsendable(error);
  }
}

export function decoder<Name extends keyof Methods>(name: Name): (bytes: Buffer) => ResponseOf<Name> {
  const { output }: DescMethod = LockService.method[name];
  return (bytes) => fromBinary(output, bytes) as ResponseOf<Name>;
}
