/** Rowlock in Spring Boot: a client from properties, and locks around the methods of beans. */
package io.rowlock.spring;
