// Turns the properties into the options of a client, and finds all faults at once.

package io.rowlock.spring;

import io.rowlock.ConnectOptions;
import io.rowlock.TlsOptions;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

final class OptionsFromProperties {
  private final RowlockProperties properties;
  private final List<String> faults = new ArrayList<>();

  private OptionsFromProperties(RowlockProperties properties) {
    this.properties = properties;
  }

  /** Throws a FaultyPropertiesException if a property has no meaning. */
  static ConnectOptions.Builder of(RowlockProperties properties) {
    OptionsFromProperties made = new OptionsFromProperties(properties);
    ConnectOptions.Builder options = made.options();
    if (!made.faults.isEmpty()) throw new FaultyPropertiesException(made.faults);
    return options;
  }

  private ConnectOptions.Builder options() {
    for (String address : properties.addresses()) tried(() -> ConnectOptions.to(address).build());
    if (properties.addresses().isEmpty()) tried(() -> ConnectOptions.to().build());
    List<Consumer<ConnectOptions.Builder>> choices = new ArrayList<>();
    set(choices, properties.owner(), ConnectOptions.Builder::owner);
    properties.labels().forEach((key, value) -> choices.add(with -> with.label(key, value)));
    set(choices, properties.connectTimeout(), ConnectOptions.Builder::connectTimeout);
    set(choices, properties.giveUpAfter(), ConnectOptions.Builder::giveUpAfter);
    set(choices, properties.explainAfter(), ConnectOptions.Builder::explainAfter);
    set(choices, properties.closeWithin(), ConnectOptions.Builder::closeWithin);
    for (Consumer<ConnectOptions.Builder> choice : choices) checkAlone(choice);
    choices.add(with -> with.allowTokenInPlaintext(properties.allowTokenInPlaintext()));
    addTls(choices);
    addToken(choices);
    ConnectOptions.Builder options =
        ConnectOptions.to(properties.addresses().toArray(String[]::new));
    // The context closes the client when the application stops, after methods that still run have ended.
    options.releaseOnExit(false);
    if (faults.isEmpty())
      tried(
          () -> {
            choices.forEach(choice -> choice.accept(options));
            options.build();
          });
    return options;
  }

  private static <T> void set(
      List<Consumer<ConnectOptions.Builder>> choices,
      T value,
      BiConsumer<ConnectOptions.Builder, T> option) {
    if (value != null) choices.add(with -> option.accept(with, value));
  }

  private void addTls(List<Consumer<ConnectOptions.Builder>> choices) {
    RowlockProperties.Tls tls = properties.tls();
    if (!tls.isOn()) {
      if (tls.isAnySet()) faults.add("rowlock.tls.enabled: is false, although other properties of TLS are set");
      return;
    }
    if ((tls.certificate() == null) != (tls.key() == null)) {
      faults.add("rowlock.tls.certificate and rowlock.tls.key: set both or none");
      return;
    }
    TlsOptions.Builder with = TlsOptions.builder();
    if (tls.ca() != null) with.ca(Path.of(tls.ca()));
    if (tls.certificate() != null) with.certificate(Path.of(tls.certificate()), Path.of(tls.key()));
    if (tls.serverName() != null) with.serverName(tls.serverName());
    try {
      TlsOptions options = with.build();
      choices.add(into -> into.tls(options));
    } catch (UncheckedIOException unreadable) {
      faults.add("rowlock.tls: cannot read " + unreadable.getCause().getMessage());
    } catch (IllegalArgumentException wrong) {
      faults.add("rowlock.tls: " + wrong.getMessage());
    }
  }

  private void addToken(List<Consumer<ConnectOptions.Builder>> choices) {
    if (properties.token() != null && properties.tokenFile() != null)
      faults.add("rowlock.token and rowlock.token-file: set one of them");
    else if (properties.token() != null) choices.add(with -> with.token(properties.token()));
    else if (properties.tokenFile() != null)
      choices.add(with -> with.tokenFile(Path.of(properties.tokenFile())));
  }

  private void checkAlone(Consumer<ConnectOptions.Builder> choice) {
    tried(
        () -> {
          ConnectOptions.Builder alone = ConnectOptions.to("127.0.0.1:1");
          choice.accept(alone);
          alone.build();
        });
  }

  /** The messages of the client begin with the name of the option. */
  private void tried(Runnable attempt) {
    try {
      attempt.run();
    } catch (IllegalArgumentException wrong) {
      faults.add("rowlock." + wrong.getMessage());
    }
  }
}
