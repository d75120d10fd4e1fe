// The gRPC channel to one server, and the metadata of its calls.

import { readFileSync } from "node:fs";
import { type ChannelCredentials, type ChannelOptions, Client, credentials, Metadata } from "@grpc/grpc-js";
import type { Headers, Pem, TlsOptions } from "./options.ts";
import { DIRECTLY, proxyNamedFor } from "./proxy.ts";
import { RowlockError } from "./rowlock-error.ts";

/** One message may hold the answers to several listings. */
const RECEIVE_BYTES_MAX = 67_108_864;
const BYTE_ORDER_MARK = Buffer.from("\ufeff");

/**
 * Makes a channel. It connects when it is first used; its calls report what goes wrong. Throws CREDENTIALS_MISSING if a
 * file of `tls` cannot be read, or what it contains cannot be used. It uses no proxy that it need not, as far as the
 * address says so; `proxyFor` also asks the system.
 */
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
    ...(!proxyNamedFor(address, Boolean(tls), process.env) && DIRECTLY),
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

/** Reads what `tls` names, as a TLS connection of Node takes it. Throws as `openChannel`. */
export function presentedTls(tls: boolean | TlsOptions) {
  const { ca, cert, key, serverName }: TlsOptions = typeof tls === "object" ? tls : {};
  return {
    ...(ca !== undefined && { ca: bytesOf(ca) as Buffer }),
    ...(cert !== undefined && { cert: bytesOf(cert) as Buffer }),
    ...(key !== undefined && { key: bytesOf(key) as Buffer }),
    ...(serverName !== undefined && { serverName }),
  };
}

function credentialsOf(tls: boolean | TlsOptions | undefined): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  const { ca, cert, key }: TlsOptions = tls === true ? {} : tls;
  const [root, ownKey, own] = [ca, key, cert].map(bytesOf) as (Buffer | null)[];
  try {
    return credentials.createSsl(root, ownKey, own);
  } catch (error) {
    // The certificate and the key may be from before and after a renewal.
    throw RowlockError.noCredentials(
      `The certificate, key or authority of tls cannot be used: ${wordsOf(error)}.`,
      error,
    );
  }
}

/** Reads a file at once and whole: such files are small, and a connection needs all of them. */
function bytesOf(pem: Pem | undefined): Buffer | null {
  if (pem === undefined) return null;
  if (typeof pem === "string" || pem instanceof Uint8Array) return withoutMark(Buffer.from(pem));
  try {
    return withoutMark(readFileSync(pem.file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw RowlockError.noCredentials(
      `The file ${pem.file} of tls cannot be read (${code ?? wordsOf(error)}).`,
      error,
    );
  }
}

/** Some editors begin a file with a byte order mark, and PEM must begin with its first line. */
function withoutMark(pem: Buffer): Buffer {
  return pem.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? pem.subarray(BYTE_ORDER_MARK.length)
    : pem;
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
