package io.hearth.transport;

/**
 * What is in use now: what a leak would make grow.
 *
 * @param connections open; {@code pendingHandshakes}: those that have not proved the secret
 * @param sockets all, those that listen included
 * @param endpoints of UCX, those that are being closed included
 * @param inFlight messages that UCX has not ended
 * @param buffers in use, with {@code bufferBytes}; {@code reservedBytes}: all memory of the pool
 */
public record Counters(int connections, int pendingHandshakes, int sockets, int endpoints, int inFlight, int buffers,
        long bufferBytes, long reservedBytes) { }
