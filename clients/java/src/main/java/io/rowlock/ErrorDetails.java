// What an error carries beside its message, and how to read it from a status.

package io.rowlock;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import rowlock.v1.ClaimEnd;

record ErrorDetails(
    Reason reason,
    String reasonName,
    Status.Code code,
    List<Violation> violations,
    Map<String, String> metadata,
    Optional<Duration> retryAfter,
    Optional<Refusal> refusal,
    Optional<ClaimEndView> end,
    boolean isOfServer) {
  private static final String DOMAIN = "rowlock";
  private static final String PIPELINE = "Channel Pipeline:";

  /** Codes other than UNAVAILABLE that gRPC reports for a failed connection. */
  private static final Set<Status.Code> TRANSPORT =
      Set.of(Status.Code.INTERNAL, Status.Code.UNKNOWN);

  static ErrorDetails of(Reason reason, Status.Code code) {
    return of(reason, code, Map.of());
  }

  static ErrorDetails leaseLost(ClaimEndView end) {
    return ofClient(
        Reason.LEASE_LOST,
        Status.Code.FAILED_PRECONDITION,
        List.of(),
        Map.of(),
        Optional.of(end));
  }

  /** These details with the request id under which a server may have granted a lock. */
  ErrorDetails mayBeHeld(String requestId) {
    Map<String, String> more = new HashMap<>(metadata);
    more.put("request_id", requestId);
    return new ErrorDetails(
        reason, reasonName, code, violations, Map.copyOf(more), retryAfter, refusal, end, isOfServer);
  }

  static ErrorDetails badRequest(List<Violation> violations) {
    return ofClient(
        Reason.BAD_REQUEST,
        Status.Code.INVALID_ARGUMENT,
        violations,
        Map.of(),
        Optional.empty());
  }

  static ErrorDetails tooLarge(int bytesMax) {
    Map<String, String> metadata = Map.of("bytes_max", String.valueOf(bytesMax));
    return of(Reason.MESSAGE_TOO_LARGE, Status.Code.RESOURCE_EXHAUSTED, metadata);
  }

  private static ErrorDetails of(Reason reason, Status.Code code, Map<String, String> metadata) {
    return ofClient(reason, code, List.of(), metadata, Optional.empty());
  }

  /** Of what this client has found by itself. */
  private static ErrorDetails ofClient(
      Reason reason,
      Status.Code code,
      List<Violation> violations,
      Map<String, String> metadata,
      Optional<ClaimEndView> end) {
    return new ErrorDetails(
        reason,
        reason.name(),
        code,
        violations,
        metadata,
        Optional.empty(),
        Optional.empty(),
        end,
        false);
  }

  static ErrorDetails of(Refusal refusal) {
    return new ErrorDetails(
        refusal.reason(),
        refusal.reason().name(),
        Status.Code.FAILED_PRECONDITION,
        List.of(),
        Map.of(),
        refusal.retryAfter(),
        Optional.of(refusal),
        Optional.empty(),
        false);
  }

  /** The error of one call in a session, or of a status that a unary call carried. */
  static RowlockException errorOf(com.google.rpc.Status status) {
    ErrorDetails details = of(status);
    return new RowlockException(details.advised(status.getMessage()), details, null);
  }

  /** The error of a failed gRPC call. */
  static RowlockException errorOf(Throwable failure) {
    com.google.rpc.Status status = StatusProto.fromThrowable(failure);
    Throwable root = failure;
    while (root.getCause() != null) root = root.getCause();
    // Netty adds its pipeline to the description, and gRPC repeats that in each stack trace.
    boolean isOfNetty = String.valueOf(failure.getMessage()).contains(PIPELINE);
    if (status == null)
      return new RowlockException(
          String.valueOf(failure.getMessage()),
          of(Reason.UNKNOWN, Status.Code.UNKNOWN),
          failure);
    ErrorDetails details = of(status);
    // The cause is on this side: no server and no proxy has answered so.
    boolean isOfTransport =
        !details.isOfServer && failure.getCause() != null && TRANSPORT.contains(details.code);
    if (isOfTransport) details = of(Reason.UNKNOWN, Status.Code.UNAVAILABLE);
    // If a connection cannot be opened, only the cause says more than "io exception".
    String said = isOfNetty ? status.getMessage().split(PIPELINE)[0].strip() : status.getMessage();
    boolean saysMore = !details.isOfServer && root != failure && root.getMessage() != null;
    String message = saysMore ? said + " (" + root.getMessage() + ")" : said;
    return new RowlockException(details.advised(message), details, isOfNetty ? root : failure);
  }

  /** A message with what to do about refused credentials. The server's own sentence knows nothing of this client. */
  private String advised(String message) {
    String advice =
        switch (reason) {
          case CREDENTIALS_MISSING -> "set the token of the ConnectOptions, or a certificate in their TlsOptions";
          case CREDENTIALS_WRONG -> "check what the token of the ConnectOptions gives";
          case CREDENTIALS_EXPIRED ->
              "the token of the ConnectOptions, or the certificate in their TlsOptions, must be a newer one";
          default -> null;
        };
    return advice == null ? message : message + " (" + advice + ")";
  }

  private static ErrorDetails of(com.google.rpc.Status status) {
    Optional<ErrorInfo> info =
        find(status, ErrorInfo.class).filter(found -> found.getDomain().equals(DOMAIN));
    String name = info.map(ErrorInfo::getReason).orElse(Reason.UNKNOWN.name());
    return new ErrorDetails(
        Reason.of(name),
        name,
        Status.fromCodeValue(status.getCode()).getCode(),
        find(status, BadRequest.class).stream()
            .flatMap(bad -> bad.getFieldViolationsList().stream())
            .map(fault -> new Violation(fault.getField(), fault.getDescription()))
            .toList(),
        info.map(found -> Map.copyOf(found.getMetadataMap())).orElse(Map.of()),
        find(status, RetryInfo.class).map(retry -> Times.durationOf(retry.getRetryDelay())),
        Optional.empty(),
        find(status, ClaimEnd.class).map(ClaimEndView::of),
        info.isPresent());
  }

  private static <T extends Message> Optional<T> find(com.google.rpc.Status status, Class<T> kind) {
    for (Any any : status.getDetailsList()) {
      if (!any.is(kind)) continue;
      try {
        return Optional.of(any.unpack(kind));
      } catch (InvalidProtocolBufferException malformed) {
        throw new IllegalArgumentException("Malformed details of an error", malformed);
      }
    }
    return Optional.empty();
  }
}
