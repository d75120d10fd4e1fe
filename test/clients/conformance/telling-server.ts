// A server that only answers GetLock, with the error that the lock's name describes in JSON. For reasons that a real
// server gives when it is short of something or has a bug, and for reasons of later versions.

import { create, fromBinary, fromJson, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { Server, ServerCredentials, type ServerDuplexStream } from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "#proto/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "#proto/google/rpc/status_pb.js";
import { type ClaimEndJson, ClaimEndSchema } from "#proto/rowlock/v1/lock_pb.js";
import {
  LockService,
  SessionRequestSchema,
  SessionResponseSchema,
  type SessionResult,
  SessionResultSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";

const bytes = (value: Buffer) => value;

interface Told {
  readonly code: number;
  readonly reason: string;
  readonly message?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly { readonly field: string; readonly description: string }[];
  readonly retryAfterMs?: number;
  readonly end?: ClaimEndJson;
}

export interface TellingServer {
  readonly address: string;
  close(): void;
}

export async function startTellingServer(): Promise<TellingServer> {
  const server = new Server();
  const session = {
    path: `/${LockService.typeName}/${LockService.method.session.name}`,
    requestStream: true,
    responseStream: true,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  };
  server.addService({ session }, { session: talk });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return { address: `127.0.0.1:${port}`, close: () => server.forceShutdown() };
}

function talk(stream: ServerDuplexStream<Buffer, Buffer>): void {
  let heard = 0n;
  stream.on("error", () => {});
  stream.on("data", (request: Buffer) => {
    heard += 1n;
    const { open, commands } = fromBinary(SessionRequestSchema, request);
    const response = create(SessionResponseSchema, {
      ...(open && { opened: OPENED }),
      results: commands.flatMap(({ call, command }): SessionResult[] =>
        command.case === "getLock"
          ? [
              create(SessionResultSchema, {
                call,
                result: { case: "error", value: statusOf(command.value.name) },
              }),
            ]
          : [],
      ),
      heard,
    });
    stream.write(Buffer.from(toBinary(SessionResponseSchema, response)));
  });
  stream.on("end", () => stream.end());
}

const OPENED = {
  replica: "1",
  heartbeatInterval: { seconds: 2n },
  silenceMax: { seconds: 10n },
  gracePeriod: { seconds: 10n },
  waitsMax: 100,
  commandsMax: 100,
  messageBytesMax: 65_536,
};

function statusOf(name: string): Status {
  const {
    code,
    reason,
    message = "told so",
    metadata = {},
    violations,
    retryAfterMs,
    end,
  }: Told = JSON.parse(name);
  const details: Any[] = [
    anyPack(
      ErrorInfoSchema,
      create(ErrorInfoSchema, { reason, domain: "rowlock", metadata: { ...metadata } }),
    ),
  ];
  if (violations)
    details.push(anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations: [...violations] })));
  if (retryAfterMs !== undefined) {
    const retryDelay = {
      seconds: BigInt(Math.floor(retryAfterMs / 1_000)),
      nanos: (retryAfterMs % 1_000) * 1e6,
    };
    details.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay })));
  }
  if (end) details.push(anyPack(ClaimEndSchema, fromJson(ClaimEndSchema, end)));
  return create(StatusSchema, { code, message, details });
}
