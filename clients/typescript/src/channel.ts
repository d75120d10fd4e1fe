// The gRPC channel to one server, and what goes along with each call on it.

import { type ChannelCredentials, type ChannelOptions, Client, credentials, Metadata } from "@grpc/grpc-js";
import type { Headers, TlsOptions } from "./options.ts";

/** Answers of several listings may come in one message. */
const RECEIVE_BYTES_MAX = 67_108_864;

/** Connects when it is first used; what goes wrong is told to the calls. */
export function openChannel(
  address: string,
  tls: boolean | TlsOptions | undefined,
  options: ChannelOptions = {},
): Client {
  return new Client(address, credentialsOf(tls), {
    "grpc.max_receive_message_length": RECEIVE_BYTES_MAX,
    // Whether and when to try again is for the owner to say, who also wants a connection of its own.
    "grpc.enable_retries": 0,
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_channelz": 0,
    ...(typeof tls === "object" &&
      tls.serverName !== undefined && {
        "grpc.ssl_target_name_override": tls.serverName,
        "grpc.default_authority": tls.serverName,
      }),
    ...options,
  });
}

export function metadataOf(headers: Headers): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(headers)) metadata.set(key, value);
  return metadata;
}

function credentialsOf(tls: boolean | TlsOptions | undefined): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  const { ca, cert, key }: TlsOptions = tls === true ? {} : tls;
  const bytes = (pem: string | Buffer | undefined) => (pem === undefined ? null : Buffer.from(pem));
  return credentials.createSsl(bytes(ca), bytes(key), bytes(cert));
}
