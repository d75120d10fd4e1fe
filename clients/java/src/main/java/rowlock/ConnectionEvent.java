package rowlock;

/** A change of the connection, for a log. */
public sealed interface ConnectionEvent {
  /**
   * {@return {@code host:port} of the server}
   */
  String address();

  /**
   * A server has answered.
   *
   * @param address {@code host:port} of the server
   * @param replica the server's name in its log and metrics; empty without a session, which would announce it
   * @param isSession whether there is a session; otherwise streams are refused, and each command is a unary call
   */
  record Connected(String address, String replica, boolean isSession) implements ConnectionEvent {}

  /**
   * The client has left the connection, or the connection is gone.
   *
   * @param address {@code host:port} of the server
   * @param error why
   */
  record Disconnected(String address, RowlockException error) implements ConnectionEvent {}
}
