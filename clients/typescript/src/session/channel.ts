// The connection to one server, for one session.

import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
} from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Headers, Settings, TlsOptions } from "../options.ts";

/** Answers of several listings may come in one message. */
const RECEIVE_BYTES_MAX = 67_108_864;
const PATH = `/${LockService.typeName}/${LockService.method.session.name}`;

export interface Channel {
  readonly stream: ClientDuplexStream<Uint8Array, Buffer>;
  close(): void;
}

/** Begins to connect; what goes wrong is told by the stream. */
export function openChannel(
  address: string,
  tls: Settings["tls"],
  headers: Headers,
  abandoned: (error: unknown) => void,
): Channel {
  const client = new Client(address, credentialsOf(tls), {
    "grpc.max_receive_message_length": RECEIVE_BYTES_MAX,
    // Whether and when to try again is for the session's owner to say.
    "grpc.enable_retries": 0,
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_channelz": 0,
    ...(typeof tls === "object" &&
      tls.serverName !== undefined && {
        "grpc.ssl_target_name_override": tls.serverName,
        "grpc.default_authority": tls.serverName,
      }),
  });
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(headers)) metadata.set(key, value);
  const stream = client.makeBidiStreamRequest<Uint8Array, Buffer>(
    PATH,
    ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength),
    (bytes) => bytes,
    metadata,
  );
  stream.on("error", abandoned);
  return { stream, close: () => client.close() };
}

function credentialsOf(tls: Settings["tls"]): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  const { ca, cert, key }: TlsOptions = tls === true ? {} : tls;
  const bytes = (pem: string | Buffer | undefined) => (pem === undefined ? null : Buffer.from(pem));
  return credentials.createSsl(bytes(ca), bytes(key), bytes(cert));
}
