package rowlock;

/** What happens to the connection, for a log. */
public sealed interface ConnectionEvent {
  /**
   * {@return {@code host:port} of the server}
   */
  String address();

  /**
   * A server answers.
   *
   * @param address {@code host:port} of the server
   * @param replica its name in its log and metrics; empty where that is not known, as there is no session
   * @param isSession whether there is a session; otherwise what is between refuses streams, and each call is one of its own
   */
  record Connected(String address, String replica, boolean isSession) implements ConnectionEvent {}

  /**
   * It is left, or gone.
   *
   * @param address {@code host:port} of the server
   * @param error why
   */
  record Disconnected(String address, RowlockException error) implements ConnectionEvent {}
}
