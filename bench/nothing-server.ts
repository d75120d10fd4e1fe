// A gRPC service with the calls of the bench that does nothing and always grants. In a session it answers each message
// with one message, which has a result for each command.

import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type ServerDuplexStream, type UntypedHandleCall } from "@grpc/grpc-js";
import {
  AcquireResponseSchema,
  ReleaseResponseSchema,
  type SessionCommand,
  SessionOpenedSchema,
  SessionRequestSchema,
  SessionResponseSchema,
  type SessionResultSchema,
  SetLimitResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";

const lease = {
  leaseId: "1.1.AAAAAAAAAAAAAAAAAAAAAA",
  lockName: "bench/nothing",
  permits: 1,
  fencingToken: 1n,
  ttl: { seconds: 30n },
};
const acquired = create(AcquireResponseSchema, { outcome: { case: "lease", value: lease } });
const released = create(ReleaseResponseSchema, { released: true });
const limited = create(SetLimitResponseSchema);
const position = { ticketId: lease.leaseId, lockName: lease.lockName };

/** Rowlock's own limit. */
const MESSAGE_BYTES_MAX = 65_536;

const asIs = (bytes: Buffer) => bytes;
const method = (name: string, isStream = false) => ({
  path: `/rowlock.v1.LockService/${name}`,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
});
/** Always answers the same bytes, made once. */
const says = (bytes: Uint8Array): UntypedHandleCall => {
  const answer = Buffer.from(bytes);
  return ((_call: unknown, callback: (error: null, answer: Buffer) => void) =>
    callback(null, answer)) as UntypedHandleCall;
};

const server = new Server();
server.addService(
  {
    Acquire: method("Acquire"),
    Release: method("Release"),
    SetLimit: method("SetLimit"),
    Session: method("Session", true),
  },
  {
    Acquire: says(toBinary(AcquireResponseSchema, acquired)),
    Release: says(toBinary(ReleaseResponseSchema, released)),
    SetLimit: says(toBinary(SetLimitResponseSchema, limited)),
    Session: session as UntypedHandleCall,
  },
);
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(`gRPC 127.0.0.1:${port}`);
});

function session(stream: ServerDuplexStream<Buffer, Buffer>): void {
  let heard = 0n;
  stream.on("data", (bytes: Buffer) => {
    const { open, commands } = fromBinary(SessionRequestSchema, bytes);
    heard++;
    const response = create(SessionResponseSchema, { heard, results: commands.map(resultOf) });
    if (open) response.opened = create(SessionOpenedSchema, { messageBytesMax: MESSAGE_BYTES_MAX });
    stream.write(Buffer.from(toBinary(SessionResponseSchema, response)));
  });
  stream.on("end", () => stream.end());
  // The callers disconnect without notice when they have their figures.
  stream.on("error", () => {});
}

function resultOf({ call, command }: SessionCommand): MessageInitShape<typeof SessionResultSchema> {
  switch (command.case) {
    case "acquire":
      return { call, result: { case: "acquire", value: acquired } };
    case "release":
      return { call, result: { case: "release", value: released } };
    case "renew":
      return { call, result: { case: "renew", value: { lease } } };
    case "setLimit":
      return { call, result: { case: "setLimit", value: limited } };
    case "waitInQueue":
      return {
        call,
        result: { case: "waitInQueue", value: { update: { case: "position", value: position } } },
      };
    default:
      throw new Error(`no answer for ${command.case}`);
  }
}
