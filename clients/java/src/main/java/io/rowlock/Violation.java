package io.rowlock;

/**
 * What is wrong with one field of a request.
 *
 * @param field the name of the field
 * @param description why
 */
public record Violation(String field, String description) {}
