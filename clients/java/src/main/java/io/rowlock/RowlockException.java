package io.rowlock;

import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The one exception class of this client: an error that a server has sent, a refusal where a lock was required, or an
 * error of the client itself.
 */
public final class RowlockException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** Nothing was done, or the outcome is known. */
  private static final Set<Status.Code> DECIDED =
      Set.of(
          Status.Code.INVALID_ARGUMENT,
          Status.Code.NOT_FOUND,
          Status.Code.ALREADY_EXISTS,
          Status.Code.FAILED_PRECONDITION,
          Status.Code.ABORTED);

  private static final String GIVEN_BACK = "; the lock was given back.";

  private static final Set<Status.Code> REFUSES_SESSION =
      Set.of(
          Status.Code.INVALID_ARGUMENT,
          Status.Code.UNAUTHENTICATED,
          Status.Code.PERMISSION_DENIED,
          Status.Code.UNIMPLEMENTED);

  /** Does not survive serialization, unlike the message. */
  private final transient ErrorDetails details;

  /** Does not survive serialization, either. */
  private final transient List<Diagnosis> diagnoses;

  RowlockException(String message, ErrorDetails details, Throwable cause) {
    this(message, details, cause, List.of());
  }

  private RowlockException(
      String message, ErrorDetails details, Throwable cause, List<Diagnosis> diagnoses) {
    super(message, cause);
    this.details = details;
    this.diagnoses = diagnoses;
  }

  RowlockException(Reason reason, Status.Code code, String message) {
    this(message, ErrorDetails.of(reason, code), null);
  }

  /** Without a cause: the diagnoses say more than the errors of connections, whose stack traces are of gRPC. */
  static RowlockException noServer(String message, List<Diagnosis> diagnoses) {
    String found = diagnoses.stream().map(Diagnosis::toString).collect(Collectors.joining("; "));
    return new RowlockException(
        message + ": " + found + ".",
        ErrorDetails.of(Reason.NO_SERVER, Status.Code.UNAVAILABLE),
        null,
        diagnoses);
  }

  /** This error of a connection with what was found out about it. */
  RowlockException diagnosed(List<Diagnosis> found) {
    return found.isEmpty() ? this : new RowlockException(getMessage(), details, this, found);
  }

  static RowlockException closed() {
    return new RowlockException(Reason.CLOSED, Status.Code.CANCELLED, "This client was closed.");
  }

  static RowlockException refused(String name, Refusal refusal) {
    String inTheWay = refusal.lockName().orElse(name);
    String message = "The lock \"" + inTheWay + "\" was not granted: " + refusal.message();
    return new RowlockException(message, ErrorDetails.of(refusal), null);
  }

  static RowlockException leaseLost(String lockName, ClaimEndView end, String message) {
    String full = "The lease on \"" + lockName + "\" " + message;
    return new RowlockException(full, ErrorDetails.leaseLost(end), null);
  }

  static RowlockException ttlTooShort(HeldLease lease) {
    String message =
        "The lease on \""
            + lease.lockName
            + "\" is too short for the way to the server: "
            + lease.remaining() / 1_000_000
            + " ms are left when an answer is here. Ask for a longer time to live.";
    return new RowlockException(Reason.TTL_TOO_SHORT, Status.Code.FAILED_PRECONDITION, message);
  }

  /** From a server of an earlier version, which granted a lease instead. */
  static RowlockException cannotSpend() {
    String message = "This server cannot spend: it is older than this client.";
    return new RowlockException(Reason.UNKNOWN, Status.Code.UNIMPLEMENTED, message);
  }

  /** Of a server of an earlier version, which granted the first of several locks alone. */
  static RowlockException takesOneLock() {
    String message = "This server grants one lock at a time: it is older than this client.";
    return new RowlockException(Reason.UNKNOWN, Status.Code.UNIMPLEMENTED, message);
  }

  /** This error for a request for a lease without end that a server may have granted. */
  RowlockException mayBeHeld(String name, String requestId, boolean isGivenBack) {
    String rest =
        isGivenBack
            ? "this client keeps trying to release it."
            : "acquire it again with that request id, or release it.";
    String message =
        getMessage()
            + " The lock \"" + name + "\" may be held, under the request id " + requestId + ": " + rest;
    return new RowlockException(message, details().mayBeHeld(requestId), this, diagnoses());
  }

  /** This error of a release whose lease was released without what the server refused. */
  RowlockException givenBack() {
    String message = getMessage().replaceFirst("\\.$", "") + GIVEN_BACK;
    return new RowlockException(message, details(), this);
  }

  boolean saysGivenBack() {
    return getMessage().endsWith(GIVEN_BACK);
  }

  static RowlockException hadEnded(String lockName) {
    return leaseLost(
        lockName, ClaimEndView.of(Reason.EXPIRED), "ended before its release, so others may have held the lock.");
  }

  /** Whether a server that knew of the call may have carried it out nevertheless. */
  boolean leavesDoubt() {
    return reason() != Reason.RIGHT_MISSING && !DECIDED.contains(code());
  }

  /** Whether this error, at the end of a session that never opened, means that the server has taken no command. */
  boolean refusesSession() {
    return REFUSES_SESSION.contains(code());
  }

  /** The same error, for another thread to throw. Without a server, the stack of the client's own thread says nothing. */
  RowlockException again() {
    return new RowlockException(getMessage(), details, diagnoses().isEmpty() ? this : getCause(), diagnoses());
  }

  /**
   * Returns what was found at the addresses of the servers, if none of them has answered.
   *
   * @return one for each address with {@link Reason#NO_SERVER}, if there was time to look; otherwise empty
   */
  public List<Diagnosis> diagnoses() {
    return diagnoses == null ? List.of() : diagnoses;
  }

  /**
   * Returns what a program acts on.
   *
   * @return the reason; {@link Reason#UNKNOWN} if this client does not know it
   */
  public Reason reason() {
    return details().reason();
  }

  /**
   * Returns the reason as the server names it, even if this client does not know it.
   *
   * @return such as {@code LEASE_LOST}
   */
  public String reasonName() {
    return details().reasonName();
  }

  /**
   * Returns the gRPC code.
   *
   * @return such as {@code UNAVAILABLE}
   */
  public Status.Code code() {
    return details().code();
  }

  /**
   * Returns all that is wrong with the request.
   *
   * @return empty unless the reason is {@link Reason#BAD_REQUEST}
   */
  public List<Violation> violations() {
    return details().violations();
  }

  /**
   * Returns further values for programs.
   *
   * @return such as {@code version} for {@link Reason#VERSION_MISMATCH}
   */
  public Map<String, String> metadata() {
    return details().metadata();
  }

  /**
   * Returns how long to wait before another try can help, according to the server.
   *
   * @return empty if the server sent none
   */
  public Optional<Duration> retryAfter() {
    return details().retryAfter();
  }

  /**
   * Returns the refusal, if a lock was refused.
   *
   * @return empty if this error is not a refusal
   */
  public Optional<Refusal> refusal() {
    return details().refusal();
  }

  /**
   * Returns how the lease ended, if it is lost.
   *
   * @return empty unless the reason is {@link Reason#LEASE_LOST}
   */
  public Optional<ClaimEndView> end() {
    return details().end();
  }

  private ErrorDetails details() {
    return details == null ? ErrorDetails.of(Reason.UNKNOWN, Status.Code.UNKNOWN) : details;
  }

  /** Whether the server has answered that nothing was done. */
  boolean isUndone() {
    return reason() == Reason.OVERLOADED
        || reason() == Reason.DATABASE_UNAVAILABLE
        || reason() == Reason.SHUTTING_DOWN
        || reason() == Reason.KEYS_UNAVAILABLE
        || isOfCredentials();
  }

  /**
   * Whether the same call may succeed a little later. If the server refuses the credentials of a unary call, the next
   * connection finds out whether others help.
   */
  boolean isTransient() {
    return code() == Status.Code.UNAVAILABLE || reason() == Reason.OVERLOADED || isOfCredentials();
  }

  /** Whether another try later may succeed. */
  boolean mayHeal() {
    boolean isHopeless =
        !diagnoses().isEmpty() && diagnoses().stream().noneMatch(found -> found.kind().mayHeal);
    return isTransient() && !isOfCredentials() && !isHopeless;
  }

  /** Whether the server does not accept who calls, or the client has no token or certificate. */
  boolean isOfCredentials() {
    return reason() == Reason.CREDENTIALS_MISSING
        || reason() == Reason.CREDENTIALS_WRONG
        || reason() == Reason.CREDENTIALS_EXPIRED;
  }

  /** Whether a Rowlock server has sent it, and not something on the way there. */
  boolean isOfServer() {
    return details().isOfServer();
  }
}
