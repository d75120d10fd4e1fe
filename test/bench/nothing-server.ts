// A gRPC service with the calls of the bench that does nothing and always says yes.

import { create, toBinary } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type UntypedHandleCall } from "@grpc/grpc-js";
import {
  AcquireResponseSchema,
  ReleaseResponseSchema,
  SetLimitResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";

const LEASE = {
  leaseId: "1.1.AAAAAAAAAAAAAAAAAAAAAA",
  lockName: "bench/nothing",
  permits: 1,
  fencingToken: 1n,
};
const acquired = Buffer.from(
  toBinary(
    AcquireResponseSchema,
    create(AcquireResponseSchema, { outcome: { case: "lease", value: { ...LEASE, ttl: { seconds: 30n } } } }),
  ),
);
const released = Buffer.from(
  toBinary(ReleaseResponseSchema, create(ReleaseResponseSchema, { released: true })),
);
const limited = Buffer.from(toBinary(SetLimitResponseSchema, create(SetLimitResponseSchema)));

const asIs = (bytes: Buffer) => bytes;
const method = (name: string) => ({
  path: `/rowlock.v1.LockService/${name}`,
  requestStream: false,
  responseStream: false,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
});
const says = (answer: Buffer): UntypedHandleCall => {
  return ((_call: unknown, callback: (error: null, answer: Buffer) => void) =>
    callback(null, answer)) as UntypedHandleCall;
};

const server = new Server();
server.addService(
  { Acquire: method("Acquire"), Release: method("Release"), SetLimit: method("SetLimit") },
  { Acquire: says(acquired), Release: says(released), SetLimit: says(limited) },
);
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(`gRPC 127.0.0.1:${port}`);
});
