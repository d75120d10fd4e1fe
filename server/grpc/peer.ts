// How grpc-js names the other end of a connection in `getPeer`. What the server knows of a connection is found by that.

import type { Socket } from "node:net";

export function peerOf(socket: Pick<Socket, "remoteAddress" | "remotePort"> | undefined): string {
  return `${socket?.remoteAddress}:${socket?.remotePort}`;
}
