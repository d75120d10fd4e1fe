// How errors are read from gRPC.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import rowlock.v1.ClaimEnd;
import rowlock.v1.EndReason;
import rowlock.v1.RefusalReason;

class ErrorsTest {
  private static com.google.rpc.Status.Builder status(Status.Code code, String reason, String domain) {
    ErrorInfo info =
        ErrorInfo.newBuilder().setReason(reason).setDomain(domain).putMetadata("bound", "x").build();
    return com.google.rpc.Status.newBuilder()
        .setCode(code.value())
        .setMessage("words")
        .addDetails(Any.pack(info));
  }

  @Test
  void carryAllThatTheServerSays() {
    var bad = BadRequest.newBuilder();
    bad.addFieldViolationsBuilder().setField("name").setDescription("is required");
    var retry = RetryInfo.newBuilder().setRetryDelay(Times.protoOf(Duration.ofMillis(250)));
    com.google.rpc.Status status =
        status(Status.Code.RESOURCE_EXHAUSTED, "OVERLOADED", "rowlock")
            .addDetails(Any.pack(bad.build()))
            .addDetails(Any.pack(retry.build()))
            .build();
    for (RowlockException error :
        List.of(
            ErrorDetails.errorOf(status),
            ErrorDetails.errorOf(StatusProto.toStatusRuntimeException(status)))) {
      assertEquals(Reason.OVERLOADED, error.reason());
      assertEquals(Status.Code.RESOURCE_EXHAUSTED, error.code());
      assertEquals("words", error.getMessage());
      assertEquals(List.of(new Violation("name", "is required")), error.violations());
      assertEquals(Map.of("bound", "x"), error.metadata());
      assertEquals(Optional.of(Duration.ofMillis(250)), error.retryAfter());
      assertTrue(error.isTransient());
    }
  }

  @Test
  void ofALostLeaseSayHowItEnded() {
    Instant at = Instant.ofEpochSecond(1_700_000_000);
    ClaimEnd end =
        ClaimEnd.newBuilder()
            .setReason(EndReason.END_REASON_FORCE_RELEASED)
            .setEndedAt(Times.protoOf(at))
            .setEndedBy("admin")
            .setNote("too long")
            .build();
    var status = status(Status.Code.FAILED_PRECONDITION, "LEASE_LOST", "rowlock");
    assertEquals(Optional.empty(), ErrorDetails.errorOf(status.build()).end());
    status.addDetails(Any.pack(end));
    for (RowlockException error :
        List.of(
            ErrorDetails.errorOf(status.build()),
            ErrorDetails.errorOf(StatusProto.toStatusRuntimeException(status.build())).again())) {
      assertEquals(Reason.LEASE_LOST, error.reason());
      assertEquals(
          Optional.of(
              new ClaimEndView(Reason.FORCE_RELEASED, Optional.of(at), "admin", "too long", "", "")),
          error.end());
    }
  }

  @Test
  void mayHaveAReasonThatThisClientDoesNotKnow() {
    var status = status(Status.Code.ABORTED, "BRAND_NEW", "rowlock").build();
    RowlockException error = ErrorDetails.errorOf(status);
    assertEquals(Reason.UNKNOWN, error.reason());
    assertEquals("BRAND_NEW", error.reasonName());
  }

  @Test
  void ofOthersHaveNoReasonOfOurs() {
    var status = status(Status.Code.UNAVAILABLE, "OVERLOADED", "proxy.example").build();
    RowlockException error = ErrorDetails.errorOf(status);
    assertEquals(Reason.UNKNOWN, error.reason());
    assertFalse(error.isOfServer());
  }

  @Test
  void ofTheConnectionAreNoAnswers() {
    var broken =
        Status.INTERNAL.withDescription("http2 exception").withCause(new IOException("not HTTP/2"));
    RowlockException error = ErrorDetails.errorOf(broken.asRuntimeException());
    assertEquals(Status.Code.UNAVAILABLE, error.code());
    assertEquals("http2 exception (not HTTP/2)", error.getMessage());
    var refused = Status.INTERNAL.withDescription("HTTP status code 400").asRuntimeException();
    assertEquals(Status.Code.INTERNAL, ErrorDetails.errorOf(refused).code());
  }

  @Test
  void namesOfRefusalsAndEndsAreThoseOfTheServer() {
    for (RefusalReason reason : RefusalReason.values()) {
      boolean isSent =
          reason != RefusalReason.UNRECOGNIZED
              && reason != RefusalReason.REFUSAL_REASON_UNSPECIFIED;
      assertEquals(isSent, Reason.of(reason) != Reason.UNKNOWN, reason.name());
    }
    for (EndReason reason : EndReason.values()) {
      boolean isSent =
          reason != EndReason.UNRECOGNIZED && reason != EndReason.END_REASON_UNSPECIFIED;
      assertEquals(isSent, Reason.of(reason) != Reason.UNKNOWN, reason.name());
    }
  }
}
