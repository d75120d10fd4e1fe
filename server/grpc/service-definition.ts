// A protobuf-es service as grpc-js wants it described. Bytes go in and out as they are: decoding and encoding belong to
// handler.ts, because grpc-js would answer their failures in its own words, without details and without a log line.

import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";

/** The service under its names on the wire; keys are the methods' names (`Acquire`). */
export function serviceDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(service.methods.map((method) => [method.name, methodDefinition(method)]));
}

/** The name on the wire: `/rowlock.v1.LockService/Acquire`. */
function methodPath(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function methodDefinition(method: DescMethod): MethodDefinition<Buffer, Buffer> {
  const { methodKind } = method;
  return {
    path: methodPath(method),
    requestStream: methodKind === "client_streaming" || methodKind === "bidi_streaming",
    responseStream: methodKind === "server_streaming" || methodKind === "bidi_streaming",
    requestSerialize: asItIs,
    requestDeserialize: asItIs,
    responseSerialize: asItIs,
    responseDeserialize: asItIs,
    originalName: method.localName,
  };
}

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}
