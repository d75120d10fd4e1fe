// The gRPC channel to one server, and the metadata of its calls.

import { type ChannelCredentials, type ChannelOptions, Client, credentials, Metadata } from "@grpc/grpc-js";
import type { Headers, TlsOptions } from "./options.ts";

/** One message may hold the answers to several listings. */
const RECEIVE_BYTES_MAX = 67_108_864;

/** Makes a channel. It connects when it is first used; its calls report what goes wrong. */
export function openChannel(
  address: string,
  tls: boolean | TlsOptions | undefined,
  options: ChannelOptions = {},
): Client {
  return new Client(address, credentialsOf(tls), {
    "grpc.max_receive_message_length": RECEIVE_BYTES_MAX,
    // The owner of the channel decides whether and when to retry, and shares no connection with other channels.
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
