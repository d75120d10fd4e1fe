package io.rowlock;

import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Why something failed or was refused: what a program acts on. */
public enum Reason {
  /** Refused: others hold the lock or wait for it. */
  BUSY,
  /** Refused: nothing is granted at present, because the limit is 0 or the database has failed over. */
  PAUSED,
  /** Refused: the queue is full. */
  QUEUE_FULL,
  /** Refused: the time to wait has passed. */
  TIMED_OUT,
  /** Refused: the request asks for more permits than the limit, or the burst of the rate, allows in total. */
  NEVER_FITS,
  /** Refused: the lock is not due yet. */
  NOT_BEFORE,
  /** Refused: the lock has no attempts left. */
  EXHAUSTED,
  /** Refused: the lock's status is not one of those wanted. */
  STATUS_MISMATCH,
  /** Refused: the rate of the lock does not allow the grant yet. */
  RATE,
  /** The place in the queue or the call was given up, for example because the thread was interrupted. */
  CANCELLED,
  /** The claim has ended: its waiter gave no sign of life. */
  LAPSED,
  /** The claim has ended: its ttl has passed. */
  EXPIRED,
  /** The claim has ended: it was released. */
  RELEASED,
  /** The claim has ended: it was released, and its work had failed. */
  FAILED,
  /** The claim has ended: an operator ended it. */
  FORCE_RELEASED,
  /** The claim has ended with its grant, as {@link RowlockClient#spend(String)} asks. Only listings show it. */
  SPENT,
  /** The claim has ended: a newer request took its place in the queue, as the lock's {@link QueueRules} say. */
  SUPERSEDED,

  /** The request is wrong; {@link RowlockException#violations()} lists all that is wrong with it. */
  BAD_REQUEST,
  /** The server could not read the message. */
  MALFORMED_MESSAGE,
  /** There is no such ticket or lease, or it ended too long ago. */
  UNKNOWN_CLAIM,
  /** There is no such lock. */
  UNKNOWN_LOCK,
  /** The lease has ended: others may hold the lock. */
  LEASE_LOST,
  /** The ticket still waits. */
  NOT_GRANTED_YET,
  /** Somebody holds the lock or waits for it, so its record cannot be deleted. */
  LOCK_IN_USE,
  /** The request id belongs to a claim for another lock, mode or number of permits. */
  REQUEST_ID_REUSED,
  /** The limit or record has another version, which the metadata has as {@code version}. */
  VERSION_MISMATCH,
  /** A bound of the server is reached; the metadata has its name as {@code bound}. */
  OVERLOADED,
  /** The request is larger than the server accepts. */
  MESSAGE_TOO_LARGE,
  /** The server cannot find out whether a change was made. Read it back before you repeat it. */
  OUTCOME_UNKNOWN,
  /** The server's database does not answer at the moment. */
  DATABASE_UNAVAILABLE,
  /** The server is stopping. */
  SHUTTING_DOWN,
  /** The server could not load the keys that it checks tokens with. */
  KEYS_UNAVAILABLE,
  /** The server has not heard from this client for too long. */
  SESSION_SILENT,
  /** The server wants to know who calls, or the token of the {@link ConnectOptions} gives none. */
  CREDENTIALS_MISSING,
  /** The server does not know the token, or does not trust who has signed it. */
  CREDENTIALS_WRONG,
  /** The token or certificate is past its end. The server keeps leases and places. */
  CREDENTIALS_EXPIRED,
  /** The policy of the server does not allow the call; the metadata has the {@code right} and the {@code principal}. */
  RIGHT_MISSING,
  /** The time of the call is over; it may have taken effect. */
  TIMEOUT,
  /** A bug of the server. */
  INTERNAL,

  /** From this client: no server has answered in time. */
  NO_SERVER,
  /** From this client: the round trip to the server takes too long for a lease with this ttl. */
  TTL_TOO_SHORT,
  /** From this client: it was closed. */
  CLOSED,
  /** From this client: the answer was lost, and the call is not safe to repeat. It may or may not have taken effect. */
  CONNECTION_LOST,
  /** A reason that this client does not know, or an error without a reason, for example from a proxy. */
  UNKNOWN;

  private static final Map<String, Reason> BY_NAME =
      Arrays.stream(values()).collect(Collectors.toMap(Enum::name, Function.identity()));
  private static final String REFUSAL_PREFIX = "REFUSAL_REASON_";
  static final String END_PREFIX = "END_REASON_";

  static Reason of(String name) {
    return BY_NAME.getOrDefault(name, UNKNOWN);
  }

  static Reason of(rowlock.v1.RefusalReason reason) {
    return of(reason.name().replace(REFUSAL_PREFIX, ""));
  }

  static Reason of(rowlock.v1.EndReason reason) {
    return of(reason.name().replace(END_PREFIX, ""));
  }
}
