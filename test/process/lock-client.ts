// A client of LockService, just large enough for the tests of the process.

import type { DescMethod, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { ChannelCredentials, ClientReadableStream, ServiceError } from "@grpc/grpc-js";
import { Client, credentials } from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";

type Methods = typeof LockService.method;
type Input<Name extends keyof Methods> = Methods[Name]["input"];
type Output<Name extends keyof Methods> = Methods[Name]["output"];

export class LockClient {
  readonly #client: Client;

  constructor(address: string, channel: ChannelCredentials = credentials.createInsecure()) {
    this.#client = new Client(address, channel);
  }

  call<Name extends keyof Methods>(
    name: Name,
    request: MessageInitShape<Input<Name>>,
  ): Promise<MessageShape<Output<Name>>> {
    const method: DescMethod = LockService.method[name];
    const answer = Promise.withResolvers<MessageShape<Output<Name>>>();
    this.#client.makeUnaryRequest(
      pathOf(method),
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes) => fromBinary(method.output, bytes) as MessageShape<Output<Name>>,
      toBinary(method.input, create(method.input, request as MessageInitShape<typeof method.input>)),
      (error: ServiceError | null, response) => {
        if (error || !response) answer.reject(error);
        else answer.resolve(response);
      },
    );
    return answer.promise;
  }

  /** Follows a place in the queue. */
  wait(
    request: MessageInitShape<Input<"waitInQueue">>,
  ): ClientReadableStream<MessageShape<Output<"waitInQueue">>> {
    const method = LockService.method.waitInQueue;
    return this.#client.makeServerStreamRequest(
      pathOf(method),
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes) => fromBinary(method.output, bytes),
      toBinary(method.input, create(method.input, request)),
    );
  }

  close(): void {
    this.#client.close();
  }
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}
