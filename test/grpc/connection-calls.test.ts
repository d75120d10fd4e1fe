import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { AdmissionRoom } from "../../server/grpc/admission.ts";
import { ConnectionCalls } from "../../server/grpc/connection-calls.ts";
import { NO_BOUND, OpenWaits } from "../../server/grpc/open-waits.ts";

class GrpcCall extends EventEmitter {
  cancelled = false;

  getPeer(): string {
    return "127.0.0.1:1";
  }

  /** As grpc-js does when the stream of a call closes, even after its answer. */
  closeStream(): void {
    this.cancelled = true;
    this.emit("cancelled");
  }
}

const ORDINARY = { admission: "ordinary" } as const;

function openCalls(callsMax = 10): ConnectionCalls {
  return new ConnectionCalls(callsMax, new AdmissionRoom(), new OpenWaits(10, NO_BOUND));
}

describe("a call outside sessions", () => {
  test("is aborted when its stream closes before its work is over", () => {
    const grpcCall = new GrpcCall();
    const { signal } = openCalls().open(grpcCall, ORDINARY);
    grpcCall.closeStream();
    expect(signal.aborted).toBe(true);
  });

  test("is aborted from the start if its client is already gone", () => {
    const grpcCall = new GrpcCall();
    grpcCall.closeStream();
    expect(openCalls().open(grpcCall, ORDINARY).signal.aborted).toBe(true);
  });

  test("is not aborted when its stream closes after its work", () => {
    const grpcCall = new GrpcCall();
    const call = openCalls().open(grpcCall, ORDINARY);
    call.close();
    grpcCall.closeStream();
    expect(call.signal.aborted).toBe(false);
  });
});

describe("the calls of a connection", () => {
  test("are bounded, and those whose work is over make room", () => {
    const calls = openCalls(1);
    const first = calls.open(new GrpcCall(), ORDINARY);
    expect(() => calls.open(new GrpcCall(), ORDINARY)).toThrow("too many calls under way");
    first.close();
    calls.open(new GrpcCall(), ORDINARY).close();
    expect(calls.connections).toBe(0);
  });
});
