// Gives grpc-js's own answer to a message over the receive limit the reason that the contract promises. grpc-js sends
// it from inside the call, past all interceptors, so the call's sendStatus itself is wrapped. Should a later version
// not go through it, the code is still right and only the details are missing.

import type { ServerInterceptingCallInterface, ServerInterceptor } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import { statusOf } from "./messages/status.ts";

/** To be the first interceptor, as those after it may see a call that is wrapped already. */
export function explainReceiveLimit(receiveBytesMax: number): ServerInterceptor {
  return (_method, call) => {
    const send: ServerInterceptingCallInterface["sendStatus"] = call.sendStatus.bind(call);
    call.sendStatus = (sent) => {
      // Whatever this server itself answers brings its details along.
      const isBare = sent.code === status.RESOURCE_EXHAUSTED && !sent.metadata;
      send(isBare ? tooLarge(receiveBytesMax) : sent);
    };
    // An interceptor may return what it was given; the type asks for the class that wraps it.
    return call as ReturnType<ServerInterceptor>;
  };
}

function tooLarge(receiveBytesMax: number) {
  return statusOf(
    "MESSAGE_TOO_LARGE",
    `The message is larger than the ${receiveBytesMax} bytes that this server accepts.`,
    { metadata: { bytes_max: String(receiveBytesMax) } },
  );
}
