// A server without sessions, whose answers a test writes: for what a real server answers only after much work, and for
// answers of older and later versions.

import { create, type DescMethod, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { RequestOf, ResponseOf, UnaryMethod } from "../../clients/typescript/src/bare/index.ts";
import { badRequest } from "../../server/grpc/messages/call-error.ts";
import { failureOf } from "../../server/grpc/messages/status.ts";

/** What a method answers; what it throws becomes the status of the call. */
export type Script = {
  readonly [Name in UnaryMethod]?: (
    request: Exclude<RequestOf<Name>, Uint8Array> & object,
  ) => MessageInitShape<(typeof LockService.method)[Name]["output"]> | ResponseOf<Name>;
};

export interface ScriptedServer {
  readonly address: string;
  close(): void;
}

/** All other methods are unknown to it, except for the call by which a client finds out that a Rowlock server is there. */
export async function startScriptedServer(script: Script): Promise<ScriptedServer> {
  const server = new Server();
  const knocked = () => {
    throw badRequest([{ field: "lease_id", description: "is required" }]);
  };
  for (const [name, answer] of Object.entries({ renew: knocked, ...script })) {
    const { name: path, input, output } = LockService.method[name as UnaryMethod] as DescMethod;
    const bytes = (value: Buffer) => value;
    const definition: ServiceDefinition = {
      [name]: {
        path: `/${LockService.typeName}/${path}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: bytes,
        requestDeserialize: bytes,
        responseSerialize: bytes,
        responseDeserialize: bytes,
      },
    };
    const served: UntypedServiceImplementation = {
      [name]: (call: ServerUnaryCall<Buffer, Buffer>, respond: sendUnaryData<Buffer>): void => {
        try {
          const made = (answer as (request: object) => object)(fromBinary(input, call.request));
          respond(null, Buffer.from(toBinary(output, create(output, made as never))));
        } catch (error) {
          respond(failureOf(error).status);
        }
      },
    };
    server.addService(definition, served);
  }
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return { address: `127.0.0.1:${port}`, close: () => server.forceShutdown() };
}
