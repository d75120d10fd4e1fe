package rowlock;

/**
 * What is wrong with one field of a request.
 *
 * @param field which
 * @param description why
 */
public record Violation(String field, String description) {}
