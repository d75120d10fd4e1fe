// Detects text that UTF-8 cannot encode: half of a surrogate pair. Java's own encoder would write "?" for it, so that
// two different names would become one.

package io.rowlock;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.MessageOrBuilder;
import java.util.List;
import java.util.Map;
import java.util.Optional;

final class Text {
  private Text() {}

  /** Whether each surrogate has its other half. */
  static boolean isValid(String text) {
    for (int at = 0; at < text.length(); at++) {
      if (!Character.isSurrogate(text.charAt(at))) continue;
      boolean isPair = at + 1 < text.length() && Character.isSurrogatePair(text.charAt(at), text.charAt(at + 1));
      if (!isPair) return false;
      at++;
    }
    return true;
  }

  /** What is wrong with such a text, and what to do. */
  static String fault(String text) {
    return "\"" + escaped(text) + "\" has an unpaired surrogate, which UTF-8 cannot encode, so it cannot be sent as it is: look"
        + " for where the text was cut within a character, or choose another text";
  }

  private static String escaped(String text) {
    StringBuilder shown = new StringBuilder();
    for (int at = 0; at < text.length(); at++) {
      char one = text.charAt(at);
      if (one < ' ' || Character.isSurrogate(one)) shown.append(String.format("\\u%04x", (int) one));
      else shown.append(one);
    }
    return shown.toString();
  }

  /** What is wrong with the first text of a message that cannot be sent; empty if all texts can. */
  static Optional<Violation> unsendableIn(MessageOrBuilder message) {
    for (Map.Entry<FieldDescriptor, Object> field : message.getAllFields().entrySet()) {
      List<?> values = field.getValue() instanceof List<?> several ? several : List.of(field.getValue());
      for (Object value : values) {
        Optional<Violation> found = Optional.empty();
        String name = field.getKey().getName();
        if (value instanceof String text && !isValid(text)) found = Optional.of(new Violation(name, fault(text)));
        else if (value instanceof MessageOrBuilder part) found = unsendableIn(part);
        // An entry of a map is a message of its own, and its name says more than "key" and "value".
        if (found.isPresent() && field.getKey().isMapField())
          return Optional.of(new Violation(name, found.get().description()));
        if (found.isPresent()) return found;
      }
    }
    return Optional.empty();
  }
}
