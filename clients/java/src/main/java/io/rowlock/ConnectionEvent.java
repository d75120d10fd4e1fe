package io.rowlock;

/** A change of the connection, for a log. */
public sealed interface ConnectionEvent {
  /** The kind of a connection. */
  enum Via {
    /** All calls go over one stream. */
    SESSION,
    /** No stream gets through to the server, so each request is a call of its own. */
    UNARY
  }

  /**
   * {@return {@code host:port} of the server}
   */
  String address();

  /**
   * A server has answered.
   *
   * @param address {@code host:port} of the server
   * @param replica the server's name in its log and metrics; empty without a session, which would announce it
   * @param via the kind of the connection
   */
  record Connected(String address, String replica, Via via) implements ConnectionEvent {}

  /**
   * The client has left the connection, or the connection is gone.
   *
   * @param address {@code host:port} of the server
   * @param error why
   */
  record Disconnected(String address, RowlockException error) implements ConnectionEvent {}
}
