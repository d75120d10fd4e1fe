// A client that opens a call and never sends its message, so that a draining server waits for it until the drain
// timeout.

import { once } from "node:events";
import { connect } from "node:http2";

/** Resolves when the call has arrived. Returns a function that closes the connection. */
export async function hang(address: string): Promise<() => void> {
  const session = connect(`http://${address}`);
  session.on("error", () => {});
  const headers = { ":method": "POST", ":path": "/rowlock.v1.LockService/Acquire", te: "trailers" };
  session.request({ ...headers, "content-type": "application/grpc" }).on("error", () => {});
  await once(session, "remoteSettings");
  // The answer to a ping shows that the call before it has arrived.
  await new Promise((resolve) => session.ping(resolve));
  return () => session.destroy();
}
