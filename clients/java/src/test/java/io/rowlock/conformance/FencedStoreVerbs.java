// The two functions of the example FencedStore, each called on a connection of its own.

package io.rowlock.conformance;

import static io.rowlock.conformance.Driver.text;

import com.google.gson.JsonObject;
import java.net.URI;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Map;
import io.rowlock.examples.FencedStore;

final class FencedStoreVerbs {
  private FencedStoreVerbs() {}

  static void addTo(Map<String, Driver.Verb> verbs) {
    verbs.put(
        "fencedWrite",
        asked -> {
          try (Connection connection = connect(asked)) {
            return written(
                FencedStore.fencedWrite(
                    connection,
                    text(asked, "table"),
                    text(asked, "key"),
                    text(asked, "value"),
                    Long.parseLong(text(asked, "token"))));
          }
        });
    verbs.put(
        "guardedWrite",
        asked -> {
          try (Connection connection = connect(asked)) {
            return written(
                FencedStore.guardedWrite(
                    connection,
                    text(asked, "lockName"),
                    Long.parseLong(text(asked, "token")),
                    text(asked, "table"),
                    text(asked, "key"),
                    text(asked, "value")));
          }
        });
  }

  private static Map<String, ?> written(boolean isWritten) {
    return Map.of("written", isWritten);
  }

  private static Connection connect(JsonObject asked) throws SQLException {
    URI url = URI.create(text(asked, "url"));
    String[] user = url.getUserInfo() == null ? new String[] {"root"} : url.getUserInfo().split(":", 2);
    String address = "jdbc:mariadb://" + url.getHost() + ":" + url.getPort() + url.getPath();
    // Lets a MySQL without TLS send its public key, which encrypts the password.
    return DriverManager.getConnection(
        address + "?allowPublicKeyRetrieval=true", user[0], user.length > 1 ? user[1] : "");
  }
}
