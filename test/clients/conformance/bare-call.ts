// Calls the API directly, without a client: requests and answers are written as in JSON.

import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  fromJson,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";

/** @param name of a method with one answer, for example `acquire`. */
export async function bareCall(address: string, name: string, request: JsonValue): Promise<JsonValue> {
  const method: DescMethod | undefined = LockService.methods.find(({ localName }) => localName === name);
  if (method?.methodKind !== "unary") throw new Error(`There is no method ${name} with one answer.`);
  const { input, output }: { input: DescMessage; output: DescMessage } = method;
  const client = new Client(address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  try {
    const answer = await new Promise<Uint8Array>((resolve, reject) =>
      client.makeUnaryRequest(
        `/${LockService.typeName}/${method.name}`,
        (bytes: Uint8Array) => Buffer.from(bytes),
        (bytes) => bytes,
        toBinary(input, request === null ? create(input) : fromJson(input, request)),
        (error, bytes) => (bytes ? resolve(bytes) : reject(error)),
      ),
    );
    return toJson(output, fromBinary(output, answer));
  } finally {
    client.close();
  }
}
